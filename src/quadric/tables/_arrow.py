"""Columns of Arrow as arrays of numpy, and files and objects that hold them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from quadric.errors import quoted, warn_user
from quadric.extras import require
from quadric.progress import RowsRead, advance
from quadric.tables.table import BLANKS, CONVERT_OR_IGNORE, check_names, label_texts

pa: Any = require("pyarrow", "cli")
parquet: Any = require("pyarrow.parquet", "cli")
types: Any = pa.types

PARQUET, FEATHER = b"PAR1", b"ARROW1"
INDEX = re.compile(r"__index_level_\d+__")
PARQUET_SUFFIX = ".parquet"
# Bytes of a column that are read at a time
BUFFER = 1 << 18


def values_of(name: str, column: Any) -> np.ndarray:
    """A column as float64 (NaN if missing), objects (str, or None if missing or blank) or datetime64[us] (NaT if missing).

    Truth values are texts, as they are in files.
    """
    column = _decoded(column) if not _is_text(getattr(column.type, "value_type", column.type)) else _chunked(column)
    kind = column.type
    if types.is_dictionary(kind) or types.is_boolean(kind) or _is_text(kind):
        return _texts(column)
    if _is_number(kind) or types.is_null(kind):
        return column.cast(pa.float64(), safe=False).to_numpy()
    if types.is_date(kind) or types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False).to_numpy().astype("datetime64[us]")
    raise ValueError(f"column {quoted(name)} is of type {kind}: {CONVERT_OR_IGNORE}")


def exact_values(column: Any) -> list[Any]:
    """Whole and decimal numbers as they are, which float64 need not hold; nothing for other columns."""
    column = _decoded(column)
    if not types.is_integer(column.type) and not types.is_decimal(column.type):
        return []
    whole = [value if not isinstance(value, Decimal) or value % 1 else int(value) for value in column.to_pylist()]
    return [format(value.normalize(), "f") if isinstance(value, Decimal) else value for value in whole]


def _chunked(column: Any) -> Any:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _decoded(column: Any) -> Any:
    return _chunked(column).cast(column.type.value_type) if types.is_dictionary(column.type) else _chunked(column)


def _is_number(kind: Any) -> bool:
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def _is_text(kind: Any) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _texts(column: Any) -> np.ndarray:
    """Equal texts share one object."""
    values, places = distinct_values(column)
    texts = [None if value is None else str(value) for value in values.to_pylist()]
    return np.array([text if text and text.strip(BLANKS) else None for text in texts], dtype=object)[places]


def distinct_values(column: Any) -> tuple[Any, np.ndarray]:
    """Different values of a column, with a missing one at the end, and the position of each row's."""
    column = _chunked(column)
    if types.is_nested(column.type):
        return column, np.arange(len(column))
    chunks = (column if types.is_dictionary(column.type) else column.dictionary_encode()).unify_dictionaries().chunks
    values = chunks[0].dictionary if chunks else column.slice(0, 0).combine_chunks()
    places = [chunk.indices.fill_null(len(values)).to_numpy() for chunk in chunks]
    with_missing = pa.concat_arrays([values, pa.nulls(1, values.type)])
    return with_missing, np.concatenate([np.empty(0, dtype=np.intp), *places]).astype(np.intp)


def stream_of(data: Any) -> Any:
    """A reader of the record batches of an object that holds them, see :func:`holds_arrow`."""
    data = data.collect() if type(data).__name__ == "LazyFrame" else data
    return data.scanner().to_reader() if hasattr(data, "scanner") else pa.RecordBatchReader.from_stream(data)


def without_views(table: Any) -> Any:
    """A table whose texts can be taken row by row: those of polars come as views, of which Arrow takes none."""
    whole = [field.with_type(pa.large_string()) if field.type == pa.string_view() else field for field in table.schema]
    return table if whole == list(table.schema) else table.cast(pa.schema(whole))


def typed(column: Any, as_text: bool) -> Any:
    """A column of a table; numbers as texts on demand."""
    if not as_text or not _is_number(_decoded(column).type):
        return column
    return pa.chunked_array([label_texts("", column)], pa.large_string())


def tables_of_object(data: Any, n_rows: int, columns: Sequence[str] | None, text: Collection[str]) -> Iterator[Any]:
    """Tables of one record batch each, as they come."""
    return (pa.Table.from_batches([batch]) for batch in stream_of(data))


