"""Coded samples on disk, so that later passes neither parse nor encode."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
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
        self._kept: _BatchFile | None = None
        self._has_begun = False

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        if self._kept is not None:
            self._source.check_unchanged()
            return added(map(of, self._kept))
        if self._has_begun:  # a second attempt would find the disk as full
            return self._source.total(of)
        self._has_begun, file = True, _BatchFile()
        total = self._source.total(_Keeping(of, file))
        self._kept = file if file.is_whole else None
        return total


class _Keeping:
    """A pass that keeps what it sees; it never leaves this process."""

    def __init__(self, of: Callable[[SampleBatch], Any], file: _BatchFile) -> None:
        self._of, self._file = of, file

    def __call__(self, batch: SampleBatch) -> Any:
        self._file.add(batch)
        return self._of(batch)


class _BatchFile:
    """Batches in a file without a name."""

    def __init__(self) -> None:
        self._n_batches, self._n_rows = 0, 0
        self._file: Any = None
        with suppress(OSError):
            self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object
        self.is_whole = self._file is not None

    def add(self, batch: SampleBatch) -> None:
        """Write one more batch; give up where it cannot be written."""
        if not self.is_whole:
            return
        X, target = np.asfortranarray(batch.X), batch.target  # features lie together, as tables have them
        keys = np.empty(0) if batch.keys is None else batch.keys
        try:
            for array in (X, target.codes, target.class_weight, batch.sample_weight, batch.ids, keys):
                np.save(self._file, array)
            self._file.flush()
        except OSError:
            self.is_whole = False
        self._n_batches, self._n_rows = self._n_batches + 1, self._n_rows + len(batch.ids)

    def __iter__(self) -> Iterator[SampleBatch]:
        self._file.seek(0)
        done = 0
        for _ in range(self._n_batches):
            X, codes, class_weight, weight, ids, keys = (np.load(self._file) for _ in range(6))
            done += len(ids)
            advance(done / self._n_rows, RowsRead(f"{done} rows", done))
            yield SampleBatch(X, Target(codes, class_weight), weight, ids, keys if len(keys) else None)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()
