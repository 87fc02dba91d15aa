"""Cross-validated choice of k and C, fold by fold along the path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import validate_data

from quadric._sklearn import check_sample_weight, scorer_takes_weights
from quadric.certificate import Judge
from quadric.estimators._base import (
    ClassWeight,
    RandomState,
    SparseSurfaceClassifier,
    SurfaceFit,
    Terms,
    predicted,
    seed_of,
)
from quadric.estimators._constraints import support_limits
from quadric.estimators._convergence import warn_unless_converged
from quadric.estimators._grids import C_grid, k_grid
from quadric.estimators._units import Units
from quadric.estimators._validation import (
    CLIP,
    N_JOBS,
    TRUE_OR_FALSE,
    VERBOSE,
    Samples,
    check_parameters,
    none_or,
    number_from,
    one_of,
    validate_samples,
)
from quadric.estimators.classifier import SparseQuadraticSVC
from quadric.geometry.lifting import lift
from quadric.geometry.terms import term_count
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import TrainingData
from quadric.losses.footprint import check_memory
from quadric.progress import Report, writer_for
from quadric.resources import processes_of
from quadric.search.decomposition import Schedule
from quadric.search.methods import METHODS, SearchOptions, search
from quadric.search.path import QuadraticPath, trace_path
from quadric.search.rules import SupportLimits
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workers import workers


class SparseQuadraticSVCCV(SparseSurfaceClassifier):
    """SparseQuadraticSVC with the number of terms and C chosen by cross-validation.

    Every fold runs one path over all C and k (see :func:`sparse_quadratic_path`) instead of one fit per cell.

    Parameters
    ----------
    ks : increasing sequence of int or None
        Numbers of terms to try; None: 1 to 6, 8, 10, 12, 15 and 20, as far as the data have that many terms.
    Cs : sequence of float, int or None
        Values of C to try, in any order; a number n means the n values 4^-1, 4^0, 4^1, ...; None: 1, 8, 64 and 512.
    loss : {"hinge", "least_squares"}
        Loss function.
    cv : int, splitter or iterable
        Folds, as in scikit-learn.
    scoring : str, callable or None
        Score to maximise, as in scikit-learn; None: accuracy.
    rule : {"best", "1se"}
        "best": the cell with the largest mean score; ties go to the smaller k, then to the smaller C. "1se": the smallest k for
        which some C comes within one standard error of that mean, and the best C for it; never more terms than "best".
    standardize : bool
        Standardise the features by the training rows of each fold, and for the final fit, as in SparseQuadraticSVC.
    clip : float or None
        Cap the features at quantiles of the training rows of each fold, and for the final fit, as in SparseQuadraticSVC.
    method : {"pd", "best", "exact"}
        How terms are searched along the paths and for the final fit. "exact": paths as with "best", and a proof, or a bound,
        for the final fit.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes.
    include : sequence or None
        Terms that must be in every support, as in SparseQuadraticSVC.
    exclude : sequence or None
        Terms that must not be in any support.
    time_limit : float or None
        Seconds per surface of the final fit, as in SparseQuadraticSVC.
    n_jobs : int or None
        Folds that run at the same time; the result does not depend on it.
    random_state : int, RandomState or None
        Seed of the perturbations; None draws a new one for each fit.
    verbose : int
        1 or 2 writes progress to standard error.

    Attributes
    ----------
    best_k_, best_C_ : int, float
        The choice.
    cv_scores_ : array of shape (n_folds, n_Cs, n_ks)
        Scores of all cells.
    ks_, Cs_ : arrays
        The grid.
    paths_ : list of QuadraticPath
        On all data; one for two classes, otherwise one per class, in the order of ``classes_``. Their ``scores`` are
        ``cv_scores_``.
    best_estimator_ : SparseQuadraticSVC
        The final fit as a model of its own, with the chosen k and C; ready to predict, save and export.
    surfaces_, coef_, intercept_, certificates_, status_, traces_, n_iter_, raw_surfaces_, classes_ :
        Of the final fit, as in SparseQuadraticSVC.
    clip_low_, clip_high_, center_, scale_ :
        Likewise.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    """

    _rules = {
        "loss": one_of(*LOSS_NAMES),
        "rule": one_of("best", "1se"),
        "standardize": TRUE_OR_FALSE,
        "clip": CLIP,
        "method": one_of(*METHODS),
        "time_limit": none_or(number_from(0.0)),
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        ks: Sequence[int] | None = None,
        Cs: Sequence[float] | int | None = None,
        *,
        loss: str = "hinge",
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        rule: Literal["1se", "best"] = "1se",
        standardize: bool = True,
        clip: float | None = 0.01,
        method: Literal["best", "pd", "exact"] = "best",
        class_weight: ClassWeight = None,
        include: Terms = None,
        exclude: Terms = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.ks = ks
        self.Cs = Cs
        self.loss = loss
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.standardize = standardize
        self.clip = clip
        self.method = method
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None
    ) -> Self:
        """Choose k and C, then fit on all data.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples; finite, dense.
        y : array-like of shape (m,)
            Labels of two or more classes.
        sample_weight : array-like of shape (m,), optional
            Repetitions, in the fits and, where the metric takes them, in the scores.
        groups : array-like of shape (m,), optional
            Passed to the splitter.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        check_parameters(self, self._rules)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        samples = validate_samples(X, y, sample_weight, self.class_weight)
        prepared, units = self._in_units(samples)
        task = self._task(X.shape[1])
        present = check_sample_weight(sample_weight, X, non_negative=False) > 0
        folds = check_cv(self.cv, y, classifier=True)
        processes = processes_of(self.n_jobs, n_folds := folds.get_n_splits(X, y, groups))
        details = {"grid": (len(task.Cs), len(task.ks)), "n_scored": len(X) // min(n_folds, 5)}
        check_memory(self.loss, samples.extent(task.limits, **details, proves=self.method == "exact"), processes)
        splits = _without_absent(folds.split(X, y, groups), present)
        scores = self._cross_validate(task, samples, splits, processes)
        C_index, k_index = chosen_cell(scores, self.rule)
        self.cv_scores_, self.Cs_, self.ks_ = scores, task.Cs, task.ks
        self.best_C_, self.best_k_ = float(task.Cs[C_index]), int(task.ks[k_index])
        fits = self._fit_all_rows(task, prepared, (C_index, k_index))
        self._set_fits(fits, samples.classes, units)
        self.best_estimator_ = self._as_classifier(fits, units)

    def _task(self, n_features: int) -> _Task:
        names, n_terms = getattr(self, "feature_names_in_", None), term_count(n_features)
        limits = support_limits(self.include, self.exclude, names, n_features, n_terms)
        ks = k_grid(self.ks, n_terms - len(limits.exclude), len(limits.include))
        Cs, seed = np.unique(C_grid(self.Cs)), seed_of(self.random_state)
        return _Task(self.loss, self.method, bool(self.standardize), self.clip, self.class_weight, limits, Cs, ks, seed)

    def _cross_validate(
        self, task: _Task, samples: Samples, splits: Iterable[tuple[IntArray, IntArray]], processes: int
    ) -> FloatArray:
        scorer = check_scoring(_ScoredClassifier(samples.classes), scoring=self.scoring)
        jobs = (
            delayed(_score_fold)(task, samples, fold, train, test, scorer, int(self.verbose))
            for fold, (train, test) in enumerate(splits)
        )
        return np.array(workers(processes)(jobs))

    def _fit_all_rows(self, task: _Task, samples: Samples, cell: tuple[int, int]) -> list[SurfaceFit]:
        """The chosen surface of each class; leaves the paths behind."""
        data, judge, schedule = task.training_data(samples), samples.judge(), Schedule(time_limit=self.time_limit)
        jobs = (
            delayed(_final_surface)(task, data, judge, samples.signs(positive), positive, cell, schedule, int(self.verbose))
            for positive in samples.positives()
        )
        results = list(workers(processes_of(self.n_jobs, len(samples.positives())))(jobs))
        self.paths_ = [replace(path, scores=self.cv_scores_) for path, _ in results]
        for _, fit in results:
            warn_unless_converged(fit, schedule, type(self).__name__)
        return [fit for _, fit in results]

    def _as_classifier(self, fits: Sequence[SurfaceFit], units: Units) -> SparseQuadraticSVC:
        """The final fit with the parameters that both estimators have."""
        own = self.get_params()
        parameters = {name: own[name] for name in SparseQuadraticSVC().get_params() if name in own}
        model = SparseQuadraticSVC(self.best_k_, self.best_C_, **parameters)
        model._set_fits(fits, self.classes_, units)
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model


@dataclass(frozen=True)
class _Task:
    """What every fold does."""

    loss: str
    method: str
    standardize: bool
    clip: float | None
    class_weight: ClassWeight
    limits: SupportLimits
    Cs: FloatArray
    ks: IntArray
    seed: int

    def training_data(self, samples: Samples) -> TrainingData:
        return loss_named(self.loss).data.from_samples(samples, self.limits)

    def path(self, data: TrainingData, positive: int, report: Report) -> QuadraticPath:
        """Surfaces of all cells for one class against the rest."""
        method = "pd" if self.method == "pd" else "best"
        return trace_path(data, positive, self.Cs, self.ks, method=method, seed=(self.seed, positive), report=report)


def _without_absent(splits: Iterable[tuple[IntArray, IntArray]], present: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Folds as positions among the samples of positive weight: the splitter saw all of them."""
    everyone, position = np.arange(len(present)), np.cumsum(present) - 1
    for fold in splits:
        train, test = (everyone[part] for part in fold)  # positions, lists of them or masks
        yield position[train[present[train]]], position[test[present[test]]]


def chosen_cell(scores: FloatArray, rule: str) -> tuple[int, int]:
    """Positions of C and k: the best mean, or the smallest k within one standard error of it."""
    mean = scores.mean(axis=0)
    by_k_then_C = mean.T  # ties to the smaller k, then to the smaller C: the first maximum in this order
    k_index, C_index = (int(i) for i in np.unravel_index(int(np.argmax(by_k_then_C)), by_k_then_C.shape))
    if rule == "1se" and len(scores) > 1:
        error = float(scores[:, C_index, k_index].std(ddof=1)) / np.sqrt(len(scores))
        within = mean.max(axis=0) >= mean[C_index, k_index] - error
        k_index = int(np.argmax(within))
        C_index = int(np.argmax(mean[:, k_index]))
    return C_index, k_index


def _score_fold(
    task: _Task, samples: Samples, fold: int, train: IntArray, test: IntArray, scorer: Callable[..., float], verbose: int
) -> FloatArray:
    """Scores of all cells on the samples left out."""
    missing = np.setdiff1d(np.arange(len(samples.classes)), samples.codes[train])
    if len(missing):
        raise ValueError(
            f"fold {fold} has no training sample of class {samples.classes[missing].tolist()[0]!r}; use fewer folds"
        )
    y, weight = samples.classes[samples.codes[test]], samples.sample_weight[test]
    units = Units.of(samples.X[train], samples.sample_weight[train], standardize=task.standardize, clip=task.clip)
    X, X_test = units(samples.X[train]), units(samples.X[test])
    labels = samples.classes[samples.codes[train]]
    part = validate_samples(X, labels, samples.sample_weight[train], task.class_weight, samples.classes)
    data, report = task.training_data(part), writer_for(verbose)
    R = lift(X_test)
    paths = [task.path(data, positive, lambda line: report(f"fold {fold}, {line}")) for positive in part.positives()]
    decisions = np.array([path.coef @ R.T + path.intercept[..., None] for path in paths])
    return _cell_scores(decisions, samples, test, y, weight, scorer, fold)


def _cell_scores(
    decisions: FloatArray,
    samples: Samples,
    test: IntArray,
    y: np.ndarray,
    weight: FloatArray,
    scorer: Callable[..., float],
    fold: int,
) -> FloatArray:
    """One score per cell, from decisions of shape (n_surfaces, n_Cs, n_ks, m)."""
    extra = {"sample_weight": weight} if scorer_takes_weights(scorer) else {}
    out = np.empty(decisions.shape[1:3])
    for cell in np.ndindex(*out.shape):
        values = decisions[(slice(None), *cell)]
        scored = _ScoredClassifier(samples.classes, values[0] if len(values) == 1 else values.T)
        try:
            out[cell] = scorer(scored, samples.X[test], y, **extra)
        except Exception as error:
            asks_for_chances = isinstance(error, AttributeError) and "predict_proba" in str(error)
            reason = "it needs probabilities, and surfaces give decision values only" if asks_for_chances else error
            raise ValueError(f"scoring failed in fold {fold}: {reason}") from error
        if not np.isfinite(out[cell]):
            raise ValueError(f"scoring returned {out[cell]} in fold {fold}")
    return out


class _ScoredClassifier(ClassifierMixin, BaseEstimator):
    """Stands before a scorer in place of a fitted classifier whose decisions are known already."""

    def __init__(self, classes: np.ndarray, scores: FloatArray | None = None) -> None:
        self.classes = classes
        self.scores = scores
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> Self:
        return self

    def decision_function(self, X: Any) -> FloatArray:
        assert self.scores is not None
        return self.scores

    def predict(self, X: Any) -> np.ndarray:
        return predicted(self.decision_function(X), self.classes_)


def _final_surface(
    task: _Task,
    data: TrainingData,
    judge: Judge,
    y: FloatArray,
    positive: int,
    cell: tuple[int, int],
    schedule: Schedule,
    verbose: int,
) -> tuple[QuadraticPath, SurfaceFit]:
    """The path of one class on all data, and the surface of the chosen cell: a full search that starts from the path's, too."""
    report = writer_for(verbose)
    path = task.path(data, positive, report)
    k = int(task.ks[cell[1]])
    problem = data.one_against_rest(positive, float(task.Cs[cell[0]]), k)
    start = np.flatnonzero(path.support[cell][problem.terms])
    result = search(problem, task.method, SearchOptions(schedule, (task.seed, positive), report, (start,)))
    if path.objective[cell] < result.objective:  # a time limit, or a search that takes no starts: what the path found stays
        z, c = path.coef[cell][problem.terms], float(path.intercept[cell])
        result = replace(result, z=z, c=c, support=start, objective=float(path.objective[cell]), swap_optimal=None)
    return path, SurfaceFit.of(problem, result, judge, y, k)
