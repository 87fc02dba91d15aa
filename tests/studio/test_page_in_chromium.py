"""The page in a real browser: by mouse, by keyboard alone, with hostile names, on narrow and dark screens."""

import base64
import json
import os
import shutil
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.studios import bench_of, loans, session_of
from quadric import load_model
from quadric.studio.serving import Serving
from quadric.studio.session import Session
from quadric.studio.unfitted import Unfitted
from quadric.workflow import TrainingOptions

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    BROWSER is None or DRIVER is None, reason="needs a browser: Debian's packages chromium and chromium-driver"
)
OPTIONS = TrainingOptions(k=4, C=16.0, loss="least_squares", terms="quadratic")
AXE = Path(__file__).parents[2] / ".axe" / "node_modules" / "axe-core" / "axe.min.js"
# Pixels of the thumb of a slider
THUMB = 16
HOSTILE = "<img src=x onerror=\"document.title='hacked'\">"


@pytest.fixture(scope="module")
def browser():
    options = Options()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1400"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def bench():
    return bench_of(OPTIONS)


@pytest.fixture
def page(browser, bench, tmp_path):
    with opened(browser, bench, tmp_path) as page:
        yield page


@contextmanager
def opened(browser, bench, folder):
    browser.get_log("browser")
    with Serving(bench if isinstance(bench, Unfitted) else session_of(bench, folder)) as serving:
        page = Page(browser, serving, folder)
        page.until(lambda: page.find("main").is_displayed())
        yield page
        # no error, nothing that the policy kept from running, no refusal but of choices that make no sense
        assert [line for line in browser.get_log("browser") if "/do - " not in line["message"]] == []
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


class Page:
    """What a person does on the page."""

    def __init__(self, browser, serving, folder):
        self.browser, self.serving, self.folder = browser, serving, folder
        browser.get(serving.address)

    def find(self, id_):
        return self.browser.find_element(By.ID, id_)

    def until(self, holds):
        WebDriverWait(self.browser, 30, ignored_exceptions=[selenium.common.exceptions.StaleElementReferenceException]).until(
            lambda _: holds()
        )

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
        return self.browser.execute_script(script, selector)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()  # to whatever has the focus

    def first(self, selector):
        """The label of the first element."""
        return self.browser.find_element(By.CSS_SELECTOR, selector).get_attribute("aria-label")

    def catch_up(self):
        """Wait for the folds, and for what could stand in."""
        self.until(lambda: self.texts("#status")[0].startswith("The folds have caught up") and self.texts("#ties tr"))
        self.until(lambda: "running" not in self.texts("#ties td"))

    def picture(self, heading, path, most=1000):
        """What is on the page from a heading on."""
        script = "window.scrollTo(0, 0); const box = document.getElementById(arguments[0]).closest('section')"
        script += ".getBoundingClientRect(); return [box.left, box.top + window.scrollY, box.width, box.height]"
        x, y, width, height = self.browser.execute_script(script, heading)
        clip = {"x": x - 16, "y": y - 16, "width": width + 32, "height": min(height + 32, most), "scale": 1}
        how = {"format": "png", "clip": clip, "captureBeyondViewport": True}
        path.write_bytes(base64.b64decode(self.browser.execute_cdp_cmd("Page.captureScreenshot", how)["data"]))

    @property
    def steps(self):
        return self.texts("#steps button")


class Mouse:
    """A person who clicks; labels may be ids."""

    def __init__(self, page):
        self.page = page

    def _at(self, label):
        node = self.page.browser.find_element(By.CSS_SELECTOR, f'[id="{label}"], [aria-label="{label}"]')
        self.page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
        return node

    def press(self, label):
        self._at(label).click()

    def further(self, label):
        """One stop to the right, by a click on the track of a slider."""
        node = self._at(label)
        stop, last = int(node.get_attribute("value")) + 1, int(node.get_attribute("max"))
        offset = (stop / last - 0.5) * (node.size["width"] - THUMB)
        ActionChains(self.page.browser).move_to_element_with_offset(node, round(offset), 0).click().perform()

    def choose_last(self, label):
        Select(self._at(label)).options[-1].click()

    def write(self, label, text):
        node = self._at(label)
        node.click()
        node.clear()
        node.send_keys(text)


