"""Models of all shapes, with names that try to break out of whatever they are written into."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from helpers import slow_lift
from quadric import SparseQuadraticSVC
from quadric.certificate import Certificate
from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.samples.units import Units
from quadric.tables import Table, TableEncoder
from quadric.tables.table import text_column

PLAIN_NAMES = ["age", "income", "debt", "home", "job", "region", "years_employed", "term"]
HOSTILE_NAMES = [
    'a"b',
    "x'); DROP TABLE data; --",
    "=1+1",
    "@SUM(A1)",
    "<script>alert(1)</script>",
    "new\nline",
    "tab\tand\rreturn",
    "naïve ünï",
    "a*b",
    "a^2",
    "back\\slash\\",
    "%s {0} {x}",
    "right \u202eto left",
    "日本語",
    "$x_1$ & #{}~^",
    "/* comment */ -- \u2028",
    "n" * 60,
    "`tick`",
    "''' + '''",
    '"""',
    "[brackets]",
    "score",
    "d",
    "0",
    "\\N",
    "bell\x07 and \x0b\x1f",
]
"""No two of them differ only in case, which SQLite and DuckDB could not hold in one table."""


def fitted_classifier(surfaces, classes, units=None, **parameters):
    """An estimator with given surfaces, as if it had been fitted; without units, to the data as they are."""
    model = SparseQuadraticSVC(**{"k": max(9, *(s.n_terms for s in surfaces)), **parameters})
    model.classes_ = np.asarray(classes)
    model._set_surfaces(surfaces)
    model.n_features_in_ = n = surfaces[0].n_features
    model._set_units(Units(np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.ones(n)) if units is None else units)
    model.certificates_ = [Certificate(1.25, s.n_terms, max(s.n_terms, 1), 1e-12, 0.0, True, False, 0.0) for s in surfaces]
    model.status_ = ["converged"] * len(surfaces)
    model.n_iter_ = np.arange(len(surfaces))
    return model


def random_surface(rng, n, linear_only=False):
    p = term_count(n)
    z = rng.normal(size=p)
    z[rng.random(p) > min(1.0, 4.0 / p)] = 0.0
    if linear_only:
        z[: p - n] = 0.0
    return QuadraticSurface.from_coordinates(z, rng.normal())


def random_table(rng, names, n_numbers, m, missing=0.0, levels=None):
    """Numbers on very different scales, then categories."""
    columns = []
    for i in range(len(names)):
        absent = rng.random(m) < missing
        absent[0] = False
        if i < n_numbers:
            values = rng.normal(size=m) * 10.0 ** rng.integers(-3, 5) + 10.0 ** rng.integers(-1, 4)
            columns.append(np.where(absent, np.nan, values))
        else:
            texts = levels[rng.permutation(len(levels))[: rng.integers(1, 5)]]
            chosen = texts[rng.integers(0, len(texts), m)]
            columns.append(text_column([None if a else str(t) for a, t in zip(absent, chosen, strict=True)]))
    return Table(tuple(names), tuple(columns))


def random_calibrators(rng, n):
    if rng.random() < 0.5:
        return [SigmoidCalibration(-float(rng.uniform(0.1, 3)), float(rng.normal())) for _ in range(n)]
    curves = []
    for _ in range(n):
        t = int(rng.integers(1, 6))
        curves.append(IsotonicCalibration(np.sort(rng.normal(size=t)), np.sort(rng.random(t))))
    return curves


