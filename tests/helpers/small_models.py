"""Small fitted models with their data, for summaries and reports."""

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel
from quadric.tables import Table, TableEncoder
from quadric.tables.table import text_column

KS = (1, 2, 3, 5, 6)
COLUMNS = ("age", "income", "debt", "home")
LEVELS = ("own", "rent", "free")


def loans(seed=0, m=150, columns=COLUMNS, levels=LEVELS):
    """A table of three numbers and a category, with labels 0 (paid) and 1 (lost)."""
    rng = np.random.default_rng(seed)
    age, income, debt = rng.integers(20, 70, m).astype(float), rng.gamma(4.0, 500.0, m), rng.normal(3.0, 2.0, m)
    home = rng.choice(3, size=m, p=[0.5, 0.2, 0.3])
    risk = 0.5 * debt + 0.7 * (debt - 3.0) * (income - 2000.0) / 1000.0 + (home == 1) - 0.006 * (age - 45.0) ** 2
    y = (risk + rng.normal(0.0, 0.6, m) > np.quantile(risk, 0.65)).astype(int)
    home_texts = text_column([levels[code] for code in home])
    return Table(tuple(columns), (age, income, debt, home_texts)), y


def scored_pipeline(table, y, *, coding="onehot", **parameters):
    """With a scaler of scikit-learn, which tests can repeat, and without caps."""
    classifier = SparseQuadraticSVC(**{"k": 5, "C": 16.0, "loss": "hinge", **PLAIN, **parameters})
    steps = [("coding", TableEncoder(coding=coding)), ("scaler", StandardScaler()), ("classifier", classifier)]
    return Pipeline(steps).fit(table, y)


def calibrated_pipeline(table, y, **parameters):
    return CalibratedModel(scored_pipeline(table, y, **parameters)).fit(table, y)


def features_of(model, table):
    """What the scaler takes, and what the classifier takes."""
    V = model[0].transform(table)
    return V, model[1].transform(V)
