"""Average effects of columns and products: against the definition, and adding up to the score."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from helpers.small_models import loans, scored_pipeline
from quadric import QuadraticSurface, SparseQuadraticSVC
from quadric.explain import effects, shapley, stability
from quadric.fitted import fitted_model
from quadric.tables import Table, TableEncoder


def mean_score(model, table, name, value):
    """The mean decision if every row had this value: the definition of a partial dependence."""
    column = np.full(len(table), value, dtype=table[name].dtype)
    return model.decision_function(table_with(table, name, column)).mean()


def table_with(table, name, column):
    return Table(table.names, tuple(column if own == name else table[own] for own in table.names))


def with_gaps(table, name, every):
    column = table[name].copy()
    column[::every] = np.nan if column.dtype != object else None
    return table_with(table, name, column)


def squared(table, y, **parameters):
    return scored_pipeline(table, y, loss="least_squares", clip=0.05, k=9, **parameters)


@pytest.mark.parametrize("seed", range(4))
def test_curves_are_partial_dependences_whose_mean_is_zero(seed):
    table, y = loans(seed, m=90)
    model = squared(table, y)
    found = effects(model, table)
    assert {column.name for column in found.columns} == fitted_model(model).needed
    for column in found.columns:
        at_rows = [mean_score(model, table, column.name, value) for value in table[column.name].tolist()]
        points = [float(value) for value in column.grid[::20]] or list(column.values.levels)
        heights = column.curve.value[::20] if len(column.grid) else column.at_levels.value
        defined = [mean_score(model, table, column.name, point) - np.mean(at_rows) for point in points]
        assert_allclose(heights, defined, rtol=1e-10, atol=1e-10)
        assert column.values.counts.sum() == len(table)


def test_effects_and_products_sum_to_the_score_of_every_row():
    """With few values per column every row lies in the middle of its cell, so that the cells are exact."""
    rng = np.random.default_rng(0)
    table = Table(
        ("a", "b", "c"),
        (
            rng.integers(0, 9, 200).astype(float),
            rng.choice([0.0, 1.0, 2.5, 9.0], 200),
            rng.choice(["x", "y", "z"], 200).astype(object),
        ),
    )
    y = (table["a"] * (table["b"] - 2.0) + 3.0 * (table["c"] == "x") * table["a"] + rng.normal(0, 4, 200) > 4.0).astype(int)
    model = scored_pipeline(table, y, k=8, loss="least_squares")
    found = effects(model, table)
    assert len(found.products) >= 2
    cells = {column.name: cell_of(column.values, table[column.name]) for column in found.columns}
    total = np.full(200, found.base_value)
    for column in found.columns:
        heights = on_curve(column, np.unique(table[column.name])) if len(column.grid) else column.at_levels.value
        total += heights[cells[column.name]]
    for product in found.products:
        total += product.effect[cells[product.first.name], cells[product.second.name]]
        assert product.counts.sum() == 200
    assert_allclose(total, model.decision_function(table), rtol=1e-10, atol=1e-10)


def on_curve(column, values):
    """The quadratic through the curve at these values."""
    return np.polyval(np.polyfit(column.grid, column.curve.value, 2), values)


def cell_of(values, column):
    if len(values.edges):
        return np.searchsorted(values.edges, column) - 1
    return np.array([values.levels.index(text) for text in column.tolist()])


def test_missing_values_and_grouped_levels_have_points_of_their_own():
    table, y = loans(5, m=160)
    table = with_gaps(with_gaps(table, "debt", 5), "home", 6)
    model = make_pipeline(TableEncoder(missing="indicator"), SparseQuadraticSVC(k=9, loss="least_squares")).fit(table, y)
    found = effects(model, table)
    debt = found["debt"]
    assert debt.values.levels == ("missing",)
    assert debt.values.counts[-1] == 32
    at_rows = np.mean([mean_score(model, table, "debt", value) for value in table["debt"].tolist()])
    assert_allclose(debt.at_levels.value, [mean_score(model, table, "debt", np.nan) - at_rows], rtol=1e-10)
    assert list(found["home"].at_levels.value) == sorted(found["home"].at_levels.value)


@pytest.mark.parametrize("target", [0, 1])
def test_bands_and_importances_are_those_of_the_refits(target):
    table, y = loans(1, m=80)
    model = squared(table, y)
    drawn = stability(model, table, y, n_boot=6)
    found = effects(model, table, target=target, stability=drawn)
    view = fitted_model(model)
    refits = [scored_with(model, view, coef) for coef in drawn.coef[:, 0]]
    sign = 1.0 if target == 1 else -1.0
    for column in found.columns:
        name = column.name
        if len(column.grid):
            at_rows = [np.mean([mean_score(refit, table, name, v) for v in table[name].tolist()]) for refit in refits]
            heights = [[mean_score(refit, table, name, v) for v in column.grid[::25]] for refit in refits]
            curves = sign * (np.array(heights) - np.array(at_rows)[:, None])
            assert_allclose(column.curve.low[::25], np.quantile(curves, 0.1, axis=0), rtol=1e-10, atol=1e-10)
            assert_allclose(column.curve.high[::25], np.quantile(curves, 0.9, axis=0), rtol=1e-10, atol=1e-10)
        sizes = [importance(refit, table, name) for refit in refits]
        assert_allclose(column.importance.value, importance(model, table, name), rtol=1e-10)
        assert_allclose((column.importance.low, column.importance.high), np.quantile(sizes, (0.1, 0.9)), rtol=1e-10)


def scored_with(model, view, coef):
    """The model with other coefficients."""
    return view.with_surfaces([QuadraticSurface.from_coordinates(coef, 0.0)])


def importance(model, table, name):
    answer = shapley(model, table, background=table)
    return np.abs(answer.values[:, answer.names.index(name)]).mean()


def test_more_classes_need_a_target_and_a_stability_must_be_of_the_model():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    model = SparseQuadraticSVC(k=3).fit(X, y)
    assert effects(model, X, target="b").columns
    with pytest.raises(ValueError, match="target must name"):
        effects(model, X)
    other = stability(SparseQuadraticSVC(k=3).fit(X, y == "a"), X, y == "a", n_boot=2)
    with pytest.raises(ValueError, match="of another model"):
        effects(model, X, target="b", stability=other)
    with pytest.raises(KeyError, match="depends on"):
        effects(model, X, target="b")["income"]
