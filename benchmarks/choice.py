"""The choice of the loss, of k and of C: what skipping cells and a short search inside the folds cost, in time and accuracy.

    python benchmarks/choice.py [--output benchmarks/results/choice.json] [--sets ...] [--variants ...]

Outer stratified folds (seed 11), training parts of at most 2,000 rows, on the paper's two-class sets (QUADRIC_DATA, or
../shared/data). Every variant is compared with the default on the same folds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import StratifiedKFold

from paper_data import NAMES, FloatArray, load
from quadric import SparseQuadraticSVCCV
from quadric.search.path import PathCell, trace_path
from quadric.search.quick import Grid, QuickSearch
from table import environment, write_json

MOST_ROWS, N_FOLDS, SEED = 2_000, 5, 11


def whole_grid() -> AbstractContextManager[Any]:
    """Score every cell."""
    return patch("quadric.estimators.choosing.ALWAYS_SCORED", 10**9)


def full_search() -> AbstractContextManager[Any]:
    """Search inside the folds as ``sparse_quadratic_path`` does."""

    def rows(self: QuickSearch, terms: str, loss: str, surface: int, grid: Grid) -> Iterator[list[PathCell]]:
        data = self.digest(terms, loss)
        for C, ks in grid.items():
            path = trace_path(data, surface, [C], ks, seed=(0, surface))
            yield [
                PathCell(
                    support,
                    path.coef[0, j, support],
                    float(path.intercept[0, j]),
                    float(path.objective[0, j]),
                    0,
                    path.status[0, j],
                    0.0,
                )
                for j, support in enumerate(map(np.flatnonzero, path.support[0]))
            ]

    return patch.object(QuickSearch, "rows", rows)


VARIANTS: dict[str, tuple[dict[str, Any], Callable[[], AbstractContextManager[Any]]]] = {
    "default": ({}, nullcontext),
    "whole grid": ({}, whole_grid),
    "least squares": ({"loss": "least_squares"}, nullcontext),
    "least squares, full search in folds": ({"loss": "least_squares"}, full_search),
    "logistic": ({"loss": "logistic"}, nullcontext),
    "rule best": ({"rule": "best"}, nullcontext),
}


def measured(X: FloatArray, y: FloatArray, parameters: dict[str, Any]) -> dict[str, Any]:
    """One outer fold after the other: accuracy, the choice and processor seconds."""
    rows = []
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED).split(X, y):
        train = np.random.default_rng(SEED).permutation(train)[:MOST_ROWS]
        began = time.process_time()
        model = SparseQuadraticSVCCV(cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED), **parameters)
        model.fit(X[train], y[train])
        seconds = time.process_time() - began
        tables = model.cv_scores_.values() if isinstance(model.cv_scores_, dict) else [model.cv_scores_]
        skipped = float(np.mean(np.concatenate([np.isnan(table).ravel() for table in tables])))
        choice = (model.best_loss_, model.best_k_, model.best_C_)
        rows.append((float(model.score(X[test], y[test])), choice, seconds, skipped))
    accuracy, choices, seconds_each, skipped_each = zip(*rows, strict=True)
    return {
        "accuracy": list(accuracy),
        "choices": list(choices),
        "seconds": float(np.median(seconds_each)),
        "skipped": float(np.mean(skipped_each)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--sets", nargs="+", default=NAMES)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    arguments = parser.parse_args()
    results: dict[str, dict[str, Any]] = {name: {} for name in arguments.variants}
    for dataset in arguments.sets:
        X, y = load(dataset)
        for name in arguments.variants:
            parameters, change = VARIANTS[name]
            with change():
                results[name][dataset] = found = measured(X, y, parameters)
            terms = np.mean([k for _, k, _ in found["choices"]])
            figures = f"{100 * np.mean(found['accuracy']):5.1f} % {terms:5.1f} terms {found['seconds']:6.2f} s"
            print(f"{dataset:14} {name:36} {figures} {100 * found['skipped']:4.0f} % skipped", flush=True)
    baseline = results[arguments.variants[0]]
    for name, by_set in results.items():
        gain = 100 * np.array([np.mean(by_set[d]["accuracy"]) - np.mean(baseline[d]["accuracy"]) for d in by_set])
        same = np.mean([a == b for d in by_set for a, b in zip(by_set[d]["choices"], baseline[d]["choices"], strict=True)])
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        terms = np.mean([k for found in by_set.values() for _, k, _ in found["choices"]])
        seconds = sum(found["seconds"] for found in by_set.values())
        print(
            f"{name:36} {gain.mean():+.2f} +- {error:.2f} points, {100 * same:.0f} % same choice, "
            f"{terms:.1f} terms, {seconds:.1f} s"
        )
    if arguments.output is not None:
        write_json({"results": results, **environment()}, arguments.output)


if __name__ == "__main__":
    main()
