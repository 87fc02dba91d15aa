"""Faults change what they say, and without one the sweeps are the library's."""

import numpy as np
import pytest

from helpers import PLAIN, random_samples
from quadric import SparseQuadraticSVC
from quadric.paper.faults import FAULTS, _largest_of_columns, faulty_decisions
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target

CS = [0.25, 16.0]


@pytest.fixture(scope="module")
def data():
    X, y = random_samples(5, m=80, n=4)
    return LabelledSamples(X, Target((y > 0).astype(int), np.ones(2)), np.ones(len(y))), X[:20] + 0.1


def decisions(data, fault, ks):
    return faulty_decisions(*data, CS, ks, FAULTS[fault], seed=0)


def test_without_a_fault_the_full_budget_gives_the_dense_fit(data):
    samples, X = data
    ours = decisions(data, "none", [14])
    for i, C in enumerate(CS):
        model = SparseQuadraticSVC(k=14, C=C, loss="least_squares", **PLAIN).fit(samples.X, samples.target.codes)
        assert np.allclose(ours[0, i], model.decision_function(X), atol=1e-8)


def test_without_a_fault_the_supports_are_those_of_plain_sweeps(data):
    samples, X = data
    ours = decisions(data, "none", [3, 6])
    same = 0
    for row, k in enumerate([3, 6]):
        for i, C in enumerate(CS):
            model = SparseQuadraticSVC(k=k, C=C, loss="least_squares", method="pd", **PLAIN).fit(
                samples.X, samples.target.codes
            )
            same += np.allclose(ours[row, i], model.decision_function(X), atol=1e-6)
    assert same >= 3


@pytest.mark.parametrize("fault", ["lifting", "coupling", "everything"])
def test_a_fault_changes_the_answer(data, fault):
    assert not np.allclose(decisions(data, fault, range(1, 14)), decisions(data, "none", range(1, 14)), atol=1e-6)


def test_without_a_refit_the_intercept_belongs_to_z(data):
    assert np.allclose(decisions(data, "no-refit", [14]), decisions(data, "none", [14]), atol=1e-2)
    assert not np.array_equal(decisions(data, "no-refit", [3]), decisions(data, "none", [3]))


def test_a_random_start_repeats(data):
    assert np.array_equal(decisions(data, "everything", [5]), decisions(data, "everything", [5]))


def test_the_loose_schedule_stops_before_z_and_u_agree(data):
    loose, tight = (decisions(data, fault, range(1, 14)) for fault in ("schedule-no-refit", "no-refit"))
    assert np.abs(loose - tight).max() > 1e-3


def test_ties_of_size_go_to_the_lower_index():
    Z = np.array([[1.0, 2.0, 0.0], [-3.0, 2.0, 0.0], [3.0, -2.0, -5.0], [-3.0, 1.0, 0.0]])
    kept = [[0.0, 2.0, 0.0], [-3.0, 2.0, 0.0], [3.0, 0.0, -5.0], [0.0, 0.0, 0.0]]
    assert np.array_equal(_largest_of_columns(Z, np.array([2, 2, 3])), kept)
