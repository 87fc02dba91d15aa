"""Monitoring page, scorecard and the report's chapter on points in a real browser, with hostile names."""

import shutil

import numpy as np
import pytest

from helpers.report_pages import ATTACK, HOSTILE, HOSTILE_LEVELS
from quadric.report import render
from quadric.report.monitoring import render_monitored
from quadric.report.scorecard import render_card
from quadric.report.summarising import summarise_table
from quadric.review import monitor
from quadric.review.scorecard import scorecard
from quadric.tables import Table, TableStream
from quadric.tables.table import text_column
from quadric.workflow import TableModel, TrainingOptions, train

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="needs a browser: Debian's packages chromium and chromium-driver"
)
BAD = "<img src=x onerror=alert(5)>"


@pytest.fixture(scope="module")
def browser():
    options = Options()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def rows(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(shift, 1.0, 200), rng.normal(50.0, 9.0, 200).round()
    level = np.array(HOSTILE_LEVELS)[rng.integers(0, 3, 200)]
    score = first * (second - 50) / 9 + first + (level == HOSTILE_LEVELS[0]) + 0.3 * rng.normal(size=200)
    label = np.where(score > 0.5, BAD, "good")
    return Table((*HOSTILE[:3], "risk"), (first, second, text_column(level.tolist()), text_column(label.tolist())))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    table = rows(0)
    terms = (f"{HOSTILE[0]}*{HOSTILE[1]}", f"{HOSTILE[2]}={HOSTILE_LEVELS[0]}")
    options = TrainingOptions(k=5, C=16.0, loss="least_squares", points="600:20:50", positive=BAD, include=terms)
    model = TableModel(train(table, "risk", options).saved())
    found = monitor(model, TableStream(rows(1, shift=1.0)))
    how = {"folds": 2, "seed": 0, "n_boot": 2, "bounds": False, "ks": (4, 5), "rows": (0,)}
    later = {ATTACK: model.labelled(rows(1, shift=1.0)), BAD: model.labelled(rows(2))}
    summary = summarise_table(model, *model.labelled(table), name=ATTACK, samples=later, **how)
    contents = {
        "monitoring": render_monitored(found, ATTACK, ATTACK),
        "card": render_card(scorecard(model, model.points_line), ATTACK),
        "report": render(summary),
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, content in contents.items():
        (folder / f"{name}.html").write_text(content, encoding="utf-8")
    return folder


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["monitoring", "card", "report"])
def test_nothing_runs_and_nothing_sticks_out(browser, pages, name, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("browser")
    browser.get((pages / f"{name}.html").as_uri())
    assert browser.title.startswith(ATTACK)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return document.querySelectorAll('img, script:not([type])').length") == (name == "report")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    shown = browser.execute_script("return document.body.textContent")
    assert HOSTILE_LEVELS[0] in shown


@pytest.mark.parametrize("width", [400, 1280])
def test_every_chapter_of_the_report_has_its_tables_and_pictures(browser, pages, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get((pages / "report.html").as_uri())

    def texts(selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
        return browser.execute_script(script, selector)

    assert texts("[aria-label='Samples side by side'] thead th") == ["Measure", "development", ATTACK, BAD]
    assert {"AUC", "Accuracy"} <= set(texts("[aria-label='Samples side by side'] tbody th"))
    assert HOSTILE[0] in texts("[aria-label='Columns of the samples'] tbody th")
    assert texts("[aria-label='Complexity'] tbody th") == ["this model, 5 terms", "logistic regression", "gradient boosting"]
    assert any(HOSTILE[0] in text for text in texts("#points caption, #points thead th"))
    sizes = "return [...document.querySelectorAll('figure svg')].map((node) => node.getBoundingClientRect().width)"
    drawn = browser.execute_script(sizes)
    assert len(drawn) >= 10  # path, curves, product, ROC, KS, calibration, scores, complexity, slices
    assert 0 < min(drawn) <= max(drawn) <= width


def test_a_scorecard_prints_on_one_page(browser, pages):
    browser.get((pages / "card.html").as_uri())
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.7})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script("return document.documentElement.scrollHeight") < 1123  # of A4, in pixels of CSS
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert len(pdf["data"]) > 1000


def test_pages_follow_the_colours_of_the_system(browser, pages):
    colours = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get((pages / "monitoring.html").as_uri())
        colours.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours[0] != colours[1]
