"""From a fitted model and data to the value that a report is rendered from."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from math import isclose
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedKFold

from quadric.blas import one_blas_thread
from quadric.credit import cutoff_table
from quadric.defaults import MOST_BOOTSTRAPS
from quadric.estimators.base import RandomState, drawn_seed
from quadric.estimators.validation import N_JOBS, check_values, integer_from
from quadric.explain import stability
from quadric.export._schema import quadric_version
from quadric.fitted import Model
from quadric.geometry.terms import term_count
from quadric.progress import advance, parts
from quadric.report.complexity import complexity, usual_rivals
from quadric.report.performance import confusion, measures, out_of_fold, performance, with_figures
from quadric.report.printing import in_print
from quadric.report.samples import side_by_side
from quadric.report.slices import slices
from quadric.report.subject import Subject
from quadric.report.surfaces import SAME_OBJECTIVE, own_certificates, stops, surface_summary, views_along
from quadric.report.values import ReportSummary
from quadric.review.explaining import ExplainingOptions, Explanation, explain_rows
from quadric.review.rejecting import inference_words
from quadric.review.scorecard import Card, scorecard
from quadric.tables import Table, TableEncoder
from quadric.types import IntArray
from quadric.workflow.prices import RulePrices
from quadric.workflow.rule_words import listed_rules, listed_shapes
from quadric.workflow.scoring import RecordedFigures, Scores, TableModel
from quadric.workflow.training import check_folds

# Where the rows that are explained by default lie among the declined ones, by score.
QUANTILES = (0.9, 0.5, 0.1)
LIBRARIES = ("numpy", "scipy", "scikit-learn")
RULES = ("interaction_cst", "hierarchy", "max_features", "feature_cost", "max_cost")
PARAMETERS = ("loss", "method", "class_weight", "include", "exclude", *RULES, "random_state", "standardize", "clip", "rule")


def summarise_table(
    model: TableModel,
    table: Table,
    y: np.ndarray,
    *,
    folds: int,
    seed: int,
    frozen: Sequence[str] = (),
    actionable: Sequence[str] = (),
    **options: Any,
) -> ReportSummary:
    """The same of a model for tables, which knows its names and what may change; folds are those of ``quadric fit``.

    Parameters
    ----------
    model : TableModel
    table : Table
        Raw rows.
    y : array of shape (m,)
        Labels as the classifier knows them: both as ``model.labelled`` gives them.
    folds, seed : int
    frozen : sequence of str
        Further columns that changes leave alone.
    actionable : sequence of str
        The only columns that they may touch; by default those that the model file lists.
    **options : Any
        Others of :func:`summarise`.

    Returns
    -------
    ReportSummary
    """
    check_folds([int((y == label).sum()) for label in model.view.classes], model.class_names, folds)
    return summarise(
        model.saved.model,
        model.inputs(table),
        y,
        target=model.saved.target or "",
        class_names=model.class_names,
        frozen=(*frozen, *model.frozen),
        actionable=actionable or model.actionable,
        favourable=model.favourable,
        card=None if model.points_line is None else scorecard(model, model.points_line),
        costs=model.costs,
        inferred=inference_words(model.saved.metadata.get("reject_inference")),
        cv=StratifiedKFold(folds, shuffle=True, random_state=seed),
        random_state=seed,
        **options,
    )


@one_blas_thread()
def summarise(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    name: str = "",
    target: str = "",
    class_names: Sequence[str] | None = None,
    rows: Sequence[int] = (),
    frozen: Sequence[str] = (),
    actionable: Sequence[str] = (),
    favourable: str | None = None,
    ks: Sequence[int] | None = None,
    n_boot: int = 50,
    bounds: bool = True,
    cv: Any = 5,
    rivals: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    origin: tuple[str, str | None] | None = None,
    figures: RecordedFigures | None = None,
    findings: Sequence[str] = (),
    prices: RulePrices | None = None,
    inferred: str = "",
    samples: Mapping[str, tuple[Table, np.ndarray]] = {},
    places: IntArray | None = None,
    card: Card | None = None,
    costs: tuple[float, float] | None = None,
) -> ReportSummary:
    """Compute everything that a report shows.

    Most of the time goes into ``cv + 1`` paths over ``ks`` and into ``n_boot`` fits.

    Parameters
    ----------
    model : fitted SparseQuadraticSVC, SparseQuadraticSVCCV, Pipeline ending in one, or CalibratedModel of these
        A Pipeline may have the steps that :func:`quadric.fitted.fitted_model` takes.
    X : Table, frame or array
        The data that the model was fitted to, in the form that it takes; the report remarks on other data.
    y : array-like of shape (m,)
        Labels as the model knows them.
    name : str
        Title of the report.
    target : str
        Name of the target column.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``; by default the labels.
    rows : sequence of int
        Positions of rows to explain, from 0; by default three that do not get the favourable one of two classes (if there is
        none: the first).
    frozen : sequence of str
        Features, or columns, that the smallest change of a row must leave alone.
    actionable : sequence of str
        The only columns that it may touch, as in :class:`quadric.review.explaining.ExplainingOptions`.
    favourable : str or None
        Name of the class that people want; None: reasons are what speaks for the positive class, and no change is advised.
        ``quadric report`` takes the one that was named when the model was fitted.
    ks : increasing sequence of int or None
        Numbers of terms that the slider shows; by default up to twice the model's. The model's own is added if missing.
    n_boot : int
        Number of bootstrap fits for the stability of terms; 0 for none.
    bounds : bool
        Whether to prove, by a limited number of nodes of branch and bound, how much better other terms could be.
    cv : int, splitter or iterable
        Folds, as in scikit-learn.
    rivals : mapping of names to classifiers of scikit-learn, optional
        What a model of two classes is compared with, on the same folds and columns; by default logistic regression and
        gradient boosting.
    random_state : int, RandomState or None
        Seed of the bootstrap and of the choice of points to draw.
    n_jobs : int or None
        Number of parallel jobs; the result does not depend on it.
    origin : pair (file name, SHA-256 or None), optional
        Where the data come from.
    figures : RecordedFigures, optional
        Accuracy, AUC and log-loss out of fold as the fit measured them, which the report repeats.
    findings : sequence of str
        What a look at the table brought up, one sentence each.
    prices : RulePrices, optional
        What the rules of the model cost, from :func:`quadric.rule_prices`.
    inferred : str
        How rejects took part in the fit, in one sentence.
    samples : mapping of names to pairs (X, y)
        Other samples, which stand beside these rows.
    places : array of int, optional
        Where the rows of ``X`` are in their file, from 0, as explained rows are numbered; by default as in ``X``.
    card : Card, optional
        Points of a scorecard, for a model of two classes.
    costs : pair of float, optional
        Of approving a row that is not ``card.line.good``, and of declining one that is, for the table of cut-offs.

    Returns
    -------
    ReportSummary
    """
    check_values({"n_boot": n_boot, "n_jobs": n_jobs}, {"n_boot": integer_from(0, MOST_BOOTSTRAPS), "n_jobs": N_JOBS})
    seconds: dict[str, str] = {}
    subject, seed = Subject.of(model, X, y, class_names), drawn_seed(random_state)
    hoped = 0 if favourable is None else subject.tabular.code_of(favourable)  # else rows with the positive label are shown
    wanted = _chosen_rows(subject, rows, hoped) if subject.is_binary else []
    grid = stops(subject, ks) if subject.is_binary else (subject.k,)
    folding, proving, tracing, drawing, explaining = parts(10.0, 2.0, 2.0, n_boot, 4.0)  # in bootstrap fits, about
    with _timed(seconds, "cross-validation"), folding:
        unseen = out_of_fold(subject, grid, cv, n_jobs)
        curve, tested, scores = unseen.curve, unseen.rows, unseen.scores
        others = usual_rivals(seed) if rivals is None else rivals
        justified = complexity(subject, grid, unseen.folds, unseen.decisions, others, figures) if subject.is_binary else None
        if figures is not None:
            curve = with_figures(curve, subject.k, figures)
    with _timed(seconds, "path and certificates"):
        with proving:
            own = own_certificates(subject, bounds=bounds)
        with tracing:
            views, path_objective = views_along(subject, grid, own[0], bounds=bounds) if subject.is_binary else ((), None)
            own = [view.certificate for view in views if view.k == subject.k] or own  # with what larger k have proved
    with _timed(seconds, "stability of terms"), drawing:
        again = partial(stability, n_boot=n_boot, random_state=seed, n_jobs=n_jobs)
        drawn = again(subject.fitted.model, subject.X, subject.labels) if n_boot else None
    with _timed(seconds, "explanations"), explaining:
        advance(0.0, "explanations and charts")
        surfaces = tuple(surface_summary(subject, code, certificate, drawn) for code, certificate in enumerate(own))
        pictures = slices(subject, surfaces[0], seed) if subject.is_binary and subject.cutoff is not None else ()
        explained = (
            _cases(subject, wanted, places, card, ExplainingOptions(target=favourable, frozen=frozen, actionable=actionable))
            if wanted
            else ()
        )
    settings = {
        "Folds": curve.folds,
        "Bootstrap fits": n_boot,
        "Seed": random_state,
        "Numbers of terms": f"{grid[0]} to {grid[-1]}, {len(grid)} values" if len(grid) > 1 else grid[0],
    }
    has = {"complexity": justified is not None, "slices": bool(pictures), "cases": bool(explained)}
    values = ReportSummary(
        name=name,
        target=target,
        classes=subject.class_names,
        counts=tuple(np.bincount(subject.codes, minlength=len(subject.class_names))),
        features=subject.features,
        n_columns=len(subject.tabular.input_names),
        n_candidates=term_count(subject.fitted.n_features) - len(subject.limits.exclude),
        k=subject.k,
        has_probabilities=bool(subject.fitted.calibrators),
        surfaces=surfaces,
        views=views,
        path_objective=path_objective,
        cross_validation=curve,
        measures=measures(subject, tested, scores, figures),
        samples=side_by_side(subject, tested, scores, samples, figures) if samples else None,
        confusion=confusion(subject, tested, scores),
        complexity=justified,
        performance=performance(subject, tested, scores) if subject.is_binary else None,
        slices=pictures,
        cases=explained,
        card=card,
        cutoffs=() if card is None else _cutoffs(subject, card, tested, scores, costs),
        n_boot=int(n_boot),
        absent=tuple(_absent(subject, has, n_boot, hoped).items()),
        **_making(subject, origin, inferred, settings, seconds, own[0].objective),
        findings=tuple(findings),
        is_ruled=subject.fitted.is_ruled,
        rules=_rules(subject),
        prices=() if prices is None else tuple(prices.table()),
    )
    summary: ReportSummary = in_print(values)
    return summary


def _rules(subject: Subject) -> tuple[str, ...]:
    fitted = subject.fitted
    limits = []
    for place, shape in fitted.shapes.items():
        own = SimpleNamespace(coef_bounds={bound.term: (bound.low, bound.high) for bound in shape.bounds})
        subject_words = "" if subject.is_binary else f"score of {subject.class_names[place]}: "
        limits += [f"{subject_words}{words}" for words in listed_shapes(own, terms=fitted.term_names)]
    return (*listed_rules(fitted.classifier), *limits, *fitted.proof_lines(subject.class_names))


def _cutoffs(
    subject: Subject, card: Card, rows: IntArray, scores: Scores, costs: tuple[float, float] | None
) -> tuple[dict[str, float], ...]:
    """What follows from cut-offs, by out-of-fold scores."""
    is_bad = subject.codes[rows] != subject.tabular.code_of(card.line.good)
    return tuple(cutoff_table(is_bad, card.line.points(scores.decision), card.line.scale.pdo, costs, event=True).rows())


def _absent(subject: Subject, has: Mapping[str, bool], n_boot: int, favourable: int) -> dict[str, str]:
    if subject.is_binary:
        too_few = "the model depends on fewer than two numbers"
        never = "the calibrated probability never crosses the cut-off"
        reasons = {
            "complexity": "a fold has rows of one class only",
            "slices": never if subject.cutoff is None else too_few,
            "cases": f"the model does not predict {subject.class_names[1 - favourable]} for any row of the data",
        }
        out = {chapter: reason for chapter, reason in reasons.items() if not has[chapter]}
    else:
        reason = f"this needs a model of two classes, and this one has {len(subject.class_names)}"
        out = dict.fromkeys(("path", "performance", "complexity", "slices", "cases"), reason)
    return out if n_boot else {**out, "stability": "no bootstrap fits were requested"}


def _chosen_rows(subject: Subject, rows: Sequence[int], favourable: int) -> list[int]:
    """The rows asked for, or else three declined ones: hopeless, middling and near the cut-off.

    Parameters
    ----------
    subject : Subject
        Of two classes.
    rows : sequence of int
    favourable : int
        Position of the class that people want.
    """
    outside = [row for row in rows if not 0 <= row < len(subject.V)]
    if outside:
        raise ValueError(f"rows must be from 0 to {len(subject.V) - 1}, got {outside[0]}")
    if len(rows):
        return [int(row) for row in rows]
    declined, sign = np.flatnonzero(subject.scores.codes != favourable), -1.0 if favourable else 1.0
    order = declined[np.argsort(sign * subject.scores.decision[declined], kind="stable")]
    places = [round(share * (len(order) - 1)) for share in QUANTILES] if len(order) else []
    return list(dict.fromkeys(order[places].tolist()))


def _cases(
    subject: Subject, rows: Sequence[int], places: IntArray | None, card: Card | None, options: ExplainingOptions
) -> tuple[Explanation, ...]:
    """Rows explained, in points of the scorecard where there is one."""
    model = subject.tabular if card is None else subject.tabular.with_points(card.line.scale.written)
    answers = explain_rows(model, subject.table, rows, subject.table, options)
    return tuple(
        replace(
            answer,
            row=answer.row if places is None else int(places[answer.row]),
            actual=subject.class_names[subject.codes[answer.row]],
        )
        for answer in answers
    )


@contextmanager
def _timed(seconds: dict[str, str], part: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[part] = f"{time.perf_counter() - began:.2f} s"


def _making(
    subject: Subject,
    origin: tuple[str, str | None] | None,
    inferred: str,
    settings: Mapping[str, Any],
    seconds: dict[str, str],
    objective: float,
) -> dict[str, Any]:
    """How a model and its summary were made, as values for ``ReportSummary``; the objective is that of the first surface."""
    certificates = getattr(subject.fitted.classifier, "certificates_", None)
    coefficients = [array for s in subject.fitted.surfaces for array in (s.coordinates(), np.array([s.c]))]
    facts = {
        "Data": _data_facts(subject, origin or ("", None), inferred),
        "Model": _model_facts(subject),
        "This report": settings,
        "Versions": {
            "quadric": quadric_version(),
            "Python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
            "Machine": f"{platform.system()} {platform.machine()}",
        },
        "Hashes (SHA-256)": {
            "Features and labels": _digest(subject.V, subject.codes.astype(np.int64)),
            "Coefficients": _digest(*coefficients),
        },
        "Time": seconds,
    }
    moment = os.environ.get("SOURCE_DATE_EPOCH")  # for reproducible builds
    now = datetime.now(UTC) if moment is None else datetime.fromtimestamp(int(moment), UTC)
    return {
        "facts": tuple((title, tuple((name, str(value)) for name, value in pairs.items())) for title, pairs in facts.items()),
        "created": now.strftime("%Y-%m-%d %H:%M UTC"),
        "same_data": isclose(objective, certificates[0].objective, rel_tol=SAME_OBJECTIVE) if certificates else None,
    }


def _data_facts(subject: Subject, origin: tuple[str, str | None], inferred: str) -> dict[str, Any]:
    digest = origin[1] or (subject.X.sha256 if isinstance(subject.X, Table) else None)
    file = {name: value for name, value in (("File", origin[0]), ("SHA-256 of the file", digest)) if value}
    rejects = {"Reject inference": inferred} if inferred else {}
    return {**file, "Rows": len(subject.V), **rejects, "Columns used for fitting": len(subject.tabular.input_names)}


def _model_facts(subject: Subject) -> dict[str, Any]:
    own, steps = subject.fitted.classifier, [step for _, step in subject.fitted.steps]
    codings = [f"{step.coding}, missing: {step.missing}" for step in steps if isinstance(step, TableEncoder)]
    others = [type(step).__name__ for step in steps if not isinstance(step, TableEncoder)]
    parameters = {name: subject.fitted.question(name) for name in PARAMETERS if hasattr(own, name)}
    limited = [name for name in ("include", "exclude") if parameters[name] is not None]
    return {
        "Classifier": type(own).__name__,
        "k": subject.k,
        "C": f"{subject.fitted.question('C'):g}",
        **parameters,
        **{name: f"{len(getattr(subject.limits, name))} terms" for name in limited},
        "Coding of categories": ", ".join(codings) or "none",
        "Other steps": ", ".join(others) or "none",
        "Calibration": subject.fitted.calibration or "none",
    }


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes())
    return digest.hexdigest()
