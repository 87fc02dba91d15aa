"""Rows of a table explained: why they get their labels, and the smallest change that would give them another.

The command line and the report both print what ``explain_rows`` returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from quadric.errors import listed, unknown_names
from quadric.explain import ReasonCodes, RecourseAnswers, reason_codes, recourse
from quadric.explain._request import average_directions, limits_of_row, seen_limits
from quadric.explain.reasons import effect_on_score
from quadric.fitted import FittedModel
from quadric.progress import counted
from quadric.tables import Table
from quadric.tables.coded import complete
from quadric.tables.dates import date_text, dates_after
from quadric.tables.inputs import cell_text
from quadric.types import FloatArray
from quadric.workflow.advice import Moves, allowed_moves, one_way, read_moves
from quadric.workflow.options import OptionError
from quadric.workflow.scoring import Scores, TableModel

# What a row is compared with, in words
REFERENCES = {"mean": "mean", "approved": "best tenth", "cutoff": "border"}
CATEGORY = "{feature} is {value}"
NUMBER = "{{feature}} is {{value}} ({} {{reference}})"
UNADVISED = "no change is advised: name the class that people want, with favourable, here or when fitting"
NEVER = "the calibrated probability never crosses the cut-off, so the model always predicts the same class"


@dataclass(frozen=True)
class ExplainingOptions:
    """What to explain, and what a change may touch.

    Attributes
    ----------
    reasons : int
        Maximum number of reasons per row.
    reference : {"mean", "approved", "cutoff"}
        What a row is compared with, as in ``reason_codes``.
    target : str or None
        Name of the class that people want; None: the one that the model file names. If it names none, there are reasons but no
        changes: what speaks for the positive one of two classes, or against the one with the second largest score.
    frozen : sequence of str
        Columns that a change must leave alone, besides those that the model file lists.
    actionable : sequence of str
        The only columns that a change may touch, each with the directions it may take: "amount:down", "savings:up:step" (to
        whole numbers), "months" (both ways). None here: those that the model file lists; none there either: all numbers but
        age, each in the direction in which it helps on average.
    ways : int
        Largest number of different changes to look for.
    """

    reasons: int = 4
    reference: Literal["mean", "approved", "cutoff"] = "mean"
    target: str | None = None
    frozen: Sequence[str] = ()
    actionable: Sequence[str] = ()
    ways: int = 3


@dataclass(frozen=True)
class Reason:
    """A column that counts against the wanted class: in points of the scorecard where there is one, otherwise in units of f."""

    column: str
    points: float
    text: str


@dataclass(frozen=True)
class Contribution:
    """What a column adds towards the target, compared with the reference; points are those of :class:`Reason`."""

    column: str
    value: str
    points: float


@dataclass(frozen=True)
class Change:
    """One value of a smallest change, in raw units: a number, or a date as a text."""

    feature: str
    before: float | str
    after: float | str

    def __str__(self) -> str:
        return f"{self.feature} {_shown(self.before)} -> {_shown(self.after)}"


@dataclass(frozen=True)
class Way:
    """A change that reaches the target.

    Attributes
    ----------
    changes : tuple of Change
    cost : float
        Length of the change in standard deviations of the columns, or in their own units if the model does not standardise.
    """

    changes: tuple[Change, ...]
    cost: float

    def __str__(self) -> str:
        return f"{', '.join(map(str, self.changes))} (cost {self.cost:.3g})"


@dataclass(frozen=True)
class Explanation:
    """One row explained.

    Attributes
    ----------
    row : int
        Its position in the table, from 0.
    score : float
        Decision value; that of the label where there are more than two classes.
    label : str
        The predicted class.
    probability : float or None
        Of the positive class, or of the label where there are more than two.
    target : str
        The class that people want; where nobody named one, the positive one of two, which reasons then speak for, or the next
        likeliest one of more, which reasons count against.
    reasons : tuple of Reason
        Worst first.
    contributions : tuple of Contribution
        Of all columns that matter, those with reasons first; they sum to the difference from the reference.
    changes : tuple of Change
        The smallest change that reaches the target; empty if the row is there already, or if no change was found.
    distance : float or None
        Length of the change in the units of the surface; None if no change was found.
    reached, proved : bool
        Whether the target is reached, and whether no smaller change would do.
    message : str
        The same in words.
    actual : str or None
        The class that the data give, if it is known.
    wanted : bool
        Whether the target is a class that people want; only then there are changes.
    others : tuple of Way
        Other changes that reach the target, each without the column that moves farthest in those before it.
    speaks_for : str or None
        The target where reasons speak for it.
    unit : str
        Of reasons and contributions: "points" of the scorecard where there is one, otherwise "f".
    """

    row: int
    score: float
    label: str
    probability: float | None
    target: str
    reasons: tuple[Reason, ...]
    contributions: tuple[Contribution, ...]
    changes: tuple[Change, ...]
    distance: float | None
    reached: bool
    proved: bool
    message: str
    actual: str | None = None
    wanted: bool = True
    speaks_for: str | None = None
    others: tuple[Way, ...] = ()
    unit: str = "f"

    @property
    def heading(self) -> str:
        """What the reasons are."""
        if self.speaks_for is not None:
            return f"{'what speaks' if self.reasons else 'nothing speaks'} for {self.speaks_for}"
        against = f"{'reasons' if self.reasons else 'no reason'} against {self.target}"
        return against if self.wanted else f"{against}, the next likeliest class"

    @property
    def verdict(self) -> str:
        """What the search for a change came to: a heading if there are changes, otherwise a sentence."""
        if not self.wanted:
            return self.message
        if self.changes:
            return f"{'smallest ' if self.proved else ''}change to {self.target}"
        return f"already {self.target}" if self.reached else f"no change to {self.target}: {self.message}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, reference: str = "") -> list[str]:
        """The explanation in words: score and label, reasons, and the change.

        Parameters
        ----------
        reference : str
            What the row was compared with.

        Returns
        -------
        list of str
        """
        chance = "" if self.probability is None else f", probability {self.probability:.3g}"
        label, heading = (name.replace("\n", "\\n") for name in (self.label, self.heading))
        compared = f", compared with {reference}" if reference else ""
        return [
            f"row {self.row}: score {self.score:.4g}{chance}, label {label}",
            f"  {heading}{compared}{':' if self.reasons else ''}",
            *(f"    {number}. {reason.text}" for number, reason in enumerate(self.reasons, start=1)),
            *([f"  {self._change_words()}"] if self.wanted else []),
            *(f"  or: {way}" for way in self.others),
        ]

    def _change_words(self) -> str:
        if not self.changes or self.distance is None:
            return self.verdict
        return f"{self.verdict}: {Way(self.changes, self.distance)}" + ("" if self.proved else f"; {self.message}")


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else str(int(value)) if value.is_integer() else f"{value:.6g}"


def explain_rows(
    model: TableModel, table: Table, rows: Sequence[int], background: Table, options: ExplainingOptions
) -> list[Explanation]:
    """Explain some rows of a table.

    Changes leave coded columns and missing values alone, stay within the range of the background, and keep whole numbers whole.

    Parameters
    ----------
    model : TableModel
    table : Table
    rows : sequence of int
        Positions, from 0.
    background : Table
        The population. Rows with missing values that the model refuses are dropped.
    options : ExplainingOptions

    Returns
    -------
    list of Explanation
        One per row, in the order of ``rows``.
    """
    return explain_picked(model, table[list(rows)], rows, background, options)


def explain_picked(
    model: TableModel, picked: Table, rows: Sequence[int], background: Table, options: ExplainingOptions
) -> list[Explanation]:
    """Explain rows that were taken out of a table.

    Parameters
    ----------
    model : TableModel
    picked : Table
    rows : sequence of int
        Their positions in the table that they come from, from 0.
    background, options :
        As in :func:`explain_rows`.

    Returns
    -------
    list of Explanation
    """
    check_names(model, options)
    picked, population = (model.inputs(data, only_needed=True) for data in (picked, background))
    if not model.view.accepts_missing:
        gaps = np.flatnonzero(~complete(picked))
        if len(gaps):
            raise ValueError(f"row {rows[gaps[0]]} has missing values, which the model refuses")
        population = population[complete(population)]
    explainer = _Explainer(
        model, model.view, picked, population, options, allowed_moves(model, options.frozen, options.actionable)
    )
    return [explainer.explanation(i, row) for i, row in counted(enumerate(rows), len(rows), "rows explained")]


def check_names(model: TableModel, options: ExplainingOptions) -> None:
    """Refuse names of classes and columns that the model does not have.

    Parameters
    ----------
    model : TableModel
    options : ExplainingOptions
    """
    if options.target is not None:
        model.code_of(options.target)
    fitted = model.view
    unknown = [name for name in options.frozen if name not in (*fitted.names, *fitted.input_names)]
    if unknown:
        raise OptionError(unknown_names(dict.fromkeys(unknown), fitted.input_names, "the model"), frozen=None)
    read_moves(options.actionable, fitted.input_names)


@dataclass(frozen=True)
class _Explainer:
    model: TableModel
    fitted: FittedModel
    rows: Table
    population: Table
    options: ExplainingOptions
    moves: Mapping[str, Moves]

    @property
    def wanted(self) -> str | None:
        return self.model.favourable if self.options.target is None else self.options.target

    @cached_property
    def scores(self) -> Scores:
        return self.model.scores(self.rows)

    @cached_property
    def targets(self) -> list[int]:
        if self.wanted is not None:
            return [self.model.code_of(self.wanted)] * len(self.rows)
        if self.scores.decision.ndim == 1:
            return [0] * len(self.rows)  # reasons speak for the positive class
        others = (self.scores.decision if self.scores.probabilities is None else self.scores.probabilities).copy()
        others[np.arange(len(others)), self.scores.codes] = -np.inf
        return others.argmax(axis=1).tolist()

    @cached_property
    def answers(self) -> dict[int, ReasonCodes]:
        """Reasons of all rows, for each target: the population is looked at once per class, not once per row."""
        numbers = set(self.fitted.blocks[self.fitted.numeric].tolist())
        categories = [name for block, name in enumerate(self.fitted.input_names) if block not in numbers]
        return {
            target: reason_codes(
                self.model.saved.model,
                self.rows,
                n=self.options.reasons,
                reference=self.options.reference,
                background=self.population,
                favourable=self.fitted.classes.tolist()[target],
                template=NUMBER.format(REFERENCES[self.options.reference]),
                templates=dict.fromkeys(categories, CATEGORY),
            )
            for target in sorted(set(self.targets))
        }

    @property
    def unit(self) -> float:
        """What one of f is in points: those of the scorecard, if there is one."""
        line = self.model.points_line
        return 1.0 if line is None else abs(line.slope)

    @cached_property
    def helpful(self) -> dict[int, dict[str, int]]:
        """The direction in which each number helps, for each target."""
        classes = self.fitted.classes.tolist()
        return {target: average_directions(self.fitted, classes[target], self.population) for target in set(self.targets)}

    @cached_property
    def seen(self) -> dict[str, Any]:
        return seen_limits(self.fitted, self.population)

    def explanation(self, i: int, row: int) -> Explanation:
        scores, target, names = self.scores, self.targets[i], self.model.class_names
        code, is_binary, answers = int(scores.codes[i]), scores.decision.ndim == 1, self.answers[target]
        speaks_for = names[1] if self.wanted is None and is_binary else None  # what costs the other class points
        costs = answers.points[i].tolist()  # which end in NaN
        reasons = zip(answers.columns[i], costs, answers.texts[i], strict=False)
        return Explanation(
            row=row,
            score=float(scores.decision[i] if is_binary else scores.decision[i, code]),
            label=names[code],
            probability=None if scores.probabilities is None else float(scores.probabilities[i, 1 if is_binary else code]),
            target=speaks_for or names[target],
            reasons=tuple(
                Reason(name, self.unit * cost, f"{text}: {self._effect(target, cost)}") for name, cost, text in reasons
            ),
            contributions=self._contributions(answers, i, 1.0 if speaks_for is None else -1.0),
            **self._change(self.rows[[i]], target),
            wanted=self.wanted is not None,
            speaks_for=speaks_for,
            unit="f" if self.model.points_line is None else "points",
        )

    def _effect(self, target: int, cost: float) -> str:
        """What a column does to the points, or else to f: a cost of f counts against the target."""
        line = self.model.points_line
        if line is None:
            return effect_on_score(self.fitted, self.fitted.classes.tolist()[target], cost)
        return f"{self.unit * cost:.3g} points {'lost' if (line.slope > 0.0) == (target == 1) else 'gained'}"

    def _contributions(self, answers: ReasonCodes, i: int, sign: float) -> tuple[Contribution, ...]:
        points, names = self.unit * answers.contributions[i], answers.names
        order = [j for j in np.argsort(points, kind="stable") if abs(points[j]) > 0.0]  # NaN where there is no reference
        return tuple(Contribution(names[j], cell_text(self.rows[names[j]].tolist()[i]), sign * float(points[j])) for j in order)

    def _value(self, feature: int, value: float) -> float | str:
        origin = self.fitted.inputs[self.fitted.blocks[feature]].origin
        return float(value) if origin is None else date_text(dates_after(np.array([value]), origin)[0])

    def _change(self, row: Table, target: int) -> dict[str, Any]:
        """The smallest change of one row, or why there is none; it does not depend on which other rows are explained."""
        nothing = {"changes": (), "distance": None, "reached": False, "proved": False}
        if self.wanted is None:
            return {**nothing, "message": UNADVISED}
        if self.fitted.border is None:
            return {**nothing, "proved": True, "message": NEVER}
        before = self.fitted.reported(row)[0]
        first, *others = self._answers(row, target, before)
        proved, message = bool(first.proved[0]), first.message[0]
        if not first.reached[0]:
            return {**nothing, "proved": proved, "message": f"{message}{self._stay}"}
        changes, distance = self._changes(first, before), float(first.distance[0])
        ways = tuple(Way(self._changes(other, before), float(other.distance[0])) for other in others)
        return {"changes": changes, "distance": distance, "reached": True, "proved": proved, "message": message, "others": ways}

    @cached_property
    def _stay(self) -> str:
        """Columns that the equation uses and that no change may touch, in words."""
        names = [name for name in self.fitted.input_names if name in self.fitted.needed and name not in self.moves]
        ending = "stays as it is" if len(names) == 1 else "stay as they are"
        return f" while {listed(names)} {ending}" if names else ""

    def _answers(self, row: Table, target: int, before: FloatArray) -> list[RecourseAnswers]:
        """The smallest change, and then others: what moves farthest in one stays in those that follow."""
        limits, model = limits_of_row(self.fitted, self.seen, row, before), self.model.saved.model
        limits["frozen"] += [name for name in self.fitted.input_names if name not in self.moves]
        ways = one_way(self.moves, self.helpful[target])
        limits["integer"] += ways.pop("integer")
        wanted = partial(recourse, model, row, target=self.fitted.classes.tolist()[target], **ways)
        answers = [wanted(**limits)]
        while len(answers) < self.options.ways and answers[-1].reached[0] and answers[-1].change.any():
            farthest = int(np.argmax(np.abs(answers[-1].change[0]) / self.fitted.units.scale))
            limits["frozen"].append(answers[-1].names[farthest])
            answers.append(wanted(**limits))
        return [answer for number, answer in enumerate(answers) if number == 0 or answer.reached[0]]

    def _changes(self, found: RecourseAnswers, before: FloatArray) -> tuple[Change, ...]:
        after, moved = found.x[0], np.flatnonzero(found.change[0]).tolist()
        return tuple(Change(found.names[j], self._value(j, before[j]), self._value(j, after[j])) for j in moved)
