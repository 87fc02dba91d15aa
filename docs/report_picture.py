"""Take the picture of a report that the front page shows: docs/_static/report.png.

    python docs/report_picture.py

Fits the loans of the guide, writes the report with the command line, and photographs its first screen in headless Chromium
(Debian's packages chromium and chromium-driver; selenium is in the extra ``dev``).
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parent.parent
LOANS, PICTURE = ROOT / "data" / "loans.csv", ROOT / "docs" / "_static" / "report.png"
WIDTH, HEIGHT = 1280, 1120


def write_report(folder: Path) -> Path:
    """The report of the five-minute start."""
    model, page = folder / "loans.json", folder / "loans.html"
    commands = (
        ["fit", LOANS, "--target", "risk", "--favourable", "good", "--output", model],
        ["report", model, LOANS, "--output", page],
    )
    for command in commands:
        subprocess.run([sys.executable, "-m", "quadric", *map(str, command)], check=True, capture_output=True)
    return page


def photograph(page: Path) -> bytes:
    """The first screen of a page."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
    finally:
        browser.quit()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PICTURE.write_bytes(photograph(write_report(Path(folder))))
    print(f"written to: {PICTURE}")
