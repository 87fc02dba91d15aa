"""How a CSV file is written: its texts as numbers or as cleaned texts."""

from __future__ import annotations

import codecs
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.errors import ParameterError
from quadric.extras import require
from quadric.tables.suspects import number_pattern
from quadric.tables.table import BLANKS

pa: Any = require("pyarrow", "cli")
compute: Any = require("pyarrow.compute", "cli")


@dataclass(frozen=True)
class Notation:
    """How a CSV file, its numbers and its missing values are written.

    Attributes
    ----------
    delimiter : str or None
        None: to be found.
    encoding : str
    missing : collection of str
        Texts that mean a missing value, in upper or lower case; the empty text always does.
    decimal : str
    thousands : str or None
    """

    delimiter: str | None
    encoding: str
    missing: Collection[str]
    decimal: str
    thousands: str | None

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)  # some registered codecs convert bytes to bytes
        except (LookupError, ValueError):
            raise ParameterError(f"there is no encoding {self.encoding!r}; try utf-8 or latin-1", encoding=None) from None
        character = "," if self.delimiter is None else self.delimiter
        if len(character) != 1 or character in '"\r\n\0' or not character.isascii():
            raise ParameterError(
                f"the delimiter must be one ASCII character, but not a quote or a line end, got {character!r}", delimiter=None
            )
        for what, mark in (("decimal", self.decimal), ("thousands", self.thousands)):
            if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in '+-"\r\n'):
                raise ParameterError(
                    f"the {what} mark must be one character, but no digit, letter, sign or quote, got {mark!r}", **{what: None}
                )
        if self.decimal == self.thousands:
            raise ParameterError(
                f"the decimal and the thousands mark must differ, got {self.decimal!r} for both", decimal=None, thousands=None
            )

    @property
    def codec(self) -> str:
        """The name of the encoding for opening files."""
        name = codecs.lookup(self.encoding).name
        return "utf-8-sig" if name == "utf-8" else name  # so that a byte order mark is not part of the first column name

    @cached_property
    def null_values(self) -> list[str]:
        """Usual spellings of missing values, which pyarrow is told to look for; :meth:`typed` finds all."""
        return sorted({spelt for text in ("", *self.missing) for spelt in (text, text.lower(), text.upper())})

    def typed(self, column: Any, as_text: bool) -> Any:
        """The texts as float64, NaN where a value is missing; or as texts without spaces around them, if one is no number."""
        values = None if as_text else self._numbers(column)
        if values is None:  # spaces and unusual spellings take time to look for, so each distinct text is looked at once
            distinct = column.combine_chunks().dictionary_encode()
            cleaned = self._cleaned(distinct.dictionary)
            numbers = None if as_text else self._numbers(cleaned)
            values = pa.chunked_array([(cleaned if numbers is None else numbers).take(distinct.indices)])
        return values.dictionary_encode() if values.type == pa.string() else compute.fill_null(values, np.nan)

    def _numbers(self, column: Any) -> Any:
        try:
            self._pointed(column.slice(0, 10)).cast(pa.float64())  # a cast that fails takes longer than one that does not
            return self._pointed(column).cast(pa.float64())
        except pa.ArrowInvalid:
            return None

    def _cleaned(self, column: Any) -> Any:
        """The texts without spaces around them, null if missing."""
        trimmed = compute.utf8_trim(column, characters=BLANKS)
        absent = compute.is_in(compute.utf8_lower(trimmed), pa.array([text.lower() for text in ("", *self.missing)]))
        return compute.if_else(absent, pa.scalar(None, pa.string()), trimmed)

    def _pointed(self, column: Any) -> Any:
        """Numbers with a decimal point and nothing else; an error where a text is no number in this notation."""
        if (self.decimal, self.thousands) == (".", None):
            return column
        pattern = f"^(?:{number_pattern(self.decimal, self.thousands)}|[+-]?(?:nan|inf|infinity))$"
        if not compute.all(compute.match_substring_regex(column, pattern, ignore_case=True)).as_py():
            raise pa.ArrowInvalid("not a number")
        if self.thousands is not None:
            column = compute.replace_substring(column, self.thousands, "")
        return compute.replace_substring(column, self.decimal, ".")
