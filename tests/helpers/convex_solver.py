"""The convex subproblems as cvxpy models solved by Clarabel: an independent road to the same numbers."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from helpers import slow_lift

LOSSES = {
    "hinge": lambda t: cp.sum(cp.pos(t)),
    "least_squares": cp.sum_squares,
    "logistic": lambda t: 8.0 * cp.sum(cp.logistic(t - 1.0)),
}
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def minimum(X, y, loss, C, *, penalty=None, u=None, support=None, cuts=None):
    """min over (z, c) of F + 1/2 sum_j penalty_j (z_j - u_j)^2, with z = 0 off the support, under cuts on it; from X and y."""
    n = X.shape[1]
    R = slow_lift(X)
    z, c = cp.Variable(R.shape[1]), cp.Variable()
    W = cp.Variable((n, n), symmetric=True)
    rows, columns = np.triu_indices(n)
    same = [W[a, b] == z[t] for t, (a, b) in enumerate(zip(rows, columns, strict=True))]
    energy = cp.sum_squares(X @ W + np.ones((len(X), 1)) @ cp.reshape(z[len(rows) :], (1, n), order="C"))
    shortfall = 1 - cp.multiply(y, R @ z + c)
    objective = energy + C * LOSSES[loss](shortfall)
    if penalty is not None:
        objective += 0.5 * cp.sum_squares(cp.multiply(np.sqrt(penalty), z - u))
    if support is not None:
        off = np.setdiff1d(np.arange(R.shape[1]), support)
        same += [z[off] == 0] if len(off) else []
    if cuts is not None:
        same.append(cuts.A @ z[support] >= cuts.b)
    problem = cp.Problem(cp.Minimize(objective), same)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")  # it misses TIGHT, not what the tests ask for
        problem.solve(solver=cp.CLARABEL, **TIGHT)
    return float(problem.value)
