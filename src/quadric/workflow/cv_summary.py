"""How good a model is on rows that it was not fitted to, beside logistic regression, and what it was chosen over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from quadric.blas import one_thread
from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.choosing import Family, Margin, suitable_rule
from quadric.estimators.constraints import LINEAR
from quadric.samples.random_rows import drawn_rows
from quadric.types import FloatArray, IntArray
from quadric.workflow.scorers import measure_named

# Values of C that are tried
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
# Rows that are fitted and scored; of larger tables, a random sample
MOST_ROWS = 20_000
# Standard errors of paired differences from which a difference is called clear
CLEAR = 2.0


@dataclass(frozen=True)
class PlainModel:
    """Logistic regression on all features, with the C of the best mean log-loss.

    Attributes
    ----------
    accuracy, log_loss : float
        Means over the folds, of rows left out.
    auc : float or None
        None for more than two classes.
    """

    accuracy: float
    log_loss: float
    auc: float | None


def plain_logistic(
    X: FloatArray, codes: IntArray, tests: Sequence[IntArray], weight: FloatArray | None = None
) -> PlainModel | None:
    """Logistic regression, chosen on the folds that the model was chosen on.

    Parameters
    ----------
    X : array of shape (m, n)
        Coded rows.
    codes : array of shape (m,)
        Positions of the rows' classes.
    tests : sequence of arrays
        Rows that each fold left out.
    weight : array of shape (m,), optional
        Repetitions of the rows.

    Returns
    -------
    PlainModel or None
        None where a fold lacks a class.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    kept = drawn_rows(np.arange(1, len(codes) + 1), MOST_ROWS, 0)
    folds = [(np.setdiff1d(kept, test), test[np.isin(test, kept)]) for test in tests]
    n_classes = len(np.unique(codes))
    if not folds or any(len(np.unique(codes[part])) < n_classes for fold in folds for part in fold):
        return None
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # a C that does not converge in time loses by its log-loss
        tried = list(zip(*(_left_out(X, codes, weight, *fold) for fold in folds), strict=True))
    left = [(codes[test], weight[test]) for _, test in folds]
    losses = [_mean(_log_loss, chances, left) for chances in tried]
    best = tried[np.argmin(losses)]
    return PlainModel(_mean(_accuracy, best, left), min(losses), _mean(_area, best, left) if n_classes == 2 else None)


def _left_out(X: FloatArray, codes: IntArray, weight: FloatArray, train: IntArray, test: IntArray) -> list[FloatArray]:
    """Probabilities of the rows that a fold left out, with each C."""
    scaler = StandardScaler().fit(X[train])
    Z, left = scaler.transform(X[train]), scaler.transform(X[test])
    return [LogisticRegression(C=C).fit(Z, codes[train], weight[train]).predict_proba(left) for C in STRENGTHS]


def _mean(
    measure: Callable[[FloatArray, IntArray, FloatArray], float],
    chances: Sequence[FloatArray],
    left: Sequence[tuple[IntArray, FloatArray]],
) -> float:
    return float(np.mean([measure(own, *of_fold) for own, of_fold in zip(chances, left, strict=True)]))


def _accuracy(chances: FloatArray, codes: IntArray, weight: FloatArray) -> float:
    return float(np.average(chances.argmax(axis=1) == codes, weights=weight))


def _area(chances: FloatArray, codes: IntArray, weight: FloatArray) -> float:
    return float(roc_auc_score(codes, chances[:, 1], sample_weight=weight))


@dataclass(frozen=True)
class Figure:
    """A mean over folds.

    Attributes
    ----------
    mean : float
    error : float or None
        The standard error; None of one fold, which has none.
    """

    mean: float
    error: float | None

    @property
    def is_clear(self) -> bool:
        """Whether it is more than two standard errors away from zero."""
        return self.error is not None and abs(self.mean) > CLEAR * self.error

    @staticmethod
    def of(values: FloatArray) -> Figure:
        """From one value per fold."""
        values = np.asarray(values)
        return Figure(float(values.mean()), float(standard_error(values)) if len(values) > 1 else None)


@dataclass(frozen=True)
class Cell:
    """What cross-validation tried.

    Attributes
    ----------
    terms : str
        What terms were chosen from: "linear" or "quadratic".
    loss : str
    k : int
    C : float
    score : Figure
        In the measure that was asked for, with its own sign.
    """

    terms: str
    loss: str
    k: int
    C: float
    score: Figure


@dataclass(frozen=True)
class CrossValidated:
    """What a cross-validation says of the model.

    Attributes
    ----------
    folds : int
    accuracy : Figure
        Of the model's own labels, its calibration and cut-off included, on rows left out.
    auc : Figure or None
        Of two classes; None for more.
    log_loss : Figure or None
        Of the probabilities that the model's own calibration gives rows left out; None without one.
    scoring : str
        What the choice was made by.
    rule : "best", "1se" or float
        How many terms more the best mean score was worth.
    chosen : Cell
    runner_up : Cell or None
        The best cell of the second best loss; of a single loss, the best cell beside the chosen one.
    products : Figure or None
        What products and squares change of the score, in the measure that was asked for, from the best cell with linear terms
        to the best one with all terms, paired over the folds; None where only one of them was tried.
    plain : PlainModel or None
        Logistic regression on all features, chosen on the same folds; None where a fold lacks a class.
    """

    folds: int
    accuracy: Figure
    auc: Figure | None
    log_loss: Figure | None
    scoring: str
    rule: str | float | None
    chosen: Cell
    runner_up: Cell | None
    products: Figure | None
    plain: PlainModel | None = None

    def recorded(self) -> dict[str, Any]:
        """As plain values.

        Returns
        -------
        dict
        """
        return asdict(self) | {"accuracy": self.accuracy.mean, "standard_error": self.accuracy.error}


