"""The page as a text: complete in itself, escaped, the same every time."""

import base64
import copy
import hashlib
import io
import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import matplotlib.image
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.report_pages import ATTACK, hostile, ordinary
from helpers.small_models import loans, scored_pipeline
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel
from quadric.export import equation
from quadric.extras import MissingExtraError
from quadric.report import render, summarise
from quadric.report.drawing import Plot, place, png
from quadric.report.figures import objective
from quadric.report.numbers import number, percent, short, ticks

VOID = {"meta", "input", "br", "img", "hr", "link"}


class Elements(HTMLParser):
    """All elements with their attributes, the text inside each, and whether tags are balanced."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found, self.open, self.balanced = [], [], True
        self.feed(page)
        self.close()
        self.balanced &= not self.open

    def handle_starttag(self, tag, attributes):
        item = {"tag": tag, "attributes": dict(attributes), "text": "", "inside": [one["tag"] for one in self.open]}
        self.found.append(item)
        if tag not in VOID:
            self.open.append(item)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        self.balanced &= bool(self.open) and self.open[-1]["tag"] == tag
        if self.open:
            self.open.pop()

    def handle_data(self, data):
        for item in self.open:
            item["text"] += data

    def named(self, tag):
        return [item for item in self.found if item["tag"] == tag]


@pytest.fixture(scope="module", params=["ordinary", "hostile", "classes"])
def page(request):
    if request.param == "classes":
        X, y = load_iris(return_X_y=True, as_frame=True)
        model = make_pipeline(StandardScaler(), SparseQuadraticSVC(3, method="pd")).fit(X, y)
        return render(summarise(model, X, y, cv=2, n_boot=1))
    return render(ordinary()[3] if request.param == "ordinary" else hostile())


def test_equal_summaries_give_equal_bytes():
    summary = ordinary()[3]
    assert render(summary) == render(copy.deepcopy(summary))


def test_the_page_is_small(page):
    assert len(page.encode()) < 250_000


def test_elements_are_balanced_and_ids_unique(page):
    elements = Elements(page)
    assert elements.balanced
    ids = [item["attributes"]["id"] for item in elements.found if "id" in item["attributes"]]
    assert len(ids) == len(set(ids))
    for item in elements.found:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(item["attributes"].get(name, "").split()) <= set(ids)
        if item["attributes"].get("href", "").startswith("#"):
            assert item["attributes"]["href"][1:] in ids


def test_nothing_is_loaded_and_nothing_but_the_pages_own_script_runs(page):
    elements = Elements(page)
    (policy,) = [
        item["attributes"]["content"]
        for item in elements.named("meta")
        if item["attributes"].get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    scripts = [item for item in elements.named("script") if item["attributes"].get("type") != "application/json"]
    for kind, items in (("script-src", scripts), ("style-src", elements.named("style"))):
        (item,) = items
        digest = base64.b64encode(hashlib.sha256(item["text"].encode()).digest()).decode()
        assert rules[kind] == f"'sha256-{digest}'"
    assert rules["img-src"] == "data:"
    assert {item["tag"] for item in elements.found}.isdisjoint({"link", "iframe", "object", "embed", "base", "form", "img"})
    for item in elements.found:
        assert "style" not in item["attributes"]
        assert not [name for name in item["attributes"] if name.startswith("on") or name == "src"]
        assert item["attributes"].get("href", "#").startswith(("#", "data:image/png;base64,"))
    assert "@import" not in page
    assert "url(" not in page


def test_tables_pictures_and_controls_say_what_they_are(page):
    elements = Elements(page)
    assert len(elements.named("caption")) == len(elements.named("table"))
    assert all(item["attributes"].get("scope") in ("row", "col") for item in elements.named("th"))
    for picture in elements.named("svg"):
        if picture["attributes"].get("role") == "img":
            assert len(picture["attributes"]["aria-labelledby"].split()) == 2
        else:
            assert picture["attributes"]["aria-hidden"] == "true"
    levels = [int(item["tag"][1]) for item in elements.found if re.fullmatch("h[1-6]", item["tag"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    labels = {item["attributes"]["for"] for item in elements.named("label")}
    assert {item["attributes"]["id"] for item in elements.named("input")} <= labels
    assert elements.found[0]["attributes"]["lang"] == "en"


def test_hostile_names_stay_texts():
    page = render(hostile())
    elements = Elements(page)
    assert len(elements.named("script")) == 2
    assert ATTACK not in page
    (title,) = elements.named("h1")
    assert title["text"] == ATTACK
    (block,) = [item for item in elements.named("script") if item["attributes"].get("type") == "application/json"]
    assert not set("<>&\u2028\u2029") & set(block["text"])
    stops = json.loads(block["text"])
    assert any(ATTACK in line["symbol"] for stop in stops for line in stop["lines"])
    assert [item for item in elements.found if item["tag"] in ("b", "img")] == []


def test_without_scripts_the_page_shows_the_model():
    model, *_, summary = ordinary()
    elements = Elements(render(summary))
    (lines,) = [item for item in elements.found if item["attributes"].get("id") == "lines"]
    for c in summary.surfaces[0].view.coefficients:
        assert number(abs(c.weight)) in lines["text"]
    (centred,) = [item for item in elements.found if item["attributes"].get("id") == "centred"]
    assert centred["text"] == equation(model)


def test_every_stop_has_the_numbers_of_its_view():
    summary = ordinary()[3]
    (block,) = re.findall(r'<script type="application/json" id="stops">(.*?)</script>', render(summary))
    stops = json.loads(block)
    assert [stop["k"] for stop in stops] == [view.k for view in summary.views]
    for i, (stop, view) in enumerate(zip(stops, summary.views, strict=True)):
        sizes = [number(abs(c.weight)) for c in view.coefficients] + [number(abs(view.intercept))]
        assert [line["size"] for line in stop["lines"]] == sizes
        signs = ["\N{MINUS SIGN}" if c.weight < 0 else "+" for c in view.coefficients]
        assert [line["sign"] for line in stop["lines"]][:-1] == signs
        assert percent(summary.cross_validation.mean[i]) in stop["facts"][0]
        assert stop["facts"][2] == number(view.certificate.objective, 6)
        squares = sum(c.second is None or c.first == c.second for c in view.coefficients)
        assert len(stop["cells"]) == 2 * len(view.coefficients) - squares
        assert {cell["title"].split(": ")[-1] for cell in stop["cells"]} == {number(c.value) for c in view.coefficients}


def test_marks_lie_on_their_curves():
    summary = ordinary()[3]
    (block,) = re.findall(r'<script type="application/json" id="stops">(.*?)</script>', render(summary))
    marks = np.array([stop["marks"] for stop in json.loads(block)])
    ks, means = np.array(summary.cross_validation.ks), np.array(summary.cross_validation.mean)
    objectives = np.array([view.certificate.objective for view in summary.views])
    for values, places in ((means, marks[:, 0]), (objectives, marks[:, 1])):
        for data, pixels, falls in ((ks, places[:, 0], False), (values, places[:, 1], True)):
            line = np.polyfit(data, pixels, 1)
            assert (line[0] < 0) == falls
            assert np.ptp(pixels) > 50
            np.testing.assert_allclose(np.polyval(line, data), pixels, atol=1e-6)


def proved_at(summary, ks):
    """The summary with proofs for some numbers of terms, and no bound for the last."""
    views = []
    for view in summary.views:
        its = view.certificate
        if view.k in ks:
            its = replace(its, lower_bound=its.objective, gap=0.0, status="optimal")
        views.append(replace(view, certificate=its))
    last = replace(views[-1].certificate, lower_bound=None, gap=None, status="local")
    return replace(summary, views=(*views[:-1], replace(views[-1], certificate=last)))


def test_objective_and_bound_are_drawn_over_k_and_proofs_are_told():
    ks = [view.k for view in ordinary()[3].views]
    summary = proved_at(ordinary()[3], ks[:2])
    figure = objective(summary.views, summary.k)
    (band,) = [shape for shape in figure["shapes"] if shape["attributes"].get("class") == "band"]
    corners = [tuple(map(float, corner.split(","))) for corner in band["attributes"]["points"].split()]
    upper, lower = corners[: len(ks) - 1], corners[: len(ks) - 2 : -1]
    np.testing.assert_allclose(upper, figure["places"][:-1], atol=0.051)
    assert [x for x, _ in lower] == [x for x, _ in upper]
    bounds = [view.certificate.lower_bound for view in summary.views[:-1]]
    heights = np.polyfit([view.certificate.objective for view in summary.views], [y for _, y in figure["places"]], 1)
    np.testing.assert_allclose([y for _, y in lower], np.polyval(heights, bounds), atol=0.051)
    rings = [shape for shape in figure["shapes"] if shape["attributes"].get("class") == "mark proved"]
    assert [ring["title"] for ring in rings] == [f"k = {k}: proved best" for k in ks[:2]]
    np.testing.assert_allclose(
        [float(ring["attributes"]["cx"]) for ring in rings], [x for x, _ in figure["places"][:2]], atol=0.051
    )
    assert ("mark proved", "proved best") in figure["legend"]
    (block,) = re.findall(r'<script type="application/json" id="stops">(.*?)</script>', render(summary))
    gaps = [stop["facts"][4] for stop in json.loads(block)]
    assert [gap == "proved best" for gap in gaps] == [k in ks[:2] for k in ks]
    assert gaps[-1] == "not known"
    assert [stop["status"].endswith(", proved best.") for stop in json.loads(block)] == [k in ks[:2] for k in ks]
    unproved = objective(ordinary()[3].views, summary.k)
    assert "proved best" not in dict(unproved["legend"]).values()


def test_one_list_of_terms_is_a_table_with_a_column_per_class():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=3, C=4.0, multiclass="shared", method="exact").fit(X, y)
    summary = summarise(model, X, y, class_names=("<b>setosa</b>", "versicolor", "virginica"), cv=2, n_boot=0)
    elements = Elements(render(summary))
    assert elements.balanced
    (table,) = [item for item in elements.named("table") if "One list of terms" in item["text"]]
    rows = [line.strip() for line in table["text"].splitlines() if line.strip()]
    assert rows[1] == "Term<b>setosa</b>versicolorvirginica"
    assert len(rows) == 2 + 3 + 1
    (certificate,) = [item for item in elements.named("section") if "panel certificate" in item["attributes"].get("class", "")]
    assert "Proved: no list of at most 3 terms for all classes has a lower objective on these data." in certificate["text"]
    assert "3 of 3 allowed" in certificate["text"]
    assert number(model.certificates_[0].objective, 6) in certificate["text"]


def test_more_classes_say_what_is_absent_and_have_no_slider():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(2, method="pd")).fit(X, y)
    page = render(summarise(model, X, y, class_names=("setosa", "versicolor", "virginica"), cv=2, n_boot=0))
    elements = Elements(page)
    assert not elements.named("input")
    assert page.count("this needs a model of two classes, and this one has 3") == 5
    assert "no bootstrap fits were requested" in page
    heads = [item["text"] for item in elements.named("h3")]
    assert all(heads.count(name) == 2 for name in ("setosa", "versicolor", "virginica"))


def test_a_model_that_depends_on_nothing_has_a_page():
    X, y = np.tile([[0.0, 1.0], [1.0, 0.0]], (20, 1)), np.tile([0, 0, 0, 1], 10)
    model = SparseQuadraticSVC(1, 1e-6, loss="hinge", exclude=[0, 1, 2, 3]).fit(X, y)
    page = render(summarise(model, X, y, ks=(1,), cv=2, n_boot=0))
    assert Elements(page).balanced
    assert "for any row of the data" in page


def test_the_short_answer_is_the_accuracy_of_the_calibrated_decisions():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(1, 0.05, loss="hinge", method="pd"))
    for model, wins in ((pipeline.fit(X, y), "largest score"), (CalibratedModel(pipeline).fit(X, y), "largest probability")):
        summary = summarise(model, X, y, cv=3, n_boot=0)
        elements = Elements(render(summary))
        answers = [item["text"] for item in elements.named("p") if item["attributes"].get("class") == "answer"]
        assert answers[1] == percent(summary.measures[0]["out_of_fold"])
        texts = [item["text"] for item in elements.named("p") if wins in item["text"]]
        assert len(texts) == 2
    assert summary.measures[0]["out_of_fold"] == pytest.approx(summary.cross_validation.mean[0], rel=1e-14)
    assert "before calibration" not in render(summary)


def test_one_fold_has_no_standard_error():
    summary = ordinary()[3]
    curve = summary.cross_validation
    curve = replace(curve, folds=1, error=(0.0,) * len(curve.ks))
    page = render(
        replace(summary, cross_validation=curve, complexity=None, absent=(*summary.absent, ("complexity", "one fold")))
    )
    assert "are correct (1 fold)." in page
    assert "1 folds" not in page
    assert "\N{PLUS-MINUS SIGN}" not in page
    assert "\N{PLUS-MINUS SIGN}" in render(summary)


def test_other_data_are_remarked_on():
    table, y = loans()
    model = scored_pipeline(table, y, method="pd")
    remark = "differs from that of the fit"
    assert remark not in render(summarise(model, table, y, ks=(5,), cv=2, n_boot=0))
    assert remark in render(summarise(model, *loans(5), ks=(5,), cv=2, n_boot=0))


def test_the_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"quadric\[report\]"):
        render(ordinary()[3])


@pytest.mark.parametrize("seed", range(20))
def test_numbers_can_be_read_back(seed):
    rng = np.random.default_rng(seed)
    for value in rng.normal(size=50) * 10.0 ** rng.integers(-8, 12, 50):
        for digits in (3, 4, 6):
            for text in (number(value, digits), short(value, digits)):
                read = float(text.replace("\N{MINUS SIGN}", "-").replace("\N{NARROW NO-BREAK SPACE}", ""))
                assert abs(read - value) <= 0.5000001 * 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (None, "–"),
        (math.nan, "–"),
        (593.978, "594.0"),
        (-0.02347, "−0.02347"),
        (33342.83, "33\u202f343"),
        (1e-15, "1.000e−15"),
    ],
)
def test_numbers_have_four_digits_a_real_minus_and_groups(value, text):
    assert number(value) == text


def test_percentages_and_short_numbers():
    assert (percent(0.7519), percent(0.5, 0), percent(None)) == ("75.2\u202f%", "50\u202f%", "–")
    assert (number(0.9996, 3), number(9999.7), number(0.00009999, 2)) == ("1.00", "10\u202f000", "0.00010")
    assert (short(20.0), short(0.25), short(1000.0), short(100000.0)) == ("20", "0.25", "1000", "100\u202f000")


@pytest.mark.parametrize("seed", range(20))
def test_ticks_are_round_even_and_inside(seed):
    rng = np.random.default_rng(seed)
    low = rng.normal() * 10.0 ** rng.integers(-4, 6)
    high = low + 10.0 ** rng.uniform(-4, 6)
    values = ticks(low, high)
    assert 2 <= len(values) <= 7
    assert low - 1e-9 * abs(low) <= values[0]
    assert values[-1] <= high + 1e-9 * abs(high)
    step = (values[-1] - values[0]) / (len(values) - 1)
    assert re.fullmatch(r"(1|2|2\.5|5)e[+-]\d+", f"{float(f'{step:.6g}'):e}".replace(".000000", "").replace("2.500000", "2.5"))
    np.testing.assert_allclose(np.diff(values), step, rtol=1e-6)


def test_a_plot_maps_its_ranges_to_its_corners():
    plot = Plot((2.0, 4.0), (-1.0, 1.0), width=200, height=50, right=5, top=4, bottom=6)
    assert (plot.x(2.0), plot.x(4.0), plot.y(-1.0), plot.y(1.0)) == (plot.left, 195, 44, 4)
    assert Plot((0.0, 1.0), (0.0, 1.0), [(0.5, "a long name")]).left > plot.left  # room for what is written there
    assert [place(value) for value in (1.04, 2.0, -0.01)] == ["1", "2", "0"]


def test_the_picture_of_a_slice_is_a_readable_png():
    rows = [[(1, 2, 3, 4), (255, 0, 0, 255)], [(0, 9, 0, 128), (7, 8, 9, 0)], [(5, 5, 5, 5), (6, 6, 6, 6)]]
    address = png(rows)
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"), validate=True)
    pixels = matplotlib.image.imread(io.BytesIO(content), format="png")
    np.testing.assert_allclose(pixels * 255, np.array(rows), atol=1e-4)
