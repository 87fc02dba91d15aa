"""Convert the original file of a public site to the CSV with the expected checksum.

Workbooks are read as text, row by row: .xlsx with the standard library, .xls with xlrd.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from xml.etree import ElementTree

from quadric.datasets.archives import read_member
from quadric.datasets.registry import Layout, Recipe
from quadric.extras import require
from quadric.tables.table import is_number_text, number_text

Rows = list[list[str]]
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LINKS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
LINK_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


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
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        shared = _shared_texts(book)
        root = ElementTree.fromstring(read_member(book, _sheet_path(book, sheet)))
    return _rectangle([_row(row.iter(f"{MAIN}c"), shared) for row in root.iter(f"{MAIN}row")])


def xls_rows(content: bytes, sheet: str | None) -> Rows:
    """Rows of one sheet of an .xls workbook; None: the first sheet."""
    book = require("xlrd", "data").open_workbook(file_contents=content)
    cells = book.sheet_by_name(sheet) if sheet else book.sheet_by_index(0)
    return _rectangle([[_text(value) for value in cells.row_values(i)] for i in range(cells.nrows)])


def _rectangle(rows: Rows) -> Rows:
    """Drop blank rows and blank columns on the right, which formatting leaves behind."""
    width = max((j + 1 for row in rows for j, cell in enumerate(row) if cell), default=0)
    return [(row + [""] * width)[:width] for row in rows if any(row)]


def _sheet_path(book: zipfile.ZipFile, sheet: str | None) -> str:
    sheets = ElementTree.fromstring(read_member(book, "xl/workbook.xml")).findall(f"{MAIN}sheets/{MAIN}sheet")
    chosen = next((entry for entry in sheets if sheet is None or entry.get("name") == sheet), None)
    if chosen is None:
        raise ValueError(f"the workbook has no sheet {sheet or ''}".rstrip())
    links = ElementTree.fromstring(read_member(book, "xl/_rels/workbook.xml.rels")).findall(f"{LINKS}Relationship")
    target = next(link.get("Target", "") for link in links if link.get("Id") == chosen.get(LINK_ID))
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


def _shared_texts(book: zipfile.ZipFile) -> list[str]:
    """Texts that cells refer to by number."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    entries = ElementTree.fromstring(read_member(book, "xl/sharedStrings.xml")).findall(f"{MAIN}si")
    return [_joined(entry) for entry in entries]


def _row(cells: Iterable[ElementTree.Element], shared: list[str]) -> list[str]:
    row: list[str] = []
    for cell in cells:
        column = _column(cell.get("r"), default=len(row))
        row += [""] * (column - len(row))
        row.append(_cell_text(cell, shared))
    return row


def _column(reference: str | None, default: int) -> int:
    """0 for "A7", 26 for "AA7". Some programs omit the reference."""
    letters = re.match(r"[A-Z]{1,3}", reference or "")
    if letters is None:
        return default
    number = 0
    for letter in letters.group():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _cell_text(cell: ElementTree.Element, shared: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return _joined(cell)
    value = cell.findtext(f"{MAIN}v", "")
    if kind == "s":
        return shared[int(value)]
    return _text(float(value)) if kind == "n" and value else value


def _joined(element: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{MAIN}t"))


def _text(value: object) -> str:
    """Workbooks have no integers: write 3.0 as 3."""
    return number_text(value) if isinstance(value, float) else str(value).strip()


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
