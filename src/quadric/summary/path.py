"""The path over the number of terms, in the units of the model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.estimators import ScaleWarning, sparse_quadratic_path
from quadric.estimators._grids import k_grid
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.progress import Report
from quadric.summary.subject import Subject
from quadric.summary.surfaces import certificate_of, view_of
from quadric.summary.values import View

FEWEST_KS, MOST_KS = 15, 25
"""The slider goes to twice the model's k or to FEWEST_KS, in steps that leave about MOST_KS stops."""


def stops(subject: Subject, ks: Any) -> tuple[int, ...]:
    """Numbers of terms to show, the model's own among them.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int or None
    """
    n_features = subject.known.n_features
    first = max(1, len(subject.limits.include))
    if ks is not None:
        wanted = [int(k) for k in k_grid(ks, n_features)]
    else:
        last = min(term_count(n_features) - len(subject.limits.exclude), max(2 * subject.k, FEWEST_KS))
        n_stops = min(max(last - first + 1, 1), MOST_KS)
        wanted = np.rint(np.linspace(first, max(first, last), n_stops)).astype(int).tolist()
    return tuple(sorted({*wanted, subject.k}))


@dataclass(frozen=True)
class Views:
    """What the slider shows, and the objective that the path reached at the model's own k."""

    views: tuple[View, ...]
    path_objective: float | None


def views_along(subject: Subject, ks: Sequence[int], own: Certificate, report: Report) -> Views:
    """The best surface found for every number of terms; at the model's own, the model's.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int
    own : Certificate
        Of the model.
    report : callable
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # fitting the model has said so
        path = sparse_quadratic_path(subject.U, subject.labels, ks=list(ks), Cs=(subject.C,), **subject.search)
    report(f"path: {len(ks)} numbers of terms")
    views = []
    for i, k in enumerate(ks):
        if k == subject.k:
            views.append(view_of(subject, subject.known.surfaces[0], k, own))
            continue
        surface = QuadraticSurface.from_coordinates(path.coef[0, i], float(path.intercept[0, i]))
        certificate = certificate_of(subject, surface, k)
        if k < subject.k and own.lower_bound is not None and certificate.lower_bound is not None:
            # Fewer terms cannot do better than more: what is proved of the model holds for them too
            certificate = certificate.bounded(max(certificate.lower_bound, own.lower_bound))
        views.append(view_of(subject, surface, k, certificate))
        report(f"certificates: {i + 1} of {len(ks)}")
    return Views(tuple(views), float(path.objective[0, list(ks).index(subject.k)]))
