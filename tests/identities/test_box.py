"""The smallest slope over a box against all of its corners, one by one and in exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from quadric.geometry.box import Box, SlopeRule, lowest_slope, slope_form
from quadric.geometry.terms import to_vector


def random_box(rng: np.random.Generator, *, fills: bool) -> Box:
    """Three numbers, the last with a flag; two columns of two and three levels; one feature of two values."""
    n = 10
    low = rng.normal(size=n) - 0.5
    high = low + rng.exponential(size=n)
    two_valued = np.array([False] * 3 + [True] * 7)
    fill = {2: float(rng.uniform(low[2], high[2]))} if fills else {}
    return Box(low, high, two_valued, (np.array([4, 5]), np.array([6, 7, 8])), {3: 2}, fill)


def corners(box: Box, feature: int):
    """Rows in which the slope can be smallest, each with the middle of its step where the ruled feature has two values."""
    grouped = {int(j): members for members in box.levels for j in members}
    for chosen in product((0, 1), repeat=len(box.low)):
        row = np.where(chosen, box.high, box.low)
        held = [flag for flag, value in box.flags.items() if value == feature]
        held += [int(j) for j in grouped.get(feature, ()) if j != feature]
        if any(chosen[j] for j in held):
            continue
        if any(sum(chosen[j] for j in members) > 1 for members in box.levels if feature not in members):
            continue
        for flag, value in box.flags.items():
            if chosen[flag] and value in box.fills and feature not in (flag, value):
                row[value] = box.fills[value]
        exact = [Fraction(float(x)) for x in row]
        if box.two_valued[feature]:
            exact[feature] = (Fraction(float(box.low[feature])) + Fraction(float(box.high[feature]))) / 2
        yield exact


def sparse_row(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n) * (rng.random(n) < 0.7)


@pytest.mark.parametrize("fills", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_smallest_over_all_corners(seed: int, fills: bool) -> None:
    rng = np.random.default_rng(seed)
    box = random_box(rng, fills=fills)
    row, constant = sparse_row(rng, 10), float(rng.normal())
    feature, sign = seed % 10, int(rng.choice([-1, 1]))
    found = lowest_slope(SlopeRule(feature, sign), box, row, constant)

    weights = [Fraction(float(w)) for w in row]
    slopes = [sign * (sum(w * x for w, x in zip(weights, r, strict=True)) + Fraction(constant)) for r in corners(box, feature)]
    smallest = min(slopes)
    assert found.slope == pytest.approx(float(smallest), rel=1e-12, abs=1e-12)
    assert Fraction(found.slope) - Fraction(found.margin) <= smallest + abs(smallest) / 2**53  # one rounding of the result
    assert smallest >= 0 or not found.is_proved


@pytest.mark.parametrize("seed", range(6))
def test_its_row_is_possible_and_has_that_slope(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    box, row = random_box(rng, fills=True), sparse_row(rng, 10)
    rule = SlopeRule(seed, 1)
    found = lowest_slope(rule, box, row, 0.5)
    assert found.slope == pytest.approx(row @ found.at + 0.5)
    assert ((box.low <= found.at) & (found.at <= box.high)).all()
    for members in box.levels:
        assert sum(found.at[members] == box.high[members]) <= 1
    if found.at[3] == box.high[3] and rule.feature not in (2, 3):
        assert found.at[2] == box.fills[2]


def test_a_proof_is_exact_where_nothing_is_chosen() -> None:
    """income*flag without income: the smallest slope is 0, where the flag is off."""
    box = Box(np.array([0.0, 0.0]), np.array([9.0, 1.0]), np.array([False, True]))
    row = np.array([0.0, 0.3])
    assert lowest_slope(SlopeRule(0, 1), box, row, 0.0).is_proved
    assert not lowest_slope(SlopeRule(0, -1), box, row, 0.0).is_proved
    assert not lowest_slope(SlopeRule(0, 1), box, row, -1e-300).is_proved


def test_a_feature_that_f_does_not_use_keeps_every_rule() -> None:
    box = random_box(np.random.default_rng(0), fills=True)
    for sign in (-1, 1):
        assert lowest_slope(SlopeRule(1, sign), box, np.zeros(10), 0.0).is_proved


def test_two_levels_at_once_are_no_row() -> None:
    """Each of two levels may take 0.6 of a slope of 1, both together would make it negative."""
    low, high, two_valued = np.zeros(3), np.ones(3), np.array([False, True, True])
    row = np.array([0.0, -0.6, -0.6])
    assert lowest_slope(SlopeRule(0, 1), Box(low, high, two_valued, (np.array([1, 2]),)), row, 1.0).slope == pytest.approx(0.4)
    assert lowest_slope(SlopeRule(0, 1), Box(low, high, two_valued), row, 1.0).slope == pytest.approx(-0.2)


def test_a_step_counts_the_square_at_its_middle() -> None:
    box = Box(np.array([-1.0]), np.array([3.0]), np.array([True]))
    found = lowest_slope(SlopeRule(0, 1), box, np.array([2.0]), 0.5)
    f = [0.5 * 2.0 * x**2 + 0.5 * x for x in (-1.0, 3.0)]
    assert found.slope == pytest.approx((f[1] - f[0]) / 4.0)


def test_the_slope_as_a_form_in_the_coefficients() -> None:
    rng = np.random.default_rng(3)
    W = rng.normal(size=(5, 5))
    W, b, at = W + W.T, rng.normal(size=5), rng.normal(size=5)
    for feature in range(5):
        terms, factors = slope_form(feature, at)
        assert factors @ to_vector(W, b)[terms] == pytest.approx(W[feature] @ at + b[feature])


def test_sums_tell_of_values_what_rows_tell():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7))
    X[:, 1], level = np.where(rng.random(300) < 0.3, 2.0, -1.0), rng.integers(0, 3, 300)
    X[:, 2], X[:, 3] = level == 1, level == 2
    X[:, 4], X[:, 5] = level == 1, rng.random(300) < 0.5  # several of these at once
    groups = [np.array([2, 3]), np.array([4, 5]), np.array([0, 1])]
    rows, weight = Box.of_rows(X, groups), rng.integers(1, 4, 300).astype(float)
    mean = np.average(X, axis=0, weights=weight)
    scatter = ((X - mean).T * weight) @ (X - mean)
    sums = Box.of_sums((X.min(axis=0), X.max(axis=0)), weight.sum(), mean, scatter, groups)
    for box in (rows, sums):
        assert box.two_valued.tolist() == [False, True, True, True, True, True, False]
        assert [members.tolist() for members in box.levels] == [[2, 3]]
        assert box.low.tolist() == X.min(axis=0).tolist()
        assert box.high.tolist() == X.max(axis=0).tolist()
