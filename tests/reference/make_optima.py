"""Remake optima.json: the best k-term surface of small problems, by trying every support.

    python tests/reference/make_optima.py

Least squares supports are solved in closed form, hinge supports by Clarabel, both from X and y alone and without a line of the
library. The samples are stored with the optima, so that no random generator has to repeat itself.
"""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers import random_samples, slow_lift
from helpers.convex_solver import minimum

CASES = [
    (f"{loss} n={n} k={k} C={C:g}", loss, n, k, C, seed)
    for seed, (n, k, C) in enumerate([(1, 1, 1.0), (2, 1, 1.0), (2, 2, 16.0), (3, 2, 1.0), (3, 3, 16.0), (4, 2, 4.0)])
    for loss in ("least_squares", "hinge")
]


def least_squares_minimum(X, y, C, support):
    """min over the support by the normal equations of [sqrt(2) H; sqrt(2C) [R 1]], H x-by-x the map z -> W x + b."""
    m, n = X.shape
    p = n * (n + 3) // 2
    rows, columns = np.triu_indices(n)
    H = np.zeros((m, n, p))
    for t, (a, b) in enumerate(zip(rows, columns, strict=True)):
        H[:, a, t] += X[:, b]
        if a != b:
            H[:, b, t] += X[:, a]
    H[:, np.arange(n), len(rows) + np.arange(n)] = 1.0
    energy = np.concatenate([H.reshape(m * n, p)[:, support], np.zeros((m * n, 1))], axis=1)
    design = np.vstack([energy, np.sqrt(C) * np.column_stack([slow_lift(X)[:, support], np.ones(m)])])
    target = np.concatenate([np.zeros(m * n), np.sqrt(C) * y])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(np.sum((design @ solution - target) ** 2))


def enumerate_case(name, loss, n, k, C, seed):
    X, y = random_samples(seed, m=24, n=n)
    X = np.round(X, 3)
    p = n * (n + 3) // 2
    best = (np.inf, ())
    for support in combinations(range(p), min(k, p)):
        if loss == "least_squares":
            value = least_squares_minimum(X, y, C, np.array(support))
        else:
            value = minimum(X, y, loss, C, support=np.array(support))
        best = min(best, (value, support))
    print(name, best)
    return {
        "name": name,
        "loss": loss,
        "k": k,
        "C": C,
        "X": X.tolist(),
        "y": y.tolist(),
        "optimum": best[0],
        "support": best[1],
    }


if __name__ == "__main__":
    cases = [enumerate_case(*case) for case in CASES]
    Path(__file__).with_name("optima.json").write_text(json.dumps(cases) + "\n")
