"""The page in a real browser: the slider moves, the numbers are the model's, nothing hostile runs."""

import json
import re
import shutil

import numpy as np
import pytest

from helpers.report_pages import ATTACK, HOSTILE, hostile, ordinary
from helpers.small_models import KS
from quadric import certify, sparse_quadratic_path
from quadric.geometry.surface import QuadraticSurface
from quadric.report import render

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="needs a browser: Debian's packages chromium and chromium-driver"
)


@pytest.fixture(scope="module")
def browser():
    options = Options()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1200,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, summary in (("ordinary", ordinary()[3]), ("hostile", hostile())):
        (folder / f"{name}.html").write_text(render(summary), encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in ("ordinary", "hostile")}


@pytest.fixture
def open_page(browser, addresses):
    def opened(name="ordinary"):
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(addresses[name])
        return browser

    yield opened
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def texts(browser, selector):
    """Text of all elements, also of those that are folded away."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector
    )


def narrow(browser, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@pytest.mark.parametrize("width", [400, 1200])
def test_titles_of_axes_keep_clear_of_the_numbers(open_page, width):
    page = open_page()
    narrow(page, width)
    clear = page.execute_script("""
        return [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
            const title = [...chart.querySelectorAll("text.label")].find((node) => node.hasAttribute("transform"));
            if (!title) return [];
            const edge = title.getBoundingClientRect().right;
            const ticks = [...chart.querySelectorAll("text.tick")].filter((node) => node.getAttribute("text-anchor") === "end");
            return ticks.map((node) => node.getBoundingClientRect().left - edge);
        })""")
    assert len(clear) > 20
    assert min(clear) > 0


def test_tables_that_are_cut_say_so(open_page):
    page = open_page()
    cut = "return [...document.querySelectorAll('.scroll')].filter((node) => node.checkVisibility())"  # others are folded away
    cut += ".map((node) => [node.scrollWidth > node.clientWidth + 1, "
    cut += "getComputedStyle(node, '::before').content.includes('scroll sideways')])"
    for width in (400, 1200):
        narrow(page, width)
        page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        found = page.execute_script(cut)
        assert all(is_cut == says_so for is_cut, says_so in found)
        assert any(is_cut for is_cut, _ in found) == (width == 400)


def slider(browser):
    return browser.find_element(By.ID, "k")


def read(text):
    return float(text.replace("\N{MINUS SIGN}", "-").replace("\N{NARROW NO-BREAK SPACE}", ""))


def equation_shown(browser):
    """Weights as shown: by the name of the term, and the constant."""
    signs, sizes, names = (texts(browser, f"#lines .{name}") for name in ("sign", "size", "symbol"))
    values = [read(sign.replace("+", "") + size) for sign, size in zip(signs, sizes, strict=True)]
    return dict(zip(names[:-1], values[:-1], strict=True)), values[-1]


def marker(browser, name):
    node = browser.find_element(By.ID, f"{name}-marker")
    return float(node.get_attribute("cx")), float(node.get_attribute("cy"))


@pytest.fixture(scope="module")
def path():
    """The surfaces by the estimators themselves: of the path, and the model's own at its k."""
    model, table, y, summary = ordinary()
    pipeline = model.estimator_
    U = pipeline[:-1].transform(table)
    path = sparse_quadratic_path(U, y, ks=KS, Cs=(16.0,), loss="hinge", method="pd")
    surfaces = {}
    for i, k in enumerate(KS):
        own = pipeline[-1].surfaces_[0]
        surface = own if k == summary.k else QuadraticSurface.from_coordinates(path.coef[0, i], path.intercept[0, i])
        (certificate,) = certify(surface, U, y, loss="hinge", C=16.0, k=k)
        surfaces[k] = (surface, certificate)
    return pipeline[0].get_feature_names_out(), surfaces


def shown_name(name):
    """ "home=rent*income" as it stands in the page."""
    parts = [f"[{part.replace('=', ' = ')}]" if "=" in part else part for part in name.removesuffix("^2").split("*")]
    return "\N{NO-BREAK SPACE}\N{MIDDLE DOT} ".join(f"{part}\N{PRIME}" for part in parts) + ("²" if name.endswith("^2") else "")


