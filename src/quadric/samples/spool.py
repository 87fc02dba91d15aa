"""Coded samples on disk, so that later passes neither parse nor encode."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
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
        self._sizes: list[int] = []
        self._target, self._has_keys, self._width = Target(np.empty(0, dtype=np.intp), np.empty(0)), False, 0
        self._file: Any = None
        with suppress(OSError):
            self._file = tempfile.TemporaryFile(prefix="quadric-")  # noqa: SIM115 - closed with the object
        self.is_whole = self._file is not None

    def add(self, batch: SampleBatch) -> None:
        """Write one more batch; give up where it cannot be written."""
        if not self.is_whole:
            return
        self._target, self._has_keys, self._width = batch.target, batch.keys is not None, batch.n_features
        try:
            self._file.write(np.ascontiguousarray(batch.X.T))  # features lie together, as tables have them
            self._file.write(np.ascontiguousarray(batch.sample_weight))
            for whole in (batch.target.codes, batch.ids, *([] if batch.keys is None else [batch.keys])):
                self._file.write(np.ascontiguousarray(whole, dtype=np.int64))
            self._file.flush()
        except OSError:
            self.is_whole = False
        self._sizes.append(len(batch.ids))

    def __iter__(self) -> Iterator[SampleBatch]:
        self._file.seek(0)
        n, done, n_rows = self._width, 0, sum(self._sizes)
        for m in self._sizes:
            X, weight = self._numbers(n * m).reshape(n, m).T, self._numbers(m)
            codes, ids, *keys = (self._numbers(m, np.int64) for _ in range(3 if self._has_keys else 2))
            done += m
            advance(done / n_rows, RowsRead(f"{done} rows", done))
            yield SampleBatch(X, replace(self._target, codes=codes), weight, ids, keys[0] if keys else None)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _numbers(self, count: int, kind: type = np.float64) -> np.ndarray:
        return np.fromfile(self._file, dtype=kind, count=count)
