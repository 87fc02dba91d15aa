"""Compare this tree with an earlier checkout: the same models, no slower, no more code.

    python benchmarks/house.py --base CHECKOUT [--parts models speed statements] [--quick] [--rows german] [--rounds 11]
    python benchmarks/house.py --base CHECKOUT --reference     # remake results/house_reference.json from the checkout

models: objectives and supports of both losses, "pd" and "best", against the stored reference (needs no checkout).
speed: processor time of each workload in house_work.py, checkout and tree in turns, median of the ratios.
statements: `ast` statements per room. Needs the paper's data (QUADRIC_DATA, or ../shared/data).
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from checkout import HERE, TREE, Checkout
from table import Row, environment, show, write, write_json

WORK, RESULTS = "house_work.py", HERE / "results"
REFERENCE = RESULTS / "house_reference.json"
SETS = (
    *("haberman", "immunotherapy", "ecoli", "iris", "credit_small", "glass"),  # the quick ones first
    *("japanese", "australian", "german", "abalone", "ctg"),
)
N_QUICK = 5
QUICK_ROWS = ("pd", "exact", "predict", "shapley", "certify")
WORSE, TIED, SLOWER = 1e-9, 1e-9, 1.15


def cells(checkout: Checkout, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every fit of the comparison, by name."""
    for name in SETS[: N_QUICK if quick else None]:
        options = product(("least_squares", "hinge"), ("pd", "best"), (1.0, 256.0), checkout.ask("budgets", name))
        for loss, method, C, k in options:
            yield f"{name}, {loss}, {method}, C={C:g}, k={k}", checkout.ask("fit", name, loss, method, C, k)
        print(f"  {name}: done", file=sys.stderr, flush=True)


def make_reference(base: Path) -> None:
    commit = subprocess.run(["git", "-C", base, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    write_json({"commit": commit, **environment(), "cells": dict(cells(Checkout(base, WORK), quick=False))}, REFERENCE)


def models(arguments: argparse.Namespace) -> Iterator[Row]:
    """Objectives and supports beside the reference; a support is tied when the objectives agree to rounding."""
    reference = json.loads(REFERENCE.read_text())
    worst, other_terms, n_surfaces = -math.inf, [], 0
    for name, cell in cells(Checkout(TREE, WORK), arguments.quick):
        stored = reference["cells"][name]
        pairs = zip(cell["objective"], stored["objective"], cell["support"], stored["support"], strict=True)
        for value, stored_value, support, stored_support in pairs:
            excess = value / stored_value - 1
            worst, n_surfaces = max(worst, excess), n_surfaces + 1
            if excess > WORSE or (support != stored_support and abs(excess) > TIED):
                other_terms.append(name)
                print(f"  {name}: {value!r} {support}, reference {stored_value!r} {stored_support}", file=sys.stderr)
    what = f"{n_surfaces} surfaces against {reference['commit'][:7]}"
    yield Row(f"{what}: worst relative excess of the objective", worst, "<=", WORSE)
    yield Row(f"{what}: worse, or other terms that are not tied", len(other_terms), "<=", 0)


def speed(arguments: argparse.Namespace) -> Iterator[Row]:
    before, now = Checkout(arguments.base, WORK), Checkout(TREE, WORK)
    parts = arguments.rows or (QUICK_ROWS if arguments.quick else [""])
    rows = [row for row in now.ask("rows") if any(part in row for part in parts)]
    for row in rows:
        for checkout in (before, now):
            checkout.ask("processor seconds", row)  # imports, caches
        ratios = []
        for i in range(3 if arguments.quick else arguments.rounds):
            order = (before, now) if i % 2 else (now, before)
            spent = {checkout: checkout.ask("processor seconds", row) for checkout in order}
            ratios.append(spent[now] / spent[before])
        print(f"  {row}: {median(ratios):.3f}", file=sys.stderr, flush=True)
        yield Row(f"{row}: processor time, in those of the checkout", median(ratios), "<=", SLOWER)


def statement_counts(root: Path) -> Counter[str]:
    """`ast` statements per room: a package or a module of src/quadric."""
    source, counts = root / "src" / "quadric", Counter[str]()
    for path in source.rglob("*.py"):
        room = path.relative_to(source).parts[0].removesuffix(".py")
        counts[room] += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(path.read_text())))
    return counts


def statements(arguments: argparse.Namespace) -> Iterator[Row]:
    before, now = statement_counts(arguments.base), statement_counts(TREE)
    for room in sorted({*before, *now}):
        yield Row(f"{room}: statements ({before[room]} in the checkout)", now[room], "<=", math.inf)
    yield Row(f"all rooms: statements ({before.total()} in the checkout)", now.total(), "<=", before.total() - 1)


PARTS = {part.__name__: part for part in (models, speed, statements)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, help="the earlier checkout")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="small data sets, cheap workloads, three rounds")
    parser.add_argument("--rows", nargs="+", help="only workloads whose name has one of these parts")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--reference", action="store_true", help="remake the reference of the models and stop")
    parser.add_argument("--output", type=Path, help="default: results/house.json when all parts run in full")
    arguments = parser.parse_args()
    if arguments.base is None and (arguments.reference or arguments.parts != ["models"]):
        parser.error("--base is needed, except for --parts models")
    if arguments.reference:
        make_reference(arguments.base)
        return 0
    rows: list[Row] = []
    for name in arguments.parts:
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += PARTS[name](arguments)
    print(show(rows))
    complete = set(arguments.parts) == set(PARTS) and not arguments.quick and not arguments.rows
    if arguments.output or complete:
        write(rows, arguments.output or RESULTS / "house.json")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
