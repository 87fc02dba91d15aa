"""Time and memory against rows, features and terms, beside the targets; the growth table and the figure of docs/large-data.md.

    python benchmarks/scale.py --base CHECKOUT_OF_9dc40bf [--parts moments csv memory objectives growth]
                               [--output benchmarks/results/scale.json] [--write]

Every figure comes from a process of its own: processor time (user and system), least of some rounds, and peak resident memory.
Those of the base and of this checkout are taken one after the other, in turns. ``--write`` puts the growth table and the figure
into docs/. Hinge and logistic over all rows are measured by passes.py, many features by wide.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper_data import NAMES, load
from quadric.extras import require
from scale_work import planted
from table import Row, environment, show, write_json

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE, FIGURE = ROOT / "docs" / "large-data.md", ROOT / "docs" / "_static" / "growth.svg"
PARTS = ("moments", "csv", "memory", "objectives", "growth")
TURNS = 3
MOMENTS = {20: (200_000, 0.45, 2.5), 50: (20_000, 0.65, 2.5), 100: (3_000, None, 10.0)}
"""Rows, share of the peak and ratio to the base, by features."""
GROWTH: dict[str, dict[str, list[int]]] = {
    "m": {"least_squares": [20_000, 80_000, 320_000], "hinge": [5_000, 20_000, 80_000], "logistic": [5_000, 20_000, 80_000]},
    "n": {"least_squares": [10, 20, 40], "hinge": [10, 20, 40], "logistic": [10, 20, 40]},
    "k": {"least_squares": [5, 10, 20], "hinge": [5, 10, 20], "logistic": [5, 10, 20]},
}
CASES = ((4, 1.0), (8, 1.0), (8, 16.0))
"""k and C of hinge fits beside those of the base."""
FIXED = {"m": {"n": 20, "k": 10}, "n": {"m": 5_000, "k": 10}, "k": {"m": 5_000, "n": 20}}


@dataclass(frozen=True)
class Use:
    """What a process took."""

    seconds: float
    megabytes: float


def asked(checkout: Path, **request: Any) -> Use:
    """What a piece of work took, by the code of a checkout."""
    return Use(**answer(checkout, **request))


def answer(checkout: Path, **request: Any) -> Any:
    """What a piece of work tells, by the code of a checkout."""
    environment_of = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{HERE}"}
    command = [sys.executable, str(HERE / "scale_work.py"), json.dumps(request)]
    found = subprocess.run(command, env=environment_of, capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def commanded(checkout: Path, *arguments: str) -> Use:
    """A command line by the code of a checkout, start-up included."""
    code = (
        "import resource, subprocess, sys, json\n"
        "done = subprocess.run([sys.executable, '-m', 'quadric', *sys.argv[1:]], capture_output=True, text=True)\n"
        "assert done.returncode == 0, done.stderr\n"
        "use = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps({'seconds': use.ru_utime + use.ru_stime, 'megabytes': use.ru_maxrss / 1e3}))\n"
    )
    environment_of = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    found = subprocess.run([sys.executable, "-c", code, *arguments], env=environment_of, capture_output=True, text=True)
    if found.returncode:
        raise RuntimeError(found.stderr)
    return Use(**json.loads(found.stdout))


def moments(base: Path) -> list[Row]:
    """Sums of products of all terms, beside the peak of the machine and beside the base."""
    rows = []
    for n, (m, share, ratio) in MOMENTS.items():
        peak = min(asked(ROOT, work="peak", m=m, n=n, rounds=3).seconds for _ in range(TURNS))
        mine = min(asked(ROOT, work="moments", m=m, n=n, rounds=3).seconds for _ in range(TURNS))
        before = min(asked(base, work="moments", m=m, n=n, rounds=1).seconds for _ in range(TURNS if n < 100 else 1))
        if share is not None:
            rows.append(Row(f"moments, n = {n}: share of the dsyrk peak", peak / mine, ">=", share))
        rows.append(Row(f"moments, n = {n}: times faster than the base", before / mine, ">=", ratio))
        told(rows)
    return rows


def told(rows: list[Row]) -> None:
    print(show(rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)


def written_table(folder: Path, m: int, form: str) -> Path:
    """A million rows or so as a file."""
    pa, csv, parquet = (require(name, "cli") for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
    X, y = planted(m, 20)
    columns = {f"x{j}": X[:, j] for j in range(20)} | {"y": np.where(y == 1, "yes", "no")}
    path = folder / f"{m}.{form}"
    if form == "csv":
        csv.write_csv(pa.table(columns), path)
    else:
        parquet.write_table(pa.table(columns), path, row_group_size=250_000)
    return path


def csv_fit(base: Path, folder: Path) -> list[Row]:
    """``quadric fit`` of a CSV file of a million rows."""
    path = written_table(folder, 1_000_000, "csv")
    how = ["fit", str(path), "--target", "y", "--loss", "least_squares", "--k", "8", "--C", "1", "--no-cv"]
    ends = ["--output", str(folder / "model.json"), "--force"]
    before, mine = [], []
    for _ in range(TURNS):
        before.append(commanded(base, *how, *ends).seconds)
        mine.append(commanded(ROOT, *how, "--no-calibrate", *ends))
    rows = [Row("fit of a 1e6 x 21 CSV: times faster than the base", min(before) / min(u.seconds for u in mine), ">=", 4.0)]
    rows.append(Row("fit of a 1e6 x 21 CSV: MB", max(use.megabytes for use in mine), "<=", 500.0))
    for _ in rows:
        told(rows)
    return rows


def memory(folder: Path) -> list[Row]:
    """Peak memory at m and at 4m rows, and the same surface as in memory."""
    small, large = (written_table(folder, m, "parquet") for m in (1_000_000, 4_000_000))
    found = [asked(ROOT, work="fit_file", path=str(path), k=8).megabytes for path in (small, large)]
    rows = [Row("fit from Parquet: memory at 4e6 rows, of that at 1e6", found[1] / found[0], "<=", 1.05)]
    told(rows)
    rows.append(Row("streamed and whole fit: largest relative difference", difference(small), "<=", 1e-10))
    told(rows)
    return rows


def objectives(base: Path, folder: Path) -> list[Row]:
    """Hinge fits by "best" beside those of the base, on the paper's data and on planted rows."""
    rows, path = [], folder / "rows.npz"
    sets = {"the paper's sets": [load(name) for name in NAMES], "ten seeded sets": map(seeded, range(10))}
    for what, data in sets.items():
        excesses = []
        for X, y in data:
            spread = X.std(axis=0)
            np.savez(path, X=(X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y=y)
            mine, before = (answer(tree, work="objectives", path=str(path), cases=CASES) for tree in (ROOT, base))
            excesses += [one / other - 1.0 for one, other in zip(mine, before, strict=True)]
        rows.append(Row(f"hinge, {what}: objective of best above the base's, relative", max(excesses), "<=", 1e-6))
        told(rows)
        print(f"below the base's by up to {-min(excesses):.2g}", file=sys.stderr)
    return rows


def seeded(number: int) -> tuple[Any, Any]:
    return planted((20_000, 50_000, 100_000)[number % 3], 8, seed=number)


def difference(path: Path) -> float:
    """Of the coefficients of a fit in batches and one in memory."""
    import quadric

    X, y = planted(1_000_000, 20)
    streamed = quadric.fit_batches(quadric.SparseQuadraticSVC(8, C=1.0, loss="least_squares"), path, target="y")
    whole = quadric.SparseQuadraticSVC(8, C=1.0, loss="least_squares").fit(X, y)
    return float(np.abs(streamed.coef_ - whole.coef_).max() / np.abs(whole.coef_).max())


def growth() -> list[dict[str, Any]]:
    """Processor time over at least three points in each direction, and the exponent of a line through their logarithms."""
    found = []
    for method in ("best", "pd"):
        for what, by_loss in GROWTH.items():
            for loss, values in by_loss.items():
                uses = [asked(ROOT, work="fit", loss=loss, method=method, **{**FIXED[what], what: value}) for value in values]
                seconds = [use.seconds for use in uses]
                exponent = float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
                found.append(
                    {
                        "loss": loss,
                        "method": method,
                        "in": what,
                        "fixed": FIXED[what],
                        "values": values,
                        "seconds": seconds,
                        "megabytes": [use.megabytes for use in uses],
                        "exponent": exponent,
                    }
                )
                print(f"{loss}, {method}, {what} = {values}: exponent {exponent:.2f}", file=sys.stderr, flush=True)
    return found


def growth_table(found: list[dict[str, Any]]) -> str:
    """The exponents as a table of Markdown."""
    lines = ["| loss, method | in rows m | in features n | in terms k |", "|---|---|---|---|"]
    for loss in ("least_squares", "hinge", "logistic"):
        for method in ("best", "pd"):
            cells = []
            for what in "mnk":
                one = next(each for each in found if (each["loss"], each["method"], each["in"]) == (loss, method, what))
                spent = ", ".join(f"{seconds:.2g}" for seconds in one["seconds"])
                cells.append(f"{one['exponent']:.1f} ({spent} s at {', '.join(f'{v:,}' for v in one['values'])})")
            lines.append(f"| `{loss}`, {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(found: list[dict[str, Any]], path: Path) -> None:
    """Time and memory against rows and features."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "quadric"
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
    for column, what in enumerate(("m", "n")):
        for row, (key, words) in enumerate((("seconds", "processor seconds"), ("megabytes", "peak memory, MB"))):
            ax = axes[row, column]
            for one in found:
                if one["in"] == what and one["method"] == "best":
                    ax.plot(one["values"], one[key], marker="o", label=one["loss"].replace("_", " "))
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_ylabel(words)
            ax.set_xlabel({"m": "rows (20 features)", "n": "features (5,000 rows)"}[what])
            ax.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})


def write_page(found: list[dict[str, Any]]) -> None:
    """The table between its markers, and the figure."""
    text = PAGE.read_text()
    new = f"<!-- growth -->\n\n{growth_table(found)}\n\n<!-- /growth -->"
    PAGE.write_text(re.sub(r"<!-- growth -->.*?<!-- /growth -->", lambda _: new, text, flags=re.DOTALL))
    draw(found, FIGURE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, help="checkout of 9dc40bf; needed for moments, csv and objectives")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--output", type=Path, default=HERE / "results" / "scale.json")
    parser.add_argument("--write", action="store_true", help="write the growth table and the figure to docs/")
    given = parser.parse_args()
    if given.base is None and {"moments", "csv", "objectives"} & set(given.parts):
        parser.error("--base is needed for moments, csv and objectives")
    stored: dict[str, Any] = json.loads(given.output.read_text()) if given.output.exists() else {}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in given.parts:
            if part == "growth":
                stored["growth"] = growth()
                continue
            works = {
                "moments": lambda: moments(given.base),
                "csv": lambda: csv_fit(given.base, Path(folder)),
                "memory": lambda: memory(Path(folder)),
                "objectives": lambda: objectives(given.base, Path(folder)),
            }
            found = works[part]()
            rows += found
            stored[part] = [{**vars(row), "measured": float(row.measured), "holds": row.holds} for row in found]
            write_json({**stored, **environment()}, given.output)
    write_json({**stored, **environment()}, given.output)
    if given.write and "growth" in stored:
        write_page(stored["growth"])
    if rows:
        print(show(rows))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
