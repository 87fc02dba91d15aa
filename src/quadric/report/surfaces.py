"""Surfaces as tables, the model's own and those along the path: coefficients, equations, terms, directions, shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isclose
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.estimators.validation import k_grid
from quadric.examine import certified_surfaces, certify_by_nodes
from quadric.explain import TermStability, effects
from quadric.export.equations import surface_equations
from quadric.geometry.lifting import lift
from quadric.geometry.surface import FLAT, QuadraticSurface
from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.losses import loss_named
from quadric.progress import advance, parts
from quadric.report.subject import Subject
from quadric.report.values import Coefficient, Parts, SurfaceSummary, TermRow, View
from quadric.search.path import for_fewer_terms

# Relative difference up to which two objectives are those of the same surface on the same data.
SAME_OBJECTIVE = 1e-6
# Maximum number of terms outside the model that are listed.
RIVALS = 5
# Share of bootstrap fits from which a term outside the model is listed.
WORTH_LISTING = 0.1
# Position of the median among the nine deciles of ``TermStability``.
MEDIAN = 4
# The slider goes to twice the model's k or to FEWEST_KS, in steps that leave about MOST_KS stops.
FEWEST_KS, MOST_KS = 15, 25

# Nodes of branch and bound for the bounds of the model's own surfaces and of those along the path, by whether the loss has
# cheap exchanges: then its nodes are cheap too.
NODES, NODES_ALONG = {True: 1000, False: 100}, {True: 100, False: 1}
NO_NODES: dict[bool, int | None] = {True: None, False: None}  # no bounds


def view_of(subject: Subject, surface: QuadraticSurface, k: int, certificate: Certificate, code: int = 0) -> View:
    """A surface as the slider shows it; ``code`` is its position among several."""
    model = subject.fitted.with_surfaces([surface]) if subject.is_binary else subject.fitted.model
    centred, expanded = (surface_equations(model, form=form)[code] for form in ("centred", "expanded"))
    return View(k, coefficients(surface), surface.c, centred, expanded, certificate)


def coefficients(surface: QuadraticSurface) -> tuple[Coefficient, ...]:
    """The terms of a surface, the largest weights first."""
    z = surface.coordinates()
    found = [_coefficient(int(term), surface.n_features, z[term]) for term in np.flatnonzero(z)]
    return tuple(sorted(found, key=lambda coefficient: -abs(coefficient.weight)))


def _coefficient(term: int, n_features: int, value: float) -> Coefficient:
    left, right = term_factors(n_features)
    first, second = int(left[term]), None if right[term] == LINEAR else int(right[term])
    return Coefficient(term, first, second, value, 0.5 * value if first == second else value)


def own_certificates(subject: Subject, *, bounds: bool) -> list[Certificate]:
    """What is known about the surfaces of the model: by its fit, if the data are the same, and by NODES of branch and bound."""
    limit = (NODES if bounds else NO_NODES)[_has_cheap_nodes(subject)]
    judged = certify_by_nodes(subject.fitted.model, subject.X, subject.labels, k=subject.k, node_limit=limit)
    fitted = getattr(subject.fitted.classifier, "certificates_", judged)
    return [_with_proof(mine, its) for mine, its in zip(judged, fitted, strict=True)]


def _has_cheap_nodes(subject: Subject) -> bool:
    return loss_named(subject.procedure.loss).cheap_exchanges


def _with_proof(certificate: Certificate, fitted: Certificate) -> Certificate:
    """The certificate with what the fit says of exchanges and with its bound, if that is better: an exact search proves more.

    Where the fit could not tell within its limits whether an exchange helps, neither does the report.
    """
    if not isclose(certificate.objective, fitted.objective, rel_tol=SAME_OBJECTIVE):  # of other data
        return certificate
    certificate = replace(certificate, swap_optimal=certificate.swap_optimal or fitted.swap_optimal)
    proved, bound = fitted.lower_bound, certificate.lower_bound
    return certificate if proved is None or bound is None or proved <= bound else certificate.bounded(proved)


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


def views_along(subject: Subject, ks: Sequence[int], own: Certificate, *, bounds: bool) -> tuple[tuple[View, ...], float]:
    """The best surface found for every number of terms (the model's own at its k), and what the path reached there.

    Parameters
    ----------
    subject : Subject
    ks : increasing sequence of int
    own : Certificate
        Of the model.
    bounds : bool
        Whether to compute bounds for the others.
    """
    path, at = subject.path(subject.U, subject.codes, ks), list(ks).index(subject.k)
    surfaces = [QuadraticSurface.from_coordinates(*one) for one in zip(path.coef[0], path.intercept[0], strict=True)]
    surfaces[at] = subject.fitted.surfaces[0]
    others, other_ks = surfaces[:at] + surfaces[at + 1 :], [k for k in ks if k != subject.k]
    limit = (NODES_ALONG if bounds else NO_NODES)[_has_cheap_nodes(subject)]
    certificates = certified_surfaces(subject.fitted.model, subject.X, subject.labels, others, other_ks, limit)
    proofs = []
    for k, own_part in zip(ks, parts(*[1.0] * len(ks)), strict=True):
        with own_part:  # a proof tells its own progress
            advance(0.0, "bounds along the path")
            proofs.append(own if k == subject.k else next(certificates))
    proved = for_fewer_terms(np.array([np.nan if proof.lower_bound is None else proof.lower_bound for proof in proofs]))
    views = (
        view_of(subject, surface, k, proof.bounded(None if np.isnan(bound) else bound))
        for surface, k, proof, bound in zip(surfaces, ks, proofs, proved, strict=True)
    )
    return tuple(views), float(path.objective[0, at])


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
    view, label = view_of(subject, surface, subject.k, certificate, code), subject.class_names[positive]
    return SurfaceSummary(
        label=label,
        sides=(f"towards {label}", f"towards {subject.class_names[0]}" if subject.is_binary else f"against {label}"),
        view=view,
        terms=tuple(_term_row(subject, coefficient, stability, code) for coefficient in view.coefficients),
        rivals=() if stability is None else _rivals(subject, surface, stability, code),
        effects=effects(subject.fitted.model, subject.X, target=subject.fitted.classes[positive], stability=stability),
        directions=directions(subject, surface),
        **_shape(subject, surface),
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


def directions(subject: Subject, surface: QuadraticSurface) -> tuple[Parts, ...]:
    """Whether f rises or falls with each feature, as ``SurfaceSummary`` has it.

    The derivative b_j + sum_l W_jl u_l is linear, so its extremes over a box are at corners, feature by feature.

    Parameters
    ----------
    subject : Subject
    surface : QuadraticSurface
    """
    low, high = subject.U.min(axis=0), subject.U.max(axis=0)
    ends = np.stack([surface.W * low, surface.W * high])
    lowest, highest = surface.b + ends.min(axis=0).sum(axis=1), surface.b + ends.max(axis=0).sum(axis=1)
    rising = (surface.gradient(subject.U) > 0.0).mean(axis=0)
    scale = subject.fitted.units.scale
    return tuple(
        {
            "feature": j,
            "verdict": "increasing" if lowest[j] >= 0.0 else "decreasing" if highest[j] <= 0.0 else "changes sign",
            "lowest": lowest[j] / scale[j],
            "highest": highest[j] / scale[j],
            "rising": rising[j],
        }
        for j in np.flatnonzero(surface.live_features).tolist()
    )


def _shape(subject: Subject, surface: QuadraticSurface) -> dict[str, Any]:
    """Shape of the boundary over the live features, and the point at which f is stationary, if there is only one."""
    turn = (subject.cutoff or 0.0) if subject.is_binary else 0.0
    live = np.flatnonzero(surface.live_features)
    if not len(live):
        return {"kind": (surface - turn).kind(), "curvatures": (), "n_flat": 0, "centre": (), "centre_value": None}
    W, b = surface.W[np.ix_(live, live)], surface.b[live]
    curvatures = np.linalg.eigvalsh(W)
    curved = np.abs(curvatures) > FLAT * max(np.abs(W).max(), np.abs(b).max())
    kind = QuadraticSurface(W, b, surface.c - turn).kind()
    shape = {"kind": kind, "curvatures": tuple(curvatures[curved][::-1]), "n_flat": int((~curved).sum())}
    if np.linalg.cond(W) > 1.0 / FLAT:
        return {**shape, "centre": (), "centre_value": None}
    point = np.linalg.solve(W, -b)
    raw = subject.fitted.units.center[live] + subject.fitted.units.scale[live] * point
    centre = tuple(zip(live.tolist(), raw.tolist(), strict=True))
    return {**shape, "centre": centre, "centre_value": float(surface.c + 0.5 * b @ point)}