class Keyboard:
    """A person without a mouse."""

    def __init__(self, page):
        self.page = page
        page.find("main").click()

    def _to(self, label, most=150):
        """Tab until the element has the focus."""
        for _ in range(most):
            self.page.press(Keys.TAB)
            script = "const node = document.activeElement; return [node.id, node.getAttribute('aria-label')]"
            if label in self.page.browser.execute_script(script):
                return
        raise AssertionError(f"{label} is not reached by the keyboard")

    def press(self, label, key=Keys.ENTER):
        self._to(label)
        self.page.press(key)

    def further(self, label):
        self.press(label, Keys.ARROW_RIGHT)

    def choose_last(self, label):
        self.press(label, Keys.END)

    def write(self, label, text):
        self._to(label)
        self.page.press(Keys.END, *[Keys.BACKSPACE] * 40)
        self.page.press(text)


@pytest.mark.parametrize("person", [Mouse, Keyboard])
def test_the_whole_flow(browser, tmp_path, person):
    """From the first equation to a saved one; nothing is known beforehand."""
    with opened(browser, bench_of(OPTIONS), tmp_path) as page:
        hand = person(page)
        hand.further("k")
        page.until(lambda: page.texts("#k-output") == ["5"] and len(page.texts("#lines li")) == 6)
        hand.write("candidate", "five")
        hand.press("keep")
        page.until(lambda: page.texts("#candidates li") == ["fiveDrop"])
        page.catch_up()
        forbid = page.first("#lines .acts button:last-child")
        hand.press(forbid)
        page.until(lambda: len(page.steps) == 3)
        assert page.browser.execute_script(
            "return document.activeElement !== document.body"
        )  # what goes away hands the focus on
        page.catch_up()
        take = page.first("#ties button")
        hand.press(take)
        page.until(lambda: len(page.steps) == 4)
        page.catch_up()
        hand.press("prove")
        page.until(lambda: "of terms at a price of at most 10 %" in page.find("sets-words").text)
        hand.choose_last("Slope of f with income")
        page.until(lambda: len(page.steps) == 5)
        page.catch_up()
        assert page.find("sets-words").text == ""
        assert any("never rises with income" in text for text in page.texts("#proof li"))
        hand.write("candidate", "ruled")
        hand.press("keep")
        page.until(lambda: len(page.texts("#candidates li")) == 2)
        hand.choose_last("second")
        hand.press("compare")
        page.until(lambda: page.find("compared").is_displayed())
        assert page.texts("#compared-terms-head th") == ["Term", "five", "ruled"]
        hand.write("file", "mine")
        hand.write("notes", "five are enough")
        hand.press("save")
        page.until(lambda: "mine.model.json" in page.find("saved").text)
        saved = json.loads((page.folder / "mine.model.json").read_text())["metadata"]["studio"]
        words = ["5 terms", forbid.replace("F", "f", 1), take.removeprefix("Take "), "f never rises with income"]
        assert (saved["notes"], [step["words"] for step in saved["steps"]][1:]) == ("five are enough", words)
        assert [one["name"] for one in saved["candidates"]] == ["five", "ruled"]
        certificate = load_model(page.folder / "mine.model.json").estimator_[-1].certificates_[0]
        assert (certificate.n_terms, certificate.monotone[0].proved) == (5, True)


def test_by_mouse(page):
    first = page.texts("#lines .symbol")
    label = page.browser.find_element(By.CSS_SELECTOR, "#lines .acts button:last-child")
    label.click()
    page.until(lambda: len(page.steps) == 2)
    assert page.steps[1].startswith("forbid ")
    assert page.texts("#lines .symbol") != first
    page.find("undo").click()
    page.until(lambda: page.texts("#lines .symbol") == first)
    page.find("redo").click()
    page.until(lambda: page.texts("#lines .symbol") != first)
    page.until(lambda: page.texts("#status")[0].startswith("The folds have caught up"))
    assert len(page.texts("#figures figure")) == 2
    assert all("±" in text for text in page.texts("#measures td:last-child"))
    page.find("term").send_keys("age*phone=yes")
    page.find("force").click()
    page.until(lambda: page.texts("#forced li") == ["age*phone=yesRelease"])
    page.find("term").clear()
    page.find("term").send_keys("agee")
    page.find("force").click()
    page.until(lambda: page.find("error").is_displayed())
    assert "did you mean 'age'?" in page.find("error").text
    assert len(page.steps) == 3


