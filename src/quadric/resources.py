"""How much memory there is: the smallest of what the machine has, its control group allows and this process may reserve."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from quadric.errors import MemoryLimitError

# Where Linux says it; other systems have no such files.
CGROUPS, MEMBERSHIP, USED_PAGES = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/self/statm")
# Positions in USED_PAGES: all reserved addresses, and those of private data.
SIZE, DATA = 0, 5
# What a further process takes for itself, its libraries included.
PROCESS_BYTES = 250 << 20


class Room(NamedTuple):
    """Memory that is there.

    Attributes
    ----------
    size : int
        Bytes.
    words : str
        Who grants it, such as "this machine has".
    """

    size: int
    words: str


def memory(processes: int = 1) -> Room | None:
    """What each of several processes may use; None where the system does not say.

    Parameters
    ----------
    processes : int
        They share the machine; the limits of a process hold for each alone.
    """
    shared = [Room(room.size // processes, room.words) for room in (*_physical(), *_control_groups())]
    return min([*shared, *_process_limits()], default=None)


def processes_of(n_jobs: int | None, n_tasks: int) -> int:
    """How many processes work at the same time, as joblib counts them, and no more than there are tasks.

    Parameters
    ----------
    n_jobs : int or None
        Negative numbers count from the number of cores.
    n_tasks : int
    """
    from joblib import effective_n_jobs

    processes = max(1, min(effective_n_jobs(n_jobs), n_tasks))
    room = memory(processes) if processes > 1 else None
    if room is not None and room.size < PROCESS_BYTES:
        alone = memory() or room
        raise MemoryLimitError(
            f"{processes:,} processes need about {gigabytes(processes * PROCESS_BYTES)} of memory for themselves, "
            f"and {alone.words} {gigabytes(alone.size)}: take fewer",
            n_jobs=None,
        )
    return processes


def gigabytes(size: float) -> str:
    """Bytes in words."""
    amount = size / 2**30
    return f"{amount:.1f} GB" if amount < 1000 else f"{amount:,.0f} GB"


def _physical() -> Iterator[Room]:
    size = _windows_memory() if sys.platform == "win32" else _pages()
    if size:
        yield Room(size, "this machine has")


def _pages() -> int | None:
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system says
        return None
    return pages * size if min(pages, size) > 0 else None  # -1: it knows the name and not the number


def _windows_memory() -> int | None:
    class MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of the Windows API."""

        _fields_ = [("length", ctypes.c_uint32), ("load", ctypes.c_uint32), ("physical", ctypes.c_uint64)] + [
            (name, ctypes.c_uint64) for name in ("available", "pages", "free_pages", "virtual", "free_virtual", "extended")
        ]

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    answered = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.physical) if answered else None


def _control_groups() -> Iterator[Room]:
    """Limits of the group that this process is in, and of those around it; both versions of control groups."""
    for line in _text(MEMBERSHIP).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = [part for part in path.split("/") if part]
        for depth in range(len(group), -1, -1):
            limit = _text(os.path.join(root, *group[:depth], name)).strip()
            if limit.isdigit():  # version 2 writes "max" where there is none, version 1 a number beyond any machine
                yield Room(int(limit), "its control group allows")


def _process_limits() -> Iterator[Room]:
    """What the limits of this process (``ulimit -v``, ``ulimit -d``) leave beside what it has reserved already."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return
    used = [int(pages) * resource.getpagesize() for pages in _text(USED_PAGES).split()] or [0] * (DATA + 1)
    for limit, position, letter in ((resource.RLIMIT_AS, SIZE, "v"), (resource.RLIMIT_DATA, DATA, "d")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield Room(max(most - used[position], 0), f"the limit of this process (ulimit -{letter}) leaves")


def _text(path: Path | str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
