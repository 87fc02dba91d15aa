"""Convert the original file of a public site to the CSV with the expected checksum.

Workbooks, .xlsx and .xls, are read by python-calamine.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence

from quadric.datasets.archives import read_member
from quadric.datasets.registry import Layout, Recipe
from quadric.extras import require
from quadric.tables.table import is_number_text, number_text

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
    changes = {(column, old): new for column, old, new in recipe.replaced}
    by_column = zip(columns, zip(*rows, strict=True), strict=True)
    rewritten = [[changes.get((column, cell), cell) for cell in _shortest(cells)] for column, cells in by_column]
    cells = list(zip(*rewritten, strict=True))
    others = sorted(set(range(len(cells))).difference(recipe.last_rows))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *(cells[i] for i in (*others, *recipe.last_rows))])
    return text.getvalue().encode()


def _workbook_rows(original: bytes, sheet: str | None) -> Rows:
    if zipfile.is_zipfile(io.BytesIO(original)):
        with zipfile.ZipFile(io.BytesIO(original)) as book:  # .xlsx: nothing may swell when it is unpacked
            for name in book.namelist():
                read_member(book, name)
    book = require("python_calamine", "data").CalamineWorkbook.from_filelike(io.BytesIO(original))
    names = [name for name in book.sheet_names if sheet in (None, name)]
    if not names:
        raise ValueError(f"the workbook has no sheet {sheet or ''}".rstrip())
    rows = [[_text(value) for value in row] for row in book.get_sheet_by_name(names[0]).to_python(skip_empty_area=False)]
    # formatting leaves blank rows, and blank columns on the right
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell), default=0)
    return [(row + [""] * width)[:width] for row in rows if any(row)]


def _text(value: object) -> str:
    """Workbooks have no integers: write 3.0 as 3."""
    return number_text(value) if isinstance(value, float) else str(value).strip()


def _lines(original: bytes) -> list[str]:
    return original.decode("utf-8-sig").splitlines()


READERS: Mapping[Layout, Callable[[bytes, str | None], Rows]] = {
    "commas": lambda original, sheet: [[cell.strip() for cell in row] for row in csv.reader(_lines(original)) if any(row)],
    "spaces": lambda original, sheet: [line.split() for line in _lines(original) if line.strip()],
    "xlsx": _workbook_rows,
    "xls": _workbook_rows,
}


def _matched(rows: Rows, columns: tuple[str, ...]) -> Rows:
    """The named columns below the row with their names. Sums and remarks lack a number in some column, and are dropped."""
    for i, row in enumerate(rows):
        position = {name.lower(): j for j, name in enumerate(row)}  # of two columns with the same name, the last
        if all(column.lower() in position for column in columns):
            candidates = [[below[position[column.lower()]] for column in columns] for below in rows[i + 1 :]]
            return [cells for cells in candidates if all(map(is_number_text, cells))]
    raise ValueError(f"no row names the columns {', '.join(columns)}")


def _shortest(cells: Sequence[str]) -> Sequence[str]:
    """Numbers in their shortest form: 00202 becomes 202, and 7 becomes 7.0 in a column with fractions; texts stay."""
    for number in (int, float):
        try:
            return [repr(number(cell)) for cell in cells]
        except ValueError:
            continue
    return cells