def test_arrow_keys_show_the_equation_of_every_number_of_terms(open_page, path):
    browser = open_page()
    names, surfaces = path
    slider(browser).send_keys(Keys.HOME)
    seen = []
    for _ in KS:
        k = int(texts(browser, "#k-output")[0])
        seen.append(k)
        surface, certificate = surfaces[k]
        weights, constant = equation_shown(browser)
        expected = {shown_name(name): value for name, value in surface.terms(names)}
        assert weights == pytest.approx(expected, rel=6e-4)
        assert constant == pytest.approx(surface.c, rel=6e-4)
        facts = texts(browser, "#facts dd")
        assert facts[1] == f"{surface.n_terms} of {k} allowed"
        assert read(facts[2]) == pytest.approx(certificate.objective, rel=1e-5)
        bound, gap = read(facts[3]), read(facts[4].removesuffix("%"))
        assert certificate.lower_bound * (1.0 - 1e-5) <= bound <= certificate.objective * (1.0 + 1e-5)
        assert gap == pytest.approx(100 * (1.0 - bound / certificate.objective), abs=0.101)  # rounded up
        assert texts(browser, "#stop-heading")[0].startswith(f"{k} term")
        slider(browser).send_keys(Keys.ARROW_RIGHT)
    assert seen == list(KS)


def test_arrow_keys_move_heat_map_curves_and_status(open_page):
    browser = open_page()
    summary = ordinary()[3]
    cells, marks, statuses = [], [], []
    slider(browser).send_keys(Keys.HOME)
    for view in summary.views:
        titles = texts(browser, "#cells title")
        values = sorted({round(c.value, 3) for c in view.coefficients})
        assert sorted({round(read(title.rsplit(": ")[-1]), 3) for title in titles}) == pytest.approx(values, abs=2e-3)
        shades = browser.execute_script(
            "return [...document.querySelectorAll('#cells rect')].map((c) => c.getAttribute('class'))"
        )
        for title, shade in zip(titles, shades, strict=True):
            assert shade.startswith("pos" if read(title.rsplit(": ")[-1]) > 0 else "neg")
        assert browser.execute_script("return document.querySelector('#cells rect').getBoundingClientRect().width") > 5
        cells.append(titles)
        marks.append((*marker(browser, "accuracy"), *marker(browser, "objective")))
        statuses.append(texts(browser, "#status")[0])
        slider(browser).send_keys(Keys.ARROW_RIGHT)
    assert len({tuple(titles) for titles in cells}) == len(KS)
    marks = np.array(marks)
    for column, data in ((0, KS), (1, summary.cross_validation.mean), (3, [v.certificate.objective for v in summary.views])):
        fit = np.polyval(np.polyfit(data, marks[:, column], 1), data)
        np.testing.assert_allclose(fit, marks[:, column], atol=0.06)
        assert np.ptp(marks[:, column]) > 50
    assert (np.diff(marks[:, 0]) > 0).all()
    for status, view, mean in zip(statuses[1:], summary.views[1:], summary.cross_validation.mean[1:], strict=True):
        assert f"{view.k} term" in status
        assert f"{100 * mean:.1f}" in status


def test_the_page_opens_at_the_model_and_buttons_jump(open_page):
    browser = open_page()
    summary = ordinary()[3]
    before = equation_shown(browser)
    assert texts(browser, "#k-output") == [str(summary.k)]
    slider(browser).send_keys(Keys.HOME)
    assert equation_shown(browser) != before
    browser.find_element(By.CSS_SELECTOR, f"#jumps button[data-k='{summary.k}']").click()
    assert equation_shown(browser) == before
    assert slider(browser).get_attribute("value") == str(KS.index(summary.k))
    browser.find_element(By.CSS_SELECTOR, "#jumps button:last-child").click()
    assert texts(browser, "#k-output") == [str(summary.cross_validation.simplest_k)]
    assert slider(browser).get_attribute("aria-valuetext").startswith(f"{summary.cross_validation.simplest_k} term")


@pytest.mark.parametrize("name", ["ordinary", "hostile"])
def test_nothing_is_logged_and_nothing_requested(open_page, name):
    browser = open_page(name)
    slider(browser).send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requested = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert requested
    assert [url[:60] for url in requested if not url.startswith(("file:", "data:image/png;base64,"))] == []


