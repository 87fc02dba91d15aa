"""Minima of the hinge loss on a support: Clarabel in scaled form, and an interior point in 50 digits whose duality gap is a proof."""

from __future__ import annotations

from itertools import combinations

import clarabel
import mpmath
import numpy as np
from scipy import sparse

from helpers.ill_scaled import DIGITS, ExactProblem

PROVED = mpmath.mpf(10) ** -11
"""Relative duality gap at which a minimum counts as known."""
NEAR = 1e-3
"""Supports within this of the best one by Clarabel are solved in many digits."""

_exact = np.frompyfunc(mpmath.mpf, 1, 1)
_positive = np.frompyfunc(lambda t: max(t, mpmath.mpf(0)), 1, 1)


class HingeReference:
    """F of the hinge loss on an exact problem.

    Parameters
    ----------
    exact : ExactProblem
    """

    def __init__(self, exact: ExactProblem) -> None:
        self.k = min(exact.dirty.k, len(exact.terms))
        self.n_terms = len(exact.terms)
        self._R = np.array(exact.R, dtype=object)
        self._G = np.array(exact.G, dtype=object)
        self._y = _exact(exact.dirty.y)
        self._C = mpmath.mpf(exact.dirty.C)
        self._known: dict[tuple[int, ...], mpmath.mpf] = {}

    def objective(self, z: np.ndarray, c: float) -> mpmath.mpf:
        """F at a surface; z runs over the candidate terms."""
        with mpmath.workdps(DIGITS):
            live = np.flatnonzero(z)
            return self._value(_exact(z[live]), mpmath.mpf(float(c)), tuple(live.tolist()))

    def minimum(self, support: tuple[int, ...]) -> mpmath.mpf:
        """The minimum on a support, proved to 1e-11 of it."""
        if support not in self._known:
            with mpmath.workdps(DIGITS):
                self._known[support] = self._solve(support)
        return self._known[support]

    def optimum(self) -> mpmath.mpf:
        """Over all supports with k terms: by Clarabel, the best ones in many digits."""
        supports = list(combinations(range(self.n_terms), self.k))
        with mpmath.workdps(DIGITS):
            reached = [float(self._by_clarabel(support)) for support in supports]
        order = [int(i) for i in np.argsort(reached) if reached[i] <= min(reached) * (1.0 + NEAR)]
        return min(*(self.minimum(supports[i]) for i in order[:2]), mpmath.inf)

    def _value(self, z: np.ndarray, c: mpmath.mpf, support: tuple[int, ...]) -> mpmath.mpf:
        G, R = self._G[np.ix_(support, support)], self._R[:, support]
        shortfall = _positive(1 - self._y * (R.dot(z) + c))
        return z.dot(G.dot(z)) / 2 + self._C * shortfall.sum()

    def _dual(self, alpha: np.ndarray, L: np.ndarray, V: np.ndarray) -> mpmath.mpf:
        """A lower bound from any multipliers: put into their boxes, the heavier side shrunk until they balance."""
        alpha = np.minimum(_positive(alpha), self._C)
        up, down = alpha[self._y > 0].sum(), alpha[self._y < 0].sum()
        alpha = alpha * np.where(self._y > 0, min(1, down / up), min(1, up / down))
        h = (self._y * alpha).dot(V)
        return alpha.sum() - h.dot(h) / 2

    def _by_clarabel(self, support: tuple[int, ...]) -> mpmath.mpf:
        """F, in many digits, at Clarabel's answer: whitened, and long rows shortened with their targets."""
        L = _cholesky(self._G[np.ix_(support, support)])
        V = _forward(L, self._R[:, support].T - self._R[:, support].T.mean(axis=1)[:, None]).T
        rows, k, m = V.astype(float), len(support), len(self._y)
        lengths = np.linalg.norm(rows, axis=1)
        typical = np.median(lengths) or 1.0
        unit = np.maximum(lengths / typical, 1.0)
        y = self._y.astype(float)
        A = y[:, None] * np.column_stack([rows / typical, np.ones(m)]) / unit[:, None]
        n = k + 1 + m  # v, c, slack
        P = sparse.diags([1.0] * k + [0.0] * (m + 1), format="csc")
        q = np.concatenate([np.zeros(k + 1), float(self._C) * typical**2 * unit])
        constraints = sparse.csc_matrix(np.vstack([-np.hstack([A, np.eye(m)]), -np.eye(n)[k + 1 :]]))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
        cones = [clarabel.NonnegativeConeT(2 * m)]
        solution = clarabel.DefaultSolver(
            P, q, constraints, np.concatenate([-1.0 / unit, np.zeros(m)]), cones, settings
        ).solve()
        v = _exact(np.array(solution.x[:k])) / mpmath.mpf(float(typical))
        z = _backward(L, v)
        level = mpmath.mpf(solution.x[k])
        return self._value(z, level - z.dot(self._R[:, support].T.mean(axis=1)), support)

    def _solve(self, support: tuple[int, ...]) -> mpmath.mpf:
        """Mehrotra's method in the same units, in many digits, until primal and dual agree."""
        if not support:
            return min(self._value(_exact(np.zeros(0)), mpmath.mpf(c), support) for c in (-1, 1))
        L = _cholesky(self._G[np.ix_(support, support)])
        V = _forward(L, self._R[:, support].T).T
        unit = np.array([mpmath.sqrt(max(v.dot(v), 1)) for v in V], dtype=object)
        B, target, upper = np.column_stack([V, _exact(np.ones(len(V)))]) * (self._y / unit)[:, None], 1 / unit, self._C * unit
        w, mu = _exact(np.zeros(len(support) + 1)), upper.sum() / len(upper)
        root = np.array([mpmath.sqrt(s * s + 4 * h * h) for s, h in zip(target, mu / upper, strict=True)], dtype=object)
        t, x = (root - target) / 2 + mu / upper, (root + target) / 2 + mu / upper
        alpha, beta = mu / t, mu / x
        for iteration in range(300):
            gap = alpha.dot(t) + beta.dot(x)
            value = self._value(_backward(L, w[:-1]), w[-1], support)
            if gap <= PROVED * value and value - self._dual(alpha / unit, L, V) <= PROVED * value:
                return value
            theta = 1 / (t / alpha + x / beta)
            normal = (B * theta[:, None]).T.dot(B)
            normal[np.diag_indices(len(support))] += 1
            factor = _cholesky(normal)
            residual = np.append(w[:-1], mpmath.mpf(0)) - alpha.dot(B)

            def direction(r_t, r_x, theta=theta, factor=factor, residual=residual, alpha=alpha, beta=beta, t=t, x=x):
                kappa = r_t / alpha - r_x / beta
                d_w = _backward(factor, _forward(factor, -residual - (theta * kappa).dot(B)))
                d_alpha = -theta * (B.dot(d_w) + kappa)
                return d_w, d_alpha, (-r_t - t * d_alpha) / alpha, (-r_x + x * d_alpha) / beta

            def longest(step, alpha=alpha, beta=beta, t=t, x=x):
                fastest = max(*(-step[1] / alpha), *(step[1] / beta), *(-step[2] / t), *(-step[3] / x))
                return min(mpmath.mpf(1), 1 / fastest if fastest > 0 else mpmath.mpf(1))

            step = direction(alpha * t, beta * x)
            size = longest(step)
            after = (alpha + size * step[1]).dot(t + size * step[2]) + (beta - size * step[1]).dot(x + size * step[3])
            late = iteration > 50  # seldom: the predictor jams, and plain steps towards the middle do not
            aim = (mpmath.mpf("0.3") if late else (after / gap) ** 3) * gap / (2 * len(t))
            corrector = 0 if late else step[1] * step[2], 0 if late else step[1] * step[3]
            step = direction(alpha * t - aim + corrector[0], beta * x - aim - corrector[1])
            size = longest(step) * mpmath.mpf("0.9" if late else "0.995")
            w, alpha, beta = w + size * step[0], alpha + size * step[1], beta - size * step[1]
            t, x = t + size * step[2], x + size * step[3]
        raise ArithmeticError(f"no proof for {support}")


def _cholesky(M: np.ndarray) -> np.ndarray:
    L = np.zeros(M.shape, dtype=object)
    for j in range(len(M)):
        L[j, j] = mpmath.sqrt(M[j, j] - L[j, :j].dot(L[j, :j]))
        for i in range(j + 1, len(M)):
            L[i, j] = (M[i, j] - L[i, :j].dot(L[j, :j])) / L[j, j]
    return L


def _forward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = b.copy()
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i].dot(x[:i])) / L[i, i]
    return x


def _backward(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = b.copy()
    for i in reversed(range(len(L))):
        x[i] = (x[i] - L[i + 1 :, i].dot(x[i + 1 :])) / L[i, i]
    return x
