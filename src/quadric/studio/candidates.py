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
from quadric.studio.showing import figure_text
from quadric.workflow.bench import Bench
from quadric.workflow.drafts import Draft
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scorers import measure_named

# Rows on which two candidates differ that are listed
MOST_ROWS = 20


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
