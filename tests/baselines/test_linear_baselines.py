"""Least squares against its dual system, the linear program against Clarabel, the l0 iterations against what they promise."""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers import random_samples
from helpers.baseline_objectives import labelled, minimum, objective
from paper_data import folder, load
from quadric.baselines import L0LeastSquaresSVC, L1LinearSVC, LeastSquaresSVC
from quadric.baselines.grids import l0_least_squares_grid
from quadric.baselines.linear import LinearData, Spectrum, ThresholdProblems, _fixed_point

needs_data = pytest.mark.skipif(folder() is None, reason="the paper's data are not here: set QUADRIC_DATA")


@pytest.mark.parametrize("C", [0.01, 1.0, 1024.0])
@pytest.mark.parametrize(("m", "n"), [(40, 3), (8, 12)])
def test_least_squares_solves_the_dual_system(m, n, C):
    """[0 y'; y Omega + I/C] [b; alpha] = [0; 1] with Omega_ij = y_i y_j x_i'x_j, and w = sum alpha_i y_i x_i."""
    X, y = random_samples(1, m=m, n=n)
    X += 3.0
    system = np.zeros((m + 1, m + 1))
    system[0, 1:] = system[1:, 0] = y
    system[1:, 1:] = np.outer(y, y) * (X @ X.T) + np.eye(m) / C
    b, *alpha = np.linalg.solve(system, np.append(0.0, np.ones(m)))
    model = LeastSquaresSVC(C).fit(X, y)
    assert_allclose(model.surfaces_[0].b, (y * alpha) @ X, rtol=1e-8, atol=1e-10)
    assert_allclose(model.intercept_, b, rtol=1e-8)


def test_least_squares_keeps_its_digits_far_from_unit_scale():
    """Columns from 1e-4 to 1e4: the normal equations alone would lose the small ones."""
    X, y = random_samples(2, m=60, n=3)
    X = X * np.array([1e-4, 1.0, 1e4])
    with pytest.warns(UserWarning, match="far from standardised"):
        model = LeastSquaresSVC(100.0).fit(X, y)
    design = np.vstack([np.sqrt(100.0) * np.column_stack([X, np.ones(60)]), np.eye(3, 4)])
    w = np.linalg.lstsq(design / [1e-4, 1.0, 1e4, 1.0], np.append(np.sqrt(100.0) * y, np.zeros(3)), rcond=None)[0]
    assert_allclose(model.surfaces_[0].b, w[:3] / [1e-4, 1.0, 1e4], rtol=1e-9)


@pytest.mark.parametrize("C", [0.05, 1.0, 64.0, 1024.0])
@pytest.mark.parametrize("seed", range(4))
def test_linear_program_optimum_is_clarabels(seed, C):
    X, y = random_samples(seed, m=60, n=4)
    model = L1LinearSVC(C).fit(X, y)
    value = objective(model, model.surfaces_[0], X, y)
    assert value == pytest.approx(minimum(model, X, y), rel=1e-7)


def test_weighted_linear_program_optimum_is_clarabels():
    X, y = random_samples(5, m=60, n=4)
    w = np.random.default_rng(0).uniform(0.5, 3.0, size=60)
    model = L1LinearSVC(2.0).fit(X, y, sample_weight=w)
    assert objective(model, model.surfaces_[0], X, y, w) == pytest.approx(minimum(model, X, y, w), rel=1e-7)


@needs_data
@pytest.mark.parametrize("C", [1.0, 1024.0])
@pytest.mark.parametrize("name", ["haberman", "australian"])
def test_linear_program_optimum_on_the_papers_data_is_clarabels(name, C):
    X, y = load(name)
    model = L1LinearSVC(C).fit(X, y)
    assert objective(model, model.surfaces_[0], X, y) == pytest.approx(minimum(model, X, y), rel=1e-7)


def test_the_linear_program_leaves_features_out():
    X, y = random_samples(3, m=100, n=8)
    counts = [np.count_nonzero(L1LinearSVC(C).fit(X, y).coef_) for C in (0.001, 0.05, 1.0)]
    assert counts[0] == 0
    assert 0 < counts[1] < counts[2] <= 8


def test_a_linear_program_that_fails_says_so(monkeypatch):
    class Failure:
        status, message = 4, "numerical difficulties."

    monkeypatch.setattr("quadric.baselines.linear.linprog", lambda *args, **options: Failure)
    X, y = random_samples(0)
    with pytest.raises(RuntimeError, match="HiGHS did not solve the linear program: numerical difficulties"):
        L1LinearSVC().fit(X, y)