def cross_validated(
    search: SparseQuadraticSVCCV,
    scoring: str,
    codes: IntArray,
    folds: list[IntArray],
    decide: Callable[[FloatArray], tuple[IntArray, FloatArray | None]],
    weight: FloatArray | None = None,
) -> CrossValidated:
    """Measure a model by the decision values that its cross-validation had for rows left out.

    Parameters
    ----------
    search : fitted SparseQuadraticSVCCV
    scoring : str
    codes : array of shape (m,)
        Positions of the rows' classes.
    folds : list of arrays
        Rows that each fold left out.
    decide : callable
        From decision values to codes, as the model decides, and to its probabilities, if any.
    weight : array of shape (m,), optional
        Repetitions of the rows.

    Returns
    -------
    CrossValidated
    """
    decision = search.oof_decision_
    weight = np.ones(len(codes)) if weight is None else weight
    folds = [rows for rows in folds if np.isfinite(decision[rows]).all()]  # a time limit may have kept some from the end
    labels, chances = decide(decision)
    cells = _tried_cells(search, scoring)
    chosen = next(cell for cell in cells if (cell.loss, cell.k, cell.C) == (search.best_loss_, search.best_k_, search.best_C_))
    others = [cell for cell in cells if cell.loss != chosen.loss] or [cell for cell in cells if cell != chosen]
    sign, margin = measure_named(scoring).sign, search.terms_margin_
    auc = None
    two_sided = [rows for rows in folds if len(np.unique(codes[rows])) == 2]  # groups may leave a fold with one class
    if decision.ndim == 1 and two_sided:
        auc = Figure.of(
            np.array([roc_auc_score(codes[rows], decision[rows], sample_weight=weight[rows]) for rows in two_sided])
        )
    rights = np.array([np.average(labels[rows] == codes[rows], weights=weight[rows]) for rows in folds])
    log_loss = None
    if chances is not None:
        log_loss = Figure.of(np.array([_log_loss(chances[rows], codes[rows], weight[rows]) for rows in folds]))
    return CrossValidated(
        folds=len(folds),
        accuracy=Figure.of(rights),
        auc=auc,
        log_loss=log_loss,
        scoring=scoring,
        rule=suitable_rule(search.rule, {Family(grid.terms, grid.loss): grid.scores for grid in grids_of(search)}),
        chosen=chosen,
        runner_up=max(others, key=lambda cell: sign * cell.score.mean, default=None),
        products=None if margin is None else _of_products(margin, sign),
    )


def _of_products(margin: Margin, sign: float) -> Figure:
    mean = sign * (margin.mean if margin.other == LINEAR else -margin.mean)
    return Figure(mean, None if isnan(margin.error) else margin.error)  # after a time limit the margin may be of one fold


def _log_loss(chances: FloatArray, codes: IntArray, weight: FloatArray) -> float:
    losses = -np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(float).eps))
    return float(np.average(losses, weights=weight))


def _tried_cells(search: SparseQuadraticSVCCV, scoring: str) -> list[Cell]:
    """All cells with a score on every fold; where a time limit left no such one, on as many as any has."""
    sign, grids = measure_named(scoring).sign, grids_of(search)
    most = max(int(np.isfinite(grid.scores).sum(axis=0).max()) for grid in grids)
    return [
        Cell(grid.terms, grid.loss, int(k), float(C), Figure.of(sign * scores))
        for grid in grids
        for i, C in enumerate(grid.Cs)
        for j, k in enumerate(grid.ks)
        if len(scores := grid.scores[np.isfinite(grid.scores[:, i, j]), i, j]) == most
    ]


@dataclass(frozen=True, eq=False)
class Grid:
    """Scores of one loss.

    Attributes
    ----------
    terms, loss : str
    Cs, ks : arrays
    scores : array of shape (n_folds, n_Cs, n_ks)
        NaN: skipped.
    """

    terms: str
    loss: str
    Cs: FloatArray
    ks: IntArray
    scores: FloatArray


def grids_of(search: SparseQuadraticSVCCV) -> list[Grid]:
    """The grid of each loss with the chosen kind of terms; that of the chosen loss is first.

    Parameters
    ----------
    search : fitted SparseQuadraticSVCCV

    Returns
    -------
    list of Grid
    """
    tables, Cs, terms = search.cv_scores_, search.Cs_, search.best_terms_
    if not (isinstance(tables, dict) and isinstance(Cs, dict)):
        return [Grid(terms, search.best_loss_, np.asarray(Cs), search.ks_, np.asarray(tables))]
    losses = sorted(tables, key=lambda loss: loss != search.best_loss_)
    return [Grid(terms, loss, Cs[loss], search.ks_, tables[loss]) for loss in losses]


def standard_error(scores: FloatArray) -> FloatArray:
    """Standard error of the mean over folds.

    Parameters
    ----------
    scores : array of shape (n_folds, ...)

    Returns
    -------
    array of shape (...)
    """
    return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(len(scores)))
