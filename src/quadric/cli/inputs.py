"""What commands are given: tables, models, lists of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import quadric
from quadric.cli.console import UsageError, as_usage
from quadric.defaults import LONGEST_GRID
from quadric.errors import quoted
from quadric.progress import part
from quadric.workflow.options import TrainingOptions

# 7, 0:10 or 0:100:10: what does not count from the end, or up to it
NAMED_ROWS = re.compile(r"\s*(\d*)\s*(?::\s*(\d+)\s*(?::\s*\d*\s*)?)?")
# Share of the work of a command that reading its table counts as
READING = 0.1


def read_data(path: Path, how: Mapping[str, Any], text: Sequence[str]) -> quadric.tables.Table:
    """The table of a file or folder; some of its columns as texts."""
    check_there(path, or_folder=True)
    with part(0.0, READING):
        return quadric.tables.read_table(path, text=text, **how)


def texts_of(target: str, options: TrainingOptions) -> list[str]:
    """Columns that are texts, whatever they look like."""
    return [target, *([] if options.groups is None else [options.groups]), *options.texts]


def training_stream(
    path: Path, target: str, options: TrainingOptions, how: Mapping[str, Any]
) -> tuple[quadric.tables.TableStream, TrainingOptions]:
    """The table to train on, in batches, and the options with what its files say of missing values and names."""
    check_there(path, or_folder=True)
    ignore, text = tuple(name for name in options.ignore if name), texts_of(target, options)
    how = {**how, "drop_unnamed": len(ignore) < len(options.ignore)}  # an empty name: columns without one
    stream = quadric.tables.TableStream(path, text=text, **how)
    return stream, replace(options, ignore=ignore, missing_texts=tuple(how["missing"]))


def named_files(paths: Sequence[Path] | None) -> dict[str, Path]:
    """Tables by their names, or by their paths where two have the same name."""
    found: dict[str, Path] = {}
    for path in paths or ():
        check_there(path, or_folder=True)
        if path in found.values():
            raise UsageError(f"--test: {path} is named twice")
        found[str(path) if path.name in found else path.name] = path
    return found


def read_table_model(path: Path, points: str | None = None) -> quadric.workflow.TableModel:
    """The model of a file; with a scale of points, if there is one."""
    if points is not None:
        from quadric.fitted.points import ScoreScale

        with as_usage():
            ScoreScale.read(points)
    check_there(path)
    try:
        model = quadric.workflow.TableModel(quadric.export.read_model(path))
        return model if points is None else model.with_points(points)
    except quadric.export.ModelFileError as error:
        text = str(error)
        raise type(error)(text if path.name in text else f"{path.name}: {text}") from None


def check_there(path: Path, *, or_folder: bool = False) -> None:
    """Refuse a path that is no file; a table may be a folder of files."""
    if path.is_dir():
        if not or_folder:
            raise UsageError(f"{path} is a folder; give the name of a file")
        from quadric.tables._arrow import arrow_files

        with as_usage():
            arrow_files(path)
        return
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device, and files are read more than once: save it as a file first")


def integers(text: str | None, option: str) -> tuple[int, ...] | None:
    """Read "1,2,5", "1:20" with its end included, or both: "1:5,8,12"; None is left to others."""
    if text is None:
        return None
    out: list[int] = []
    for piece in text.split(","):
        low, colon, high = piece.partition(":")
        try:
            values = range(int(low), int(high if colon else low) + 1)
        except ValueError:
            raise UsageError(f"{option}: cannot read {quoted(text)}; write 1,2,5 or 1:20") from None
        out += values[: LONGEST_GRID + 1]
        if len(out) > LONGEST_GRID:
            raise UsageError(f"{option}: {quoted(text)} has more than {LONGEST_GRID:,} numbers: give fewer")
    return tuple(out)


def numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Read "0.25,1,4"; None is left to others."""
    if text is None:
        return None
    try:
        return tuple(float(piece) for piece in text.split(","))
    except ValueError:
        raise UsageError(f"{option}: cannot read {quoted(text)}; write numbers separated by commas") from None


def number_or_word(text: str | None) -> float | str | None:
    """A number where the text is one."""
    try:
        return text if text is None else float(text)
    except ValueError:
        return text


