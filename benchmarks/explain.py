"""Speed of predictions and Shapley values against one SVC.predict, and exactness of recourse, all measured in this one run.

    python benchmarks/explain.py [--output benchmarks/results/explain.json]

Needs the paper's data (QUADRIC_DATA, or ../shared/data).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.svm import SVC

from paper_data import FloatArray, load
from quadric import QuadraticSurface, SparseQuadraticSVC
from quadric.blas import one_blas_thread
from quadric.explain import contributions, recourse, shapley
from table import Row, show, write

TERMS, MANY = 12, 10_000
GRID = {1: 100_001, 2: 601, 3: 91}
"""Points a side of the grid over [-3, 3]^n."""


def seconds(action: Callable[[], Any]) -> float:
    """Of one core: by the clock, a busy machine would hold up the long action more often than the short one."""
    start = time.process_time()
    action()
    return time.process_time() - start


def ratio(first: Callable[[], Any], second: Callable[[], Any], rounds: int = 15) -> float:
    """Median time of the first in median times of the second, measured in turns: what else the machine does hits both."""
    pairs = [(seconds(first), median(seconds(second) for _ in range(5))) for _ in range(rounds)]
    return median(a for a, _ in pairs) / median(b for _, b in pairs)


def repeated(X: FloatArray, m: int) -> FloatArray:
    return np.asarray(X[np.arange(m) % len(X)])


def sparse_model(X: FloatArray, y: FloatArray) -> SparseQuadraticSVC:
    model = SparseQuadraticSVC(k=TERMS, C=1.0, loss="hinge", class_weight="balanced", standardize=False, clip=None).fit(X, y)
    assert model.surfaces_[0].n_terms == TERMS
    return model


def predictions() -> Iterator[Row]:
    for name in ("german", "abalone"):
        X, y = load(name)
        ours, theirs = sparse_model(X, y), SVC().fit(X, y)
        for m in (1_000, MANY):
            batch = repeated(X, m)
            faster = ratio(partial(theirs.predict, batch), partial(ours.predict, batch))
            yield Row(f"{name}: predict, {m} rows, {TERMS} terms, times faster than SVC(rbf)", faster, ">=", 100)


def explanations() -> Iterator[Row]:
    X, y = load("german")
    ours, theirs = sparse_model(X, y), SVC().fit(X, y)
    batch = repeated(X, MANY)
    unit = partial(theirs.predict, batch)
    ways = {
        "contributions": (lambda: contributions(ours, batch), 0.1),
        "shapley": (lambda: shapley(ours, batch, background=X), 0.1),
        "exact recourse": (lambda: recourse(ours, batch, target=1.0), 1.0),
    }
    for what, (action, target) in ways.items():
        yield Row(f"german: {what}, {MANY} rows, in SVC(rbf).predict of them", 1 / ratio(unit, action), "<=", target)
    values = shapley(ours, batch, background=X)
    error = np.abs(values.base_value + values.values.sum(axis=1) - ours.decision_function(batch)).max()
    yield Row("german: shapley, largest error of the sums", float(error), "<=", 1e-12)


def random_surface(rng: np.random.Generator, n: int) -> QuadraticSurface:
    W = rng.normal(size=(n, n))
    return QuadraticSurface(W + W.T, rng.normal(size=n), rng.normal())


def optimality() -> Iterator[Row]:
    """Stationarity, feasibility, sign and second order, which together prove the global optimum."""
    worst, found = 0.0, 0
    for seed in range(1_000):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 21))
        surface, x = random_surface(rng, n), rng.normal(size=n)
        side = -float(np.sign(surface(x[None])[0]))
        answer = recourse(surface, x[None], target=int(side))
        if not answer.reached[0]:
            continue
        moved, mu = answer.x[0], answer.multiplier[0]
        slope = side * (surface.W @ moved + surface.b)
        residuals = [
            np.abs(moved - x - mu * slope).max(),
            abs(surface(moved[None])[0]),
            -mu,
            -np.linalg.eigvalsh(np.eye(n) - mu * side * surface.W)[0],
        ]
        worst, found = max(worst, *residuals), found + 1
    yield Row("recourse, 1,000 random surfaces and points: share with an answer", found / 1_000, ">=", 0.9)
    yield Row("recourse, 1,000 random surfaces and points: worst KKT residual", float(worst), "<=", 1e-8)


def against_grids() -> Iterator[Row]:
    for n, size in GRID.items():
        line = np.linspace(-3, 3, size)
        grid = np.stack(np.meshgrid(*[line] * n, indexing="ij"), -1).reshape(-1, n)
        excess = -np.inf
        for seed in range(20):
            rng = np.random.default_rng(seed)
            surface, X = random_surface(rng, n), rng.uniform(-1, 1, size=(5, n))
            values = surface(grid)
            for side in (-1, 1):
                answer = recourse(surface, X, target=side)
                good = grid[side * values > 0]
                best = np.array([np.linalg.norm(good - x, axis=1).min(initial=np.inf) for x in X])
                compared = np.isfinite(best)
                excess = max(excess, float((answer.distance[compared] - best[compared]).max(initial=-np.inf)))
        yield Row(f"recourse, n={n}: longest answer beyond the best of {size}^{n} grid points", excess, "<=", 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "explain.json")
    output = parser.parse_args().output
    rows: list[Row] = []
    with one_blas_thread():
        for part in (predictions, explanations, optimality, against_grids):
            print(f"{part.__name__.replace('_', ' ')} ...", file=sys.stderr, flush=True)
            rows += part()
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
