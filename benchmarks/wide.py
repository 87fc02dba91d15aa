"""Fits with very many features: planted terms, work and memory; and searches with and without a matrix of all pairs of terms.

    python benchmarks/wide.py [--output benchmarks/results/wide.json]

Each large fit runs in a process of its own. Its processor time is told in products X' diag(v) X by one plain matrix product,
measured in the same process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np

from quadric import SparseQuadraticSVC
from quadric.blas import one_blas_thread
from quadric.geometry import products
from quadric.geometry.products import LiftedSums
from quadric.geometry.terms import term_index
from quadric.losses import loss_named
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.methods import SearchOptions, search
from quadric.search.rules import NO_LIMITS
from table import Row, show, write

PEAK = "peak resident memory, GB"


@dataclass(frozen=True)
class Fit:
    """A fit to planted terms; the targets are products X' diag(.) X, processor time in such products, and memory in GB."""

    loss: str
    method: Literal["best", "pd"]
    shape: tuple[int, int]
    k: int
    most_products: int
    most_time: float
    most_memory: float

    @property
    def name(self) -> str:
        return f"{self.loss}, {self.method}, m={self.shape[0]:,}, n={self.shape[1]:,}, k={self.k}"


FITS = (
    Fit("least_squares", "best", (2_000, 300), 10, 60, 250.0, 0.4),
    Fit("least_squares", "best", (10_000, 1_000), 10, 60, 60.0, 0.7),
    Fit("least_squares", "best", (2_000, 2_000), 10, 60, 120.0, 2.0),
    Fit("least_squares", "pd", (2_000, 300), 10, 600, 1_500.0, 0.4),
    Fit("hinge", "best", (10_000, 1_000), 10, 60, 60.0, 0.8),
    Fit("logistic", "best", (10_000, 1_000), 10, 60, 60.0, 0.8),
)
SMALL = {"m": 2_000, "n": 50, "k": 10, "seeds": 20}


def planted(m: int, n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, set[int]]:
    """Samples of a rule with k terms, two of them linear and the others products of different features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    pairs = [(2 * i, 2 * i + 1) for i in range(k - 2)]
    scores = X[:, n - 1] - X[:, n - 2] + 0.3 * rng.normal(size=m)
    for a, b in pairs:
        scores += rng.choice([-1.0, 1.0]) * rng.uniform(0.7, 1.3) * X[:, a] * X[:, b]
    terms = {term_index(a, b, n) for a, b in pairs} | {term_index(n - 1, None, n), term_index(n - 2, None, n)}
    return X, (scores > 0).astype(int), terms


def fit_alone(number: int) -> dict[str, Any]:
    """One of FITS, in this process."""
    fit = FITS[number]
    X, y, terms = planted(*fit.shape, fit.k)
    with one_blas_thread():
        began = time.process_time()
        (X * y[:, None]).T @ X
        product = time.process_time() - began
    counts = []
    second = LiftedSums._second

    def counted(*arguments: Any, **keywords: Any) -> Any:
        counts.append(1)
        return second(*arguments, **keywords)

    with patch.object(LiftedSums, "_second", counted):
        began = time.process_time()
        model = SparseQuadraticSVC(k=fit.k, C=1.0, loss=fit.loss, method=fit.method).fit(X, y)
        seconds = time.process_time() - began
    certificate = model.certificates_[0]
    return {
        "missed": len(terms - set(np.flatnonzero(model.coef_[0]).tolist())),
        "products": len(counts) + 1,  # and that of the certificate's gradient
        "time": seconds / product,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "swap_optimal": certificate.swap_optimal is True,
        "decrease": certificate.decrease,
    }


def large_fits() -> Iterator[Row]:
    for number, fit in enumerate(FITS):
        print(f"{fit.name} ...", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--alone", str(number)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        yield Row(f"{fit.name}: planted terms missed", found["missed"], "<=", 0)
        yield Row(f"{fit.name}: products", found["products"], "<=", fit.most_products)
        yield Row(f"{fit.name}: processor time, in products", found["time"], "<=", fit.most_time)
        yield Row(f"{fit.name}: {PEAK}", found["memory"], "<=", fit.most_memory)
        yield Row(f"{fit.name}: decrease left on the terms", found["decrease"], "<=", 1e-9)
        if fit.loss == "least_squares":
            yield Row(f"{fit.name}: swap-optimal among all terms", int(found["swap_optimal"]), ">=", 1)


def small_fits() -> Iterator[Row]:
    """The same search with and without a matrix of all pairs, in turn."""
    m, n, k = SMALL["m"], SMALL["n"], SMALL["k"]
    for loss, seeds in (("least_squares", SMALL["seeds"]), ("hinge", 4), ("logistic", 4)):
        times, above = {True: 0.0, False: 0.0}, []
        for seed in range(seeds):
            objective = {}
            for paired in (True, False):
                began = time.process_time()
                objective[paired] = _objective(loss, noisy(m, n, k, seed), k, paired)
                times[paired] += time.process_time() - began
            above.append(objective[False] / objective[True] - 1.0)
        what = f"{loss}, m={m:,}, n={n}, k={k}, {seeds} problems, without next to with all pairs"
        yield Row(f"{what}: objective, largest relative excess", max(above), "<=", 1e-9)
        yield Row(f"{what}: processor time", times[False] / times[True], "<=", 1.0)


def noisy(m: int, n: int, k: int, seed: int) -> LabelledSamples:
    """Terms of very different weight, some of them hidden in noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    scores = X[:, 0].copy()
    for a, b in rng.integers(0, n, size=(k, 2)):
        scores += rng.normal() * X[:, a] * X[:, b]
    codes = (scores + 0.5 * scores.std() * rng.normal(size=m) > 0).astype(int)
    return LabelledSamples(X, Target(codes, np.ones(2)), np.ones(m))


def _objective(loss: str, samples: LabelledSamples, k: int, paired: bool) -> float:
    with patch.object(products, "MANY_TERMS", 10**9 if paired else 0):
        problem = loss_named(loss).data(samples, NO_LIMITS).problem_for(1, 1.0, k)
        return search(problem, "best", SearchOptions()).objective


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "wide.json")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.alone is not None:
        print(json.dumps(fit_alone(arguments.alone)))
        return 0
    rows = [*large_fits(), *small_fits()]
    print(show(rows))
    write(rows, arguments.output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
