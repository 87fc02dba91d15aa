"""Standard streams that are closed, full or of another encoding: lost results are an error, lost remarks are not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast


@contextmanager
def safe_streams(final: bool) -> Iterator[None]:
    """Standard streams that can be written to at any time.

    Parameters
    ----------
    final : bool
        Whether the process ends afterwards: then closed descriptors are filled, and at the end unprinted text is dropped.
    """
    output: Any = sys.stdout
    remarks: Any = sys.stderr
    if final:
        _fill_descriptors()
    own = {name: getattr(output, name) for name in ("encoding", "errors")} if hasattr(output, "reconfigure") else {}
    if own:
        output.reconfigure(errors="backslashreplace")  # what the encoding lacks is escaped
    sys.stdout, sys.stderr = cast(TextIO, _Stream(output, True)), cast(TextIO, _Stream(remarks, False))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = output, remarks
        if final:
            _drop_unprinted(output)
            _drop_unprinted(remarks)
        elif own:
            output.reconfigure(**own)


def data_output() -> TextIO:
    """Standard output for what programs read: in UTF-8, except on terminals, which have their own encoding."""
    if not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


class _Stream:
    """A stream of the system, perhaps none: where it holds results, what cannot be printed is an error, else it is not said."""

    def __init__(self, stream: Any, holds_results: bool) -> None:
        self._stream, self._holds_results = stream, holds_results

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        with self._failing():
            if self._stream is None:
                raise OSError("it is closed")
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._failing():
            if self._stream is not None:
                self._stream.flush()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._holds_results and isinstance(error, BrokenPipeError):  # the reader has seen enough
                raise
            if self._holds_results:
                raise OSError(f"cannot write to standard output: {error.strerror or error}") from error


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
