"""Rows of a table explained: why they get their labels, and the smallest change that would give them another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from quadric.explain import reason_codes, recourse
from quadric.explain._seen import SeenValues
from quadric.fitted import FittedModel
from quadric.tables import Table
from quadric.workflow.preparation import complete_rows
from quadric.workflow.scoring import Scores, TableModel

TEMPLATE = "{feature} is {value}, the reference {reference}: {points} points lost"
NEVER = "the calibrated model never decides for one of its classes"
UNLIKELY = "the smallest change found has the largest score there, but not the largest probability"


@dataclass(frozen=True)
class ExplainingOptions:
    """What explanations are to be like.

    Attributes
    ----------
    reasons : int
        Most reasons a row.
    reference : {"mean", "approved", "cutoff"}
        What a row is measured against, as in ``reason_codes``.
    target : str or None
        Name of the wanted class; None: the other one of two, or the one with the second largest score.
    frozen, increase_only, decrease_only : sequences of str
        Columns that a change must leave alone, or may change one way only.
    """

    reasons: int = 4
    reference: str = "mean"
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
class Change:
    """One value of a smallest change."""

    feature: str
    before: float
    after: float


@dataclass(frozen=True)
class Explanation:
    """All that is said of a row.

    Attributes
    ----------
    row : int
        Its position in the table.
    score : float
        Decision value; of the label where there are more than two classes.
    label : str
    probability : float or None
        Of the positive class, or of the label where there are more than two.
    target : str
        The wanted class.
    reasons : tuple of Reason
        Worst first.
    changes : tuple of Change
        The smallest change that reaches the target; empty where the row is there already, or where no change was found.
    reached, proved : bool
        Whether the target is reached, and whether no smaller change would do.
    message : str
        The same in words.
    """

    row: int
    score: float
    label: str
    probability: float | None
    target: str
    reasons: tuple[Reason, ...]
    changes: tuple[Change, ...]
    reached: bool
    proved: bool
    message: str


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
        The population. Rows with missing values that the model refuses are left out.
    options : ExplainingOptions
    """
    check_asked(model, options)
    cases, population = _checked_cases(model, table, rows), _scorable(model, background)
    scores = model.scores(cases)
    targets = _targets(model, scores, options.target)
    out: dict[int, Explanation] = {}
    for code in sorted(set(targets)):  # rows with the same wanted class are explained together
        group = [i for i, target in enumerate(targets) if target == code]
        asked = _Group(model, cases[group], population, code, options)
        for i, reasons, way in zip(group, asked.reasons(), asked.ways(), strict=True):
            out[i] = _explanation(model, scores, i, rows[i], code, reasons, way)
    return [out[i] for i in range(len(rows))]


def check_asked(model: TableModel, options: ExplainingOptions) -> None:
    """Refuse names of classes and columns that the model does not have.

    Parameters
    ----------
    model : TableModel
    options : ExplainingOptions
    """
    if options.target is not None:
        model.code_of(options.target)
    known = model.view
    for name in (*options.frozen, *options.increase_only, *options.decrease_only):
        if name not in known.names and name not in known.input_names:
            raise ValueError(f"the model has no column {name!r}; it has {', '.join(map(repr, known.input_names[:8]))}")


@dataclass(frozen=True)
class _Way:
    """A smallest change, or why there is none."""

    changes: tuple[Change, ...]
    reached: bool
    proved: bool
    message: str


@dataclass(frozen=True)
class _Group:
    """Rows with one wanted class: they are explained together."""

    model: TableModel
    cases: Table
    background: Table
    code: int
    options: ExplainingOptions

    @cached_property
    def known(self) -> FittedModel:
        return self.model.view

    @property
    def label(self) -> Any:
        return self.model.labels[self.code].item()

    def reasons(self) -> list[tuple[Reason, ...]]:
        why = reason_codes(
            self.model.saved.model,
            self.model.rows(self.cases),
            n=self.options.reasons,
            reference=self.options.reference,
            background=self.model.rows(self.background),
            favourable=self.label,
            template=TEMPLATE,
        )
        rows = zip(why.columns, why.points.tolist(), why.texts, strict=True)
        return [tuple(map(Reason, columns, points, texts)) for columns, points, texts in rows]

    def ways(self) -> list[_Way]:
        if not self._is_ever_decided():
            return [_Way((), False, True, NEVER)] * len(self.cases)
        seen = SeenValues.of(self.known, self.background, self.known.reported(self.model.rows(self.background)))
        return [self._way(self.cases[[i]], seen) for i in range(len(self.cases))]

    def _way(self, case: Table, seen: SeenValues) -> _Way:
        """Of one row, so that it does not depend on which others are explained."""
        X, options = self.model.rows(case), self.options
        before = self.known.reported(X)
        limits = seen.limits(case, before[0])
        limits["frozen"] += options.frozen
        found = recourse(
            self.model.saved.model,
            X,
            target=self.label,
            increase_only=list(options.increase_only),
            decrease_only=list(options.decrease_only),
            **limits,
        )
        if found.reached[0] and self.model.decided(self._decision(case, before, found.x)).codes[0] != self.code:
            return _Way((), False, False, UNLIKELY)
        moved = np.flatnonzero(found.x[0] != before[0]).tolist() if found.reached[0] else []
        changes = tuple(Change(found.names[j], float(before[0, j]), float(found.x[0, j])) for j in moved)
        return _Way(changes, bool(found.reached[0]), bool(found.proved[0]), found.message[0])

    def _decision(self, case: Table, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        return self.known.decision(self.known.changed(self.known.rows(case), before, after))

    def _is_ever_decided(self) -> bool:
        """A calibration can be such that one of two classes is never the likelier one."""
        try:
            self.known.cutoff(None)
        except ValueError:
            return False
        return True


def _explanation(
    model: TableModel, scores: Scores, i: int, row: int, target: int, reasons: tuple[Reason, ...], way: _Way
) -> Explanation:
    code, binary, chances = int(scores.codes[i]), scores.decision.ndim == 1, scores.probabilities
    return Explanation(
        row=row,
        score=float(scores.decision[i] if binary else scores.decision[i, code]),
        label=model.class_names[code],
        probability=None if chances is None else float(chances[i, 1 if binary else code]),
        target=model.class_names[target],
        reasons=reasons,
        **vars(way),
    )


def _targets(model: TableModel, scores: Scores, wanted: str | None) -> list[int]:
    if wanted is not None:
        return [model.code_of(wanted)] * len(scores.codes)
    if scores.decision.ndim == 1:
        return (1 - scores.codes).tolist()
    others = scores.decision.copy()
    others[np.arange(len(others)), scores.codes] = -np.inf
    return others.argmax(axis=1).tolist()


def _fills_in(model: TableModel) -> bool:
    return model.view.accepts_missing


def _checked_cases(model: TableModel, table: Table, rows: Sequence[int]) -> Table:
    cases = table[list(rows)]
    if not _fills_in(model):
        gaps = np.flatnonzero(~complete_rows(model.inputs(cases)))
        if len(gaps):
            raise ValueError(f"row {rows[gaps[0]]} has missing values, which the model refuses")
    return cases


def _scorable(model: TableModel, table: Table) -> Table:
    return table if _fills_in(model) else table[complete_rows(model.inputs(table))]
