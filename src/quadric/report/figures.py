"""The pictures of a report."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from quadric.report.drawing import Figure, Plot, Ticks, cut, png, tint, told_apart
from quadric.report.numbers import number, short, ticks
from quadric.report.story import PROVED_BEST, symbol
from quadric.report.values import Coefficient, Complexity, CrossValidation, Feature, Parts, ReportSummary, View

# Largest opacity in a slice, out of 255.
STRONGEST = 190
# Number of colours on each side of zero in the heat map.
SHADES = 6
# Room for names beside the heat map, in pixels and in characters.
LABEL, LONGEST_LABEL = 190.0, 22
# Room above the heat map, and between W and b, in pixels.
HEAD, GAP = 26.0, 10.0


def accuracy(cv: CrossValidation, own: int) -> Figure:
    """Out-of-fold accuracy against the number of terms.

    Parameters
    ----------
    cv : CrossValidation
    own : int
        The model's number of terms.
    """
    spans = [(mean - error, mean + error) for mean, error in zip(cv.mean, cv.error, strict=True)]
    plot = _plot_over(cv.ks, [cv.threshold, *(end for span in spans for end in span)], "out-of-fold accuracy")
    plot.segments([(plot.x_range[0], cv.threshold, plot.x_range[1], cv.threshold)], "threshold")
    plot.segments([(k, low, k, high) for k, (low, high) in zip(cv.ks, spans, strict=True)], "whisker")
    at = dict(zip(cv.ks, cv.mean, strict=True))
    _dotted(plot, list(at.items()))
    for k, kind, text in ((cv.best_k, "best", "best"), (cv.simplest_k, "simplest", "1-SE")):
        plot.add("circle", class_=f"mark {kind}", cx=plot.x(k), cy=plot.y(at[k]), r=7, title=f"{text}: k = {k}")
    folds = f"{cv.folds} folds with standard errors" if cv.folds > 1 else "1 fold"
    described = (
        f"Mean accuracy over {folds} for k from {cv.ks[0]} to {cv.ks[-1]}. The best is "
        f"{number(at[cv.best_k], 3)} at k = {cv.best_k}; the smallest k within one standard error of it is {cv.simplest_k}."
    )
    legend = (
        ("mark best", f"best, k = {cv.best_k}"),
        ("mark simplest", f"fewest terms within one standard error, k = {cv.simplest_k}"),
        ("threshold", "best minus one standard error"),
    )
    return _tracked(plot, "accuracy", "Out-of-fold accuracy by number of terms", described, legend, at, own)


def complexity(found: Complexity, own: int) -> Figure:
    """AUC out of fold against the number of terms, with the levels of other classifiers.

    Parameters
    ----------
    found : Complexity
    own : int
        The model's number of terms.
    """
    areas = [*found.areas, *(rival.area for rival in found.rivals)]
    ends = [area.mean + sign * (area.error or 0.0) for area in areas for sign in (-1.0, 1.0)]
    plot = _plot_over(found.ks, ends, "out-of-fold AUC")
    legend = [("line strong", "equations")]
    for rival, class_ in zip(found.rivals, itertools.cycle(("line neg", "line pos", "line faint", "line bound")), strict=False):
        plot.segments([(plot.x_range[0], rival.area.mean, plot.x_range[1], rival.area.mean)], class_)
        legend.append((class_, cut(rival.name, 40)))
    for k, area in zip(found.ks, found.areas, strict=True):
        if area.error is not None:
            plot.segments([(k, area.mean - area.error, k, area.mean + area.error)], "whisker")
    points = [(float(k), area.mean) for k, area in zip(found.ks, found.areas, strict=True)]
    _dotted(plot, points, "line strong")
    x, y = points[found.ks.index(own)]
    plot.add("circle", class_="mark best", cx=plot.x(x), cy=plot.y(y), r=7, title=f"the model, k = {own}")
    legend.append(("mark best", f"the model, k = {own}"))
    described = f"Mean AUC over {found.folds} folds for k from {found.ks[0]} to {found.ks[-1]}, and of other classifiers."
    return plot.figure("complexity-chart", "AUC by number of terms", described, legend)


def objective(views: Sequence[View], own: int, is_ruled: bool = False) -> Figure:
    """Objective and proved bound against the number of terms."""
    at = {view.k: view.certificate.objective for view in views}
    bounds = [(view.k, view.certificate.lower_bound) for view in views if view.certificate.lower_bound is not None]
    plot = _plot_over(list(at), [*at.values(), *(bound for _, bound in bounds)], "objective")
    rules = " under the rules" * is_ruled
    legend = [("line", f"best equation found{rules}")]
    if bounds:
        plot.area([(k, at[k]) for k, _ in bounds], bounds, "band")
        plot.line(bounds, "line bound")
        legend.append(("line bound", "proved lower bound"))
    _dotted(plot, list(at.items()))
    proved = [view.k for view in views if view.certificate.status == "optimal"]
    for k in proved:
        plot.add("circle", class_="mark proved", cx=plot.x(k), cy=plot.y(at[k]), r=7, title=f"k = {k}: {PROVED_BEST}{rules}")
    if proved:
        legend.append(("mark proved", f"{PROVED_BEST}{rules}"))
    described = (
        f"The objective of the best equation found{rules} for each number of terms, and the proved lower bound: no "
        "equation with that many terms can be below it. The closer the two lines, the closer the equation is to the best "
        "possible one. "
        f"Proved best: {', '.join(f'k = {k}' for k in proved) or 'none'}."
    )
    return _tracked(plot, "objective", "How good the equations are, and how good any could be", described, legend, at, own)


def _dotted(plot: Plot, points: Sequence[tuple[float, float]], class_: str = "line") -> None:
    plot.line(points, class_)
    plot.dots(points, "dot")


def _tracked(
    plot: Plot, name: str, title: str, described: str, legend: Sequence[tuple[str, str]], at: dict[int, float], own: int
) -> Figure:
    """The figure with a mark that the slider moves along the curve."""
    places = [(plot.x(k), plot.y(value)) for k, value in at.items()]
    x, y = places[list(at).index(own)]
    line = f"M0 {plot.top:g}V{plot.height - plot.bottom:g}"
    plot.add("path", id=f"{name}-upright", class_="marker-line", d=line, transform=f"translate({x:.1f} 0)")
    plot.add("circle", id=f"{name}-marker", class_="marker", r=5, cx=x, cy=y)
    return plot.figure(name, title, described, (*legend, ("marker", "current number of terms")), places)


def _plot_over(ks: Sequence[int], values: Sequence[float], label: str) -> Plot:
    plot = Plot((ks[0] - 0.5, ks[-1] + 0.5), _padded(values))
    whole = [value for value in ticks(ks[0], ks[-1], 8) if value == round(value)]
    plot.axes("number of terms k", label, [(value, short(value)) for value in whole or ks])
    return plot


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.01 * abs(high) or 1.0
    return low - room, high + room


def heat_map(id_: str, views: Sequence[View], features: Sequence[Feature]) -> dict[str, Any]:
    """W and b of several surfaces as coloured cells, on one grid, which stays, and one scale of colours.

    Parameters
    ----------
    id_ : str
        Of the picture.
    views : sequence of View
    features : sequence of Feature
        Those that no view uses are omitted.

    Returns
    -------
    dict
        The ``figure`` without its cells; the ``size`` of a cell; for each view its filled ``cells``: ``x``, ``y``, ``shade``
        and ``title``; and the ``largest`` coefficient, for which the strongest colour stands.
    """
    used = sorted({j for view in views for c in view.coefficients for j in (c.first, c.second) if j is not None})
    size = min(30.0, max(15.0, 380.0 / max(len(used), 1)))
    top = {j: HEAD + i * size for i, j in enumerate(used)}
    left = {j: LABEL + i * size + (GAP if j is None else 0.0) for i, j in enumerate([*used, None])}  # None: the column of b
    largest = max((abs(c.value) for view in views for c in view.coefficients), default=1.0)
    described = (
        "Rows and columns are features. Each cell is the coefficient of the product of the two; the last column is that of the "
        "feature alone. The equation next to it lists every coefficient."
    )
    cells = [[cell for c in view.coefficients for cell in _cells(c, features, largest, left, top)] for view in views]
    board = _board([symbol(features[j]) for j in used], size, left[None]).figure(id_, "Coefficients W and b", described)
    return {"figure": board, "size": size, "cells": cells, "largest": number(largest, 3)}


def _board(names: Sequence[str], size: float, right: float) -> Plot:
    side = size * len(names)
    plot = Plot((0, 1), (0, 1), width=right + size + 4, height=HEAD + side + 4)
    for left, width in ((LABEL, side), (right, size)):
        plot.add("rect", class_="board", x=left, y=HEAD, width=width, height=side)
        lines = [f"M{left:.1f} {HEAD + i * size:.1f}h{width:.1f}" for i in range(len(names) + 1)]
        lines += [f"M{left + i * size:.1f} {HEAD:.1f}v{side:.1f}" for i in range(round(width / size) + 1)]
        plot.add("path", class_="grid", d="".join(lines))
    for i, (name, label) in enumerate(zip(names, told_apart(names, LONGEST_LABEL), strict=True)):
        middle = (i + 0.5) * size
        plot.add("text", label, name, class_="tick", x=LABEL - 24, y=HEAD + middle + 4, text_anchor="end")
        plot.add("text", str(i + 1), class_="tick faint", x=LABEL - 6, y=HEAD + middle + 4, text_anchor="end")
        plot.add("text", str(i + 1), class_="tick faint", x=LABEL + middle, y=HEAD - 7, text_anchor="middle")
    plot.add("text", "b", class_="tick strong", x=right + size / 2, y=HEAD - 7, text_anchor="middle")
    plot.add("text", "W", class_="tick strong", x=LABEL - 24, y=HEAD - 7, text_anchor="end")
    return plot


def _cells(
    c: Coefficient, features: Sequence[Feature], largest: float, left: dict[int | None, float], top: dict[int, float]
) -> list[dict[str, Any]]:
    strength = max(1, min(SHADES, round(SHADES * abs(c.value) / largest + 0.49)))
    names = " and ".join(features[j].name for j in (c.first, c.second) if j is not None)
    title = f"{'b' if c.second is None else 'W'} of {names}: {number(c.value)}"
    places = {(c.first, c.second)} if c.second is None else {(c.first, c.second), (c.second, c.first)}
    shade = f"{'pos' if c.value > 0 else 'neg'} s{strength}"
    return [{"x": left[column], "y": top[row], "shade": shade, "title": title} for row, column in sorted(places)]


def performance_charts(summary: ReportSummary) -> tuple[Figure, ...]:
    """ROC, KS, calibration and histogram of a model of two classes."""
    performance = summary.performance
    assert performance is not None
    classes = [cut(name) for name in summary.classes]
    return (
        _roc(summary, performance, *classes),
        _separation(performance, *classes),
        _calibration(performance["bins"], summary.has_probabilities, classes[1]),
        _histogram(performance, *classes),
    )


def _roc(summary: ReportSummary, performance: Parts, other: str, event: str) -> Figure:
    plot = Plot((0, 1), (0, 1), height=340)
    plot.axes(f"share of {other} above the cut-off", f"share of {event} above the cut-off")
    plot.line([(0, 0), (1, 1)], "threshold")
    plot.line(performance["fitted_roc"], "line faint")
    plot.line(performance["roc"], "line strong")
    area = {measure["name"]: measure for measure in summary.measures}["AUC"]
    fitted, unseen = number(area["fitted"], 3), number(area["out_of_fold"], 3)
    described = f"Area under the curve: {unseen} out of fold, {fitted} on the training data; 0.5 is guessing, 1 is perfect."
    curves = (("line strong", f"out of fold, AUC {unseen}"), ("line faint", f"training data, AUC {fitted}"))
    return plot.figure("roc", "ROC", described, (*curves, ("threshold", "guessing")))


def _separation(performance: Parts, other: str, event: str) -> Figure:
    levels, (low, *_, high) = performance["levels"], performance["edges"]
    plot = Plot((low, high), (0, 1), height=340)
    plot.axes("score f", "share of the class up to the score")
    inside = [i for i, score in enumerate(levels) if low <= score <= high]
    for values, class_ in ((performance["other_shares"], "line neg"), (performance["event_shares"], "line pos")):
        plot.line([(levels[i], values[i]) for i in inside], class_)
    x, at, distance = performance["ks_score"], levels.index(performance["ks_score"]), number(performance["ks"], 3)
    plot.segments([(x, performance["event_shares"][at], x, performance["other_shares"][at])], "distance")
    described = f"Out-of-fold score distributions of both classes. They are farthest apart at {number(x, 3)}, by {distance}."
    return plot.figure("ks", "KS", described, (("line neg", other), ("line pos", event), ("distance", f"KS {distance}")))


def _calibration(bins: Sequence[Mapping[str, float]], has_probabilities: bool, event: str) -> Figure:
    predicted = [row["predicted"] for row in bins]
    plot = Plot((0.0, 1.0) if has_probabilities else _padded(predicted), (0, 1), height=340)
    plot.axes("predicted probability" if has_probabilities else "score f", f"observed share of {event}")
    legend = [("line strong", "observed, with 95 % interval")]
    if has_probabilities:
        plot.line([(0, 0), (1, 1)], "threshold")
        legend.append(("threshold", "perfect calibration"))
    plot.segments([(row["predicted"], row["low"], row["predicted"], row["high"]) for row in bins], "whisker")
    _dotted(plot, [(row["predicted"], row["observed"]) for row in bins], "line strong")
    described = f"Observed share of {event} in ten groups of equal size, with 95 % intervals, out of fold."
    return plot.figure("calibration", "Calibration" if has_probabilities else "Observed share by score", described, legend)


def _histogram(performance: Parts, other: str, event: str) -> Figure:
    edges, bars = performance["edges"], ((performance["other_counts"], "bar neg"), (performance["event_counts"], "bar pos"))
    shares = [[count / max(sum(counts), 1) for count in counts] for counts, _ in bars]
    plot = Plot((edges[0], edges[-1]), (0, max(map(max, shares)) * 1.05 or 1.0), height=340)
    plot.axes("score f", "share of the class")
    for share, (_, class_) in zip(shares, bars, strict=True):
        for left, right, height in zip(edges, edges[1:], share, strict=False):
            if height > 0.0:
                plot.bar((left, right), height, class_)
    legend = [("bar neg", other), ("bar pos", event)]
    if performance["cutoff"] is not None and edges[0] <= performance["cutoff"] <= edges[-1]:
        plot.segments([(performance["cutoff"], 0.0, performance["cutoff"], plot.y_range[1])], "cutoff")
        legend.append(("cutoff", f"cut-off {short(performance['cutoff'], 3)}"))
    described = "Out-of-fold score distribution by class; the outer bars also hold what lies beyond them."
    return plot.figure("histogram", "Scores by class", described, legend)


def slice_figure(place: int, picture: Parts, summary: ReportSummary) -> Figure:
    """The surface over two features, with rows of the data."""
    first, second = summary.features[picture["first"]], summary.features[picture["second"]]
    plot = Plot((picture["x"][0], picture["x"][-1]), (picture["y"][0], picture["y"][-1]), _levels(second), height=360)
    plot.backdrop(_shaded(picture))
    plot.axes(cut(first.name, 44), cut(second.name, 36), _levels(first, room=48))
    plot.dots(picture["others"], "point neg")
    plot.crosses(picture["events"], "cross pos")
    plot.segments(picture["boundary"], "boundary")
    other, event = summary.classes
    described = (
        f"Over {first.name} and {second.name}: orange where the score is above the cut-off, blue below it. The line is the "
        "decision boundary. Points are rows of the data, whatever their other features."
    )
    legend = (("point neg", other), ("cross pos", event), ("boundary", "decision boundary"))
    return plot.figure(f"slice-{place}", f"{cut(first.name, 44)} and {cut(second.name, 44)}", described, legend)


def _levels(feature: Feature, room: int = 80) -> Ticks:
    """The names of ranks, if they are short and few enough to be read next to each other."""
    names = told_apart(feature.levels, 9)
    return [] if sum(map(len, names)) > room else [(float(rank), name) for rank, name in enumerate(names)]


def _shaded(picture: Parts) -> str:
    sizes = sorted(abs(value) for row in picture["values"] for value in row)
    full = sizes[int(0.95 * (len(sizes) - 1))] or 1.0
    return png([[tint(value, STRONGEST * min(1.0, abs(value) / full)) for value in row] for row in reversed(picture["values"])])
