"""Cross-validated choice of k and C, fold by fold along the path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import validate_data

from quadric._sklearn import check_sample_weight, scorer_takes_weights
from quadric.certificate import JudgedSamples
from quadric.estimators._base import SurfaceClassifier, SurfaceFit, predicted, seed_of
from quadric.estimators._constraints import support_limits
from quadric.estimators._convergence import warn_unless_converged
from quadric.estimators._grids import C_grid, k_grid
from quadric.estimators._validation import (
    N_JOBS,
    VERBOSE,
    Rule,
    Samples,
    check_parameters,
    check_spread,
    one_of,
    validate_samples,
)
from quadric.geometry.lifting import lift
from quadric.problem import TRAINING_DATA, SparseProblem, SupportLimits
from quadric.progress import writer_for
from quadric.search.decomposition import Schedule
from quadric.search.methods import SearchOptions, SearchResult, search
from quadric.search.path import PATH_METHODS, QuadraticPath, trace_path
from quadric.types import BoolArray, FloatArray, IntArray


class SparseQuadraticSVCCV(SurfaceClassifier):
    """SparseQuadraticSVC with the number of terms and C chosen by cross-validation.

    Every fold runs one path over all C and k (see :func:`sparse_quadratic_path`) instead of a fit a cell.

    Parameters
    ----------
    ks : increasing sequence of int or None
        Numbers of terms to try; None: 1, 2, ... up to the number of terms or 100.
    Cs : int or sequence of float
        Values of C to try, in any order; a number n means the n values 4^-1, 4^0, 4^1, ...
    cv : int, splitter or iterable
        Folds, as in scikit-learn.
    scoring : str, callable or None
        Score to maximise, as in scikit-learn; None: accuracy.
    rule : {"best", "1se"}
        "best": the cell with the largest mean score; ties go to the smaller k, then to the smaller C. "1se": the smallest k for
        which some C comes within one standard error of that mean, and the best C for it; never more terms than "best".
    standardize : bool
        Centre and scale the features inside each fold and for the final fit. ``surfaces_`` and ``certificates_`` are then in
        standardised units, in which k was counted; ``raw_surfaces_`` take raw features and may show more terms.
    loss : {"hinge", "least_squares"}
        Loss function.
    method : {"pd", "best"}
        How terms are searched along the paths and for the final fit.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes.
    include : sequence or None
        Terms that must be in every support, as in SparseQuadraticSVC.
    exclude : sequence or None
        Terms that must not be in any support.
    n_jobs : int or None
        Folds that run at the same time; the result does not depend on it.
    random_state : int, RandomState or None
        Seed of the perturbations; None is a fixed seed.
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
        On all data; one a class, in the order of ``classes_``, for more than two of them. Its ``scores`` are ``cv_scores_``.
    surfaces_, coef_, intercept_, certificates_, status_, n_iter_, classes_ :
        Of the final fit, as in SparseQuadraticSVC.
    center_, scale_ : arrays of shape (n,)
        What ``standardize`` subtracted and divided by; zeros and ones without it.
    raw_surfaces_ : list of QuadraticSurface
        The same functions of raw features; not counted and not certified.
    n_features_in_, feature_names_in_ :
        As in scikit-learn.
    """

    _rules = {
        "rule": one_of("best", "1se"),
        "standardize": Rule(lambda value: isinstance(value, bool | np.bool_), "True or False"),
        "loss": one_of(*sorted(TRAINING_DATA)),
        "method": one_of(*PATH_METHODS),
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        ks: Any = None,
        Cs: Any = 10,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        standardize: bool = False,
        loss: str = "hinge",
        method: str = "best",
        class_weight: Any = None,
        include: Any = None,
        exclude: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.ks = ks
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.standardize = standardize
        self.loss = loss
        self.method = method
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
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
        names = getattr(self, "feature_names_in_", None)
        if not self.standardize:
            check_spread(X, names, type(self).__name__)
        grid = _Grid(np.unique(C_grid(self.Cs)), k_grid(self.ks, X.shape[1]))
        limits = support_limits(self.include, self.exclude, names, X.shape[1], int(grid.ks[0]))
        task = _Task(
            self.loss, self.method, bool(self.standardize), self.class_weight, limits, grid, seed_of(self.random_state)
        )
        present = check_sample_weight(sample_weight, X, non_negative=False) > 0
        splits = check_cv(self.cv, y, classifier=True).split(X, y, groups)
        scores = self._cross_validate(task, samples, _without_absent(splits, present))
        C_index, k_index = chosen_cell(scores, self.rule)
        self._refit(task, samples, scores, C_index, k_index)

    def _cross_validate(self, task: _Task, samples: Samples, splits: Iterable[tuple[IntArray, IntArray]]) -> FloatArray:
        scorer = check_scoring(_KnownScores(samples.classes), scoring=self.scoring)
        jobs = (
            delayed(_score_fold)(task, samples, fold, train, test, scorer, int(self.verbose))
            for fold, (train, test) in enumerate(splits)
        )
        return np.array(Parallel(n_jobs=self.n_jobs)(jobs))

    def _refit(self, task: _Task, samples: Samples, scores: FloatArray, C_index: int, k_index: int) -> None:
        center, scale = task.standardisation(samples.X, samples.sample_weight)
        ready = replace(samples, X=(samples.X - center) / scale)
        C, k = float(task.grid.Cs[C_index]), int(task.grid.ks[k_index])
        data = task.training_data(ready)
        jobs = (
            delayed(_final_surface)(task, data, ready.against_rest(positive), positive, (C_index, k_index), int(self.verbose))
            for positive in ready.positives()
        )
        results = list(Parallel(n_jobs=self.n_jobs)(jobs))
        paths, fits = [replace(path, scores=scores) for path, _ in results], [fit for _, fit in results]
        for fit in fits:
            warn_unless_converged(fit, Schedule(), type(self).__name__)
        self.classes_ = samples.classes
        self.center_, self.scale_ = center, scale
        self._set_surfaces([fit.surface for fit in fits])
        self.raw_surfaces_ = [surface.unscale(center, scale) for surface in self.surfaces_]
        self.certificates_ = [fit.certificate for fit in fits]
        self.status_ = [str(fit.search.status) for fit in fits]
        self.n_iter_ = np.array([fit.search.n_iter for fit in fits])
        self.paths_ = paths
        self.cv_scores_, self.Cs_, self.ks_ = scores, task.grid.Cs, task.grid.ks
        self.best_C_, self.best_k_ = C, k

    def _prepared(self, X: FloatArray) -> FloatArray:
        return (X - self.center_) / self.scale_


@dataclass(frozen=True)
class _Grid:
    Cs: FloatArray
    ks: IntArray


@dataclass(frozen=True)
class _Task:
    """What every fold does."""

    loss: str
    method: str
    standardize: bool
    class_weight: Any
    limits: SupportLimits
    grid: _Grid
    seed: int

    def standardisation(self, X: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted mean and standard deviation; nothing to do without ``standardize``, and for constant columns."""
        if not self.standardize:
            return np.zeros(X.shape[1]), np.ones(X.shape[1])
        center = np.average(X, axis=0, weights=weight)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weight))
        return center, np.where(scale > 1e-12 * np.abs(X).max(axis=0), scale, 1.0)

    def training_data(self, samples: Samples) -> Any:
        return TRAINING_DATA[self.loss].from_samples(samples, self.limits)


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
    center, scale = task.standardisation(samples.X[train], samples.sample_weight[train])
    part = validate_samples(
        (samples.X[train] - center) / scale,
        samples.classes[samples.codes[train]],
        samples.sample_weight[train],
        task.class_weight,
        samples.classes,
    )
    data, report = task.training_data(part), writer_for(verbose)
    R = lift((samples.X[test] - center) / scale)
    paths = [
        trace_path(
            data,
            positive,
            task.grid.Cs,
            task.grid.ks,
            method=task.method,
            seed=(task.seed, positive),
            report=lambda line: report(f"fold {fold}, {line}"),
        )
        for positive in part.positives()
    ]
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
    """One score a cell, from decisions of shape (n_surfaces, n_Cs, n_ks, m)."""
    extra = {"sample_weight": weight} if scorer_takes_weights(scorer) else {}
    out = np.empty(decisions.shape[1:3])
    for cell in np.ndindex(*out.shape):
        values = decisions[(slice(None), *cell)]
        known = _KnownScores(samples.classes, values[0] if len(values) == 1 else values.T)
        try:
            out[cell] = scorer(known, samples.X[test], y, **extra)
        except Exception as error:
            raise ValueError(f"the scorer failed in fold {fold}: {error}") from error
        if not np.isfinite(out[cell]):
            raise ValueError(f"the scorer returned {out[cell]} in fold {fold}")
    return out


