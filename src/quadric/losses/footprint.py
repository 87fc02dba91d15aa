"""How much memory a fit takes, and the refusal of one that cannot fit: before anything large is allocated.

The factors count double-precision arrays that are alive at the same time; tests/test_resources.py measures them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace

from quadric.errors import MemoryLimitError
from quadric.losses import LOSS_NAMES, loss_named
from quadric.resources import PROCESS_BYTES, Room, gigabytes, memory
from quadric.samples.extent import Extent


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
