"""Pictures of average effects: marks lie where the numbers are, and names stay apart."""

import base64
import io

import matplotlib.image
import numpy as np
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from helpers.report_pages import ordinary
from helpers.small_models import loans
from quadric import SparseQuadraticSVC
from quadric.explain import effects
from quadric.report.drawing import told_apart
from quadric.report.effect_figures import MOST_LEVELS, effect_charts, product_charts
from quadric.tables import Table, TableEncoder


def shapes(figure, class_):
    return [shape for shape in figure["shapes"] if shape["attributes"].get("class") == class_]


def points(shape):
    return np.array([tuple(map(float, pair.split(","))) for pair in shape["attributes"]["points"].split()])


def dots(figure, class_="dot"):
    pieces = "".join(shape["attributes"]["d"] for shape in shapes(figure, class_)).replace("M", "").split("h0")
    return np.array([tuple(map(float, piece.split())) for piece in pieces if piece])


def test_curves_and_levels_are_drawn_on_one_scale():
    found = ordinary()[3].surfaces[0].effects
    drawn, heights, pixels = effect_charts("effect", found), [], []
    for column, figure in zip(found.columns, drawn, strict=True):
        if not len(column.grid):
            across = np.polyfit(column.at_levels.value, dots(figure)[:, 0], 1)
            assert across[0] > 0
            assert_allclose(np.polyval(across, column.at_levels.value), dots(figure)[:, 0], atol=0.06)
            continue
        (line,), (band,) = shapes(figure, "line strong"), shapes(figure, "band")
        curve = points(line)
        assert_allclose(np.polyval(np.polyfit(column.grid, curve[:, 0], 1), column.grid), curve[:, 0], atol=0.06)
        heights += [*column.curve.value, *column.curve.high, *column.curve.low[::-1]]
        pixels += [*curve[:, 1], *points(band)[:, 1]]
        bars = [float(bar["attributes"]["height"]) for bar in shapes(figure, "data-bar")]
        assert_allclose(np.array(bars) / max(bars), np.array(column.values.counts) / max(column.values.counts), atol=0.01)
    line = np.polyfit(heights, pixels, 1)
    assert line[0] < 0
    assert_allclose(np.polyval(line, heights), pixels, atol=0.1)


def test_a_map_shows_the_sign_and_size_of_the_product_and_where_rows_are():
    found = ordinary()[3].surfaces[0].effects
    figures = product_charts("product", found)
    strongest = max(np.abs(product.effect).max() for product in found.products)
    for product, figure in zip(found.products, figures, strict=True):
        (image,) = [shape for shape in figure["shapes"] if shape["tag"] == "image"]
        content = base64.b64decode(image["attributes"]["href"].removeprefix("data:image/png;base64,"))
        pixels = matplotlib.image.imread(io.BytesIO(content), format="png")[::-1]
        effect, counts = np.array(product.effect).T, np.array(product.counts).T
        if pixels.shape[:2] != effect.shape:
            effect, counts = effect.T, counts.T
        assert_allclose(pixels[:, :, 3], np.abs(effect) / strongest * 215 / 255, atol=0.003)
        assert ((pixels[:, :, 0] > pixels[:, :, 2]) == (effect > 0.0)).all()
        seen = sum(len(dots(figure, f"data-dot {size}")) for size in ("few", "some", "many"))
        assert seen == (counts > 0).sum()


def test_many_levels_and_missing_values_have_room():
    table, y = loans(3, m=300)
    rng = np.random.default_rng(0)
    town = np.array([f"a town with the same long beginning, number {i:02d}" for i in rng.integers(0, 20, 300)], dtype=object)
    debt = np.where(rng.random(300) < 0.2, np.nan, table["debt"])
    table = Table((*table.names, "town"), (table["age"], table["income"], debt, table["home"], town))
    coder = TableEncoder(missing="indicator")
    model = make_pipeline(coder, SparseQuadraticSVC(k=20, loss="least_squares")).fit(table, y + 2 * (town == town[0]) > 1)
    found = effects(model, table)
    drawn = {column.name: figure for column, figure in zip(found.columns, effect_charts("effect", found), strict=True)}
    assert len(found["town"].values.levels) > MOST_LEVELS
    assert len(dots(drawn["town"])) == MOST_LEVELS
    names = [shape["text"] for shape in drawn["town"]["shapes"] if shape["attributes"].get("text-anchor") == "end"]
    assert len(set(names)) == len(names) >= MOST_LEVELS
    assert "missing" in [shape["text"] for shape in drawn["debt"]["shapes"]]
    assert len(dots(drawn["debt"])) == 1


def test_cut_names_differ():
    long = ["savings account A", "savings account B", "savings", "savings account A and more", "savings account A and less"]
    long += [20 * "q" + middle + 20 * "z" for middle in ("one", "two")]
    for longest in (8, 9, 12, 30):
        apart = told_apart(long, longest)
        assert len(set(apart)) == len(long)
        assert max(map(len, apart)) <= longest
    assert told_apart(["short", "a longer name"], 8) == ["short", "a longe\N{HORIZONTAL ELLIPSIS}"]
