"""The units in which terms are counted: limits, centre and scale of the columns."""

import numpy as np
import pytest

from quadric.samples.units import Units, caps


@pytest.mark.parametrize("m", [7, 100, 101, 700, 1234])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.3])
def test_limits_are_quantiles_of_numpy(m, share):
    X = np.random.default_rng(m).lognormal(size=(m, 3)).round(3)
    low, high = caps(X, np.ones(m), share)
    np.testing.assert_array_equal(low, np.quantile(X, share, axis=0, method="inverted_cdf"))
    np.testing.assert_array_equal(high, np.quantile(X, 1.0 - share, axis=0, method="inverted_cdf"))


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 4)), rng.integers(1, 9, size=60)
    for clip in (None, 0.05):
        weighed = Units.of(X, weight.astype(float), standardize=True, clip=clip)
        repeated = Units.of(np.repeat(X, weight, axis=0), np.ones(weight.sum()), standardize=True, clip=clip)
        np.testing.assert_array_equal(weighed.low, repeated.low)
        np.testing.assert_array_equal(weighed.high, repeated.high)
        np.testing.assert_allclose(weighed(X), repeated(X), atol=1e-12)


def test_codes_and_nearly_constant_columns_are_not_capped():
    m = 1000
    codes = np.arange(m) % 5
    spikes = np.where(np.arange(m) < 9, np.arange(m), 0.0)  # ten values, but both limits would be 0
    units = Units.of(np.column_stack([codes, spikes, np.arange(m)]).astype(float), np.ones(m), standardize=False, clip=0.01)
    np.testing.assert_array_equal(units.low, [-np.inf, -np.inf, 9.0])
    np.testing.assert_array_equal(units.high, [np.inf, np.inf, 989.0])


def test_mean_and_scale_are_those_of_capped_values():
    X = np.random.default_rng(1).standard_t(2, size=(500, 2))
    Z = Units.of(X, np.ones(500), standardize=True, clip=0.02)(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1.0)
    assert len(np.unique(Z[:, 0])) < 490


def test_no_units_change_nothing():
    X = np.random.default_rng(2).normal(size=(20, 2))
    assert Units.of(X, np.ones(20), standardize=False, clip=None)(X) is X
