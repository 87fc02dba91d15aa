"""From a table to a fitted model that can be saved, explained and judged."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from quadric.credit import CalibratedModel
from quadric.defaults import DEFAULT_CS, DEFAULT_KS, DEFAULT_LINEAR_KS
from quadric.errors import quoted
from quadric.estimators import ScaleWarning, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.cutoffs import EVEN
from quadric.export import DataOrigin, SavedModel
from quadric.fitted import FittedModel, fitted_model
from quadric.fitted.model import FAR
from quadric.geometry.terms import term_names
from quadric.labels import positions_in
from quadric.losses.footprint import affordable_processes
from quadric.progress import part
from quadric.samples.capped import CappedStream
from quadric.samples.extent import Extent
from quadric.samples.random_rows import drawn_rows, sample_size
from quadric.samples.recoding import Coding
from quadric.samples.source import SampleBatch
from quadric.tables import Table, TableStream
from quadric.tables.coded import TableSource
from quadric.tables.parts import TableParts, gathered
from quadric.types import FloatArray, IntArray
from quadric.workflow.cv_summary import CrossValidated, cross_validated, plain_logistic
from quadric.workflow.cv_summary import standard_error as standard_error
from quadric.workflow.drawing import set_aside
from quadric.workflow.options import AUTO, OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, learn, recoded, with_rows
from quadric.workflow.prices import RulePrices, priced
from quadric.workflow.reference import Reference
from quadric.workflow.rule_words import TERMS, listed_rules, listed_shapes
from quadric.workflow.samples import NewSample, Samples, all_samples
from quadric.workflow.scorers import scorer_for
from quadric.workflow.scoring import TableModel

# Rows times terms from which processes of their own pay for the folds
PARALLEL_FROM = 50_000_000


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model and how it came about.

    Attributes
    ----------
    model : Pipeline of coding and classifier, or CalibratedModel of it
    data : PreparedData
    target : str
    options : TrainingOptions
    search : SparseQuadraticSVCCV or None
        The cross-validation that chose loss, k and C; its ``best_estimator_`` is the classifier of the model.
    accuracy : float
        On the rows that it was fitted to.
    labelled : tuple of int
        How many of them get the label of each class.
    by_surface : tuple of int
        How many would get it from the surface alone, without calibration and cut-off.
    cross_validation : CrossValidated or None
        How good the model is on rows left out; None without cross-validation.
    samples : Samples or None
        The development sample beside those that were set aside, or were given to be tested on; None before it is known, and of
        a fit without folds and other samples.
    reference : Reference or None
        What new rows are compared with later; None before it is known.
    """

    model: Any
    data: PreparedData
    target: str
    options: TrainingOptions
    search: SparseQuadraticSVCCV | None
    accuracy: float
    labelled: tuple[int, ...]
    by_surface: tuple[int, ...]
    cross_validation: CrossValidated | None
    samples: Samples | None = None
    reference: Reference | None = None

    @cached_property
    def view(self) -> FittedModel:
        """The model, taken apart."""
        return fitted_model(self.model)

    @property
    def classifier(self) -> SparseQuadraticSVC:
        """What takes the coded rows."""
        return self.view.classifier

    @cached_property
    def is_constant(self) -> list[bool]:
        """Whether each surface has the same value for all rows."""
        return fitted_model(self.classifier).is_constant(self.data.X)

    @property
    def n_candidates(self) -> int:
        """Number of terms that the surface was chosen from: only linear ones where those won."""
        return self.data.n_candidates_of(self.classifier.terms)

    @property
    def base_rates(self) -> tuple[float, ...]:
        """The share of each class."""
        return tuple(count / self.data.n_rows for count in self.data.class_counts)

    @property
    def cutoff(self) -> float | None:
        """Probability above which the second of two classes is predicted; None for more, and without calibration."""
        return self.model.cutoff_ if isinstance(self.model, CalibratedModel) and len(self.labelled) == 2 else None

    @property
    def border(self) -> float | None:
        """The score above which the second of two classes is predicted; None for more classes, or if always the same is."""
        return self.view.border if len(self.labelled) == 2 else None

    @property
    def says_nothing(self) -> bool:
        """Whether the probability of the second of two classes is the same for all rows, as out-of-fold scores do not tell."""
        curve = self.view.probability
        return curve is not None and bool(np.ptp(curve(np.array([-FAR, 0.0, FAR]))) == 0.0)

    def with_model(self, model: Any) -> Trained:
        """The same with another model for the same coded rows; nothing is known of it on rows left out.

        Parameters
        ----------
        model : Pipeline of coding and classifier, or CalibratedModel of it

        Returns
        -------
        Trained
        """
        view, data = fitted_model(model), self.data
        codes, _ = view.decided(view.classifier.decision_function(data.X))
        alone = positions_in(view.classes, view.classifier.predict(data.X))
        labelled, by_surface = (tuple(np.bincount(each, minlength=len(view.classes)).tolist()) for each in (codes, alone))
        figures: dict[str, Any] = {
            "accuracy": float(np.mean(codes == data.codes)),
            "labelled": labelled,
            "by_surface": by_surface,
        }
        return replace(self, model=model, search=None, cross_validation=None, **figures)

    def _proofs_by_class(self) -> dict[str, Any]:
        """What is proved of slopes, by the names of the classes that the scores speak for."""
        names = self.data.class_names if len(self.data.class_names) > 2 else self.data.class_names[1:]
        proofs = dict(zip(names, self.view.slope_proofs(), strict=True))
        return {name: [asdict(each) | {"words": each.words()} for each in own] for name, own in proofs.items() if own}

    def saved(self, **metadata: Any) -> SavedModel:
        """The model with its names, origin and history, for ``save_model``.

        Parameters
        ----------
        **metadata : Any
            What else the file is to say of it.

        Returns
        -------
        SavedModel
        """
        history = {
            "options": self.options.recorded(),
            "excluded": self.data.limits.counts,
            "check": self.data.check.recorded(),
            "missing": self.data.missing,
            "rows_dropped": self.data.n_dropped,
            "accuracy": self.accuracy,
            "labelled": list(self.labelled),
            "read_in_passes": self.data.is_sampled,
            "cross_validation": self.cross_validation and self.cross_validation.recorded(),
            "slopes": self._proofs_by_class(),
            "samples": self.samples and self.samples.recorded(),
            "reference": self.reference and self.reference.recorded(),
        }
        origin = DataOrigin(self.data.n_rows, self.data.sha256)
        return SavedModel(self.model, self.data.class_names, self.target, {"training": history, **metadata}, origin, None)


