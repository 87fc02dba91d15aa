"""How much memory a fit takes, and the refusal of one that cannot fit: before anything large is allocated.

The factors count double-precision arrays that are alive at the same time; tests/test_resources.py measures them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from quadric.errors import MemoryLimitError
from quadric.geometry.lifting import CHUNK_BYTES
from quadric.geometry.moments import BLOCK_ROWS
from quadric.geometry.products import MANY_TERMS, PRODUCT_ROWS
from quadric.geometry.terms import term_count
from quadric.losses import LOSS_NAMES, loss_named
from quadric.resources import PROCESS_BYTES, Room, gigabytes, memory


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
        """m."""
        return self.shape[0]

    @property
    def n_features(self) -> int:
        """n."""
        return self.shape[1]

    @property
    def n_terms(self) -> int:
        """All terms, p = n(n+3)/2."""
        return term_count(self.n_features)

    @property
    def n_candidates(self) -> int:
        """Terms that may be used."""
        return self.n_terms - self.n_excluded

    @property
    def is_wide(self) -> bool:
        """Whether terms are never all paired, but for proofs."""
        return not self.proves and (self.n_stored is not None or self.n_terms > MANY_TERMS)

    @property
    def shared_doubles(self) -> int:
        """What every loss needs: copies of the rows, blocks of lifted ones, coefficients and scores of a grid."""
        surfaces = self.grid[0] * self.grid[1] * (1 if self.n_classes == 2 else self.n_classes)
        blocks = max(6 * CHUNK_BYTES // 8, 2 * (PRODUCT_ROWS * self.n_features if self.is_wide else BLOCK_ROWS * self.n_terms))
        scores = self.n_scored * ((self.k if self.is_wide else self.n_terms) + 2 * surfaces)
        stored = self.n_rows * self.n_features if self.n_stored is None else 2 * self.n_stored
        kept = 0 if self.is_wide else self.n_folds * (self.n_rows * (self.n_features + 4) + 5 * self.n_terms**2)
        return 3 * stored + blocks + 3 * surfaces * self.n_terms + scores + kept


def fits(loss: str, extent: Extent) -> bool:
    """Whether a fit of that size fits into memory, as far as the system says."""
    room = memory()
    return room is None or _fits(loss, extent, 1, room)


def check_memory(loss: str, extent: Extent, processes: int = 1) -> None:
    """Refuse what cannot fit into memory.

    Parameters
    ----------
    loss : str
    extent : Extent
    processes : int
        How many of that size run at the same time.
    """
    room = memory(processes)
    if room is None or _fits(loss, extent, processes, room):
        return
    advice, remedies = _advice(loss, extent, processes, room)
    each = f" for each of {processes} processes" if processes > 1 else ""
    raise MemoryLimitError(
        f"{extent.n_rows:,} rows of {extent.n_features:,} features ({extent.n_terms:,} terms) need about "
        f"{gigabytes(_needed(loss, extent, processes))} of memory with the loss {loss}, "
        f"and {room.words} {gigabytes(room.size)}{each}: {advice}",
        **remedies,
    )


def affordable_processes(loss: str, extent: Extent, wanted: int) -> int:
    """As many processes of that size as fit into memory, at least one.

    Parameters
    ----------
    loss : str
    extent : Extent
    wanted : int
        No more than these.
    """
    rooms = {processes: memory(processes) for processes in range(wanted, 1, -1)}
    return next((n for n, room in rooms.items() if room is None or _fits(loss, extent, n, room)), 1)


def _advice(loss: str, extent: Extent, processes: int, room: Room) -> tuple[str, dict[str, str | None]]:
    """What would fit, in words and as parameters."""
    alone = memory() or room
    if processes > 1 and _fits(loss, extent, 1, alone):
        return "take fewer processes", {"n_jobs": "1"}
    for other in LOSS_NAMES:
        if other != loss and _fits(other, extent, 1, alone):
            needed = gigabytes(_needed(other, extent, 1))
            return f"take fewer rows or columns, or the loss {other}, which needs {needed}", {"loss": other}
    if _fits(loss, replace(extent, shape=(2, extent.n_features), n_scored=0), 1, alone):
        return "take fewer rows or columns", {}
    unproved = replace(extent, proves=False)
    best = (
        f', or the method "best", which proves nothing and needs {gigabytes(_needed(loss, unproved, 1))}'
        if extent.proves and _fits(loss, unproved, 1, alone)
        else ""
    )

    def too_wide(n_features: int) -> bool:
        return not _fits(loss, replace(extent, shape=(extent.n_rows, n_features), n_excluded=0), 1, alone)

    fitting = bisect_left(range(extent.n_features), True, lo=1, key=too_wide) - 1
    columns = f"take fewer columns, at most about {fitting} features" if fitting else "take fewer columns"
    return columns + best, {"method": "best"} if best else {}


def _needed(loss: str, extent: Extent, processes: int) -> int:
    return loss_named(loss).bytes_needed(extent) + (PROCESS_BYTES if processes > 1 else 0)


def _fits(loss: str, extent: Extent, processes: int, room: Room) -> bool:
    return _needed(loss, extent, processes) <= room.size
