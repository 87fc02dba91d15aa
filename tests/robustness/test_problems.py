"""The squared loss on dirty data against 50 digits: no bound above the optimum, no refit called a local minimum that is not."""

import warnings

import numpy as np
import pytest

from helpers import PLAIN
from helpers.ill_scaled import KINDS, ExactProblem, dirty_problem, far_problem
from quadric import SparseQuadraticSVC
from quadric.certificate import TOLERANCE
from quadric.errors import BoundWarning
from quadric.examine import certify
from quadric.losses.least_squares import LOSS
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.rules import NO_LIMITS

BLOCKS = 10


def fitted(dirty, method, **parameters):
    model = SparseQuadraticSVC(k=dirty.k, C=dirty.C, loss="least_squares", method=method, **parameters, **PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", BoundWarning)
        return model.fit(dirty.X, dirty.y)


def candidates(dirty):
    """Terms that the library chooses from: those that vary."""
    samples = LabelledSamples(dirty.X, Target((dirty.y > 0).astype(int), np.ones(2)), np.ones(len(dirty.y)))
    return LOSS.data(samples, NO_LIMITS).problem_for(1, dirty.C, dirty.k).terms


def check_surface(dirty, exact, model, optimum):
    """The claims about one surface, each against the truth; what is claimed, in words."""
    (certificate,), z = model.certificates_, model.coef_[0][exact.terms]
    objective = exact.squared_objective(z, model.intercept_[0])
    own = exact.squared_minimum(tuple(np.flatnonzero(z).tolist()))
    assert certificate.objective == pytest.approx(objective, rel=1e-9)
    if certificate.local_minimum:
        assert objective <= own * (1.0 + TOLERANCE)
    assert own >= objective * (1.0 - certificate.decrease * (1.0 + 1e-6) - 1e-12)
    if certificate.lower_bound is not None:
        assert 0.0 <= certificate.lower_bound <= optimum * (1.0 + 1e-9)
    if certificate.status == "optimal":
        assert objective <= optimum * (1.0 + 3.0 * TOLERANCE)
    assert (certificate.status == "local") == (certificate.lower_bound is None)
    assert (model.status_[0] == "optimal") == (certificate.status == "optimal")
    assert model.status_[0] != "time limit"
    return "local minimum" if certificate.local_minimum else "not a local minimum"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_dirty_problems(block, size, tally):
    for seed in range(block, size(40, 2000), BLOCKS):
        dirty = dirty_problem(seed)
        terms = candidates(dirty)
        proved, decomposed = fitted(dirty, "exact"), fitted(dirty, "pd")
        exact = ExactProblem(dirty, proved.certificates_[0].ridge, terms)
        optimum = exact.squared_optimum()
        for model, method in ((proved, "exact"), (decomposed, "pd")):
            tally(f"least squares, {method}: {check_surface(dirty, exact, model, optimum)}")
        certificate = proved.certificates_[0]
        tally(f"least squares, {dirty.kind}: {certificate.status}")
        tally("least squares, no bound" if certificate.lower_bound is None else "least squares, bound")
        again = certify(proved, dirty.X, dirty.y, time_limit=60.0)[0]
        assert (again.objective, again.decrease, again.local_minimum) == (
            certificate.objective,
            certificate.decrease,
            certificate.local_minimum,
        )
        assert again.status == certificate.status
        if again.lower_bound is not None:
            assert 0.0 <= again.lower_bound <= optimum * (1.0 + 1e-9)


@pytest.mark.parametrize("block", range(4))
def test_bounds_speak_of_the_problem_without_a_ridge(block, size, tally):
    for seed in range(block, size(40, 400), 4):
        dirty = far_problem(seed)
        (certificate,) = fitted(dirty, "exact").certificates_
        tally(f"far columns and rows: {certificate.status}")
        if certificate.lower_bound is not None:
            optimum = ExactProblem(dirty, 0.0, candidates(dirty)).squared_optimum()
            assert certificate.lower_bound <= optimum * (1.0 + 1e-9)


@pytest.mark.parametrize("loss", ["least_squares", "hinge", "logistic"])
def test_exactly_dependent_columns_are_still_proved(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    levels = np.eye(3)[rng.integers(3, size=80)]
    y = np.where(X[:, 0] + levels[:, 0] + 0.5 * rng.normal(size=80) > 0.3, 1, -1)
    for columns in (np.column_stack([X, levels]), np.column_stack([X, X[:, 0]])):
        model = SparseQuadraticSVC(2, 1.0, loss=loss, method="exact", **PLAIN).fit(columns, y)
        (certificate,) = model.certificates_
        assert certificate.ridge > 0.0
        assert certificate.status == "optimal"


def test_every_kind_is_tried():
    assert {dirty_problem(seed).kind for seed in range(len(KINDS))} == set(KINDS)
