"""One BLAS thread for all kernels: the number of threads changes last bits, and last bits change supports."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_users = 0
_limits: Any = None


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (the controller sees only libraries that are loaded)

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while any block of this kind runs in the process.

    Limits are global to the process. Counting the blocks keeps fits in several Python threads from lifting each other's
    limit: the first to enter sets it, the last to leave restores what was there.
    """
    global _users, _limits
    with _lock:
        if _users == 0:
            _limits = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()
