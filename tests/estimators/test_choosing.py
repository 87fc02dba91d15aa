"""Which cell is chosen from tables of scores, and which cells are worth scoring."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from quadric.estimators._fold_scores import FittedCell, FittedFold
from quadric.estimators._scoreboard import Scoreboard
from quadric.estimators.choosing import (
    Family,
    GridCell,
    cells_worth_scoring,
    chosen_among,
    chosen_cell,
    coarse_rows,
    end_of_grid,
    margin,
    mean_scores,
    suitable_rule,
)

A, B, LINEAR = Family("quadratic", "a"), Family("quadratic", "b"), Family("linear", "a")


def table(mean, n_folds=4, spread=0.0):
    """Scores with given means, half of the folds above and half below."""
    signs = np.where(np.arange(n_folds) % 2 == 0, 1.0, -1.0)[:, None, None]
    return np.array(mean, dtype=float)[None] + spread * signs


def test_ties_go_to_the_smaller_k_then_C():
    scores = np.zeros((4, 3, 5))
    scores[:, 1, 3] = scores[:, 2, 2] = scores[:, 1, 2] = 1.0
    assert chosen_cell(scores, "best") == (1, 2)


def test_one_standard_error_rule():
    rng = np.random.default_rng(0)
    for _ in range(200):
        scores = rng.integers(0, 20, size=(5, 3, 6)) / 20
        (C_best, k_best), (C, k) = chosen_cell(scores, "best"), chosen_cell(scores, "1se")
        mean = scores.mean(axis=0)
        floor = mean[C_best, k_best] - scores[:, C_best, k_best].std(ddof=1) / np.sqrt(5)
        assert k <= k_best
        assert mean[C, k] >= floor
        assert mean[C, k] == mean[:, k].max()
        assert (mean[:, :k] < floor).all()


@pytest.mark.parametrize(
    ("rule", "cell"),
    [(0.0, (0, 3)), (0.004, (0, 3)), (0.005, (1, 1)), (0.02, (1, 1)), (0.03, (0, 0)), ("best", (0, 3))],
)
def test_a_tolerance_takes_the_fewest_terms_within_it_and_the_best_C_there(rule, cell):
    scores = table([[0.870, 0.890, 0.880, 0.900], [0.860, 0.895, 0.890, 0.899]])
    assert chosen_cell(scores, rule) == cell


def test_losses_compete_for_the_fewest_terms_then_for_the_best_mean():
    first, second = table([[0.80, 0.88, 0.90]]), table([[0.70, 0.897, 0.90], [0.70, 0.896, 0.85]])
    scores = {A: first, B: second}
    assert chosen_among(scores, "best") == (A, (0, 2))  # a tie: the loss that is named first
    assert chosen_among(scores, 0.005) == (B, (0, 1))
    assert chosen_among(scores, 0.03) == (B, (0, 1))  # both would do: the better mean


def test_the_best_dictionary_is_chosen_first_then_a_cell_of_it():
    """Dictionaries have grids of their own; the rule looks at the better one only, and a tie goes to the first."""
    linear, quadratic = table([[0.880, 0.896]]), table([[0.70, 0.897, 0.90]])
    scores = {LINEAR: linear, A: quadratic}
    assert chosen_among(scores, "best") == (A, (0, 2))
    assert chosen_among(scores, 0.03) == (A, (0, 1))
    assert chosen_among({LINEAR: linear + 0.004, A: quadratic}, 0.03) == (LINEAR, (0, 0))
    partly = quadratic.copy()
    partly[1:] = np.nan  # time ran out
    assert chosen_among({LINEAR: linear, A: partly}, "best") == (LINEAR, (0, 1))


def test_the_margin_of_a_dictionary_is_paired_over_the_folds():
    linear, quadratic = table([[0.88, 0.89]], spread=0.1), table([[0.70, 0.90]], spread=0.1)
    quadratic[:, 0, 1] += [0.01, -0.01, 0.03, -0.03]
    found = margin({LINEAR: linear, A: quadratic})
    assert found.other == "linear"
    assert found.mean == pytest.approx(0.01)
    assert found.error == pytest.approx(np.std([0.02, 0.0, 0.04, -0.02], ddof=1) / 2)
    assert not found.is_clear
    assert margin({LINEAR: linear, A: table([[0.9, 0.95]], spread=0.1)}).is_clear
    assert margin({A: quadratic, B: quadratic}) is None


def test_cells_of_the_dictionary_behind_need_the_best_mean():
    linear = table([[np.nan], [0.895], [np.nan], [0.5]])
    quadratic = table([[np.nan] * 3, [0.893, 0.896, 0.900], [np.nan] * 3, [0.5, 0.5, 0.5]])
    worth = cells_worth_scoring({LINEAR: linear, A: quadratic}, 0.005)
    assert_array_equal(worth[A][0], [False, True, True])
    assert not worth[LINEAR].any()
    unscored = cells_worth_scoring({LINEAR: linear, Family("linear", "b"): np.full((4, 4, 1), np.nan), A: quadratic}, 0.005)
    assert not unscored[Family("linear", "b")].any()


def test_cells_without_all_scores_are_not_chosen():
    scores = table([[0.7, 0.8], [0.9, 0.95]])
    scores[:, 1, 0] = np.nan
    scores[2, 1, 1] = np.nan  # one fold had no time for it
    assert_array_equal(mean_scores(scores), [[0.7, 0.8], [-np.inf, -np.inf]])
    assert chosen_cell(scores, "best") == (0, 1)
    assert chosen_cell(scores, "1se") == (0, 1)
    early = np.full((4, 2, 2), np.nan)
    early[:2, 0] = [[0.7, 0.8], [0.9, 0.8]]  # time ran out in the third fold
    assert chosen_cell(early, "best") == (0, 0)


def test_the_default_rule_is_a_tolerance_for_shares():
    assert suitable_rule(None, {A: table([[0.0, 1.0]])}) == 0.005
    assert suitable_rule(None, {A: table([[0.5, np.nan]]), B: table([[-0.4, -0.3]])}) == "best"
    assert suitable_rule(0.005, {A: table([[-0.4, -0.3]])}) == 0.005
    assert suitable_rule("1se", {A: table([[-0.4, -0.3]])}) == "1se"


@pytest.mark.parametrize(("n_rows", "rows"), [(1, [0]), (3, [0, 1, 2]), (4, [1, 3]), (5, [0, 2, 4]), (10, [1, 3, 5, 7, 9])])
def test_coarse_grids_hold_the_largest_C_and_no_two_gaps_in_a_row(n_rows, rows):
    assert coarse_rows(n_rows) == rows


def test_cells_that_differences_between_folds_rule_out_are_skipped():
    """Row 1 is between a clearly worse row and the best one; row 3 is next to the best one only."""
    scores = table([[0.5, 0.5, 0.5], [np.nan] * 3, [0.8, 0.9, 0.9], [np.nan] * 3, [0.5, 0.89, 0.5]], n_folds=6)
    best = scores[:, 2, 1].copy()
    scores[:, 4, 1] = best - 0.01 + 0.05 * np.array([1, -1, 1, -1, 1, -1])  # as good, as far as six folds can tell
    (worth,) = cells_worth_scoring({A: scores}, "best").values()
    assert_array_equal(worth[[0, 2, 4]], False)  # scored already
    assert_array_equal(worth[1], [False, True, True])  # next to the best cells
    assert_array_equal(worth[3], [False, True, True])
    scores[:, 2] -= 0.1  # now the best cell is in the last row
    (worth,) = cells_worth_scoring({A: scores}, "best").values()
    assert_array_equal(worth[1], False)
    assert_array_equal(worth[3], [False, True, False])


def test_fewer_terms_are_worth_scoring_within_the_slack():
    scores = table([[np.nan] * 3, [0.893, 0.896, 0.900], [np.nan] * 3, [0.5, 0.5, 0.5]])
    near = [False, True, True]  # the chosen cell has 0.896: 0.893 is beyond the tolerance
    assert_array_equal(cells_worth_scoring({A: scores}, 0.005)[A], [near, [False] * 3, near, [False] * 3])
    near = [True, False, True]  # the chosen cell has 0.893: 0.896 at the next k can be neither chosen nor the best
    assert_array_equal(cells_worth_scoring({A: scores}, 0.008)[A], [near, [False] * 3, near, [False] * 3])
    scores[:, 1, 0] += [0.02, -0.02, 0.02, -0.02]
    near = [True, True, True]
    assert_array_equal(cells_worth_scoring({A: scores}, 0.005)[A], [near, [False] * 3, near, [False] * 3])


def test_one_fold_rules_nothing_out():
    scores = table([[np.nan], [0.9], [np.nan], [0.1]], n_folds=1)
    assert_array_equal(cells_worth_scoring({A: scores}, "best")[A], [[True], [False], [True], [False]])


@pytest.mark.parametrize(
    ("best", "end"), [((0, 1), (A, -1)), ((2, 0), (A, 1)), ((1, 1), None)], ids=["smallest", "largest", "inside"]
)
def test_ends_of_the_grid(best, end):
    mean = np.full((3, 2), 0.5)
    mean[best] = 0.6
    assert end_of_grid({A: table(mean), B: table([[0.4, 0.4]])}) == end


def test_equal_scores_are_no_end_of_the_grid():
    assert end_of_grid({A: table([[0.6], [np.nan], [0.6]])}) is None
    assert end_of_grid({A: table([[-0.4], [-0.3999]])}) is None  # nor are scores that hardly differ
    assert end_of_grid({A: table([[-0.4], [-0.399]])}) == (A, 1)
    assert end_of_grid({A: table([[0.6], [np.nan], [0.5]])}) == (A, -1)


@pytest.mark.parametrize(("ahead", "terms"), [(1e-9, "linear"), (1e-3, "quadratic")])
def test_products_must_be_better_by_more_than_rounding(ahead, terms):
    scores = {LINEAR: table([[-0.5]]), A: table([[-0.5 + ahead]])}
    assert chosen_among(scores, "best")[0].terms == terms


LINEAR_B = Family("linear", "b")


def test_dictionaries_are_compared_with_the_losses_that_scored_both():
    """A loss that scored only one of them would pass for its terms."""
    scores = {LINEAR: table([[-0.3]]), LINEAR_B: table([[np.nan]]), A: table([[-0.28]]), B: table([[-0.1]])}
    assert margin(scores).mean == pytest.approx(0.02)
    scores[LINEAR_B] = table([[-0.11]])
    assert margin(scores).mean == pytest.approx(0.01)
    assert margin({LINEAR: table([[np.nan]]), LINEAR_B: table([[-0.2]]), A: table([[-0.1]]), B: table([[np.nan]])}) is None


def scored(tables):
    """A board of these tables on grids of C = 1, 4, ... and k = 1, 2, ..., filled fold by fold."""
    grids = {family: 4.0 ** np.arange(each.shape[1]) for family, each in tables.items()}
    ks = {family.terms: np.arange(1, each.shape[2] + 1) for family, each in tables.items()}
    n_folds = len(next(iter(tables.values())))
    board = Scoreboard(grids, ks, n_folds)
    for fold in range(n_folds):
        cells = {
            GridCell(family.terms, family.loss, 4.0**i, j + 1): FittedCell((), None, score)
            for family, each in tables.items()
            for (i, j), score in np.ndenumerate(each[fold])
            if np.isfinite(score)
        }
        board.take(FittedFold(fold, None, cells))
    return board


def test_linear_terms_are_scored_with_all_losses_however_far_behind():
    behind, ahead, unscored = table([[-0.3]] * 4), table([[-0.1]] * 4), table([[np.nan]] * 4)
    tables = {LINEAR: behind, LINEAR_B: unscored, A: ahead, B: unscored}
    assert set(scored(tables).coarse(first=False)) == {LINEAR_B, B}
    tables = {LINEAR: ahead, LINEAR_B: unscored, A: behind, B: unscored}
    assert set(scored(tables).coarse(first=False)) == {LINEAR_B}


def test_grids_of_all_dictionaries_that_could_be_chosen_grow():
    rising = [[-0.5], [-0.4], [-0.3]]
    near, far = table(rising, spread=0.1), table(np.array(rising) - 1.0)
    assert set(scored({LINEAR: near, A: table(rising)}).extended()) == {LINEAR, A}
    assert set(scored({LINEAR: far, A: table(rising)}).extended()) == {A}
