"""What commands are given: tables, models, lists of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from quadric.cli.console import UsageError, check_free
from quadric.export import ModelFileError, read_model
from quadric.progress import Report, silent
from quadric.tables import Table, read_table
from quadric.tables.reading import MISSING, check_format
from quadric.workflow import TableModel


class Reading(TypedDict):
    """How a table is read, as ``read_table`` and ``read_chunks`` take it."""

    delimiter: str | None
    encoding: str
    missing: Collection[str]


def reading(delimiter: str | None, encoding: str, na: str | None, model: TableModel | None = None) -> Reading:
    """Options as the readers take them; what stands for no value is by default what it stood for when the model was fitted."""
    missing: Sequence[str] = MISSING if model is None else _recorded_missing(model)
    if na is not None:
        missing = [text.strip() for text in na.split(",")]
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    with as_usage():
        check_format(delimiter, encoding)
    return {"delimiter": delimiter, "encoding": encoding, "missing": missing}


def _recorded_missing(model: TableModel) -> Sequence[str]:
    recorded = model.saved.metadata.get("missing_texts")
    if isinstance(recorded, list) and all(isinstance(text, str) for text in recorded):
        return recorded
    return MISSING


def read_data(path: Path, how: Reading, *, text: Collection[str] = (), report: Report = silent) -> Table:
    """The table of a file."""
    check_there(path)
    return read_table(path, text=text, report=report, **how)


def read_table_model(path: Path) -> TableModel:
    """The model of a file."""
    check_there(path)
    try:
        return TableModel(read_model(path))
    except ModelFileError as error:
        text = str(error)
        raise ModelFileError(text if path.name in text else f"{path.name}: {text}") from None


def check_there(path: Path) -> None:
    """Refuse a path that is no file."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file")
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device, and files are read more than once: write it to a file first")


def check_output(path: Path, force: bool, *given: Path) -> None:
    """Refuse to overwrite a file unasked, and one that is read even where asked."""
    check_free(path, force)
    if path.exists() and any(each.exists() and path.samefile(each) for each in given):
        raise UsageError(f"{path} is read by this command: give another --output")


def check_column(table: Table, name: str, option: str) -> None:
    """Refuse an option that names a column which is not there."""
    if name not in table.names:
        shown = ", ".join(table.names[:8]) + (", ..." if len(table.names) > 8 else "")
        raise UsageError(f"{option}: the table has no column {name!r}; it has {shown}")


@contextmanager
def as_usage() -> Iterator[None]:
    """What is refused here was asked for wrongly."""
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error)) from error


def integers(text: str, option: str) -> tuple[int, ...]:
    """Read "1,2,5", "1:20" with its end included, or both: "1:5,8,12"."""
    out: list[int] = []
    for part in text.split(","):
        low, colon, high = part.partition(":")
        try:
            out += range(int(low), int(high) + 1) if colon else [int(low)]
        except ValueError:
            raise UsageError(f"{option}: cannot read {text!r}; write 1,2,5 or 1:20") from None
    return tuple(out)


def numbers(text: str, option: str) -> tuple[float, ...]:
    """Read "0.25,1,4"."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option}: cannot read {text!r}; write numbers separated by commas") from None


def rows(text: str, n_rows: int) -> list[int]:
    """Positions of rows, from 0: "7", "0,5,9", or "0:10" and "0:100:10" as in Python."""
    try:
        parts = [[int(end) if end.strip() else None for end in part.split(":")] for part in text.split(",")]
        picked = [row for part in parts for row in _range(part, n_rows)]
    except ValueError:
        raise UsageError(f"--rows: cannot read {text!r}; write 0:10 or 0,5,9") from None
    outside = [row for row in picked if not 0 <= row < n_rows]
    if outside or not picked:
        what = f"there is no row {outside[0]}" if outside else f"{text!r} is no row"
        raise UsageError(f"--rows: {what}; the table has rows 0 to {n_rows - 1}")
    return picked


def _range(ends: Sequence[Any], n_rows: int) -> Sequence[int]:
    if len(ends) == 1 and ends[0] is not None:
        return [int(ends[0])]
    if len(ends) not in (2, 3):
        raise ValueError
    return range(*slice(*ends).indices(n_rows))


def class_weights(given: Sequence[str]) -> str | dict[str, float] | None:
    """Read "balanced", or weights by the names of the classes."""
    if not given or list(given) == ["balanced"]:
        return "balanced" if given else None
    out = {}
    for item in given:
        name, equals, weight = item.rpartition("=")
        try:
            out[name] = float(weight)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(f"--class-weight: cannot read {item!r}; write balanced, or CLASS=WEIGHT")
    return out
