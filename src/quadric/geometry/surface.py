"""A quadratic surface f(x) = 1/2 x'Wx + b'x + c as an immutable value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from quadric.blas import one_blas_thread
from quadric.geometry.lifting import as_dense, dense_columns, live_features, row_chunks
from quadric.geometry.terms import LINEAR, default_names, term_factors, term_name, to_matrix, to_vector
from quadric.labels import refuse_masked
from quadric.types import BoolArray, FloatArray, IntArray

# Eigenvalues of W, and parts of b, below this fraction of the largest coefficient count as zero.
FLAT = 1e-12
MOST_TERMS_SHOWN = 20
# With more terms than this many times the features, products with W beat a loop over the terms.
DENSE_FROM = 4
# Shrinks the chunks of these products until what they write stays in the cache.
DENSE_SPACE = 16
# Doubles in 64 bytes: rows that begin at multiples of it look the same to every vector unit.
ALIGNED = 8


class Product(NamedTuple):
    """A term of the polynomial: ``factors`` are the positions of one feature or two."""

    coefficient: float
    factors: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticSurface:
    """f(x) = 1/2 x'Wx + b'x + c.

    Surfaces are functions, and add up like functions: ``f - g``, ``f + 1.0``, ``2.0 * f``, ``-f``, ``abs(f)``.

    Attributes
    ----------
    W : array of shape (n, n), symmetric
    b : array of shape (n,)
    c : float
    standardized : bool
        Whether x is in standardised units, as in the ``surfaces_`` of a model that standardises: equations then write x0' for
        x0, and ``model.equation()`` has the user's units.

    Examples
    --------
    >>> from quadric import QuadraticSurface
    >>> circle = QuadraticSurface([[2.0, 0.0], [0.0, 2.0]], [0.0, 0.0], -1.0)
    >>> circle
    QuadraticSurface(f = 1*x0^2 + 1*x1^2 - 1)
    >>> -(2.0 * circle) + 5.0
    QuadraticSurface(f = -2*x0^2 - 2*x1^2 + 7)
    """

    W: FloatArray
    b: FloatArray
    c: float
    standardized: bool = False

    def __post_init__(self) -> None:
        W, b = np.array(self.W, dtype=float), np.array(self.b, dtype=float)
        if b.ndim != 1 or W.shape != (len(b), len(b)):
            raise ValueError(f"W of shape {W.shape} and b of shape {b.shape} do not make a surface: need (n, n) and (n,)")
        if not (np.isfinite(W).all() and np.isfinite(b).all() and np.isfinite(self.c)):
            raise ValueError("the coefficients of a surface must be finite")
        if not np.array_equal(W, W.T):
            raise ValueError("W must be symmetric")
        W.setflags(write=False)
        b.setflags(write=False)
        object.__setattr__(self, "W", W)
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "c", float(self.c))

    @staticmethod
    def from_coordinates(z: FloatArray, c: float) -> QuadraticSurface:
        """The surface with these coefficients.

        Parameters
        ----------
        z : array of shape (p,)
            [hvec(W); b].
        c : float

        Returns
        -------
        QuadraticSurface
        """
        return QuadraticSurface(*to_matrix(z), c)

    def __repr__(self) -> str:
        listed = self.terms()
        if len(listed) > MOST_TERMS_SHOWN:
            return f"QuadraticSurface({len(listed)} terms in {self.n_features} features, c = {self.c:.4g})"
        return f"QuadraticSurface({self.equation()})"

    def _repr_html_(self) -> str:
        from quadric.geometry.markup import formula
        from quadric.geometry.writing import Symbol
        from quadric.notebook import view

        names = [f"{name}'" if self.standardized else name for name in default_names(self.n_features)]
        return view("QuadraticSurface", [formula([self], [Symbol(name) for name in names])])

    def __mul__(self, factor: float) -> QuadraticSurface:
        return replace(self, W=factor * self.W, b=factor * self.b, c=factor * self.c)

    __rmul__ = __mul__

    def __neg__(self) -> QuadraticSurface:
        return self * -1.0

    def __add__(self, other: QuadraticSurface | float) -> QuadraticSurface:
        if isinstance(other, QuadraticSurface):
            return replace(self, W=self.W + other.W, b=self.b + other.b, c=self.c + other.c)
        return replace(self, c=self.c + other)

    def __sub__(self, other: QuadraticSurface | float) -> QuadraticSurface:
        return self + -other

    def __abs__(self) -> QuadraticSurface:
        """The surface of the absolute coefficients."""
        return replace(self, W=np.abs(self.W), b=np.abs(self.b), c=abs(self.c))

    @property
    def n_features(self) -> int:
        """Length of b."""
        return len(self.b)

    @property
    def live_features(self) -> BoolArray:
        """Mask of the features on which f depends."""
        return np.asarray((self.W != 0.0).any(axis=0) | (self.b != 0.0))

    @property
    def n_terms(self) -> int:
        """Number of non-zero coefficients in [hvec(W); b]; c does not count."""
        return int(np.count_nonzero(self.coordinates()))

    def coordinates(self) -> FloatArray:
        """z = [hvec(W); b].

        Returns
        -------
        array of shape (p,)
        """
        return to_vector(self.W, self.b)

    def polynomial(self) -> FloatArray:
        """Coefficients of the products themselves, in the order of z: W_aa / 2 for squares.

        Returns
        -------
        array of shape (p,)
        """
        left, right = term_factors(self.n_features)
        return self.coordinates() * np.where(left == right, 0.5, 1.0)

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """The live terms, largest coefficients first."""
        left, right = term_factors(self.n_features)
        weights = self.polynomial()
        order = [t for t in np.argsort(-np.abs(weights), kind="stable") if weights[t] != 0.0]
        factors = [(int(left[t]),) if right[t] == LINEAR else (int(left[t]), int(right[t])) for t in order]
        return tuple(Product(float(weights[t]), both) for t, both in zip(order, factors, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QuadraticSurface):
            return NotImplemented
        return self.c == other.c and np.array_equal(self.W, other.W) and np.array_equal(self.b, other.b)

    def __hash__(self) -> int:
        return hash((self.W.tobytes(), self.b.tobytes(), self.c))

    def __call__(self, X: FloatArray) -> FloatArray:
        """f at each row of X; a row has the same bits whatever rows come with it, and however they lie in memory."""
        X = self._checked(X)
        is_dense = len(self._live[1]) > DENSE_FROM * self.n_features
        return self._row_by_row(X) if is_dense else self._term_by_term(X)

    @cached_property
    def _live(self) -> tuple[IntArray, list[tuple[float, int, int]]]:
        """Live features; and weight, left and right factor of each live term, the factors as positions among them.

        Found once: on small batches finding the terms would take longer than adding them up.
        """
        polynomial = self.polynomial()
        terms = np.flatnonzero(polynomial)
        features, factors = live_features(self.n_features, terms)
        return features, list(zip(polynomial[terms].tolist(), *(factor.tolist() for factor in factors), strict=True))

    @one_blas_thread()
    def _row_by_row(self, X: FloatArray) -> FloatArray:
        """f as x'(W x / 2 + b) + c, each row by BLAS calls of its own, which all have the same sizes and alignment.

        In one product for all rows, the order of the sums, and with it the last bits, would depend on the number of rows.
        """
        W, b = self._padded
        out = np.empty(X.shape[0])
        chunks = list(row_chunks(len(out), DENSE_SPACE * len(b)))
        space = [_aligned_zeros(chunks[0].stop, len(b)) for _ in range(2)] if chunks else []
        for rows in chunks:
            U, slopes = (array[: rows.stop - rows.start] for array in space)
            U[:, : self.n_features] = as_dense(X[rows])
            np.matmul(U[:, None, :], W, out=slopes[:, None, :])
            slopes *= 0.5
            slopes += b
            np.matmul(slopes[:, None, :], U[:, :, None], out=out[rows, None, None])
        out += self.c
        return out

    @cached_property
    def _padded(self) -> tuple[FloatArray, FloatArray]:
        n = self.n_features
        width = -(-n // ALIGNED) * ALIGNED
        W, b = _aligned_zeros(width, width), np.zeros(width)
        W[:n, :n], b[:n] = self.W, self.b
        return W, b

    def _term_by_term(self, X: FloatArray) -> FloatArray:
        """Cost in proportion to the live terms."""
        features, terms = self._live
        out = np.full(X.shape[0], self.c)
        for rows in row_chunks(len(out), self.n_features):
            columns, total = np.ascontiguousarray(dense_columns(X[rows], features).T), out[rows]
            for term in terms:
                total += _term_values(columns, *term)
        return out

    def term_values(self, X: FloatArray) -> FloatArray:
        """The live terms at each row of X, in the order of z: with c they sum to f.

        Parameters
        ----------
        X : array of shape (m, n)

        Returns
        -------
        array of shape (m, n_terms)
        """
        X = self._checked(X)
        features, terms = self._live
        out = np.empty((X.shape[0], len(terms)))
        for rows in row_chunks(len(out), self.n_features):
            columns = np.ascontiguousarray(dense_columns(X[rows], features).T)
            for position, term in enumerate(terms):
                out[rows, position] = _term_values(columns, *term)
        return out

    def magnitude(self, X: FloatArray) -> FloatArray:
        """Sum of the absolute terms of f at each row: rounding errors of f are this times a few units in the last place.

        Parameters
        ----------
        X : array of shape (m, n)

        Returns
        -------
        array of shape (m,)
        """
        X = np.abs(self._checked(X))
        return np.asarray(np.sum(X * (0.5 * (X @ np.abs(self.W)) + np.abs(self.b)), axis=1) + abs(self.c))

    def gradient(self, X: FloatArray) -> FloatArray:
        """Wx + b at each row of X.

        Parameters
        ----------
        X : array of shape (m, n)

        Returns
        -------
        array of shape (m, n)
        """
        return self._checked(X) @ self.W + self.b

    def terms(self, feature_names: Sequence[str] | None = None) -> list[tuple[str, float]]:
        """Names and polynomial coefficients of the live terms, largest first.

        The coefficient of "a^2" is W_aa / 2, that of "a*b" is W_ab, that of "a" is b_a.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default x0, x1, ...

        Returns
        -------
        list of (str, float)
        """
        names = self._names(feature_names)
        return [(term_name(names, *product.factors), product.coefficient) for product in self.products]

    def equation(self, feature_names: Sequence[str] | None = None, precision: int = 4) -> str:
        """f as one line of text, the largest terms first.

        The coefficients are those of the surface's own units. Where these are standardised, every feature has a prime:
        income' is (income - mean) / scale. ``model.equation()`` prints a fitted model in the units of the data.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default x0, x1, ...
        precision : int
            Significant digits.

        Returns
        -------
        str
        """
        names = [f"{name}'" if self.standardized else name for name in self._names(feature_names)]
        parts = [(value, f"{abs(value):.{precision}g}*{name}") for name, value in self.terms(names)]
        parts.append((self.c, f"{abs(self.c):.{precision}g}"))
        first, *rest = parts
        text = ("-" if first[0] < 0 else "") + first[1]
        return "f = " + text + "".join(f" {'-' if value < 0 else '+'} {shown}" for value, shown in rest)

    def unscale(self, mean: FloatArray, scale: FloatArray) -> QuadraticSurface:
        """The same function of raw features, where this surface takes (x - mean) / scale.

        Centring spreads each product over linear terms, so the result may have more terms.

        Parameters
        ----------
        mean, scale : arrays of shape (n,)
            As in StandardScaler's ``mean_`` and ``scale_``.

        Returns
        -------
        QuadraticSurface
        """
        mean, scale = np.asarray(mean, dtype=float), np.asarray(scale, dtype=float)
        W = self.W / np.outer(scale, scale)
        b = self.b / scale
        return QuadraticSurface(W, b - W @ mean, float(self.c - b @ mean + 0.5 * mean @ W @ mean))

    def kind(self) -> str:
        """What the set f(x) = 0 is: "ellipsoid", "hyperboloid", "elliptic paraboloid", "hyperplane", ...

        Read from the signs of the eigenvalues of W, from the part of b outside its range and from f at the centre. In one or
        two dimensions the names are those of the general case ("ellipsoid" for an ellipse or a pair of points).

        Returns
        -------
        str
        """
        largest = max(float(np.abs(self.W).max(initial=0.0)), float(np.abs(self.b).max(initial=0.0)))
        if largest == 0.0:
            return "everything" if self.c == 0.0 else "empty"
        curvature, axes = np.linalg.eigh(self.W)
        curved = np.abs(curvature) > FLAT * largest
        if not curved.any():
            return "hyperplane"
        slope = axes.T @ self.b
        definite = bool((curvature[curved] > 0).all() or (curvature[curved] < 0).all())
        if np.abs(slope[~curved]).max(initial=0.0) > FLAT * largest:
            return _paraboloid(int(curved.sum()), self.n_features, definite)
        depth = 0.5 * np.sum(slope[curved] ** 2 / curvature[curved])
        at_centre = self.c - depth
        if abs(at_centre) <= FLAT * (abs(self.c) + abs(depth) + largest):
            at_centre = 0.0
        side = float(np.sign(at_centre) * np.sign(curvature[curved][0]))
        return _central_quadric(int(curved.sum()), self.n_features, definite, side)

    def _checked(self, X: FloatArray) -> FloatArray:
        refuse_masked(X=X)
        X = csr_array(X, dtype=float) if issparse(X) else np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X of shape {X.shape} does not fit a surface of {self.n_features} features: need (m, {self.n_features})"
            )
        return X

    def _names(self, feature_names: Sequence[str] | None) -> Sequence[str]:
        names = default_names(self.n_features) if feature_names is None else feature_names
        if len(names) != self.n_features:
            raise ValueError(f"{len(names)} feature names for a surface of {self.n_features} features")
        return names


def _term_values(columns: FloatArray, weight: float, left: int, right: int) -> FloatArray:
    return weight * (columns[left] if right == LINEAR else columns[left] * columns[right])


def _aligned_zeros(n_rows: int, width: int) -> FloatArray:
    """Zeros of shape (n_rows, width), all rows equally aligned where the width is a multiple of ALIGNED."""
    spare = np.zeros(n_rows * width + ALIGNED)
    first = -(spare.ctypes.data // spare.itemsize) % ALIGNED
    return spare[first : first + n_rows * width].reshape(n_rows, width)


def _paraboloid(rank: int, n_features: int, definite: bool) -> str:
    if rank == 1:
        return "paraboloid" if n_features == 2 else "parabolic cylinder"
    shape = "elliptic" if definite else "hyperbolic"
    return f"{shape} paraboloid" if rank == n_features - 1 else f"{shape} parabolic cylinder"


def _central_quadric(rank: int, n_features: int, definite: bool, side: float) -> str:
    """``side`` compares f at the centre with the first curvature: opposite signs (-1) make a definite form vanish somewhere."""
    if definite and side > 0:
        return "empty"
    if rank == n_features:
        if definite:
            return "point" if side == 0 else "ellipsoid"
        return "cone" if side == 0 else "hyperboloid"
    if rank == 1:
        return "double hyperplane" if side == 0 else "parallel hyperplanes"
    if definite:
        return "flat" if side == 0 else "elliptic cylinder"
    return "intersecting hyperplanes" if side == 0 and rank == 2 else "hyperbolic cylinder" if side else "conic cylinder"