@contextmanager
def scales_as_prepared() -> Iterator[None]:
    """Fit without remarks on the scales of features: who does not standardise has been told, with the names of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        yield


def train(
    table: Table | TableParts,
    target: str,
    options: TrainingOptions | None = None,
    *,
    tests: Mapping[str, TableStream] = {},
    weights: str | None = None,
    verbose: int = 0,
) -> Trained:
    """Code the columns, choose loss, k and C, fit, and calibrate.

    A table of fewer than ten million values is gathered, wherever it is. Of a larger one, caps are quantiles of all rows, loss,
    k and C are chosen as in :func:`quadric.fit_batches`, and a random sample serves calibration, cut-off and figures. What
    cross-validation fitted to all rows is the model, with its certificates. Levels, imputed values, limits, mean and scale are
    learned inside each fold; by passes, folds share the first three. Rows that the options set aside, and other tables, are
    looked at only when the model is finished, but for the names of their columns and classes.

    Parameters
    ----------
    table : Table or TableParts
        With the target, the groups and what else is to be texts read as such.
    target : str
        Name of the column with the classes.
    options : TrainingOptions, optional
    tests : mapping of names to TableStream
        Other tables to measure the model on.
    weights : str, optional
        Column of positive weights, which is not a feature: repetitions of the rows in the fits, in what is chosen by, in
        calibration, cut-off and out-of-fold figures. Counts of rows stay counts.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    Trained
        Whose ``data`` hold all rows, or a random sample of them (``data.is_sampled``).
    """
    options = TrainingOptions() if options is None else options
    deadline = None if options.fit_time_limit is None else time.monotonic() + options.fit_time_limit
    with part(0.0, 0.2):
        rows = survey(table, target, options, tests, weights)
    with part(0.2, 1.0):
        return with_samples(train_surveyed(rows, options, deadline=deadline, verbose=verbose), rows)


@dataclass(frozen=True, eq=False)
class Survey:
    """A table that is coded, so that models can be fitted to it again and again.

    Attributes
    ----------
    target : str
    data : PreparedData
    stream : CappedStream
        The coded rows.
    parts : TableParts
        The rows to learn from, as they came.
    ignore : tuple of str
        Columns that are not used.
    news : sequence of NewSample
        Other rows to measure models on.
    """

    target: str
    data: PreparedData
    stream: CappedStream
    parts: TableParts
    ignore: tuple[str, ...]
    news: Sequence[NewSample]

    def search(self, options: TrainingOptions) -> SparseQuadraticSVCCV:
        """The cross-validation that the options ask for, not fitted.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        SparseQuadraticSVCCV
        """
        search = _new_search(self.data, options)
        return search.set_params(**_in_memory(self.data, options, 0)) if self.stream.is_gathered else search


def survey(
    table: Table | TableParts,
    target: str,
    options: TrainingOptions,
    tests: Mapping[str, TableStream] = {},
    weights: str | None = None,
) -> Survey:
    """Look at a table, code its columns, and gather its rows or draw a sample of them, as ``train`` begins.

    Parameters
    ----------
    table : Table or TableParts
    target : str
        Name of the column with the classes.
    options : TrainingOptions
    tests : mapping of names to TableStream
        Other tables to measure models on.
    weights : str, optional
        Column of positive weights.

    Returns
    -------
    Survey
    """
    with part(0.0, 0.5):
        table, options, others = set_aside(table, target, options, tests)
        stream, data = learn(table, target, options, weights)
        news = [NewSample.of(name, parts, target, data, name in tests) for name, parts in others.items()]
    if options.cutoff != EVEN and len(data.class_names) > 2:
        raise OptionError(f"a cut-off needs two classes, and the target has {len(data.class_names)}", cutoff=None)
    if options.points is not None and len(data.class_names) > 2:
        raise OptionError(f"points need two classes, and the target has {len(data.class_names)}", points=None)
    if options.crosses or options.calibrate is not None:
        check_folds(data.class_counts, data.class_names, options.folds)
    with part(0.5, 1.0):
        surveyed = (_new_search(data, options) if options.crosses else new_classifier(data, options))._surveyed(stream)
    data = with_rows(data, surveyed.sample, options, by_passes=not surveyed.is_gathered)
    assert isinstance(stream.source, TableSource)
    return Survey(target, data, surveyed, stream.source.parts, options.ignore, news)


def train_surveyed(rows: Survey, options: TrainingOptions, *, deadline: float | None = None, verbose: int = 0) -> Trained:
    """Choose loss, k and C, fit, and calibrate, as ``train`` goes on.

    Parameters
    ----------
    rows : Survey
    options : TrainingOptions
        Those of the survey; rules on terms (which ``data`` must be under), k, C, the loss and what follows them may differ.
    deadline : float, optional
        When to end with what there is, by ``time.monotonic()``.
    verbose : int

    Returns
    -------
    Trained
    """
    data, surveyed = rows.data, rows.stream
    options = replace(options, forms=data.forms, ignore=rows.ignore)
    model = _new_search(data, options) if options.crosses else new_classifier(data, options)
    if data.groups is not None:
        _check_groups(data.groups, options)
        if options.crosses and not surveyed.is_gathered:
            _check_training_parts(data, [fold.train for fold in surveyed.folds(options.folds)])
    if surveyed.is_gathered:
        model.set_params(**_in_memory(data, options, verbose))
    with part(0.0, 0.9):
        classifier, search = _fitted(model, surveyed, data.coding, deadline)
    with part(0.9, 1.0):
        return _completed(rows, options, classifier, search)


def with_cutoff(trained: Trained, rows: Survey, cutoff: float | str) -> Trained:
    """The same fit with another cut-off, as ``train_surveyed`` would have made it.

    Parameters
    ----------
    trained : Trained
        To these rows, by cross-validation.
    rows : Survey
    cutoff : float or str
        As in TrainingOptions.

    Returns
    -------
    Trained
    """
    return _completed(rows, replace(trained.options, cutoff=cutoff), trained.classifier, trained.search)


def _completed(
    rows: Survey, options: TrainingOptions, classifier: SparseQuadraticSVC, search: SparseQuadraticSVCCV | None
) -> Trained:
    """What was found, calibrated, and with what it says of the rows that it was fitted to."""
    data, surveyed = rows.data, rows.stream
    model = _finished(classifier, search, data, options)
    count = partial(_labelled, model=model, classifier=classifier, classes=surveyed.stream.classes)
    labels = count(surveyed.sample) if surveyed.is_gathered else surveyed.stream.source.total(count)
    return Trained(
        model=with_coding(model, data),
        data=data,
        target=rows.target,
        options=options,
        search=search,
        accuracy=labels.n_right / labels.n_rows,
        labelled=tuple(labels.by_model.tolist()),
        by_surface=tuple(labels.by_surface.tolist()),
        cross_validation=None if search is None else _cross_validated(search, model, data, options),
    )


def with_samples(trained: Trained, rows: Survey, raw: Table | None = None) -> Trained:
    """The same fit, measured on all samples, and with distributions of the rows that it was fitted to, or of some of them.

    Parameters
    ----------
    trained : Trained
    rows : Survey
    raw : Table, optional
        The rows of its sample as they came; by default they are read once more.

    Returns
    -------
    Trained
    """
    ids = rows.stream.sample.ids
    names = sorted(trained.view.needed) or trained.view.input_names[:1]
    drawn = drawn_rows(ids, sample_size(len(names)), trained.options.seed)
    model, seed = TableModel(trained.saved()), trained.options.seed
    is_judged = trained.search is not None or rows.news  # else there are only figures on the rows that it was fitted to
    samples = all_samples(model, rows.data, trained.search, rows.parts, rows.news, seed) if is_judged else None
    table = gathered(rows.parts, ids[drawn] - 1, names) if raw is None else raw[drawn]
    return replace(trained, samples=samples, reference=Reference.of(model, table))


def _in_memory(data: PreparedData, options: TrainingOptions, verbose: int) -> dict[str, Any]:
    n_jobs = _n_jobs(data, options) if options.crosses else None
    own = {"cv": folds_of(data, options), "n_jobs": n_jobs} if options.crosses else {}
    # other processes would write past whoever listens here
    return own | {"verbose": verbose if n_jobs is None else 0}


@scales_as_prepared()
def _fitted(
    model: SparseQuadraticSVC | SparseQuadraticSVCCV,
    surveyed: CappedStream,
    coding: Coding | None,
    deadline: float | None,
) -> tuple[SparseQuadraticSVC, SparseQuadraticSVCCV | None]:
    """The fitted classifier, and the cross-validation that chose it; the encoder knows the names of features."""
    if isinstance(model, SparseQuadraticSVC):
        return _nameless(model._fit_surveyed(surveyed)), None
    fitted = _nameless(model._fit_surveyed(surveyed, coding=coding, deadline=deadline))
    return _nameless(fitted.best_estimator_), fitted


def _nameless(estimator: Any) -> Any:
    del estimator.feature_names_in_
    return estimator


def _finished(
    classifier: SparseQuadraticSVC, search: SparseQuadraticSVCCV | None, data: PreparedData, options: TrainingOptions
) -> Any:
    """The classifier, calibrated as the options ask for; refused if it is worth nothing."""
    classifier.set_params(verbose=0)
    if not options.allow_degenerate and all(fitted_model(classifier).is_constant(data.X)):
        raise OptionError(
            "the coefficients are only rounding: no term tells the classes apart, and f is the same for all rows",
            class_weight="balanced",
            allow_degenerate=None,
        )
    return classifier if options.calibrate is None else _calibrated(classifier, search, data, options, options.calibrate)


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a model says of rows; ``+`` adds other rows.

    Attributes
    ----------
    n_rows, n_right : int
    by_model, by_surface : arrays of shape (n_classes,)
        How many rows get the label of each class, from the model and from its surface alone.
    """

    n_rows: int
    n_right: int
    by_model: IntArray
    by_surface: IntArray

    def __add__(self, other: Labelled) -> Labelled:
        rows, right = self.n_rows + other.n_rows, self.n_right + other.n_right
        return Labelled(rows, right, self.by_model + other.by_model, self.by_surface + other.by_surface)