def plain_admm(X, y, C, gamma, lam, n_steps):
    """The three steps of the method, a thousand times, with dense matrices."""
    Xc, yc, n = X - X.mean(axis=0), y - y.mean(), X.shape[1]
    v = u = np.zeros(n)
    for _ in range(n_steps):
        w = np.linalg.solve((1 + gamma) * np.eye(n) + C * Xc.T @ Xc, C * Xc.T @ yc + gamma * (v - u))
        v = np.where(np.abs(w + u) > np.sqrt(2 * lam / gamma), w + u, 0.0)
        u = u + w - v
    return v


@pytest.mark.parametrize("seed", range(6))
def test_l0_iterations_end_where_the_plain_method_ends(seed):
    X, y = random_samples(seed, m=60, n=6)
    C, gamma, lam = 1.0, 1e3, [0.05, 0.1, 0.2][seed % 3]
    model = L0LeastSquaresSVC(C, gamma, lam, max_iter=3000).fit(X, y)
    assert model.n_iter_[0] < 3000
    assert_allclose(model.surfaces_[0].b, plain_admm(X, y, C, gamma, lam, 4000), atol=1e-7)
    assert_allclose(model.intercept_, np.mean(y - X @ model.surfaces_[0].b), atol=1e-12)


@pytest.mark.parametrize("tol", [1e-4, 1e6])
@pytest.mark.parametrize("seed", range(6))
def test_l0_answers_are_fixed_points(seed, tol):
    """Stationary on the support with entries above the threshold, gradients off it within gamma times the threshold.

    So too where any step would be small enough to end.
    """
    X, y = random_samples(seed, m=60, n=6)
    C, gamma, lam = 2.0, 1e3, 0.15
    model = L0LeastSquaresSVC(C, gamma, lam, tol=tol).fit(X, y)
    v, threshold = model.surfaces_[0].b, np.sqrt(2 * lam / gamma)
    gradient = v - C * X.T @ (y - X @ v - model.intercept_[0])
    support = v != 0
    assert 0 < support.sum() < 6
    assert np.abs(gradient[support]).max() < 1e-9 * C * 60
    assert np.abs(v[support]).min() >= threshold
    assert np.abs(gradient[~support]).max() <= gamma * threshold


def test_l0_fixed_points_are_those_that_a_step_leaves_alone():
    """Every support tried: its fit is a fixed point exactly if one step of the plain method keeps it."""
    C, gamma, lam = 1.0, 300.0, 0.3
    threshold, verdicts = np.sqrt(2 * lam / gamma), set()
    for seed, support in product(range(4), product([False, True], repeat=4)):
        X, y = random_samples(seed, m=40, n=4)
        data = LinearData.of(labelled(X, y))
        q, M, inside = data.samples.target.y(1) @ data.X, np.eye(4) + C * data.X.T @ data.X, np.array(support)
        problem = ThresholdProblems(q[None], np.array([C]), np.array([gamma]), np.array([lam]))
        found = _fixed_point(Spectrum(data), problem, inside)
        v = np.zeros(4)
        v[inside] = np.linalg.solve(M[np.ix_(inside, inside)], C * q[inside])
        u = np.where(inside, 0.0, (C * q - M @ v) / gamma)
        stays = np.array_equal(np.abs(v + u) > threshold, inside)
        assert (found is not None) == stays
        if stays:
            assert_allclose(found, v, atol=1e-12)
        verdicts.add((bool(np.abs(v[inside]).min(initial=1.0) >= threshold), bool((np.abs(u) <= threshold).all())))
    assert verdicts >= {(True, True), (True, False), (False, True)}


def test_l0_counts_its_iterations():
    X, y = random_samples(0, m=60, n=6)
    (enough,) = L0LeastSquaresSVC(2.0, 1e3, 0.15).fit(X, y).n_iter_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert L0LeastSquaresSVC(2.0, 1e3, 0.15, max_iter=int(enough)).fit(X, y).n_iter_ == [enough]
    with pytest.warns(ConvergenceWarning, match=f"max_iter={enough - 1}"):
        L0LeastSquaresSVC(2.0, 1e3, 0.15, max_iter=int(enough) - 1).fit(X, y)
    assert L0LeastSquaresSVC(2.0, 1e3, 0.15, tol=1e6).fit(X, y).n_iter_[0] < enough


def test_l0_says_that_it_did_not_settle():
    X, y = random_samples(0, m=60, n=6)
    with pytest.warns(
        ConvergenceWarning, match=r"did not settle within max_iter=7: last step .*; raise max_iter, or gamma where they cycle"
    ) as seen:
        model = L0LeastSquaresSVC(1.0, 1e3, 0.1, max_iter=7).fit(X, y)
    assert seen[0].filename == __file__
    assert model.n_iter_[0] == 7


def supports_of_the_plain_method(X, y, C, gamma, lam, n_steps):
    return {tuple(plain_admm(X, y, C, gamma, lam, steps) != 0) for steps in range(n_steps + 1)}


