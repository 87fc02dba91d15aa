"""The squared loss as a quadratic in z alone (docs/mathematics.md, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from quadric.geometry.energy import Energy, rounding_of_sum
from quadric.geometry.stacked import StackedRows
from quadric.losses.base import SparseProblem
from quadric.losses.least_squares.curvature import Curvature, WideCurvature
from quadric.losses.supports import SupportRule
from quadric.losses.tableau import SINGULAR
from quadric.samples.labelled import LabelledSamples
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class LeastSquaresProblem(SparseProblem):
    """Squared loss with c eliminated: F(z) = 1/2 z'Mz - q'z + constant (docs/mathematics.md, section 2).

    Attributes
    ----------
    curvature : Curvature or WideCurvature
        M.
    cross : array of shape (p,)
        R~'y~.
    mean : array of shape (p,)
        Loss-weighted mean of r.
    mean_y, scatter_y : float
        Loss-weighted mean and scatter of the labels.
    total_weight : float
        Sum of the loss weights.
    samples : LabelledSamples or None
        The samples themselves, if they are in memory, for where their sums have lost digits.
    n_samples : int or None
        How many there are, where that is known without them.
    sums : Energy or None
        The regulariser of sums whose samples are not there.
    """

    loss_name: ClassVar[str] = "least_squares"
    curvature: Curvature | WideCurvature
    cross: FloatArray
    mean: FloatArray
    mean_y: float
    scatter_y: float
    total_weight: float
    samples: LabelledSamples | None = None
    n_samples: int | None = None
    sums: Energy | None = None

    @property
    def regulariser(self) -> Energy | None:
        return self.sums if self.samples is None else self.samples.energy

    @property
    def pairs(self) -> Curvature:
        """M where it is a matrix of all pairs."""
        assert isinstance(self.curvature, Curvature)
        return self.curvature

    @property
    def M(self) -> FloatArray:
        return self.pairs.M

    @property
    def G(self) -> FloatArray:
        return self.pairs.G

    @property
    def is_wide(self) -> bool:
        return isinstance(self.curvature, WideCurvature)

    @property
    def energy_trace(self) -> float:
        return self.curvature.energy_trace

    def stacked(self, support: IntArray) -> StackedRows:
        """F on a support as a sum of squares over the samples, and their number."""
        samples = self.samples
        assert samples is not None
        terms, weight = self.terms[support], self.C * samples.loss_weight
        return StackedRows(samples.X, samples.energy, weight, samples.target.y(self.surface), terms)

    @cached_property
    def q(self) -> FloatArray:
        return (2.0 * self.C) * self.cross  # (2.3)

    @property
    def constant(self) -> float:
        return self.C * self.scatter_y

    @cached_property
    def swelling(self) -> FloatArray:
        """tau_j^2: how much larger the sums behind M_jj were than what centring has left of them (7.6)."""
        return 1.0 + (2.0 * self.C * self.total_weight) * self.mean**2 / self.curvature.diagonal

    @property
    def unit_roundoff(self) -> float:
        """gamma: relative rounding error of the sums over samples behind M and q (7.6)."""
        count = len(self.samples.target) if self.samples is not None else self.n_samples or self.total_weight
        return rounding_of_sum(count)

    def among(self, candidates: IntArray) -> LeastSquaresProblem | None:
        """The same problem with the pairs of some candidates, all required ones among them; None: its rule needs all."""
        if len(candidates) == self.n_terms and not self.is_wide:
            return self
        rule, curvature, trace = self.rule.among(candidates), self.curvature, self.scatter_trace
        if isinstance(curvature, WideCurvature):
            trace = float(curvature.rows.scatter[candidates].sum())
            if rule is None:
                raise ValueError("this rule on supports cannot be kept with so many terms: exclude some of them")
        if rule is None:
            return None
        return replace(
            self,
            k=min(self.k, len(candidates)),
            terms=self.terms[candidates],
            scatter_trace=trace,
            rule=rule,
            curvature=curvature.among(candidates),
            cross=self.cross[candidates],
            mean=self.mean[candidates],
        )

    def paired(self) -> SparseProblem:
        return self.among(np.arange(self.n_terms)) or self

    def promising(self, n_terms: int, support: IntArray | None = None) -> SparseProblem:
        if n_terms >= self.n_terms:
            return self.among(np.arange(self.n_terms)) or self
        chosen = promising_terms(self.curvature.row, self.curvature.diagonal, self.q, self.k, self.rule, n_terms)
        return self.among(self.rule.closed(chosen if support is None else np.union1d(chosen, support))) or self

    def objective(self, z: FloatArray, c: float) -> float:
        off_optimum = c - self.intercept(z)  # (2.2) is F at the best c; elsewhere F grows as a parabola in c
        at_best_c = 0.5 * self.curvature.curved(z) - self.q @ z + self.constant
        return float(at_best_c + self.C * self.total_weight * off_optimum**2)

    def intercept(self, z: FloatArray) -> float:
        return float(self.mean_y - self.mean @ z)  # (2.1)

    def slopes(self, z: FloatArray, c: float, pull: FloatArray | None = None) -> FloatArray:
        # C sum_i o_i |r_ij| of (5.4) is at most C sqrt(sum_i o_i sum_i o_i r_ij^2), which the sums know
        squares = (np.diag(self.M) - np.diag(self.G)) / (2.0 * self.C) + self.total_weight * self.mean**2
        weight, off_optimum = self.C * self.total_weight, c - self.intercept(z)
        gradient = self.M @ z - self.q + (2.0 * weight * off_optimum) * self.mean - (0.0 if pull is None else pull)
        return np.append(gradient / (self.C * np.sqrt(self.total_weight * squares)), 2.0 * off_optimum)


def summed_quadratic(problem: SparseProblem) -> tuple[FloatArray, FloatArray, float]:
    """M, q with a column for each class, and the constant of the squared losses of all classes (13.1)."""
    parts = cast("tuple[LeastSquaresProblem, ...]", problem.parts)
    return parts[0].M, np.column_stack([part.q for part in parts]), sum(part.constant for part in parts)


def promising_terms(
    row_of: Callable[[int], FloatArray], diagonal: FloatArray, q: FloatArray, k: int, rule: SupportRule, n_terms: int
) -> IntArray:
    """The best entrants at each step of a forward selection to k terms, as many of each step as make ``n_terms`` together.

    ``q`` may have a column for each class.

    A step costs a row of M and O(kp): M is factorised on the support only, row by row (docs/mathematics.md, eq. 6.2 has the
    gains).
    """
    left, h = diagonal.copy(), q.reshape(len(q), -1).copy()  # T_jj and h_j of the tableau
    factor: list[FloatArray] = []
    chosen: list[int] = []
    orders, required = [], rule.required
    while True:
        usable = left > SINGULAR * diagonal
        usable[chosen] = False
        gains = np.where(usable, np.sum(h**2, axis=1) / np.where(usable, left, 1.0), -np.inf)
        orders.append(_largest(gains, n_terms))
        step, inside = len(chosen), np.zeros(len(q), dtype=bool)
        inside[chosen] = True
        addable = rule.addable(inside)
        if addable is not None and step >= len(required):  # a rule may leave none of those
            usable &= addable
            orders.append(_largest(np.where(usable, gains, -np.inf), n_terms))
        if step == k or not usable.any():
            break
        entrant = int(required[step]) if step < len(required) else int(orders[-1][0])
        row = row_of(entrant).copy()
        for other in factor:
            row -= other[entrant] * other
        pivot = max(left[entrant], SINGULAR * diagonal[entrant])
        h -= np.outer(row, h[entrant] / pivot)
        factor.append(row / np.sqrt(pivot))
        left -= factor[-1] ** 2
        chosen.append(entrant)
    by_rank = np.concatenate([required, chosen, np.array(orders).T.ravel()]).astype(np.intp)
    terms, first = np.unique(by_rank, return_index=True)
    return np.sort(terms[np.argsort(first)[: max(n_terms, k)]])


def _largest(values: FloatArray, count: int) -> IntArray:
    """Where the largest values are, in their order; of equal ones the first."""
    if count < len(values):
        among = np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])
        return among[np.argsort(-values[among], kind="stable")][:count]
    return np.argsort(-values, kind="stable")