def _labelled(batch: SampleBatch, model: Any, classifier: SparseQuadraticSVC, classes: np.ndarray) -> Labelled:
    labels = model.predict(batch.X)
    alone = labels if model is classifier else classifier.predict(batch.X)
    by_model, by_surface = ((each == model.classes_[:, None]).sum(axis=1) for each in (labels, alone))
    return Labelled(len(labels), int(np.sum(labels == classes[batch.target.codes])), by_model, by_surface)


def _cross_validated(search: SparseQuadraticSVCCV, model: Any, data: PreparedData, options: TrainingOptions) -> CrossValidated:
    tests = [np.flatnonzero(search.oof_folds_ == fold) for fold in range(options.folds)]
    weight = data.weight(np.arange(len(data.codes)))
    found = cross_validated(search, options.scoring, data.codes, tests, fitted_model(model).decided, weight)
    return replace(found, plain=plain_logistic(data.X, data.codes, tests, weight))


@scales_as_prepared()
def price_rules(trained: Trained) -> RulePrices:
    """What each rule of a fitted model costs, on the rows and folds that it was chosen on; ValueError if it has none.

    Parameters
    ----------
    trained : Trained
        Where the table was read in passes, its random sample serves.

    Returns
    -------
    RulePrices
    """
    own, data = trained.classifier, trained.data
    fixed: dict[str, Any] = {"k": own.k, "C": own.C, "loss": own.loss, "terms": own.terms, "ks": None, "Cs": None}
    options = replace(trained.options, **fixed, method="best" if own.method == "exact" else own.method)

    def fit(change: Mapping[str, Any]) -> SparseQuadraticSVCCV:
        # without a rule the fit would have chosen the kind of terms again
        lifted: dict[str, Any] = {name: () if name in TERMS else value for name, value in change.items()}
        free = replace(options, **lifted, terms=trained.options.terms if change else options.terms)
        return choose(data.under(free), free)

    rules = listed_rules(options, TERMS) | listed_shapes(options)
    labels = data.class_names if len(data.class_names) > 2 else ()
    return priced(fit, rules, term_names(data.feature_names), labels, options.scoring)