def test_ties_rows_and_candidates(page):
    page.until(lambda: len(page.texts("#ties tr")) > 2)
    page.find("candidate").send_keys("four")
    page.find("keep").click()
    page.until(lambda: page.texts("#candidates li") == ["fourDrop"])
    page.catch_up()
    take = page.browser.find_element(By.CSS_SELECTOR, "#ties button")
    words = take.get_attribute("aria-label").removeprefix("Take ")
    page.find("row").send_keys("7", Keys.TAB)
    page.until(lambda: page.texts("#row-lines")[0].startswith("row 7: score"))
    before = page.texts("#row-lines")
    page.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", take)
    take.click()
    page.until(lambda: page.steps[-1] == words)
    page.until(lambda: page.texts("#row-lines") != before)
    page.find("compare").click()
    page.until(lambda: page.find("compared").is_displayed())
    assert page.texts("#compared-terms-head th") == ["Term", "four", "now"]
    page.catch_up()
    page.until(lambda: page.texts("#compared-measures-words") == ["Measures, out of fold"])
    assert page.texts("#compared-measures td:last-child") == page.texts("#measures td:last-child")
    assert len(page.texts("#compared-terms tr")) == 5
    assert "rows differently" in page.find("differ").text
    assert len(page.texts("#effects figure")) >= 2


def test_other_choices_by_keyboard(page):
    hand = Keyboard(page)
    hand.press("cutoff", Keys.ARROW_LEFT)
    page.until(lambda: len(page.steps) == 2)
    hand.choose_last("hierarchy")
    page.until(lambda: len(page.steps) == 3)
    assert page.steps[-1].startswith("strong hierarchy")
    hand.press("Use the column phone", Keys.SPACE)
    page.until(lambda: len(page.steps) == 4)
    hand.press("Go to: the model to begin with")
    page.until(lambda: "to begin with" in page.browser.find_element(By.CSS_SELECTOR, "[aria-current]").text)
    assert len(page.texts("#steps .later")) == 3


def test_the_page_survives_a_reload_and_a_second_browser_does_not_come_in(page):
    page.browser.get(page.serving.address.partition("#")[0])
    page.until(lambda: page.find("main").is_displayed())
    page.browser.delete_all_cookies()
    page.browser.get(page.serving.address)
    page.browser.refresh()
    page.until(lambda: page.find("error").is_displayed())
    assert not page.find("main").is_displayed()
    assert "quadric studio" in page.find("error").text or "printed" in page.find("error").text
    page.browser.get_log("browser")  # the refusals


