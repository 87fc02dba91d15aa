"""Small tables with everything that real ones have: numbers, texts, a two-valued column, missing values, classes as texts."""

from __future__ import annotations

import csv
import io

import numpy as np

from quadric.tables import Table
from quadric.tables.table import text_column

HOMES = ("own", "rent", "free")


def credit_columns(n_rows=120, seed=0, gaps=0, classes=("good", "bad")):
    """Columns by name. The class depends on age, income, home and a product; ``gaps`` values of age and home are missing."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(20, 70, n_rows).astype(float), np.round(rng.normal(30, 8, n_rows), 2)
    home = np.array(HOMES)[rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])]
    phone = rng.integers(0, 2, n_rows).astype(float)
    score = (age - 45) / 15 * (income - 30) / 8 + (home == "rent") + 0.4 * rng.normal(size=n_rows)
    risk = np.array(classes)[np.digitize(score, np.quantile(score, np.arange(1, len(classes)) / len(classes)))]
    home = home.tolist()
    for row in range(gaps):
        age[3 * row], home[3 * row + 1] = np.nan, None
    return {
        "age": age,
        "income": income,
        "home": text_column(home),
        "phone": phone,
        "risk": text_column(risk.tolist()),
    }


def credit_table(**how) -> Table:
    columns = credit_columns(**how)
    return Table(tuple(columns), tuple(columns.values()), sha256="0" * 64)


def csv_text(columns, delimiter=",", end="\n") -> str:
    """Columns as a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if value is None or value != value else value for value in row])
    return text.getvalue()
