"""Whole grids of the baselines on one set of samples; what cells share is computed once.

There is one function per model. Each returns the surfaces for all combinations of the values, with the last parameter varying
fastest. The estimators of classifiers.py are grids of one cell. Cells agree with separate fits to solver precision, for any
order of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from quadric.baselines.l1_quadratic import L1Path
from quadric.baselines.linear import LinearData, Spectrum, ThresholdProblems, hard_threshold_admm, moments
from quadric.blas import one_blas_thread
from quadric.estimators.validation import check_values, integer_from, number_above
from quadric.geometry.lifting import lift
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.losses.footprint import check_memory
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.qp import hinge_intercept
from quadric.losses.hinge.step import HingeStep
from quadric.losses.rows_data import RowsData
from quadric.samples.extent import Extent
from quadric.samples.labelled import LabelledSamples
from quadric.search.rules import NO_LIMITS
from quadric.types import FloatArray, IntArray

POSITIVE = number_above(0.0)
# When the alternating iterations of the l0 model stop.
MAX_ITER, TOL = 1000, 1e-4


@dataclass(frozen=True)
class GridFits:
    """Surfaces of every cell of a grid.

    Attributes
    ----------
    cells : tuple of mappings
        The parameters of each cell, by name.
    coef : array of shape (n_cells, n_surfaces, p)
        z = [hvec(W); b].
    intercept : array of shape (n_cells, n_surfaces)
        c.
    residual : array of shape (n_cells, n_surfaces)
        Remaining violation of the optimality conditions, in the unit of the solver; 0 for closed forms.
    n_iter : array of shape (n_cells, n_surfaces)
        Iterations, if the model has a limit on them; otherwise 0.
    """

    cells: tuple[Mapping[str, float], ...]
    coef: FloatArray
    intercept: FloatArray
    residual: FloatArray
    n_iter: IntArray

    @staticmethod
    def empty(samples: LabelledSamples, **values: Sequence[float]) -> GridFits:
        """A grid to be filled by ``put``."""
        for name, choices in values.items():
            if len(choices) == 0:
                raise ValueError(f"{name} has no values: give at least one")
            for value in choices:
                check_values({name: value}, {name: POSITIVE})
        cells = tuple(dict(zip(values, map(float, combination), strict=True)) for combination in product(*values.values()))
        shape = (len(cells), len(samples.surfaces))
        coef = np.zeros((*shape, term_count(samples.X.shape[1])))
        return GridFits(cells, coef, np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.intp))

    def falling(self, name: str, **fixed: float) -> list[int]:
        """The cells with the ``fixed`` parameters, the largest value of ``name`` first."""
        chosen = [i for i, cell in enumerate(self.cells) if fixed.items() <= cell.items()]
        return sorted(chosen, key=lambda i: -self.cells[i][name])

    def put(self, cell: int, surface: int, z: FloatArray, c: float, residual: float = 0.0) -> None:
        """Fill in one surface of one cell."""
        self.coef[cell, surface], self.intercept[cell, surface], self.residual[cell, surface] = z, c, residual

    def surfaces(self, cell: int) -> list[QuadraticSurface]:
        """The surfaces of one cell: one for two classes, otherwise one per class."""
        rows = zip(self.coef[cell], self.intercept[cell], strict=True)
        return [QuadraticSurface.from_coordinates(z, float(c)) for z, c in rows]

    @one_blas_thread()
    def scores(self, X: FloatArray) -> FloatArray:
        """f of every surface at each row of X.

        Parameters
        ----------
        X : array of shape (m, n)

        Returns
        -------
        array of shape (n_cells, n_surfaces, m)
        """
        flat = self.coef.reshape(-1, self.coef.shape[-1]) @ lift(X).T
        return flat.reshape(*self.intercept.shape, len(X)) + self.intercept[:, :, None]


@one_blas_thread()
def linear_hinge_grid(samples: LabelledSamples, Cs: Sequence[float]) -> GridFits:
    """Linear support vector machines: min 1/2 w'w + C sum_i o_i max(0, 1 - y_i (w'x_i + b)).

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    Cs : sequence of float
        Weights of the loss.
    """
    fits, data = GridFits.empty(samples, C=Cs), LinearData.of(samples)
    return _hinge_paths(fits, (data.hinge_problem(surface, 1.0) for surface in samples.surfaces))


@one_blas_thread()
def quadratic_hinge_grid(samples: LabelledSamples, Cs: Sequence[float]) -> GridFits:
    """Quadratic surface machines: min sum_i w_i ||W x_i + b||^2 + C sum_i o_i max(0, 1 - y_i f(x_i)).

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    Cs : sequence of float
        Weights of the loss.
    """
    return _hinge_paths(GridFits.empty(samples, C=Cs), _quadratic_problems(samples))


@one_blas_thread()
def l1_quadratic_grid(samples: LabelledSamples, C1s: Sequence[float], C2s: Sequence[float]) -> GridFits:
    """The quadratic surface machine plus C1 sum_(i<=j) |W_ij|, with C2 as the weight of the loss.

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    C1s, C2s : sequences of float
        Weights of the penalty and of the loss.
    """
    fits = GridFits.empty(samples, C1=C1s, C2=C2s)
    for surface, problem in enumerate(_quadratic_problems(samples)):
        for C2 in sorted({cell["C2"] for cell in fits.cells}):
            path = L1Path(replace(problem, C=C2))
            for cell in fits.falling("C1", C2=C2):
                fits.put(cell, surface, *path.fit(fits.cells[cell]["C1"]))
    return fits


@one_blas_thread()
def least_squares_grid(samples: LabelledSamples, Cs: Sequence[float]) -> GridFits:
    """Least-squares linear machines: min 1/2 w'w + C/2 sum_i o_i (1 - y_i (w'x_i + b))^2.

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    Cs : sequence of float
        Weights of the loss.
    """
    fits, data = GridFits.empty(samples, C=Cs), LinearData.of(samples)
    spectrum = Spectrum(data)
    return _linear_fits(fits, data, lambda surface, C: (spectrum.ridge(moments(data, surface), C), data.mean_label(surface)))


@one_blas_thread()
def l1_linear_grid(samples: LabelledSamples, Cs: Sequence[float]) -> GridFits:
    """l1 linear machines: min ||w||_1 + C sum_i o_i max(0, 1 - y_i (w'x_i + b)).

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    Cs : sequence of float
        Weights of the loss.
    """
    fits, data = GridFits.empty(samples, C=Cs), LinearData.of(samples)

    def fit(surface: int, C: float) -> tuple[FloatArray, float]:
        w = data.l1_fit(surface, C)
        return w, hinge_intercept(data.X @ w, samples.target.y(surface), data.weight)

    return _linear_fits(fits, data, fit)


@one_blas_thread()
def l0_least_squares_grid(
    samples: LabelledSamples,
    Cs: Sequence[float],
    gammas: Sequence[float],
    lams: Sequence[float],
    *,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
) -> GridFits:
    """The least-squares linear machine plus lam ||w||_0, by alternating directions with hard thresholds.

    Parameters
    ----------
    samples : LabelledSamples
        Two or more classes.
    Cs, gammas, lams : sequences of float
        Weight of the loss, penalty of the augmented Lagrangian, weight of the number of features.
    max_iter : int
        Largest number of iterations per cell.
    tol : float
        Step, in units of the threshold sqrt(2 lam / gamma), below which a cell is done.
    """
    check_values({"max_iter": max_iter, "tol": tol}, {"max_iter": integer_from(1), "tol": POSITIVE})
    fits = GridFits.empty(samples, C=Cs, gamma=gammas, lam=lams)
    columns = [np.array([cell[name] for cell in fits.cells]) for name in ("C", "gamma", "lam")]
    data = LinearData.of(samples)
    spectrum = Spectrum(data)
    for place, surface in enumerate(samples.surfaces):
        q = np.tile(moments(data, surface), (len(fits.cells), 1))
        problems, level = ThresholdProblems(q, *columns), data.mean_label(surface)
        V, fits.n_iter[:, place], residual = hard_threshold_admm(spectrum, problems, max_iter=max_iter, tol=tol)
        for cell, v in enumerate(V):
            fits.put(cell, place, *data.surface(v, level), residual[cell])
    return fits


def _quadratic_problems(samples: LabelledSamples) -> list[HingeProblem]:
    check_memory("hinge", Extent(samples.X.shape, samples.target.n_classes, proves=True))
    with one_blas_thread():
        data = RowsData(HingeProblem, samples, NO_LIMITS)  # on all terms, however many there are
    return [data.problem_for(surface, 1.0, term_count(samples.X.shape[1])) for surface in samples.surfaces]


def _hinge_paths(fits: GridFits, problems: Iterable[HingeProblem]) -> GridFits:
    """Each surface at every C, largest first, warm-started from the one before."""
    for surface, problem in enumerate(problems):
        step = HingeStep(problem)
        for cell in fits.falling("C"):
            step = step.at(fits.cells[cell]["C"])
            solution = step.refit(np.arange(problem.n_terms))
            fits.put(cell, surface, problem.embed(solution.z), solution.c, solution.residual)
    return fits


def _linear_fits(fits: GridFits, data: LinearData, fit: Callable[[int, float], tuple[FloatArray, float]]) -> GridFits:
    """w and level of each surface at every C, as ``fit`` finds them for a class and a C."""
    for place, surface in enumerate(data.samples.surfaces):
        for cell, parameters in enumerate(fits.cells):
            fits.put(cell, place, *data.surface(*fit(surface, parameters["C"])))
    return fits
