"""The sparse surface next to the usual classifiers, on the same folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from quadric._sklearn import count_leaves
from quadric.estimators import SparseQuadraticSVC
from quadric.progress import Report, silent
from quadric.tables import Table, TableEncoder
from quadric.types import FloatArray, IntArray
from quadric.workflow.options import INNER_CS, INNER_FOLDS, INNER_KS, OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, complete_rows, prepare
from quadric.workflow.training import Choice, choose, fitted_classifier, folds_of


@dataclass(frozen=True)
class Competitor:
    """A classifier that takes part.

    Attributes
    ----------
    name : str
    make : function of a seed
        An estimator for standardised, coded data.
    size : function of the fitted estimator
        Number of numbers or parts that its decisions depend on.
    unit : str
        What those are.
    """

    name: str
    make: Callable[[int], Any]
    size: Callable[[Any], int]
    unit: str


@dataclass(frozen=True, eq=False)
class Result:
    """How one classifier did.

    Attributes
    ----------
    name, unit : str
    accuracy, auc, size, seconds : arrays of shape (n_folds,)
        ``auc`` is NaN for more than two classes; ``seconds`` is the time to fit, choices of parameters included.
    chosen : list of pairs (k, C), one per fold
        For the sparse surface.
    """

    name: str
    unit: str
    accuracy: FloatArray
    auc: FloatArray
    size: FloatArray
    seconds: FloatArray
    chosen: list[tuple[int, float]]


@dataclass(frozen=True, eq=False)
class Comparison:
    """All results, on the same folds.

    Attributes
    ----------
    results : list of Result
        The sparse surface first; twice where k was chosen: with the rule "1se", and with "best".
    class_names : tuple of str
    n_rows, n_features, folds : int
    nested : bool
        Whether k or C of the sparse surface were chosen inside each fold.
    absent : list of str
        Classifiers that are not installed.
    """

    results: list[Result]
    class_names: tuple[str, ...]
    n_rows: int
    n_features: int
    folds: int
    nested: bool
    absent: list[str]


def compare(table: Table, target: str, options: TrainingOptions | None = None, *, report: Report = silent) -> Comparison:
    """Fit the sparse surface and the usual classifiers, with their default parameters, to the same folds; each on one core.

    The levels of categories are those of all rows; imputed values, means and scales are learned inside each fold. The surface
    is fitted with ``options.k`` and ``options.C``; what is None is chosen inside each fold.

    Parameters
    ----------
    table : Table
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional
        ``ks`` and ``Cs`` are what is chosen from inside each fold.
    report : callable
        Receives lines of progress.

    Returns
    -------
    Comparison
    """
    options = TrainingOptions(ks=INNER_KS, Cs=INNER_CS, n_jobs=1) if options is None else options
    data = prepare(table, target, options)
    folds = _Folds(table, target, data, options)
    if _is_nested(options):
        _check_inner_folds(folds)
    competitors, absent = available_competitors()
    results = _surface_results(folds, report)
    results += [_result(competitor, folds, report) for competitor in competitors]
    return Comparison(results, data.class_names, len(data.y), data.X.shape[1], options.folds, _is_nested(options), absent)


def available_competitors() -> tuple[list[Competitor], list[str]]:
    """Those that are installed, and the names of those that are not.

    Returns
    -------
    two lists
    """
    if find_spec("interpret") is None:
        return list(COMPETITORS), ["EBM (pip install interpret)"]
    return [*COMPETITORS, Competitor("EBM", _boosting_machine, lambda model: len(model.term_names_), "terms")], []


def _boosting_machine(seed: int) -> Any:
    return import_module("interpret.glassbox").ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


COMPETITORS = (
    Competitor("logistic regression", lambda seed: LogisticRegression(max_iter=1000), lambda m: m.coef_.size, "coefficients"),
    Competitor("SVC, rbf kernel", lambda seed: SVC(random_state=seed), lambda m: int(m.n_support_.sum()), "support vectors"),
    Competitor("gradient boosting", lambda seed: HistGradientBoostingClassifier(random_state=seed), count_leaves, "leaves"),
)


class _Folds:
    """Coded training and test rows of each fold; the same for every classifier."""

    def __init__(self, table: Table, target: str, data: PreparedData, options: TrainingOptions) -> None:
        self.data = data
        self.options = options
        self.splits: Sequence[tuple[IntArray, IntArray]] = list(folds_of(data, options).split(data.X, data.y))
        inputs = table.drop([target, *options.ignore])
        self._inputs = inputs[complete_rows(inputs)] if options.missing == "drop" else inputs

    def __iter__(self) -> Any:
        for train, test in self.splits:
            X = self._coded(train)
            yield replace(self.data, X=X[train], y=self.data.y[train]), X[test], self.data.y[test]

    def _coded(self, train: IntArray) -> FloatArray:
        """All rows, with missing values imputed from the training rows."""
        if not self.data.missing or self.options.missing == "drop":
            return self.data.X
        encoder = self.data.encoder
        part = TableEncoder(**encoder.get_params()).fit(self._inputs[train])
        columns = [replace(own, fill=other.fill) for own, other in zip(encoder.inputs_, part.inputs_, strict=True)]
        return np.asarray(TableEncoder.from_inputs(columns, **encoder.get_params()).transform(self._inputs))


def _is_nested(options: TrainingOptions) -> bool:
    return options.k is None or options.C is None


def _check_inner_folds(folds: _Folds) -> None:
    """Refuse folds whose training rows have too few of a class to be split again."""
    data, options = folds.data, folds.options
    inner = min(INNER_FOLDS, options.folds)
    for name, label in zip(data.class_names, np.unique(data.y), strict=True):
        if min(int(np.sum(data.y[train] == label)) for train, _ in folds.splits) < inner:
            rows = int(np.sum(data.y == label))
            raise OptionError(
                f"class {name!r} has {rows} rows, too few for {options.folds} folds with {inner} inside each: "
                "choose fewer folds, or set k and C",
                folds=None,
                k=None,
                C=None,
            )


def _surface_results(folds: _Folds, report: Report) -> list[Result]:
    """One result where k is set; where it is chosen, one for each rule, both from the same inner cross-validation."""
    options = folds.options
    if options.k is not None and options.C is not None:
        fixed = _measured("sparse quadratic", "terms", folds, lambda part, _: fitted_classifier(part, options), _size, report)
        return [replace(fixed, chosen=[(options.k, options.C)] * len(folds.splits))]
    choices, seconds = _choices(folds, report)
    cells = {"1se": [choice.chosen for choice in choices], "best": [choice.best for choice in choices]}
    names = {"1se": "sparse quadratic"} if options.k is not None else {rule: f"sparse quadratic, {rule}" for rule in cells}
    results = []
    for rule, name in names.items():
        chosen = [(int(choice.ks[k]), float(choice.Cs[C])) for choice, (C, k) in zip(choices, cells[rule], strict=True)]

        def fit(part: PreparedData, fold: int, chosen: Sequence[tuple[int, float]] = chosen) -> Any:
            choice = choices[fold]
            return (
                choice.classifier if chosen[fold] == (choice.k, choice.C) else fitted_classifier(part, options, *chosen[fold])
            )

        result = _measured(name, "terms", folds, fit, _size, report)
        results.append(replace(result, seconds=result.seconds + seconds, chosen=chosen))
    return results


def _size(model: SparseQuadraticSVC) -> int:
    return sum(surface.n_terms for surface in model.surfaces_)


def _choices(folds: _Folds, report: Report) -> tuple[list[Choice], FloatArray]:
    """What cross-validation inside each fold saw and fitted, and the time it took."""
    options = replace(folds.options, folds=min(INNER_FOLDS, folds.options.folds), rule="1se")
    choices, seconds = [], []
    for number, (part, _, _) in enumerate(folds, start=1):
        report(f"sparse quadratic, choice inside fold {number} of {len(folds.splits)}")
        with threadpool_limits(1):
            began = time.perf_counter()
            choices.append(choose(part, options))
            seconds.append(time.perf_counter() - began)
    return choices, np.array(seconds)


def _result(competitor: Competitor, folds: _Folds, report: Report) -> Result:
    def fit(part: PreparedData, number: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # default parameters are what is compared, whatever they lead to
            return make_pipeline(StandardScaler(), competitor.make(folds.options.seed)).fit(part.X, part.y)

    return _measured(competitor.name, competitor.unit, folds, fit, lambda model: competitor.size(model[-1]), report)


def _measured(
    name: str, unit: str, folds: _Folds, fit: Callable[[PreparedData, int], Any], size: Callable[[Any], int], report: Report
) -> Result:
    rows = []
    for number, (part, X, y) in enumerate(folds):
        report(f"{name}, fold {number + 1} of {len(folds.splits)}")
        with threadpool_limits(1):
            began = time.perf_counter()
            model = fit(part, number)
            seconds = time.perf_counter() - began
            rows.append((np.mean(model.predict(X) == y), _auc(model, X, y), size(model), seconds))
    accuracy, auc, sizes, times = np.array(rows, dtype=float).T
    return Result(name, unit, accuracy, auc, sizes, times, [])


def _auc(model: Any, X: FloatArray, y: np.ndarray) -> float:
    if len(model.classes_) != 2:
        return float("nan")
    if hasattr(model, "decision_function"):
        return float(roc_auc_score(y == model.classes_[1], model.decision_function(X)))
    return float(roc_auc_score(y == model.classes_[1], model.predict_proba(X)[:, 1]))
