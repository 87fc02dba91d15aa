"""How much memory a fit takes, and the refusal of one that cannot fit: before anything large is allocated.

The factors count double-precision arrays that are alive at the same time; tests/test_resources.py measures them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from quadric.errors import MemoryLimitError
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import KEPT_BYTES, PRICED_TERMS, SAMPLE_ROWS, WORKING_TERMS
from quadric.resources import PROCESS_BYTES, gigabytes, memory
from quadric.samples.extent import Extent

# Doubles per row that the certificate of a fit by passes needs for its terms, unless these are very many
MOST_LIFTED = 100


def bytes_needed(loss: str, extent: Extent, processes: int = 1) -> int:
    """Memory of a fit: what is alive at its peak, to be estimated rather too high than too low.

    Parameters
    ----------
    loss : str
    extent : Extent
    processes : int
        How many of that size run at the same time: each of several brings its own libraries.
    """
    kind, m, p, every = loss_named(loss), extent.n_rows, extent.n_candidates, extent.n_terms
    if extent.is_wide:
        # vectors of all terms: statistics, matrices of features, rows of supports; a block of prices; the working set
        working = 2 * WORKING_TERMS
        rows = 3.6 * m * working if kind.keeps_rows else 0.0
        vectors = (60 + 5 * extent.k) * every + 8 * extent.k * min(every, PRICED_TERMS)
        matrices = 12.0 * working**2 + vectors + KEPT_BYTES // 8
    elif extent.by_passes and kind.searches_by_passes(m):
        # what the certificate lifts, with working copies; the lifted sample with its matrices
        rows = (20 + min(p, MOST_LIFTED)) * m + 2.2 * SAMPLE_ROWS * (p + 1)
        matrices = 4 * every**2 + 8.5 * p**2
    elif kind.keeps_rows:
        # the centred rows with working copies; G, then the model of exchanges, the bound and their tableaus
        rows = (3.6 if extent.proves else 2.2) * m * (p + 1)
        matrices = max(every**2 + p**2, (10.5 if extent.proves else 8.5) * p**2)
    else:
        # moments of all classes together while they are summed; then G, scatter and, for each C, a matrix with its tableaus
        rows = 0.0
        matrices = max(4 * every**2, (6 + 3 * extent.grid[0] + 2 * extent.proves) * p**2)
    return int(8 * (rows + matrices + extent.shared_doubles)) + (PROCESS_BYTES if processes > 1 else 0)


def fits(loss: str, extent: Extent, processes: int = 1) -> bool:
    """Whether fits of that size, as many at the same time as there are processes, find room, as far as the system says."""
    room = memory(processes)
    return room is None or bytes_needed(loss, extent, processes) <= room.size


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
    if room is None or fits(loss, extent, processes):
        return
    advice, remedies = _advice(loss, extent, processes)
    each = f" for each of {processes} processes" if processes > 1 else ""
    raise MemoryLimitError(
        f"{extent.n_rows:,} rows of {extent.n_features:,} features ({extent.n_terms:,} terms) need about "
        f"{gigabytes(bytes_needed(loss, extent, processes))} of memory with the loss {loss}, "
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
    return next((processes for processes in range(wanted, 1, -1) if fits(loss, extent, processes)), 1)


def _advice(loss: str, extent: Extent, processes: int) -> tuple[str, dict[str, str | None]]:
    """What would fit, in words and as parameters."""
    if processes > 1 and fits(loss, extent):
        return "take fewer processes", {"n_jobs": "1"}
    for other in LOSS_NAMES:
        if other != loss and fits(other, extent):
            needed = gigabytes(bytes_needed(other, extent, 1))
            return f"take fewer rows or columns, or the loss {other}, which needs {needed}", {"loss": other}
    if fits(loss, replace(extent, shape=(2, extent.n_features), n_scored=0)):
        return "take fewer rows or columns", {}
    unproved = replace(extent, proves=False)
    best = (
        f', or the method "best", which proves nothing and needs {gigabytes(bytes_needed(loss, unproved, 1))}'
        if extent.proves and fits(loss, unproved)
        else ""
    )

    def too_wide(n_features: int) -> bool:
        return not fits(loss, replace(extent, shape=(extent.n_rows, n_features), n_excluded=0))

    fitting = bisect_left(range(extent.n_features), True, lo=1, key=too_wide) - 1
    columns = f"take fewer columns, at most about {fitting} features" if fitting else "take fewer columns"
    return columns + best, {"method": "best"} if best else {}
