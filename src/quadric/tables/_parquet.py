"""Parquet files as blocks of columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quadric.extras import require
from quadric.tables.table import TURN_OR_IGNORE, UnusableColumn, text_column

MAGIC = b"PAR1"


def is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class ParquetFile:
    """A Parquet file, read with pyarrow.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pa = require("pyarrow", "parquet")
        try:
            self._file = require("pyarrow.parquet", "parquet").ParquetFile(path)
        except self._pa.ArrowException as error:
            raise ValueError(f"{path.name}: not a readable Parquet file ({_first_line(error)})") from None
        self.names = tuple(self._file.schema_arrow.names)
        if self._file.metadata.num_rows == 0:
            raise ValueError(f"{path.name}: the file has columns but no rows")

    def blocks(self, n_rows: int) -> Iterator[list[Any]]:
        """Columns of up to ``n_rows`` rows at a time, as arrays or UnusableColumns."""
        try:
            for batch in self._file.iter_batches(batch_size=n_rows):
                yield [self._column(name, batch.column(i)) for i, name in enumerate(self.names)]
        except self._pa.ArrowException as error:
            raise ValueError(f"{self.path.name}: damaged Parquet file ({_first_line(error)})") from None

    def _column(self, name: str, values: Any) -> Any:
        pa, types = self._pa, self._pa.types
        if types.is_dictionary(values.type):
            values = values.dictionary_decode()
        kind = values.type
        if types.is_boolean(kind):
            values, kind = values.cast(pa.int8()), pa.int8()
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            return np.array(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return text_column([text or None for text in values.to_pylist()])
        return UnusableColumn(len(values), f"{self.path.name}: column {name!r} is of type {kind}: {TURN_OR_IGNORE}")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
