"""Descriptions of data sets: values only, no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layout = Literal["commas", "spaces", "xlsx", "xls"]
Header = Literal["absent", "first row", "matched by name"]
Obtained = Literal["scikit-learn", "fetched", "by hand", "private"]


@dataclass(frozen=True)
class Recipe:
    """How the original file of a public site becomes the CSV with the expected checksum.

    Attributes
    ----------
    original : str
        Name of the file on the public site, or in its archive.
    archive : str or None
        Path of the zip archive below the address of the site; None if there is no public address.
    layout : {"commas", "spaces", "xlsx", "xls"}
    sheet : str or None
        Sheet of a workbook; None: the first one.
    header : {"absent", "first row", "matched by name"}
        "first row": the names in it are replaced by those of the CSV. "matched by name": the last column with each name of the
        CSV, in any case, and the rows below that have a number in all of these columns.
    leading : int
        Number of columns to drop on the left.
    missing : str or None
        Rows with this text in a cell are dropped.
    replaced : tuple of (column, old, new)
        Cell texts that are different in the CSV.
    last_rows : tuple of int
        Rows of the original, counted from 0, that come last in the CSV.
    """

    original: str
    archive: str | None
    layout: Layout
    sheet: str | None = None
    header: Header = "absent"
    leading: int = 0
    missing: str | None = None
    replaced: tuple[tuple[str, str, str], ...] = ()
    last_rows: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """One of the paper's data sets.

    Attributes
    ----------
    name : str
        Canonical name, the stem of its file.
    paper_name : str
        Name in the paper's tables.
    table : int
        Table of the paper with its results: 2 or 4.
    shape : tuple (m, n)
        Rows after the label rule, and features.
    source : str
    homepage : str
        Where to get it by hand.
    obtained : {"scikit-learn", "fetched", "by hand", "private"}
    licence : str
    kind : str
        Type in the paper's Table 3; "benchmark" for the data of Table 2.
    columns : tuple of str
        Header of the CSV, with the label last; empty if the file decides.
    features : tuple of str
        Readable names; ``columns`` has the names in the file.
    coding : str
        How categories become numbers, in words.
    label_rule : str
        Which rows count and which class is positive, in words.
    n_classes : int
    class_names : tuple of str
        In the order of the codes in y; empty if the file decides.
    positive : tuple of str
        Labels of the positive class; empty with three classes, or if the file decides.
    left_out : tuple of str
        Labels whose rows are dropped.
    category_orders : tuple of (column, tuple of str)
        Categories whose codes are not their alphabetical ranks.
    sha256 : str or None
        Checksum of the CSV; None if there is no CSV, or no known checksum.
    recipe : Recipe or None
        How to convert the original to the CSV.
    """

    name: str
    paper_name: str
    table: int
    shape: tuple[int, int]
    source: str
    homepage: str
    obtained: Obtained
    licence: str
    kind: str = "benchmark"
    columns: tuple[str, ...]
    features: tuple[str, ...]
    coding: str = "numeric as they are"
    label_rule: str
    n_classes: int = 2
    class_names: tuple[str, ...]
    positive: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    category_orders: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sha256: str | None = None
    recipe: Recipe | None = None

    @property
    def file_name(self) -> str:
        """Name of the CSV file."""
        return f"{self.name}.csv"