def random_model(seed, hostile=True):
    """A model and rows to score; what it consists of depends on the seed."""
    rng = np.random.default_rng(seed)
    pool = np.array(HOSTILE_NAMES if hostile else PLAIN_NAMES, dtype=object)
    n_numbers, n_categories = int(rng.integers(0, 4)), int(rng.integers(0, 4))
    n_numbers = n_numbers or int(n_categories == 0)
    names = [str(name) for name in rng.permutation(pool)[: n_numbers + n_categories]]
    missing = str(rng.choice(["refuse", "impute", "indicator"]))
    coding = str(rng.choice(["onehot", "ordinal"]))
    unseen = str(rng.choice(["refuse", "other"])) if coding == "onehot" else "refuse"
    table = random_table(rng, names, n_numbers, 25, 0.0 if missing == "refuse" else 0.1, pool)
    encoder = TableEncoder(coding=coding, missing=missing, unseen=unseen).fit(table)
    if missing != "refuse":  # what stands for a missing value need not be the dropped level
        encoder = TableEncoder.from_inputs([with_any_fill(rng, c) for c in encoder.inputs_], **encoder.get_params())
    if coding == "onehot" and seed % 2:
        own = np.random.default_rng([seed, 1])
        inputs = [with_a_group(own, column, unseen) for column in encoder.inputs_]
        encoder = TableEncoder.from_inputs(inputs, **encoder.get_params() | {"rare": "other"})
    if unseen == "other":
        table = with_unseen_levels(rng, table)
    X = encoder.transform(table)
    if X.shape[1] == 0:
        return random_model(seed + 1000, hostile)
    steps = [("coding", encoder)]
    if rng.random() < 0.8:
        steps.append(("scaler", StandardScaler(with_mean=rng.random() < 0.9, with_std=rng.random() < 0.9).fit(X)))
    n_classes = int(rng.choice([2, 2, 3]))
    surfaces = [random_surface(rng, X.shape[1], seed % 5 == 0) for _ in range(1 if n_classes == 2 else n_classes)]
    classes = sorted(str(name) for name in rng.permutation(pool)[:n_classes])
    steps.append(("classifier", fitted_classifier(surfaces, classes, random_units(seed, Pipeline(steps).transform(table)))))
    model = Pipeline(steps)
    if rng.random() < 0.5:
        model = CalibratedModel.from_parts(model, random_calibrators(rng, len(surfaces)))
    return model, table


def random_units(seed, X):
    """None for most seeds; caps, and more, for others."""
    rng = np.random.default_rng((seed, 1))
    if rng.random() < 0.6:
        return None
    return Units.of(np.asarray(X), np.ones(len(X)), standardize=rng.random() < 0.5, clip=0.1)


def with_a_group(rng, column, unseen):
    """Some of the levels as one, if there are enough of them."""
    free = [level for level in column.categories if level not in (column.dropped, column.fill)]
    if column.type != "category" or len(free) < 2 or "other" in column.categories:
        return column
    grouped = sorted(str(level) for level in rng.permutation(free)[: rng.integers(1, len(free))])
    if unseen == "refuse":
        return replace(column, other="other", grouped=tuple(grouped))
    return replace(column, other="other", categories=tuple(level for level in column.categories if level not in grouped))


def with_any_fill(rng, column):
    fill = str(rng.choice(np.array(column.categories, dtype=object))) if column.categories else column.fill
    return replace(column, fill=fill)


def with_unseen_levels(rng, table):
    columns = []
    for column in table.columns:
        odd = rng.random(len(column)) < 0.2
        columns.append(np.where(odd, "never seen", column).astype(object) if column.dtype == object else column)
    return Table(table.names, tuple(columns))


def pipeline_of(model):
    return model.estimator_ if isinstance(model, CalibratedModel) else model


def scores_of(model, table):
    """Decision values as a matrix, one column a surface."""
    scores = model.decision_function(table)
    return scores[:, None] if scores.ndim == 1 else scores


def allowed_error(model, table, tolerance=1e-9):
    """tolerance * (1 + sum of the absolute terms), of each score."""
    pipeline = pipeline_of(model)
    R = np.abs(slow_lift(pipeline[-1]._prepared(np.asarray(pipeline[:-1].transform(table)))))
    sums = [R @ np.abs(surface.coordinates()) + abs(surface.c) for surface in pipeline[-1].surfaces_]
    return tolerance * (1.0 + np.column_stack(sums))


def used_names(model, table):
    """Columns that some term depends on."""
    pipeline = pipeline_of(model)
    live = np.zeros(pipeline[-1].n_features_in_, dtype=bool)
    for surface in pipeline[-1].surfaces_:
        live |= (surface.W != 0).any(axis=0) | (surface.b != 0)
    return {table.names[i] for i in pipeline[0].blocks_[live]}


def rows_of(table):
    """The table as a list of dicts; None where missing."""
    rows = zip(*(column.tolist() for column in table.columns), strict=True)
    return [{n: None if v is None or v != v else v for n, v in zip(table.names, row, strict=True)} for row in rows]
