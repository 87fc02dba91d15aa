"""Where people decided against a model: how often, in which grades, what became of it, and which terms set these rows apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import norm

from quadric.credit.intervals import LEVEL, jeffreys_interval
from quadric.errors import quoted, refuse_unknown
from quadric.estimators.curves import decided
from quadric.explain import contributions
from quadric.fitted.points import ScoreScale
from quadric.review.decisions import Decisions
from quadric.review.validating import Grading, ResultTable
from quadric.tables import Table
from quadric.types import BoolArray, FloatArray
from quadric.workflow.options import OptionError
from quadric.workflow.scoring import TableModel

# The four groups: whether the model approves, and whether people did
HIGH_SIDE, LOW_SIDE = "high-side override", "low-side override"
CELLS = {
    "approved by both": (True, True),
    HIGH_SIDE: (True, False),
    LOW_SIDE: (False, True),
    "declined by both": (False, False),
}
# What an override is compared with: rows of which the model says the same, and people agree
AGREED = {HIGH_SIDE: "approved by both", LOW_SIDE: "declined by both"}
NO_REASON = "no reason"
HEAD = ("grade", "above", "upto", "group", "rows", "share", "known", "bad", "bad_rate", "low", "high", "predicted")


@dataclass(frozen=True)
class OverrideGroup:
    """Rows of which the model says the same, and people said the same.

    Attributes
    ----------
    name : str
        One of CELLS.
    n_rows : int
    share : float
        Of the rows with a decision, in the grade or in all.
    n_known, n_bad : int
        Rows whose outcome is known, and those of them that are bad.
    bad_rate, low, high : float or None
        Share of the bad among the known, with its 95 % interval (Jeffreys); None where no outcome is known.
    predicted : float or None
        The model's mean probability of bad of all rows; None for no rows.
    predicted_known : float or None
        That of the rows whose outcome is known, which is what ``bad_rate`` is compared with.
    """

    name: str
    n_rows: int
    share: float
    n_known: int
    n_bad: int
    bad_rate: float | None
    low: float | None
    high: float | None
    predicted: float | None
    predicted_known: float | None


@dataclass(frozen=True)
class OverrideGrade:
    """The groups of one grade.

    Attributes
    ----------
    grade : int
        From 1, low risk first.
    above, upto : float or None
        Its ends: probabilities of bad, or scores, as the grades were given; None: no end.
    groups : tuple of OverrideGroup
        In the order of CELLS.
    """

    grade: int
    above: float | None
    upto: float | None
    groups: tuple[OverrideGroup, ...]


@dataclass(frozen=True)
class TermGap:
    """How overridden rows differ from the others of which the model says the same, in one term.

    Attributes
    ----------
    term : str
    difference : float
        Of the means of what the term adds to the score; those of all terms sum to the difference of the mean scores.
    by_chance : float or None
        Two random groups of this size differ by no more in 19 of 20 cases; None for groups of a single row.
    """

    term: str
    difference: float
    by_chance: float | None


@dataclass(frozen=True)
class Reason:
    """A reason code of overrides.

    Attributes
    ----------
    code : str
        NO_REASON where there is no value.
    high_side, low_side : int
        Overrides with it.
    """

    code: str
    high_side: int
    low_side: int


@dataclass(frozen=True)
class Overrides:
    """Decisions of people beside those of a model.

    Attributes
    ----------
    column : str
        Of the decisions.
    good, bad : str
        Classes of the model, which approves rows of which it decides good.
    cutoff : float
        Probability of the positive class above which the model decides for it.
    n_rows, n_missing, n_other : int
        All rows; those without a decision; and those with one that is neither approved nor declined.
    groups : tuple of OverrideGroup
        In the order of CELLS.
    grades : tuple of OverrideGrade
        From low risk to high.
    high_side, low_side : tuple of TermGap
        Terms of the two kinds of overrides, the largest differences first; empty where there are no rows to compare.
    reasons : tuple of Reason
        The most frequent first; empty without a column of reasons.
    """

    column: str
    good: str
    bad: str
    cutoff: float
    n_rows: int
    n_missing: int
    n_other: int
    groups: tuple[OverrideGroup, ...]
    grades: tuple[OverrideGrade, ...]
    high_side: tuple[TermGap, ...]
    low_side: tuple[TermGap, ...]
    reasons: tuple[Reason, ...]

    @property
    def rates(self) -> dict[str, float | None]:
        """High-side overrides of the rows that the model approves, low-side ones of those it declines; None of no rows."""
        rows = {group.name: group.n_rows for group in self.groups}
        sums = {name: rows[name] + rows[other] for name, other in AGREED.items()}
        return {name: rows[name] / total if total else None for name, total in sums.items()}

    def table(self) -> ResultTable:
        """All groups, and those of each grade, one row each.

        Returns
        -------
        ResultTable
        """
        fields = ("name", "n_rows", "share", "n_known", "n_bad", "bad_rate", "low", "high", "predicted")
        every = [("all", None, None, self.groups), *((each.grade, each.above, each.upto, each.groups) for each in self.grades)]
        rows = [
            (grade, above, upto, *(getattr(group, name) for name in fields))
            for grade, above, upto, groups in every
            for group in groups
        ]
        return ResultTable("overrides", HEAD, tuple(rows))

    def words(self) -> Iterator[str]:
        """What can be concluded, and what cannot, one sentence each.

        Yields
        ------
        str
        """
        groups = {group.name: group for group in self.groups}
        low = groups[LOW_SIDE]
        if low.bad_rate is not None and low.predicted_known is not None and low.low is not None and low.high is not None:
            rate = f"{low.n_bad:,} of {low.n_known:,} low-side overrides with an outcome are {self.bad}"
            expected = f"the model expected {low.predicted_known * low.n_known:.1f}"
            if low.high < low.predicted_known:
                verdict = "fewer than chance allows, so people knew something that the model does not"
            elif low.low > low.predicted_known:
                verdict = "more than chance allows, so these overrides cost money"
            else:
                verdict = "no clear difference, so the outcomes do not show that people knew more than the model"
            yield f"{rate}, and {expected}: {verdict}"
        elif low.n_rows:
            yield "no outcome of a low-side override is known, so nothing shows yet whether these were right"
        high = groups[HIGH_SIDE]
        if high.n_rows:
            unknown = high.n_rows - high.n_known
            yield (
                f"outcomes of {unknown:,} of {high.n_rows:,} high-side overrides are not known, as declined applicants get no "
                f"loan: the model expects {100.0 * (high.predicted or 0.0):.1f} % {self.bad}, and no data here can say whether "
                "people were right"
            )


def overrides(
    model: TableModel,
    table: Table,
    column: str,
    *,
    approved: Sequence[str] = (),
    declined: Sequence[str] = (),
    cutoff: float | None = None,
    grades: Sequence[float] | None = None,
    scale: ScoreScale | None = None,
    reason: str | None = None,
) -> Overrides:
    """Compare the decisions that people took with those of a model.

    A high-side override is a row that the model approves and people declined, a low-side one the other way round. Outcomes are
    taken from the target column where it is there.

    Parameters
    ----------
    model : TableModel
        Of two classes, with probabilities.
    table : Table
        Raw rows.
    column : str
        Of the decisions; it cannot be a column of the model.
    approved, declined : sequences of str
        Values of the column, as in ``Decisions.of``.
    cutoff : float, optional
        Probability of the positive class above which the model decides for it; by default the model's own.
    grades : sequence of float, optional
        Boundaries between grades, probabilities of bad or points of ``scale``; by default tenths of the scores of the rows that
        the model was fitted to.
    scale : ScoreScale, optional
    reason : str, optional
        Column of reason codes.

    Returns
    -------
    Overrides

    Examples
    --------
    >>> import numpy as np
    >>> from quadric.review import overrides
    >>> from quadric.tables import Table
    >>> from quadric.workflow import TableModel, TrainingOptions, train
    >>> income = np.linspace(0.0, 1.0, 200)
    >>> risk = np.where((income < 0.4) ^ (np.arange(200) % 9 == 0), "bad", "good").astype(object)
    >>> table = Table(("income", "risk"), (income, risk))
    >>> options = TrainingOptions(k=1, C=1.0, loss="logistic", terms="linear")
    >>> model = TableModel(train(table, "risk", options).saved())
    >>> decision = np.where(income < 0.5, "declined", "approved").astype(object)
    >>> decision[:3] = "approved"
    >>> found = overrides(model, Table(("income", "decision"), (income, decision)), "decision")
    >>> {group.name: group.n_rows for group in found.groups}["low-side override"]
    3
    """
    names = model.class_names
    if len(names) != 2 or not model.view.calibrators:
        raise ValueError("overrides need a model of two classes with probabilities: fit it with calibration")
    for name, wrong in ((column, partial(OptionError, decision=None)), (reason, partial(OptionError, reason=None))):
        if name is None:
            continue
        if name == model.saved.target or name in model.view.needed:
            what = "is the target" if name == model.saved.target else "is used by the model"
            raise wrong(f"the column {quoted(name)} {what}: it cannot hold what people decided")
        refuse_unknown([name], table.names, "the table", error=wrong)
    if cutoff is not None and not 0.0 < cutoff < 1.0:
        raise OptionError(f"cutoff must be a probability between 0 and 1, got {quoted(cutoff)}", cutoff=None)
    decisions = Decisions.of(table, column, approved, declined)
    grading = Grading.of(model, grades, scale)
    good = names.index(model.favourable or names[0])
    threshold = model.view.threshold if cutoff is None else cutoff
    found = contributions(model.view, model.inputs(table, only_needed=True))
    chances = model.judged(found.decision, table.first_row).probabilities
    assert chances is not None
    by_model = decided(chances, threshold) == good
    cells = {
        name: (by_model == first) & (decisions.approved if second else decisions.declined)
        for name, (first, second) in CELLS.items()
    }
    rows = _Rows(
        cells,
        model.outcomes(table) if model.saved.target in table.names else np.full(len(table), -1),
        1 - good,
        chances[:, 1 - good],
    )
    places = grading.grades(model, table)
    ends = [None, *grading.edges.tolist(), None]
    gaps = {name: _gaps(found.names, found.values, cells[name], cells[other]) for name, other in AGREED.items()}
    return Overrides(
        column=column,
        good=names[good],
        bad=names[1 - good],
        cutoff=float(threshold),
        n_rows=len(table),
        n_missing=decisions.n_missing,
        n_other=decisions.n_other,
        groups=rows.groups(np.ones(len(table), dtype=bool)),
        grades=tuple(
            OverrideGrade(place + 1, ends[place], ends[place + 1], rows.groups(places == place))
            for place in range(len(ends) - 1)
        ),
        high_side=gaps[HIGH_SIDE],
        low_side=gaps[LOW_SIDE],
        reasons=() if reason is None else _reasons(table, reason, cells),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The groups of all rows, and what is known of these."""

    cells: dict[str, BoolArray]
    codes: np.ndarray
    bad: int
    chances: FloatArray

    def groups(self, some: BoolArray) -> tuple[OverrideGroup, ...]:
        """Of some of the rows."""
        total = sum(int((rows & some).sum()) for rows in self.cells.values())
        return tuple(self._group(name, rows & some, total) for name, rows in self.cells.items())

    def _group(self, name: str, rows: BoolArray, total: int) -> OverrideGroup:
        known = rows & (self.codes >= 0)
        n_rows, n_known, n_bad = (int(each.sum()) for each in (rows, known, rows & (self.codes == self.bad)))
        rate = jeffreys_interval(n_bad, n_known) if n_known else None
        ends = (None, None, None) if rate is None else (rate.value, rate.low, rate.high)
        means = [float(self.chances[each].mean()) if each.any() else None for each in (rows, known)]
        return OverrideGroup(name, n_rows, n_rows / total if total else 0.0, n_known, n_bad, *ends, *means)


