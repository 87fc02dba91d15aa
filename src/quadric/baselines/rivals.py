"""The usual classifiers with small grids of parameters, tuned by cross-validation: what a short equation is compared with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, StratifiedGroupKFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from quadric._sklearn import L1_PENALTY, count_leaves
from quadric.estimators.calibration import CalibratedModel
from quadric.progress import counted
from quadric.types import FloatArray
from quadric.workers import workers_end_with_us

# Parameters are chosen on no more rows than this; the chosen ones are fitted to all.
TUNING_ROWS = 5_000


@dataclass(frozen=True)
class Rival:
    """A classifier with the parameters that are tried.

    Attributes
    ----------
    name : str
    steps : function of a seed
        Makes the steps of a pipeline, to follow a StandardScaler; the last one is called "model".
    grid : mapping
        Values to try, by the name of the parameter.
    size : function of the fitted last step
        Number of parts that its decisions depend on.
    unit : str
        What those are.
    calibrated : bool
        Whether probabilities are fitted on out-of-fold scores, as it has none of its own.
    """

    name: str
    steps: Callable[[int], Sequence[tuple[str, Any]]]
    grid: Mapping[str, Sequence[object]]
    size: Callable[[Any], int]
    unit: str
    calibrated: bool = False

    def fit(
        self,
        X: FloatArray,
        y: np.ndarray,
        folds: int,
        seed: int,
        n_jobs: int | None = None,
        groups: np.ndarray | None = None,
    ) -> Tuned:
        """Choose the parameters with the best mean accuracy over stratified folds, and fit them to all rows.

        Parameters
        ----------
        X : array of shape (m, n)
        y : array of shape (m,)
        folds, seed : int
        n_jobs : int or None
            Processes.
        groups : array of shape (m,) or None
            Rows with equal values stay in the same fold.

        Returns
        -------
        Tuned
        """
        pipeline = Pipeline([("scale", StandardScaler()), *self.steps(seed)])
        splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
        inner = splitter(folds, shuffle=True, random_state=seed)
        # grids reach values that do not converge in time: those lose by their accuracy
        # threads would wait for each other longer than such fits take
        with warnings.catch_warnings(), workers_end_with_us(n_jobs), threadpool_limits(1, user_api="openmp"):
            warnings.simplefilter("ignore")
            chosen = self._chosen(pipeline, _sample(X, y, groups, seed), inner, n_jobs)
            model = pipeline.set_params(**{f"model__{name}": value for name, value in chosen.items()}).fit(X, y)
            splits = list(inner.split(X, y, groups))
            likely = CalibratedModel.around(model, X, y, cv=splits, n_jobs=n_jobs) if self.calibrated else model
        return Tuned(model, likely, chosen, self.size(model["model"]))

    def _chosen(self, model: Any, rows: dict[str, Any], inner: Any, n_jobs: int | None) -> dict[str, object]:
        candidates, means = list(ParameterGrid(self.grid)), []
        if len(candidates) == 1:
            return candidates[0]
        for parameters in counted(candidates, len(candidates), self.name):
            tried = clone(model).set_params(**{f"model__{name}": value for name, value in parameters.items()})
            means.append(cross_val_score(tried, **rows, cv=inner, n_jobs=n_jobs, error_score="raise").mean())
        return candidates[int(np.argmax(means))]


@dataclass(frozen=True, eq=False)
class Tuned:
    """A tuned rival.

    Attributes
    ----------
    model : Pipeline
        Gives labels.
    likely : Pipeline or CalibratedModel
        Gives probabilities.
    chosen : dict
        The parameters.
    size : int
    """

    model: Any
    likely: Any
    chosen: dict[str, object]
    size: int


def _sample(X: FloatArray, y: np.ndarray, groups: np.ndarray | None, seed: int) -> dict[str, Any]:
    if len(y) <= TUNING_ROWS:
        return {"X": X, "y": y, "groups": groups}
    picked, _ = train_test_split(np.arange(len(y)), train_size=TUNING_ROWS, stratify=y, random_state=seed)
    return {"X": X[picked], "y": y[picked], "groups": None if groups is None else groups[picked]}


def _products(seed: int) -> list[tuple[str, Any]]:
    """All squares and products, on one scale; liblinear takes two classes."""
    model = LogisticRegression(solver="liblinear", random_state=seed, **L1_PENALTY)
    products = PolynomialFeatures(2, include_bias=False)
    return [("products", products), ("scale again", StandardScaler()), ("model", OneVsRestClassifier(model))]


def _n_coefficients(model: Any) -> int:
    return sum(int(np.count_nonzero(each.coef_)) for each in getattr(model, "estimators_", [model]))


def _boosting_machine(seed: int) -> Any:
    return import_module("interpret.glassbox").ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


# Those that scikit-learn has.
RIVALS = (
    Rival(
        "logistic regression",
        lambda seed: [("model", LogisticRegression(max_iter=1000))],
        {"C": (0.01, 0.1, 1.0, 10.0, 100.0)},
        _n_coefficients,
        "coefficients",
    ),
    Rival("l1 on products", _products, {"estimator__C": (0.01, 0.03, 0.1, 0.3, 1.0, 10.0)}, _n_coefficients, "coefficients"),
    Rival(
        "SVC, rbf kernel",
        lambda seed: [("model", SVC())],
        {"C": (0.1, 1.0, 10.0, 100.0), "gamma": ("scale", 0.01, 0.1)},
        lambda model: int(model.n_support_.sum()),
        "support vectors",
        calibrated=True,
    ),
    Rival(
        "gradient boosting",
        lambda seed: [("model", HistGradientBoostingClassifier(random_state=seed))],
        {"learning_rate": (0.02, 0.05, 0.15), "max_leaf_nodes": (4, 16)},
        count_leaves,
        "leaves",
    ),
)
# With its defaults: it validates its own steps on rows that it sets aside, and takes minutes.
BOOSTING_MACHINE = Rival(
    "EBM", lambda seed: [("model", _boosting_machine(seed))], {}, lambda model: len(model.term_names_), "terms"
)


def installed_rivals() -> tuple[list[Rival], list[str]]:
    """Those that are installed, and what to install for the others.

    Returns
    -------
    two lists
    """
    if find_spec("interpret") is None:
        return list(RIVALS), ["EBM (pip install interpret)"]
    return [*RIVALS, BOOSTING_MACHINE], []
