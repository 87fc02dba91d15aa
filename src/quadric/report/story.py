"""What is said in words about the numbers of a summary."""

from __future__ import annotations

from dataclasses import dataclass

from quadric.certificate import Certificate
from quadric.report.numbers import number, percent, short
from quadric.summary import Importance, Making, ReportSummary

USUALLY = 0.5
"""Share of bootstrap fits from which a term counts as coming back."""
TOP_COLUMNS = 5
VERDICTS = {
    "increasing": "always rises",
    "decreasing": "always falls",
    "changes sign": "either way",
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


@dataclass(frozen=True)
class Share:
    """A column's part of what moves the score."""

    column: str
    share: float


def title(summary: ReportSummary) -> str:
    """Of the page."""
    if summary.name:
        return summary.name
    return f"Model of {summary.target}" if summary.target else "Quadratic classifier"


def cards(summary: ReportSummary) -> list[Card]:
    """What it is, how good, how sure."""
    return [_what_it_is(summary), _how_good(summary), _how_sure(summary)]


def columns_used(summary: ReportSummary) -> list[str]:
    """Input columns that any surface depends on."""
    return list(dict.fromkeys(part.column for surface in summary.surfaces for part in surface.importances))


def main_columns(summary: ReportSummary) -> list[Share]:
    """The columns that move the scores most, with their shares; the rest together."""
    totals: dict[str, float] = {}
    for surface in summary.surfaces:
        for part in surface.importances:
            totals[part.column] = totals.get(part.column, 0.0) + part.value
    whole = sum(totals.values()) or 1.0
    ordered = sorted(totals, key=lambda column: -totals[column])
    shown = [Share(column, totals[column] / whole) for column in ordered[:TOP_COLUMNS]]
    rest = ordered[TOP_COLUMNS:]
    if rest:
        shown.append(Share(f"{len(rest)} more", sum(totals[column] for column in rest) / whole))
    return shown


def _what_it_is(summary: ReportSummary) -> Card:
    used = f"It uses {len(columns_used(summary))} of {summary.n_columns} input columns."
    of = f"of {number_of(summary.n_candidates, 'candidate')}"
    if len(summary.surfaces) > 1:
        first = f"One quadratic equation a class, each with at most {number_of(summary.k, 'term')} {of}."
        return Card("What is it?", f"{len(summary.surfaces)} equations", (first, used, "The largest score decides."))
    terms = number_of(len(summary.surfaces[0].terms), "term")
    return Card("What is it?", terms, (f"One quadratic equation with {terms} {of}.", used, rule(summary)))


def rule(summary: ReportSummary) -> str:
    """When a model of two classes decides for which."""
    other, event = summary.classes
    cutoff = summary.performance.cutoff if summary.performance else None
    if cutoff is None:
        return "No cut-off on the score exists: the calibrated probability does not rise through one half."
    return f"A score f above {short(cutoff, 3)} decides for {event}, any other for {other}."


def _how_good(summary: ReportSummary) -> Card:
    cv = summary.cross_validation
    at = cv.ks.index(summary.k)
    most = max(range(len(summary.classes)), key=lambda code: summary.counts[code])
    base = percent(summary.counts[most] / sum(summary.counts))
    shifted = summary.performance is not None and summary.performance.cutoff != 0.0
    sign = f"; a score above 0 counting for {summary.classes[1]}" if shifted else ""
    lines = [
        f"right on samples left out in {cv.folds} folds (standard error {percent(cv.error[at])}{sign}).",
        f"Always saying {summary.classes[most]} would be right in {base}.",
    ]
    values = {measure.name: measure for measure in summary.measures}
    if "AUC" in values:
        area, distance = values["AUC"], values["KS"]
        lines.append(
            f"AUC {number(area.left_out, 3)} and KS {number(distance.left_out, 3)} left out; "
            f"{number(area.fitted, 3)} and {number(distance.fitted, 3)} as fitted."
        )
    return Card("How good is it?", percent(cv.mean[at]), tuple(lines))


def _how_sure(summary: ReportSummary) -> Card:
    worst = max((surface.view.certificate for surface in summary.surfaces), key=lambda c: c.gap if c.gap is not None else 1.0)
    lines = [proved(worst)]
    if summary.n_boot:
        rows = [row for surface in summary.surfaces for row in surface.terms]
        back = sum(row.inclusion is not None and row.inclusion >= USUALLY for row in rows)
        share = f"{back} of {number_of(len(rows), 'term')}"
        lines.append(f"{share} came back in at least half of {number_of(summary.n_boot, 'redrawn sample')}.")
    if summary.views:
        lines.append(simpler(summary))
    return Card("How sure is that?", _sureness(worst), tuple(lines))


def _sureness(certificate: Certificate) -> str:
    if certificate.status == "optimal":
        return "proved best"
    return "not bounded" if certificate.gap is None else f"gap at most {gap_text(certificate.gap)}"


def simpler(summary: ReportSummary) -> str:
    """What cross-validation says about the model's number of terms."""
    cv = summary.cross_validation
    if cv.simplest_k < summary.k:
        return f"{number_of(cv.simplest_k, 'term')} would come within one standard error of the best accuracy."
    if cv.simplest_k == summary.k:
        return "No smaller number of terms comes within one standard error of the best accuracy."
    return f"The best accuracy, within one standard error, needs {number_of(cv.simplest_k, 'term')}."


def proved(certificate: Certificate) -> str:
    """What the certificate proves, in a sentence."""
    k = number_of(certificate.k, "term")
    if certificate.status == "optimal":
        return f"No equation with at most {k} has a lower objective on these data: this is proved."
    if certificate.gap is None:
        return "No bound was computed."
    return f"No equation with at most {k} can lower the objective by more than {gap_text(certificate.gap)}: this is proved."


def exchanges(certificate: Certificate) -> str:
    """What is known about exchanging one term."""
    known = {
        True: "No exchange of one term for another lowers the objective.",
        False: "Some exchange of one term for another would lower the objective.",
        None: "Whether some exchange of one term for another would help was not examined.",
    }
    return known[certificate.swap_optimal]


def gap_text(gap: float) -> str:
    """A relative gap in percent, not rounded to nothing."""
    return percent(gap) if gap >= 0.0005 else f"less than {percent(0.001)}"


def number_of(count: int, thing: str) -> str:
    """1 term, 2 terms."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def data_remark(making: Making) -> str:
    """Whether the data of the report are those of the fit; empty where nothing speaks against it."""
    if making.same_data is False:
        return (
            "The objective on these data is not that of the fit: the model was fitted to other data, or with weights. "
            "Everything below describes the data of this report."
        )
    return ""


def importance_shares(importances: tuple[Importance, ...]) -> list[Share]:
    """Every column's part of what moves one score."""
    whole = sum(part.value for part in importances) or 1.0
    return [Share(part.column, part.value / whole) for part in importances]
