"""The paper's twelve data sets: their source, their positive class, and their coding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

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
        Rows of the original, counted from 0, that come last in the CSV: of german, a tenth of each class.
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


def _info(entry: dict[str, Any]) -> DatasetInfo:
    """An entry of registry.json. Features that it does not name are its columns; its checksum is in manifest.json."""
    known = {"features": entry["columns"][:-1], "sha256": _CHECKSUMS.get(entry["name"], {}).get("sha256"), **entry}
    recipe = known.pop("recipe", None)
    return DatasetInfo(**known, recipe=None if recipe is None else Recipe(**recipe))


def _frozen(value: dict[str, Any]) -> dict[str, Any]:
    return {name: _tuples(part) for name, part in value.items()}


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


_CHECKSUMS, _ENTRIES = (
    json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"), object_hook=_frozen)
    for name in ("manifest.json", "registry.json")
)
# Data sets by canonical name, in the order of the paper's tables.
REGISTRY: Mapping[str, DatasetInfo] = MappingProxyType({entry["name"]: _info(entry) for entry in _ENTRIES})


def resolve(name: str) -> DatasetInfo:
    """Find a data set by its name.

    Parameters
    ----------
    name : str
        The canonical name ("german") or the paper's ("GCD"). Case is ignored; spaces, hyphens and underscores are the same.

    Returns
    -------
    DatasetInfo
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a data set is text, not {type(name).__name__}")
    for info in REGISTRY.values():
        if _plain(name) in {_plain(info.name), _plain(info.paper_name)}:
            return info
    both = [i.name if _plain(i.paper_name) == i.name else f"{i.name} ({i.paper_name})" for i in REGISTRY.values()]
    raise ValueError(f"unknown data set {name!r}: use one of {', '.join(both)}")


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