def _gaps(names: Sequence[str], values: FloatArray, overridden: BoolArray, others: BoolArray) -> tuple[TermGap, ...]:
    """Differences of the means, and how large they are by chance (Welch)."""
    n, m = int(overridden.sum()), int(others.sum())
    if not n or not m:
        return ()
    differences = values[overridden].mean(axis=0) - values[others].mean(axis=0)
    chances: list[float | None] = [None] * len(names)
    if n > 1 and m > 1:
        variance = values[overridden].var(axis=0, ddof=1) / n + values[others].var(axis=0, ddof=1) / m
        chances = [*(float(norm.ppf(0.5 + LEVEL / 2.0)) * np.sqrt(variance)).tolist()]
    gaps = [TermGap(*each) for each in zip(names, differences.tolist(), chances, strict=True)]
    return tuple(sorted(gaps, key=lambda each: -abs(each.difference)))


def _reasons(table: Table, column: str, cells: dict[str, BoolArray]) -> tuple[Reason, ...]:
    labels, places = table.distinct_labels(column)
    counts = [np.bincount(places[cells[side]], minlength=len(labels)).tolist() for side in AGREED]
    found = [
        Reason(NO_REASON if label is None else label, high, low)
        for label, high, low in zip(labels, *counts, strict=True)
        if high or low
    ]
    return tuple(sorted(found, key=lambda each: (-each.high_side - each.low_side, each.code)))