@scales_as_prepared()
def choose(data: PreparedData, options: TrainingOptions, *, certify: bool = False, verbose: int = 0) -> SparseQuadraticSVCCV:
    """Cross-validate over the grid of k and C that the options ask for.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions
    certify : bool
        Whether the paths get lower bounds.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    SparseQuadraticSVCCV
        Fitted to the coded data.
    """
    search = _new_search(data, options).set_params(certify=certify, **_in_memory(data, options, verbose))
    return search._fit_coded(data.X, data.y, data.sample_weight, data.groups, data.coding)


def _new_search(data: PreparedData, options: TrainingOptions) -> SparseQuadraticSVCCV:
    try:
        scorer = scorer_for(options.scoring, data.labels)
    except ValueError as error:
        raise OptionError(str(error), scoring=None) from None
    given: dict[str, Any] = {
        "rule": options.rule,
        "fit_time_limit": options.fit_time_limit,
    }  # else the estimator's own defaults
    return SparseQuadraticSVCCV(
        ks=_ks(data, options) if options.k is None else (options.k,),
        Cs=options.Cs if options.C is None else (options.C,),
        cv=options.folds,
        terms=options.terms,
        scoring=scorer,
        **{name: value for name, value in given.items() if value is not None},
        **_shared_parameters(data, options),
    )


