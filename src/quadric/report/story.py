"""What a report says about the numbers of a summary: answers, sentences, terms as symbols and in words, shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from quadric.certificate import Certificate
from quadric.report.numbers import MINUS, number, percent, short
from quadric.report.values import Coefficient, Complexity, Feature, Parts, ReportSummary, RivalFigures
from quadric.workflow.cv_summary import Figure
from quadric.workflow.fit_summary import rounded_up

# Share of bootstrap fits from which a term counts as chosen again.
USUALLY = 0.5
TOP_COLUMNS = 5
VERDICTS = {
    "increasing": "always rises",
    "decreasing": "always falls",
    "changes sign": "rises or falls",
}
EXCHANGES = {
    True: "Swapping one term for another cannot lower the objective.",
    False: "Swapping one term for another can lower the objective.",
    None: "Whether swapping one term for another lowers the objective was not checked.",
}
PROVED_BEST = "proved best"
PRIME, SQUARE, TIMES = "\N{PRIME}", "\N{SUPERSCRIPT TWO}", "\N{NO-BREAK SPACE}\N{MIDDLE DOT} "
# What each ``QuadraticSurface.kind`` means for a reader.
SHAPES = {
    "everything": "the score is at the cut-off everywhere",
    "empty": "the score never crosses the cut-off, so every row gets the same prediction",
    "hyperplane": "a flat cut: one class lies on each side",
    "paraboloid": "a bowl, open on one side: one class lies inside, the other outside",
    "elliptic paraboloid": "a bowl, open on one side: one class lies inside, the other outside",
    "hyperbolic paraboloid": "a saddle: it bends one way in some directions and the other way in others",
    "parabolic cylinder": "a bent sheet, like a gutter: it bends in one direction and runs straight in all others",
    "elliptic parabolic cylinder": "a trough: one class lies inside, and it runs straight in the remaining directions",
    "hyperbolic parabolic cylinder": "a saddle-shaped valley: it bends one way in some directions, the other way in others, "
    "and runs straight in the rest",
    "point": "a single point: the score only touches the cut-off",
    "ellipsoid": "a closed shell, like an egg: one class lies inside, the other outside",
    "cone": "a double cone: one class lies inside both halves, the other outside",
    "hyperboloid": "an open curved surface, like an hourglass or two facing bowls",
    "double hyperplane": "a flat sheet that the score touches without crossing the cut-off",
    "parallel hyperplanes": "two parallel flat cuts: one class lies between them, the other on either side",
    "flat": "a flat set that the score touches without crossing the cut-off",
    "elliptic cylinder": "a tube: one class lies inside, the other outside",
    "intersecting hyperplanes": "two flat cuts that cross: opposite wedges belong to the same class",
    "hyperbolic cylinder": "an open curved surface, like two facing sheets, straight in the remaining directions",
    "conic cylinder": "a double cone that runs straight in the remaining directions",
}


def columns_used(summary: ReportSummary) -> list[tuple[str, float]]:
    """Input columns that any surface depends on, with their shares in all movements of the scores; largest first."""
    return shares(part for surface in summary.surfaces for part in surface.importances)


def main_columns(summary: ReportSummary) -> list[tuple[str, float]]:
    """The columns that move the scores most, with their shares; the rest together."""
    used = columns_used(summary)
    top, rest = used[:TOP_COLUMNS], used[TOP_COLUMNS:]
    return [*top, (f"{len(rest)} more", sum(share for _, share in rest))] if rest else top


def shares(importances: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Every column's share, largest first."""
    totals: Counter[str] = Counter()
    for column, value in importances:
        totals[column] += value  # type: ignore[assignment]
    whole = sum(totals.values()) or 1.0
    return [(column, value / whole) for column, value in totals.most_common()]


def ordered(directions: Iterable[Parts], features: Sequence[Feature]) -> list[Parts]:
    """The directions of features that can grow: numbers and ranks, not levels."""
    return [direction for direction in directions if not _is_condition(features[direction["feature"]])]


def rule(summary: ReportSummary) -> str:
    """When a model predicts which class."""
    if len(summary.surfaces) > 1:
        return f"The class with the largest {'probability' if summary.has_probabilities else 'score'} wins."
    other, event = summary.classes
    cutoff = summary.performance["cutoff"] if summary.performance else None
    if cutoff is None:
        return "Every row gets the same prediction: the calibrated probability never crosses the cut-off."
    return f"A score f above {short(cutoff, 3)} means {event}; any other score means {other}."


def least_sure(summary: ReportSummary) -> Certificate:
    """The certificate with the largest gap, or without one."""
    return max((surface.view.certificate for surface in summary.surfaces), key=lambda c: inf if c.gap is None else c.gap)


def simpler(summary: ReportSummary) -> str:
    """What cross-validation says about the model's number of terms."""
    k = summary.cross_validation.simplest_k
    simplest = number_of(k, "term")
    if k < summary.k:
        return f"An equation with {simplest} has an accuracy within one standard error of the best."
    if k == summary.k:
        return "No smaller number of terms has an accuracy within one standard error of the best."
    return f"An accuracy within one standard error of the best needs {simplest}."


def last_terms(found: Complexity, k: int) -> str:
    """What the last terms of the model buy, in a sentence."""
    if found.last is None or found.before is None:
        return "The model has the smallest number of terms that was tried."
    one = k - found.before == 1
    what = f"The last term, from {found.before} to {k}, adds" if one else f"The terms from {found.before} to {k} together add"
    change = f"{what} {spread(found.last)} to the AUC out of fold"
    if found.last.is_clear and found.last.mean > 0.0:
        return f"{change}: more than chance explains."
    return f"{change}, which is within the noise of the folds: an equation with fewer terms may do."


