"""Products that are affine functions of their factors."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from quadric.geometry.lifting import lift
from quadric.geometry.moments import LiftedMoments
from quadric.geometry.redundancy import redundant_of_moments, redundant_of_samples
from quadric.geometry.terms import LINEAR, term_factors, term_names


def mixed_columns(seed, m=90):
    """Numbers, two-valued columns, levels of one category, nested flags, and an imputed column with its flag."""
    rng = np.random.default_rng(seed)
    level, gap = rng.integers(0, 4, m), rng.random(m) < 0.3
    number = rng.normal(size=m)
    columns = {
        "number": number,
        "count": rng.integers(0, 3, m),
        "two": np.where(rng.random(m) < 0.4, 7.0, -3.5),
        "first": level == 0,
        "second": level == 1,
        "nested": (level == 1) & (number > 0.0),
        "filled": np.where(gap, 0.25, rng.normal(size=m)),
        "flag": gap,
        "free": rng.random(m) < 0.5,
    }
    return list(columns), np.column_stack([np.asarray(column, dtype=float) for column in columns.values()])


def affine_by_least_squares(X):
    """Which products have no residual beyond an affine function of their factors, one by one."""
    left, right = term_factors(X.shape[1])
    out = []
    for a, b in zip(left, right, strict=True):
        z = X[:, a] * X[:, b]
        factors = np.column_stack([np.ones(len(X)), X[:, a], X[:, b]])
        residual = z - factors @ np.linalg.lstsq(factors, z)[0]
        out.append(b != LINEAR and bool(np.abs(residual).max() <= 1e-9 * np.abs(z).max(initial=1.0)))
    return np.array(out)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e3, -40.0), (1e-4, 1e-3)])
def test_the_residual_is_that_of_least_squares(seed, scale, shift):
    names, X = mixed_columns(seed)
    expected = affine_by_least_squares(X)
    weight = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    X = X * scale + shift
    assert_array_equal(redundant_of_samples(X, weight), expected)
    assert_array_equal(redundant_of_moments(LiftedMoments.of(X, weight)), expected)
    found = {name for name, is_redundant in zip(term_names(names), expected, strict=True) if is_redundant}
    assert {"two^2", "first^2", "first*second", "second*nested", "first*nested", "filled*flag"} <= found
    assert not {"number^2", "count^2", "number*two", "first*free", "two*free", "filled^2"} & found


@pytest.mark.parametrize("m", [1_000, 200_000])
def test_one_row_makes_the_difference(m):
    """One odd row among many, in columns as even and as uneven as they come."""
    rng = np.random.default_rng(0)
    for share in (0.5, 5.0 / m):
        X = np.column_stack([rng.random(m) < share, rng.normal(size=m), rng.random(m) < 0.2]).astype(float)
        X[X[:, 0] == 1.0, 2] = 0.0
        odd = X.copy()
        odd[0, 0] = 0.5
        odd[1, [0, 2]] = 1.0
        for rows, expected in ((X, {"a^2", "c^2", "a*c"}), (odd, {"c^2"})):
            names = np.array(term_names(["a", "b", "c"]), dtype=object)
            for found in (redundant_of_samples(rows, np.ones(m)), redundant_of_moments(LiftedMoments.of(rows))):
                assert set(names[found].tolist()) == expected


def test_few_rows_and_constant_columns():
    X = np.array([[1.0, 2.0, 5.0], [2.0, 1.0, 5.0], [4.0, 4.0, 5.0]])
    assert lift(X).shape == (3, 9)
    assert redundant_of_moments(LiftedMoments.of(X))[:6].tolist() == [False, True, True, False, True, True]
