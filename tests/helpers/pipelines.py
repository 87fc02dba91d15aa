"""Models of all kinds that one view understands, with rows to score: missing values and unknown levels where they accept them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from helpers import PLAIN
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.baselines import L1QuadraticSVC
from quadric.credit import CalibratedModel
from quadric.tables import Table, TableEncoder, as_table

FAST = SparseQuadraticSVC(k=5, loss="least_squares", method="pd", **PLAIN)
NUMBERS, TEXTS = ["age", "income", "debt"], ["home", "job"]


def loans(seed, m=80, missing=(), unknown=()):
    """Rows of a loans table: three numbers, two texts, and a region that is a number but means a category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, m).astype(float),
            "income": np.round(rng.lognormal(8.0, 0.5, m), 2),
            "home": rng.choice(["own", "rent", "free", "boat"], m, p=[0.5, 0.3, 0.15, 0.05]),
            "debt": rng.normal(300.0, 200.0, m),
            "job": rng.choice(["none", "skilled", 'it\'s "odd"'], m),
            "region": rng.choice([3.0, 7.0, 11.5], m),
        }
    )
    for name in TEXTS:
        frame[name] = frame[name].astype(object)
    for name in unknown:
        frame.loc[rng.random(m) < 0.15, name] = 99.0 if name == "region" else "never seen"
    for name in missing:
        frame.loc[rng.random(m) < 0.2, name] = np.nan
    return frame


def labels(frame, n_classes=2, seed=0):
    noise = np.random.default_rng(seed).normal(size=len(frame))
    f = frame["age"].fillna(50) / 20 - np.log(frame["income"].fillna(3000)) + (frame["home"] == "own") + noise
    return np.array(["bad", "good", "new"])[np.digitize(f, np.quantile(f, np.arange(1, n_classes) / n_classes))]


@dataclass(frozen=True, eq=False)
class Kind:
    """A model to fit, and what its rows may hold."""

    model: Any
    columns: list[str] | None = None
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    n_classes: int = 2
    form: Callable[[pd.DataFrame], Any] = lambda frame: frame

    def frame(self, seed, unknown=False):
        frame = loans(seed, missing=self.missing, unknown=self.unknown if unknown else ())
        return frame if self.columns is None else frame[self.columns]

    @cache  # noqa: B019
    def fitted(self, seed):
        frame = self.frame(seed)
        return clone(self.model).fit(self.form(frame), labels(loans(seed, missing=self.missing), self.n_classes))

    def rows(self, seed):
        """New rows in the form that the model takes, and as a table."""
        X = self.form(self.frame(seed + 1000, unknown=True))
        return X, as_table(X)


def as_objects(frame):
    return frame.to_numpy(dtype=object)


def scaled_and_one_hot(**options):
    return ColumnTransformer([("numbers", StandardScaler(), NUMBERS), ("texts", OneHotEncoder(**options), TEXTS)])


LOG_ODDS = SparseQuadraticSVC(k=5, C=16.0, loss="logistic", method="pd")

