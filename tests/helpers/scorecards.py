"""The loans with some gaps, and a model of them with a scale of points."""

from functools import cache
from pathlib import Path

import numpy as np

from quadric.tables import Table, read_table
from quadric.tables.table import text_column
from quadric.workflow import TableModel, TrainingOptions, train

SCALE = "600:20:50"


@cache
def loans_with_gaps():
    """Of incomes and housing."""
    table = read_table(Path(__file__).parents[2] / "data" / "loans.csv")
    columns = {name: np.asarray(table[name]).copy() for name in table.names}
    columns["income"][3::40] = np.nan
    columns["housing"] = text_column([None if i % 31 == 17 else text for i, text in enumerate(columns["housing"].tolist())])
    return Table(tuple(columns), tuple(columns.values()))


@cache
def points_model():
    """With a level, a product, a square and a missing-value flag."""
    terms = ("housing=rent", "income*amount", "age^2", "income is missing")
    options = TrainingOptions(k=7, C=16.0, loss="least_squares", points=SCALE, favourable="good", include=terms)
    return TableModel(train(loans_with_gaps(), "risk", options).saved())