def rival_words(found: RivalFigures) -> str:
    """How another classifier does beside the model, in a sentence."""
    name, difference = f"{found.name[:1].upper()}{found.name[1:]}", found.difference
    if not difference.is_clear:
        return f"{name} does not differ from this model by more than the noise of the folds."
    size = spread(replace(difference, mean=abs(difference.mean)))
    return f"{name} has an AUC that is {size} {'higher' if difference.mean > 0.0 else 'lower'}."


def spread(figure: Figure) -> str:
    """A mean over folds with its standard error."""
    error = "" if figure.error is None else f" \N{PLUS-MINUS SIGN} {number(figure.error, 2)}"
    return f"{number(figure.mean, 3)}{error}"


def proved(certificate: Certificate, is_ruled: bool = False) -> str:
    """What the certificate proves, in a sentence."""
    terms = f"{number_of(certificate.k, 'term')}{' that keeps the rules' * is_ruled}"
    k = f"equation with at most {terms}" if certificate.n_surfaces == 1 else f"list of at most {terms} for all classes"
    if certificate.status == "optimal":
        return f"Proved: no {k} has a lower objective on these data."
    if certificate.gap is None:
        why = "whose columns are nearly dependent or far from zero: standardise them"
        sentence = f"Not proved: there is no safe bound on these data, {why}."
    else:
        sentence = f"Proved: no {k} lowers the objective by more than {gap_text(certificate.gap)}."
    return f"{sentence} {_unsettled(certificate)}".rstrip()


def exchanges(certificate: Certificate, is_ruled: bool) -> str:
    """What is known of exchanges of one term, in a sentence."""
    sentence = EXCHANGES[certificate.swap_optimal]
    return sentence.replace("another", "another within the rules", 1) if is_ruled else sentence


def _unsettled(certificate: Certificate) -> str:
    """What the coefficients leave to be desired, where that is more than the tolerance."""
    if certificate.converged:
        return ""
    if certificate.decrease >= 1.0:
        return "How far other coefficients of the same terms could lower the objective is not known."
    return f"Other coefficients of the same terms could lower the objective by up to {gap_text(certificate.decrease)}."


def gap_fact(certificate: Certificate) -> str:
    """The gap of a certificate in a word or two."""
    gap = "not known" if certificate.gap is None else gap_text(certificate.gap)
    return PROVED_BEST if certificate.status == "optimal" else gap


def gap_text(gap: float) -> str:
    """A relative gap in percent, rounded up."""
    return percent(rounded_up(gap))


def number_of(count: int, thing: str) -> str:
    """1 term, 2 terms."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def symbol(feature: Feature) -> str:
    """A feature as it stands in an equation; a prime marks that it is capped, or centred and scaled."""
    return _bracketed(feature) + (PRIME if feature.caps or feature.center != 0.0 or feature.scale != 1.0 else "")


def _bracketed(feature: Feature) -> str:
    return f"[{feature.name}]" if _is_condition(feature) else feature.name


def _is_condition(feature: Feature) -> bool:
    return feature.kind in ("level", "missing")


def definition(feature: Feature) -> str:
    """A centred feature in terms of the raw one, and what that is capped at."""
    name, sign = _bracketed(feature), "+" if feature.center < 0 else MINUS
    centred = f"({name} {sign} {short(abs(feature.center))})" if feature.center else name
    scaled = centred if feature.scale == 1.0 else f"{centred} / {short(feature.scale)}"
    return f"{scaled}, capped at {' and '.join(map(short, feature.caps))}" if feature.caps else scaled


def term_symbol(coefficient: Coefficient, features: Sequence[Feature]) -> str:
    """A term as it stands in an equation."""
    first = symbol(features[coefficient.first])
    if coefficient.second is None:
        return first
    return first + SQUARE if coefficient.second == coefficient.first else first + TIMES + symbol(features[coefficient.second])


def term_words(
    coefficient: Coefficient, features: Sequence[Feature], sides: tuple[str, str], equation: Sequence[Coefficient] = ()
) -> str:
    """One sentence on what a term says.

    Parameters
    ----------
    coefficient : Coefficient
        The sign of its weight decides which side it takes.
    features : sequence of Feature
    sides : pair of str
        As in ``SurfaceSummary``.
    equation : sequence of Coefficient
        All terms beside which it stands.
    """
    side, other = sides if coefficient.weight > 0 else sides[::-1]
    first = features[coefficient.first]
    if coefficient.second is None:
        is_alone = not any(term.second is not None and coefficient.first in (term.first, term.second) for term in equation)
        where = "" if is_alone else " where all columns are at their centres; its other terms can reverse that"
        return f"{'' if _is_condition(first) else 'Higher '}{first.name} counts {side}{where}."
    second = features[coefficient.second]
    if coefficient.first == coefficient.second:
        return f"Values of {first.name} far from {short(first.center, 3)}, on either side, count {side}."
    if _is_condition(first) and _is_condition(second):
        return f"{first.name} together with {second.name} counts {side}."
    if _is_condition(first) or _is_condition(second):
        condition, number = (first, second) if _is_condition(first) else (second, first)
        return f"If {condition.name}, higher {number.name} counts more {side}."
    centres = f"{short(first.center, 3)} and {short(second.center, 3)}"
    pair = f"{first.name} and {second.name} on the same side of {centres} (both above or both below)"
    return f"{pair} count {side}; on opposite sides they count {other}."
