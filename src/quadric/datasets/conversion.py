"""Convert the original file of a public site to the CSV with the expected checksum."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping

from quadric.datasets.info import Layout, Recipe
from quadric.datasets.spreadsheets import xls_rows, xlsx_rows

Rows = list[list[str]]


def convert(original: bytes, recipe: Recipe, columns: tuple[str, ...]) -> bytes:
    """Convert an original file to CSV.

    Parameters
    ----------
    original : bytes
    recipe : Recipe
    columns : tuple of str
        Header of the CSV.
    """
    rows = READERS[recipe.layout](original, recipe.sheet)
    if recipe.header == "matched by name":
        rows = _matched(rows, columns)
    elif recipe.header == "first row":
        rows = rows[1:]
    rows = [row[recipe.leading :] for row in rows if recipe.missing not in row]
    if not rows or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"not every row has the {len(columns)} columns {', '.join(columns)}")
    by_column = [_shortest([row[j] for row in rows]) for j in range(len(columns))]
    by_column = [_replaced(cells, _changes(recipe, column)) for column, cells in zip(columns, by_column, strict=True)]
    return _csv(columns, _moved(list(zip(*by_column, strict=True)), recipe.last_rows))


def _separated_by_commas(original: bytes, sheet: str | None) -> Rows:
    lines = original.decode("utf-8-sig").splitlines()
    return [[cell.strip() for cell in row] for row in csv.reader(lines) if any(row)]


def _separated_by_spaces(original: bytes, sheet: str | None) -> Rows:
    return [line.split() for line in original.decode("utf-8-sig").splitlines() if line.strip()]


READERS: Mapping[Layout, Callable[[bytes, str | None], Rows]] = {
    "commas": _separated_by_commas,
    "spaces": _separated_by_spaces,
    "xlsx": xlsx_rows,
    "xls": xls_rows,
}


def _matched(rows: Rows, columns: tuple[str, ...]) -> Rows:
    """The named columns below the row with their names. Sums and remarks lack a number in some column, and are dropped."""
    for i, row in enumerate(rows):
        position = {name.lower(): j for j, name in enumerate(row)}  # of two columns with the same name, the last
        if all(column.lower() in position for column in columns):
            places = [position[column.lower()] for column in columns]
            candidates = [[below[j] for j in places] for below in rows[i + 1 :]]
            return [cells for cells in candidates if all(map(_is_number, cells))]
    raise ValueError(f"no row names the columns {', '.join(columns)}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shortest(cells: list[str]) -> list[str]:
    """Numbers in their shortest form: 00202 becomes 202, and 7 becomes 7.0 in a column with fractions; texts stay."""
    for number in (int, float):
        try:
            return [repr(number(cell)) for cell in cells]
        except ValueError:
            continue
    return cells


def _changes(recipe: Recipe, column: str) -> dict[str, str]:
    return {old: new for name, old, new in recipe.replaced if name == column}


def _replaced(cells: list[str], changes: Mapping[str, str]) -> list[str]:
    return [changes.get(cell, cell) for cell in cells]


def _moved(rows: list[tuple[str, ...]], last: tuple[int, ...]) -> list[tuple[str, ...]]:
    at_end = set(last)
    return [row for i, row in enumerate(rows) if i not in at_end] + [rows[i] for i in last]


def _csv(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue().encode()
