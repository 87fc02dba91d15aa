"""Folds, scores and which cell is reported."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from quadric.paper.protocol import (
    INNER_SPLITS,
    OUTER_SPLITS,
    Split,
    best_cell,
    grid_scores,
    nested_reading,
    paper_reading,
    splits_of,
)
from quadric.samples.units import Units


def test_outer_splits_are_scikit_learns_shuffled_folds():
    for split, (train, test) in zip(OUTER_SPLITS, KFold(5, shuffle=True, random_state=3).split(np.empty(53)), strict=True):
        ours = split.parts(53, 3)
        assert np.array_equal(ours[0], train)
        assert np.array_equal(ours[1], test)


def test_inner_splits_stay_inside_the_training_part():
    for split in INNER_SPLITS:
        train, test = split.parts(53, 0)
        outer_train, outer_test = Split(split.outer).parts(53, 0)
        assert not np.intersect1d(train, test).size
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.sort(outer_train))
        assert not np.intersect1d(outer_test, np.concatenate([train, test])).size
    assert splits_of("paper") == OUTER_SPLITS
    assert len(splits_of("nested")) == 30


def test_standardisation_is_scikit_learns_and_leaves_constants_alone():
    X = np.column_stack([np.random.default_rng(0).normal(3, 7, 40), np.full(40, 5.0)])
    units = Units.of(X, np.ones(40), standardize=True, clip=None)
    assert np.allclose(units(X), StandardScaler().fit_transform(X))
    assert np.array_equal(units.scale[1:], [1.0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_are_scikit_learns(n_classes):
    rng = np.random.default_rng(n_classes)
    decisions = rng.normal(size=(30, 1 if n_classes == 2 else 3, 25))
    decisions[0] = -1.0  # a class that is never predicted
    codes = rng.integers(n_classes, size=25)
    scores = grid_scores(decisions, codes)
    for cell, values in enumerate(decisions):
        predicted = (values[0] > 0).astype(int) if n_classes == 2 else values.argmax(axis=0)
        average = "binary" if n_classes == 2 else "macro"
        labels = None if n_classes == 2 else range(3)
        expected = f1_score(codes, predicted, average=average, labels=labels, zero_division=0.0)
        assert scores[0, cell] == pytest.approx(100 * accuracy_score(codes, predicted))
        assert scores[1, cell] == pytest.approx(100 * expected)


def scores_of(*rows):
    return [np.array([row, np.array(row) / 2]) for row in rows]


def test_equal_means_go_to_the_first_cell_whatever_the_order_of_the_sums():
    a, b, c = 100 / 3, 200 / 7, 70.1
    assert best_cell(scores_of([a, b], [b, c], [c, a])) == 0
    assert best_cell(scores_of([1, 5, 5], [1, 5, 5])) == 1


def test_the_papers_reading_takes_mean_and_sample_deviation_of_the_best_cell():
    reported = paper_reading(scores_of([80, 90], [70, 70], [60, 74]))
    assert reported.cells == (1,)
    assert reported.accuracy_mean == pytest.approx(78.0)
    assert reported.accuracy_std == pytest.approx(np.std([90, 70, 74], ddof=1))
    assert reported.f1_mean == pytest.approx(39.0)


def test_the_nested_reading_scores_each_fold_at_the_cell_its_inner_folds_choose():
    outer = scores_of([80, 90], [70, 50])
    inner = [scores_of([1, 0], [1, 0]), scores_of([0, 1], [0, 1])]
    reported = nested_reading(outer, inner)
    assert reported.cells == (0, 1)
    assert reported.accuracy_mean == pytest.approx(65.0)
    assert reported.accuracy_std == pytest.approx(np.std([80, 50], ddof=1))
