"""Pictures of average effects: a curve or points per column with the distribution underneath, and a small map per product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from quadric.explain import Band, ColumnEffect, ColumnValues, Effects, ProductEffect
from quadric.report.drawing import Figure, Plot, Ticks, cut, png, tint, told_apart
from quadric.report.numbers import number, short, ticks
from quadric.tables.dates import date_text, dates_after

# Share of the height that the distribution takes, and of the width that missing values take.
UNDERNEATH, BESIDE = 0.24, 0.12
# Size of the pictures, of which three stand side by side; height of a level, and of what is above and below all levels.
WIDTH, HEIGHT, ROW, AROUND = 350.0, 202.0, 22.0, 62.0
MOST_LEVELS, MOST_PRODUCTS = 14, 12
# Characters of a level's name beside an axis, and beside a map, of all names below one, and of a title.
LONGEST, NARROW, ROOM, TITLE = 20, 12, 32, 80
# Room for each of them beside an axis, in pixels: letters are narrower than digits.
LETTER = 7.2
# Opacity of the strongest cell of a map, out of 255.
STRONGEST = 215
# The dots that count rows in a map, by the share of the largest count above which they are drawn.
DOTS = ((0.0, "data-dot few"), (0.2, "data-dot some"), (0.6, "data-dot many"))


def effect_charts(name: str, effects: Effects) -> tuple[Figure, ...]:
    """One per column, on one scale, so that heights can be compared.

    Parameters
    ----------
    name : str
        What the identifiers of the pictures begin with.
    effects : Effects
    """
    scale = effect_scale(effects.columns)
    return tuple(effect_chart(f"{name}-{i}", column, scale) for i, column in enumerate(effects.columns))


def effect_scale(columns: Sequence[ColumnEffect]) -> tuple[float, float]:
    """A range with room for the effects of several columns, and for zero.

    Parameters
    ----------
    columns : sequence of ColumnEffect
    """
    heights = [0.0, *(end for column in columns for band in (column.curve, column.at_levels) for end in _extremes(band))]
    low, high = min(heights), max(heights)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def _extremes(band: Band) -> list[float]:
    ends = [band.value] if band.low is None else [band.value, band.low, band.high]
    return [float(value) for end in ends for value in (np.min(end), np.max(end))] if len(band.value) else []


def effect_chart(id_: str, column: ColumnEffect, scale: tuple[float, float]) -> Figure:
    """The average effect of one column.

    Parameters
    ----------
    id_ : str
    column : ColumnEffect
    scale : pair of float
        Range of the effects.
    """
    heights = [*column.curve.value, *column.at_levels.value]
    band = " The band holds the middle 80 percent of the bootstrap fits." if column.importance.low is not None else ""
    span = f"from {number(min(heights), 3)} to {number(max(heights), 3)}"
    plot = _curve(column, scale) if len(column.grid) else _levels(column, scale)
    return plot.figure(id_, cut(column.name, TITLE), f"Average effect of {column.name} on the score, {span}.{band}")


def _curve(column: ColumnEffect, scale: tuple[float, float]) -> Plot:
    values, (low, high) = column.values, scale
    first, last = values.edges[0], values.edges[-1]
    beside = BESIDE * (last - first) * len(values.levels)
    aside = last + 0.5 * beside
    heights = [(value, short(value)) for value in ticks(*scale, 4)]
    plot = Plot((first, last + beside), (low - UNDERNEATH * (high - low), high), heights, width=WIDTH, height=HEIGHT, bottom=26)
    plot.axes("", "average effect", [*_number_ticks(values), *((aside, level) for level in values.levels)])
    _distribution(plot, column, low, aside)
    plot.segments([(plot.x_range[0], 0.0, plot.x_range[1], 0.0)], "threshold")
    if column.curve.low is not None:
        plot.area(_points(column.grid, column.curve.high), _points(column.grid, column.curve.low), "band")
    plot.line(_points(column.grid, column.curve.value), "line strong")
    for i in range(len(values.levels)):
        if column.at_levels.low is not None:
            plot.segments([(aside, column.at_levels.low[i], aside, column.at_levels.high[i])], "whisker wide")
        plot.dots([(aside, column.at_levels.value[i])], "dot")
    return plot


def _points(x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
    return list(zip(x, y, strict=True))


def _number_ticks(values: ColumnValues, about: int = 5) -> Ticks:
    if len(values.numbers) <= about:
        places = [float(value) for value in values.numbers]
    else:
        places = ticks(values.edges[0], values.edges[-1], about if values.origin is None else about - 1)
    if values.origin is None:
        return [(value, short(value)) for value in places]
    return [(value, date_text(dates_after(np.array([value]), values.origin)[0])[:10]) for value in places]


def _distribution(plot: Plot, column: ColumnEffect, low: float, aside: float) -> None:
    """Bars below the effects: rows of each bin, and rows without a value."""
    values, floor = column.values, plot.y_range[0]
    half = 0.45 * min(np.diff(values.edges))
    for middle, count in zip([*values.numbers, *(aside for _ in values.levels)], values.counts, strict=True):
        x, y = plot.x(middle - half), plot.y(floor + 0.85 * (low - floor) * count / max(values.counts))
        width, height = plot.x(middle + half) - x, plot.y(floor) - y
        plot.add("rect", class_="data-bar", x=x, y=y, width=width, height=height, title=f"{count} rows")


def _levels(column: ColumnEffect, scale: tuple[float, float]) -> Plot:
    """Levels from top to bottom, those with most rows if there are many; to the right how many rows they have."""
    values, effect = column.values, column.at_levels
    kept = sorted(sorted(range(len(values.levels)), key=lambda i: -values.counts[i])[:MOST_LEVELS])
    places = [float(len(kept) - 1 - row) for row in range(len(kept))]
    names = told_apart([values.levels[i] for i in kept], LONGEST)
    span = scale[1] - scale[0]
    plot = Plot(
        (scale[0], scale[1] + UNDERNEATH * span),
        (-0.6, len(kept) - 0.4),
        list(zip(places, names, strict=True)),
        width=WIDTH,
        height=AROUND + ROW * len(kept),
        character=LETTER,
    )
    left_out = len(values.levels) - len(kept)
    label = f"average effect; {left_out} rarer levels not shown" if left_out else "average effect; bars: rows"
    plot.axes(label, "", [(value, short(value)) for value in ticks(*scale, 4)])
    plot.segments([(0.0, plot.y_range[0], 0.0, plot.y_range[1])], "threshold")
    start = plot.x(scale[1] + 0.02 * span)
    for i, at in zip(kept, places, strict=True):
        width = (plot.x(plot.x_range[1]) - start) * values.counts[i] / max(values.counts)
        plot.add("rect", class_="data-bar", x=start, y=plot.y(at) - 5, width=width, height=10, title=f"{values.counts[i]} rows")
        if effect.low is not None:
            plot.segments([(effect.low[i], at, effect.high[i], at)], "whisker wide")
        plot.dots([(effect.value[i], at)], "dot")
    return plot


def product_charts(name: str, effects: Effects) -> tuple[Figure, ...]:
    """The products that move the score most, on one scale of colours.

    Parameters
    ----------
    name : str
        What the identifiers of the pictures begin with.
    effects : Effects
    """
    products = effects.products[:MOST_PRODUCTS]
    strongest = max((float(np.abs(product.effect).max()) for product in products), default=0.0) or 1.0
    return tuple(product_chart(f"{name}-{i}", product, strongest) for i, product in enumerate(products))


def product_chart(id_: str, product: ProductEffect, strongest: float) -> Figure:
    """What a product adds, cell by cell, with dots for the rows.

    Parameters
    ----------
    id_ : str
    product : ProductEffect
    strongest : float
        Size of the effect for which the strongest colour stands.
    """
    across, up, effect, counts = product.first, product.second, np.array(product.effect).T, np.array(product.counts).T
    if len(across.levels) > len(up.levels):  # names have more room beside than below
        across, up, effect, counts = up, across, effect.T, counts.T
    plot = Plot((0.0, effect.shape[1]), (0.0, effect.shape[0]), _cell_ticks(up, NARROW), width=WIDTH, height=270)
    plot.backdrop(png([[tint(value, STRONGEST * min(1.0, abs(value) / strongest)) for value in row] for row in effect[::-1]]))
    plot.axes(cut(across.name, 36), cut(up.name, 30), _cell_ticks(across, ROOM // max(len(across.levels), 1)))
    shares = counts / counts.max()
    for (least, class_), most in zip(DOTS, [*(least for least, _ in DOTS[1:]), np.inf], strict=True):
        rows, columns = np.nonzero((shares > least) & (shares <= most))
        plot.dots([(column + 0.5, row + 0.5) for row, column in zip(rows.tolist(), columns.tolist(), strict=True)], class_)
    low, high = number(float(effect.min()), 3), number(float(effect.max()), 3)
    described = (
        f"What the product of {across.name} and {up.name} adds to the score, from {low} to {high}; dots are rows of the data."
    )
    return plot.figure(id_, f"{cut(across.name, TITLE // 2)} × {cut(up.name, TITLE // 2)}", described)


def _cell_ticks(values: ColumnValues, longest: int) -> Ticks:
    """Where numbers and levels are on an axis of cells: numbers where their bins are, levels in the middle of theirs."""
    n_bins = len(values.numbers)
    names = told_apart(values.levels, max(longest, 3))
    marks = [(n_bins + i + 0.5, name) for i, name in enumerate(names)]
    if not n_bins:
        return marks
    known, places = [values.edges[0], *values.numbers, values.edges[-1]], [0.0, *(np.arange(n_bins) + 0.5), n_bins]
    return [*((float(np.interp(value, known, places)), text) for value, text in _number_ticks(values)), *marks]