@scales_as_prepared()
def fitted_classifier(
    data: PreparedData, options: TrainingOptions, k: int | None = None, C: float | None = None, *, verbose: int = 0
) -> SparseQuadraticSVC:
    """The classifier with given k and C, fitted to the coded data.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions
    k, C : int, float, optional
        In place of those of the options.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    SparseQuadraticSVC
    """
    return new_classifier(data, options, k, C).set_params(verbose=verbose).fit(data.X, data.y, data.sample_weight)


def new_classifier(
    data: PreparedData, options: TrainingOptions, k: int | None = None, C: float | None = None
) -> SparseQuadraticSVC:
    """The classifier that the options ask for, not fitted.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions
    k, C : int, float, optional
        In place of those of the options.

    Returns
    -------
    SparseQuadraticSVC
    """
    k, C = k or options.k, C or options.C
    assert k is not None and C is not None  # noqa: PT018
    terms = "quadratic" if options.terms == AUTO else options.terms
    return SparseQuadraticSVC(k, C, **{"terms": terms, **_shared_parameters(data, options)})


def folds_of(data: PreparedData, options: TrainingOptions) -> StratifiedKFold | StratifiedGroupKFold:
    """The folds of a cross-validation; an error where there are too few rows of a class, or too few groups.

    Parameters
    ----------
    data : PreparedData
    options : TrainingOptions

    Returns
    -------
    StratifiedKFold or StratifiedGroupKFold
    """
    check_folds(np.bincount(data.codes).tolist(), data.class_names, options.folds)
    if data.groups is None:
        return StratifiedKFold(options.folds, shuffle=True, random_state=options.seed)
    _check_groups(data.groups, options)
    folds = StratifiedGroupKFold(options.folds, shuffle=True, random_state=options.seed)
    _check_training_parts(data, [train for train, _ in folds.split(data.X, data.y, data.groups)])
    return folds


