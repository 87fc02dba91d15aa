"""Hinge and logistic fits by passes over rows that are made batch by batch, beside one pass for the moments of the same rows.

    python benchmarks/passes.py [--output benchmarks/results/passes.json] [--parts fixed search logistic seeded]

Each case runs in a process of its own, whose processor time and peak memory count; what it takes to make the rows does not.
Objectives on the paper's sets are compared by scale.py.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quadric.blas import one_blas_thread
from quadric.geometry.lifting import lift
from quadric.geometry.moments import LabelledMoments
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SampleBatch, SampleSource, State
from quadric.samples.target import Target
from quadric.search.methods import SearchOptions, search, search_locally
from quadric.search.rules import NO_LIMITS
from quadric.search.streamed import fit_streamed
from table import Row, show, write

N_FEATURES, N_TERMS, BATCH_ROWS = 20, 20, 16_384
FIXED_SIZES, SEARCHED_SIZE = (1_000_000, 10_000_000), 1_000_000
CS = (1.0, 16.0)


class PlantedRows(SampleSource):
    """Rows of a planted quadric with noise, made again in every pass.

    Parameters
    ----------
    n_rows, n_features, n_terms : int
    seed : int
    """

    n_classes = 2

    def __init__(self, n_rows: int, n_features: int = N_FEATURES, n_terms: int = N_TERMS, seed: int = 0) -> None:
        self.n_rows, self.n_features, self._seed = n_rows, n_features, seed
        rng = np.random.default_rng(seed)
        self.terms = np.sort(rng.choice(term_count(n_features), n_terms, replace=False))
        self._z = rng.choice([-1.0, 1.0], n_terms) * rng.uniform(0.3, 1.0, n_terms)
        scores = lift(rng.normal(size=(5000, n_features)), self.terms) @ self._z
        self._middle, self._spread = float(np.median(scores)), float(scores.std())
        self.spent = 0.0
        """Processor seconds that making rows took."""

    def batches(self) -> Iterator[SampleBatch]:
        for number, first in enumerate(range(0, self.n_rows, BATCH_ROWS)):
            began = time.process_time()
            rng = np.random.default_rng((self._seed, number))
            X = rng.standard_normal((min(BATCH_ROWS, self.n_rows - first), self.n_features))
            f = (lift(X, self.terms) @ self._z - self._middle) / self._spread + 0.5 * rng.standard_normal(len(X))
            ones, ids = np.ones(len(X)), np.arange(first, first + len(X))
            batch = SampleBatch(X, Target((f > 0).astype(int), np.ones(2)), ones, ids)
            self.spent += time.process_time() - began
            yield batch

    def total(self, of: Callable[[SampleBatch], State]) -> State:
        states = map(of, self.batches())
        total = next(states)
        for state in states:
            total = total + state
        return total

    def seconds(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Processor time of some work, the making of rows not counted, and its result."""
        began, spent = time.process_time(), self.spent
        result = work()
        return time.process_time() - began - (self.spent - spent), result


def moments_of(source: PlantedRows) -> None:
    """One moments pass, whose states are not even added up."""
    for batch in source.batches():
        LabelledMoments.of(batch.X, batch.target.codes, batch.sample_weight, batch.target.class_weight)


def case(loss: str, n_rows: int, C: float, searched: bool) -> dict[str, Any]:
    """One case: what a subprocess prints."""
    source = PlantedRows(n_rows)
    terms = None if searched else source.terms
    before, _ = source.seconds(lambda: moments_of(source))
    seconds, found = source.seconds(lambda: fit_streamed(source, loss, 1, C, N_TERMS, NO_LIMITS, terms=terms))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return {
        "ratio": seconds / before,
        "passes": found.n_passes,
        "gap": (found.objective - found.support_bound) / found.objective,
        "megabytes": peak,
        "swap_optimal": found.swap_optimal is True,
    }


def measured(*arguments: object) -> dict[str, Any]:
    """A case in a process of its own."""
    command = [sys.executable, __file__, "--case", *map(str, arguments)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return result


def fixed() -> Iterator[Row]:
    for n_rows in FIXED_SIZES:
        for C in CS:
            found, what = measured("hinge", n_rows, C, 0), f"hinge, {n_rows:.0e} rows, {N_TERMS} given terms, C = {C:g}"
            yield Row(f"{what}: passes", found["passes"], "<=", 6)
            yield Row(f"{what}: certified relative gap", found["gap"], "<=", 1e-9)
            yield Row(f"{what}: processor time in moments passes", found["ratio"], "<=", 2)
            yield Row(f"{what}: peak memory, MB", found["megabytes"], "<=", 700)


def searched() -> Iterator[Row]:
    for C in CS:
        found, what = measured("hinge", SEARCHED_SIZE, C, 1), f'hinge, {SEARCHED_SIZE:.0e} rows, method="best", C = {C:g}'
        yield Row(f"{what}: processor time in moments passes", found["ratio"], "<=", 20)
        yield Row(f"{what}: every exchange bounded at F(1 - 1e-6)", int(found["swap_optimal"]), ">=", 1)
        yield Row(f"{what}: passes", found["passes"], "<=", 40)


def logistic() -> Iterator[Row]:
    for C in CS:
        found, what = measured("logistic", SEARCHED_SIZE, C, 0), f"logistic, {SEARCHED_SIZE:.0e} rows, given terms, C = {C:g}"
        yield Row(f"{what}: passes", found["passes"], "<=", 6)
        yield Row(f"{what}: certified relative gap", found["gap"], "<=", 1e-9)
        yield Row(f"{what}: processor time in moments passes", found["ratio"], "<=", 2)


def above(samples: LabelledSamples, C: float, k: int) -> tuple[float, float]:
    """By what share the objective of "best" is above that of a search with all rows lifted, and their ratio of times."""
    problem = loss_named("hinge").data(samples, NO_LIMITS).problem_for(1, C, k)
    began = time.process_time()
    ours = search(problem, "best", SearchOptions()).objective
    between = time.process_time()
    theirs = search_locally(problem, SearchOptions()).objective
    return ours / theirs - 1.0, (between - began) / (time.process_time() - between)


def seeded() -> Iterator[Row]:
    excesses, ratios = [], []
    for seed in range(10):
        source = PlantedRows((50_000, 100_000)[seed % 2], 8, 6, seed)
        batches = list(source.batches())
        X, codes = np.concatenate([b.X for b in batches]), np.concatenate([b.target.codes for b in batches])
        excess, ratio = above(LabelledSamples(X, Target(codes, np.ones(2)), np.ones(len(X))), (1.0, 16.0, 256.0)[seed % 3], 8)
        excesses.append(excess)
        ratios.append(ratio)
    yield Row("ten planted sets, 50,000 and 100,000 rows: objective above that of all rows lifted", max(excesses), "<=", 1e-6)
    yield Row("the same: processor time beside it, largest", max(ratios), "<=", 1)


PARTS = {"fixed": fixed, "search": searched, "logistic": logistic, "seeded": seeded}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "passes.json")
    parser.add_argument("--parts", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    parser.add_argument("--case", nargs=4, metavar=("LOSS", "ROWS", "C", "SEARCHED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with one_blas_thread():
        if arguments.case:
            loss, n_rows, C, is_searched = arguments.case
            print(json.dumps(case(loss, int(n_rows), float(C), bool(int(is_searched)))))
            return 0
        rows: list[Row] = []
        for name in arguments.parts:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += PARTS[name]()
    print(show(rows))
    write(rows, arguments.output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
