"""What is claimed of a fit when one row outweighs all others, or when nothing is left but rounding."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import PLAIN, make_problem, random_samples, slow_objective, surface_of
from helpers.exact_hinge import HingeReference
from helpers.ill_scaled import Dirty, ExactProblem
from quadric import QuadraticSurface, SparseQuadraticSVC, certify
from quadric.certificate import TOLERANCE, Certificate, Judge, Question
from quadric.errors import BoundWarning
from quadric.estimators.validation import ScaleWarning
from quadric.losses import LOSS_NAMES
from quadric.search.decomposition import Schedule, Status, decompose


def outlier(seed, m, n, factor, share):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    X[0] *= factor
    return X, np.where(rng.random(m) < share, 1.0, -1.0)


def fit(X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        return SparseQuadraticSVC(loss="least_squares", **parameters, **PLAIN).fit(X, y)


@pytest.mark.parametrize("factor", [1e3, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_no_false_proof_with_one_outlying_row(seed, factor):
    X, y = outlier(seed, 20, 2, factor, 0.5)
    model = fit(X, y, k=3, C=10.0, method="exact")
    certificate = model.certificates_[0]
    exact = ExactProblem(Dirty("rows", X, y, 10.0, 3), certificate.ridge, np.arange(5))
    optimum = exact.squared_optimum()
    assert certificate.objective <= optimum * (1.0 + TOLERANCE)
    if certificate.ridge:  # [X 1] is nearly singular: a bound with the ridge would be one on another problem
        assert (certificate.lower_bound, certificate.status) == (None, "local")
    else:
        assert certificate.lower_bound <= optimum * (1.0 + 1e-9)
        assert (certificate.status, model.status_) == ("optimal", ["optimal"])
    again = certify(model, X, y, time_limit=60.0)[0]
    assert (again.status, again.objective) == (certificate.status, certificate.objective)


@pytest.mark.parametrize("method", ["pd", "best"])
@pytest.mark.parametrize("seed", [6, 7, 8])
@pytest.mark.parametrize("factor", [1e4, 1e5])
def test_refits_are_exact_with_one_outlying_row(factor, seed, method):
    X, y = outlier(seed, 30, 3, factor, 0.4)
    model = fit(X, y, k=4, C=100.0, method=method)
    certificate, z = model.certificates_[0], model.coef_[0]
    exact = ExactProblem(Dirty("rows", X, y, 100.0, 4), certificate.ridge, np.arange(9))
    own = exact.squared_minimum(tuple(np.flatnonzero(z).tolist()))
    assert certificate.local_minimum
    assert exact.squared_objective(z, model.intercept_[0]) <= own * (1.0 + TOLERANCE)


def test_a_refit_that_is_not_exact_is_found_out():
    """Sums over samples have lost the small rows to the large one: a solution of their equations is not one of the problem."""
    X, y = outlier(6, 30, 3, 1e5, 0.4)
    problem = make_problem("least_squares", X, y, C=100.0, k=4)
    M, q, support = problem.M, problem.q, np.array([0, 3, 5, 7])
    z = np.zeros(9)
    z[support] = np.linalg.lstsq(M[np.ix_(support, support)], q[support], rcond=None)[0]
    surface = surface_of(problem, z, problem.intercept(z))
    judge = Judge(X, np.ones(30), np.ones(30))
    certificate = judge.certificate(surface, Question("least_squares", 100.0, 4, y))
    refit = problem.step().refit(support)
    best = slow_objective(surface_of(problem, refit.z, refit.c), X, y, "least_squares", 100.0)
    assert certificate.objective > 1.01 * best
    assert certificate.decrease >= 1.0 - best / certificate.objective - 1e-6
    assert not certificate.local_minimum
    assert not certificate.basic_feasible


def test_the_decrease_is_what_a_refit_gains():
    X, y = random_samples(2, m=60, n=3)
    problem = make_problem("least_squares", X, y, C=16.0, k=4)
    support = np.array([0, 2, 5, 7])
    best = problem.step().refit(support)
    judge = Judge(X, np.ones(60), np.ones(60))
    for shift in (1e-1, 1e-2, 1e-3):
        z = best.z.copy()
        z[support] += shift * np.array([1.0, -2.0, 0.5, 1.0])
        certificate = judge.certificate(surface_of(problem, z, best.c + shift), Question("least_squares", 16.0, 4, y))
        assert certificate.decrease == pytest.approx(1.0 - best.value / certificate.objective, rel=1e-6)


def test_bounds_above_the_objective_are_not_hidden():
    certificate = Certificate(100.0, 3, 3, 0.0, 0.0, True, True, 0.0)
    with pytest.warns(BoundWarning, match="please report"):
        refused = certificate.bounded(100.1)
    assert (refused.lower_bound, refused.gap, refused.status) == (None, None, "local")
    within = certificate.bounded(100.0 * (1.0 + 0.5 * TOLERANCE))
    assert (within.lower_bound, within.gap, within.status) == (100.0, 0.0, "optimal")
    assert replace(certificate, decrease=1e-3).bounded(100.0).status == "gap"
    assert certificate.bounded(None) == certificate


@pytest.mark.parametrize("factor", [1e4, 1e6])
def test_statuses_agree_and_bounds_are_not_negative(factor):
    X, y = outlier(1, 40, 4, factor, 0.4)
    for k in (2, 5, 14):
        model = fit(X, y, k=k, C=1e4, method="exact")
        certificate = model.certificates_[0]
        assert model.status_[0] != "time limit"
        assert (model.status_[0] == "optimal") == (certificate.status == "optimal")
        assert certificate.lower_bound is None or certificate.lower_bound >= 0.0


def test_coefficients_that_are_rounding_are_not_called_fine():
    X, y = random_samples(2, m=60, n=3)
    surface = QuadraticSurface.from_coordinates(1e-14 * np.array([1.0, -1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]), y.mean())
    (certificate,) = certify(surface, X, y, loss="least_squares", C=1.0, k=5)
    assert certificate.n_terms == 5
    assert not certificate.local_minimum
    assert not certificate.basic_feasible


@pytest.mark.parametrize("C", [1e10, 1e24])
@pytest.mark.parametrize("separable", [True, False])
def test_hinge_refits_are_exact_however_large_C_is(C, separable):
    """Where all margins can be met, multipliers stay far inside their boxes and C times rounding must not count."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] - 0.3 > 0.0, 1.0, -1.0)
    y[:3] *= 1.0 if separable else -1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SparseQuadraticSVC(k=4, C=C, loss="hinge", method="pd", **PLAIN).fit(X, y)
    certificate, z = model.certificates_[0], model.coef_[0]
    reference = HingeReference(ExactProblem(Dirty("plain", X, y, C, 4), certificate.ridge, np.arange(9)))
    own = reference.minimum(tuple(np.flatnonzero(z).tolist()))
    assert reference.objective(z, model.intercept_[0]) <= own * (1.0 + TOLERANCE)
    assert certificate.objective == pytest.approx(float(own), rel=TOLERANCE)
    assert certificate.local_minimum or C > 1e20
    assert (certificate.objective < 1e-3 * C) == separable


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_weights_at_both_ends_multiply_and_still_serve(loss, size):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
    weights = np.full(60, size * (0.1 if size < 1.0 else 0.01))
    model = SparseQuadraticSVC(k=3, C=size, loss=loss, method="pd", **PLAIN, class_weight={-1.0: size, 1.0: size})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = model.fit(X, y, sample_weight=weights).certificates_[0]
    assert np.isfinite(certificate.objective)
    assert certificate.decrease <= TOLERANCE or size > 1.0  # at the upper end rounding may leave nothing to tell


