"""F of the squared loss as ||A x - t||^2 with x = [z, c]: no normal equations, and a bound on what rounding does.

The rows of A are those of the energy and sqrt(C o_i) [r_i, 1]; t is zero and sqrt(C o_i) y_i. With rho = t - A x and A = QU,
the decrease that is left on the terms is exactly (docs/mathematics.md, eq. 5.5)

    F(x) - min F = ||U^-T A'rho||^2.

U matters little: a few digits of it are enough. What matters is A'rho, so its rounding errors are bounded row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dtrtri

from quadric.geometry.compensated import misfits
from quadric.geometry.cuts import Cuts, WeighedCuts
from quadric.geometry.energy import EPS, TRUSTED, Energy, graded_factor, rounding_of_sum
from quadric.geometry.lifting import lift, row_chunks
from quadric.types import FloatArray, IntArray

# Decrease, as a share of F, that need not be known any better.
SMALL = 1e-9
# Distance of two bounds, as a share of F, that need not be any smaller.
TIGHT = 1e-11
# Lifted rows up to this size are kept; larger ones are lifted again for each pass.
KEPT_BYTES = 64 << 20
# Newton steps of a refit; each gains as many digits as U has.
REFINEMENTS = 8


@dataclass(frozen=True)
class Evaluation:
    """F at one surface and its gradient, with bounds on their rounding errors.

    Attributes
    ----------
    value, value_error : float
    misfit_error : float
        Of rho, as a length.
    gradient, gradient_error : arrays of shape (k + 1,)
        A'rho in units in which the columns of A have length one, and its error beyond that of rho.
    """

    value: float
    value_error: float
    misfit_error: float
    gradient: FloatArray
    gradient_error: FloatArray


class StackedRows:
    """The rows on some terms.

    Parameters
    ----------
    X : array of shape (m, n)
    energy : Energy
    weight : array of shape (m,)
        C o.
    y : array of shape (m,)
    terms : array
        Positions in the full z.
    """

    def __init__(self, X: FloatArray, energy: Energy, weight: FloatArray, y: FloatArray, terms: IntArray) -> None:
        self._X, self._y, self.terms = X, y, terms
        self._root = np.sqrt(weight)
        self._H, self._graded = energy.rows(terms), energy.graded

    @cached_property
    def _kept(self) -> list[tuple[slice, FloatArray]]:
        return list(self._lifted())

    def _blocks(self) -> Iterable[tuple[slice, FloatArray]]:
        """A of the samples, block by block; lifted once where it is small enough to keep."""
        return self._kept if 8 * len(self._root) * (len(self.terms) + 1) <= KEPT_BYTES else self._lifted()

    def _lifted(self) -> Iterator[tuple[slice, FloatArray]]:
        width = len(self.terms) + 1
        for rows in row_chunks(len(self._root), width):
            A = np.empty((rows.stop - rows.start, width))
            A[:, :-1] = lift(self._X[rows], self.terms)
            A[:, -1] = 1.0
            A *= self._root[rows, None]
            yield rows, A

    @cached_property
    def _gram(self) -> FloatArray:
        """A'A with its rounding errors."""
        gram = np.zeros((len(self.terms) + 1,) * 2)
        gram[:-1, :-1] = self._H.T @ self._H
        for _, A in self._blocks():
            gram += A.T @ A
        return gram

    @cached_property
    def lengths(self) -> FloatArray:
        return np.sqrt(np.diag(self._gram))

    @property
    def _units(self) -> float:
        """Rounding of a sum over all rows and, in each, over the terms."""
        return rounding_of_sum(len(self._root)) + EPS * len(self.terms)

    @cached_property
    def _inverse(self) -> tuple[FloatArray, float]:
        """U^-1 for columns of length one, and a bound on the relative error of U; infinite where U is worth nothing."""
        size = len(self.lengths)
        factor, failed = dpotrf(self._gram / np.outer(self.lengths, self.lengths))
        if not failed:
            inverse = dtrtri(factor)[0]
            error = self._units * size * float(np.sum(inverse**2))
            if error <= TRUSTED:
                return inverse, error
        return self._inverse_from_rows()

    def _inverse_from_rows(self) -> tuple[FloatArray, float]:
        """The same by orthogonal transformations of the rows: the condition counts once, not squared."""
        size = len(self.lengths)
        energy = np.column_stack([self._H, np.zeros(len(self._H))])
        blocks = [energy / self.lengths, *(A / self.lengths for _, A in self._blocks())]
        U = graded_factor(blocks if len(self._root) > 4096 else [np.vstack(blocks)])
        if len(U) < size:
            return np.eye(size), np.inf
        try:
            inverse: FloatArray = np.linalg.inv(U).astype(float)
        except LinAlgError:
            return np.eye(size), np.inf
        return inverse, 4.0 * EPS * size * float(np.linalg.norm(inverse))

    def roughly(self, x: FloatArray) -> Evaluation:
        """F and its gradient at [z, c] in plain doubles, with errors from lengths alone."""
        value, gradient = self._energy_at(x)
        for rows, A in self._blocks():
            rho = self._root[rows] * self._y[rows] - A @ x
            gradient += rho @ A
            value += float(rho @ rho)
        swollen = float(self.lengths @ np.abs(x) + np.linalg.norm(self._root))  # at least the length of rho
        error = self._units * swollen
        return Evaluation(value, 4.0 * error * swollen, error, gradient / self.lengths, np.full(len(x), error))

    def at(self, x: FloatArray) -> Evaluation:
        """F and its gradient at [z, c] with the scores in twice the digits, and errors row by row."""
        value, gradient = self._energy_at(x)
        size = np.append(np.sqrt(np.sum(self._H**2, axis=0)), 0.0)
        length = float(size @ np.abs(x))
        size_of_rho = value**0.5 if self._graded else length  # in sums, what is small beside their terms is lost
        first, second, error = length * size_of_rho, length**2 if self._graded else 0.0, size * size_of_rho
        for rows, A in self._blocks():
            rho = self._root[rows] * misfits(self._X[rows], self.terms, x, self._y[rows])
            absolute, misfit = np.abs(A), np.abs(rho)
            doubt = misfit + EPS * (absolute @ np.abs(x) + self._root[rows])
            gradient += rho @ A
            value += float(rho @ rho)
            first += float(misfit @ doubt)
            second += float(doubt @ doubt)
            error += misfit @ absolute
        units = self._units
        value_error = units * (2.0 * first + value) + units**2 * second
        return Evaluation(value, value_error, units * second**0.5, gradient / self.lengths, units * error / self.lengths)

    def _energy_at(self, x: FloatArray) -> tuple[float, FloatArray]:
        curved = self._H @ x[:-1]
        return float(curved @ curved), np.append(-(curved @ self._H), 0.0)

    def decrease(self, x: FloatArray, cuts: Cuts | None = None) -> float:
        """Upper bound on what F can still lose on these terms (5.5), under cuts on z (12.3); inf where it cannot be told."""
        rough = self.roughly(x)
        bound = self._left_under(rough, x, cuts)
        return bound if bound <= SMALL * rough.value else self._left_under(self.at(x), x, cuts)

    def _left_under(self, reached: Evaluation, x: FloatArray, cuts: Cuts | None) -> float:
        if cuts is None or not len(cuts):
            return self._left(reached)
        inverse, _ = self._inverse
        held = WeighedCuts.fitting(cuts.with_level(), -2.0 * reached.gradient * self.lengths, inverse / self.lengths[:, None])
        return self._left(self._held(reached, held)) + abs(held.idle(x))

    def _left(self, evaluation: Evaluation) -> float:
        inverse, error = self._inverse
        if not error <= TRUSTED:
            return np.inf
        length = np.linalg.norm(evaluation.gradient @ inverse) + np.linalg.norm(evaluation.gradient_error @ np.abs(inverse))
        return float((length / (1.0 - error) + evaluation.misfit_error) ** 2)

    def refit(self) -> FloatArray:
        """argmin of F over [z, c]: Newton steps with the gradient from the rows, as long as they help."""
        inverse, _ = self._inverse
        best = x = np.zeros(len(self.lengths))
        evaluation, left = self.roughly(x), np.inf  # nothing cancels at zero
        for _ in range(REFINEMENTS):
            x = self._towards(x, evaluation)
            evaluation = self.at(x)
            step = float(np.linalg.norm(evaluation.gradient @ inverse))
            if not step < left:
                break
            best, left = x, step
        return best

    def bracket(self, reached: Evaluation) -> tuple[float, float]:
        """F at a surface, and a safe lower bound of its minimum (5.7)."""
        return reached.value, float(reached.value - reached.value_error - self._left(reached))

    def bracket_under(self, reached: Evaluation, x: FloatArray, held: WeighedCuts) -> tuple[float, float]:
        """The same over cuts on [z, c], by any multipliers of these (12.3)."""
        value, bound = self.bracket(self._held(reached, held))
        return value, bound - held.idle(x)

    def _held(self, reached: Evaluation, held: WeighedCuts) -> Evaluation:
        """With the gradient of F - multipliers'(A x - b), which is -2 times what is given here."""
        return replace(
            reached,
            gradient=reached.gradient + 0.5 * held.pull / self.lengths,
            gradient_error=reached.gradient_error + 0.5 * held.pull_error / self.lengths,
        )

    @property
    def root(self) -> FloatArray:
        """T with T T' the inverse of A'A, about."""
        inverse, _ = self._inverse
        return inverse / self.lengths[:, None]

    def refitted_near(self, x: FloatArray, width: float = TIGHT) -> tuple[FloatArray, tuple[float, float]]:
        """The minimum, and a bracket of it: from [z, c] by a step in plain doubles where its width is at most that share of F,
        else by ``refit``.
        """
        for _ in range(2):
            reached = self.roughly(x)
            value, least = self.bracket(reached)
            if value - least <= width * value:
                return x, (value, least)
            x = self._towards(x, reached)
        x = self.refit()
        return x, self.bracket(self.at(x))

    def _towards(self, x: FloatArray, evaluation: Evaluation) -> FloatArray:
        inverse, _ = self._inverse
        return x + (inverse @ (evaluation.gradient @ inverse)) / self.lengths
