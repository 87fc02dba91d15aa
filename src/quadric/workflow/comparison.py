"""The sparse surface next to the usual classifiers, on the same folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from quadric._sklearn import count_leaves
from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.crossvalidation import chosen_cell
from quadric.progress import Report, silent
from quadric.tables import Table, TableEncoder
from quadric.types import FloatArray, IntArray
from quadric.workflow.options import INNER_CS, INNER_FOLDS, INNER_KS, OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, prepare
from quadric.workflow.training import choose, fitted_classifier, folds_of


@dataclass(frozen=True)
class Competitor:
    """A classifier that takes part.

    Attributes
    ----------
    name : str
    fit : function of the training rows, the options and the number of the fold
        Returns a fitted classifier for coded rows.
    size : function of the fitted classifier
        Number of numbers or parts that its decisions depend on.
    unit : str
        What those are.
    """

    name: str
    fit: Callable[[PreparedData, TrainingOptions, int], Any]
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
    data : PreparedData
    options : TrainingOptions
        k and C of the sparse surface were chosen inside each fold where they are None here.
    absent : list of str
        Classifiers that are not installed.
    """

    results: list[Result]
    data: PreparedData
    options: TrainingOptions
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
    if options.k is None or options.C is None:
        _check_inner_folds(data, options)
    competitors, absent = available_competitors()
    results = _surface_results(data, options, report)
    results += [_result(competitor, data, options, report) for competitor in competitors]
    return Comparison(results, data, options, absent)


def available_competitors() -> tuple[list[Competitor], list[str]]:
    """Those that are installed, and the names of those that are not.

    Returns
    -------
    two lists
    """
    if find_spec("interpret") is None:
        return list(COMPETITORS), ["EBM (pip install interpret)"]
    return [*COMPETITORS, _usual("EBM", _boosting_machine, lambda model: len(model.term_names_), "terms")], []


def _boosting_machine(seed: int) -> Any:
    return import_module("interpret.glassbox").ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


def _usual(name: str, make: Callable[[int], Any], size: Callable[[Any], int], unit: str) -> Competitor:
    """One for standardised rows, made with a seed and else with default parameters."""

    def fit(part: PreparedData, options: TrainingOptions, fold: int) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # default parameters are what is compared, whatever they lead to
            return make_pipeline(StandardScaler(), make(options.seed)).fit(part.X, part.y)

    return Competitor(name, fit, lambda model: size(model[-1]), unit)


COMPETITORS = (
    _usual("logistic regression", lambda seed: LogisticRegression(max_iter=1000), lambda m: m.coef_.size, "coefficients"),
    _usual("SVC, rbf kernel", lambda seed: SVC(random_state=seed), lambda m: int(m.n_support_.sum()), "support vectors"),
    _usual("gradient boosting", lambda seed: HistGradientBoostingClassifier(random_state=seed), count_leaves, "leaves"),
)


def _folds(data: PreparedData, options: TrainingOptions) -> Iterator[tuple[PreparedData, FloatArray, np.ndarray]]:
    """Coded training rows, test rows and labels of these, for each fold; the same for every classifier."""
    for train, test in folds_of(data, options).split(data.X, data.y):
        X = _coded(data, train)
        yield replace(data, X=X[train], y=data.y[train]), X[test], data.y[test]


def _coded(data: PreparedData, train: IntArray) -> FloatArray:
    """All rows, with missing values imputed from the training rows."""
    encoder = data.encoder
    if not data.missing or data.n_dropped:
        return data.X
    part = TableEncoder(**encoder.get_params()).fit(data.table[train])
    columns = [replace(own, fill=other.fill) for own, other in zip(encoder.inputs_, part.inputs_, strict=True)]
    return np.asarray(TableEncoder.from_inputs(columns, **encoder.get_params()).transform(data.table))


def _check_inner_folds(data: PreparedData, options: TrainingOptions) -> None:
    """Refuse folds whose training rows have too few of a class to be split again."""
    inner = min(INNER_FOLDS, options.folds)
    splits = list(folds_of(data, options).split(data.X, data.y))
    for name, label in zip(data.class_names, np.unique(data.y), strict=True):
        if min(int(np.sum(data.y[train] == label)) for train, _ in splits) < inner:
            rows = int(np.sum(data.y == label))
            raise OptionError(
                f"class {name!r} has {rows} rows, too few for {options.folds} folds with {inner} inside each: "
                "choose fewer folds, or set k and C",
                folds=None,
                k=None,
                C=None,
            )


def _surface_results(data: PreparedData, options: TrainingOptions, report: Report) -> list[Result]:
    """One result where k is set; where it is chosen, one for each rule, both from the same inner cross-validation."""
    if options.k is not None and options.C is not None:
        surface = Competitor("sparse quadratic", lambda part, own, _: fitted_classifier(part, own), _n_terms, "terms")
        return [replace(_result(surface, data, options, report), chosen=[(options.k, options.C)] * options.folds)]
    searches, seconds = _searches(data, options, report)
    suffixes = {"1se": ""} if options.k is not None else {"1se": ", 1se", "best": ", best"}
    results = []
    for rule, suffix in suffixes.items():
        chosen = [_choice(search, rule) for search in searches]

        def fit(part: PreparedData, own: TrainingOptions, fold: int, chosen: Any = chosen) -> SparseQuadraticSVC:
            shipped = searches[fold].best_estimator_
            return shipped if chosen[fold] == (shipped.k, shipped.C) else fitted_classifier(part, own, *chosen[fold])

        result = _result(Competitor(f"sparse quadratic{suffix}", fit, _n_terms, "terms"), data, options, report)
        results.append(replace(result, seconds=result.seconds + seconds, chosen=chosen))
    return results


def _n_terms(model: SparseQuadraticSVC) -> int:
    return sum(surface.n_terms for surface in model.surfaces_)


def _searches(data: PreparedData, options: TrainingOptions, report: Report) -> tuple[list[SparseQuadraticSVCCV], FloatArray]:
    """The cross-validation inside each fold, and the time it took."""
    inner = replace(options, folds=min(INNER_FOLDS, options.folds), rule="1se")
    searches, seconds = [], []
    for number, (part, _, _) in enumerate(_folds(data, options), start=1):
        report(f"sparse quadratic, choice inside fold {number} of {options.folds}")
        with threadpool_limits(1):
            began = time.perf_counter()
            searches.append(choose(part, inner))
            seconds.append(time.perf_counter() - began)
    return searches, np.array(seconds)


def _choice(search: SparseQuadraticSVCCV, rule: str) -> tuple[int, float]:
    """The k and C that a rule chooses."""
    C_index, k_index = chosen_cell(search.cv_scores_, rule)
    return int(search.ks_[k_index]), float(search.Cs_[C_index])


def _result(competitor: Competitor, data: PreparedData, options: TrainingOptions, report: Report) -> Result:
    area, rows = get_scorer("roc_auc") if len(data.class_names) == 2 else lambda *_: np.nan, []
    for number, (part, X, y) in enumerate(_folds(data, options)):
        report(f"{competitor.name}, fold {number + 1} of {options.folds}")
        with threadpool_limits(1):
            began = time.perf_counter()
            model = competitor.fit(part, options, number)
            seconds = time.perf_counter() - began
            rows.append((np.mean(model.predict(X) == y), area(model, X, y), competitor.size(model), seconds))
    accuracy, auc, sizes, times = np.array(rows, dtype=float).T
    return Result(competitor.name, competitor.unit, accuracy, auc, sizes, times, [])
