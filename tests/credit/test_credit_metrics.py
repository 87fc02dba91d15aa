"""KS, Gini, AUC, gains, stability and cut-offs against hand-made examples, loops over thresholds and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ks_2samp

from quadric.credit import (
    auc,
    cutoff_by_cost,
    gains_table,
    gini,
    ks_statistic,
    population_stability_index,
    stability_table,
)

SEEDS = range(20)


def scored(seed, ties=False, weighted=False, m=60):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(m) % 3 == 0)
    score = rng.normal(size=m) + 0.8 * y
    if ties:
        score = np.round(2.0 * score) / 2.0
    weight = rng.integers(0, 4, size=m).astype(float) if weighted else np.ones(m)
    return y, score, weight


CASES = [(seed, seed % 2 == 0, seed % 3 == 0) for seed in SEEDS]


def slow_ks(y, score, weight):
    shares = [[weight[group & (score <= t)].sum() / weight[group].sum() for t in score] for group in (y, ~y)]
    return np.abs(np.subtract(*shares)).max()


def slow_auc(y, score, weight):
    won = np.greater.outer(score[y], score[~y]) + 0.5 * np.equal.outer(score[y], score[~y])
    return weight[y] @ won @ weight[~y] / (weight[y].sum() * weight[~y].sum())


@pytest.mark.parametrize("case", CASES)
def test_ks_is_the_largest_distance_over_all_thresholds(case):
    y, score, weight = scored(*case)
    assert ks_statistic(y, score, weight) == pytest.approx(slow_ks(y, score, weight), abs=1e-12)
    if not case[2]:
        assert ks_statistic(y, score) == pytest.approx(ks_2samp(score[y], score[~y]).statistic, abs=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_auc_is_the_share_of_pairs_in_the_right_order(case):
    y, score, weight = scored(*case)
    assert auc(y, score, weight) == pytest.approx(slow_auc(y, score, weight), abs=1e-12)
    assert gini(y, score, weight) == pytest.approx(2 * slow_auc(y, score, weight) - 1, abs=1e-12)


def test_a_small_example_by_hand():
    y, score = ["bad", "bad", "good", "bad", "good", "good"], [6, 5, 4, 3, 2, 1]
    assert ks_statistic(y, score, event="bad") == pytest.approx(2 / 3)
    assert auc(y, score, event="bad") == pytest.approx(8 / 9)
    assert gini(y, score, event="bad") == pytest.approx(7 / 9)
    assert auc(y, score) == pytest.approx(1 / 9)  # the second label in sorted order is the event


@pytest.mark.parametrize("case", CASES)
def test_increasing_transformations_change_no_measure_of_order(case):
    y, score, weight = scored(*case)
    for measure in (auc, gini, ks_statistic):
        assert measure(y, np.exp(score), weight) == measure(y, score, weight)
    assert ks_statistic(y, -score, weight) == pytest.approx(ks_statistic(y, score, weight), abs=1e-12)
    assert gini(y, -score, weight) == pytest.approx(-gini(y, score, weight), abs=1e-12)
    plain, bent = gains_table(y, score, 5, weight), gains_table(y, np.exp(score), 5, weight)
    assert_array_equal(plain.events, bent.events)
    other, _, _ = scored(case[0] + 100, case[1])
    assert_array_equal(
        stability_table(score, score[other], 7).contribution,
        stability_table(np.exp(score), np.exp(score[other]), 7).contribution,
    )


@pytest.mark.parametrize("case", CASES)
def test_weights_are_repetitions(case):
    y, score, weight = scored(case[0], case[1], weighted=True)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    for measure in (auc, gini, ks_statistic):
        assert measure(y, score, weight) == pytest.approx(measure(y[rows], score[rows]), abs=1e-12)
    weighted, repeated = gains_table(y, score, 6, weight), gains_table(y[rows], score[rows], 6)
    for one, two in zip(weighted.rows(), repeated.rows(), strict=True):
        assert one == pytest.approx(two, abs=1e-12)
    one, two = cutoff_by_cost(y, score, 5, 1, weight), cutoff_by_cost(y[rows], score[rows], 5, 1)
    assert (one.cutoff, one.cost, one.false_negatives) == (two.cutoff, two.cost, two.false_negatives)
    assert_allclose(
        stability_table(score, score[::2], 5, expected_weight=weight, actual_weight=weight[::2]).contribution,
        stability_table(score[rows], np.repeat(score[::2], weight[::2].astype(int)), 5).contribution,
        atol=1e-12,
    )


@pytest.mark.parametrize("factor", [1e-3, 0.1, 1 / 3, 7.0])
def test_only_the_proportions_of_weights_matter_for_shares(factor):
    values = np.arange(30.0)
    table = stability_table(values, values[:20], expected_weight=np.full(30, factor), actual_weight=np.full(20, factor))
    plain = stability_table(values, values[:20])
    assert_array_equal(table.upto, plain.upto)
    assert_allclose(table.contribution, plain.contribution, atol=1e-12)


def test_gains_by_hand():
    y = np.array([1, 1, 0, 1, 0, 0, 0, 0])
    table = gains_table(y, [8, 7, 6, 5, 4, 3, 2, 1], n_bins=4)
    assert table.count.tolist() == [2, 2, 2, 2]
    assert table.events.tolist() == [2, 1, 0, 0]
    assert table.highest.tolist() == [8, 6, 4, 2]
    assert table.lowest.tolist() == [7, 5, 3, 1]
    assert table.event_rate.tolist() == [1.0, 0.5, 0.0, 0.0]
    assert_allclose(table.lift, [8 / 3, 4 / 3, 0, 0])
    assert_allclose(table.population, [0.25, 0.5, 0.75, 1.0])
    assert_allclose(table.capture, [2 / 3, 1, 1, 1])
    assert_allclose(table.ks, [2 / 3, 0.8, 0.4, 0.0], atol=1e-12)
    assert table.rows()[1]["lowest"] == 5
    assert table.rows()[1]["events"] == 1


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_bins", [2, 7, 10])
def test_gains_add_up_and_never_split_equal_scores(case, n_bins):
    y, score, weight = scored(*case)
    table = gains_table(y, score, n_bins, weight)
    assert len(table.count) <= n_bins
    assert table.count.sum() == pytest.approx(weight.sum())
    assert table.events.sum() == pytest.approx(weight[y].sum())
    assert (table.lowest[:-1] > table.highest[1:]).all()
    assert table.ks.max() <= ks_statistic(y, score, weight) + 1e-12
    for row in table.rows():
        inside = (score >= row["lowest"]) & (score <= row["highest"])
        assert row["count"] == pytest.approx(weight[inside].sum())
        assert row["events"] == pytest.approx(weight[inside & y].sum())
    if not case[1] and not case[2]:
        assert np.ptp(table.count) <= 1


def test_a_large_tie_goes_where_its_middle_belongs():
    score = np.array([9.0, 5, 5, 5, 5, 5, 5, 2, 1, 0])
    table = gains_table(np.arange(10) % 2, score, n_bins=5)
    assert table.count.tolist() == [1, 6, 1, 2]  # of the bins of two, the third holds the middle of the tie
    assert table.highest.tolist() == [9, 5, 2, 1]


def test_a_weight_too_small_to_add_up_makes_no_bin_of_its_own():
    table = gains_table([1, 0, 0], [3.0, 2.0, 1.0], n_bins=2, sample_weight=[1.0, 1.0, 1e-18])
    assert table.lowest.tolist() == [3.0, 1.0]


def test_stability_by_hand():
    expected, actual = np.repeat([1.0, 2.0], [50, 50]), np.repeat([1.0, 2.0], [80, 20])
    value = (0.8 - 0.5) * np.log(0.8 / 0.5) + (0.2 - 0.5) * np.log(0.2 / 0.5)
    assert population_stability_index(expected, actual) == pytest.approx(value)
    assert population_stability_index(expected, actual, bins=[1.5]) == pytest.approx(value)
    table = stability_table(expected, actual, bins=2)
    assert table.above.tolist() == [-np.inf, 1.0]
    assert table.upto.tolist() == [1.0, np.inf]
    assert table.expected.tolist() == [0.5, 0.5]
    assert table.actual.tolist() == [0.8, 0.2]
    assert table.index == pytest.approx(sum(row["contribution"] for row in table.rows()))


@pytest.mark.parametrize("seed", SEEDS)
def test_stability_of_a_sample_with_itself_is_zero_and_otherwise_positive(seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=100), 1)
    assert population_stability_index(values, rng.permutation(values)) == 0.0
    there = population_stability_index(values, values + 0.5, bins=[0.0])
    assert there == pytest.approx(population_stability_index(values + 0.5, values, bins=[0.0]))
    assert there > 0.0


def test_quantile_bins_hold_equal_shares_of_the_expected_sample():
    values = np.random.default_rng(0).normal(size=1000)
    assert_allclose(stability_table(values, values + 3.0).expected, 0.1)
    assert len(stability_table(np.repeat([1.0, 2.0, 3.0], 20), [1.0]).expected) == 3
    assert stability_table(np.ones(5), [1.0, 2.0]).expected.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.7, 0.95, 1.0])
def test_a_shift_of_a_column_with_two_values_shows_wherever_most_of_them_are(share):
    n = int(100 * share)
    before, after = np.repeat([0.0, 1.0], [100 - n, n]), np.repeat([0.0, 1.0], [n, 100 - n])
    shares = np.maximum([share, 1.0 - share], 1e-4)
    by_hand = 2.0 * (shares[0] - shares[1]) * np.log(shares[0] / shares[1])
    assert population_stability_index(before, after) == pytest.approx(by_hand)


def test_an_empty_bin_counts_as_a_ten_thousandth():
    value = population_stability_index([1.0, 2.0], [1.0, 1.0], bins=[1.5])
    assert value == pytest.approx(0.5 * np.log(2.0) + (1e-4 - 0.5) * np.log(1e-4 / 0.5))
    assert population_stability_index([1.0, 2.0], [1.0, 2.0], bins=[0.0, 1.5, 5.0]) == 0.0


def test_stability_takes_infinite_points():
    assert population_stability_index([-np.inf, 0.0, np.inf], [-np.inf, 0.0, np.inf]) == 0.0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("costs", [(1.0, 1.0), (10.0, 1.0), (1.0, 3.0), (0.0, 2.0), (2.0, 0.0)])
def test_no_cut_off_is_cheaper_than_the_chosen_one(case, costs):
    y, score, weight = scored(*case)
    missed, declined = costs

    def cost(cutoff):
        above = score > cutoff
        return missed * weight[y & ~above].sum() + declined * weight[~y & above].sum()

    choice = cutoff_by_cost(y, score, missed, declined, weight)
    assert choice.cost == pytest.approx(cost(choice.cutoff), abs=1e-9)
    assert choice.cost <= min(cost(t) for t in [-np.inf, *score, np.inf]) + 1e-9
    assert choice.cost == pytest.approx(missed * choice.false_negatives + declined * choice.false_positives)
    assert choice.break_even == declined / (missed + declined)
    assert_allclose(choice.costs, [cost(t) for t in choice.cutoffs], atol=1e-9)
    assert choice.cutoff == choice.cutoffs[np.flatnonzero(choice.costs == choice.costs.min())[0]]


def test_cut_offs_by_hand():
    y, score = [1, 0, 1, 0], [0.9, 0.6, 0.4, 0.1]
    even = cutoff_by_cost(y, score, 1, 1)
    assert (even.cutoff, even.cost, even.false_negatives, even.false_positives) == (0.75, 1.0, 1.0, 0.0)
    careful = cutoff_by_cost(y, score, 5, 1)
    assert (careful.cutoff, careful.cost, careful.false_negatives, careful.false_positives) == (0.25, 1.0, 0.0, 1.0)
    assert cutoff_by_cost(y, score, 0, 1).cutoff == np.inf
    assert cutoff_by_cost([0, 1], [0.9, 0.1], 5, 1).cutoff == -np.inf


def test_neighbouring_floats_are_told_apart():
    low = 0.1
    for _ in range(2):  # half-way rounds down once and up once
        high = np.nextafter(low, 1.0)
        assert low <= cutoff_by_cost([0, 1], [low, high], 1, 1).cutoff < high
        low = high


@pytest.mark.parametrize("seed", range(5))
def test_a_calibrated_probability_is_cut_near_the_break_even_point(seed):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=40_000)
    choice = cutoff_by_cost(rng.uniform(size=40_000) < p, p, 4, 1)
    assert choice.break_even == 0.2
    assert choice.cutoff == pytest.approx(0.2, abs=0.05)


GOOD = {"y": [0, 1, 0, 1], "score": [0.1, 0.2, 0.3, 0.4]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 1, 1, 1]}, r"exactly two classes, but has 1: \[1\]"),
        ({"y": [0, 1, 2, 1]}, r"exactly two classes, but has 3: \[0, 1, 2\]"),
        ({"y": [0, 1, 0]}, "inconsistent numbers of samples"),
        ({"score": [0.1, 0.2, np.nan, 0.4]}, "score must be finite"),
        ({"score": [0.1, 0.2, np.inf, 0.4]}, "score must be finite"),
        ({"score": np.ones((4, 2))}, r"score must have one dimension, got shape \(4, 2\)"),
        ({"sample_weight": [1, 1, 1]}, "inconsistent numbers of samples"),
        ({"sample_weight": [1, -1, 1, 1]}, "[Nn]egative"),
        ({"sample_weight": [1, 0, 1, 0]}, r"exactly two classes, but has 1: \[0\]"),
        ({"event": "bad"}, r"event must be one of \[0, 1\], got 'bad'"),
    ],
)
@pytest.mark.parametrize(
    "measure",
    [auc, gini, ks_statistic, gains_table, lambda **data: cutoff_by_cost(cost_false_negative=1, cost_false_positive=1, **data)],
)
def test_bad_samples_are_named_in_one_line(measure, change, message):
    with pytest.raises(ValueError, match=message) as caught:
        measure(**{**GOOD, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cutoff_by_cost(**GOOD, cost_false_negative=-1, cost_false_positive=1),
            "cost_false_negative must be a finite number of at least 0",
        ),
        (lambda: cutoff_by_cost(**GOOD, cost_false_negative=1, cost_false_positive=np.inf), "cost_false_positive must be"),
        (lambda: cutoff_by_cost(**GOOD, cost_false_negative=0, cost_false_positive=0), "both zero"),
        (lambda: gains_table(**GOOD, n_bins=1), "n_bins must be an integer from 2 to 10,000"),
        (lambda: population_stability_index([], [1.0]), "expected must have one dimension, at least one value"),
        (lambda: population_stability_index([1.0], []), "actual must have one dimension, at least one value"),
        (lambda: population_stability_index([1.0], [np.nan]), "actual .* no NaN"),
        (lambda: population_stability_index([1.0], [[1.0]]), "actual must have one dimension"),
        (lambda: population_stability_index([1.0], [1.0], bins=1), "bins must be an integer from 2 to 10,000"),
        (lambda: population_stability_index([1.0], [1.0], bins=[1.0, 1.0]), "increasing sequence of finite inner edges"),
        (lambda: population_stability_index([1.0], [1.0], bins=[]), "increasing sequence of finite inner edges"),
        (lambda: population_stability_index([1.0], [1.0], expected_weight=[0.0]), "weights of expected are zero|[Zz]ero"),
        (lambda: population_stability_index([1.0], [1.0], actual_weight=[1.0, 2.0]), "sample_weight.shape"),
    ],
)
def test_bad_questions_are_named_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
