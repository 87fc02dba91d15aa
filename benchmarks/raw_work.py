"""What raw.py asks of a checkout: one model on one outer fold of a table, and its figures on the rows left out.

Runs as a child process with PYTHONPATH set to the checkout's src, and uses only names that old and new checkouts share.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from checkout import serve
from paper_data import FloatArray, folder
from quadric import datasets
from quadric.tables import as_table
from quadric.types import IntArray
from quadric.workflow import TableModel, TrainingOptions, train
from raw_tables import PAPER, TABLES

SEED, INNER_FOLDS = 26, 5
CS = tuple(np.logspace(-4, 2, 13).tolist())
"""Values of C that logistic regression chooses from."""


@dataclass(frozen=True, eq=False)
class Part:
    """Training and test rows of an outer fold, as frames with the target."""

    train: Any
    test: Any
    target: str


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a model says of the test rows.

    Attributes
    ----------
    probabilities : array of shape (m, n_classes)
    labels : array of shape (m,)
        Positions of the predicted classes.
    truth : array of shape (m,)
        Positions of the classes.
    seconds : float
        Processor time of the fit, choices included.
    terms : float or None
        Per surface, or per class.
    chosen : dict
    """

    probabilities: FloatArray
    labels: IntArray
    truth: IntArray
    seconds: float
    terms: float | None
    chosen: dict[str, Any]

    def figures(self) -> dict[str, Any]:
        """AUC of more than two classes: the mean over each of them against all others."""
        chances, n_classes = self.probabilities, self.probabilities.shape[1]
        scores = chances[:, 1] if n_classes == 2 else chances
        return {
            "accuracy": float(np.mean(self.labels == self.truth)),
            "auc": float(roc_auc_score(self.truth, scores, multi_class="ovr")),
            "log_loss": float(log_loss(self.truth, chances, labels=list(range(n_classes)))),
            "terms": self.terms,
            "seconds": round(self.seconds, 3),
            "chosen": self.chosen,
        }


@cache
def frame_of(name: str) -> tuple[Any, str]:
    """A table, and the name of its target."""
    if not name.startswith(PAPER):
        return TABLES[name].read(), TABLES[name].target
    data = datasets.load(name.removeprefix(PAPER), folder=folder())
    return pd.DataFrame(data.X, columns=list(data.feature_names)).assign(target=data.y), "target"


def part_of(name: str, folds: int, fold: int) -> Part:
    frame, target = frame_of(name)
    splits = StratifiedKFold(folds, shuffle=True, random_state=SEED).split(frame, frame[target].astype(str))
    rows, left_out = list(splits)[fold]
    return Part(frame.iloc[rows], frame.iloc[left_out], target)


def surface(part: Part, options: dict[str, Any]) -> Fitted:
    """The product: what ``quadric fit`` and ``quadric predict`` do, in this process alone."""
    table, test = as_table(part.train), as_table(part.test)
    began = time.process_time()
    trained = train(table, part.target, TrainingOptions(n_jobs=1, **options))
    seconds = time.process_time() - began
    model = TableModel(trained.saved())
    scores, search = model.scores(test.drop([part.target])), trained.search
    assert scores.probabilities is not None
    truth = np.array([model.code_of(str(label)) for label in test.labels(part.target)])
    chosen = {name: getattr(search, f"best_{name}_", None) for name in ("loss", "k", "C", "terms")}
    terms = float(np.mean([each.n_terms for each in trained.classifier.surfaces_]))
    return Fitted(scores.probabilities, scores.codes, truth, seconds, terms, chosen)


def logistic(part: Part, options: dict[str, Any]) -> Fitted:
    """Logistic regression on standardised one-hot columns, medians and flags of gaps, its C chosen by log-loss."""
    texts = text_names(part)
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), texts),
        (
            SimpleImputer(strategy="median", add_indicator=True),
            [name for name in inputs(part.train, part) if name not in texts],
        ),
    )
    model = GridSearchCV(
        make_pipeline(columns, StandardScaler(), LogisticRegression(max_iter=2000)),
        {"logisticregression__C": CS},
        scoring="neg_log_loss",
        cv=StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=0),
    )
    train_rows, test_rows = (inputs(rows, part).fillna(dict.fromkeys(texts, "missing")) for rows in (part.train, part.test))
    found = rival(model, train_rows, test_rows, part)
    found.chosen["C"] = model.best_params_["logisticregression__C"]
    return found


def boosting(part: Part, options: dict[str, Any]) -> Fitted:
    """Gradient boosting with its defaults: it takes gaps, and categories as such."""
    types = {name: pd.CategoricalDtype(part.train[name].dropna().unique()) for name in text_names(part)}
    train_rows, test_rows = (inputs(rows, part).astype(types) for rows in (part.train, part.test))
    return rival(HistGradientBoostingClassifier(random_state=0), train_rows, test_rows, part)


def rival(model: Any, train_rows: Any, test_rows: Any, part: Part) -> Fitted:
    classes, y = np.unique(part.train[part.target].astype(str), return_inverse=True)
    began = time.process_time()
    model.fit(train_rows, y)
    seconds = time.process_time() - began
    chances = model.predict_proba(test_rows)
    truth = np.searchsorted(classes, part.test[part.target].astype(str).to_numpy(dtype=classes.dtype))
    last = getattr(model, "best_estimator_", [None])[-1]
    terms = None if last is None else float(last.coef_.shape[1])
    return Fitted(chances, chances.argmax(axis=1), truth, seconds, terms, {})


def inputs(rows: Any, part: Part) -> Any:
    return rows.drop(columns=[part.target])


def text_names(part: Part) -> list[str]:
    return list(inputs(part.train, part).select_dtypes(exclude="number").columns)


MODELS: dict[str, Callable[[Part, dict[str, Any]], Fitted]] = {"surface": surface, "logistic": logistic, "boosting": boosting}


def measured(model: str, name: str, folds: int, fold: int, options: dict[str, Any]) -> dict[str, Any]:
    """Figures on the rows left out, or why there are none."""
    try:
        return MODELS[model](part_of(name, folds, fold), options).figures()
    except ValueError as error:
        return {"refused": str(error)}


def facts(name: str) -> dict[str, int]:
    """The size of a table; neither columns nor texts nor gaps count the target."""
    frame, target = frame_of(name)
    columns = frame.drop(columns=[target])
    return {
        "rows": len(frame),
        "columns": columns.shape[1],
        "texts": columns.select_dtypes(exclude="number").shape[1],
        "gaps": int(columns.isna().sum().sum()),
        "classes": int(frame[target].nunique()),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve({"measure": measured, "facts": facts})