class _KnownScores(ClassifierMixin, BaseEstimator):
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
    task: _Task, data: Any, samples: JudgedSamples, positive: int, cell: tuple[int, int], verbose: int
) -> tuple[QuadraticPath, SurfaceFit]:
    """The path of one class on all data, and its chosen surface: the path's, or a separate search's where that is better."""
    report = writer_for(verbose)
    seed = (task.seed, positive)
    path = trace_path(data, positive, task.grid.Cs, task.grid.ks, method=task.method, seed=seed, report=report)
    C, k = float(task.grid.Cs[cell[0]]), int(task.grid.ks[cell[1]])
    problem = data.one_against_rest(positive, C, k)
    result = search(problem, task.method, SearchOptions(seed=seed, report=report))
    if path.objective[cell] < result.objective:
        result = _from_path(problem, path, cell, result)
    return path, SurfaceFit.of(problem, result, samples, k)


def _from_path(problem: SparseProblem, path: QuadraticPath, cell: tuple[int, int], result: SearchResult) -> SearchResult:
    support = np.flatnonzero(path.support[cell][problem.terms])
    return replace(
        result,
        z=path.coef[cell][problem.terms],
        c=float(path.intercept[cell]),
        support=support,
        objective=float(path.objective[cell]),
        swap_optimal=None,
    )
