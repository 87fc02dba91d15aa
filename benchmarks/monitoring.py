"""``quadric monitor`` on a million rows next to ``quadric predict`` on the same file: ratio of processor time.

    python benchmarks/monitoring.py [--output benchmarks/results/monitoring.json]

The model is that of the loans table, with all of its columns. Each command runs in a process of its own; the figure is the
median of three pairs. ``predict`` writes CSV as by default, and Parquet, which takes less time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np

from quadric.extras import require
from table import Row, show, write

LOANS = Path(__file__).parents[1] / "data" / "loans.csv"
RUNS, ROWS, LIMIT = 3, 1_000_000, 1.5
PASSED = 3


def write_rows(path: Path) -> None:
    """Rows of the loans table, drawn with replacement."""
    csv = require("pyarrow.csv", "cli")
    table = csv.read_csv(LOANS)
    csv.write_csv(table.take(np.random.default_rng(0).integers(0, table.num_rows, ROWS)), path)


def seconds(folder: Path, *words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "quadric", *words], cwd=folder, capture_output=True, check=False)
    assert done.returncode in (0, PASSED), done.stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures(folder: Path) -> list[Row]:
    write_rows(folder / "new.csv")
    seconds(folder, "fit", str(LOANS), "--target", "risk", "--output", "model.json")
    rows = []
    for ending in ("csv", "parquet"):
        ratios = []
        for _ in range(RUNS):
            scoring = seconds(folder, "predict", "model.json", "new.csv", "--output", f"scores.{ending}", "--force")
            ratios.append(seconds(folder, "monitor", "model.json", "new.csv") / scoring)
        rows.append(Row(f"monitor, {ROWS} rows, of predict to .{ending}", median(ratios), "<=", LIMIT))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "monitoring.json")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        rows = figures(Path(folder))
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
