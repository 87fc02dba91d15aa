"""How long the studio takes from a choice to what it changes on the page, measured in Chromium.

Writes benchmarks/results/studio.json: for each table the median and the largest of some choices until equation, curves and
in-sample measures are drawn anew, and until the folds have caught up.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from quadric.extras import require
from quadric.studio.serving import Serving
from quadric.studio.session import Session, Work
from quadric.tables import as_table
from quadric.workflow import TrainingOptions
from quadric.workflow.bench import Bench

RESULTS = Path(__file__).parent / "results" / "studio.json"
# Clicks a button, and tells the milliseconds until the list of steps is written anew and the frame is drawn.
CLICKED = """
const [selector, number, done] = arguments, began = performance.now();
new MutationObserver((_, observer) => {
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
}).observe(document.getElementById("steps"), { childList: true });
document.querySelectorAll(selector)[number].click();
"""
SLID = CLICKED.replace(
    "document.querySelectorAll(selector)[number].click()",
    'document.getElementById("k").value = number; document.getElementById("k").dispatchEvent(new Event("change"))',
)
SETTLED = "return document.getElementById('status').textContent.startsWith('The folds have caught up')"


def made(rows: int, columns: int) -> Any:
    """A table with a quadratic border and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 + rng.normal(size=rows) > 0.3
    return as_table({**{f"c{j}": X[:, j] for j in range(columns)}, "y": np.where(y, "yes", "no")})


def browser() -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1400"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def wait(page: Any, script: str, seconds: float = 120.0) -> float:
    began = time.perf_counter()
    while not page.execute_script(script):
        if time.perf_counter() - began > seconds:
            raise TimeoutError(script)
        time.sleep(0.02)
    return time.perf_counter() - began


@contextmanager
def served(table: Any, loss: str, folder: Path) -> Iterator[str]:
    """The address of a studio on a table in memory."""
    bench = Bench(table, "y", TrainingOptions(k=10, C=64.0, loss=loss, terms="quadratic"))
    with Serving(Session(bench, Work("made", folder, lambda *_: ""))) as serving:
        yield serving.address


@contextmanager
def commanded(table: Any, loss: str, folder: Path) -> Iterator[str]:
    """The same from a Parquet file, by the command line."""
    pa, pq = require("pyarrow", "cli"), require("pyarrow.parquet", "cli")
    pq.write_table(pa.table({name: table[name] for name in table.names}), folder / "made.parquet")
    words = ["made.parquet", "--target", "y", "--k", "10", "--C", "64", "--loss", loss, "--terms", "quadratic", "--no-browser"]
    command = [sys.executable, "-m", "quadric", "studio", *words]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGINT)


def measured(rows: int, columns: int, loss: str, choices: int, parquet: bool) -> dict[str, Any]:
    table, opening = made(rows, columns), commanded if parquet else served
    page, drawn, folds = browser(), [], []
    page.set_script_timeout(120)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, opening(table, loss, Path(folder)) as address:
        opened = time.perf_counter() - began
        page.get(address)
        wait(page, "return !document.getElementById('main').hidden")
        for number in range(choices):
            wait(page, SETTLED)
            time.sleep(0.5)  # what still runs beside it, such as prices of near ties, is given up by the choice
            if number % 4 == 3:
                drawn.append(page.execute_async_script(SLID, "", 4 + number % 12))
            else:
                drawn.append(page.execute_async_script(CLICKED, "#lines .acts button:last-child", number % 3))
            folds.append(drawn[-1] / 1000 + wait(page, SETTLED))
        page.quit()
    return {
        "rows": rows,
        "columns": columns,
        "loss": loss,
        "source": "Parquet" if parquet else "memory",
        "choices": choices,
        "opened_s": round(opened, 2),
        "choice_median_ms": round(median(drawn)),
        "choice_largest_ms": round(max(drawn)),
        "folds_median_s": round(median(folds), 2),
        "folds_largest_s": round(max(folds), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--loss", nargs="+", default=["least_squares", "logistic"])
    parser.add_argument("--choices", type=int, default=20)
    parser.add_argument("--parquet", action="store_true", help="from a Parquet file, by the command line")
    own = parser.parse_args()
    found = [measured(own.rows, own.columns, loss, own.choices, own.parquet) for loss in own.loss]
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    keys = [(one["rows"], one["columns"], one["loss"]) for one in found]
    others = [one for one in before if (one["rows"], one["columns"], one["loss"]) not in keys]
    RESULTS.write_text(json.dumps([*others, *found], indent=1) + "\n")
    for one in found:
        print(json.dumps(one))


if __name__ == "__main__":
    main()
