"""Whether the number of terms is justified: the AUC out of fold against it, beside other classifiers on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from quadric.blas import one_thread
from quadric.credit import auc
from quadric.report.subject import Subject
from quadric.report.values import Complexity, RivalFigures
from quadric.types import FloatArray, IntArray
from quadric.workflow.cv_summary import Figure
from quadric.workflow.scoring import RecordedFigures


def usual_rivals(seed: int) -> dict[str, Any]:
    """What people compare with, with the defaults of scikit-learn.

    Parameters
    ----------
    seed : int
    """
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=seed),
    }


def complexity(
    subject: Subject,
    ks: Sequence[int],
    folds: Sequence[tuple[IntArray, IntArray]],
    decisions: Sequence[FloatArray],
    rivals: Mapping[str, Any],
    figures: RecordedFigures | None,
) -> Complexity | None:
    """Measure every number of terms, and the rivals on the same coded columns.

    Parameters
    ----------
    subject : Subject
        Of two classes.
    ks : increasing sequence of int
        The model's own among them.
    folds : sequence of pairs (train, test)
    decisions : sequence of arrays of shape (n_ks, rows of the test)
    rivals : mapping of names to classifiers of scikit-learn
    figures : RecordedFigures or None
        What the fit has measured already: measured once, it is the same everywhere.

    Returns
    -------
    Complexity or None
        None where a fold has test rows of one class only.
    """
    events = [subject.codes[test] == 1 for _, test in folds]
    if any(event.all() or not event.any() for event in events):
        return None
    areas = np.array([[auc(event, row) for row in rows] for event, rows in zip(events, decisions, strict=True)])
    at = list(ks).index(subject.k)
    found = [Figure.of(column) for column in areas.T]
    if figures is not None and figures.auc is not None:
        found[at] = Figure(figures.auc, found[at].error)
    measured = {name: np.array([_area(subject, model, *fold) for fold in folds]) for name, model in rivals.items()}
    return Complexity(
        folds=len(folds),
        ks=tuple(ks),
        areas=tuple(found),
        before=ks[at - 1] if at else None,
        last=Figure.of(areas[:, at] - areas[:, at - 1]) if at else None,
        rivals=tuple(RivalFigures(name, Figure.of(own), Figure.of(own - areas[:, at])) for name, own in measured.items()),
    )


def _area(subject: Subject, model: Any, train: IntArray, test: IntArray) -> float:
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")  # what does not converge in time loses by its AUC
        fitted = clone(model).fit(subject.V[train], subject.codes[train])
        if hasattr(fitted, "decision_function"):
            scores = fitted.decision_function(subject.V[test])
        else:
            scores = fitted.predict_proba(subject.V[test])[:, 1]
    return auc(subject.codes[test] == 1, np.asarray(scores))
