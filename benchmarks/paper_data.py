"""The paper's two-class data sets for benchmarks and tests, from the folder that QUADRIC_DATA names or ../shared/data."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LabelRule:
    """Which rows of a file count, and which of them are positive, by the text of the last column."""

    positive: Callable[[str], bool]
    keep: Callable[[str], bool] = lambda label: True


RULES = {
    "abalone": LabelRule(lambda rings: int(rings) >= 11, lambda rings: not 9 <= int(rings) <= 10),
    "australian": LabelRule(lambda label: label == "0"),
    "ctg": LabelRule(lambda label: label == "1"),
    "ecoli": LabelRule(lambda label: label == "cp"),
    "german": LabelRule(lambda label: label == "2"),
    "glass": LabelRule(lambda label: label in {"5", "6", "7"}),
    "haberman": LabelRule(lambda label: label == "2"),
    "immunotherapy": LabelRule(lambda label: label == "1"),
    "japanese": LabelRule(lambda label: label == "+"),
}
CATEGORY_ORDER = {("abalone", "sex"): ["M", "F", "I"]}
"""Categories are coded by their alphabetical rank, except here."""


def folder() -> Path | None:
    """Where the data are, or None."""
    named = os.environ.get("QUADRIC_DATA")
    candidates = [Path(named)] if named else [Path(__file__).resolve().parents[2] / "shared" / "data"]
    return next((path for path in candidates if path.is_dir()), None)


def load(name: str) -> tuple[FloatArray, FloatArray]:
    """Standardised X and labels -1 or 1 of one data set."""
    where = folder()
    if where is None:
        raise FileNotFoundError("set QUADRIC_DATA to the folder with the paper's data sets")
    with (where / f"{name}.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    rule = RULES[name]
    rows = [row for row in rows if rule.keep(row[-1])]
    columns = [_numbers([row[j] for row in rows], CATEGORY_ORDER.get((name, header[j]))) for j in range(len(header) - 1)]
    X = np.column_stack(columns)
    y = np.array([1.0 if rule.positive(row[-1]) else -1.0 for row in rows])
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _numbers(texts: list[str], order: list[str] | None) -> FloatArray:
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        rank = {category: i for i, category in enumerate(order or sorted(set(texts)))}
        return np.array([float(rank[text]) for text in texts])
