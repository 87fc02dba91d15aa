"""What is drawn is what ``explain`` and ``credit`` compute; axes are returned, and taken."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

from helpers.small_models import loans, scored_pipeline
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV, TableClassifier, explain, plot
from quadric.credit import CalibratedModel, ks_statistic
from quadric.fitted import fitted_model
from quadric.tables import Table


@pytest.fixture(autouse=True)
def _closed_figures():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    table, y = loans(0, m=120)
    return scored_pipeline(table, y, k=8, loss="least_squares"), table, y


def test_effects_draw_curves_bands_bars_and_levels(model):
    fitted, table, y = model
    drawn = explain.stability(fitted, table, y, n_boot=4)
    found = explain.effects(fitted, table, stability=drawn)
    axes = plot.effects(fitted, table, stability=drawn)
    assert [ax.get_title() for ax in axes] == [column.name for column in found.columns]
    for ax, column in zip(axes, found.columns, strict=True):
        if len(column.grid):
            assert_allclose(ax.lines[0].get_xydata(), np.column_stack([column.grid, column.curve.value]))
            outline = ax.collections[0].get_paths()[0].vertices
            assert_allclose([outline[:, 1].min(), outline[:, 1].max()], [column.curve.low.min(), column.curve.high.max()])
            (under,) = [other for other in ax.figure.axes if other is not ax and other.bbox.bounds == ax.bbox.bounds]
            assert [bar.get_height() for bar in under.patches] == column.values.counts.tolist()
        else:
            assert_allclose(ax.lines[0].get_xdata(), column.at_levels.value)
    (one,) = plot.effects(found, columns=["income"], axes=plt.figure().subplots())
    assert one.get_title() == "income"
    with pytest.raises(ValueError, match="pictures need as many axes"):
        plot.effects(found, axes=plt.figure().subplots())
    with pytest.raises(ValueError, match="X is needed"):
        plot.effects(fitted)


def test_products_draw_every_cell(model):
    fitted, table, _ = model
    found = explain.effects(fitted, table).products
    axes = plot.products(fitted, table)
    assert len(axes) == len(found) >= 1
    for ax, product in zip(axes, found, strict=True):
        mesh, dots = ax.collections
        assert_allclose(np.asarray(mesh.get_array()).reshape(product.effect.T.shape), product.effect.T)
        assert_allclose(dots.get_sizes() / 20.0, product.counts.ravel() / product.counts.max())
        assert (ax.get_xlabel(), ax.get_ylabel()) == (product.first.name, product.second.name)
    linear = scored_pipeline(*loans(0, m=60), k=2, loss="least_squares", terms="linear")
    assert plot.products(linear, table).size == 0
    level = QuadraticSurface(np.zeros((2, 2)), np.zeros(2), 1.0)
    assert plot.effects(level, np.eye(2)).size == 0


def test_a_waterfall_leads_from_the_mean_to_the_score(model):
    fitted, table, _ = model
    row = Table(table.names, tuple(table[name][7:8] for name in table.names))
    score, values = fitted.decision_function(row)[0], explain.shapley(fitted, row, background=table)
    for most in (10, 2):
        ax = plot.waterfall(fitted, row, background=table, most=most)
        first, last = ax.patches[0], ax.patches[-1]
        assert_allclose(first.get_x(), values.base_value)
        assert_allclose(last.get_x() + last.get_width(), score, rtol=1e-12)
        assert len(ax.patches) == min(most + 1, np.count_nonzero(values.values))
    assert ax.get_yticklabels()[-1].get_text() == "2 other columns"
    with pytest.raises(ValueError, match="single row"):
        plot.waterfall(fitted, table, background=table)


def test_a_beeswarm_has_every_row_of_every_column_apart(model):
    fitted, table, _ = model
    values = explain.shapley(fitted, table, background=table)
    ax = plot.beeswarm(fitted, table)
    names = [label.get_text() for label in ax.get_yticklabels()]
    sizes = dict(zip(values.names, np.abs(values.values).mean(axis=0), strict=True))
    assert names == sorted([name for name in sizes if sizes[name] > 0], key=lambda name: -sizes[name])
    for place, (name, dots) in enumerate(zip(names, ax.collections, strict=True)):
        x, heights = np.asarray(dots.get_offsets()).T
        assert_allclose(x, values.values[:, values.names.index(name)])
        assert np.abs(heights - place).max() <= 0.4 + 1e-12
        assert len(set(zip(x, heights, strict=True))) == len(table)


def test_stability_and_path():
    X, y = load_iris(return_X_y=True)
    found = explain.stability(SparseQuadraticSVC(k=2).fit(X, y == 1), X, y == 1, n_boot=5)
    ax = plot.stability(found)
    names = [label.get_text() for label in ax.get_yticklabels()]
    chosen_with_plus, chosen_at_all = np.mean(found.coef[:, 0] > 0, axis=0), np.mean(found.coef[:, 0] != 0, axis=0)
    shown = [found.names.index(name) for name in names]
    assert set(shown) == set(np.flatnonzero(chosen_at_all))
    plus, minus = ax.containers
    assert_allclose([bar.get_width() for bar in plus], chosen_with_plus[shown])
    assert_allclose([bar.get_x() for bar in minus], chosen_with_plus[shown])
    assert_allclose([bar.get_x() + bar.get_width() for bar in minus], chosen_at_all[shown])
    chosen = SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0], cv=2).fit(X, y == 1)
    own = plt.figure().subplots()
    assert plot.path(chosen, ax=own) is own
    assert plot.path(chosen.paths_[0]).get_xlabel() == "number of terms k"
    with pytest.raises(ValueError, match="draws a QuadraticPath"):
        plot.path(SparseQuadraticSVCCV(ks=[1], Cs=[1.0], cv=2).fit(X, y))


def test_the_boundary_is_where_the_decision_turns(model):
    fitted, table, y = model
    model_view = fitted_model(fitted)
    for columns in (None, ("debt", "age")):
        ax = plot.boundary(fitted, table, y, columns=columns)
        line = next(part for part in ax.collections if part.__class__.__name__.endswith("ContourSet"))
        points = np.concatenate([path.vertices for path in line.get_paths()])[::9]
        held = {name: [np.quantile(table[name], 0.5, method="nearest")] * len(points) for name in ("age", "income", "debt")}
        held["home"] = ["own"] * len(points)
        held |= {ax.get_xlabel(): points[:, 0], ax.get_ylabel(): points[:, 1]}
        scores = model_view.decision({name: np.asarray(held[name], dtype=table[name].dtype) for name in table.names})
        assert np.abs(scores).max() < 0.01 * np.ptp(fitted.decision_function(table))
        assert {text.get_text() for text in ax.get_legend().get_texts()} == {"0", "1"}
    with pytest.raises(ValueError, match="two different names"):
        plot.boundary(fitted, table, columns=["age"])
    with pytest.raises(ValueError, match="home"):
        plot.boundary(fitted, table, columns=["age", "home"])


def test_curves_of_scores_and_probabilities(model):
    fitted, table, y = model
    ax = plot.roc(fitted, table, y, name="a")
    assert plot.roc(fitted, table, y, name="b", ax=ax) is ax
    area = f"{roc_auc_score(y, fitted.decision_function(table)):0.2f}"
    assert sum(area in text.get_text() for text in ax.get_legend().get_texts()) == 2
    ax = plot.ks(fitted, table, y)
    distance = np.ptp(ax.lines[-1].get_ydata())
    assert_allclose(distance, ks_statistic(y == 1, fitted.decision_function(table)))
    calibrated = CalibratedModel(fitted).fit(table, y)
    line = plot.calibration(calibrated, table, y, n_bins=5).lines[-1]
    probability = calibrated.predict_proba(table)[:, 1]
    bins = np.digitize(probability, np.quantile(probability, np.linspace(0, 1, 6))[1:-1])
    assert_allclose(line.get_ydata(), [y[bins == i].mean() for i in range(5)], atol=0.05)
    with pytest.raises(TypeError, match="calibrate the model"):
        plot.calibration(fitted, table, y)
    with pytest.raises(ValueError, match="does not know"):
        plot.roc(fitted, table, np.where(y == 1, "bad", "good"))
    X, classes = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        plot.ks(SparseQuadraticSVC(k=2).fit(X, classes), X, classes)


def test_a_table_classifier_has_all_pictures():
    table, y = loans(1, m=90)
    frame = pd.DataFrame({name: table[name] for name in table.names})
    labels = np.where(y == 1, "lost", "paid")
    own = TableClassifier(k=4, C=16.0, loss="least_squares").fit(frame, labels)
    assert len(plot.effects(own, frame)) >= 2
    for draw in (plot.boundary, plot.roc, plot.ks):
        assert draw(own, frame, labels).figure is not None
    plot.waterfall(own, frame.iloc[[3]], background=frame)
    plot.beeswarm(own, frame)
    assert explain.stability(own, frame, labels, n_boot=2).inclusion.max() == 1.0


def test_dollars_in_names_are_no_mathematics():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["$x^{$", "$_{$"])
    y = np.where(X.iloc[:, 0] * X.iloc[:, 1] + X.iloc[:, 0] > 0, "$^{$", "no")
    fitted = SparseQuadraticSVC(k=3).fit(X, y)
    plot.effects(fitted, X)
    plot.products(fitted, X)
    plot.waterfall(fitted, X.iloc[:1], background=X)
    plot.beeswarm(fitted, X)
    plot.boundary(fitted, X, y)
    plot.ks(fitted, X, y)
    plot.stability(explain.stability(fitted, X, y, n_boot=2))
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
