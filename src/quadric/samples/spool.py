"""Rows on disk, so that later passes neither parse nor encode."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import numpy as np

from quadric.progress import RowsRead, advance
from quadric.samples.source import SampleBatch, SampleSource, State, added
from quadric.samples.target import Target


class Spooled(SampleSource):
    """A source whose first pass writes its batches to a file that nobody else sees, and whose later ones read it.

    Where the disk is full, every pass goes over the source itself.

    Parameters
    ----------
    source : SampleSource
    """

    def __init__(self, source: SampleSource) -> None:
        self._source, self.is_local = source, source.is_local
        self.n_features, self.n_classes, self.class_rows = source.n_features, source.n_classes, source.class_rows
        self._kept: Spool | None = None
        self._has_begun = self._is_alone = False

    def stand_alone(self) -> None:
        """Let later passes be over what was kept, whatever has become of the source."""
        self._is_alone = True

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        if self._kept is not None:
            if not self._is_alone:
                self._source.check_unchanged()
            return added(map(of, self._kept))
        if self._has_begun:  # a second attempt would find the disk as full
            return self._source.total(of)
        self._has_begun, spool = True, Spool(_write, _read)
        total = self._source.total(partial(_seen, of=of, spool=spool))
        self._kept = spool if spool.is_whole else None
        return total


class Spool:
    """Pieces of rows in a file without a name, which is gone with this object; none where the disk is full.

    Parameters
    ----------
    write : function of a file and a piece
    read : function of a file
        Returns the piece that :func:`write` put there.
    """

    def __init__(self, write: Callable[[Any, Any], None], read: Callable[[Any], Any]) -> None:
        self._write, self._read = write, read
        self._sizes: list[int] = []
        self._file: Any = None
        with self._unless_full():
            self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object

    @contextmanager
    def _unless_full(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._close()

    def _close(self) -> None:
        self._file, file = None, self._file
        with suppress(OSError):  # closing writes what is left
            if file is not None:
                file.close()

    def add(self, piece: Any, n_rows: int) -> None:
        """Write one more piece; give up where it cannot be written."""
        self._sizes.append(n_rows)
        if self.is_whole:
            with self._unless_full():
                self._write(self._file, piece)
                self._file.flush()

    @property
    def is_whole(self) -> bool:
        """Whether all pieces are there."""
        return self._file is not None

    def __iter__(self) -> Iterator[Any]:
        self._file.seek(0)
        for done in np.cumsum(self._sizes).tolist():
            piece = self._read(self._file)
            advance(done / sum(self._sizes), RowsRead(f"{done} rows", done))
            yield piece

    def __del__(self) -> None:
        self._close()


def _seen(batch: SampleBatch, of: Callable[[SampleBatch], State], spool: Spool) -> State:
    spool.add(batch, len(batch.ids))
    return of(batch)


def _write(file: Any, batch: SampleBatch) -> None:
    keys = np.empty(0) if batch.keys is None else batch.keys
    for array in (batch.X, batch.target.codes, batch.target.class_weight, batch.sample_weight, batch.ids, keys):
        np.save(file, array)


def _read(file: Any) -> SampleBatch:
    X, codes, class_weight, weight, ids, keys = (np.load(file) for _ in range(6))
    return SampleBatch(X, Target(codes, class_weight), weight, ids, keys if len(keys) else None)
