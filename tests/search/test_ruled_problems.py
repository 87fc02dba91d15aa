"""Estimators under rules against every admissible support, solved by Clarabel: a part of ``benchmarks/rules.py``."""

import numpy as np
import pytest

pytest.importorskip("clarabel")

from helpers import convex_solver
from quadric import SparseQuadraticSVC
from ruled_problems import KINDS, LOSSES, RuledProblem, name, random_problem
from rules import PLAIN, enumerated


@pytest.mark.parametrize("kind", KINDS)
def test_fits_are_the_optimum_and_claims_are_true(kind):
    for loss in LOSSES:  # how often a search without a proof finds the optimum is no promise
        assert [
            row for row in enumerated(loss, kind, 3) if not row.holds and "method best at the optimum" not in row.what
        ] == []


def test_programmes_are_those_of_cvxpy():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    problem = RuledProblem(X, y, 2.0, 3)
    assert [name(term) for term in problem.terms] == ["x0^2", "x0*x1", "x1^2", "x0", "x1"]
    for loss in LOSSES:
        expected = convex_solver.minimum(X, y, loss, 2.0, support=np.array([0, 1, 3]))
        assert problem.minimum(loss, (0, 1, 3)) == pytest.approx(expected, rel=1e-8)


def test_products_of_two_ruled_features_that_rules_make_zero():
    """What rounding has left of one rule must not be mended by a term that the other rule makes zero."""
    problem = random_problem("together", 188)
    model = SparseQuadraticSVC(problem.k, problem.C, **PLAIN, **problem.parameters).fit(problem.X, problem.y)
    assert all(proof.proved for proof in model.certificates_[0].monotone)
