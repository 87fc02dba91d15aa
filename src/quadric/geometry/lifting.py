"""The map x -> r(x) under which a quadratic surface is linear: f(x) = r(x)'z + c.

r(x) = [s(x); x] with s_aa = 1/2 x_a^2 and s_ab = x_a x_b for a < b (docs/mathematics.md, section 1; the paper halves every
product, which is wrong). R is the matrix of the r(x_i)', one row per sample; equation numbers are those of docs/mathematics.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from quadric.geometry.terms import LINEAR, TermFactors, term_count, term_factors, to_vector
from quadric.types import FloatArray, IntArray

# Size of the blocks of R that streaming computations build; about one core's share of cache.
CHUNK_BYTES = 4 << 20


def row_chunks(n_rows: int, row_width: int, at_least: int = 64) -> Iterator[slice]:
    """Slices over ``n_rows`` such that a block of ``row_width`` doubles per row stays near CHUNK_BYTES."""
    step = max(at_least, CHUNK_BYTES // (8 * max(row_width, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def lift(X: FloatArray, terms: IntArray | None = None) -> FloatArray:
    """R, or only its columns ``terms``.

    Parameters
    ----------
    X : array of shape (m, n)
    terms : array of positions in z, or None for all of them

    Returns
    -------
    array of shape (m, len(terms)), C-contiguous
    """
    n_rows, n_features = X.shape
    features, (left, right) = live_features(n_features, terms)
    halved = np.where(left == right, 0.5, 1.0)  # (1.3): only squares are halved, so that r(x)'z is f
    R = np.empty((n_rows, len(left)))
    for rows in row_chunks(n_rows, max(len(left), n_features + 1)):
        # LINEAR is -1 and picks the last column, which holds ones: one gather serves all kinds of terms
        block = np.column_stack([dense_columns(X[rows], features), np.ones(rows.stop - rows.start)])
        np.multiply(block[:, left], block[:, right], out=R[rows])
        R[rows] *= halved
    return R


def live_features(n_features: int, terms: IntArray | None) -> tuple[IntArray, TermFactors]:
    """The features that some terms multiply, and the factors of these terms as positions among them; None: all terms."""
    left, right = term_factors(n_features)
    if terms is None:
        return np.arange(n_features), TermFactors(left, right)
    left, right = left[terms], right[terms]
    paired = right != LINEAR
    features, place = np.unique(np.concatenate([left, right[paired]]), return_inverse=True)
    second = np.full(len(terms), LINEAR)
    second[paired] = place[len(terms) :]
    return features, TermFactors(place[: len(terms)], second)


def as_dense(X: Any) -> FloatArray:
    """An array of dense or sparse samples."""
    return np.asarray(X.toarray() if issparse(X) else X)


def dense_columns(X: Any, features: IntArray) -> FloatArray:
    """An array of some columns of dense or sparse samples."""
    return as_dense(X if len(features) == X.shape[1] else X[:, features])


def middle_of(X: Any) -> FloatArray:
    """The medians of the columns, which no outlying row can move; zero for sparse samples, most of whose values it is."""
    return np.zeros(X.shape[1]) if issparse(X) else np.asarray(np.median(X, axis=0))


def column_ends(X: Any) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest value of each column of dense or sparse samples."""
    return as_dense(X.min(axis=0)).ravel(), as_dense(X.max(axis=0)).ravel()


def lift_columns(columns: FloatArray, middle: FloatArray | None = None, room: FloatArray | None = None) -> FloatArray:
    """R' from X', without a gather: the products of one feature with those after it lie together.

    Parameters
    ----------
    columns : array of shape (n, m)
    middle : array of shape (p,), optional
        Subtracted from each row of R.
    room : array of at least p m numbers, optional
        Memory to use: to ask for it block by block takes as long as to fill it.

    Returns
    -------
    array of shape (p, m), C-contiguous
    """
    columns = np.ascontiguousarray(columns)
    n_features, n_rows = columns.shape
    p = term_count(n_features)
    R = np.empty((p, n_rows)) if room is None else room[: p * n_rows].reshape(p, n_rows)
    first = 0
    for feature in range(n_features):
        stop = first + n_features - feature
        products = np.multiply(columns[feature:], columns[feature], out=R[first:stop])
        products[0] *= 0.5
        if middle is not None:
            products -= middle[first:stop, None]  # at once, while they are in the cache
        first = stop
    np.subtract(columns, 0.0 if middle is None else middle[first:, None], out=R[first:])
    return R


def lift_about(X: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    """r(x) - r(middle) on some terms, from x - middle: nothing cancels where the features are far from zero."""
    features, factors = live_features(X.shape[1], terms)
    return _lifted_about(dense_columns(X, features), middle[features], factors)


def _lifted_about(X: FloatArray, middle: FloatArray, factors: TermFactors) -> FloatArray:
    left, right = factors
    # LINEAR is -1 and picks the last column: ones for x, zeros for the difference
    difference = np.column_stack([X - middle, np.zeros(len(X))])
    R = difference[:, left] * np.column_stack([X, np.ones(len(X))])[:, right]
    R += middle[left] * difference[:, right]
    R *= np.where(left == right, 0.5, 1.0)
    return R


def lift_columns_about(columns: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    """(r(x) - r(middle))' on some terms, one row per term, from X'."""
    left, right = (factors[terms] for factors in term_factors(len(middle)))
    n_rows = columns.shape[1]
    # LINEAR is -1 and picks the last row: ones for x, zeros for the difference
    difference = np.vstack([columns - middle[:, None], np.zeros((1, n_rows))])
    R = np.vstack([columns, np.ones((1, n_rows))])[right]
    R *= difference[left]
    if middle.any():
        R += middle[left, None] * difference[right]
    R *= np.where(left == right, 0.5, 1.0)[:, None]
    return R


def adjoint_about(sums: FloatArray, middle: FloatArray) -> FloatArray:
    """sum_i v_i (r(x_i) - r(middle)) from sum_i v_i r(x_i - middle): products of x are those of x - middle and more."""
    left, right = term_factors(len(middle))
    linear = sums[..., len(left) - len(middle) :]
    quadratic = right != LINEAR
    a, b = left[quadratic], right[quadratic]
    about = sums.copy()
    more = middle[a] * linear[..., b] + middle[b] * linear[..., a]
    about[..., quadratic] += more * np.where(a == b, 0.5, 1.0)
    return about


def sizes_about(X: FloatArray, middle: FloatArray, terms: IntArray) -> FloatArray:
    """What ``lift_about`` adds up, without signs: its rounding errors are shares of these."""
    features, factors = live_features(X.shape[1], terms)
    distance, middle = np.abs(dense_columns(X, features) - middle[features]), np.abs(middle[features])
    return _lifted_about(distance + middle, middle, factors)


def lift_adjoint(X: FloatArray, v: FloatArray) -> FloatArray:
    """R'v without R (8.2): the upper triangle of X' diag(v) X with its diagonal halved, then X'v."""
    n_features = X.shape[1]
    second = np.zeros((n_features, n_features))
    equal = float(v[0]) if len(v) and (v == v[0]).all() else None
    for rows in row_chunks(X.shape[0], n_features):
        if equal is None:
            second += as_dense(X[rows].T @ (X[rows] * v[rows, None]))
        else:  # X'X by itself takes half of the work
            second += equal * as_dense(X[rows].T @ X[rows])
    second[np.diag_indices_from(second)] *= 0.5
    return to_vector(second, np.asarray(X.T @ v))