KINDS = {
    "estimator": Kind(FAST, NUMBERS),
    "logistic": Kind(make_pipeline(StandardScaler(), LOG_ODDS), NUMBERS),
    "logistic, three classes": Kind(make_pipeline(StandardScaler(), LOG_ODDS), NUMBERS, n_classes=3),
    "array": Kind(make_pipeline(StandardScaler(), FAST), NUMBERS, form=lambda frame: frame.to_numpy()),
    "chain of scalers": Kind(
        Pipeline(
            [
                ("first", make_pipeline(RobustScaler(), MinMaxScaler((-1, 2)))),
                ("nothing", "passthrough"),
                ("second", MaxAbsScaler()),
                ("last", make_pipeline(StandardScaler(), FAST)),
            ]
        ),
        NUMBERS,
    ),
    "imputer, flags, scaler": Kind(
        make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), FAST), NUMBERS, missing=("income", "debt")
    ),
    "imputer after scaler": Kind(
        make_pipeline(StandardScaler(), SimpleImputer(strategy="median", add_indicator=True), FAST), NUMBERS, missing=("age",)
    ),
    "one-hot by names": Kind(make_pipeline(scaled_and_one_hot(handle_unknown="ignore"), FAST), unknown=("home", "job")),
    "one-hot, drop first": Kind(make_pipeline(scaled_and_one_hot(drop="first"), FAST)),
    "one-hot, infrequent": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "texts",
                        make_pipeline(
                            SimpleImputer(strategy="most_frequent"),
                            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.2, sparse_output=False),
                        ),
                        TEXTS,
                    ),
                ],
                remainder=make_pipeline(SimpleImputer(strategy="median"), RobustScaler()),
            ),
            FAST,
        ),
        missing=("home", "income"),
        unknown=("home", "job"),
    ),
    "one-hot, missing is a level": Kind(
        make_pipeline(
            ColumnTransformer(
                [("texts", OneHotEncoder(drop="if_binary", handle_unknown="ignore"), ["home", "region"])],
                remainder="passthrough",
            ),
            StandardScaler(),
            FAST,
        ),
        ["age", "debt", "home", "region"],
        missing=("home", "region"),
        unknown=("home",),
    ),
    "ranks": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "ranks",
                        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
                        TEXTS,
                    ),
                    ("numbers", MinMaxScaler(), ["age", "debt"]),
                ]
            ),
            StandardScaler(),
            FAST,
        ),
        missing=("home",),
        unknown=("home", "job"),
    ),
    "ranks filled in": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "ranks",
                        make_pipeline(
                            OrdinalEncoder(
                                categories=[["rent", "own", "free", "boat"]],
                                handle_unknown="use_encoded_value",
                                unknown_value=np.nan,
                            ),
                            SimpleImputer(add_indicator=True),
                        ),
                        ["home"],
                    ),
                    ("numbers", SimpleImputer(strategy="constant", fill_value=0), slice("income", "debt")),
                ],
                remainder="drop",
            ),
            MaxAbsScaler(),
            FAST,
        ),
        ["home", "age", "income", "debt", "job"],
        missing=("home", "income"),
        unknown=("home",),
    ),
    "one column, many features": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    ("number", StandardScaler(), ["region", "age"]),
                    ("levels", OneHotEncoder(drop=[7.0], handle_unknown="ignore"), ["region"]),
                    ("rank", OrdinalEncoder(), ["job"]),
                    ("level", OneHotEncoder(), ["job"]),
                    ("again", MaxAbsScaler(), ["age"]),
                ]
            ),
            FAST,
        ),
        unknown=("region",),
    ),
    "positions, masks, callables": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    ("mask", SimpleImputer(), [True, True, False, False, False, False]),
                    ("position", "passthrough", [3]),
                    ("callable", OneHotEncoder(max_categories=2), lambda X: [2]),
                    ("nothing", "drop", slice(4, 5)),
                    ("empty", StandardScaler(), []),
                ],
                remainder=OneHotEncoder(drop="first"),
            ),
            StandardScaler(),
            FAST,
        ),
        missing=("age",),
        form=as_objects,
    ),
    "selectors, frames inside": Kind(
        make_pipeline(
            ColumnTransformer(
                [
                    ("numbers", StandardScaler(), make_column_selector(dtype_include=float)),
                    (
                        "texts",
                        make_pipeline(
                            SimpleImputer(strategy="constant", fill_value="unknown"),
                            OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
                        ),
                        make_column_selector(dtype_exclude=float),
                    ),
                ],
                verbose_feature_names_out=False,
            ),
            SparseQuadraticSVCCV([3], Cs=[1.0], loss="least_squares", method="pd", standardize=True),
        ).set_output(transform="pandas"),
        missing=("home",),
        unknown=("home", "job"),
    ),
    "encoder of tables": Kind(
        make_pipeline(TableEncoder(missing="indicator", unseen="other"), StandardScaler(), FAST),
        missing=("home", "income"),
        unknown=("home", "job"),
    ),
    "calibrated, three classes": Kind(
        CalibratedModel(make_pipeline(scaled_and_one_hot(handle_unknown="ignore"), FAST), cv=2),
        unknown=("home",),
        n_classes=3,
    ),
    "calibration inside": Kind(
        make_pipeline(scaled_and_one_hot(), CalibratedModel(L1QuadraticSVC(), method="isotonic", cv=2)),
    ),
}


def table_rows(table: Table):
    """The table as a list of dicts; None where missing."""
    rows = zip(*(column.tolist() for column in table.columns), strict=True)
    return [{n: None if v is None or v != v else v for n, v in zip(table.names, row, strict=True)} for row in rows]
