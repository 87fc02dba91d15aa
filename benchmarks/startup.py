"""Processor time of a start: ``import quadric`` next to ``import sklearn.base``, and the help of every command.

    python benchmarks/startup.py [--output benchmarks/results/startup.json]

Each figure is the median of ten runs, in seconds of user and system time of a new process.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from quadric.cli.app import COMMANDS
from table import Row, show, write

RUNS = 10
HELP_LIMIT, IMPORT_LIMIT = 0.4, 0.2


def seconds(arguments: list[str]) -> float:
    """Processor time of a new Python process; the first run, which fills the caches of files, does not count."""
    times = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(times[1:])


def starts() -> Iterator[Row]:
    sklearn, ours = (seconds(["-c", f"import {name}"]) for name in ("sklearn.base", "quadric"))
    yield Row("import quadric, seconds more than import sklearn.base", ours - sklearn, "<=", IMPORT_LIMIT)
    for command in ("", *COMMANDS):
        words = [*command.split(), "--help"]
        yield Row(f"quadric {' '.join(words)}, seconds", seconds(["-m", "quadric", *words]), "<=", HELP_LIMIT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "startup.json")
    output = parser.parse_args().output
    rows = list(starts())
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
