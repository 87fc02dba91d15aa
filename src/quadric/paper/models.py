"""The paper's ten models with their grids (appendix A), and functions that evaluate a whole grid on one training part.

A grid is a list of cells in the order that decides ties: first k, if there is one, then C. ``decide`` returns f for all cells,
classes and test samples at once, so that paths and shared factorisations do the work of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
from sklearn.svm import SVC

from quadric.baselines.grids import (
    GridFits,
    l0_least_squares_grid,
    l1_linear_grid,
    l1_quadratic_grid,
    least_squares_grid,
    linear_hinge_grid,
    quadratic_hinge_grid,
)
from quadric.geometry.lifting import lift
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.samples.labelled import LabelledSamples
from quadric.search.path import trace_path
from quadric.search.rules import NO_LIMITS
from quadric.types import FloatArray

Cell: TypeAlias = dict[str, float]
CS_OF_TWO = [2.0**power for power in range(-2, 11)]
# Ties of LS-SVM and l1-SVM go to the larger C: only this order reproduces their iris rows.
CS_FALLING = CS_OF_TWO[::-1]
TIES = (
    "equal means go to the smaller k, then the smaller C (C1, then C2; C, then gamma, then lam), but those of LS-SVM and "
    "l1-SVM to the larger C: only this order reproduces the paper's rows on iris"
)
CS_OF_FOUR = [4.0**power for power in range(-1, 9)]
C1S, C2S = CS_OF_TWO, [0.1, 1.0, 10.0, 100.0]
GAMMAS, LAMBDAS = [1e2, 1e3, 1e4], [0.1, 1.0, 10.0]
# With up to this many terms, k increases in steps of 2; with more, in steps of 5.
FEW_TERMS = 60
# Largest k of l0-QSVM with the best terms: with the hinge loss, each exchange is a convex problem of its own.
LARGEST_BEST_K = {"ctg": 62}


def budgets(n_features: int) -> list[int]:
    """The paper's values of k: 2, 2 + delta, ... up to the number of terms."""
    p = term_count(n_features)
    return list(range(2, p + 1, 2 if p <= FEW_TERMS else 5))


Decide: TypeAlias = Callable[[LabelledSamples, FloatArray, Sequence[Cell]], FloatArray]


@dataclass(frozen=True)
class Model:
    """One row of Table 1.

    Attributes
    ----------
    key : str
        Name on the command line.
    label : str
        Name in tables.
    solver : str
        The solver used here.
    published_solver : str
        The solver named in the paper.
    parameters : tuple of str
        Parameters of the grid.
    grid : callable
        Returns the cells for the name of a data set and its number of features.
    decide : callable
        Returns decisions of shape (n_cells, n_surfaces, m) for training samples, test samples and cells.
    cost : callable
        Returns a rough number of seconds for (m, p), to order the work and estimate the remaining time.
    """

    key: str
    label: str
    solver: str
    published_solver: str
    parameters: tuple[str, ...]
    grid: Callable[[str, int], list[Cell]]
    decide: Decide
    cost: Callable[[int, int], float]


# Parameters, grid and decisions of a model.
Space: TypeAlias = tuple[tuple[str, ...], Callable[[str, int], list[Cell]], Decide]


def _space_of(decide: Decide, **values: Sequence[float]) -> Space:
    cells = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
    return tuple(values), lambda dataset, n_features: cells, decide


def _baseline(fit: Callable[..., GridFits], **values: Sequence[float]) -> Space:
    return _space_of(lambda samples, X, cells: fit(samples, *values.values()).scores(X), **values)


def _sparse_grid(dataset: str, n_features: int) -> list[Cell]:
    return [{"k": k, "C": C} for k in budgets(n_features) for C in CS_OF_FOUR]


def _best_hinge_grid(dataset: str, n_features: int) -> list[Cell]:
    return [cell for cell in _sparse_grid(dataset, n_features) if cell["k"] <= LARGEST_BEST_K.get(dataset, math.inf)]


def _sparse_path(loss: str, method: str) -> Decide:

    def decide(samples: LabelledSamples, X: FloatArray, cells: Sequence[Cell]) -> FloatArray:
        ks, Cs = sorted({int(cell["k"]) for cell in cells}), sorted({cell["C"] for cell in cells})
        data, R = loss_named(loss).data(samples, NO_LIMITS), lift(X)
        decisions = np.empty((len(cells), len(samples.surfaces), len(X)))
        where = [(Cs.index(cell["C"]), ks.index(int(cell["k"]))) for cell in cells]
        for i, surface in enumerate(samples.surfaces):
            path = trace_path(data, surface, Cs, ks, method=method, seed=(0, surface))
            values = path.coef @ R.T + path.intercept[..., None]
            decisions[:, i] = [values[place] for place in where]
        return decisions

    return decide


