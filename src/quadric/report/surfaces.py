"""Surfaces as tables: coefficients, equations, terms with their stability, directions, shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.examine import certify
from quadric.explain import TermStability, shapley
from quadric.export import equation
from quadric.geometry.lifting import lift
from quadric.geometry.surface import FLAT, QuadraticSurface
from quadric.geometry.terms import LINEAR, term_factors
from quadric.report.subject import Subject
from quadric.report.values import Coefficient, Direction, Geometry, SurfaceSummary, TermRow, View

SAME_OBJECTIVE = 1e-6
"""Relative difference up to which two objectives are those of the same surface on the same data."""
RIVALS = 5
"""Maximum number of terms outside the model that are listed."""
WORTH_LISTING = 0.1
"""Share of bootstrap fits from which a term outside the model is listed."""
MEDIAN = 4
"""Position of the median among the nine deciles of ``TermStability``."""


def view_of(subject: Subject, surface: QuadraticSurface, k: int, certificate: Certificate, code: int = 0) -> View:
    """A surface as the slider shows it; ``code`` is its position among several."""
    model = subject.with_surface(surface) if subject.is_binary else subject.model
    centred, expanded = (equation(model, form=form).split("\n")[code] for form in ("centred", "expanded"))
    z = surface.coordinates()
    found = [_coefficient(int(term), surface.n_features, z[term]) for term in np.flatnonzero(z)]
    ordered = tuple(sorted(found, key=lambda coefficient: -abs(coefficient.weight)))
    return View(k, ordered, surface.c, centred, expanded, certificate)


def _coefficient(term: int, n_features: int, value: float) -> Coefficient:
    left, right = term_factors(n_features)
    first, second = int(left[term]), None if right[term] == LINEAR else int(right[term])
    return Coefficient(term, first, second, value, 0.5 * value if first == second else value)


def own_certificates(subject: Subject) -> list[Certificate]:
    """What is known about the surfaces of the model: by its fit, if the data are the same, and at little cost."""
    judged = certify(subject.model, subject.X, subject.labels, k=subject.k)
    fitted = getattr(subject.classifier, "certificates_", judged)
    return [_with_proof(mine, its) for mine, its in zip(judged, fitted, strict=True)]


def same_objective(first: float, second: float) -> bool:
    """Whether two objectives are the same but for rounding."""
    return abs(first - second) <= SAME_OBJECTIVE * max(abs(first), abs(second))


def _with_proof(certificate: Certificate, fitted: Certificate) -> Certificate:
    """The certificate with the bound that the fit proved, if that is better: an exact search proves more."""
    proved, bound = fitted.lower_bound, certificate.lower_bound
    if proved is None or bound is None or proved <= bound or not same_objective(certificate.objective, fitted.objective):
        return certificate
    return replace(certificate, swap_optimal=certificate.swap_optimal or fitted.swap_optimal).bounded(proved)


def surface_summary(subject: Subject, code: int, certificate: Certificate, stability: TermStability | None) -> SurfaceSummary:
    """One equation of the model with all that explains it.

    Parameters
    ----------
    subject : Subject
    code : int
        Position among the surfaces.
    certificate : Certificate
    stability : TermStability or None
    """
    surface, positive = subject.fitted.surfaces[code], 1 if subject.is_binary else code
    view = view_of(subject, surface, subject.k, certificate, code)
    label = subject.class_names[positive]
    return SurfaceSummary(
        label=label,
        sides=(f"towards {label}", f"towards {subject.class_names[0]}" if subject.is_binary else f"against {label}"),
        view=view,
        terms=tuple(_term_row(subject, coefficient, stability, code) for coefficient in view.coefficients),
        rivals=() if stability is None else _rivals(subject, surface, stability, code),
        importances=_importances(subject, subject.fitted.classes[positive]),
        directions=_directions(subject, surface),
        geometry=_geometry(subject, surface),
    )


def _term_row(subject: Subject, coefficient: Coefficient, stability: TermStability | None, code: int) -> TermRow:
    term, value = coefficient.term, coefficient.value
    spread = float((lift(subject.U, np.array([term]))[:, 0] * value).std())
    inclusion = None if stability is None else float(stability.inclusion[code, term])
    if stability is None or not inclusion:
        return TermRow(coefficient, spread, inclusion)
    share, deciles = stability.positive[code, term], coefficient.weight / value * stability.deciles[code, :, term]
    return TermRow(coefficient, spread, inclusion, share if value > 0 else 1.0 - share, deciles[0], deciles[-1])


def _rivals(subject: Subject, surface: QuadraticSurface, stability: TermStability, code: int) -> tuple[TermRow, ...]:
    outside = np.where(surface.coordinates() == 0.0, stability.inclusion[code], 0.0)
    terms = [int(term) for term in np.argsort(-outside, kind="stable")[:RIVALS] if outside[term] >= WORTH_LISTING]
    medians = [_coefficient(term, surface.n_features, stability.deciles[code, MEDIAN, term]) for term in terms]
    return tuple(_term_row(subject, median, stability, code) for median in medians)


def _importances(subject: Subject, label: Any) -> tuple[tuple[str, float], ...]:
    answer = shapley(subject.model, subject.X, background=subject.X, target=label)
    mean = np.abs(answer.values).mean(axis=0)
    return tuple((answer.names[j], mean[j]) for j in np.argsort(-mean, kind="stable") if mean[j] > 0.0)


def _directions(subject: Subject, surface: QuadraticSurface) -> tuple[Direction, ...]:
    """The derivative b_j + sum_l W_jl u_l is linear, so its extremes over a box are at corners, feature by feature."""
    low, high = subject.U.min(axis=0), subject.U.max(axis=0)
    ends = np.stack([surface.W * low, surface.W * high])
    lowest, highest = surface.b + ends.min(axis=0).sum(axis=1), surface.b + ends.max(axis=0).sum(axis=1)
    rising = (surface.gradient(subject.U) > 0.0).mean(axis=0)
    scale = subject.fitted.scale
    return tuple(
        Direction(
            j,
            "increasing" if lowest[j] >= 0.0 else "decreasing" if highest[j] <= 0.0 else "changes sign",
            lowest[j] / scale[j],
            highest[j] / scale[j],
            rising[j],
        )
        for j in live_features(surface)
    )


def live_features(surface: QuadraticSurface) -> list[int]:
    """Features that a surface depends on."""
    return np.flatnonzero(surface.live_features).tolist()


def _geometry(subject: Subject, surface: QuadraticSurface) -> Geometry:
    turn = (subject.cutoff or 0.0) if subject.is_binary else 0.0
    curvatures = np.linalg.eigvalsh(surface.W)
    curved = np.abs(curvatures) > FLAT * max(np.abs(surface.W).max(), np.abs(surface.b).max(), np.finfo(float).tiny)
    kind = (surface - turn).kind()
    return Geometry(kind, tuple(curvatures[curved][::-1]), int((~curved).sum()), *_centre(subject, surface))


def _centre(subject: Subject, surface: QuadraticSurface) -> tuple[tuple[tuple[int, float], ...], float | None]:
    """The only point of the live features at which f is stationary, and f there."""
    live = live_features(surface)
    W, b = surface.W[np.ix_(live, live)], surface.b[live]
    if not live or np.linalg.cond(W) > 1.0 / FLAT:
        return (), None
    point = np.linalg.solve(W, -b)
    raw = subject.fitted.center[live] + subject.fitted.scale[live] * point
    return tuple(zip(live, raw.tolist(), strict=True)), float(surface.c + 0.5 * b @ point)
