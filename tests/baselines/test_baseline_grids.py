"""Grids: every cell is the fit of its parameters, whatever stands next to it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from helpers import random_samples
from helpers.baseline_objectives import labelled, objective
from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)
from quadric.baselines.grids import (
    l0_least_squares_grid,
    l1_linear_grid,
    l1_quadratic_grid,
    least_squares_grid,
    linear_hinge_grid,
    quadratic_hinge_grid,
)
from quadric.losses.hinge.step import solve_hinge
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target

CS = [1.0, 0.25, 64.0, 8.0, 1024.0]
GRIDS = [
    pytest.param(LinearHingeSVC, linear_hinge_grid, (CS,), id="linear hinge"),
    pytest.param(QuadraticSVC, quadratic_hinge_grid, (CS,), id="quadratic hinge"),
    pytest.param(L1QuadraticSVC, l1_quadratic_grid, ([4.0, 64.0, 0.25, 16.0], [10.0, 0.1]), id="l1 quadratic"),
    pytest.param(LeastSquaresSVC, least_squares_grid, (CS,), id="least squares"),
    pytest.param(L1LinearSVC, l1_linear_grid, (CS,), id="l1 linear"),
    pytest.param(L0LeastSquaresSVC, l0_least_squares_grid, ([1.0, 0.25], [1e4, 1e3], [0.1, 10.0, 1.0]), id="l0"),
]


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize(("model", "grid", "values"), GRIDS)
@pytest.mark.parametrize("seed", range(2))
def test_a_cell_is_a_separate_fit(model, grid, values, seed):
    X, y = random_samples(seed, m=80, n=4)
    fits = grid(labelled(X, y), *values)
    assert len(fits.cells) == np.prod([len(some) for some in values])
    for cell, parameters in enumerate(fits.cells):
        alone = model(**parameters).fit(X, y)
        (surface,) = fits.surfaces(cell)
        value, expected = (objective(alone, s, X, y) for s in (surface, alone.surfaces_[0]))
        assert value == pytest.approx(expected, rel=1e-9)
        assert_array_equal(surface.coordinates() == 0, alone.coef_[0] == 0)
    assert fits.residual.max() < 1e-4


@pytest.mark.parametrize(("model", "grid", "values"), GRIDS)
def test_cells_run_through_all_combinations_the_last_fastest(model, grid, values):
    X, y = random_samples(0, m=30, n=2)
    fits = grid(labelled(X, y), *values)
    names = list(fits.cells[0])
    assert set(names) <= set(model().get_params())
    expected = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, len(values))
    assert_array_equal([[cell[name] for name in names] for cell in fits.cells], expected)


@pytest.mark.parametrize(("model", "grid", "values"), GRIDS)
def test_three_classes_are_three_surfaces(model, grid, values):
    X, y = iris()
    fits = grid(LabelledSamples(X, Target(y, np.ones(3)), np.ones(150)), *(some[:1] for some in values))
    assert fits.coef.shape == (1, 3, 14)
    assert fits.intercept.shape == fits.residual.shape == fits.n_iter.shape == (1, 3)
    parameters = fits.cells[0]
    for positive in range(3):
        two = grid(labelled(X, np.where(y == positive, 1, -1)), *([value] for value in parameters.values()))
        assert_allclose(fits.coef[0, positive], two.coef[0, 0], atol=1e-8)
        assert_allclose(fits.intercept[0, positive], two.intercept[0, 0], atol=1e-8)


def test_scores_are_the_surfaces_values():
    X, y = iris()
    fits = quadratic_hinge_grid(LabelledSamples(X, Target(y, np.ones(3)), np.ones(150)), [1.0, 16.0])
    scores = fits.scores(X[:20])
    assert scores.shape == (2, 3, 20)
    for cell in range(2):
        for surface, expected in zip(fits.surfaces(cell), scores[cell], strict=True):
            assert_allclose(surface(X[:20]), expected, atol=1e-10)


BITS = """
import hashlib
import numpy as np
from quadric.baselines import grids
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 12))
codes = (X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=400) > 0).astype(int)
samples = LabelledSamples(X, Target(codes, np.ones(2)), np.ones(400))
some = {"l1_quadratic": ([64.0, 8.0], [1.0]), "l0_least_squares": ([1.0, 16.0], [1e3], [1.0])}
for name in ("linear_hinge", "quadratic_hinge", "l1_quadratic", "least_squares", "l1_linear", "l0_least_squares"):
    fits = getattr(grids, name + "_grid")(samples, *some.get(name, ([1.0, 16.0],)))
    print(name, hashlib.sha256(fits.coef.tobytes() + fits.intercept.tobytes() + fits.scores(X).tobytes()).hexdigest())
"""


def test_grids_do_not_depend_on_the_number_of_blas_threads():
    one, two = (
        subprocess.run(
            [sys.executable, "-c", BITS],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    )
    assert one == two
    assert len(one.splitlines()) == 6


@pytest.mark.parametrize("grid", [linear_hinge_grid, quadratic_hinge_grid])
def test_hinge_fits_start_from_the_answer_at_the_larger_C(grid, monkeypatch):
    X, y = random_samples(3, m=60, n=3)
    starts, answers = [], []

    def recorded(qp, w, alpha, likely):
        solution = solve_hinge(qp, w, alpha, likely)
        starts.append(alpha)
        answers.append(solution.alpha)
        return solution

    monkeypatch.setattr("quadric.losses.hinge.step.solve_hinge", recorded)
    grid(labelled(X, y), [1.0, 16.0, 4.0])
    assert starts[0] is None
    assert_allclose(starts[1:], np.array(answers[:2]) / 4.0)


def test_l0_cells_do_not_feel_each_other_at_all():
    """Bit by bit, also where the iterations cycle."""
    X, y = random_samples(5, m=60, n=5)
    Cs, gammas, lams = [0.25, 16.0, 1024.0], [10.0, 1e3], [0.1, 10.0]
    fits = l0_least_squares_grid(labelled(X, y), Cs, gammas, lams)
    assert (fits.n_iter == 1000).any()
    assert (fits.n_iter < 1000).any()
    for cell, parameters in enumerate(fits.cells):
        alone = l0_least_squares_grid(labelled(X, y), *([value] for value in parameters.values()))
        assert_array_equal(alone.coef[0], fits.coef[cell])
        assert alone.n_iter[0, 0] == fits.n_iter[cell, 0]


def test_bad_grids_are_told():
    X, y = random_samples(0, m=30, n=2)
    with pytest.raises(ValueError, match=r"^C2 must be a finite number above 0, got -1.0$"):
        l1_quadratic_grid(labelled(X, y), [1.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"^C has no values: give at least one$"):
        linear_hinge_grid(labelled(X, y), [])
    with pytest.raises(ValueError, match=r"^max_iter must be an integer of at least 1, got 0$"):
        l0_least_squares_grid(labelled(X, y), [1.0], [1.0], [1.0], max_iter=0)
