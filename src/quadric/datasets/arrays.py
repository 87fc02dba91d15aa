"""Data sets as arrays: raw values, categories as codes, labels by the rule of the paper."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from quadric.datasets.registry import DatasetInfo
from quadric.tables.table import is_number_text
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set ready for fitting; its arrays are read-only.

    Attributes
    ----------
    info : DatasetInfo
    X : array of shape (m, n)
        Raw values, not standardised; categories as codes.
    y : array of int of shape (m,)
        1 for the paper's positive class and 0 for the other; with three classes 0, 1, 2 in the alphabetical order of labels.
    class_names : tuple of str
        In the order of the codes in y.
    feature_names : tuple of str
        The names of the columns in the file.
    categories : mapping
        The categories of each categorical feature, in the order of their codes.
    sha256 : str or None
        Checksum of the file; None if the data came with scikit-learn.
    """

    info: DatasetInfo
    X: FloatArray
    y: IntArray
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sha256: str | None = None

    def __post_init__(self) -> None:
        self.X.setflags(write=False)
        self.y.setflags(write=False)
        object.__setattr__(self, "categories", MappingProxyType(dict(self.categories)))


def from_csv(info: DatasetInfo, content: bytes) -> Dataset:
    """Make a data set from a CSV file with a header and the label in the last column.

    Parameters
    ----------
    info : DatasetInfo
    content : bytes
    """
    header, *rows = _table(content)
    rows = [row for row in rows if row[-1] not in info.left_out]
    features = {name: [row[j] for row in rows] for j, name in enumerate(header[:-1])}
    orders = {name: tuple(sorted(set(cells))) for name, cells in features.items() if not all(map(is_number_text, cells))}
    orders |= dict(info.category_orders)
    coded = [_codes(cells, orders[name]) if name in orders else cells for name, cells in features.items()]
    y, class_names = _labels(info, [row[-1] for row in rows])
    return Dataset(
        info=info,
        X=np.column_stack([np.array(column, dtype=float) for column in coded]),
        y=y,
        class_names=class_names,
        feature_names=tuple(features),
        categories=orders,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def form_problem(info: DatasetInfo, content: bytes) -> str | None:
    """What is wrong with the form of a CSV file, or None. Used for data sets without a checksum.

    Parameters
    ----------
    info : DatasetInfo
    content : bytes
    """
    m, n = info.shape
    try:
        header, *rows = _table(content)
        in_form = len(rows) == m and len(set(header)) == n + 1 and all(len(row) == n + 1 for row in rows)
        numbers = [float(cell) for row in rows for cell in row[:-1]]
    except (ValueError, csv.Error):
        in_form, rows, numbers = False, [], []
    if in_form and np.isfinite(numbers).all() and len({row[-1] for row in rows}) == info.n_classes:
        return None
    return f"does not have a header, then {m} rows of {n} numbers and a label, {info.n_classes} labels in all"


def _table(content: bytes) -> list[list[str]]:
    return [row for row in csv.reader(content.decode("utf-8-sig").splitlines()) if row]


def _labels(info: DatasetInfo, labels: list[str]) -> tuple[IntArray, tuple[str, ...]]:
    if info.positive:
        return np.array([label in info.positive for label in labels], dtype=np.intp), info.class_names
    class_names = tuple(sorted(set(labels)))
    return _codes(labels, class_names), class_names


def _codes(cells: Sequence[str], order: tuple[str, ...]) -> IntArray:
    rank = {category: code for code, category in enumerate(order)}
    return np.array([rank[cell] for cell in cells], dtype=np.intp)