def _check_training_parts(data: PreparedData, parts: Sequence[IntArray]) -> None:
    """Refuse groups that leave the training part of a fold without a class."""
    for number, train in enumerate(parts, start=1):
        lost = [name for code, name in enumerate(data.class_names) if code not in data.codes[train]]
        if lost:
            raise OptionError(
                f"all rows of class {quoted(lost[0])} are in groups of fold {number}, which leaves none to learn from: "
                "choose other groups, or fewer folds",
                groups=None,
                folds=None,
            )


def _check_groups(groups: IntArray, options: TrainingOptions) -> None:
    n_groups = len(np.unique(groups))
    if n_groups < options.folds:
        raise OptionError(
            f"the column {options.groups!r} has {n_groups} group{'s' * (n_groups != 1)}, fewer than the {options.folds} folds",
            groups=None,
            folds=None,
        )


def check_folds(counts: Sequence[int], names: Sequence[str], folds: int) -> None:
    """Refuse more folds than a class has rows: some would have none of it to judge, or none to learn from.

    Parameters
    ----------
    counts : sequence of int
        Rows of each class.
    names : sequence of str
        Of the classes.
    folds : int
    """
    fewest = min(counts)
    if fewest >= folds:
        return
    rows = f"class {quoted(names[counts.index(fewest)])} has {fewest} row{'s' * (fewest != 1)}"
    advice = "merge that class with another, or drop it" if len(names) > 2 else "add rows of that class"
    if fewest < 2:
        raise ValueError(f"{rows}, and cross-validation needs two or more of each: {advice}")
    raise OptionError(f"{rows}, fewer than the {folds} folds: choose {fewest} or fewer, or {advice}", folds=None)


