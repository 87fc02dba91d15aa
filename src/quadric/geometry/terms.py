"""Which coefficient of a quadratic surface stands where in the vector z.

z = [hvec(W); b]: the upper triangle of W row by row, then b (docs/mathematics.md, section 1). A *term* is a position in z.
Every term is a product of one or two features, so two aligned arrays describe them all: ``left`` and ``right``, with
``right == LINEAR`` where there is no second factor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from quadric.types import FloatArray, IntArray

# Stands in ``TermFactors.right`` for the missing second factor of a linear term.
LINEAR = -1

# A feature between double quotes, which are doubled within its name
_QUOTED = '"((?:[^"]|"")+)"'
_QUOTED_TERM = re.compile(rf"{_QUOTED}(?:(\^2)|(\*)(?:{_QUOTED})?)?", re.DOTALL)


class TermFactors(NamedTuple):
    """The features that each term multiplies; both arrays have one entry per term."""

    left: IntArray
    right: IntArray


def term_count(n_features: int) -> int:
    """Length of z: p = n(n+1)/2 + n."""
    return n_features * (n_features + 3) // 2


def feature_count(n_terms: int) -> int:
    """Number of features n of a z of length p; the inverse of :func:`term_count`."""
    n_features = (int(np.sqrt(9 + 8 * n_terms)) - 3) // 2
    if term_count(n_features) != n_terms:
        raise ValueError(f"no number of features has {n_terms} terms")
    return n_features


@lru_cache(maxsize=64)
def term_factors(n_features: int) -> TermFactors:
    """Factors of every term, in the order of z."""
    rows, columns = np.triu_indices(n_features)
    left = np.concatenate([rows, np.arange(n_features)])
    right = np.concatenate([columns, np.full(n_features, LINEAR)])
    left.setflags(write=False)  # they are cached: whoever writes to them would change every other caller's terms
    right.setflags(write=False)
    return TermFactors(left, right)


def term_index(first: int, second: int | None, n_features: int) -> int:
    """Position in z of the product of two features, or of one feature alone (``second=None``)."""
    if second is None:
        return n_features * (n_features + 1) // 2 + first
    low, high = sorted((first, second))
    return low * n_features - low * (low - 1) // 2 + (high - low)


def term_indices(first: int | IntArray, second: IntArray, n_features: int) -> IntArray:
    """Positions in z of the products of one feature, or of several, with others."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(low * n_features - low * (low - 1) // 2 + (high - low))


def to_vector(W: FloatArray, b: FloatArray) -> FloatArray:
    """z = [hvec(W); b]."""
    return np.concatenate([W[np.triu_indices(len(b))], b])


def to_matrix(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The symmetric W and the b of z."""
    n_features = feature_count(len(z))
    rows, columns = np.triu_indices(n_features)
    W = np.zeros((n_features, n_features))
    W[rows, columns] = z[: len(rows)]
    W[columns, rows] = z[: len(rows)]
    return W, np.array(z[len(rows) :], dtype=float)


def default_names(n_features: int) -> list[str]:
    """Feature names where the data bring none."""
    return [f"x{i}" for i in range(n_features)]


def term_names(feature_names: Sequence[str]) -> list[str]:
    """Names in the order of z: "age^2", "age*income", "age"."""
    left, right = term_factors(len(feature_names))
    return [term_name(feature_names, a, b) for a, b in zip(left, right, strict=True)]


def term_name(feature_names: Sequence[str], a: int, b: int = LINEAR) -> str:
    """The name of the term with these factors: of a product, a square or a feature alone."""
    if b == LINEAR:
        return str(feature_names[a])
    return f"{feature_names[a]}^2" if a == b else f"{feature_names[a]}*{feature_names[b]}"


def quoted_term(factors: Sequence[str]) -> str:
    """A term whose features are in double quotes, so that it has one meaning: '"age"', '"age"^2', '"age"*"income"', '"age"*'.

    Parameters
    ----------
    factors : sequence of str
        One or two features; an empty second one stands for all others.
    """
    first, *second = ['"' + factor.replace('"', '""') + '"' if factor else "" for factor in factors]
    return f"{first}^2" if second == [first] else "*".join([first, *second])


def quoted_factors(text: str) -> tuple[str, ...] | None:
    """The features of a term that is written like that; None: it is not."""
    found = _QUOTED_TERM.fullmatch(text)
    if found is None:
        return None
    first, is_square, is_product, second = found.groups()
    factors = [first, first] if is_square else [first, second or ""] if is_product else [first]
    return tuple(factor.replace('""', '"') for factor in factors)
