"""Worker processes that end with the process that started them, however that ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from joblib import parallel_config
from joblib.parallel import LokyBackend, get_active_backend

from quadric.errors import ParameterError

if TYPE_CHECKING:
    from sklearn.utils.parallel import Parallel

SECONDS_BETWEEN_LOOKS = 0.5
# Files that joblib opens for a pool of processes, with some to spare, and for each process.
DESCRIPTORS, PER_PROCESS = 24, 2


def workers(n_jobs: int | None, **how: Any) -> Parallel:
    """Scikit-learn's ``Parallel``, whose processes end with this one.

    Parameters
    ----------
    n_jobs : int or None
    **how :
        More parameters of ``Parallel``.
    """
    from sklearn.utils.parallel import Parallel  # here, so that workers begin to watch before they import it

    with workers_end_with_us(n_jobs):
        return Parallel(n_jobs=n_jobs, **how)


@contextmanager
def workers_end_with_us(n_jobs: int | None) -> Iterator[None]:
    """Let the processes that joblib starts for a call inside the block end with this one.

    Other backends than joblib's default are left alone, and so is that one where the user has set it up.

    Parameters
    ----------
    n_jobs : int or None
        Of the call.
    """
    backend, configured = get_active_backend()
    starts_processes = (configured if n_jobs is None else n_jobs) not in (None, 1)
    is_default = type(backend) is LokyBackend and not backend.backend_kwargs and backend.inner_max_num_threads is None
    ours = _Backend(initializer=_watch, initargs=(os.getpid(),))
    with parallel_config(ours) if starts_processes and is_default else nullcontext():
        yield


class _Backend(LokyBackend):
    """Processes that leave Ctrl-C to the one that started them: a terminal sends it to all."""

    def configure(self, n_jobs: int = 1, *arguments: Any, **more: Any) -> int:
        if self.effective_n_jobs(n_jobs) > 1:
            _check_descriptors(self.effective_n_jobs(n_jobs))
        return int(super().configure(n_jobs, *arguments, **more))

    def submit(self, *arguments: Any, **more: Any) -> Any:
        """Submit a task in a thread of its own.

        The first one starts the processes. They inherit what the thread blocks; and an interrupt, which only the main thread
        sees, cannot leave them half started, which joblib would wait for in vain.
        """
        submit = super().submit

        def start() -> Any:
            _block_interrupts()
            return submit(*arguments, **more)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(start).result()


def _check_descriptors(n_jobs: int) -> None:
    """Refuse to start processes that could not open what they share: those already started would print how they failed."""
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(DESCRIPTORS + PER_PROCESS * n_jobs))
    except OSError as error:
        raise ParameterError(
            f"{n_jobs} processes need more files open at a time than the system allows ({error.strerror}): use one process, or "
            "raise the limit (ulimit -n)",
            n_jobs="1",
        ) from None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _block_interrupts() -> None:
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # whoever starts it unblocks the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _watch(parent: int) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    if os.name == "nt":  # a number says nothing there: it stays, and another process may get it
        handle = multiprocessing.parent_process()
        if handle is None:
            return
        handle.join()
    else:
        while os.getppid() == parent:
            time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
