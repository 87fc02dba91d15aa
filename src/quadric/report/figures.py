"""The pictures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quadric.report.drawing import Figure, Plot, Ticks, png
from quadric.report.numbers import number, short, ticks
from quadric.report.symbols import symbol
from quadric.summary import Calibration, Coefficient, CrossValidation, Feature, Performance, ReportSummary, Slice, View

POSITIVE, NEGATIVE = (209, 102, 10), (31, 111, 180)
"""Colours of both sides in slices, as in the style sheet; a colour-blind reader can tell them apart."""
STRONGEST = 190
"""Opacity of the farthest values of a slice, of 255."""
SHADES = 6
"""Steps of colour on each side of zero in the heat map."""
LABEL, LONGEST_LABEL = 190.0, 22
"""Room for names beside the heat map, in pixels and in characters."""
Place = tuple[float, float]


@dataclass(frozen=True)
class Tracked:
    """A picture with a mark that follows the slider, and where the mark is at each stop."""

    figure: Figure
    places: tuple[Place, ...]


def accuracy(cross_validation: CrossValidation, own: int) -> Tracked:
    """Cross-validated accuracy against the number of terms.

    Parameters
    ----------
    cross_validation : CrossValidation
    own : int
        The model's number of terms.
    """
    cv = cross_validation
    spans = [(mean - error, mean + error) for mean, error in zip(cv.mean, cv.error, strict=True)]
    plot = Plot(_across(cv.ks), _padded([end for span in spans for end in span] + [cv.threshold]))
    plot.axes("number of terms k", "accuracy on samples left out", _whole_ticks(cv.ks))
    plot.level(cv.threshold, "threshold")
    plot.steps([(k, low, k, high) for k, (low, high) in zip(cv.ks, spans, strict=True)], "whisker")
    plot.line(zip(cv.ks, cv.mean, strict=True), "line")
    plot.dots(zip(cv.ks, cv.mean, strict=True), "dot")
    at = dict(zip(cv.ks, cv.mean, strict=True))
    for k, kind, text in ((cv.best_k, "best", "best"), (cv.simplest_k, "simplest", "1-SE")):
        plot.add("circle", class_=f"mark {kind}", cx=plot.x(k), cy=plot.y(at[k]), r=7, title=f"{text}: k = {k}")
    places = tuple((plot.x(k), plot.y(mean)) for k, mean in at.items())
    _follow(plot, "accuracy", places[cv.ks.index(own)])
    title = "Accuracy on samples left out, by number of terms"
    described = (
        f"Mean accuracy over {cv.folds} folds with standard errors for k from {cv.ks[0]} to {cv.ks[-1]}. The best is "
        f"{number(at[cv.best_k], 3)} at k = {cv.best_k}; the smallest k within one standard error of it is {cv.simplest_k}."
    )
    legend = (
        ("mark best", f"best, k = {cv.best_k}"),
        ("mark simplest", f"smallest within one standard error, k = {cv.simplest_k}"),
        ("threshold", "best less one standard error"),
        ("marker", "shown above"),
    )
    return Tracked(plot.figure("accuracy", title, described, legend), places)


def objective(views: Sequence[View], own: int) -> Tracked:
    """Objective and proved bound against the number of terms."""
    ks = [view.k for view in views]
    values = [view.certificate.objective for view in views]
    bounds = [(view.k, view.certificate.lower_bound) for view in views]
    known = [(k, bound) for k, bound in bounds if bound is not None]
    plot = Plot(_across(ks), _padded(values + [bound for _, bound in known]), left=64)
    plot.axes("number of terms k", "objective", _whole_ticks(ks))
    plot.line(zip(ks, values, strict=True), "line")
    plot.dots(zip(ks, values, strict=True), "dot")
    plot.line(known, "line bound")
    places = tuple((plot.x(k), plot.y(value)) for k, value in zip(ks, values, strict=True))
    _follow(plot, "objective", places[ks.index(own)])
    described = (
        "The objective of the best equation found for each number of terms, and the bound below which no equation with as many "
        "terms can come. The closer the lines, the more is proved."
    )
    legend = (("line", "best equation found"), ("line bound", "proved bound: none can be lower"), ("marker", "shown above"))
    return Tracked(plot.figure("objective", "How good the equations are, and how good any could be", described, legend), places)


def _follow(plot: Plot, name: str, at: Place) -> None:
    """The mark that the slider moves; it is drawn around the point given in pixels."""
    plot.add(
        "path",
        id=f"{name}-upright",
        class_="marker-line",
        d=f"M0 {plot.top:g}V{plot.height - plot.bottom:g}",
        transform=f"translate({at[0]:.1f} 0)",
    )
    plot.add("circle", id=f"{name}-marker", class_="marker", r=5, cx=at[0], cy=at[1])


def _across(ks: Sequence[int]) -> tuple[float, float]:
    return (ks[0] - 0.5, ks[-1] + 0.5)


def _whole_ticks(ks: Sequence[int]) -> Ticks:
    found = [value for value in ticks(ks[0], ks[-1], 8) if value == round(value)]
    return [(value, short(value)) for value in found or [float(k) for k in ks]]


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.01 * abs(high) or 1.0
    return low - room, high + room


@dataclass(frozen=True)
class Cell:
    """A filled cell of the heat map."""

    x: float
    y: float
    shade: str
    title: str


@dataclass(frozen=True)
class HeatMap:
    """W and b as coloured cells; the grid stays, the cells follow the slider.

    Attributes
    ----------
    figure : Figure
        Without the cells.
    size : float
        Side of a cell.
    cells : tuple of tuples of Cell
        For each view.
    largest : str
        What the strongest colour stands for.
    """

    figure: Figure
    size: float
    cells: tuple[tuple[Cell, ...], ...]
    largest: str


def heat_map(id_: str, views: Sequence[View], features: Sequence[Feature]) -> HeatMap:
    """The coefficients of several surfaces on one grid and one scale of colours.

    Parameters
    ----------
    id_ : str
        Of the picture.
    views : sequence of View
    features : sequence of Feature
        Those that no view uses are left out.
    """
    used = sorted({j for view in views for c in view.coefficients for j in (c.first, c.second) if j is not None})
    grid = _Grid(used, min(30.0, max(15.0, 380.0 / max(len(used), 1))))
    largest = max((abs(c.value) for view in views for c in view.coefficients), default=1.0)
    plot = grid.frame(features)
    described = (
        "Rows and columns are features; a cell is the coefficient of the product of the two, the last column that of the "
        "feature alone. Every coefficient is also listed in the equation beside it."
    )
    cells = tuple(tuple(cell for c in view.coefficients for cell in grid.cells(c, features, largest)) for view in views)
    return HeatMap(plot.figure(id_, "Coefficients W and b", described), grid.size, cells, number(largest, 3))


@dataclass(frozen=True)
class _Grid:
    used: list[int]
    size: float
    top: float = 26.0
    gap: float = 10.0

    @property
    def side(self) -> float:
        return self.size * len(self.used)

    def frame(self, features: Sequence[Feature]) -> Plot:
        right = LABEL + self.side + self.gap
        plot = Plot((0, 1), (0, 1), width=right + self.size + 4, height=self.top + self.side + 4)
        for left, width in ((LABEL, self.side), (right, self.size)):
            plot.add("rect", class_="board", x=left, y=self.top, width=width, height=self.side)
            lines = [f"M{left:.1f} {self.top + i * self.size:.1f}h{width:.1f}" for i in range(len(self.used) + 1)]
            steps = round(width / self.size) if self.used else 0
            lines += [f"M{left + i * self.size:.1f} {self.top:.1f}v{self.side:.1f}" for i in range(steps + 1)]
            plot.add("path", class_="grid", d="".join(lines))
        for i, j in enumerate(self.used):
            name, middle = symbol(features[j]), self.top + (i + 0.5) * self.size + 4
            shown = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"
            plot.add("text", shown, name, class_="tick", x=LABEL - 24, y=middle, text_anchor="end")
            plot.add("text", str(i + 1), class_="tick faint", x=LABEL - 6, y=middle, text_anchor="end")
            across = LABEL + (i + 0.5) * self.size
            plot.add("text", str(i + 1), class_="tick faint", x=across, y=self.top - 7, text_anchor="middle")
        plot.add("text", "b", class_="tick strong", x=right + self.size / 2, y=self.top - 7, text_anchor="middle")
        plot.add("text", "W", class_="tick strong", x=LABEL - 24, y=self.top - 7, text_anchor="end")
        return plot

    def cells(self, coefficient: Coefficient, features: Sequence[Feature], largest: float) -> list[Cell]:
        strength = max(1, min(SHADES, round(SHADES * abs(coefficient.value) / largest + 0.49)))
        shade = f"{'pos' if coefficient.value > 0 else 'neg'} s{strength}"
        row = self.used.index(coefficient.first)
        first = features[coefficient.first].name
        if coefficient.second is None:
            x = LABEL + self.side + self.gap
            return [Cell(x, self.top + row * self.size, shade, f"b of {first}: {number(coefficient.value)}")]
        column = self.used.index(coefficient.second)
        title = f"W of {first} and {features[coefficient.second].name}: {number(coefficient.value)}"
        places = {(row, column), (column, row)}
        return [Cell(LABEL + j * self.size, self.top + i * self.size, shade, title) for i, j in sorted(places)]


def roc(summary: ReportSummary, performance: Performance) -> Figure:
    """True against false alarms."""
    other, event = summary.classes
    plot = Plot((0, 1), (0, 1), height=340)
    plot.axes(f"share of {_cut(other)} above the cut-off", f"share of {_cut(event)} above the cut-off")
    plot.line([(0, 0), (1, 1)], "threshold")
    fitted, unseen = performance.roc
    plot.line(zip(fitted.x, fitted.y, strict=True), "line faint")
    plot.line(zip(unseen.x, unseen.y, strict=True), "line strong")
    area = {measure.name: measure for measure in summary.measures}["AUC"]
    described = (
        f"The curve of samples left out has area {number(area.left_out, 3)} under it, that of the data as fitted "
        f"{number(area.fitted, 3)}; 0.5 is guessing and 1 is perfect."
    )
    legend = (
        ("line strong", f"left out, AUC {number(area.left_out, 3)}"),
        ("line faint", f"as fitted, AUC {number(area.fitted, 3)}"),
        ("threshold", "guessing"),
    )
    return plot.figure("roc", "ROC", described, legend)


def separation(summary: ReportSummary, performance: Performance) -> Figure:
    """Shares of both classes up to each score, and the KS distance."""
    other, event = summary.classes
    parts = performance.separation
    low, high = performance.histogram.edges[0], performance.histogram.edges[-1]
    plot = Plot((low, high), (0, 1), height=340)
    plot.axes("score f", "share of the class up to the score")
    shown = [i for i, score in enumerate(parts.score) if low <= score <= high]
    for values, class_ in ((parts.others, "line neg"), (parts.events, "line pos")):
        plot.line([(parts.score[i], values[i]) for i in shown], class_)
    at = parts.score.index(parts.at)
    plot.steps([(parts.at, parts.events[at], parts.at, parts.others[at])], "distance")
    described = (
        f"The distributions of the score of both classes, on samples left out; they are farthest apart at "
        f"{number(parts.at, 3)}, by {number(parts.distance, 3)}."
    )
    legend = (("line neg", other), ("line pos", event), ("distance", f"KS {number(parts.distance, 3)}"))
    return plot.figure("ks", "KS", described, legend)


def calibration(summary: ReportSummary, values: Calibration) -> Figure:
    """What was said against what came."""
    event = summary.classes[1]
    ends = (0.0, 1.0) if values.has_probabilities else _padded([bin_.predicted for bin_ in values.bins])
    plot = Plot(ends, (0, 1), height=340)
    plot.axes("predicted probability" if values.has_probabilities else "score f", f"observed share of {_cut(event)}")
    if values.has_probabilities:
        plot.line([(0, 0), (1, 1)], "threshold")
    plot.steps([(bin_.predicted, bin_.low, bin_.predicted, bin_.high) for bin_ in values.bins], "whisker")
    points = [(bin_.predicted, bin_.observed) for bin_ in values.bins]
    plot.line(points, "line strong")
    plot.dots(points, "dot")
    described = "Observed share of events in ten groups of equal size, with 95 % intervals, on samples left out."
    legend = [("line strong", "observed, with 95 % interval")]
    legend += [("threshold", "perfect calibration")] if values.has_probabilities else []
    title = "Calibration" if values.has_probabilities else "Observed share by score"
    return plot.figure("calibration", title, described, legend)


def histogram(summary: ReportSummary, performance: Performance) -> Figure:
    """Scores of both classes as shares of each."""
    edges = performance.histogram.edges
    classes = ((performance.histogram.others, "bar neg"), (performance.histogram.events, "bar pos"))
    shares = [[count / max(sum(counts), 1) for count in counts] for counts, _ in classes]
    plot = Plot((edges[0], edges[-1]), (0, max(max(share) for share in shares) * 1.05 or 1.0), height=340)
    plot.axes("score f", "share of the class")
    for share, (_, class_) in zip(shares, classes, strict=True):
        for left, right, height in zip(edges, edges[1:], share, strict=False):
            if height > 0.0:
                plot.add(
                    "rect",
                    class_=class_,
                    x=plot.x(left),
                    y=plot.y(height),
                    width=plot.x(right) - plot.x(left),
                    height=plot.y(0) - plot.y(height),
                )
    legend = [("bar neg", summary.classes[0]), ("bar pos", summary.classes[1])]
    if performance.cutoff is not None and edges[0] <= performance.cutoff <= edges[-1]:
        plot.upright(performance.cutoff, "cutoff")
        legend.append(("cutoff", f"cut-off {short(performance.cutoff, 3)}"))
    described = "Distribution of the score by class, on samples left out; the outer bars hold what lies beyond them."
    return plot.figure("histogram", "Scores by class", described, legend)


def slice_figure(number_: int, picture: Slice, features: Sequence[Feature], classes: Sequence[str]) -> Figure:
    """The surface over two features, with samples."""
    first, second = features[picture.first], features[picture.second]
    plot = Plot((picture.x[0], picture.x[-1]), (picture.y[0], picture.y[-1]), height=360, left=62)
    plot.add(
        "image",
        href=_shaded(picture),
        x=plot.left,
        y=plot.top,
        width=plot.width - plot.left - plot.right,
        height=plot.height - plot.top - plot.bottom,
        preserveAspectRatio="none",
    )
    plot.axes(_cut(first.name, 44), _cut(second.name, 36), _levels(first, room=48), _levels(second))
    plot.dots(picture.others, "point neg")
    plot.crosses(picture.events, "cross pos")
    plot.steps(picture.boundary, "boundary")
    described = (
        f"Orange where the score is above the cut-off, blue below it, over {first.name} and {second.name}; the line is where "
        "the decision turns. Points are samples, whatever their other features."
    )
    legend = (("point neg", classes[0]), ("cross pos", classes[1]), ("boundary", "decision turns"))
    return plot.figure(f"slice-{number_}", f"{_cut(first.name, 44)} and {_cut(second.name, 44)}", described, legend)


def _levels(feature: Feature, room: int = 80) -> Ticks:
    """The names of ranks, where they are short and few enough to be read beside each other."""
    names = [_cut(level, 9) for level in feature.levels]
    return [] if sum(map(len, names)) > room else [(float(rank), name) for rank, name in enumerate(names)]


def _shaded(picture: Slice) -> str:
    sizes = sorted(abs(value) for row in picture.values for value in row)
    full = sizes[int(0.95 * (len(sizes) - 1))] or 1.0
    return png(
        [
            [(*(POSITIVE if value > 0 else NEGATIVE), round(STRONGEST * min(1.0, abs(value) / full))) for value in row]
            for row in reversed(picture.values)
        ]
    )


def _cut(text: str, longest: int = 24) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"
