"""Paths: aligned, never increasing, near the separate fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import LOSSES, PER_SAMPLE, PLAIN, random_samples
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV, sparse_quadratic_path

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


def samples(seed=0, m=80, n=4):
    X, y = random_samples(seed, m=m, n=n)
    return X, np.where(y > 0, "good", "bad")


def test_arrays_are_aligned(loss):
    X, y = samples()
    path = sparse_quadratic_path(X, y, ks=[1, 3, 6], Cs=[1.0, 16.0], loss=loss)
    assert path.objective.shape == path.n_iter.shape == path.status.shape == path.seconds.shape == (2, 3)
    assert path.coef.shape == path.support.shape == (2, 3, 14)
    assert (path.coef[~path.support] == 0).all()
    assert_array_equal(path.support.sum(axis=2), [[1, 3, 6]] * 2)
    signs = np.where(y == "good", 1.0, -1.0)
    for i, C in enumerate(path.Cs):
        for j, k in enumerate(path.ks):
            surface = QuadraticSurface.from_coordinates(path.coef[i, j], path.intercept[i, j])
            t = 1 - signs * surface(X)
            value = np.sum(surface.gradient(X) ** 2) + C * np.sum(PER_SAMPLE[loss](t))
            assert value == pytest.approx(path.objective[i, j], rel=1e-9)
            assert surface.n_terms <= k


def test_objectives_never_increase_along_k(loss):
    X, y = samples(1, n=5)
    path = sparse_quadratic_path(X, y, ks=range(1, 21), Cs=[0.25, 4.0, 256.0], loss=loss)
    assert (np.diff(path.objective, axis=1) <= 1e-9 * path.objective[:, :-1]).all()


def test_near_the_separate_fits(loss):
    X, y = samples(2, n=5)
    ks = [1, 2, 4, 8, 16]
    path = sparse_quadratic_path(X, y, ks=ks, Cs=[1.0, 64.0], loss=loss)
    for i, C in enumerate(path.Cs):
        for j, k in enumerate(ks):
            fit = SparseQuadraticSVC(k=k, C=C, loss=loss, **PLAIN).fit(X, y)
            slack = 1e-3 if loss == "least_squares" else 2e-2
            assert path.objective[i, j] <= fit.certificates_[0].objective * (1 + slack)


def test_pd_path_is_pd_at_each_point(loss):
    X, y = samples(3)
    path = sparse_quadratic_path(X, y, ks=[2, 5], Cs=[4.0], loss=loss, method="pd")
    for j, k in enumerate([2, 5]):
        fit = SparseQuadraticSVC(k=k, C=4.0, loss=loss, method="pd", **PLAIN).fit(X, y)
        assert_allclose(path.coef[0, j], fit.coef_[0], atol=1e-8)


def test_default_grid_and_constraints():
    X, y = samples(4, n=2)
    path = sparse_quadratic_path(X, y, loss="least_squares", include=["x0"], exclude=["x1*"])
    assert_array_equal(path.ks, [1, 2, 3, 4])  # of five terms one is excluded
    assert path.support[0, :, 3].all()
    assert not path.support[:, :, 1].any()


def test_weights_and_seeds():
    X, y = samples(5)
    counts = np.random.default_rng(0).integers(1, 3, size=80)
    weighted = sparse_quadratic_path(X, y, ks=[2, 4], loss="least_squares", sample_weight=counts, random_state=3)
    repeated = sparse_quadratic_path(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), ks=[2, 4], loss="least_squares", random_state=3
    )
    assert_allclose(weighted.objective, repeated.objective, rtol=1e-9)
    again = sparse_quadratic_path(X, y, ks=[2, 4], loss="least_squares", sample_weight=counts, random_state=3)
    assert again.coef.tobytes() == weighted.coef.tobytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": []}, "ks is empty"),
        ({"ks": [3, 2]}, "ks must be strictly increasing"),
        ({"ks": [1, 1]}, "ks must be strictly increasing"),
        ({"ks": [0, 2]}, "ks must hold integers from 1 to 1,000,000,000, got 0"),
        ({"ks": 5}, "ks must be a sequence"),
        ({"ks": range(1, 10**30)}, "ks has more than 10,000 values: give fewer"),
        ({"ks": [1, 10**20]}, "ks must hold integers from 1 to 1,000,000,000, got 100000000000000000000"),
        ({"Cs": np.ones(10_001)}, "Cs has more than 10,000 values"),
        ({"Cs": 10**9}, "Cs must be an integer from 1 to 100, got 1000000000"),
        ({"Cs": []}, "Cs is empty"),
        ({"Cs": [1.0, -1.0]}, "Cs must hold finite numbers from 1e-60"),
        ({"method": "exact"}, "method must be 'pd' or 'best'"),
        ({"include": ["x0", "x1"], "ks": [1, 2]}, "include holds 2 terms, more than the smallest of ks, 1"),
        ({"y": np.arange(80) % 3}, "two classes, but y has 3"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_input(change, message):
    X, y = samples()
    arguments = {"y": y, "ks": [1, 2], "loss": "least_squares"}
    with pytest.raises(ValueError, match=message):
        sparse_quadratic_path(X, **{**arguments, **change})


def test_plot():
    X, y = samples()
    path = sparse_quadratic_path(X, y, ks=[1, 2, 3], Cs=[1.0, 4.0], loss="least_squares")
    ax = path.plot()
    assert len(ax.lines) == 2
    assert ax.get_xlabel() == "number of terms k"
    assert path.plot(ax) is ax
    assert all(tick == round(tick) for tick in ax.get_xticks())


def test_paths_print_in_a_line():
    X, y = samples()
    path = sparse_quadratic_path(X, y, ks=[1, 2, 3], Cs=[1.0], loss="least_squares")
    p = path.coef.shape[-1]
    assert repr(path) == f"QuadraticPath(3 values of k from 1 to 3; C = 1; {p} terms to choose from)"
    model = SparseQuadraticSVCCV(ks=[2], Cs=[1.0, 4.0], cv=3, loss="least_squares").fit(X, y)
    assert repr(model.paths_[0]).endswith(f"(k = 2; 2 values of C from 1 to 4; {p} terms to choose from; scores of 3 folds)")


def test_plot_with_scores():
    X, y = samples()
    model = SparseQuadraticSVCCV(ks=[1, 2, 4], Cs=[1.0, 4.0], cv=3, loss="least_squares", **PLAIN).fit(X, y)
    ax = model.paths_[0].plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["objective, C = 1", "objective, C = 4"]
    assert labels[2].startswith("score, C = ")


def test_progress(capsys):
    X, y = samples()
    sparse_quadratic_path(X, y, ks=[1, 2], Cs=[1.0, 4.0], loss="least_squares", verbose=2)
    assert "C = 4 done (2 of 2)" in capsys.readouterr().err


def test_a_path_keeps_only_what_is_not_zero():
    """At a thousand features the dense coefficients of one class take hundreds of megabytes."""
    X, y = np.random.default_rng(0).normal(size=(60, 6)), np.arange(60) % 2
    path = sparse_quadratic_path(X, y, ks=[1, 3], Cs=[1.0, 4.0])
    coef, support = path.coef, path.support
    assert coef.shape == support.shape == (2, 2, 27)
    assert (np.count_nonzero(support, axis=2) == [1, 3]).all()
    for i, j in np.ndindex(2, 2):
        np.testing.assert_array_equal(coef[i, j, path.cells[i][j].terms], path.cells[i][j].z)
        assert np.flatnonzero(support[i, j]).tolist() == path.cells[i][j].terms.tolist()
    assert not [name for name, value in vars(path).items() if np.size(value) >= coef.size]
