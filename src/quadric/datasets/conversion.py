"""Convert the original file of a public site to the CSV with the expected checksum.

Workbooks are read as text, row by row: .xlsx with python-calamine, .xls with xlrd.
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


def _separated_by_commas(original: bytes, sheet: str | None) -> Rows:
    lines = original.decode("utf-8-sig").splitlines()
    return [[cell.strip() for cell in row] for row in csv.reader(lines) if any(row)]


def _separated_by_spaces(original: bytes, sheet: str | None) -> Rows:
    return [line.split() for line in original.decode("utf-8-sig").splitlines() if line.strip()]


def xlsx_rows(content: bytes, sheet: str | None) -> Rows:
    """Rows of one sheet of an .xlsx workbook; None: the first sheet."""
    calamine = require("python_calamine", "data")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            read_member(archive, name)  # refuses a part that is too large, before the library unpacks it
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        found = book.get_sheet_by_index(0) if sheet is None else book.get_sheet_by_name(sheet)
    except calamine.WorksheetNotFound:
        raise ValueError(f"the workbook has no sheet {sheet or ''}".rstrip()) from None
    except calamine.CalamineError as error:
        raise ValueError(f"the workbook cannot be read ({error})") from None
    return _written(found.to_python(skip_empty_area=False))


def xls_rows(content: bytes, sheet: str | None) -> Rows:
    """Rows of one sheet of an .xls workbook; None: the first sheet."""
    book = require("xlrd", "data").open_workbook(file_contents=content)
    cells = book.sheet_by_name(sheet) if sheet else book.sheet_by_index(0)
    return _written([cells.row_values(i) for i in range(cells.nrows)])


def _written(cells: Sequence[Sequence[object]]) -> Rows:
    """Cells as texts, without blank rows, and blank columns on the right, which formatting leaves behind."""
    # workbooks have no integers: 3.0 is written as 3
    rows = [[number_text(cell) if isinstance(cell, float) else str(cell).strip() for cell in row] for row in cells]
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell), default=0)
    return [(row + [""] * width)[:width] for row in rows if any(row)]


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
