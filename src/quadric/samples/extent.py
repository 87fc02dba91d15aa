"""How large a fit is, what that takes of memory, and whether rows are read into memory or passed over."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from quadric.errors import MemoryLimitError
from quadric.geometry.lifting import CHUNK_BYTES
from quadric.geometry.moments import BLOCK_ROWS
from quadric.geometry.products import PRODUCT_ROWS, are_many
from quadric.geometry.terms import term_count
from quadric.resources import gigabytes, memory

# Values of a table, rows times columns, from which on it is read in passes, wherever it is.
PASSES_FROM = 10_000_000


def is_small(n_rows: int, n_columns: int) -> bool:
    """Whether a table is read into memory wherever it is."""
    return n_rows * n_columns < PASSES_FROM


@dataclass(frozen=True)
class Extent:
    """The size of a fit.

    Attributes
    ----------
    shape : pair of int
        Of X: rows and features.
    n_classes : int
    n_excluded : int
        Terms that may not be used.
    grid : pair of int
        Values of C and of k.
    n_scored : int
        Rows that each surface of the grid scores.
    proves : bool
        Whether bounds are computed, from all terms together.
    k : int
        Terms of a surface, at most.
    n_stored : int or None
        Numbers that a sparse X stores; None: X is dense.
    by_passes : bool
        Whether terms may be searched for by passes over the rows, without lifting them all.
    n_folds : int
        Folds whose rows and sums are kept together, unless terms are many.
    """

    shape: tuple[int, ...]
    n_classes: int = 2
    n_excluded: int = 0
    grid: tuple[int, int] = (1, 1)
    n_scored: int = 0
    proves: bool = False
    k: int = 10
    n_stored: int | None = None
    by_passes: bool = False
    n_folds: int = 0

    @property
    def n_rows(self) -> int:
        return self.shape[0]

    @property
    def n_features(self) -> int:
        return self.shape[1]

    @property
    def n_terms(self) -> int:
        """All terms, p = n(n+3)/2."""
        return term_count(self.n_features)

    @property
    def n_candidates(self) -> int:
        return self.n_terms - self.n_excluded

    @property
    def is_wide(self) -> bool:
        """Whether terms are never all paired, except in proofs."""
        return not self.proves and are_many(self.n_terms, sparse=self.n_stored is not None)

    @property
    def shared_doubles(self) -> int:
        """What every loss needs: copies of the rows, blocks of lifted ones, coefficients and scores of a grid."""
        surfaces = self.grid[0] * self.grid[1] * (1 if self.n_classes == 2 else self.n_classes)
        blocks = max(6 * CHUNK_BYTES // 8, 2 * (PRODUCT_ROWS * self.n_features if self.is_wide else BLOCK_ROWS * self.n_terms))
        scores = self.n_scored * ((self.k if self.is_wide else self.n_terms) + 2 * surfaces)
        stored = self.n_rows * self.n_features if self.n_stored is None else 2 * self.n_stored
        kept = 0 if self.is_wide else self.n_folds * (self.n_rows * (self.n_features + 4) + 5 * self.n_terms**2)
        return 3 * stored + blocks + 3 * surfaces * self.n_terms + scores + kept


def check_pairs(n_features: int, n_sums: int = 1) -> None:
    """Refuse features whose sums of products of all pairs of terms do not fit into memory.

    Parameters
    ----------
    n_features : int
    n_sums : int
        How many are made in one pass.
    """
    room, needed = memory(), bytes_of_pairs(n_features, n_sums)
    if room is not None and needed > room.size:
        most = bisect_left(range(n_features), True, lo=1, key=lambda n: bytes_of_pairs(n, n_sums) > room.size) - 1
        raise MemoryLimitError(
            f"{n_features:,} features ({term_count(n_features):,} terms) need about {gigabytes(needed)} of memory for sums "
            f"over pairs of terms, and {room.words} {gigabytes(room.size)}: take fewer columns, at most about {most} features, "
            "or so few rows that a fit in memory has room"
        )


def bytes_of_pairs(n_features: int, n_sums: int) -> int:
    """What a pass needs that sums products of all pairs of terms.

    Of each sum there are the one so far, that of a batch and both together, while two more matrices come and go.
    """
    return 8 * (3 * n_sums + 2) * term_count(n_features) ** 2
