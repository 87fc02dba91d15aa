"""Cross-validated choice of the terms to choose from, of the loss, of k and of C."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from quadric._sklearn import check_sample_weight
from quadric.defaults import DEFAULT_KS, DEFAULT_LINEAR_KS
from quadric.errors import ParameterError, warn_user
from quadric.estimators._foldwork import FoldRunner, FoldTask, SampledParts, SummedParts
from quadric.estimators._scoreboard import Scoreboard
from quadric.estimators._scoring import Scoring
from quadric.estimators.base import (
    ClassWeight,
    RandomState,
    SparseSurfaceClassifier,
    Terms,
    warn_unless_converged,
)
from quadric.estimators.choosing import Family, GridCell, Margin, chosen_cell, margin
from quadric.estimators.classifier import SparseQuadraticSVC, most_examined
from quadric.estimators.constraints import AUTO, LINEAR, QUADRATIC, dictionaries, support_limits
from quadric.estimators.feature_rules import CHECKS, FeatureSets, rules_of
from quadric.estimators.shape_rules import Limits, Signs
from quadric.estimators.validation import (
    CLIP,
    GAP_LIMIT,
    MULTICLASS,
    N_JOBS,
    SHARED,
    TRUE_OR_FALSE,
    VERBOSE,
    C_grid,
    Rule,
    check_parameters,
    k_grid,
    named_losses,
    none_or,
    number_from,
    one_of,
    validate_samples,
)
from quadric.geometry.terms import term_count
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import TrainingData
from quadric.losses.footprint import check_memory
from quadric.notebook import Html, facts
from quadric.progress import counted, part, parts, writer_for
from quadric.resources import processes_of
from quadric.samples.capped import CappedStream, Stream
from quadric.samples.folds import Fold, check_folds, folds_of
from quadric.samples.labelled import LabelledSamples
from quadric.samples.recoding import Coding
from quadric.samples.sums import SummedSamples
from quadric.search.methods import METHODS
from quadric.search.path import QuadraticPath, certified
from quadric.search.quick import Dictionary, QuickSearch
from quadric.types import FloatArray, IntArray

__all__ = ["SparseQuadraticSVCCV", "chosen_cell"]

# Values of C that may be added to a default grid.
MOST_EXTENSIONS = 3
_TOLERANCE = number_from(0.0)


def _names_losses(value: Any) -> bool:
    names = named_losses(value) if isinstance(value, Sequence) else []
    return bool(names) and all(name in LOSS_NAMES for name in names) and len(set(names)) == len(names)


class SparseQuadraticSVCCV(SparseSurfaceClassifier):
    """SparseQuadraticSVC with the kind of terms, the loss, the number of terms and C chosen by cross-validation.

    Linear terms compete with quadratic ones, and all losses with each other, on the same folds. Inside the folds the search for
    terms is short (forward selection and exchanges), and a loss with a cheaper stand-in refits on the terms that this one
    chose; ``method`` in full is for the final fit at the chosen cell. Of a longer grid every second C is scored first, then
    only cells that could still be chosen, given how much the folds differ; quadratic terms that are far behind with the first
    loss are not scored with the others.

    Parameters
    ----------
    ks : increasing sequence of int or None
        Numbers of terms to try; None: 1 to 6, 8, 10, 12, 15 and 20, for linear terms also 25, 30 and 40, as far as the data
        have that many terms; and all of them where they are fewer.
    Cs : sequence of float, int or None
        Values of C to try, in any order; a number n means the n values 4^-1, 4^0, 4^1, ...; None: a grid for each loss
        (8, 64, 512 and 4096 for the hinge loss; 1, 4, 16, ..., 1024 for others), which grows by up to three values while the
        best cell of a kind of terms that is not far behind is at its end.
    loss : str or sequence of str
        Loss function, or several of them to choose from: "least_squares", "logistic", "hinge".
    terms : {"auto", "linear", "quadratic"}
        Terms to choose from: linear ones only, or squares and products, too. "auto": both are scored on the same folds, and the
        one with the best mean score is taken, the linear ones in a tie. Where columns are many and rows few, the choice among
        all products overfits, and linear terms are often better.
    cv : int, splitter or iterable
        Folds, as in scikit-learn. A number means stratified folds, which keep ``groups`` together if there are any.
    scoring : str, callable or None
        Score to maximise, as in scikit-learn; None: log-loss, in which samples weigh what they weigh in the loss (class weights
        included). Scorers of probabilities are given those of the loss; where it has none, those of sigmoids (Platt's) that
        are fitted on the decision values of the rows that the other folds leave out, of at most 50,000 of them.
    rule : float, "best", "1se" or None
        A number: the fewest terms whose mean score is within this tolerance of the best, and the best loss and C for them.
        "1se": the same with one standard error of the best cell as the tolerance. "best": the best mean; ties go to fewer
        terms, then to the loss that is named first, then to the smaller C. None: 0.005 for scores between 0 and 1, such as
        accuracy and AUC, "best" for others, such as log-loss.
    standardize : bool
        Standardise the features by the training rows of each fold, and for the final fit, as in SparseQuadraticSVC.
    clip : float or None
        Cap the features at quantiles of the training rows of each fold, and for the final fit, as in SparseQuadraticSVC.
    method : {"pd", "best", "exact"}
        How terms are searched for the final fit. With "pd" every cell of every fold is a penalty decomposition, too.
    multiclass : {"ovr", "shared"}
        With more than two classes: terms of its own for each class, or one list of at most k terms for all of them, as in
        SparseQuadraticSVC.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes.
    include : sequence or None
        Terms that must be in every support, as in SparseQuadraticSVC.
    exclude : sequence or None
        Terms that must not be in any support.
    interaction_cst, hierarchy, max_features, feature_cost, max_cost, feature_groups :
        Rules on the terms and features of every surface, as in SparseQuadraticSVC.
    monotonic_cst, coef_bounds :
        Rules on the slopes and coefficients of every surface, as in SparseQuadraticSVC. Folds keep them with the terms that
        are best without them; the final fit exchanges terms under them.
    time_limit : float or None
        Seconds per surface of the final fit, as in SparseQuadraticSVC.
    gap_limit : float
        Relative gap at which the proof of the final fit may stop, as in SparseQuadraticSVC.
    fit_time_limit : float or None
        Seconds for the whole fit. When they are over, the best cell so far is fitted with what is known of it, and a
        ConvergenceWarning says so; such a fit may not be reproducible.
    certify : bool
        Add lower bounds to ``paths_``, as sparse_quadratic_path does; not where classes share their terms.
    n_jobs : int or None
        Folds that run at the same time; the result does not depend on it.
    random_state : int, RandomState or None
        Seed of the perturbations; None draws a new one for each fit.
    verbose : int
        1 or 2 writes progress to standard error.

    Attributes
    ----------
    best_terms_, best_loss_, best_k_, best_C_ : str, str, int, float
        The choice.
    cv_scores_ : array of shape (n_folds, n_Cs, n_ks), or dict of such arrays
        Scores of all cells with the chosen kind of terms; NaN: skipped. Where ``loss`` is a sequence, one array for each loss.
    ks_ : array
        Numbers of terms that were tried with the chosen kind of terms.
    Cs_ : array, or dict of arrays
        Values of C, increasing; where ``loss`` is a sequence, for each loss.
    terms_scores_ : dict
        ``cv_scores_`` by the kind of terms.
    terms_margin_ : Margin or None
        How much better than that of the ``other`` kind of terms the best score of the chosen kind is: ``mean`` and standard
        ``error`` of the differences, paired over the folds, with the losses that scored both. None where only one kind was
        scored.
    n_extensions_ : int
        How often values of C were added to default grids since the best cell was at their end.
    oof_decision_ : array of shape (m,) or (m, n_classes)
        Decision values of each sample at the chosen cell, from the fold (or on average over the folds) that left it out; NaN
        for samples that were never left out or have weight zero, and where there are ten million values or more for those that
        are not in the random sample.
    oof_proba_ : array of shape (m, n_classes)
        Their probabilities, by the loss or by the sigmoids that scorers of probabilities are given.
    paths_ : list of QuadraticPath
        The chosen loss and kind of terms on all data, by the short search; one for two classes, otherwise one per class, in
        the order of ``classes_``. Their ``scores`` are those of the chosen loss.
    best_estimator_ : SparseQuadraticSVC
        The final fit as a model of its own, with the chosen terms, loss, k and C; ready to predict, save and export.
    surfaces_, coef_, intercept_, certificates_, status_, traces_, n_iter_, raw_surfaces_, classes_ :
        Of the final fit, as in SparseQuadraticSVC.
    clip_low_, clip_high_, center_, scale_ :
        Likewise.
    calibrators_, n_features_in_, feature_names_in_ :
        As in SparseQuadraticSVC.
    """

    _rules = {
        "loss": Rule(_names_losses, f"one of {', '.join(map(repr, LOSS_NAMES))}, or a sequence of different ones"),
        "rule": Rule(
            lambda value: value is None or _TOLERANCE.holds(value) or (isinstance(value, str) and value in ("best", "1se")),
            f"None, 'best' or '1se' or {_TOLERANCE.words}",
        ),
        "terms": one_of(AUTO, LINEAR, QUADRATIC),
        "standardize": TRUE_OR_FALSE,
        "clip": CLIP,
        "method": one_of(*METHODS),
        "multiclass": MULTICLASS,
        **CHECKS,
        "time_limit": none_or(number_from(0.0)),
        "gap_limit": GAP_LIMIT,
        "fit_time_limit": none_or(number_from(0.0)),
        "certify": TRUE_OR_FALSE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        ks: Sequence[int] | None = None,
        Cs: Sequence[float] | int | None = None,
        *,
        loss: str | Sequence[str] = ("least_squares", "logistic"),
        terms: Literal["auto", "linear", "quadratic"] = "auto",
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        rule: float | Literal["best", "1se"] | None = None,
        standardize: bool = True,
        clip: float | None = 0.01,
        method: Literal["best", "pd", "exact"] = "best",
        multiclass: Literal["ovr", "shared"] = "ovr",
        class_weight: ClassWeight = None,
        include: Terms = None,
        exclude: Terms = None,
        interaction_cst: Literal["no_interactions", "pairwise"] | FeatureSets | None = None,
        hierarchy: Literal["weak", "strong"] | None = None,
        max_features: int | None = None,
        feature_cost: Mapping[str | int, float] | None = None,
        max_cost: float | None = None,
        feature_groups: FeatureSets | None = None,
        monotonic_cst: Signs | None = None,
        coef_bounds: Limits | None = None,
        time_limit: float | None = None,
        gap_limit: float = 0.0,
        fit_time_limit: float | None = None,
        certify: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
        verbose: int = 0,
    ) -> None:
        self.ks = ks
        self.Cs = Cs
        self.loss = loss
        self.terms = terms
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.standardize = standardize
        self.clip = clip
        self.method = method
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.include = include
        self.exclude = exclude
        self.interaction_cst = interaction_cst
        self.hierarchy = hierarchy
        self.max_features = max_features
        self.feature_cost = feature_cost
        self.max_cost = max_cost
        self.feature_groups = feature_groups
        self.monotonic_cst = monotonic_cst
        self.coef_bounds = coef_bounds
        self.time_limit = time_limit
        self.gap_limit = gap_limit
        self.fit_time_limit = fit_time_limit
        self.certify = certify
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Choose the terms, the loss, k and C, then fit on all data.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples; finite. Sparse ones as in SparseQuadraticSVC.
        y : array-like of shape (m,)
            Labels of two or more classes.
        sample_weight : array-like of shape (m,), optional
            Repetitions, in the fits and, where the metric takes them, in the scores.
        groups : array-like of shape (m,), optional
            Samples with the same value are never in different folds.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight, groups)

    def _fit_coded(
        self, X: FloatArray, y: np.ndarray, sample_weight: FloatArray | None, groups: IntArray | None, coding: Coding | None
    ) -> Self:
        """Fit to a coded table: each fold imputes values and groups levels as its own training rows say."""
        return self._fit_or_forget(X, y, sample_weight, groups, coding)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, coding: Coding | None = None) -> None:
        check_parameters(self, self._rules)
        deadline = self._deadline()
        X, y = self._validated(X, y, ensure_min_samples=2)
        samples = validate_samples(X, y, sample_weight, self.class_weight)
        self._check_certifiable(samples.target.n_classes)
        present = check_sample_weight(sample_weight, X, non_negative=False) > 0
        stream = self._as_stream(samples, present, groups) if isinstance(self.cv, Integral) and int(self.cv) > 1 else None
        if stream is None:
            rows = np.flatnonzero(present)
            self._fit_samples(samples, folds_of(self.cv, X, y, groups, present), deadline, coding)
        else:
            rows = self._fit_stream(stream, deadline)
        for name in ("oof_decision_", "oof_proba_"):
            found = getattr(self, name)
            everywhere = np.full((len(y), *found.shape[1:]), np.nan)
            everywhere[rows] = found
            setattr(self, name, everywhere)

    def _check_certifiable(self, n_classes: int) -> None:
        if self.certify and self.multiclass == SHARED and n_classes > 2:
            raise ParameterError(
                'certify=True bounds the paths of single classes, but multiclass="shared" has one list of terms for all: use '
                'method="exact", which bounds the final fit',
                certify=None,
            )

    def _deadline(self) -> float | None:
        return None if self.fit_time_limit is None else time.monotonic() + self.fit_time_limit

    def _fit_samples(
        self, samples: LabelledSamples, folds: Sequence[Fold], deadline: float | None, coding: Coding | None = None
    ) -> None:
        prepared, units = self._in_units(samples)
        check_folds(folds, samples)
        task = self._task(samples.n_features, samples.target.classes, deadline)
        board = self._scoreboard(task, len(folds))
        processes = processes_of(self.n_jobs, len(folds))
        self._check_memory(board, task, samples, folds, processes)
        parts = SampledParts.coded(samples, coding)
        work = FoldRunner(task, parts, Scoring.of(self.scoring, samples.target.classes), folds, processes)
        with part(0.0, 0.7):
            self._cross_validate(board, work)
        cell = self._set_choice(board, work)

        def fit(quick: QuickSearch, starts: Sequence[IntArray]) -> None:
            model, limits = self.best_estimator_, task.on(prepared)[cell.terms].limits
            of_all_rows = parts.is_drawn is None or not loss_named(cell.loss).keeps_rows
            data = quick.digest(cell.terms, cell.loss) if of_all_rows else loss_named(cell.loss).data(prepared, limits)
            n_groups = len(model._groups(prepared.surfaces))
            searches = model._fit_surfaces(data, prepared, processes_of(self.n_jobs, n_groups), starts, task.deadline)
            groups = list(counted(searches, n_groups, "final fit"))
            if not task.out_of_time():
                for group in groups:
                    warn_unless_converged(group[0], model._schedule().until(task.deadline), type(self).__name__)
            model.n_features_in_ = self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
            model._set_fits(groups, samples.target.classes, units)

        with part(0.7, 1.0):
            # sums and a random sample tell the paths where there is one
            whole = prepared if parts.is_drawn is None else parts.fitted_to(task, samples, np.arange(len(samples.target))).data
            self._fit_chosen(whole, task, board, cell, fit)

    def _fit_stream(self, stream: Stream, deadline: float | None) -> IntArray:
        """Fit to samples in memory by passes over them; the positions of those whose out-of-fold values are known."""
        names = getattr(self, "feature_names_in_", None)
        self._fit_surveyed(self._surveyed(stream), deadline=deadline)
        if names is None:
            del self.feature_names_in_, self.best_estimator_.feature_names_in_
        return self.oof_rows_ - 1

    def _fit_surveyed(self, surveyed: CappedStream, coding: Coding | None = None, *, deadline: float | None = None) -> Self:
        """Fit to samples that are read in batches; where they are gathered, folds learn of a coding as in ``_fit_coded``."""
        check_parameters(self, self._rules)
        with self._or_forget():
            self._check_certifiable(len(surveyed.stream.classes))
            deadline = deadline or self._deadline()
            self._set_columns(surveyed.stream.columns)
            if surveyed.is_gathered:
                samples = surveyed.samples(self.class_weight)
                everyone = np.ones(len(samples.target), dtype=bool)
                folds = folds_of(self.cv, samples.X, samples.target.classes[samples.target.codes], surveyed.groups, everyone)
                self._fit_samples(samples, folds, deadline, coding)
                self.all_rows_scored_ = True
            else:
                if not isinstance(self.cv, Integral) or self.cv < 2:
                    raise ValueError(
                        f"cv must be a number of folds, at least 2, where rows are read in passes, got {self.cv!r}"
                    )
                self._check_passes(len(surveyed.stream.classes))
                folds = surveyed.folds(int(self.cv))
                self._fit_by_passes(surveyed, folds, deadline)
            self.oof_rows_, self.oof_folds_ = surveyed.sample.ids, _numbers_of(folds, len(surveyed.sample.ids))
        return self

    def _fit_by_passes(self, surveyed: CappedStream, folds: Sequence[Fold], deadline: float | None) -> None:
        self._refuse_ruled_passes()
        samples, n_folds = surveyed.samples(), len(folds)
        needs_rows = any(loss_named(name).keeps_rows for name in named_losses(self.loss))
        try:
            check_folds(folds, samples, trains=needs_rows)
        except ValueError as error:
            if surveyed.has_all_rows:
                raise
            raise ValueError(f"of {len(samples.target)} random rows, {error}, or a loss that needs sums only") from None
        task = self._task(samples.n_features, samples.target.classes, deadline)
        board, scoring = self._scoreboard(task, n_folds), Scoring.of(self.scoring, samples.target.classes)
        with part(0.0, 0.4):
            whole, summed = self._summed(surveyed, n_folds)
        moments = summed.sums.whole()
        work = FoldRunner(task, summed, scoring, folds, processes_of(self.n_jobs, n_folds))
        with part(0.4, 0.6):
            self._cross_validate(board, work)
        with part(0.6, 0.7):
            self.all_rows_scored_ = surveyed.has_all_rows or (scoring.is_additive and not task.out_of_time())
            if self.all_rows_scored_ and not surveyed.has_all_rows:
                board.score_all_rows(scoring, surveyed.stream.source, summed.samples.target.class_weight, surveyed.stream.seed)
        cell = self._set_choice(board, work)

        def fit(quick: QuickSearch, starts: Sequence[IntArray]) -> None:
            if loss_named(cell.loss).keeps_rows:
                most = most_examined(moments.n_rows)
                self.best_estimator_._fit_by_passes(surveyed, moments, deadline, starts, most)
            else:
                self.best_estimator_._fit_moments(moments, deadline)

        with part(0.7, 1.0):
            self._fit_chosen(whole, task, board, cell, fit)

    def _summed(self, surveyed: CappedStream, n_folds: int) -> tuple[SummedSamples, SummedParts]:
        """Sums over all rows, and those of each fold, by one pass."""
        samples, sums = surveyed.samples(), surveyed.fold_moments(n_folds, by_class=self.class_weight is not None)
        whole = SummedSamples.of(sums.whole(), self.class_weight, standardize=bool(self.standardize), sample=samples)
        samples = replace(samples, target=samples.target.with_factors(whole.moments.factors))
        return whole, SummedParts(samples, sums)

    def _fit_chosen(
        self,
        rows: LabelledSamples | SummedSamples,
        task: FoldTask,
        board: Scoreboard,
        cell: GridCell,
        fit: Callable[[QuickSearch, Sequence[IntArray]], None],
    ) -> None:
        """The paths of the chosen loss, and a full search at the chosen cell that starts from their terms there."""
        own = {cell.terms: task.on(rows)[cell.terms]}
        how: dict[str, Any] = {"by_decomposition": task.by_decomposition, "is_shared": task.is_shared}
        quick = QuickSearch(rows, own, report=writer_for(task.verbose), **how)
        self.paths_ = self._paths(quick, rows.surfaces, task, board, cell)
        self.best_estimator_ = self._chosen_classifier()
        searching, proving = parts(1.0, float(self.certify))
        with searching:
            row, column = self.paths_[0].Cs.tolist().index(cell.C), self.paths_[0].ks.tolist().index(cell.k)
            fit(quick, [path.cells[row][column].terms for path in self.paths_])
        if task.out_of_time():
            self._warn_of_deadline(board)
        with proving:
            if self.certify:
                self.paths_ = self._certified(quick.digest(cell.terms, cell.loss), rows.surfaces, task)
        self._take_over(self.best_estimator_)

    def _task(self, n_features: int, classes: np.ndarray, deadline: float | None = None) -> FoldTask:
        names, n_terms = getattr(self, "feature_names_in_", None), term_count(n_features)
        own: dict[str, Any] = {"lean": self._is_lean, "rules": rules_of(self)}
        limits = support_limits(self.include, self.exclude, names, n_features, n_terms, self.terms, **own)
        listed = {
            terms: Dictionary(own, self._ks(terms, n_terms - len(own.exclude), len(own.include)))
            for terms, own in dictionaries(self.terms, limits, n_features).items()
        }
        units = self._unit_options()
        how = self.method == "pd", self.multiclass == SHARED, deadline, int(self.verbose)
        return FoldTask(listed, self.class_weight, units, *how, self._demands(names, classes, limits))

    def _ks(self, terms: str, n_terms: int, n_required: int) -> IntArray:
        ks = k_grid(self.ks, n_terms, n_required, DEFAULT_LINEAR_KS if terms == LINEAR else DEFAULT_KS)
        return ks if terms != LINEAR or self.terms == LINEAR else np.unique(np.minimum(ks, max(n_terms, ks[0])))

    def _scoreboard(self, task: FoldTask, n_folds: int) -> Scoreboard:
        grids = {name: loss_named(name).default_Cs if self.Cs is None else C_grid(self.Cs) for name in named_losses(self.loss)}
        Cs = {Family(terms, loss): np.unique(values) for terms in task.dictionaries for loss, values in grids.items()}
        return Scoreboard(Cs, {terms: own.ks for terms, own in task.dictionaries.items()}, n_folds)

    def _check_memory(
        self, board: Scoreboard, task: FoldTask, samples: LabelledSamples, folds: Sequence[Fold], processes: int
    ) -> None:
        widest, own = list(task.dictionaries.items())[-1]
        needs = {
            "n_scored": max(len(fold.test) for fold in folds),
            "proves": self.method == "exact" or bool(self.certify),
            "k": int(own.ks[-1]),
            "n_folds": len(folds),
        }
        n_ks = sum(len(ks) for ks in board.ks.values())
        for family, Cs in board.Cs.items():
            if family.terms == widest:
                extent = samples.extent(len(own.limits.exclude), grid=(len(Cs), n_ks), **needs)
                check_memory(family.loss, extent, processes)

    def _cross_validate(self, board: Scoreboard, work: FoldRunner) -> None:
        """Fill the board: a part of the grid, what could still be chosen, and what lies beyond the ends of a default grid."""
        report = writer_for(int(self.verbose))
        with part(0.0, 0.2):
            work.score(board.coarse(first=True), board, "cross-validation")
        with part(0.2, 0.5):
            work.score(board.coarse(first=False), board, "cross-validation, other losses")
        with part(0.5, 0.75):
            work.score(board.worth_scoring(self.rule), board, "cross-validation, cells that could still be chosen")
        self.n_extensions_ = 0
        while self.Cs is None and self.n_extensions_ < MOST_EXTENSIONS and not work.task.out_of_time():
            plan = board.extended()
            if not plan:
                break
            for family, grid in plan.items():
                report(f"the best C of {family.loss} is at the end of its grid: trying C = {next(iter(grid)):g}, too")
            with part(*(0.75 + 0.25 * (self.n_extensions_ + done) / MOST_EXTENSIONS for done in (0, 1))):
                work.score(plan, board, "cross-validation, a longer grid")
            self.n_extensions_ += 1

    def _views(self) -> list[Html]:
        by_loss = isinstance(self.cv_scores_, dict)
        scores, Cs = (found[self.best_loss_] if by_loss else found for found in (self.cv_scores_, self.Cs_))
        cell = np.asarray(scores)[:, list(Cs).index(self.best_C_), list(self.ks_).index(self.best_k_)]
        chosen = {
            "terms allowed": self.best_k_,
            "C": self.best_C_,
            "loss": self.best_loss_,
            f"score of {len(cell)} folds": f"{cell.mean():.4g}",
        }
        return [*super()._views(), facts("Chosen by cross-validation", chosen)]

    def _set_choice(self, board: Scoreboard, work: FoldRunner) -> GridCell:
        cell, scores = board.choice(self.rule), board.scores()
        self.terms_scores_ = {terms: self._by_loss(scores, terms) for terms in board.ks}
        self.terms_margin_: Margin | None = margin(scores)
        self.cv_scores_: Any = self.terms_scores_[cell.terms]
        self.Cs_: Any = self._by_loss(board.Cs, cell.terms)
        self.ks_ = board.ks[cell.terms]
        self.best_terms_, self.best_loss_, self.best_C_, self.best_k_ = cell.terms, cell.loss, cell.C, cell.k
        self.oof_decision_, self.oof_proba_ = work.out_of_fold(board, cell)
        return cell

    def _by_loss(self, values: Mapping[Family, FloatArray], terms: str) -> Any:
        own = {family.loss: value for family, value in values.items() if family.terms == terms}
        return next(iter(own.values())) if isinstance(self.loss, str) else own

    def _paths(
        self, quick: QuickSearch, surfaces: Sequence[int], task: FoldTask, board: Scoreboard, cell: GridCell
    ) -> list[QuadraticPath]:
        Cs, ks, scores = board.Cs[cell.family], board.ks[cell.terms], board.scores()[cell.family]
        if task.out_of_time():  # the chosen cell is all that there is of the paths
            row, column = Cs == cell.C, ks == cell.k
            Cs, ks, scores = Cs[row], ks[column], scores[:, row][:, :, column]
        paths = [quick.path(cell.terms, cell.loss, surface, Cs, ks) for surface in surfaces]
        return [replace(path, scores=scores) for path in paths]

    def _certified(self, data: TrainingData, surfaces: Sequence[int], task: FoldTask) -> list[QuadraticPath]:
        """The paths with the lower bounds that there is time for."""
        out, report = [], writer_for(task.verbose)
        for path, surface, own_part in zip(self.paths_, surfaces, parts(*[1.0] * len(surfaces)), strict=True):
            with own_part:
                out.append(certified(path, data, surface, report=report, going=lambda: not task.out_of_time()))
        return out

    def _warn_of_deadline(self, board: Scoreboard) -> None:
        n_scored = sum(int(np.isfinite(table).sum()) for table in board.scores().values())
        warn_user(
            f"{type(self).__name__}: fit_time_limit={self.fit_time_limit:g} ran out: the choice is the best of {n_scored} "
            "scores, and other terms may be better. Raise fit_time_limit; this fit may not be reproducible",
            ConvergenceWarning,
        )

    def _chosen_classifier(self) -> SparseQuadraticSVC:
        own = self.get_params() | {"loss": self.best_loss_, "terms": self.best_terms_}
        parameters = {name: own[name] for name in SparseQuadraticSVC().get_params() if name in own}
        return SparseQuadraticSVC(self.best_k_, self.best_C_, **parameters)

    def _take_over(self, fitted: SparseQuadraticSVC) -> None:
        """The results of the final fit, where that was made by the classifier itself."""
        for name, value in vars(fitted).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)


def _numbers_of(folds: Sequence[Fold], n_samples: int) -> IntArray:
    """The number of the (last) fold that leaves each sample out; -1 where none does."""
    numbers = np.full(n_samples, -1, dtype=np.intp)
    for fold in folds:
        numbers[fold.test] = fold.number
    return numbers
