"""What a report says in words about the numbers of a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from quadric.certificate import Certificate
from quadric.report.numbers import number, percent, short
from quadric.report.values import ReportSummary

USUALLY = 0.5
"""Share of bootstrap fits from which a term counts as chosen again."""
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


@dataclass(frozen=True)
class Card:
    """One of the answers at the top.

    Attributes
    ----------
    question, answer : str
    lines : tuple of str
    """

    question: str
    answer: str
    lines: tuple[str, ...]


def cards(summary: ReportSummary) -> list[Card]:
    """What it is, how good, how sure."""
    return [_what_it_is(summary), _how_good(summary), _how_sure(summary)]


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


def _what_it_is(summary: ReportSummary) -> Card:
    used = f"It uses {len(columns_used(summary))} of {number_of(summary.n_columns, 'input column')}."
    chosen = f"chosen from {number_of(summary.n_candidates, 'candidate')}"
    if len(summary.surfaces) > 1:
        first = f"One quadratic equation per class, each with at most {number_of(summary.k, 'term')} {chosen}."
        return Card(
            "What is it?", f"{len(summary.surfaces)} equations", (first, used, "The class with the largest score wins.")
        )
    terms = number_of(len(summary.surfaces[0].terms), "term")
    return Card("What is it?", terms, (f"One quadratic equation with {terms} {chosen}.", used, rule(summary)))


def rule(summary: ReportSummary) -> str:
    """When a model of two classes predicts which."""
    other, event = summary.classes
    cutoff = summary.performance.cutoff if summary.performance else None
    if cutoff is None:
        return "The score has no cut-off: the calibrated probability never crosses one half."
    return f"A score f above {short(cutoff, 3)} means {event}; any other score means {other}."


def _how_good(summary: ReportSummary) -> Card:
    cv, at = summary.cross_validation, summary.cross_validation.ks.index(summary.k)
    most = max(range(len(summary.classes)), key=lambda code: summary.counts[code])
    base = percent(summary.counts[most] / sum(summary.counts))
    shifted = summary.performance is not None and summary.performance.cutoff != 0.0
    lines = [
        f"of out-of-fold predictions are correct ({cv.folds} folds, standard error {percent(cv.error[at])}"
        f"{'; at cut-off 0' if shifted else ''}).",
        f"Always predicting {summary.classes[most]} would be correct for {base}.",
    ]
    values = {measure.name: measure for measure in summary.measures}
    if "AUC" in values:
        area, distance = values["AUC"], values["KS"]
        lines.append(
            f"AUC {number(area.out_of_fold, 3)} and KS {number(distance.out_of_fold, 3)} out of fold; "
            f"{number(area.fitted, 3)} and {number(distance.fitted, 3)} on the training data."
        )
    return Card("How good is it?", percent(cv.mean[at]), tuple(lines))


def _how_sure(summary: ReportSummary) -> Card:
    worst = max((surface.view.certificate for surface in summary.surfaces), key=lambda c: c.gap if c.gap is not None else 1.0)
    lines = [proved(worst)]
    if summary.n_boot:
        rows = [row for surface in summary.surfaces for row in surface.terms]
        again = sum((row.inclusion or 0.0) >= USUALLY for row in rows)
        fits = number_of(summary.n_boot, "bootstrap fit")
        lines.append(f"{again} of {number_of(len(rows), 'term')} were chosen again in at least half of {fits}.")
    if summary.views:
        lines.append(simpler(summary))
    gap = "not bounded" if worst.gap is None else f"gap at most {gap_text(worst.gap)}"
    return Card("How sure is that?", "proved best" if worst.status == "optimal" else gap, tuple(lines))


def simpler(summary: ReportSummary) -> str:
    """What cross-validation says about the model's number of terms."""
    simplest = number_of(summary.cross_validation.simplest_k, "term")
    if summary.cross_validation.simplest_k < summary.k:
        return f"An equation with {simplest} has an accuracy within one standard error of the best."
    if summary.cross_validation.simplest_k == summary.k:
        return "No smaller number of terms has an accuracy within one standard error of the best."
    return f"An accuracy within one standard error of the best needs {simplest}."


def proved(certificate: Certificate) -> str:
    """What the certificate proves, in a sentence."""
    k = number_of(certificate.k, "term")
    if certificate.status == "optimal":
        return f"Proved: no equation with at most {k} has a lower objective on these data."
    if certificate.gap is None:
        return "No bound was computed."
    return f"Proved: no equation with at most {k} lowers the objective by more than {gap_text(certificate.gap)}."


def gap_text(gap: float) -> str:
    """A relative gap in percent, not rounded to nothing."""
    return percent(gap) if gap >= 0.0005 else f"less than {percent(0.001)}"


def sentence(text: str) -> str:
    """With a capital first letter; names in it stay as they are."""
    return text[:1].upper() + text[1:]


def number_of(count: int, thing: str) -> str:
    """1 term, 2 terms."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
