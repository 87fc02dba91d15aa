"""Merges of states: their sum, the first failure, and memory that does not grow with the number of states."""

import tracemalloc

import numpy as np
import pytest

import quadric
from quadric.distributed import wire
from quadric.distributed.tasks import Failure, merged, opened
from quadric.errors import ParameterError


def state(n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, n_features))
    table = {**{f"x{j}": X[:, j] for j in range(n_features)}, "y": np.where(X[:, 0] > 0.0, "yes", "no")}
    return quadric.moments(table, target="y")


def test_sum():
    parts = [state(3, seed) for seed in range(4)]
    found = opened(merged([wire.to_bytes(part) for part in parts]))
    whole = parts[0] + parts[1] + parts[2] + parts[3]
    assert found.n_rows == 200
    np.testing.assert_array_equal(found.class_means, whole.class_means)


def test_first_failure():
    failures = [wire.to_bytes(Failure.of(ParameterError(f"number {i}", max_levels=i))) for i in range(2)]
    with pytest.raises(ParameterError, match="number 0") as caught:
        opened(merged([wire.to_bytes(state(3)), *failures]))
    assert caught.value.remedies == {"max_levels": 0}


def test_memory():
    sent, peaks = wire.to_bytes(state(25)), []
    for n_states in (2, 16):
        tracemalloc.start()
        merged([sent] * n_states)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