def test_a_change_of_the_file_is_said_to_a_page_that_asks_for_nothing(browser, bench, tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.studio.app.HEARTBEAT", 0.1)
    with opened(browser, bench, tmp_path) as page:
        assert not page.find("source").is_displayed()
        monkeypatch.setattr(bench, "news_of_source", lambda: "<b>.csv has changed")
        page.until(lambda: page.find("source").is_displayed())
        assert page.find("source").text == "<b>.csv has changed"
        watch = "window.said = []; new MutationObserver(() => said.push(arguments[0].textContent)).observe(arguments[0], "
        browser.execute_script(watch + "{ childList: true })", page.find("source"))
        with progressing(page.serving._session):
            monkeypatch.setattr(bench, "news_of_source", lambda: "<b>.csv is gone")
            page.until(lambda: page.find("source").text == "<b>.csv is gone")
            page.find("term").send_keys("nonsense")
            page.find("force").send_keys(Keys.ENTER)
            page.until(lambda: page.find("error").is_displayed())
        assert browser.execute_script("return said") == ["<b>.csv is gone"]


@contextmanager
def progressing(session):
    """Work that tells of itself more often than a silent stream would say anything."""
    end = threading.Event()

    def work():
        while not end.wait(0.02):
            session._progress(0.5, "folds")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_the_end_of_the_server_is_said(page):
    page.serving.close()
    page.until(lambda: page.find("error").is_displayed())
    assert page.find("error").text == "The studio has ended; what was saved is there."
    page.browser.find_element(By.CSS_SELECTOR, "#lines .acts button").click()
    page.until(lambda: "Start quadric studio again" in page.find("error").text)
    page.browser.get_log("browser")  # refused connections


def test_why_a_table_cannot_be_fitted_is_all_that_is_said(browser, tmp_path):
    refusal = Unfitted(HOSTILE, f"{HOSTILE} is constant:\n- mend it", "Start again with:", "quadric studio x")
    with opened(browser, refusal, tmp_path) as page:
        assert page.browser.find_element(By.TAG_NAME, "body").text.splitlines() == [
            "QUADRIC STUDIO", HOSTILE, "This table cannot be fitted.", f"{HOSTILE} is constant:", "- mend it", "Start again with:",
            "quadric studio x",
        ]  # fmt: skip
        assert browser.find_elements(By.TAG_NAME, "img") == []
        assert not AXE.exists() or violations(page) == []
        page.serving.close()
        page.until(lambda: page.find("error").is_displayed())
        assert page.find("error").text == "The studio has ended."
        page.browser.get_log("browser")  # refused connections


def test_hostile_names_stay_texts(browser, tmp_path):
    rng = np.random.default_rng(1)
    table = {HOSTILE: rng.normal(size=150), "b": rng.normal(size=150)}
    table["risk"] = np.where(table[HOSTILE] + table["b"] > 0, f"{HOSTILE}x", "good")
    options = TrainingOptions(k=2, C=4.0, loss="least_squares", terms="quadratic", positive=f"{HOSTILE}x")
    with opened(browser, bench_of(options, table), tmp_path) as page:
        assert HOSTILE in "".join(page.texts("#lines .symbol"))
        assert browser.find_elements(By.TAG_NAME, "img") == []
        assert browser.title == "loans.csv: quadric studio"


NAMES = {"long": "A" * 99, "hebrew": "\u05d4\u05db\u05e0\u05e1\u05d4", "turned": "rev\u202eersed"}


@pytest.fixture(scope="module")
def strange_bench():
    """Names without a space, names that run from right to left, and one that turns what follows it."""
    rng = np.random.default_rng(1)
    table = {name: rng.normal(size=200) for name in NAMES.values()}
    table["group"] = np.where(rng.random(200) < 0.4, "L" * 99, NAMES["hebrew"])
    f = table[NAMES["long"]] + table[NAMES["hebrew"]] * table[NAMES["turned"]] + (table["group"] == "L" * 99)
    table["risk"] = np.where(f > 0.3, "B" * 99, NAMES["hebrew"])
    return bench_of(TrainingOptions(k=6, C=16.0, loss="least_squares", terms="quadratic", positive="B" * 99), table)


def test_strange_names_neither_widen_the_page_nor_turn_its_lines(browser, strange_bench, tmp_path):
    with opened(browser, strange_bench, tmp_path) as page:
        page.catch_up()
        page.find("candidate").send_keys("c" * 99)
        page.find("keep").send_keys(Keys.ENTER)
        page.find("row").send_keys("7", Keys.TAB)
        page.browser.find_element(By.CSS_SELECTOR, "#lines .acts button:last-child").send_keys(Keys.ENTER)
        page.until(lambda: len(page.steps) == 2)
        page.find("compare").send_keys(Keys.ENTER)
        page.until(lambda: page.find("compared").is_displayed())
        page.find("term").send_keys("nonsense")
        page.find("force").send_keys(Keys.ENTER)  # a message with all names
        page.until(lambda: page.find("error").is_displayed())
        browser.execute_script("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
        for width in (1280, 800, 400):
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            heights = (
                "return [...document.querySelectorAll('td button, .chips button')].map((n) => n.getBoundingClientRect().height)"
            )
            assert max(browser.execute_script(heights)) < 40  # no button is squeezed
        loose = browser.execute_script(
            "const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);"
            "while (walker.nextNode()) if (/[\\u202e\\u0590-\\u05ff]/.test(walker.currentNode.data)"
            "  && !walker.currentNode.parentNode.closest('bdi, tspan, option, title, desc')) found.push(walker.currentNode.data);"
            "return found"
        )
        assert loose == []
        assert any(
            NAMES["turned"] in text for text in page.texts("#lines .symbol, #ties th, #ties td")
        )  # to be copied as it is
        assert page.texts("#figures figcaption")[0] == "Objective by number of terms"


def test_a_refused_choice_is_taken_back_and_its_message_is_in_view(page):
    hand = Keyboard(page)
    hand.write("term", "age*phone=yes")
    hand.press("force")
    page.until(lambda: page.texts("#forced li") == ["age*phone=yesRelease"])
    page.catch_up()
    page.find("kind").send_keys("lin")
    page.until(lambda: page.find("error").is_displayed())
    assert page.browser.execute_script("return document.activeElement.id") == "kind"
    assert page.find("kind").get_attribute("value") == "quadratic"
    top, bottom, height = page.browser.execute_script(
        "const box = document.getElementById('error').getBoundingClientRect(); return [box.top, box.bottom, window.innerHeight]"
    )
    assert 0 <= top < bottom <= height
    assert page.find("error").get_attribute("role") == "alert"
    assert len(page.steps) == 2


@pytest.fixture
def slow(page, monkeypatch):
    """A page whose choices take a while."""
    own = Session.do

    def late(session, choice):
        time.sleep(0.3)
        return own(session, choice)

    monkeypatch.setattr(Session, "do", late)
    return page


def test_quick_presses_are_all_heard(slow):
    slow.find("k").send_keys(*[Keys.ARROW_RIGHT] * 3)
    slow.until(lambda: len(slow.steps) == 2)
    assert (slow.texts("#k-output"), slow.steps[-1]) == (["7"], "7 terms")
    for term in ("age", "income", "months"):
        slow.browser.find_element(By.ID, "term").clear()
        slow.browser.find_element(By.ID, "term").send_keys(term)
        slow.find("forbid").send_keys(Keys.ENTER)
    slow.until(lambda: len(slow.steps) == 5)
    slow.browser.execute_script("for (let i = 0; i < 3; i += 1) document.getElementById('undo').click()")
    slow.until(lambda: len(slow.texts("#steps .later")) == 3)
    slow.browser.execute_script("for (let i = 0; i < 5; i += 1) document.getElementById('redo').click()")
    slow.until(lambda: slow.texts("#steps .later") == [])
    assert not slow.find("error").is_displayed()


def violations(page):
    """What axe-core finds, by the rules of WCAG 2.1, level AA."""
    page.browser.execute_script(AXE.read_text(encoding="utf-8"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
    found = page.browser.execute_async_script(
        "const [tags, done] = arguments; axe.run({ runOnly: tags }).then((answer) => done(answer.violations))", tags
    )
    return [(rule["id"], [node["html"][:120] for node in rule["nodes"][:3]]) for rule in found]


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core: npm install --no-save --prefix .axe axe-core")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_against_the_page(page, dark):
    """Contrast, roles and labels, by the rules of WCAG 2.1, level AA."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    page.until(lambda: len(page.texts("#ties tr")) > 2)
    page.find("candidate").send_keys("four")
    page.find("keep").click()
    page.find("row").send_keys("7", Keys.TAB)
    page.until(lambda: page.texts("#row-lines")[0].startswith("row 7: score"))
    page.browser.find_element(By.CSS_SELECTOR, "#lines .acts button").send_keys(Keys.ENTER)
    page.find("compare").send_keys(Keys.ENTER)
    page.until(lambda: page.find("compared").is_displayed())
    page.browser.execute_script("document.getElementById('progress').hidden = false")  # as while folds run
    assert violations(page) == []


@pytest.mark.parametrize(("width", "zoom", "dark"), [(1280, 1, False), (800, 1, True), (400, 1, False), (640, 2, True)])
def test_nothing_is_wider_than_the_screen(page, width, zoom, dark):
    """200 % zoom is half as many pixels, twice as large."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": zoom, "mobile": False}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    page.until(lambda: page.texts("#status")[0].startswith("The folds have caught up"))
    assert page.browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert page.browser.execute_script(
        "return [...document.querySelectorAll('main *')].every((n) => n.closest('details, pre, svg, datalist, select, .scroll')"
        " || n.getBoundingClientRect().right <= window.innerWidth + 1)"
    )


PICTURES = os.environ.get("QUADRIC_SCREENSHOTS")
"""Where the pictures of docs/studio.md go; without it, they are only looked at."""


def test_pictures_of_the_walk_in_the_guide(browser, tmp_path):
    """The two-minute walk of docs/studio.md, with a picture at each stop."""
    folder = tmp_path if PICTURES is None else Path(PICTURES)
    options = replace(OPTIONS, k=8, C=256.0, loss="logistic", favourable="good")
    with opened(browser, bench_of(options), tmp_path) as page:
        metrics = {"width": 1100, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        page.find("candidate").send_keys("eight terms")
        page.find("keep").send_keys(Keys.ENTER)
        page.until(lambda: len(page.texts("#ties tr")) > 2)
        page.picture("equation-heading", folder / "studio-equation.png")
        page.picture("ties-heading", folder / "studio-ties.png")
        page.find("k").send_keys(Keys.ARROW_LEFT * 4)
        page.until(lambda: page.texts("#k-output") == ["4"] and len(page.texts("#lines li")) == 5)
        page.until(lambda: page.texts("#status")[0].startswith("The folds have caught up"))
        declined = str(np.flatnonzero(loans()["risk"] == "bad")[0])
        page.find("row").send_keys(declined, Keys.TAB)
        page.until(lambda: page.texts("#row-lines")[0].startswith(f"row {declined}: score"))
        page.picture("row-heading", folder / "studio-row.png")
        page.find("compare").send_keys(Keys.ENTER)
        page.until(lambda: page.find("compared").is_displayed())
        page.picture("candidates-heading", folder / "studio-candidates.png")
    assert all((folder / f"studio-{name}.png").stat().st_size > 10_000 for name in ("equation", "ties", "row", "candidates"))