def test_hostile_names_are_shown_and_not_run(open_page):
    browser = open_page("hostile")
    for key in (Keys.HOME, Keys.ARROW_RIGHT):
        slider(browser).send_keys(key)
        assert len(browser.find_elements(By.TAG_NAME, "script")) == 2
        assert browser.find_elements(By.TAG_NAME, "img") == []
    assert texts(browser, "h1") == [ATTACK]
    assert ATTACK in browser.title
    whole = "".join(texts(browser, "#lines .symbol") + texts(browser, "#terms th"))
    assert sum(name.replace("\u202e", "\\u202e") in whole for name in HOSTILE) >= 2


def test_the_policy_stops_scripts_that_are_not_the_pages_own(open_page):
    browser = open_page()
    browser.execute_script(
        "const node = document.createElement('script'); node.textContent = 'window.intruder = 1'; document.body.append(node);"
    )
    assert browser.execute_script("return window.intruder") is None
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["ordinary", "hostile"])
def test_a_narrow_window_needs_no_sideways_scrolling(open_page, name, scheme):
    browser = open_page(name)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.execute_script("for (const node of document.querySelectorAll('details')) node.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    colours = browser.execute_script(
        "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]"
    )
    ink, paper = (luminance(colour) for colour in colours)
    assert (paper < ink) == (scheme == "dark")
    assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7


def luminance(colour):
    """Relative luminance as the contrast rules of WCAG define it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_texts_stand_out_from_their_ground(open_page, scheme):
    browser = open_page()
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    pairs = browser.execute_script(
        """const ground = (node) => {
             for (; node; node = node.parentElement) {
               const colour = getComputedStyle(node).backgroundColor;
               if (!colour.endsWith(", 0)")) return colour;
             }
           };
           const seen = new Set();
           for (const node of document.querySelectorAll("body *")) {
             if (![...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())) continue;
             if (["TITLE", "DESC", "SCRIPT"].includes(node.tagName.toUpperCase())) continue;
             const style = getComputedStyle(node);
             seen.add((node instanceof SVGElement ? style.fill : style.color) + "|" + ground(node));
           }
           return [...seen]"""
    )
    assert len(pairs) > 3
    for pair in pairs:
        low, high = sorted(luminance(colour) for colour in pair.split("|"))
        assert (high + 0.05) / (low + 0.05) >= 4.5, pair


def test_the_keyboard_reaches_the_skip_link_first_and_the_slider_soon(open_page):
    browser = open_page()
    reached = []
    for _ in range(14):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        reached.append(active.get_attribute("id") or active.get_attribute("class"))
        if reached[-1] == "k":
            break
    assert reached[0] == "skip"
    assert reached[-1] == "k"
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert texts(browser, "#k-output") == [str(KS[KS.index(ordinary()[3].k) - 1])]
    assert browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_paper_has_no_slider_and_everything_unfolded(open_page):
    browser = open_page()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element(By.CSS_SELECTOR, ".control").is_displayed()
    assert browser.find_element(By.ID, "lines").is_displayed()
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert all(browser.execute_script("return [...document.querySelectorAll('details')].map((node) => node.open)"))
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert not any(browser.execute_script("return [...document.querySelectorAll('details')].map((node) => node.open)"))


def test_the_slider_has_a_name_a_role_and_a_value_for_those_who_listen(open_page):
    browser = open_page()

    def whole_tree(_):  # it is made after the page
        nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return nodes if any(node.get("role", {}).get("value") == "slider" for node in nodes) else None

    tree = WebDriverWait(browser, 20).until(whole_tree)
    (found,) = [node for node in tree if node.get("role", {}).get("value") == "slider"]
    assert found["name"]["value"].strip() == "Number of terms"
    assert found["description"]["value"].startswith("Arrow keys")
    assert slider(browser).get_attribute("aria-valuetext").startswith(f"{ordinary()[3].k} terms")
    assert browser.find_element(By.ID, "status").get_attribute("aria-live") == "polite"
    unnamed = [node for node in tree if node.get("role", {}).get("value") == "image" and not node.get("name", {}).get("value")]
    assert unnamed == []


def test_without_scripts_there_is_no_slider_but_the_whole_model(browser, addresses):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(addresses["ordinary"])
        assert not browser.find_element(By.CSS_SELECTOR, ".control").is_displayed()
        assert len(browser.find_elements(By.CSS_SELECTOR, "#lines li")) == len(ordinary()[3].surfaces[0].terms) + 1
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