def test_outlying_rows_are_named():
    X, y = outlier(3, 50, 2, 1e4, 0.5)
    with pytest.warns(ScaleWarning, match=r"outlying rows, counted from 0: 0; row 0 has 'x[01]' = .* times as far"):
        SparseQuadraticSVC(k=2, loss="least_squares", **PLAIN).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        X[0] /= 1e3
        SparseQuadraticSVC(k=2, loss="least_squares", **PLAIN).fit(X, y)
        flags = np.zeros((50, 1))
        flags[:2] = 1.0  # rare, not far
        SparseQuadraticSVC(k=2, loss="least_squares", **PLAIN).fit(np.column_stack([X, flags]), y)


def test_penalties_that_lead_nowhere_end():
    """One value of 1e14 and weights from 1e-3 to 1e3: z may not come closer to u, however large the penalty."""
    near = [999999, 1000001, 999999, 1e6, 999999, 9.99998e13, 1000001, 999999, 1000001, 1000001, 999999, 1e6]
    X = np.column_stack([[-1, -1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0], near])
    y, weight = [0, 1, 2, 0, 2, 0, 1, 0, 2, 0, 2, 0], [1e3, 0.5, 1e-3, 1e-3, 1e-3, 1e3, 3, 3, 1e3, 1, 1e-3, 1e-3]
    model = SparseQuadraticSVC(k=2, C=0.01, loss="least_squares", method="pd", include=["x0*x1"], **PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    assert all(np.isfinite(row.rho) and np.isfinite(row.value) for trace in model.traces_ for row in trace)


@pytest.mark.parametrize("accelerated", [False, True])
def test_what_no_penalty_reaches_ends_at_the_precision_limit(accelerated):
    problem = make_problem("least_squares", *random_samples(0, m=40, n=3), k=3)
    found = decompose(problem, Schedule(outer_tol=1e-300, accelerated=accelerated))
    assert found.status == Status.PRECISION_LIMIT
    assert np.isfinite(found.trace[-1].rho)


def test_the_precision_limit_is_told(monkeypatch):
    monkeypatch.setattr("quadric.search.decomposition.LARGEST_SHARE", 1e-4)
    with pytest.warns(ConvergenceWarning, match=r"penalties leave the range of floating point, .*; standardise X"):
        SparseQuadraticSVC(k=2, method="pd").fit(*random_samples(0, m=40, n=3))


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("method", ["best", "exact"])
def test_nothing_is_claimed_of_exchanges_where_the_ridge_forbids_what_columns_far_from_zero_could_do(loss, method):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3)) + 1e6
    y = X[:, 0] * X[:, 1] - 1e6 * (X[:, 0] + X[:, 1]) + rng.normal(size=30) > -1e12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseQuadraticSVC(k=3, C=1.0, loss=loss, method=method, standardize=False, clip=None).fit(X, y)
        judged = certify(model, X, y)
    for certificate in (*model.certificates_, *judged):
        assert certificate.ridge > 0.0
        assert certificate.lower_bound is None
        assert not certificate.swap_optimal
