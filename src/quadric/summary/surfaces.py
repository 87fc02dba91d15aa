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
from quadric.summary.subject import Subject, printable
from quadric.summary.values import Coefficient, Direction, Geometry, Importance, SurfaceSummary, TermRow, View
from quadric.summary.words import term_words

SAME_OBJECTIVE = 1e-6
"""Relative difference up to which two objectives are those of the same surface on the same data."""
RIVALS = 5
"""Terms outside the model that are listed, at most."""
WORTH_LISTING = 0.1
"""Share of bootstrap fits from which a term outside the model is listed."""


def coefficients_of(surface: QuadraticSurface) -> tuple[Coefficient, ...]:
    """Live terms, the largest weights first."""
    z = surface.coordinates()
    found = [_coefficient(int(t), surface.n_features, float(z[t])) for t in np.flatnonzero(z)]
    return tuple(sorted(found, key=lambda coefficient: -abs(coefficient.weight)))


def _coefficient(term: int, n_features: int, value: float) -> Coefficient:
    left, right = term_factors(n_features)
    first, second = int(left[term]), None if right[term] == LINEAR else int(right[term])
    return Coefficient(term, first, second, value, 0.5 * value if first == second else value)


def view_of(subject: Subject, surface: QuadraticSurface, k: int, certificate: Certificate, code: int = 0) -> View:
    """A surface as the slider shows it; ``code`` is its place among several."""
    model = subject.with_surface(surface) if subject.is_binary else subject.model
    equations = {form: equation(model, form=form).split("\n") for form in ("centred", "expanded")}
    return View(
        k=k,
        coefficients=coefficients_of(surface),
        intercept=float(surface.c),
        equation=equations["centred"][code],
        expanded=equations["expanded"][code],
        certificate=plain(certificate),
    )


def own_certificates(subject: Subject) -> list[Certificate]:
    """What is known about the surfaces of the model: by its fit, where the data are those, and at little cost."""
    judged = certify(getattr(subject.model, "estimator_", subject.model), subject.X, subject.labels, k=subject.k)
    fitted = getattr(subject.classifier, "certificates_", judged)
    return [_with_proof(mine, its) for mine, its in zip(judged, fitted, strict=True)]


def same_objective(first: float, second: float) -> bool:
    """Whether two objectives are the same but for rounding."""
    return abs(first - second) <= SAME_OBJECTIVE * max(abs(first), abs(second))


def _with_proof(certificate: Certificate, fitted: Certificate) -> Certificate:
    """The certificate with the bound that the fit had proved, where that is better: an exact search proves more."""
    proved, known = fitted.lower_bound, certificate.lower_bound
    if proved is None or known is None or proved <= known or not same_objective(certificate.objective, fitted.objective):
        return certificate
    return replace(certificate, swap_optimal=certificate.swap_optimal or fitted.swap_optimal).bounded(proved)


def certificate_of(subject: Subject, surface: QuadraticSurface, k: int) -> Certificate:
    """What is known about another surface at little cost: the first bound, no branching."""
    return certify(subject.with_surface(surface), subject.X, subject.labels, k=k)[0]


def plain(certificate: Certificate) -> Certificate:
    """The same in Python's own numbers."""
    values = {name: value.item() if isinstance(value, np.generic) else value for name, value in vars(certificate).items()}
    return replace(certificate, **values)


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
    surface = subject.known.surfaces[code]
    positive = 1 if subject.is_binary else code
    view = view_of(subject, surface, subject.k, certificate, code)
    label = subject.class_names[positive]
    sides = (f"for {label}", f"for {subject.class_names[0]}" if subject.is_binary else f"against {label}")
    terms = _Terms(subject, surface, sides, stability, code)
    return SurfaceSummary(
        label=label,
        sides=sides,
        view=view,
        terms=tuple(terms.row(coefficient) for coefficient in view.coefficients),
        rivals=terms.rivals(),
        importances=_importances(subject, subject.known.classes[positive]),
        directions=_directions(subject, surface),
        geometry=_geometry(subject, surface),
    )