@pytest.mark.parametrize("seed", range(4))
def test_l0_that_cycles_keeps_the_lowest_objective_among_the_supports_it_visited(seed):
    X, y = random_samples(seed, m=60, n=5)
    C, gamma, lam, n_steps = 64.0, 100.0, 5.0, 40
    Xc, yc = X - X.mean(axis=0), y - y.mean()

    def fit_and_objective(support):
        inside = np.array(support)
        v = np.zeros(5)
        v[inside] = np.linalg.solve(Xc[:, inside].T @ Xc[:, inside] + np.eye(inside.sum()) / C, Xc[:, inside].T @ yc)
        return 0.5 * v @ v + 0.5 * C * np.sum((yc - Xc @ v) ** 2) + lam * inside.sum(), v

    supports = supports_of_the_plain_method(X, y, C, gamma, lam, n_steps)
    assert len(supports) > 2
    _, v = min((fit_and_objective(support) for support in supports), key=lambda pair: pair[0])
    with pytest.warns(ConvergenceWarning):
        model = L0LeastSquaresSVC(C, gamma, lam, max_iter=n_steps).fit(X, y)
    assert_allclose(model.surfaces_[0].b, v, atol=1e-9)


def test_l0_that_cycles_hardly_depends_on_its_limit():
    X, y = random_samples(1, m=60, n=5)
    cells = ([4.0, 64.0, 1024.0], [1e2, 1e3], [1.0, 10.0])
    fits = [l0_least_squares_grid(labelled(X, y), *cells, max_iter=limit) for limit in (300, 301, 302, 303)]
    assert (fits[0].residual > 1e-4).sum() >= 4
    for later in fits[1:]:
        assert_allclose(later.coef, fits[0].coef, atol=1e-12)


def test_l0_prices():
    """No feature is worth a huge price; with a tiny one the answer is the dense fit."""
    X, y = random_samples(2, m=60, n=4)
    assert np.count_nonzero(L0LeastSquaresSVC(1.0, 1e4, 1e6).fit(X, y).coef_) == 0
    assert_allclose(L0LeastSquaresSVC(1.0, 100.0, 1e-8).fit(X, y).coef_, LeastSquaresSVC(1.0).fit(X, y).coef_, atol=1e-10)


@needs_data
@pytest.mark.parametrize(
    ("name", "counts"),
    [("ecoli", [[5, 5, 3], [6, 4, 3], [5, 3, 0]]), ("australian", [[10, 5, 1], [12, 7, 2], [11, 5, 1]])],
)
def test_l0_counts_of_features_on_the_papers_data(name, counts):
    """Counted once by 200 iterations of the plain method at C = 1; rows gamma, columns lam. Where it settles, so do we."""
    X, y = load(name)
    fits = l0_least_squares_grid(labelled(X, y), [1.0], [1e2, 1e3, 1e4], [0.1, 1.0, 10.0], max_iter=200)
    settled = fits.n_iter[:, 0] < 200
    assert settled.sum() >= 3
    assert_array_equal(np.count_nonzero(fits.coef[:, 0], axis=1)[settled], np.ravel(counts)[settled])


@pytest.mark.parametrize(("m", "n"), [(30, 4), (5, 9)])
def test_shifted_solves_solve_their_systems(m, n):
    rng = np.random.default_rng(m)
    X, y = random_samples(0, m=m, n=n)
    data = LinearData.of(labelled(X, y, rng.uniform(0.5, 2.0, size=m)))
    gram = (data.X * data.weight[:, None]).T @ data.X
    spectrum, rhs = Spectrum(data), rng.normal(size=(3, n))
    shift, C = np.array([1.0, 11.0, 1e4]), np.array([0.1, 100.0, 2.0])
    solved = spectrum.shifted_solve(rhs, shift, C)
    for row in range(3):
        assert_allclose(shift[row] * solved[row] + C[row] * gram @ solved[row], rhs[row], atol=1e-8)
        assert_array_equal(spectrum.shifted_solve(rhs[[row]], shift[[row]], C[[row]])[0], solved[row])
    assert_allclose(spectrum.gram, gram, atol=1e-10)


def test_constant_features_stay_out_of_linear_models():
    X, y = random_samples(4, m=50, n=3)
    wide = np.column_stack([X[:, 0], np.full(50, 0.1), X[:, 1:]])
    for model in (LeastSquaresSVC(), L1LinearSVC(), L0LeastSquaresSVC(lam=0.01)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            narrow, with_constant = model.fit(X, y).surfaces_[0], model.fit(wide, y).surfaces_[0]
        assert with_constant.b[1] == 0.0
        assert_allclose(with_constant.b[[0, 2, 3]], narrow.b, atol=1e-9)
        assert_allclose(with_constant.c, narrow.c, atol=1e-9)
