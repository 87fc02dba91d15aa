"""Problems on dirty data: rows and columns of any scale, offsets, collinear, tied, integer and one-hot columns; exact references.

A reference never trusts doubles: samples are doubles, everything computed from them here has 50 digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import mpmath
import numpy as np

from quadric.geometry.terms import term_factors

DIGITS = 50
KINDS = ("rows", "columns", "offsets", "all three", "collinear", "tied", "integer", "one-hot", "outlying rows", "plain")


@dataclass(frozen=True)
class Dirty:
    """Samples, labels and the question about them."""

    kind: str
    X: np.ndarray
    y: np.ndarray
    C: float
    k: int


def dirty_problem(seed: int) -> Dirty:
    """One problem of each kind in turn; small enough for enumeration."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    m, n = int(rng.integers(8, 31)), int(rng.integers(1, 4))
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] * X[:, -1] + X[:, 0] + rng.normal(size=m) > 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = np.ascontiguousarray(_soiled(X, kind, rng))
    p = X.shape[1] * (X.shape[1] + 3) // 2
    return Dirty(kind, X, y, float(10.0 ** rng.uniform(-2, 3)), int(rng.integers(1, min(p, 4) + 1)))


def far_problem(seed: int) -> Dirty:
    """Columns far from zero, or one huge row: [X 1] is nearly singular in most of them."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(8, 25)), int(rng.integers(1, 4))
    X = rng.normal(size=(m, n))
    y = np.where(X[:, 0] * X[:, -1] + X[:, 0] + rng.normal(size=m) > 0.3, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    if seed % 2:
        X += 10.0 ** rng.uniform(3, 8, size=n) * rng.choice([-1, 1], size=n)
    else:
        X[rng.integers(m)] *= 10.0 ** rng.uniform(3, 8)
    return Dirty("far", X, y, float(10.0 ** rng.uniform(-2, 3)), int(rng.integers(1, min(n * (n + 3) // 2, 4) + 1)))


def _soiled(X: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    m, n = X.shape
    rows = 10.0 ** rng.uniform(-6, 6, size=(m, 1)) if rng.random() < 0.5 else _one_of(m, 10.0 ** rng.uniform(1, 6), rng)
    columns, offsets = 10.0 ** rng.uniform(-8, 8, size=n), 10.0 ** rng.uniform(0, 6, size=n) * rng.choice([-1, 1], size=n)
    match kind:
        case "rows":
            return X * rows
        case "columns":
            return X * columns
        case "offsets":
            return X + offsets
        case "all three":
            return (X * rows + offsets) * columns
        case "collinear":
            other = X @ rng.normal(size=n) + 10.0 ** rng.uniform(-12, 0) * rng.normal(size=m) * (rng.random() < 0.7)
            return np.column_stack([X[:, : min(n, 2)], other])
        case "tied":
            return X[rng.integers(0, max(3, m // 3), size=m)] + 0.0
        case "integer":
            return np.round(3 * X) + rng.choice([0.0, 100.0])
        case "one-hot":
            return np.column_stack([X[:, :1], np.eye(2)[rng.integers(2, size=m)]])
        case "outlying rows":
            X[rng.choice(m, size=2, replace=False)] *= 10.0 ** rng.uniform(2, 6)
            return X
    return X


def _one_of(m: int, factor: float, rng: np.random.Generator) -> np.ndarray:
    """One row by a factor, the others as they are."""
    rows = np.ones((m, 1))
    rows[rng.integers(m)] = factor
    return rows


class ExactProblem:
    """A dirty problem in 50 digits: F by its definition, on the terms that the library takes as candidates.

    Parameters
    ----------
    dirty : Dirty
    ridge : float
        As the library reports it.
    terms : array
        Candidate terms.
    """

    def __init__(self, dirty: Dirty, ridge: float, terms: np.ndarray) -> None:
        self.dirty, self.ridge, self.terms = dirty, ridge, terms
        with mpmath.workdps(DIGITS):
            self.X = mpmath.matrix(dirty.X.tolist())
            left, right = term_factors(dirty.X.shape[1])
            self.left, self.right = left, right
            self.R = [[self._lifted(i, t) for t in terms] for i in range(len(dirty.y))]
            self.G = self._gram()

    def _lifted(self, i: int, t: int) -> mpmath.mpf:
        a, b = int(self.left[t]), int(self.right[t])
        value = self.X[i, a] * (self.X[i, b] if b >= 0 else 1)
        return value / 2 if a == b else value

    def _gradient_rows(self, i: int, t: int) -> dict[int, mpmath.mpf]:
        """Entries of the column of term t in the map z -> W x_i + b."""
        a, b = int(self.left[t]), int(self.right[t])
        if b < 0:
            return {a: mpmath.mpf(1)}
        return {a: self.X[i, a]} if a == b else {a: self.X[i, b], b: self.X[i, a]}

    def _gram(self) -> list[list[mpmath.mpf]]:
        p = len(self.terms)
        G = [[mpmath.mpf(0)] * p for _ in range(p)]
        for i in range(len(self.dirty.y)):
            rows = [self._gradient_rows(i, int(t)) for t in self.terms]
            for s in range(p):
                for t in range(s + 1):
                    G[s][t] += 2 * sum((value * rows[t][a] for a, value in rows[s].items() if a in rows[t]), mpmath.mpf(0))
        for s in range(p):
            G[s][s] *= 1 + mpmath.mpf(self.ridge)
            for t in range(s):
                G[t][s] = G[s][t]
        return G

    def scores(self, z: np.ndarray, c: float) -> list[mpmath.mpf]:
        """f of each sample; z runs over the candidate terms."""
        live = np.flatnonzero(z)
        return [mpmath.mpf(float(c)) + sum((row[j] * mpmath.mpf(float(z[j])) for j in live), mpmath.mpf(0)) for row in self.R]

    def energy(self, z: np.ndarray) -> mpmath.mpf:
        live = [int(j) for j in np.flatnonzero(z)]
        exact = {j: mpmath.mpf(float(z[j])) for j in live}
        return sum((exact[s] * self.G[s][t] * exact[t] for s in live for t in live), mpmath.mpf(0)) / 2

    def squared_objective(self, z: np.ndarray, c: float) -> float:
        """F of the squared loss at a surface."""
        with mpmath.workdps(DIGITS):
            misfit = [y - f for y, f in zip(self.dirty.y.tolist(), self.scores(z, c), strict=True)]
            return float(self.energy(z) + self.dirty.C * sum(t * t for t in misfit))

    def squared_minimum(self, support: tuple[int, ...]) -> float:
        """Minimum of F of the squared loss on a support, by normal equations in many digits."""
        with mpmath.workdps(DIGITS):
            C, y, columns = mpmath.mpf(self.dirty.C), [mpmath.mpf(v) for v in self.dirty.y.tolist()], [*support, None]
            A = [[mpmath.mpf(1) if j is None else row[j] for j in columns] for row in self.R]
            size = len(columns)
            N, q = mpmath.matrix(size, size), mpmath.matrix(size, 1)
            for s in range(size):
                for t in range(size):
                    N[s, t] = 2 * C * sum(row[s] * row[t] for row in A)
                    if s < size - 1 and t < size - 1:
                        N[s, t] += self.G[support[s]][support[t]]
                q[s] = 2 * C * sum(row[s] * v for row, v in zip(A, y, strict=True))
            constant = C * sum(v * v for v in y)
            return float(constant - _reduction(N, q) / 2)

    def squared_optimum(self) -> float:
        """Over all supports with k terms."""
        k = min(self.dirty.k, len(self.terms))
        return min(self.squared_minimum(support) for support in combinations(range(len(self.terms)), k))


def _reduction(N: mpmath.matrix, q: mpmath.matrix) -> mpmath.mpf:
    """q'N^+ q by elimination with diagonal pivoting; what is dependent to 40 digits adds nothing."""
    size = len(q)
    scale = [mpmath.sqrt(N[i, i]) if N[i, i] > 0 else mpmath.mpf(1) for i in range(size)]
    rows = [[N[i, j] / scale[i] / scale[j] for j in range(size)] + [q[i] / scale[i]] for i in range(size)]
    total, left = mpmath.mpf(0), list(range(size))
    while left:
        pivot = max(left, key=lambda i: rows[i][i])
        if rows[pivot][pivot] < mpmath.mpf(10) ** (-40):
            break
        left.remove(pivot)
        total += rows[pivot][size] ** 2 / rows[pivot][pivot]
        for i in left:
            factor = rows[i][pivot] / rows[pivot][pivot]
            for j in [*left, size]:
                rows[i][j] -= factor * rows[pivot][j]
    return total
