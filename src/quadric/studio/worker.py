"""Long work beside the page: one piece at a time, given up as soon as a newer one comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quadric.blas import one_blas_thread
from quadric.progress import listening

Work = Callable[[], None]

# Seconds to wait for work that is given up
PATIENCE = 10.0
# Seconds before work begins, in which the page shows what was chosen: both want the same interpreter
BREATH = 0.1


class Void(BaseException):
    """Somebody wants something newer; no handler of errors is to keep the work from ending."""


class Worker:
    """A thread that does the latest work.

    Parameters
    ----------
    tell : function
        Told the share of the work that is done, and what is being done.
    failed : function
        Given the error that ended a piece of work.
    """

    def __init__(self, tell: Callable[[float, str], None], failed: Callable[[Exception], None]) -> None:
        self._tell, self._failed = tell, failed
        self._changed = threading.Condition()
        self._next: Work | None = None
        self._closed = self._is_paused = False
        self._thread = threading.Thread(target=self._run, name="quadric studio", daemon=True)
        self._thread.start()

    def do(self, work: Work | None) -> None:
        """Give up what is being done, and do this; None: nothing."""
        with self._changed:
            self._next, self._is_void = work, True
            self._changed.notify_all()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A block during which the work rests, from the next moment at which it tells how far it is."""
        self._rest(True)
        try:
            yield
        finally:
            self._rest(False)

    def _rest(self, is_paused: bool) -> None:
        with self._changed:
            self._is_paused = is_paused
            self._changed.notify_all()

    def close(self) -> None:
        """Give up everything, and wait for the end of what cannot be given up at once."""
        with self._changed:
            self._closed = self._is_void = True
            self._changed.notify_all()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._next is not None)
                self._changed.wait_for(lambda: self._closed, BREATH)
                if self._closed:
                    return
                work, self._next, self._is_void = self._next, None, False
            if work is None:  # it was given up meanwhile
                continue
            try:
                with one_blas_thread(), listening(self._heard):
                    work()
            except Void:
                pass
            except Exception as error:
                self._failed(error)

    def _heard(self, share: float, what: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_void or not self._is_paused)
        if self._is_void:
            raise Void
        self._tell(share, what)
