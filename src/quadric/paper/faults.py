"""LS-l0-QSVM with single errors of the paper or of its authors' published code: do they explain its figures?

For one C the sweeps of all k run together: one matrix per rho serves all columns. Symbols as in the paper: A the lifted
samples, D = diag(y), z, c, u, rho. The restart of step 12 is omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lstsq

from quadric.blas import one_blas_thread
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift
from quadric.geometry.terms import LINEAR, term_factors
from quadric.samples.labelled import LabelledSamples
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class Fault:
    """One error in the computation.

    Attributes
    ----------
    label : str
        What is wrong, in words.
    halved_products : bool
        s_i = 1/2 hvec(x x') halves the products as well as the squares (erratum 1).
    wrong_coupling : bool
        A'D1 instead of A'1 in the equation of z (erratum 2).
    refits : bool
        False: predict with u and the intercept of z (erratum 20).
    drops : tuple of str
        Features to drop: not an error, but another choice of data.
    rho, growth : float
        The first penalty (None: by the scale of the problem), and how it grows.
    inner_tol, outer_tol : float
    outer_steps, inner_steps : int
        When the loops stop.
    dense_start : bool
    """

    label: str
    halved_products: bool = False
    wrong_coupling: bool = False
    refits: bool = True
    drops: tuple[str, ...] = ()
    rho: float | None = None
    growth: float = 10**0.5
    inner_tol: float = 1e-4
    outer_tol: float = 1e-4
    outer_steps: int = 60
    inner_steps: int = 60
    dense_start: bool = False


# The settings in the code of the paper's first versions: few steps, loose tolerances, a dense random start.
AUTHORS: dict[str, Any] = {
    "rho": 0.1,
    "growth": 5**0.5,
    "inner_tol": 1e-2,
    "outer_tol": 0.1,
    "outer_steps": 10,
    "dense_start": True,
}
FAULTS: dict[str, Fault] = {
    "none": Fault("none: the same sweeps without errors"),
    "lifting": Fault("products halved in the lifted vector", halved_products=True),
    "coupling": Fault("A'D1 instead of A'1 in the equation of z", wrong_coupling=True),
    "no-refit": Fault("u with the intercept of z, no refit", refits=False),
    "schedule": Fault("ten loose outer steps from a dense random start", **AUTHORS),
    "schedule-no-refit": Fault("the same, and no refit", refits=False, **AUTHORS),
    "everything": Fault("all of these together", halved_products=True, wrong_coupling=True, refits=False, **AUTHORS),
    "without-class": Fault("none, but without the leaking feature CLASS", drops=("CLASS",)),
}


@one_blas_thread()
def faulty_decisions(
    samples: LabelledSamples, X: FloatArray, Cs: Sequence[float], ks: Sequence[int], fault: Fault, seed: int
) -> FloatArray:
    """f of every (k, C) at every row of X, for two classes: shape (n_ks, n_Cs, m)."""
    A, R = (_lifted(part, fault) for part in (samples.X, X))
    G = Energy.of_samples(samples.X, samples.sample_weight).gram()
    rng = np.random.default_rng(seed)
    return np.stack([_Sweeps(A, samples.target.y(1), G, C, np.asarray(ks), fault, rng).decisions(R) for C in Cs], axis=1)


def _lifted(X: FloatArray, fault: Fault) -> FloatArray:
    R = lift(X)
    if fault.halved_products:
        left, right = term_factors(X.shape[1])
        R[:, (left != right) & (right != LINEAR)] *= 0.5
    return R


class _Sweeps:
    """Algorithm 1 for one C and all k at once."""

    def __init__(
        self, A: FloatArray, y: FloatArray, G: FloatArray, C: float, ks: IntArray, fault: Fault, rng: np.random.Generator
    ) -> None:
        p = A.shape[1]
        self.fault = fault
        self.ks = ks
        coupled = A.T @ (y if fault.wrong_coupling else np.ones(len(y)))
        self.system = np.block(
            [[G + 2.0 * C * (A.T @ A), 2.0 * C * coupled[:, None]], [2.0 * C * A.sum(axis=0), 2.0 * C * len(y)]]
        )
        self.target = 2.0 * C * np.append(A.T @ y, y.sum())
        self.U = -7.0 * rng.random((p, len(ks))) if fault.dense_start else np.zeros((p, len(ks)))
        self.Z = np.zeros_like(self.U)
        self.c = np.zeros(len(ks))

    def decisions(self, R: FloatArray) -> FloatArray:
        self._sweep()
        if self.fault.refits:
            self._refit()
        return (R @ self.U + self.c).T

    def _sweep(self) -> None:
        schedule, p = self.fault, len(self.U)
        rho = 1e-3 * float(np.trace(self.system[:p, :p])) / p if schedule.rho is None else schedule.rho
        active = np.arange(len(self.ks))
        for _ in range(schedule.outer_steps):
            self._inner_loop(active, rho)
            active = active[np.abs(self.Z[:, active] - self.U[:, active]).max(axis=0) > schedule.outer_tol]
            if len(active) == 0:
                return
            rho *= schedule.growth

    def _inner_loop(self, active: IntArray, rho: float) -> None:
        schedule, p = self.fault, len(self.U)
        shifted = self.system.copy()
        shifted[np.arange(p), np.arange(p)] += rho
        inverse = np.linalg.inv(shifted)
        base = inverse @ self.target
        for _ in range(schedule.inner_steps):
            solution = base[:, None] + rho * (inverse[:, :p] @ self.U[:, active])
            U = _largest_of_columns(solution[:p], self.ks[active])
            change = np.maximum(_change(self.Z[:, active], solution[:p]), _change(self.U[:, active], U))
            self.Z[:, active], self.c[active], self.U[:, active] = solution[:p], solution[p], U
            active = active[change > schedule.inner_tol]
            if len(active) == 0:
                return

    def _refit(self) -> None:
        for column in range(len(self.ks)):
            live = np.append(np.flatnonzero(self.U[:, column]), len(self.U))
            solution = lstsq(self.system[np.ix_(live, live)], self.target[live], lapack_driver="gelsy")[0]
            self.U[live[:-1], column], self.c[column] = solution[:-1], solution[-1]


def _largest_of_columns(Z: FloatArray, ks: IntArray) -> FloatArray:
    """Each column with its k largest entries kept, ties to the lower index."""
    size = np.abs(Z)
    # sorting values is several times as fast as a stable order of them
    smallest = np.take_along_axis(np.sort(size, axis=0), len(Z) - ks[None], axis=0)
    above, level = size > smallest, size == smallest
    return np.where(above | (level & (level.cumsum(axis=0) <= ks - above.sum(axis=0))), Z, 0.0)


def _change(before: FloatArray, after: FloatArray) -> FloatArray:
    return np.abs(after - before).max(axis=0) / np.maximum(np.abs(after).max(axis=0), 1.0)
