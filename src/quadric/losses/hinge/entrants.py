"""Lower bounds of F on a support with one more term, for many such terms at once.

A bound needs no solution of the convex problem, only multipliers near its own (docs/mathematics.md, eq. 6.5). Those of the
smoothed hinge (8.6) follow from margins and are inside their boxes. So each term takes a few Newton steps for the smoothed
loss, all terms together, until its bound is high enough. What a few steps leave open is near the ceiling, or below it.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError

from quadric.geometry.lifting import row_chunks
from quadric.losses.hinge.interior_point import InteriorPoint
from quadric.losses.hinge.qp import HingeQP
from quadric.types import BoolArray, FloatArray, IntArray

WARM_SPREAD, START_GAP = 0.05, 1e-2  # of the interior point that solves the problem without the new terms
ROUNDS = 12
LONGEST_STEP = 5.0  # in the norm of the curvature, in units of mu
CENTRAL, SHARPER = 3.0, 0.2  # steps shorter than this are near enough to the central path to go on to a smaller mu
LIFT = 1e-12  # what is added to the curvature of c, which may vanish, in units of the sum of the upper bounds
ILL_CONDITIONED = 1e7  # diagonal of the inverse of G, at unit diagonal, from which on rounding could tell more than the bound


class Entrants:
    """The convex problems of a support and each of n further terms.

    Parameters
    ----------
    qp : HingeQP
        The problem of the support alone, without a linear part.
    columns : array of shape (m, n)
        The samples on the further terms.
    cross, own : arrays of shape (k, n) and (n,)
        The regulariser of the further terms: with the support, and their own.
    """

    def __init__(self, qp: HingeQP, columns: FloatArray, cross: FloatArray, own: FloatArray) -> None:
        k, n = qp.n_terms, len(own)
        order = np.argsort(-qp.y, kind="stable")  # the labels apart: multipliers of the heavier one give way
        signs = qp.y[order][:, None]
        self._qp, self._n_positive, self._upper = qp, int(np.count_nonzero(signs > 0.0)), qp.upper[order]
        self._rows, self._lifted = qp.A[order] * signs, np.ascontiguousarray((columns[order] * signs).T)
        self._G = np.zeros((n, k + 2, k + 2))  # over w = [z; c; the further term]
        self._G[:, :k, :k], self._G[:, -1, -1] = qp.P, own
        self._G[:, :k, -1] = self._G[:, -1, :k] = cross.T
        self._terms = np.append(np.arange(k), k + 1)

    def above(self, w: FloatArray, ceiling: float) -> BoolArray:
        """Which of the minima are proved to be no less than a ceiling, from a surface of the support."""
        is_above = np.zeros(len(self._G), dtype=bool)
        interior = InteriorPoint(self._qp, w, WARM_SPREAD)
        interior.advance(START_GAP)
        with suppress(LinAlgError), np.errstate(all="ignore"):  # what has no bound is not above
            inverse, left = self._inverse()
            w = np.repeat(np.append(interior.w, 0.0)[None], len(left), axis=0)
            mu = np.full((len(left), 1), interior.mu)
            for _ in range(ROUNDS):
                columns, G = self._lifted[left], self._G[left]
                alpha, theta = self._smoothed(w[:, :-1] @ self._rows.T + w[:, -1:] * columns, mu)
                pull, bound = self._dual(alpha, columns, inverse[left])
                is_above[left[bound >= ceiling]] = True
                is_open = bound < ceiling
                if not is_open.any():
                    break
                left, w, mu = left[is_open], w[is_open], mu[is_open]
                H = self._curvature(theta[is_open], columns[is_open]) + G[is_open]
                gradient = np.einsum("nij,nj->ni", G[is_open], w) - pull[is_open]
                step = -np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
                length = np.sqrt(np.maximum(-np.sum(gradient * step, axis=1, keepdims=True), 0.0) / mu)
                w += step * np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1.0))
                mu = np.where(length < CENTRAL, SHARPER * mu, mu)
        return is_above

    def _smoothed(self, margins: FloatArray, mu: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Multipliers and curvatures of (8.6): alpha t = (upper - alpha) x = mu, with t - x = margin - 1."""
        margins -= 1.0
        half = mu / self._upper
        root = np.sqrt(margins * margins + 4.0 * half * half)
        t, x = (0.5 * np.maximum(root + side, 0.0) + half for side in (margins, -margins))
        return mu / t, mu / (t * t + x * x)

    def _dual(self, alpha: FloatArray, columns: FloatArray, inverse: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A'(y alpha), and the bound (6.5) by the multipliers once they balance."""
        pulls, weights = [], []
        for side in (slice(None, self._n_positive), slice(self._n_positive, None)):
            mine, rows = alpha[:, side], columns[:, side]
            pulls.append(np.column_stack([mine @ self._rows[side], np.einsum("ni,ni->n", mine, rows)]))
            weights.append(mine.sum(axis=1))
        light = np.minimum(*weights)
        shares = [(light / weight)[:, None] for weight in weights]
        q = (shares[0] * pulls[0] + shares[1] * pulls[1])[:, self._terms]
        return pulls[0] + pulls[1], 2.0 * light - 0.5 * np.einsum("ni,nij,nj->n", q, inverse, q)

    def _curvature(self, theta: FloatArray, columns: FloatArray) -> FloatArray:
        """A' diag(theta) A: products of two columns of the support do not depend on the further term."""
        n, k = len(theta), self._rows.shape[1]
        (i, j), bent, H = np.triu_indices(k), theta * columns, np.empty((n, k + 1, k + 1))
        inner = np.zeros((n, len(i)))
        for part in row_chunks(len(self._rows), len(i)):
            inner += theta[:, part] @ (self._rows[part][:, i] * self._rows[part][:, j])
        H[:, i, j] = H[:, j, i] = inner
        H[:, :k, k] = H[:, k, :k] = bent @ self._rows
        H[:, k, k] = np.einsum("ni,ni->n", bent, columns)
        H[:, k - 1, k - 1] += LIFT * self._upper.sum()
        return H

    def _inverse(self) -> tuple[FloatArray, IntArray]:
        """Of the regulariser on the support with each term, and those where rounding leaves enough of it."""
        G = self._G[:, self._terms[:, None], self._terms]
        scale = 1.0 / np.sqrt(np.einsum("nii->ni", G))
        unit = scale[:, :, None] * scale[:, None]
        inverse = np.linalg.inv(G * unit)
        return inverse * unit, np.flatnonzero(np.abs(np.einsum("nii->ni", inverse)).max(axis=1) < ILL_CONDITIONED)
