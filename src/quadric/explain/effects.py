"""What each column does to the score on average, and what each product adds: curves that add up to the score exactly.

In fitted units let mu be the mean of the population, d = u - mu, and g = b + W mu, the gradient at the mean. With the features
in blocks S, T, ... by the column that they come from,

    f(u) = f(mu) + g'd + 1/2 d'Wd = base + sum_S effect_S(u_S) + sum_{S<T} product_ST(u_S, u_T),
    effect_S = g_S'd_S + 1/2 d_S'W_SS d_S - 1/2 <W_SS, Cov_SS>,        product_ST = d_S'W_ST d_T.

effect_S is, but for its constant, the mean of f over the population with the column set to a value (its partial dependence);
the constant makes its own mean over the population zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.explain._cells import Cells, ColumnValues, Population, cells_of
from quadric.explain.attributions import against_point, spread_of
from quadric.explain.stability import TermStability
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables.table import Rows
from quadric.types import FloatArray, IntArray

# The middle 80 % of the bootstrap fits
BAND = (0.1, 0.9)


@dataclass(frozen=True)
class Band:
    """Values of the model, and the middle 80 % of the bootstrap fits.

    Attributes
    ----------
    value : array or float
    low, high : array or float, or None
        First and ninth decile over the bootstrap fits; None without them.
    """

    value: Any
    low: Any = None
    high: Any = None


@dataclass(frozen=True)
class ColumnEffect:
    """What a column does to the score on average.

    Attributes
    ----------
    values : ColumnValues
    grid : array
        Numbers from the first edge to the last, at which ``curve`` is; empty for a column without numbers.
    curve, at_levels : Band
        The average effect at the grid, and at each of the levels: the mean score over the population if all rows had this
        value, less the same averaged over all values.
    importance : Band
        Mean absolute Shapley value of the column over the population, with half of its products.
    """

    values: ColumnValues
    grid: FloatArray
    curve: Band
    at_levels: Band
    importance: Band

    @property
    def name(self) -> str:
        """Of the column."""
        return self.values.name


@dataclass(frozen=True)
class ProductEffect:
    """What the products of two columns add to their average effects.

    Attributes
    ----------
    first, second : ColumnValues
    effect : array of shape (cells of first, cells of second)
        At the numbers that stand for the bins, and at the levels.
    counts : array of int of the same shape
        Rows of the population.
    """

    first: ColumnValues
    second: ColumnValues
    effect: FloatArray
    counts: IntArray


@dataclass(frozen=True)
class Effects:
    """A model as curves and maps: for every row, ``base_value``, the effects of its values and its products sum to the score.

    Attributes
    ----------
    base_value : float
    columns : tuple of ColumnEffect
        Those that the surface depends on, the most important first.
    products : tuple of ProductEffect
        Pairs of columns that the surface multiplies; those that move the score most first.
    """

    base_value: float
    columns: tuple[ColumnEffect, ...]
    products: tuple[ProductEffect, ...]

    def __getitem__(self, name: str) -> ColumnEffect:
        """The effect of a column."""
        found = {column.name: column for column in self.columns}
        if name not in found:
            raise KeyError(f"{name!r}: the model does not depend on such a column; it depends on {', '.join(found)}")
        return found[name]


@one_blas_thread()
def effects(model: Model, X: Rows, *, target: Hashable | None = None, stability: TermStability | None = None) -> Effects:
    """The exact average effect of every column, what every product adds, and how important the columns are.

    Parameters
    ----------
    model : fitted model, or QuadraticSurface
        What :func:`quadric.fitted.fitted_model` takes.
    X : array-like of shape (m, n)
        The population: rows as the model takes them, usually those of the fit.
    target : class label, optional
        The class towards which the score counts, as in :func:`contributions`.
    stability : TermStability, optional
        Bootstrap fits of this model, from :func:`stability`: they give the bands.

    Returns
    -------
    Effects
    """
    view = fitted_model(model)
    surface, rows = view.surface_towards(target), Population(view, X)
    surfaces = [surface, *_refits(view, target, stability)]
    importances = np.array([_importances(rows, one) for one in surfaces])
    used = np.unique(view.blocks[surface.live_features])
    ordered = used[np.argsort(-importances[0, used], kind="stable")].tolist()
    columns = {i: cells_of(rows, i, partial(_heights, rows, surface, rows.block(i))) for i in ordered}
    pairs = ((columns[i], columns[j]) for i, j in combinations(ordered, 2))
    products = [_product(rows, surface, *pair) for pair in pairs if surface.W[np.ix_(*(one.features for one in pair))].any()]
    return Effects(
        base_value=float(surface(rows.U).mean() - sum(part.mean for part in products)),
        columns=tuple(_column(rows, surfaces, columns[i], importances[:, i]) for i in ordered),
        products=tuple(part.effect for part in sorted(products, key=lambda part: -part.spread)),
    )


def _refits(view: FittedModel, target: Any, stability: TermStability | None) -> Iterator[QuadraticSurface]:
    if stability is None:
        return
    if stability.coef.shape[1:] != (len(view.surfaces), len(view.term_names)):
        raise ValueError("stability is of another model: its fits have other surfaces or terms")
    is_single = len(view.surfaces) == 1
    code = 0 if is_single else view.class_code(target)
    sign = -1.0 if is_single and target is not None and view.class_code(target) == 0 else 1.0
    for coef in stability.coef[:, code]:
        yield QuadraticSurface.from_coordinates(sign * coef, 0.0)


def _importances(rows: Population, surface: QuadraticSurface) -> FloatArray:
    values = against_point(surface, rows.U, rows.mean) - spread_of(surface, rows.D)
    return np.asarray(np.abs(rows.view.by_column(values)).mean(axis=0))


def _heights(rows: Population, surface: QuadraticSurface, own: IntArray, deviations: FloatArray) -> FloatArray:
    """Average effects of deviations of the features of one column."""
    gradient, W, D = surface.gradient(rows.mean[None])[0, own], surface.W[np.ix_(own, own)], rows.D[:, own]
    constant = 0.5 * np.mean((D @ W * D).sum(axis=1))
    return np.asarray(deviations @ gradient + 0.5 * (deviations @ W * deviations).sum(axis=1) - constant)


def _column(rows: Population, surfaces: Sequence[QuadraticSurface], cells: Cells, importances: FloatArray) -> ColumnEffect:
    """The effect by the first of the surfaces, with the others as bootstrap fits."""
    places = np.vstack([cells.along, cells.deviations[cells.n_bins :]])
    heights = np.array([_heights(rows, surface, cells.features, places) for surface in surfaces])
    curve, at_levels = (_band(part) for part in np.split(heights, [len(cells.grid)], axis=1))
    return ColumnEffect(cells.values, cells.grid, curve, at_levels, _band(importances))


def _band(values: FloatArray) -> Band:
    """Of the model, which is first, and bootstrap fits."""
    return Band(values[0], *(np.quantile(values[1:], BAND, axis=0) if len(values) > 1 else ()))


@dataclass(frozen=True)
class _Product:
    effect: ProductEffect
    mean: float
    spread: float


def _product(rows: Population, surface: QuadraticSurface, one: Cells, other: Cells) -> _Product:
    W, shape = surface.W[np.ix_(one.features, other.features)], (len(one.deviations), len(other.deviations))
    at_rows = (rows.D[:, one.features] @ W * rows.D[:, other.features]).sum(axis=1)
    counts = np.bincount(np.ravel_multi_index((one.cell, other.cell), shape), minlength=shape[0] * shape[1]).reshape(shape)
    effect = ProductEffect(one.values, other.values, one.deviations @ W @ other.deviations.T, counts)
    return _Product(effect, float(at_rows.mean()), float(at_rows.std()))