def rows(text: str, n_rows: int) -> list[int]:
    """Positions of rows, from 0: "7", "0,5,9", or "0:10" and "0:100:10" as in Python."""
    picked: list[int] = []
    try:
        for piece in text.split(","):
            ends = [int(end) if end.strip() else None for end in piece.split(":")]
            picked += range(n_rows)[slice(*ends)] if len(ends) > 1 else [int(piece)]
    except (TypeError, ValueError):  # no numbers, or more than a slice has
        raise UsageError(f"--rows: cannot read {quoted(text)}; write 0:10 or 0,5,9") from None
    outside = [row for row in picked if not 0 <= row < n_rows]
    if outside or not picked:
        what = f"there is no row {outside[0]}" if outside else f"{quoted(text)} selects no row"
        raise UsageError(f"--rows: {what}; the table has rows 0 to {n_rows - 1}")
    return picked


def last_row(text: str) -> int | None:
    """The last row that a text names, if that does not depend on the number of rows."""
    pieces = [NAMED_ROWS.fullmatch(piece) for piece in text.split(",")]
    lasts = [int(found[2]) - 1 if found[2] else int(found[1] or 0) for found in pieces if found]
    return max(lasts) if len(lasts) == len(pieces) else None


def class_weights(items: Sequence[str] | None) -> str | dict[str, float] | None:
    """Read "balanced", or weights by the names of the classes."""
    if not items or list(items) == ["balanced"]:
        return "balanced" if items else None
    out = {}
    for item in items:
        try:
            name, weight = item.rsplit("=", 1)
            out[name] = float(weight)
        except ValueError:
            raise UsageError(f"--class-weight: cannot read {quoted(item)}; write balanced alone, or CLASS=WEIGHT") from None
    return out


def column_sets(items: Sequence[str] | None) -> str | tuple[tuple[str, ...], ...] | None:
    """Read "none", or sets of columns: "age,income"."""
    if not items or list(items) == ["none"]:
        return "no_interactions" if items else None
    if "none" in items:
        raise UsageError("--interactions none allows no product of two columns, and stands alone: give either it or sets")
    return tuple(tuple(name.strip() for name in item.split(",")) for item in items)


def column_prices(items: Sequence[str] | None) -> dict[str, float] | None:
    """Read prices by the names of columns."""
    out = {}
    for item in items or ():
        try:
            name, price = item.rsplit(":", 1)
            out[name] = float(price)
        except ValueError:
            raise UsageError(f"--feature-cost: cannot read {quoted(item)}; write COLUMN:PRICE") from None
    return out or None


SIGNS = {"+": 1, "1": 1, "+1": 1, "increasing": 1, "-": -1, "-1": -1, "decreasing": -1, "0": 0}


def column_signs(items: Sequence[str] | None) -> dict[str, int] | None:
    """Read directions by the names of columns: "income:-", with more than two classes "bad:income:-"."""
    out: dict[str, int] = {}
    for item in items or ():
        name, _, sign = item.rpartition(":")
        if not name or sign not in SIGNS:
            raise UsageError(f"--monotone: cannot read {quoted(item)}; write COLUMN:+ (never falls) or COLUMN:- (never rises)")
        if out.setdefault(name, SIGNS[sign]) != SIGNS[sign]:
            raise UsageError(f"--monotone: two rules on {quoted(name)} contradict each other")
    return out or None


def column_directions(items: Sequence[str] | None) -> dict[str, int | None]:
    """Read columns whose direction is asked for: "income" for either, "income:-" for one; of both, either."""
    out: dict[str, int | None] = {}
    for item in items or ():
        name, _, sign = item.rpartition(":")
        is_given = bool(name) and SIGNS.get(sign, 0) != 0
        name, wanted = (name, SIGNS[sign]) if is_given else (item, None)
        out[name] = wanted if out.get(name, wanted) == wanted else None
    return out


def term_limits(items: Sequence[str] | None) -> dict[str, tuple[float | None, float | None]] | None:
    """Read limits of coefficients by the names of terms: "age*debt:0:", with more than two classes "bad:age*debt:0:"."""
    out: dict[str, tuple[float | None, float | None]] = {}
    for item in items or ():
        try:
            name, low, high = item.rsplit(":", 2)
            limits = (float(low) if low.strip() else None, float(high) if high.strip() else None)
        except ValueError:
            raise UsageError(f"--bound: cannot read {quoted(item)}; write TERM:LOW:HIGH, with nothing for no limit") from None
        if out.setdefault(name, limits) != limits:
            raise UsageError(f"--bound: two rules on {quoted(name)} contradict each other")
    return out or None
