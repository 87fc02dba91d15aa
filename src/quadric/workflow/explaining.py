"""Rows of a table explained: why they get their labels, and the smallest change that would give them another.

The command line and the report both print what ``explain_rows`` returns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Literal

import numpy as np

from quadric.errors import ParameterError, unknown_names
from quadric.explain import ReasonCodes, reason_codes, recourse
from quadric.explain._request import limits_of_row, seen_limits
from quadric.fitted import FittedModel
from quadric.progress import counted
from quadric.tables import Table
from quadric.tables.coded import complete
from quadric.tables.dates import date_text, dates_after
from quadric.tables.table import is_missing, number_text
from quadric.workflow.scoring import Scores, TableModel

# What a row is compared with, in words
REFERENCES = {"mean": "mean", "approved": "best tenth", "cutoff": "border"}
CATEGORY = "{feature} is {value}: {points} points"
NUMBER = "{{feature}} is {{value}} ({} {{reference}}): {{points}} points"
# Of points against a class that people want
LOST = " lost"
UNADVISED = "no change is advised: name the class that people want, with favourable, here or when fitting"
# Names of columns that hold an age
AGE = re.compile("age|age_.*|.*_age", re.IGNORECASE)
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
    frozen, increase_only, decrease_only : sequences of str
        Columns that a change must leave alone, or may change one way only. What the model file lists is left alone too, and
        so is age, unless it is named here.
    """

    reasons: int = 4
    reference: Literal["mean", "approved", "cutoff"] = "mean"
    target: str | None = None
    frozen: Sequence[str] = ()
    increase_only: Sequence[str] = ()
    decrease_only: Sequence[str] = ()


@dataclass(frozen=True)
class Reason:
    """A column that costs a row points towards the wanted class."""

    column: str
    points: float
    text: str


@dataclass(frozen=True)
class Contribution:
    """What a column adds to the score of the target, compared with the reference."""

    column: str
    value: str
    points: float


@dataclass(frozen=True)
class Change:
    """One value of a smallest change, in raw units: a number, or a date as a text."""

    feature: str
    before: float | str
    after: float | str


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
    speaks_for : str or None
        The target where reasons speak for it.
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
        ]

    def _change_words(self) -> str:
        if not self.changes:
            return self.verdict
        changes = ", ".join(f"{c.feature} {_shown(c.before)} -> {_shown(c.after)}" for c in self.changes)
        return f"{self.verdict}: {changes}" + ("" if self.proved else f"; {self.message}")


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
    options = replace(options, frozen=(*options.frozen, *model.frozen, *ages(model, options)))
    if not model.view.accepts_missing:
        gaps = np.flatnonzero(~complete(picked))
        if len(gaps):
            raise ValueError(f"row {rows[gaps[0]]} has missing values, which the model refuses")
        population = population[complete(population)]
    explainer = _Explainer(model, model.view, picked, population, options)
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
    for option in ("frozen", "increase_only", "decrease_only"):
        unknown = [name for name in getattr(options, option) if name not in (*fitted.names, *fitted.input_names)]
        if unknown:
            raise ParameterError(unknown_names(dict.fromkeys(unknown), fitted.input_names, "the model"), **{option: None})


def ages(model: TableModel, options: ExplainingOptions) -> list[str]:
    """Columns that nobody can change and that are left alone unless the options name them: age.

    Parameters
    ----------
    model : TableModel
    options : ExplainingOptions

    Returns
    -------
    list of str
    """
    named = {*options.frozen, *options.increase_only, *options.decrease_only, *model.frozen}
    return [name for name in model.input_names if AGE.fullmatch(name) and name not in named]


def free_columns(model: TableModel, options: ExplainingOptions) -> list[str]:
    """Columns that a change may touch: numbers that the decision depends on and that are not left alone.

    Parameters
    ----------
    model : TableModel
    options : ExplainingOptions

    Returns
    -------
    list of str
    """
    view, fixed = model.view, {*options.frozen, *model.frozen, *ages(model, options)}
    numbers = {view.input_names[i] for i in view.blocks[view.numeric].tolist()}
    return [name for name in view.input_names if name in numbers & view.needed and name not in fixed]


def cell_text(value: Any) -> str:
    """A cell of a table as a person writes it.

    Parameters
    ----------
    value : str, number, date or missing value
    """
    if is_missing(value):
        return "missing"
    if isinstance(value, datetime):
        return date_text(value)
    return number_text(float(f"{value:.6g}")) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class _Explainer:
    model: TableModel
    fitted: FittedModel
    rows: Table
    population: Table
    options: ExplainingOptions

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
        lost = "" if self.wanted is None and self.scores.decision.ndim == 1 else LOST
        return {
            target: reason_codes(
                self.model.saved.model,
                self.rows,
                n=self.options.reasons,
                reference=self.options.reference,
                background=self.population,
                favourable=self.fitted.classes.tolist()[target],
                template=NUMBER.format(REFERENCES[self.options.reference]) + lost,
                templates=dict.fromkeys(categories, CATEGORY + lost),
            )
            for target in sorted(set(self.targets))
        }

    @cached_property
    def seen(self) -> dict[str, Any]:
        return seen_limits(self.fitted, self.population)

    def explanation(self, i: int, row: int) -> Explanation:
        scores, target, names = self.scores, self.targets[i], self.model.class_names
        code, is_binary, answers = int(scores.codes[i]), scores.decision.ndim == 1, self.answers[target]
        speaks_for = names[1] if self.wanted is None and is_binary else None  # what costs the other class points
        reasons = zip(answers.columns[i], answers.points[i].tolist(), answers.texts[i], strict=False)  # points end in NaN
        return Explanation(
            row=row,
            score=float(scores.decision[i] if is_binary else scores.decision[i, code]),
            label=names[code],
            probability=None if scores.probabilities is None else float(scores.probabilities[i, 1 if is_binary else code]),
            target=speaks_for or names[target],
            reasons=tuple(Reason(*reason) for reason in reasons),
            contributions=self._contributions(answers, i, 1.0 if speaks_for is None else -1.0),
            **self._change(self.rows[[i]], target),
            wanted=self.wanted is not None,
            speaks_for=speaks_for,
        )

    def _contributions(self, answers: ReasonCodes, i: int, sign: float) -> tuple[Contribution, ...]:
        points, names = answers.contributions[i], answers.names
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
        before, options = self.fitted.reported(row), self.options
        limits = limits_of_row(self.fitted, self.seen, row, before[0])
        limits["frozen"] += options.frozen
        found = recourse(
            self.model.saved.model,
            row,
            target=self.fitted.classes.tolist()[target],
            increase_only=list(options.increase_only),
            decrease_only=list(options.decrease_only),
            **limits,
        )
        if not found.reached[0]:
            return {**nothing, "proved": bool(found.proved[0]), "message": found.message[0]}
        moved = np.flatnonzero(found.x[0] != before[0])
        return {
            "changes": tuple(
                Change(found.names[j], self._value(j, before[0, j]), self._value(j, found.x[0, j])) for j in moved.tolist()
            ),
            "distance": float(found.distance[0]),
            "reached": True,
            "proved": bool(found.proved[0]),
            "message": found.message[0],
        }