def _shared_parameters(data: PreparedData, options: TrainingOptions) -> dict[str, Any]:
    return ({} if options.loss == AUTO else {"loss": options.loss}) | {
        "method": options.method,
        "multiclass": options.multiclass,
        "standardize": options.standardize,
        "clip": options.clip,
        "class_weight": data.class_weight(options.class_weight),
        "include": data.limits.include or None,
        "exclude": data.limits.exclude or None,
        **data.limits.rules,
        "time_limit": options.time_limit,
        "gap_limit": options.gap_limit,
        "random_state": options.seed,
    }


def _ks(data: PreparedData, options: TrainingOptions) -> tuple[int, ...] | None:
    if options.ks is None:
        return None
    low, high = max(len(data.limits.include), 1), data.n_candidates
    return tuple(k for k in options.ks if low <= k <= high) or (min(max(options.ks[0], low), high),)


def _n_jobs(data: PreparedData, options: TrainingOptions) -> int | None:
    n_jobs = options.n_jobs
    if n_jobs is None and len(data.X) * data.n_candidates >= PARALLEL_FROM:
        loss, extent = _shared_parameters(data, options).get("loss", SparseQuadraticSVCCV().loss), _extent(data, options)
        losses = [loss] if isinstance(loss, str) else loss
        n_jobs = min(affordable_processes(name, extent, os.cpu_count() or 1) for name in losses)
    return None if n_jobs == 1 else n_jobs


def _extent(data: PreparedData, options: TrainingOptions) -> Extent:
    grid = (len(options.Cs or DEFAULT_CS), len(options.ks or (*DEFAULT_KS, *DEFAULT_LINEAR_KS)))
    return Extent(data.X.shape, len(data.class_names), len(data.limits.left_out), grid, len(data.X) // min(options.folds, 5))


@scales_as_prepared()
def _calibrated(
    classifier: SparseQuadraticSVC,
    search: SparseQuadraticSVCCV | None,
    data: PreparedData,
    options: TrainingOptions,
    method: str,
) -> CalibratedModel:
    """The fitted classifier as it is, with probabilities and cut-off from out-of-fold scores: those of the cross-validation."""
    splitter = folds_of(data, options)
    known = _left_out_decisions(classifier, data, splitter) if search is None else search.oof_decision_
    folds = splitter if data.groups is None or search is not None else list(splitter.split(data.X, data.y, data.groups))
    how: dict[str, Any] = {"method": method, "cv": folds, "cutoff": options.cutoff, "n_jobs": _n_jobs(data, options)}
    how["sample_weight"] = data.sample_weight
    return CalibratedModel.around(classifier, data.X, data.y, **how, out_of_fold=known).set_params(cv=splitter, n_jobs=None)


def _left_out_decisions(
    classifier: SparseQuadraticSVC, data: PreparedData, splitter: StratifiedKFold | StratifiedGroupKFold
) -> FloatArray | None:
    """Decision values by folds that learn levels and imputed values, too; None where there is nothing of that to learn."""
    if data.coding is None or not data.coding.learns:
        return None
    n_surfaces = len(data.class_names)
    out = np.full(len(data.y) if n_surfaces == 2 else (len(data.y), n_surfaces), np.nan)
    for train_rows, test in splitter.split(data.X, data.y, data.groups):
        training, X = recoded(data, train_rows)
        own = clone(classifier).set_params(exclude=training.limits.exclude or None)
        out[test] = own.fit(X[train_rows], data.y[train_rows], data.weight(train_rows)).decision_function(X[test])
    return out


def with_coding(model: Any, data: PreparedData) -> Any:
    """A model of coded rows as one of raw rows.

    Parameters
    ----------
    model : fitted classifier, or CalibratedModel of it
    data : PreparedData

    Returns
    -------
    Pipeline, or CalibratedModel of it
    """
    if isinstance(model, CalibratedModel):
        inner = with_coding(model.estimator_, data)
        same = {name: value for name, value in model.get_params(deep=False).items() if name != "estimator"}
        return CalibratedModel.from_parts(inner, model.calibrators_, model.cutoff_).set_params(**same)
    return Pipeline([("coding", data.encoder), ("classifier", model)])
