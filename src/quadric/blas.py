"""One BLAS thread for all kernels: the number of threads changes last bits, and last bits change supports."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits

_lock = threading.Lock()
_users = 0
_before: list[int] = []


@cache
def _libraries() -> list[Any]:
    import scipy.linalg  # noqa: F401  (only libraries that are loaded are seen)

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any block of this kind runs in the process.

    Limits are global to the process. Counting the blocks keeps fits in several Python threads from lifting each other's
    limit: the first to enter sets it, the last to leave restores what was there, whichever Python threads these are.
    """
    global _users, _before
    with _lock:
        if _users == 0:
            _before = [library.num_threads for library in _libraries()]
            _limit([1] * len(_before))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit(_before)


@contextmanager
def one_thread() -> Iterator[None]:
    """The same, with one OpenMP thread of this Python thread: threads would wait for each other longer than small fits take."""
    with one_blas_thread(), threadpool_limits(1, user_api="openmp"):
        yield


def _limit(numbers: Sequence[int]) -> None:
    """Set the number of threads of each library, and leave it to every Python thread to do so later.

    From 3.8 on threadpoolctl silently ignores all Python threads but the first that sets a number, until that gives this up.
    """
    controllers = {type(library) for library in _libraries() if hasattr(library, "clear_controlling_thread")}
    for controller in controllers:
        controller.clear_controlling_thread(force=True)
    for library, number in zip(_libraries(), numbers, strict=True):
        library.set_num_threads(number)
    for controller in controllers:
        controller.clear_controlling_thread(force=True)
