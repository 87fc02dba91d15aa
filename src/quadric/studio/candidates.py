"""Equations that are kept, and two of them side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quadric.errors import printable
from quadric.explain import effects
from quadric.report.effect_figures import effect_chart, effect_scale
from quadric.report.numbers import number, short
from quadric.report.surfaces import coefficients
from quadric.studio.choices import ChoiceError
from quadric.studio.showing import figure_text
from quadric.workflow.bench import Bench, key_of
from quadric.workflow.drafts import Draft
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scorers import measure_named

# Rows on which two candidates differ that are listed
MOST_ROWS = 20
MOST_CANDIDATES = 50


@dataclass(frozen=True)
class Candidate:
    """An equation that is kept.

    Attributes
    ----------
    name, notes : str
    options : TrainingOptions
    """

    name: str
    notes: str
    options: TrainingOptions


class Shelf:
    """Candidates by name, and the two of them that are compared.

    Parameters
    ----------
    bench : Bench
    symbol : function
        A coefficient's term, as people read it.
    """

    def __init__(self, bench: Bench, symbol: Callable[[Any], str]) -> None:
        self._bench, self._symbol = bench, symbol
        self.candidates: list[Candidate] = []
        self._pair: tuple[str | None, str | None] | None = None
        self._latest: tuple[Any, dict[str, Any]] | None = None

    def keep(self, name: Any, notes: Any, options: TrainingOptions) -> None:
        """Keep an equation; a name that is there already gets the new one.

        Parameters
        ----------
        name, notes : str
        options : TrainingOptions
        """
        if not isinstance(name, str) or not name.strip() or not isinstance(notes, str):
            raise ChoiceError("give the candidate a name")
        others = [one for one in self.candidates if one.name != name]
        if len(others) >= MOST_CANDIDATES:
            raise ChoiceError(f"there are {MOST_CANDIDATES} candidates: drop one first")
        self.candidates = [*others, Candidate(name, notes, options)]

    def drop(self, number: Any) -> None:
        """Forget one, and the comparison with it.

        Parameters
        ----------
        number : int
            Its position.
        """
        name = self._name(number)
        self.candidates = [one for one in self.candidates if one.name != name]
        if self._pair is not None and name in self._pair:
            self._pair = None

    def compare(self, first: Any, second: Any) -> None:
        """Compare two from now on.

        Parameters
        ----------
        first, second : int
            Their positions; None: the equation that is on the page.
        """
        one, other = (None if number is None else self._name(number) for number in (first, second))
        self._pair = one, other

    def _name(self, number: Any) -> str:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(self.candidates):
            raise ChoiceError("there is no such candidate")
        return self.candidates[number].name

    def told(self, options: TrainingOptions) -> dict[str, Any]:
        """The candidates, and the comparison of two of them.

        Parameters
        ----------
        options : TrainingOptions
            Of the equation that is on the page.

        Returns
        -------
        dict
        """
        kept = [{"name": printable(one.name), "notes": printable(one.notes)} for one in self.candidates]
        return {"candidates": kept, "compared": self._compared(options)}

    def _compared(self, options: TrainingOptions) -> dict[str, Any] | None:
        if self._pair is None:
            return None
        named = {one.name: one for one in self.candidates}
        first, second = (Candidate("now", "", options) if name is None else named[name] for name in self._pair)
        key = [(one.name, key_of(one.options), self._bench.is_trained(one.options)) for one in (first, second)]
        if self._latest is None or self._latest[0] != key:
            self._latest = key, compared(self._bench, (first, second), self._symbol)
        return self._latest[1]


def compared(bench: Bench, pair: tuple[Candidate, Candidate], symbol: Callable[[Any], str]) -> dict[str, Any]:
    """Two candidates side by side: terms, effects, and the rows that they label differently.

    Parameters
    ----------
    bench : Bench
    pair : two Candidates
    symbol : function
        A coefficient's term, as people read it.

    Returns
    -------
    dict
    """
    drafts = [bench.draft(candidate.options) for candidate in pair]
    terms = [{each.term: each for each in coefficients(draft.surface)} for draft in drafts]
    both = {**terms[1], **terms[0]}
    return {
        "names": [printable(candidate.name) for candidate in pair],
        "terms": [
            [symbol(both[term]), *(number(own[term].weight) if term in own else "" for own in terms)]
            for term in dict.fromkeys([*terms[0], *terms[1]])
        ],
        "effects": _effects(bench, drafts),
        **_measures(bench, drafts),
        **_swapped(bench, drafts),
    }


def _measures(bench: Bench, drafts: list[Draft]) -> dict[str, Any]:
    """Measures with their standard errors, out of fold where both are known there."""
    found = [draft.measures(bench.codes) for draft in drafts]
    beyond = all(draft.left_out is not None for draft in drafts)
    lines = []
    for name in found[0]:
        figures, measure = [own[name][beyond] for own in found], measure_named(name)
        lines.append([measure.words, *("" if each is None else figure_text(each, measure.is_share) for each in figures)])
    return {"measures": lines, "where": "out of fold" if beyond else "on the rows of the fit"}


def _effects(bench: Bench, drafts: list[Draft]) -> list[dict[str, Any]]:
    """Curves of the columns that either depends on, one candidate beside the other on one scale."""
    both = [effects(draft.model, bench.population) for draft in drafts]
    scale = effect_scale([column for own in both for column in own.columns])
    named = [{column.name: column for column in own.columns} for own in both]
    names = list(dict.fromkeys([*named[0], *named[1]]))
    return [
        {
            "column": printable(name),
            "charts": [
                effect_chart(f"compared-{i}-{side}", own[name], scale) if name in own else None
                for side, own in enumerate(named)
            ],
        }
        for i, name in enumerate(names)
    ]


def _swapped(bench: Bench, drafts: list[Draft]) -> dict[str, Any]:
    """The swap set: rows that change side, by both models' own cut-offs; out of fold where both are known there."""
    beyond = all(draft.left_out is not None for draft in drafts)
    scores = [draft.left_out if beyond and draft.left_out is not None else draft.decision for draft in drafts]
    labels = [draft.view.decided(score)[0] for draft, score in zip(drafts, scores, strict=True)]
    codes, names = bench.codes, list(map(printable, bench.rows.data.class_names))
    differ = labels[0] != labels[1]
    groups = []
    for first, second in ((0, 1), (1, 0)):
        rows = differ & (labels[0] == first) & (labels[1] == second)
        n_bad = int(codes[rows].sum())
        groups.append([names[first], names[second], str(int(rows.sum())), str(n_bad), str(int(rows.sum()) - n_bad)])
    gap = np.where(differ, np.abs(scores[0] - scores[1]), -1.0)
    order = np.argsort(-gap, kind="stable")[: min(MOST_ROWS, int(differ.sum()))].tolist()
    sides = list(zip(labels, scores, strict=True))
    listed = [
        [str(i), names[codes[i]], *(f"{names[own[i]]} (f = {short(float(score[i]), 3)})" for own, score in sides)]
        for i in order
    ]
    return {
        "differ": f"The two label {int(differ.sum())} of {len(codes)} rows differently, "
        f"{'out of fold' if beyond else 'on the rows of the fit'}.",
        "classes": [f"are {names[1]}", f"are {names[0]}"],
        "groups": groups,
        "rows": listed,
    }
