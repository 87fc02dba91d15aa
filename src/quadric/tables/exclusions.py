"""Terms of encoded features that are redundant."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from quadric.tables.encoder import TableEncoder
from quadric.types import FloatArray


def structural_exclusions(encoder: TableEncoder, X: FloatArray) -> list[tuple[int, int]]:
    """Pairs of features whose product is redundant with their linear terms, for ``exclude``.

    These are the squares of features with at most two values, and the products of two features of one column (two levels are
    never both 1, and an imputed value does not vary).

    Parameters
    ----------
    encoder : fitted TableEncoder
    X : array of shape (m, n_features_out)
        The encoded data.

    Returns
    -------
    list of tuples (i, j)
    """
    check_is_fitted(encoder)
    X = np.asarray(X, dtype=float)
    low, high = X.min(axis=0), X.max(axis=0)
    squares = [(j, j) for j in range(X.shape[1]) if ((X[:, j] == low[j]) | (X[:, j] == high[j])).all()]
    blocks = encoder.blocks_.tolist()
    return squares + [(i, j) for i, j in combinations(range(len(blocks)), 2) if blocks[i] == blocks[j]]
