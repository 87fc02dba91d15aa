"""Processor time and memory of ``quadric fit FILE --target t --output m.json``, all else default, start-up included.

    python benchmarks/defaults.py [--losses auto hinge] [--tables "270 x 13"] [--output benchmarks/results/defaults.json]

Tables are made with a seed, in the sizes of well-known sets; german is the paper's (QUADRIC_DATA, or ../shared/data), and is
left out if it is not there. Processor time is user and system time of the new process and of those that it started.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from checkout import HERE, TREE
from paper_data import folder
from table import Row, show, write

FloatArray = npt.NDArray[np.float64]
TARGETS = {"270 x 13": 4.0, "768 x 8": 4.0, "german": 12.0, "20,000 x 10": 20.0, "4,600 x 57": 90.0}
"""Processor seconds."""
SLOWER = {"auto": 1.0, "hinge": 5.0}
"""How much longer another loss may take."""
GIGABYTES = 1.5


@dataclass(frozen=True)
class Use:
    """What one command took."""

    seconds: float
    gigabytes: float


def made_up(m: int, n: int, *, skewed: bool, seed: int = 0) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Columns of numbers and of codes, and labels that depend on a few of them, on a square and on products."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + 0.5 * rng.normal(size=(m, 1))
    X[:, ::4] = np.round(X[:, ::4])  # few values
    if skewed:
        X = np.where(rng.random((m, n)) < 0.6, 0.0, np.exp(X))  # shares of words: mostly none, and long tails
    f = X[:, 0] - X[:, 1] + 0.8 * X[:, 2] * X[:, 3] + 0.5 * X[:, 1] ** 2 + rng.logistic(size=m)
    return np.round(X, 4), f > np.median(f)


def write_table(name: str, path: Path) -> str | None:
    """The table of a row; the name of its target, or None where it is not to be had."""
    if name == "german":
        source = folder()
        if source is None:
            return None
        shutil.copy(source / "german.csv", path)
        return path.read_text(encoding="utf-8").partition("\n")[0].split(",")[-1]
    m, n = (int(part.replace(",", "")) for part in name.split(" x "))
    X, positive = made_up(m, n, skewed=n > 50)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(n)), "t"])
        writer.writerows([*row, "yes" if label else "no"] for row, label in zip(X.tolist(), positive.tolist(), strict=True))
    return "t"


def used(arguments: list[str], tree: Path = TREE) -> Use:
    """What ``quadric`` of a checkout takes with these arguments, in a process of its own."""
    there, quiet = os.environ | {"PYTHONPATH": str(tree / "src")}, subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-m", "quadric", *arguments], stdout=quiet, stderr=quiet, env=there) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"quadric {' '.join(arguments)} failed")
    return Use(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def rows(names: list[str], losses: list[str]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            data, model = Path(place) / "data.csv", Path(place) / "model.json"
            target = write_table(name, data)
            if target is None:
                print(f"  {name}: the paper's data are not there", file=sys.stderr)
                continue
            for loss in losses:
                use = used(["fit", str(data), "--target", target, "--loss", loss, "--output", str(model), "--force"])
                print(f"  {name}, loss {loss}: {use.seconds:.1f} s, {use.gigabytes:.2f} GB", file=sys.stderr, flush=True)
                yield Row(f"{name}, loss {loss}: processor seconds", use.seconds, "<=", SLOWER[loss] * TARGETS[name])
                yield Row(f"{name}, loss {loss}: GB at most", use.gigabytes, "<=", GIGABYTES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--losses", nargs="+", choices=list(SLOWER), default=["auto"])
    parser.add_argument("--output", type=Path, help="default: results/defaults.json when all tables run")
    arguments = parser.parse_args()
    measured = list(rows(arguments.tables, arguments.losses))
    print(show(measured))
    if arguments.output or arguments.tables == list(TARGETS):
        write(measured, arguments.output or HERE / "results" / "defaults.json")
    return 0 if all(row.holds for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