def arrow_files(path: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, in alphabetical order, or a Parquet or Feather file; none if it is of another format."""
    if not path.is_dir():
        is_named = path.suffix == PARQUET_SUFFIX and path.stat().st_size > 0
        return (path,) if is_named or _starts_with(path, PARQUET, FEATHER) else ()
    inside = [each for each in sorted(path.iterdir()) if not each.name.startswith((".", "_"))]
    found = [each for each in inside if each.suffix == PARQUET_SUFFIX and not each.is_dir()]
    deeper = [each for each in inside if each.is_dir() and any(each.rglob(f"*{PARQUET_SUFFIX}"))]
    if deeper:
        raise ValueError(
            f"{path.name} has Parquet files in subfolders, such as {quoted(deeper[0].name)}, which are not read: "
            "put all files of the table into one folder, or give the name of the subfolder"
        )
    if not found:
        raise ValueError(f"{path.name} is a folder without Parquet files (.parquet)")
    return tuple(found)


def tables_of_files(paths: Sequence[Path], n_rows: int, columns: Sequence[str] | None, text: Collection[str]) -> Iterator[Any]:
    """Tables of files with the same columns, of up to ``n_rows`` rows; of a Feather file, as its record batches have them."""
    n_found, schema = 0, _common_schema(paths)
    for n_before, path in enumerate(paths):
        with _opened(path) as file:
            for batch, share in _batches(file, n_rows):
                n_found += batch.num_rows
                advance((n_before + share) / len(paths), RowsRead(f"{path.name}: {n_found} rows", n_found))
                found = [_converted(batch.column(each.name), each, each.name in text) for each in schema]
                yield pa.Table.from_arrays(found, schema=schema)
    if n_found == 0:
        where, what = (paths[0].parent, "files have") if len(paths) > 1 else (paths[0], "file has")
        raise ValueError(f"{where.name}: the {what} columns but no rows")


def shape_of(path: Path) -> tuple[int, int] | None:
    """How many rows and columns a file has, if it says so."""
    with _opened(path) as file:
        is_parquet = isinstance(file, parquet.ParquetFile)
        return (int(file.metadata.num_rows), int(file.metadata.num_columns)) if is_parquet else None


def _batches(file: Any, n_rows: int) -> Iterator[tuple[Any, float]]:
    if isinstance(file, parquet.ParquetFile):
        n_read, batches = 0, file.iter_batches(n_rows)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"{_damaged_group(file)} cannot be read ({_reason(error)})") from None
            if batch is None:
                return
            n_read += batch.num_rows
            yield batch, n_read / max(file.metadata.num_rows, 1)
    for i in range(file.num_record_batches):
        yield file.get_batch(i), (i + 1) / file.num_record_batches


def _damaged_group(file: Any) -> str:
    """The first part of a Parquet file that cannot be read: batches may end in others than they begin in."""
    for group in range(file.num_row_groups):
        try:
            for _ in file.iter_batches(row_groups=[group]):
                pass
        except (pa.ArrowException, OSError):
            return f"row group {group + 1} of {file.num_row_groups}"
    return "the file"


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _common_schema(paths: Sequence[Path]) -> Any:
    common = None
    for path in paths:
        with _opened(path) as file:
            own = _without_index(getattr(file, "schema_arrow", file.schema))
            check_names(own.names)
            common = own if common is None else _promoted(common, own, paths[0].name)
    return common


def _without_index(schema: Any) -> Any:
    """Without what pandas writes for an index that has no name."""
    names = [name for name in schema.names if INDEX.fullmatch(name)]
    if not names or len(names) == len(schema.names):
        return schema
    warn_user(f"column {names[0]!r} is an index of pandas: it is left out")
    return pa.schema([field for field in schema if field.name not in names])


def _starts_with(path: Path, *magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(8).startswith(magic)


def _promoted(common: Any, own: Any, first: str) -> Any:
    different = set(common.names).symmetric_difference(own.names)
    if different:
        raise ValueError(f"its columns are not those of {first}: only one of them has {quoted(min(different))}")
    kinds = {name: _common_kind(common.field(name).type, own.field(name).type) for name in common.names}
    for name in (name for name, kind in kinds.items() if kind is None):
        types_found = f"{own.field(name).type} instead of {common.field(name).type}"
        raise ValueError(f"its columns are not those of {first}: {quoted(name)} is of type {types_found}")
    return pa.schema(kinds)


def _common_kind(one: Any, two: Any) -> Any:
    """A type for the values of two, as a table takes them: texts, numbers or moments; None if there is none."""
    if one == two:
        return one
    wide = [_wide(kind) for kind in (one, two)]
    if types.is_uint64(one) != types.is_uint64(two):  # the larger of both is no type of Arrow
        wide = [pa.decimal128(20) if types.is_integer(kind) else kind for kind in wide]
    try:
        return pa.unify_schemas([pa.schema([("", kind)]) for kind in wide], promote_options="permissive").field(0).type
    except pa.ArrowException:  # decimals of too many digits, or what does not go together
        return pa.float64() if all(types.is_integer(kind) or types.is_decimal(kind) for kind in wide) else None


def _wide(kind: Any) -> Any:
    """The type in which texts, moments, or fractions of different types meet."""
    if _is_text(kind.value_type if types.is_dictionary(kind) else kind):
        return pa.large_string()
    if types.is_date(kind) or types.is_timestamp(kind):
        return pa.timestamp("us", getattr(kind, "tz", None))
    return pa.float64() if types.is_floating(kind) else kind


def _converted(column: Any, field: Any, exactly: bool) -> Any:
    """A column in the type of another file; numbers are rounded, as of one file, where they need not be exact."""
    if column.type == field.type:
        return column
    if types.is_dictionary(column.type):
        column = column.dictionary.cast(pa.large_string()).take(column.indices)
    try:
        return column.cast(field.type, safe=exactly)
    except pa.ArrowInvalid:
        raise ValueError(
            f"column {quoted(field.name)} holds whole numbers that {field.type} cannot hold, the type in other files: write it "
            "with one type"
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A Parquet or Feather file, which is named in every error, also of a damaged file."""
    is_parquet = not _starts_with(path, FEATHER)
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name}: the file is empty")
    try:
        # in one piece, or read ahead, memory would grow with the row groups or with the file
        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER) if is_parquet else pa.ipc.open_file(path) as file:
            yield file
    except (pa.ArrowException, OSError, ValueError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        unread = f"not a readable {'Parquet' if is_parquet else 'Feather'} file ({_reason(error)})"
        words = str(error) if type(error) is ValueError else unread
        raise ValueError(f"{path.name}: {words}") from None
