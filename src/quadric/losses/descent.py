"""Fits by passes: descents that cannot climb, and the scores of surfaces on a batch."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

import numpy as np

from quadric.geometry.terms import LINEAR, term_factors
from quadric.losses.pass_problem import GAP, StreamedFit, StreamedProblem
from quadric.types import FloatArray, IntArray

SHORTER = np.array([0.5, 0.25, 0.0625])  # shorter steps, tried in the same pass
MOST_PASSES = 30
ROUNDING = 1e-13  # share of F that is not worth another pass, where rounding keeps the bound from it
# Change of the values of a surface on the random rows after which the next step, which is much shorter, is the last
STILL = 1e-9
CHUNK_ROWS = 4096  # rows that are lifted together


Stream = TypeVar("Stream", bound=StreamedProblem)
View = TypeVar("View")


class Descent(Generic[Stream, View]):
    """A fit by passes. Each looks at the present surface, and at shorter steps from the best one before, where F may be lower.

    Parameters
    ----------
    stream : StreamedProblem
    support : array
    ceiling : float
        A bound above it is enough.
    exact : bool
        Whether to go on, once F is known to GAP, until the surface is known as well as F.
    """

    def __init__(self, stream: Stream, support: IntArray, ceiling: float, exact: bool) -> None:
        self.stream, self.support, self.ceiling, self.exact = stream, support, ceiling, exact
        self.sample_rows = stream.sample_rows(support)
        self.terms, self.G = stream.terms[support], stream.G_on(support)
        self.best: tuple[float, FloatArray] | None = None
        self.view: View | None = None
        self.bound, self.constant, self.pull = -np.inf, 0.0, np.zeros(len(stream.terms))

    @abstractmethod
    def look(self, trials: FloatArray) -> tuple[FloatArray, View]:
        """A pass: the losses of some surfaces, and a view of F around the first."""

    @abstractmethod
    def step(self, view: View, w: FloatArray) -> tuple[FloatArray, float]:
        """The next surface, and about how low F can be; offers bounds."""

    def shorten(self) -> None:
        """A step was too long."""

    def run(self, w: FloatArray) -> StreamedFit:
        """From a surface to the best one."""
        is_still, began = False, np.nan
        for number in range(MOST_PASSES):
            trials = self._trials(w)
            losses, view = self.look(trials)
            values = energies(self.G, trials) + losses
            began = float(values[0]) if number == 0 else began
            if self.best is not None and values[0] > self.best[0] * (1.0 + ROUNDING * self._settled()):
                if self._settled():
                    break
                # the step was too long: F is convex along it, so that the lowest of the shorter ones is the place to go on from
                self.shorten()
                w = trials[1 + int(np.argmin(values[1:]))]
                continue
            self.best, self.view = (float(values[0]), w), view
            if is_still or (self._settled() and not self.exact) or not self.stream.passes.going():
                break
            new, least = self.step(view, w)
            # a bound that rounding keeps below F proves no more, however many passes follow
            if not self.exact and (self._settled() or self.best[0] - least <= ROUNDING * abs(least)):
                break
            # so short a step that the one after it would be rounding
            is_still = self._settled() and bool(np.max(np.abs(self.sample_rows @ (new - w))) <= STILL)
            w = new
        assert self.best is not None
        value, w = self.best
        w = self.settled(w) if self.exact and self.stream.passes.going() else w
        return StreamedFit(self.support, w, value, self.bound, self.constant, self.pull, began)

    def settled(self, w: FloatArray) -> FloatArray:
        """The one of several best surfaces that all fits agree on."""
        return w

    def offer(self, constant: float, pull: FloatArray) -> None:
        """Multipliers that may prove more than those before, by what they do to all candidates (as in StreamedFit)."""
        bound = self.stream.bound_on(self.support, constant, pull[self.support])
        if bound > self.bound:
            self.bound, self.constant, self.pull = bound, constant, pull

    def _settled(self) -> bool:
        assert self.best is not None
        return self.bound >= self.ceiling or self.best[0] - self.bound <= GAP * abs(self.best[0])

    def _trials(self, w: FloatArray) -> FloatArray:
        if self.best is None:
            return w[None]
        center = self.best[1]  # shorter steps cost products but no pass, which is what takes time
        return np.vstack([w, center + SHORTER[:, None] * (w - center)])


def energies(G: FloatArray, surfaces: FloatArray) -> FloatArray:
    """1/2 z'Gz of several surfaces."""
    Z = surfaces[:, :-1]
    return np.asarray(0.5 * np.einsum("ij,ij->i", Z @ G, Z))


def scores_of(X: FloatArray, middle: FloatArray, terms: IntArray, surfaces: FloatArray) -> FloatArray:
    """(r(x) - r(middle))'z + level of each surface for each row.

    In d = x - middle a product of features is d_a d_b + middle_a d_b + middle_b d_a: what is linear there is put together once
    per surface, and nothing cancels where the features are far from zero.
    """
    left, right = (factors[terms] for factors in term_factors(len(middle)))
    is_product = right != LINEAR
    a, b = left[is_product], right[is_product]
    products = surfaces[:, :-1][:, is_product] * np.where(a == b, 0.5, 1.0)
    linear = np.zeros((len(middle), len(surfaces)))
    np.add.at(linear, left[~is_product], surfaces[:, :-1][:, ~is_product].T)
    np.add.at(linear, a, (products * middle[b]).T)
    np.add.at(linear, b, (products * middle[a]).T)
    scores = np.empty((len(surfaces), len(X)))
    for first in range(0, len(X), CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        d = np.subtract(X[rows].T, middle[:, None], order="C")
        scores[:, rows] = products @ (d[a] * d[b]) + linear.T @ d
    scores += surfaces[:, -1:]
    return scores
