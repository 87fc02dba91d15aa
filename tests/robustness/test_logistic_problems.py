"""The logistic loss on dirty data against 50 digits: no bound above the optimum, no refit called a local minimum that is not."""

import warnings
from itertools import combinations

import numpy as np
import pytest

from helpers import PLAIN, make_problem
from helpers.exact_logistic import LogisticReference
from helpers.ill_scaled import Dirty, ExactProblem, dirty_problem
from quadric import SparseQuadraticSVC
from quadric.certificate import TOLERANCE
from quadric.errors import BoundWarning

BLOCKS = 10
POLISHED = 3
"""Supports, those with the lowest objectives, whose minima are found in 50 digits."""


def fitted(dirty, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", BoundWarning)
        return SparseQuadraticSVC(k=dirty.k, C=dirty.C, loss="logistic", method=method, **PLAIN).fit(dirty.X, dirty.y)


def check_surface(reference, terms, model):
    """The claims about one surface and its support, against the truth; what is claimed, in words."""
    (certificate,), z = model.certificates_, model.coef_[0][terms]
    objective = reference.objective(z, model.intercept_[0])
    own = reference.minimum(tuple(np.flatnonzero(z).tolist()), z, model.intercept_[0])
    assert certificate.objective == pytest.approx(float(objective), rel=1e-9)
    assert objective - own <= objective * (certificate.decrease + 1e-12)
    if certificate.local_minimum:
        assert objective <= own * (1.0 + TOLERANCE)
        return "local minimum"
    return "rounding" if certificate.decrease <= TOLERANCE else "not a local minimum"


def optimum(reference, problem):
    """The best of all supports, each near the minimum that the library finds there."""
    refits = {}
    for support in combinations(range(problem.n_terms), problem.k):
        refit = problem.step().refit(np.array(support))
        refits[support] = reference.objective(refit.z, refit.c), refit
    lowest = sorted(refits, key=lambda support: refits[support][0])[:POLISHED]
    return min(float(reference.minimum(support, refits[support][1].z, refits[support][1].c)) for support in lowest)


def check_bound(certificate, status, best):
    """What the proof claims."""
    if certificate.lower_bound is not None:
        assert 0.0 <= certificate.lower_bound <= best * (1.0 + 1e-9)
    if certificate.status == "optimal":
        assert certificate.objective <= best * (1.0 + 3.0 * TOLERANCE)
    assert (certificate.status == "local") == (certificate.lower_bound is None)
    assert (status == "optimal") == (certificate.status == "optimal")
    assert status != "time limit"


def tried(dirty, tally):
    problem = make_problem("logistic", dirty.X, dirty.y, C=dirty.C, k=dirty.k)
    proved, decomposed = fitted(dirty, "exact"), fitted(dirty, "pd")
    certificate = proved.certificates_[0]
    reference = LogisticReference(ExactProblem(dirty, certificate.ridge, problem.terms))
    for model, method in ((proved, "exact"), (decomposed, "pd")):
        tally(f"logistic, {method}: {check_surface(reference, problem.terms, model)}")
    check_bound(certificate, proved.status_[0], optimum(reference, problem))
    tally(f"logistic, {dirty.kind}: {certificate.status}")
    tally("logistic, no bound" if certificate.lower_bound is None else "logistic, bound")


@pytest.mark.parametrize("seed", range(6))
def test_one_outlying_row_hides_no_bad_refit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X[0] *= 1e5
    dirty = Dirty("outlying rows", X, np.where(rng.random(30) < 0.4, 1.0, -1.0), 100.0, 4)
    problem, model = make_problem("logistic", X, dirty.y), fitted(dirty, "pd")
    reference = LogisticReference(ExactProblem(dirty, model.certificates_[0].ridge, problem.terms))
    assert check_surface(reference, problem.terms, model) != "not a local minimum"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_dirty_problems(block, size, tally):
    for seed in range(block, size(30, 2000), BLOCKS):
        tried(dirty_problem(seed), tally)
