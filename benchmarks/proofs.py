"""Proofs on the paper's data sets: which (C, k) are proved, how fast, and what gap is left.

    python benchmarks/proofs.py [--losses least_squares hinge logistic] [--limit 60] [--page]

One core, search included; seconds are processor time, so a busy machine does not change the table. Each cell is stored in
benchmarks/results/proofs.json as soon as it is done, and a second run goes on from there; --again NAME measures a set anew.
--page writes the table into docs/how-sure.md. Needs the paper's data (QUADRIC_DATA, or ../shared/data).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine import problem_of
from paper_data import NAMES, load
from quadric.blas import one_blas_thread
from quadric.geometry.terms import term_count
from quadric.losses.base import Found, SparseProblem
from quadric.search.exact import prove
from quadric.search.methods import SearchOptions, search
from table import Row, environment, show, write_json

HERE = Path(__file__).resolve().parent
STORE, PAGE = HERE / "results" / "proofs.json", HERE.parent / "docs" / "how-sure.md"
BEGIN, END = "<!-- proofs: written by benchmarks/proofs.py -->", "<!-- end of proofs -->"
CS, KS = (1.0, 16.0, 256.0), (4, 8, 12, 20, 34)
OTHER_KS = (8,)
"""Of losses other than least squares."""
HARD_FROM = 50
"""Number of terms from which cells with a large C come last."""
SOON = 10.0
"""Seconds after which the gap is noted."""
Cell = dict[str, Any]

SECONDS = [
    ("australian", (1.0,), (4, 8, 12), 2.0),
    ("australian", (1.0,), (20,), 60.0),
    ("german", (1.0,), (4, 8, 12), 20.0),
    ("german", (16.0, 256.0), (4,), 20.0),
    ("japanese", (1.0,), (8,), 4.0),
    ("ctg", (1.0,), (4,), 12.0),
]
"""Cells that must be proved in so many seconds."""
BEFORE = {
    **{(name, C): KS for name in ("haberman", "immunotherapy", "ecoli", "abalone") for C in CS},
    **{("glass", C): (4, 34) for C in CS[1:]},
    **{(name, C): (4,) for name in ("australian", "japanese") for C in CS[1:]},
    ("glass", 1.0): KS,
    ("australian", 1.0): (4, 8, 12),
    ("japanese", 1.0): (4, 8),
    ("german", 1.0): (4,),
    ("ctg", 1.0): (4,),
}
"""The 71 cells that were proved before there was a perspective bound."""


def key(loss: str, name: str, C: float, k: int) -> str:
    return f"{loss} {name} {C:g} {k}"


def cells(loss: str) -> list[tuple[str, float, int]]:
    """Sets with C and k; what is likely to be proved soon comes first."""
    sizes = {name: term_count(load(name)[0].shape[1]) for name in NAMES}
    ks = KS if loss == "least_squares" else OTHER_KS
    chosen = [(name, C, k) for name in NAMES for C in CS for k in ks if k < sizes[name]]
    return sorted(chosen, key=lambda cell: (cell[1] > 1.0 and sizes[cell[0]] > HARD_FROM, cell[2], cell[1], sizes[cell[0]]))


def measured(problem: SparseProblem, limit: float) -> Cell:
    """One cell."""
    began = time.process_time()
    times: dict[int, float] = {}

    def note(line: str) -> None:
        times[int(line.split()[0])] = time.process_time() - began

    result = search(problem, "best", SearchOptions())
    searched = time.process_time() - began
    proof = prove(problem, Found(result.support, result.objective), time_limit=max(limit - searched, 0.0), report=note)
    total, best, bound = time.process_time() - began, proof.best.value, proof.lower_bound or 0.0
    soon = [bound for nodes, bound in proof.history if times[nodes] <= SOON]
    return {
        "terms": problem.n_terms,
        "objective": best,
        "proved": proof.closed,
        "nodes": proof.n_nodes,
        "seconds": total,
        "search": searched,
        "root_gap": 1.0 - proof.history[0][1] / best if proof.history else 1.0,
        "gap_soon": 0.0 if proof.closed and total <= SOON else 1.0 - max(soon, default=0.0) / best,
        "gap": 0.0 if proof.closed else 1.0 - bound / best,
    }


def targets(done: dict[str, Cell]) -> Iterator[Row]:
    """What must hold, as far as the cells are there."""
    for name, Cs, ks, seconds in SECONDS:
        places = [key("least_squares", name, C, k) for C in Cs for k in ks]
        if all(place in done for place in places):
            slowest = max(done[place]["seconds"] if done[place]["proved"] else float("inf") for place in places)
            yield Row(f"{name}, C = {Cs}, k = {ks}: slowest proof, s", slowest, "<=", seconds)
    for what, name, C, ks, figure, most in [
        *(("least_squares", name, 1.0, (4, 8, 12, 34), "gap_soon", 1.0) for name in ("australian", "japanese", "german")),
        ("least_squares", "australian", 1.0, (34,), "gap", 1.0),
        ("least_squares", "glass", 16.0, (8,), "gap_soon", 8.0),
        ("hinge", "australian", 1.0, (8,), "root_gap", 1.4),
        ("hinge", "german", 1.0, (8,), "root_gap", 0.6),
        ("hinge", "immunotherapy", 1.0, (8,), "gap", 0.0),
        ("hinge", "ecoli", 1.0, (8,), "gap", 0.0),
    ]:
        places = [key(what, name, C, k) for k in ks]
        if all(place in done for place in places):
            worst = max(done[place][figure] for place in places)
            yield Row(f"{name}, {what}, C = {C:g}, k = {ks}: {figure}, %", 100 * worst, "<=", most)
    squared = {place: cell for place, cell in done.items() if place.startswith("least_squares ")}
    lost = [
        place
        for (name, C), ks in BEFORE.items()
        for k in ks
        if (place := key("least_squares", name, C, k)) in squared and not squared[place]["proved"]
    ]
    yield Row("least squares: cells that were proved before and are not now", len(lost), "<=", 0)
    yield Row(f"least squares: cells proved, of {len(squared)}", sum(cell["proved"] for cell in squared.values()), ">=", 80)


def page(done: dict[str, Cell]) -> str:
    """Tables in Markdown: seconds where a cell is proved, else the gap that is left."""
    lines = []
    for loss, ks in (("least_squares", KS), ("hinge", OTHER_KS), ("logistic", OTHER_KS)):
        chosen = {place: cell for place, cell in done.items() if place.startswith(f"{loss} ")}
        if not chosen:
            continue
        proved = sum(cell["proved"] for cell in chosen.values())
        lines += ["", f"`loss={loss!r}`: {proved} of {len(chosen)} proved.", ""]
        lines += ["| data (terms) | C | " + " | ".join(f"k = {k}" for k in ks) + " |", "|---|---|" + "---|" * len(ks)]
        names = dict.fromkeys((place.split()[1], cell["terms"]) for place, cell in chosen.items())
        for name, terms in sorted(names, key=lambda pair: pair[1]):
            for C in CS:
                row = [_shown(chosen.get(key(loss, name, C, k))) for k in ks]
                lines.append(f"| {name} ({terms}) | {C:g} | " + " | ".join(row) + " |")
    return "\n".join(lines).strip()


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"{cell['seconds']:.1f} s" if cell["proved"] else f"{100 * cell['gap']:.2g} %"


def write_page(done: dict[str, Cell]) -> None:
    """Replace what is between the markers."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(done)}\n\n{END}{rest.split(END)[1]}")


def measure(done: dict[str, Cell], losses: Sequence[str], limit: float) -> None:
    """All cells that are not there yet; the file is written after each."""
    for loss in losses:
        for name, C, k in cells(loss):
            if key(loss, name, C, k) in done:
                continue
            cell = measured(problem_of(loss, *load(name), C, k), limit)
            done[key(loss, name, C, k)] = cell
            write_json({"limit": limit, "cells": done, **environment()}, STORE)
            print(f"  {key(loss, name, C, k)}: {_shown(cell)}, {cell['nodes']} nodes", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", nargs="*", default=["least_squares", "hinge", "logistic"])
    parser.add_argument("--limit", type=float, default=60.0, help="Processor seconds per cell.")
    parser.add_argument("--again", nargs="*", default=[], help="Data sets to measure anew.")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    done: dict[str, Cell] = json.loads(STORE.read_text())["cells"] if STORE.exists() else {}
    done = {place: cell for place, cell in done.items() if place.split()[1] not in arguments.again}
    # limits count processor time, as the figures do
    with one_blas_thread(), patch("time.monotonic", time.process_time):
        measure(done, arguments.losses, arguments.limit)
    rows = list(targets(done))
    print(show(rows))
    if arguments.page:
        write_page(done)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
