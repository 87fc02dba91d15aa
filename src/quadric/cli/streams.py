"""Standard streams that are closed, full or of another encoding: lost results are an error, lost remarks are not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, cast


class OutputError(OSError):
    """Standard output cannot be written to."""


@contextmanager
def safe_streams(final: bool) -> Iterator[None]:
    """Standard streams that can be written to at any time.

    Parameters
    ----------
    final : bool
        Whether the process ends afterwards: then closed descriptors are filled, and at the end unprinted text is dropped.
    """
    before = sys.stdout, sys.stderr
    if final:
        _fill_descriptors()
    results = _Results(before[0])
    sys.stdout, sys.stderr = cast(TextIO, results), cast(TextIO, _Remarks(before[1]))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        if final:
            for stream in before:
                _drop_unprinted(stream)
        else:
            results.restore()


def data_output() -> TextIO:
    """Standard output for what programs read: in UTF-8, but for terminals, which have their own encoding."""
    if not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


class _Stream:
    """A stream of the system, perhaps none, with another way to fail."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        try:
            if self._stream is None:
                raise OSError("it is closed")
            return self._stream.write(text)
        except OSError as error:
            self._failed(error)
        return len(text)

    def flush(self) -> None:
        try:
            if self._stream is not None:
                self._stream.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        """What to do about an error."""


class _Remarks(_Stream):
    """Standard error: what cannot be said is not said."""


class _Results(_Stream):
    """Standard output: what cannot be printed is an error; characters that its encoding lacks are escaped."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._encoding = getattr(stream, "encoding", None), getattr(stream, "errors", None)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def restore(self) -> None:
        """Give the stream its encoding back."""
        if hasattr(self._stream, "reconfigure"):
            self._stream.reconfigure(encoding=self._encoding[0], errors=self._encoding[1])

    def _failed(self, error: OSError) -> NoReturn:
        if isinstance(error, BrokenPipeError):  # whoever reads has seen enough
            raise error
        raise OutputError(f"cannot write to standard output: {error.strerror or error}") from error


def _fill_descriptors() -> None:
    """Keep files from getting the descriptors of closed streams: what is printed would end in them."""
    with suppress(OSError):
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(descriptor, True)
        os.close(descriptor)


def _drop_unprinted(stream: Any) -> None:
    """Python would try again to print the rest, and complain once more."""
    try:
        if stream is not None:
            stream.flush()
    except OSError:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