class _Terms:
    def __init__(
        self, subject: Subject, surface: QuadraticSurface, sides: tuple[str, str], stability: TermStability | None, code: int
    ) -> None:
        self.subject, self.surface, self.sides, self.stability, self.code = subject, surface, sides, stability, code

    def row(self, coefficient: Coefficient) -> TermRow:
        added = lift(self.subject.U, np.array([coefficient.term]))[:, 0] * coefficient.value
        words = term_words(coefficient, self.subject.features, self.sides)
        return TermRow(coefficient, words, float(added.std()), **self._stability(coefficient, coefficient.value > 0))

    def rivals(self) -> tuple[TermRow, ...]:
        if self.stability is None:
            return ()
        outside = np.where(self.surface.coordinates() == 0.0, self.stability.inclusion[self.code], 0.0)
        order = [int(t) for t in np.argsort(-outside, kind="stable")[:RIVALS] if outside[t] >= WORTH_LISTING]
        return tuple(self._rival(term) for term in order)

    def _rival(self, term: int) -> TermRow:
        assert self.stability is not None
        mostly = bool(self.stability.positive[self.code, term] >= 0.5)
        imagined = _coefficient(term, self.surface.n_features, 1.0 if mostly else -1.0)
        words = term_words(imagined, self.subject.features, self.sides)
        return TermRow(replace(imagined, value=0.0, weight=0.0), words, 0.0, **self._stability(imagined, mostly))

    def _stability(self, coefficient: Coefficient, positive: bool) -> dict[str, Any]:
        if self.stability is None:
            return {}
        place = self.code, coefficient.term
        inclusion = float(self.stability.inclusion[place])
        if inclusion == 0.0:
            return {"inclusion": 0.0}
        share = float(self.stability.positive[place])
        halved = coefficient.weight / coefficient.value
        low, high = (float(halved * self.stability.deciles[self.code, at, coefficient.term]) for at in (0, -1))
        return {"inclusion": inclusion, "same_sign": share if positive else 1.0 - share, "low": low, "high": high}


def _importances(subject: Subject, label: Any) -> tuple[Importance, ...]:
    answer = shapley(subject.model, subject.X, background=subject.X, target=label)
    mean = np.abs(answer.values).mean(axis=0)
    order = np.argsort(-mean, kind="stable")
    return tuple(Importance(printable(answer.names[j]), float(mean[j])) for j in order if mean[j] > 0.0)


def _directions(subject: Subject, surface: QuadraticSurface) -> tuple[Direction, ...]:
    """The derivative b_j + sum_l W_jl u_l is linear, so that its ends over a box are at corners, feature by feature."""
    low, high = subject.U.min(axis=0), subject.U.max(axis=0)
    ends = np.stack([surface.W * low, surface.W * high])
    lowest, highest = surface.b + ends.min(axis=0).sum(axis=1), surface.b + ends.max(axis=0).sum(axis=1)
    rising = (surface.gradient(subject.U) > 0.0).mean(axis=0)
    scale = subject.known.scale
    return tuple(
        Direction(
            int(j),
            "increasing" if lowest[j] >= 0.0 else "decreasing" if highest[j] <= 0.0 else "changes sign",
            float(lowest[j] / scale[j]),
            float(highest[j] / scale[j]),
            float(rising[j]),
        )
        for j in live_features(surface)
    )


def live_features(surface: QuadraticSurface) -> list[int]:
    """Features that a surface depends on."""
    return [int(j) for j in np.flatnonzero(surface.live_features)]


def _geometry(subject: Subject, surface: QuadraticSurface) -> Geometry:
    turn = (subject.cutoff or 0.0) if subject.is_binary else 0.0
    curvatures = np.linalg.eigvalsh(surface.W)
    curved = np.abs(curvatures) > FLAT * max(np.abs(surface.W).max(), np.abs(surface.b).max(), np.finfo(float).tiny)
    centre, value = _centre(subject, surface)
    return Geometry(
        kind=(surface - turn).kind(),
        curvatures=tuple(float(value) for value in curvatures[curved][::-1]),
        n_flat=int((~curved).sum()),
        centre=centre,
        centre_value=value,
    )


def _centre(subject: Subject, surface: QuadraticSurface) -> tuple[tuple[tuple[int, float], ...], float | None]:
    """The one point of the live features at which f is stationary."""
    live = live_features(surface)
    W, b = surface.W[np.ix_(live, live)], surface.b[live]
    if not live or np.linalg.cond(W) > 1.0 / FLAT:
        return (), None
    point = np.linalg.solve(W, -b)
    raw = subject.known.center[live] + subject.known.scale[live] * point
    return tuple(zip(live, raw.tolist(), strict=True)), float(surface.c + 0.5 * b @ point)
