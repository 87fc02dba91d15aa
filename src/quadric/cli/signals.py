"""Ctrl-C, SIGTERM and SIGHUP as one line and an exit code, at any moment: in imports, at work, and while the process ends."""

# Builtin modules only: until the handlers are set, Ctrl-C shows a traceback, and signal takes a while to import
import _signal as signal  # type: ignore[import-not-found]
import _thread
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIGINT = int(signal.SIGINT)
NAMES = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminal closed", "SIGBREAK": "interrupted"}
# Signals that this system has; SIGBREAK is Ctrl-Break of Windows, which has no SIGHUP
WORDS = {int(getattr(signal, name)): words for name, words in NAMES.items() if hasattr(signal, name)}


class Signals:
    """Handles the signals that no one else handles or ignores.

    Each becomes a KeyboardInterrupt, so that what was begun is cleaned up. Imports can drop that, print it or turn it into
    another error; ``received`` says whether there was one.

    Parameters
    ----------
    final : bool
        Whether the process ends afterwards: then the handlers are not restored.
    """

    def __init__(self, final: bool) -> None:
        self.final = final
        self.received: list[int] = []
        self._before: dict[int, Any] = {}
        self._hooks = sys.excepthook, sys.unraisablehook
        self._thread_hook: Any = None

    def __enter__(self) -> "Signals":
        for number in WORDS:
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                try:
                    self._before[number] = signal.signal(number, self._stop)
                except ValueError:  # only the main thread handles signals
                    break
        sys.excepthook = sys.unraisablehook = self._shown
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, _leave if self.final else handler)
        sys.excepthook, sys.unraisablehook = self._hooks
        if self._thread_hook is not None and not self.final:  # threads may fail until the process has ended
            self._threading.excepthook = self._thread_hook

    def watch_threads(self) -> None:
        """Leave out what threads print after a signal: joblib's lose their tasks while they wait for them.

        Apart from the other hooks: the import can be interrupted.
        """
        import threading

        self._threading: Any = threading
        self._thread_hook, threading.excepthook = threading.excepthook, self._shown_by_thread

    def ended(self) -> tuple[int, str]:
        """Exit code and words."""
        exec("")  # CPython remembers an interrupt inside exec until the next one, and would let the signal end the process
        return _ended_by(self.received[0])

    def _stop(self, number: int, frame: object) -> None:
        # a proof that runs ends with what it has; Ctrl-C once more ends everything
        stop = getattr(sys.modules.get("quadric.progress"), "STOP", None)
        if number == SIGINT and stop is not None and stop.is_awaited and not stop.is_wanted:
            stop.is_wanted = True
            return
        self.received.append(number)
        raise KeyboardInterrupt

    def _shown(self, *problem: "Any") -> None:
        """Callbacks, such as those of imports, drop an interrupt, and extension modules print it: it is sent again instead."""
        if self.received:
            _thread.start_new_thread(self._send_again, ())
        else:
            self._hooks[len(problem) == 1](*problem)

    def _shown_by_thread(self, problem: "Any") -> None:
        if not self.received:
            self._thread_hook(problem)

    def _send_again(self) -> None:
        time.sleep(0.01)  # the callback is over by then
        if signal.getsignal(self.received[0]) == self._stop:
            _thread.interrupt_main(self.received[0])  # type: ignore[arg-type]


def _ended_by(number: int) -> tuple[int, str]:
    return 128 + number, f"quadric: {WORDS[number]}"


def _leave(number: int, frame: object) -> None:
    """Handle a signal between the result and the end of the process, when nothing is left to clean up."""
    code, words = _ended_by(number)
    try:
        os.write(2, f"{words}\n".encode())
    finally:
        os._exit(code)
