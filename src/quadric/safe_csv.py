"""CSV for people who open it in a spreadsheet: texts from data stay texts."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TextIO

# What spreadsheets take for the beginning of a formula, however many quotes are before it
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
# Characters without which it is none: most texts need no second look
BEGINNINGS = frozenset("'=+-@\t\r\n＝＋－＠")
# Numbers, also as texts, and mere signs
HARMLESS = re.compile(r"[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?%?|[-+=@ ]+")


def as_text(cell: Any) -> Any:
    """A cell that no spreadsheet runs: a text that looks like a formula gets a single quote before it.

    Other cells stay as they are, ``-1.5`` and the label ``"-1"`` too. No two texts become the same: one that has quotes before
    the formula already gets another one.

    Parameters
    ----------
    cell : Any

    Returns
    -------
    Any
    """
    if not isinstance(cell, str) or not FORMULA.match(cell) or HARMLESS.fullmatch(cell):
        return cell
    return f"'{cell}"


class CsvWriter:
    """Writes rows as CSV.

    Parameters
    ----------
    file : text file

    Attributes
    ----------
    n_quoted : int
        Texts that were written with a quote before them.
    """

    def __init__(self, file: TextIO) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._careful = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self.n_quoted = 0

    def writerows(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write several rows.

        Parameters
        ----------
        rows : iterable of sequences
        """
        for returns, alike in groupby(map(self._quoted, rows), _has_returns):
            (self._careful if returns else self._writer).writerows(alike)

    def writecolumns(self, columns: Sequence[Sequence[Any]]) -> None:
        """Write several rows, given by their columns; faster than one by one where no text needs care.

        Parameters
        ----------
        columns : sequence of sequences
            Of the same length.
        """
        texts = {cell for column in columns for cell in set(column) if type(cell) is str}
        rows = zip(*columns, strict=True)
        if any(text[:1] in BEGINNINGS or "\r" in text for text in texts):
            self.writerows(rows)
        else:
            self._writer.writerows(rows)

    def _quoted(self, row: Sequence[Any]) -> Sequence[Any]:
        if not any(type(cell) is str and cell[:1] in BEGINNINGS for cell in row):
            return row
        cells = [as_text(cell) for cell in row]
        self.n_quoted += sum(old is not new for old, new in zip(row, cells, strict=True))
        return cells


def _has_returns(row: Sequence[Any]) -> bool:
    """Whether a row has carriage returns, which end a line for readers and which the csv module does not put in quotes."""
    return any(type(cell) is str and "\r" in cell for cell in row)
