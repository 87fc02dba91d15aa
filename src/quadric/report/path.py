"""The path over the number of terms, in the units of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.estimators._grids import k_grid
from quadric.examine import certified_surfaces
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.progress import Report
from quadric.report.subject import Subject
from quadric.report.surfaces import view_of
from quadric.report.values import View

FEWEST_KS, MOST_KS = 15, 25
"""The slider goes to twice the model's k or to FEWEST_KS, in steps that leave about MOST_KS stops."""


def stops(subject: Subject, ks: Any) -> tuple[int, ...]:
    """Numbers of terms to show, the model's own among them.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int or None
    """
    n_features, first = subject.fitted.n_features, max(1, len(subject.limits.include))
    if ks is None:
        last = max(first, min(term_count(n_features) - len(subject.limits.exclude), max(2 * subject.k, FEWEST_KS)))
        ks = np.rint(np.linspace(first, last, min(last - first + 1, MOST_KS))).astype(int)
    return tuple(sorted({*k_grid(ks, n_features).tolist(), subject.k}))


def views_along(subject: Subject, ks: Sequence[int], own: Certificate, report: Report) -> tuple[tuple[View, ...], float]:
    """The best surface found for every number of terms (the model's own at its k), and the path's objective at the model's k.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int
    own : Certificate
        Of the model.
    report : callable
    """
    path, at = subject.path(subject.U, subject.labels, ks), list(ks).index(subject.k)
    report(f"path: {len(ks)} numbers of terms")
    surfaces = [QuadraticSurface.from_coordinates(*one) for one in zip(path.coef[0], path.intercept[0], strict=True)]
    surfaces[at] = subject.fitted.surfaces[0]
    others, other_ks = surfaces[:at] + surfaces[at + 1 :], [k for k in ks if k != subject.k]
    certificates = certified_surfaces(subject.model, subject.X, subject.labels, others, other_ks)
    views: list[View] = []
    for surface, k in zip(surfaces, ks, strict=True):
        certificate = own if k == subject.k else next(certificates)
        if k < subject.k and own.lower_bound is not None and certificate.lower_bound is not None:
            # Fewer terms cannot do better than more: what is proved of the model holds for them too
            certificate = certificate.bounded(max(certificate.lower_bound, own.lower_bound))
        views.append(view_of(subject, surface, k, certificate))
        report(f"certificates: {len(views)} of {len(ks)}")
    return tuple(views), float(path.objective[0, at])
