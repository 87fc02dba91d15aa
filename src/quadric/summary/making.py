"""From a fitted model and data to the value that a report is rendered from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.estimators._base import seed_of
from quadric.explain import TermStability, stability
from quadric.geometry.terms import term_count
from quadric.progress import Report, silent
from quadric.summary.cases import cases, chosen_rows
from quadric.summary.folds import leave_out
from quadric.summary.origin import Stopwatch, making_of
from quadric.summary.path import Views, stops, views_along
from quadric.summary.performance import confusion, measures, performance
from quadric.summary.slices import slices
from quadric.summary.subject import Subject, printable
from quadric.summary.surfaces import own_certificates, surface_summary
from quadric.summary.values import Case, ReportSummary, Slice

TWO_CLASSES = "it needs a model of two classes, and this one has {}"


@one_blas_thread()
def summarise(
    model: Any,
    X: Any,
    y: Any,
    *,
    name: str = "",
    target: str = "",
    class_names: Sequence[str] | None = None,
    rows: Sequence[int] = (),
    frozen: Sequence[str] = (),
    ks: Any = None,
    n_boot: int = 50,
    cv: Any = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    report: Report = silent,
    origin: tuple[str, str | None] | None = None,
) -> ReportSummary:
    """Compute everything that a report shows.

    Most of the time goes to ``cv + 1`` paths over ``ks`` and to ``n_boot`` fits.

    Parameters
    ----------
    model : fitted SparseQuadraticSVC, SparseQuadraticSVCCV, Pipeline ending in one, or CalibratedModel of these
        A Pipeline may hold a TableEncoder and a StandardScaler before its classifier.
    X : Table, frame or array
        The data that the model was fitted to, as it takes them; others are shown with a remark.
    y : array-like of shape (m,)
        Labels as the model knows them.
    name : str
        Title of the report.
    target : str
        Name of the target column.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``, where the labels are codes.
    rows : sequence of int
        Positions of rows to explain, from 0; by default three that were declined.
    frozen : sequence of str
        Features, or columns, that the smallest change of a row must leave alone.
    ks : increasing sequence of int or None
        Numbers of terms that the slider shows; by default up to twice the model's, which is added where it is missing.
    n_boot : int
        Bootstrap fits for the stability of terms; 0 for none.
    cv : int, splitter or iterable
        Folds, as in scikit-learn.
    random_state : int, RandomState or None
        Seed of the bootstrap and of the choice of points to draw.
    n_jobs : int or None
        Fits at the same time; the result does not depend on it.
    report : callable
        Receives lines of progress.
    origin : pair (file name, SHA-256 or None), optional
        Where the data come from.

    Returns
    -------
    ReportSummary
    """
    if not (isinstance(n_boot, int | np.integer) and n_boot >= 0):
        raise ValueError(f"n_boot must be an integer of at least 0, got {n_boot!r}")
    subject, watch, seed = Subject.of(model, X, y, class_names), Stopwatch(), seed_of(random_state)
    wanted = chosen_rows(subject, rows) if subject.is_binary else []
    grid = stops(subject, ks) if subject.is_binary else (subject.k,)
    with watch.part("cross-validation"):
        left_out = leave_out(subject, grid, cv, n_jobs, report)
    with watch.part("path and certificates"):
        own = own_certificates(subject)
        path = views_along(subject, grid, own[0], report) if subject.is_binary else Views((), None)
    with watch.part("stability of terms"):
        drawn = _stability(subject, n_boot, seed, n_jobs, report)
    with watch.part("explanations"):
        surfaces = tuple(surface_summary(subject, code, certificate, drawn) for code, certificate in enumerate(own))
        pictures: tuple[Slice, ...] = ()
        explained: tuple[Case, ...] = ()
        if subject.is_binary:
            if subject.cutoff is not None:
                pictures = slices(subject, surfaces[0].terms, surfaces[0].importances, seed)
            explained = cases(subject, wanted, frozen) if wanted else ()
    settings = {
        "Folds": left_out.cross_validation.folds,
        "Bootstrap fits": n_boot,
        "Seed": random_state,
        "Numbers of terms": _range(grid),
    }
    return ReportSummary(
        name=printable(name),
        target=printable(target),
        classes=subject.class_names,
        counts=tuple(np.bincount(subject.codes, minlength=len(subject.class_names)).tolist()),
        features=subject.features,
        n_columns=len(subject.known.inputs),
        n_candidates=term_count(subject.known.n_features) - len(subject.limits.exclude),
        k=subject.k,
        surfaces=surfaces,
        views=path.views,
        path_objective=path.path_objective,
        cross_validation=left_out.cross_validation,
        measures=measures(subject, left_out),
        confusion=confusion(subject, left_out),
        performance=performance(subject, left_out) if subject.is_binary else None,
        slices=pictures,
        cases=explained,
        n_boot=int(n_boot),
        absent=_absent(subject, pictures, explained, n_boot),
        making=making_of(subject, origin, settings, watch, own[0].objective),
    )


def _stability(subject: Subject, n_boot: int, seed: int, n_jobs: int | None, report: Report) -> TermStability | None:
    if n_boot == 0:
        return None
    return stability(subject.model, subject.X, subject.labels, n_boot=n_boot, random_state=seed, n_jobs=n_jobs, report=report)


def _range(grid: Sequence[int]) -> str:
    return str(grid[0]) if len(grid) == 1 else f"{grid[0]} to {grid[-1]}, {len(grid)} values"


def _absent(subject: Subject, pictures: Sequence[Slice], explained: Sequence[Case], n_boot: int) -> tuple[tuple[str, str], ...]:
    """Chapters that cannot be, and why."""
    out = {}
    if not subject.is_binary:
        reason = TWO_CLASSES.format(len(subject.class_names))
        out = dict.fromkeys(("path", "performance", "slices", "cases"), reason)
    else:
        if not pictures:
            no_boundary = "its calibrated probability does not rise through one half"
            out["slices"] = no_boundary if subject.cutoff is None else "the model depends on fewer than two numbers"
        if not explained:
            out["cases"] = f"the model decides for {subject.class_names[1]} in no row of the data"
    if n_boot == 0:
        out["stability"] = "no bootstrap fits were asked for"
    return tuple(out.items())
