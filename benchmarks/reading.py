"""Reading a CSV file of a million rows: ``read_table`` next to ``pyarrow.csv.read_csv`` alone, both with one thread.

    python benchmarks/reading.py [--output benchmarks/results/reading.json]

Twenty columns of numbers and one of texts in quotes. Ratios of processor time, each the median of five pairs of runs, one after
the other; ``read_table`` also computes the checksum of the file. The last row adds all columns as arrays of numpy.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from quadric.extras import require
from quadric.tables import Table, read_table
from table import Row, show, write

RUNS, ROWS = 5, 1_000_000
LIMIT = 2.0


def write_csv(path: Path) -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=ROWS) for i in range(14)}
    columns |= {f"n{i}": rng.integers(0, 10_000, ROWS) for i in range(6)}
    columns["home"] = rng.choice(["own", "rent", "free"], ROWS)
    require("pyarrow.csv", "cli").write_csv(require("pyarrow", "cli").table(columns), path)


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def arrays(table: Table) -> list[np.ndarray]:
    return [table[name] for name in table]


def figures(path: Path) -> list[Row]:
    arrow_csv = require("pyarrow.csv", "cli")
    options = arrow_csv.ReadOptions(use_threads=False)
    ratios: list[list[float]] = [[], []]
    for _ in range(RUNS):
        alone = seconds(lambda: arrow_csv.read_csv(path, options))
        ratios[0].append(seconds(lambda: read_table(path)) / alone)
        ratios[1].append(seconds(lambda: arrays(read_table(path))) / alone)
    words = (f"read_table, {ROWS} x 21, of pyarrow.csv.read_csv", "read_table and all columns as arrays, of the same")
    return [Row(what, median(found), "<=", LIMIT) for what, found in zip(words, ratios, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "reading.json")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        write_csv(path)
        rows = figures(path)
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
