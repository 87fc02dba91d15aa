"""The two quadratic machines and the linear one: optima of Clarabel and scikit-learn, optimality conditions, exact zeros."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear
from sklearn.svm import SVC

from helpers import make_problem, random_samples, slow_lift
from helpers.baseline_objectives import labelled, minimum, objective
from paper_data import folder, load
from quadric.baselines import L1QuadraticSVC, LinearHingeSVC, QuadraticSVC
from quadric.baselines.grids import l1_quadratic_grid
from quadric.baselines.l1_quadratic import L1Path
from quadric.geometry.surface import QuadraticSurface
from quadric.losses.hinge.step import solve_hinge

needs_data = pytest.mark.skipif(folder() is None, reason="the paper's data are not here: set QUADRIC_DATA")


def off_optimum(model, X, y, **weights):
    (surface,) = model.fit(X, y, sample_weight=weights.get("w")).surfaces_
    best = minimum(model, X, y, **weights)
    return abs(objective(model, surface, X, y, **weights) - best) / best


@pytest.mark.parametrize("C", [0.25, 8.0, 1024.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", [LinearHingeSVC, QuadraticSVC])
def test_hinge_optimum_is_clarabels(model, seed, C):
    X, y = random_samples(seed, m=60, n=3)
    assert off_optimum(model(C=C), X, y) < 1e-7


@pytest.mark.parametrize("C2", [0.1, 10.0])
@pytest.mark.parametrize("C1", [0.25, 8.0, 64.0])
@pytest.mark.parametrize("seed", range(3))
def test_l1_optimum_is_clarabels(seed, C1, C2):
    X, y = random_samples(seed, m=60, n=4)
    assert off_optimum(L1QuadraticSVC(C1, C2), X, y) < 1e-7


@pytest.mark.parametrize("model", [LinearHingeSVC(2.0), QuadraticSVC(2.0), L1QuadraticSVC(4.0, 2.0)], ids=str)
def test_weighted_optimum_is_clarabels(model):
    X, y = random_samples(7, m=60, n=3)
    w = np.random.default_rng(0).uniform(0.5, 3.0, size=60)
    assert off_optimum(model, X, y, w=w) < 1e-7


@needs_data
@pytest.mark.parametrize("name", ["glass", "ecoli"])
@pytest.mark.parametrize("model", [LinearHingeSVC(16.0), QuadraticSVC(256.0), L1QuadraticSVC(16.0, 10.0)], ids=str)
def test_optimum_on_the_papers_data_is_clarabels(model, name):
    X, y = load(name)
    assert off_optimum(model, X, y) < 1e-7


@pytest.mark.parametrize("C", [0.25, 1.0, 16.0])
@pytest.mark.parametrize("seed", range(3))
def test_linear_optimum_is_scikit_learns(seed, C):
    X, y = random_samples(seed, m=150, n=4)
    assert_not_above_svc(X, y, C)


@needs_data
@pytest.mark.parametrize(("name", "C"), [("german", 1.0), ("ecoli", 16.0), ("glass", 16.0), ("abalone", 16.0)])
def test_linear_optimum_on_the_papers_data_is_scikit_learns(name, C):
    assert_not_above_svc(*load(name), C)


def assert_not_above_svc(X, y, C):
    model, theirs = LinearHingeSVC(C).fit(X, y), SVC(kernel="linear", C=C, tol=1e-5).fit(X, y)
    flat = QuadraticSurface(np.zeros((X.shape[1],) * 2), theirs.coef_[0], theirs.intercept_[0])
    ours, other = (objective(model, surface, X, y) for surface in (model.surfaces_[0], flat))
    assert ours == pytest.approx(other, rel=1e-5)
    assert ours <= other * (1 + 1e-9)


def test_quadratic_machine_is_the_engines_refit_on_all_terms():
    X, y = random_samples(3, m=80, n=3)
    refit = make_problem("hinge", X, y, C=4.0).step().refit(np.arange(9))
    model = QuadraticSVC(4.0).fit(X, y)
    assert_allclose(model.coef_[0], refit.z, atol=1e-9)
    assert_allclose(model.intercept_, refit.c, atol=1e-9)


def energy_gradient(surface, X):
    """Of sum ||W x + b||^2, in the order of z, written out."""
    slope = X @ surface.W + surface.b
    quadratic = [
        2 * slope[:, a] @ X[:, a] if a == b else 2 * (slope[:, a] @ X[:, b] + slope[:, b] @ X[:, a])
        for a, b in zip(*np.triu_indices(X.shape[1]), strict=True)
    ]
    return np.append(quadratic, 2 * slope.sum(axis=0))


def l1_residual(model, surface, X, y):
    """Least violation of 0 in the subdifferential, over multipliers of the samples on their margin and of the zeros of W."""
    n_quadratic = X.shape[1] * (X.shape[1] + 1) // 2
    z, R = surface.coordinates(), slow_lift(X)
    excess = y * surface(X) - 1
    on_margin = np.abs(excess) < 1e-7
    fixed = model.C2 * (excess < 0) * ~on_margin
    zero = np.flatnonzero(z[:n_quadratic] == 0)
    gradient = energy_gradient(surface, X) - (y * fixed) @ R
    gradient[:n_quadratic] += model.C1 * np.sign(z[:n_quadratic])
    unknown_samples = np.vstack([-(y[:, None] * R)[on_margin].T, -y[on_margin]])
    unknown_zeros = np.zeros((len(z) + 1, len(zero)))
    unknown_zeros[zero, np.arange(len(zero))] = 1.0
    lower = np.append(np.zeros(on_margin.sum()), np.full(len(zero), -model.C1))
    upper = np.append(np.full(on_margin.sum(), model.C2), np.full(len(zero), model.C1))
    target = -np.append(gradient, -(y @ fixed))
    system = np.hstack([unknown_samples, unknown_zeros])
    return np.abs(lsq_linear(system, target, (lower, upper), tol=1e-14).fun).max() / (model.C2 * len(y))


@pytest.mark.parametrize("C1", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("seed", range(5))
def test_l1_optimality_conditions(seed, C1):
    X, y = random_samples(seed, m=70, n=4)
    model = L1QuadraticSVC(C1, 5.0).fit(X, y)
    (surface,) = model.surfaces_
    assert l1_residual(model, surface, X, y) < 1e-9
    moved = QuadraticSurface(surface.W * 1.01, surface.b, surface.c - 1e-3)
    assert l1_residual(model, moved, X, y) > 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_l1_zeros_are_exact_and_other_entries_are_not_small(seed):
    X, y = random_samples(seed, m=70, n=5)
    C1s = [1024.0, 64.0, 16.0, 4.0, 1.0, 0.25]
    fits = l1_quadratic_grid(labelled(X, y), C1s, [10.0])
    quadratic = fits.coef[:, 0, :15]
    counts = np.count_nonzero(quadratic, axis=1)
    assert counts[0] == 0
    assert 0 < counts[2] < 15
    assert counts[-1] > counts[2]
    assert np.abs(quadratic[quadratic != 0]).min() > 1e-6
    assert np.count_nonzero(fits.coef[:, 0, 15:]) == 30  # b is not penalised
    norms = np.abs(quadratic).sum(axis=1)
    assert (np.diff(norms) >= -1e-9).all()  # a smaller price never buys a smaller norm


@pytest.mark.parametrize("seed", range(3))
def test_l1_turns_linear_for_a_large_price(seed):
    """W = 0: what is left is the hinge loss with the energy m ||b||^2."""
    X, y = random_samples(seed, m=60, n=3)
    model = L1QuadraticSVC(1e6, 10.0).fit(X, y)
    (surface,) = model.surfaces_
    assert_array_equal(surface.W, np.zeros((3, 3)))
    # m ||b||^2 + C2 hinge is 2m (1/2 ||b||^2 + C2 / 2m hinge): a linear machine with another C
    linear = LinearHingeSVC(10.0 / 120.0).fit(X, y)
    assert_allclose(model.coef_, linear.coef_, atol=1e-9)
    assert_allclose(model.intercept_, linear.intercept_, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_l1_without_a_price_is_the_quadratic_machine(seed):
    X, y = random_samples(seed, m=60, n=3)
    dense = QuadraticSVC(10.0).fit(X, y)
    assert_allclose(L1QuadraticSVC(1e-9, 10.0).fit(X, y).coef_, dense.coef_, atol=1e-7)


def test_l1_fits_start_from_the_answer_before(monkeypatch):
    """The same price again: the multipliers it starts from are the answer, those of the penalties too."""
    X, y = random_samples(1, m=80, n=4)
    path = L1Path(make_problem("hinge", X, y, C=5.0))
    first, calls = path.fit(4.0), []

    def recorded(qp, w, alpha):
        solution = solve_hinge(qp, w, alpha)
        calls.append((alpha, solution))
        return solution

    monkeypatch.setattr("quadric.baselines.l1_quadratic.solve_hinge", recorded)
    second = path.fit(4.0)
    ((start, solution),) = calls
    assert solution.n_iter == 1
    assert len(start) > 80
    assert_allclose(start, solution.alpha, atol=1e-8)
    assert_allclose(second[0], first[0], atol=1e-10)


def test_l1_with_dependent_columns_keeps_to_its_objective():
    """A feature twice and a 0/1 feature: G is singular, and the solver works with its ridge."""
    X, y = random_samples(2, m=80, n=3)
    X = np.column_stack([X, X[:, 0], (X[:, 1] > 0).astype(float)])
    model = L1QuadraticSVC(4.0, 10.0)
    assert off_optimum(model, X, y) < 1e-5
    assert np.count_nonzero(model.coef_) < 20
