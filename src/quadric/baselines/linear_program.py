"""The l1 linear machine as a linear program: min ||w||_1 + sum_i upper_i max(0, 1 - y_i (w'x_i + level)).

Solved through its dual, which has only n + 1 rows: maximise sum_i alpha_i over 0 <= alpha_i <= upper_i with y'alpha = 0 and
X'(y alpha) = s, -1 <= s <= 1. The prices of the last equations are w.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from quadric.types import FloatArray


def solve_l1_program(X: FloatArray, y: FloatArray, upper: FloatArray) -> FloatArray:
    """The w of a vertex; entries at zero are exactly zero."""
    n_samples, n_features = X.shape
    cost = np.append(-np.ones(n_samples), np.zeros(n_features))
    equations = np.zeros((n_features + 1, n_samples + n_features))
    equations[:-1, :n_samples] = (X * y[:, None]).T
    equations[:-1, n_samples:] = -np.eye(n_features)
    equations[-1, :n_samples] = y
    bounds = np.zeros((n_samples + n_features, 2))
    bounds[:n_samples, 1] = upper
    bounds[n_samples:] = (-1.0, 1.0)
    result = linprog(
        cost,
        A_eq=equations,
        b_eq=np.zeros(n_features + 1),
        bounds=bounds,
        method="highs",
        options={"presolve": False},  # it removes nothing from a dense program with few rows, and takes half of the time
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS did not solve the linear program: {result.message} Standardise X or lower C.")
    return np.asarray(-result.eqlin.marginals[:-1])