def _kernel_machine(**parameters: object) -> Space:
    """scikit-learn's SVC, with one fit per cell and class."""

    def decide(samples: LabelledSamples, X: FloatArray, cells: Sequence[Cell]) -> FloatArray:
        decisions = np.empty((len(cells), len(samples.surfaces), len(X)))
        for c, cell in enumerate(cells):
            for i, surface in enumerate(samples.surfaces):
                machine = SVC(C=cell["C"], cache_size=500, **parameters)
                decisions[c, i] = machine.fit(samples.X, samples.target.codes == surface).decision_function(X)
        return decisions

    return _space_of(decide, C=CS_OF_TWO)


MODELS: dict[str, Model] = {
    model.key: model
    for model in [
        Model(
            "lsvm",
            "LSVM",
            "quadric's hinge solver",
            "Scikit-learn",
            *_baseline(linear_hinge_grid, C=CS_OF_TWO),
            lambda m, p: 3e-5 * m,
        ),
        Model(
            "ls-svm",
            "LS-SVM",
            "closed form, one eigendecomposition for all C",
            "Numpy",
            *_baseline(least_squares_grid, C=CS_FALLING),
            lambda m, p: 0.02,
        ),
        Model(
            "svm-rbf",
            "SVM-rbf",
            "scikit-learn's SVC, gamma='scale'",
            "Scikit-learn",
            *_kernel_machine(kernel="rbf"),
            lambda m, p: 2e-6 * m**2,
        ),
        Model(
            "svm-q2",
            "SVM-Q2",
            "scikit-learn's SVC, degree 2, coef0=1, gamma='scale'",
            "Scikit-learn",
            *_kernel_machine(kernel="poly", degree=2, coef0=1.0),
            lambda m, p: 1e-5 * m**2,
        ),
        Model(
            "l1-svm",
            "l1-SVM",
            "linear program, HiGHS",
            "COPT",
            *_baseline(l1_linear_grid, C=CS_FALLING),
            lambda m, p: 1e-3 * m,
        ),
        Model(
            "ls-l0-svm",
            "LS-l0-SVM",
            "ADMM with hard thresholding (a reconstruction)",
            "ADMM",
            *_baseline(l0_least_squares_grid, C=CS_OF_TWO, gamma=GAMMAS, lam=LAMBDAS),
            lambda m, p: 0.5,
        ),
        Model(
            "qsvm",
            "QSVM",
            "quadric's hinge solver",
            "COPT",
            *_baseline(quadratic_hinge_grid, C=CS_OF_TWO),
            lambda m, p: 1e-5 * m * p,
        ),
        Model(
            "l1-qsvm",
            "l1-QSVM",
            "quadric's hinge solver, with the penalty as hinge terms",
            "COPT",
            *_baseline(l1_quadratic_grid, C1=C1S, C2=C2S),
            lambda m, p: 5e-5 * m * p,
        ),
        Model(
            "l0-qsvm",
            "l0-QSVM",
            "Algorithm 1, quadric's hinge solver, refit",
            "Algorithm 1, COPT",
            ("C", "k"),
            _sparse_grid,
            _sparse_path("hinge", "pd"),
            lambda m, p: 3e-4 * m * p,
        ),
        Model(
            "ls-l0-qsvm",
            "LS-l0-QSVM",
            "Algorithm 1, one eigendecomposition per C, refit",
            "Algorithm 1, closed form, COPT",
            ("C", "k"),
            _sparse_grid,
            _sparse_path("least_squares", "pd"),
            lambda m, p: 1e-4 * p**2,
        ),
        Model(
            "l0-qsvm-best",
            "l0-QSVM, best terms",
            "exchanges of terms along the path",
            "",
            ("C", "k"),
            _best_hinge_grid,
            _sparse_path("hinge", "best"),
            lambda m, p: 4e-4 * m * p,
        ),
        Model(
            "ls-l0-qsvm-best",
            "LS-l0-QSVM, best terms",
            "exchanges of terms along the path",
            "",
            ("C", "k"),
            _sparse_grid,
            _sparse_path("least_squares", "best"),
            lambda m, p: 4e-4 * p**2,
        ),
    ]
}
PUBLISHED_MODELS = [key for key in MODELS if not key.endswith("-best")]
# Models that are also fitted with the terms found by exchanges, instead of the paper's algorithm.
BEST_OF = {"l0-qsvm": "l0-qsvm-best", "ls-l0-qsvm": "ls-l0-qsvm-best"}
