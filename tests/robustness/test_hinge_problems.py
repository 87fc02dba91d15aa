"""The hinge loss on dirty data against 50 digits: no bound above the optimum, no refit called a local minimum that is not."""

import warnings

import numpy as np
import pytest

from helpers import PLAIN
from helpers.exact_hinge import HingeReference
from helpers.ill_scaled import Dirty, ExactProblem, dirty_problem
from quadric import SparseQuadraticSVC
from quadric.certificate import TOLERANCE
from quadric.errors import BoundWarning
from quadric.losses.hinge import LOSS
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.rules import NO_LIMITS

BLOCKS = 10


def fitted(dirty, method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", BoundWarning)
        return SparseQuadraticSVC(k=dirty.k, C=dirty.C, loss="hinge", method=method, **PLAIN).fit(dirty.X, dirty.y)


def candidates(dirty):
    """Terms that the library chooses from: those that vary."""
    samples = LabelledSamples(dirty.X, Target((dirty.y > 0).astype(int), np.ones(2)), np.ones(len(dirty.y)))
    return LOSS.data(samples, NO_LIMITS).problem_for(1, dirty.C, dirty.k).terms


def check_surface(reference, terms, model):
    """The claims about one surface and its support, against the truth; what is claimed, in words."""
    (certificate,), z = model.certificates_, model.coef_[0][terms]
    objective = reference.objective(z, model.intercept_[0])
    own = reference.minimum(tuple(np.flatnonzero(z).tolist()))
    assert objective - own <= objective * (certificate.decrease + 1e-11)
    if certificate.local_minimum:
        assert certificate.objective == pytest.approx(float(objective), rel=TOLERANCE)
        assert objective <= own * (1.0 + TOLERANCE)
        return "local minimum"
    if certificate.decrease <= TOLERANCE:
        return "fewer terms" if certificate.n_terms < certificate.k else "terms that are rounding"
    return "not a local minimum"


def check_bound(certificate, status, optimum):
    """What the proof claims."""
    if certificate.lower_bound is not None:
        assert 0.0 <= certificate.lower_bound <= optimum * (1.0 + 1e-9)
    if certificate.status == "optimal":
        assert certificate.objective <= optimum * (1.0 + 3.0 * TOLERANCE)
    assert (certificate.status == "local") == (certificate.lower_bound is None)
    assert (status == "optimal") == (certificate.status == "optimal")
    assert status != "time limit"


@pytest.mark.parametrize("seed", range(12))
def test_one_outlying_row_hides_no_bad_refit(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X[0] *= 1e5
    dirty = Dirty("outlying rows", X, np.where(rng.random(30) < 0.4, 1.0, -1.0), 100.0, 4)
    terms, model = candidates(dirty), fitted(dirty, "pd")
    reference = HingeReference(ExactProblem(dirty, model.certificates_[0].ridge, terms))
    assert check_surface(reference, terms, model) != "not a local minimum"


@pytest.mark.parametrize("block", range(BLOCKS))
def test_dirty_problems(block, size, tally):
    for seed in range(block, size(20, 2000), BLOCKS):
        dirty = dirty_problem(seed)
        terms = candidates(dirty)
        proved, decomposed = fitted(dirty, "exact"), fitted(dirty, "pd")
        certificate = proved.certificates_[0]
        reference = HingeReference(ExactProblem(dirty, certificate.ridge, terms))
        for model, method in ((proved, "exact"), (decomposed, "pd")):
            tally(f"hinge, {method}: {check_surface(reference, terms, model)}")
        check_bound(certificate, proved.status_[0], reference.optimum())
        tally(f"hinge, {dirty.kind}: {certificate.status}")
        tally("hinge, no bound" if certificate.lower_bound is None else "hinge, bound")
