"""Clarabel by its direct interface, one thread: the hinge z-step in primal form with slacks, and logistic refits."""

from __future__ import annotations

import time
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from quadric.losses.hinge.qp import HingeQP
from quadric.losses.logistic import LogisticProblem
from quadric.types import IntArray


@dataclass(frozen=True)
class ReferenceSolution:
    """Objective of the z-step and the seconds it took, matrices at hand: set-up, factorisations and solve."""

    value: float
    seconds: float


def solve(qp: HingeQP, tolerance: float = 1e-9) -> ReferenceSolution:
    """min 1/2 z'Pz - g'w + upper'xi  subject to  y (A w) >= 1 - xi, xi >= 0."""
    m, p = len(qp.y), qp.n_terms
    P = sp.block_diag([sp.csc_matrix(np.triu(qp.P)), sp.csc_matrix((1 + m, 1 + m))], format="csc")
    signed = sp.csc_matrix(-qp.y[:, None] * qp.A)
    constraints = sp.bmat([[signed, -sp.eye(m)], [None, -sp.eye(m)]], format="csc")
    bounds = np.concatenate([-np.ones(m), np.zeros(m)])
    linear = np.concatenate([-qp.g, qp.upper])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    start = time.perf_counter()
    solver = clarabel.DefaultSolver(P, linear, constraints, bounds, [clarabel.NonnegativeConeT(2 * m)], settings)
    w = np.array(solver.solve().x[: p + 1])
    seconds = time.perf_counter() - start
    return ReferenceSolution(qp.value(w, qp.margins(w)), seconds)


def logistic_minimum(problem: LogisticProblem, support: IntArray) -> float:
    """min 1/2 z'Gz + sum_i upper_i s_i  subject to  exp(-s_i) + exp(-y_i a_i'w - s_i) <= 1, on a support."""
    columns = np.append(support, problem.n_terms)
    A, (m, size) = problem.y[:, None] * problem.A[:, columns], (len(problem.y), len(columns))
    # Variables [w, s, u, v]; each exponential cone holds a triple (x, y, t) with y exp(x / y) <= t, here with y = 1
    n = size + 3 * m
    P = sp.block_diag(
        [sp.csc_matrix(np.triu(problem.G[np.ix_(support, support)])), sp.csc_matrix((1 + 3 * m,) * 2)], format="csc"
    )
    s, u, v = (size + i * m + np.arange(m) for i in range(3))
    sums = sp.csc_matrix((np.ones(2 * m), (np.tile(np.arange(m), 2), np.append(u, v))), shape=(m, n))
    rows, values = np.zeros((6 * m, n)), np.zeros(6 * m)
    for offset, target, share in ((0, u, 0.0), (3 * m, v, 1.0)):
        first = offset + 3 * np.arange(m)
        rows[first, s] = 1.0
        rows[first, :size] = share * A
        rows[first + 2, target] = -1.0
        values[first + 1] = 1.0
    constraints = sp.vstack([sums, sp.csc_matrix(rows)], format="csc")
    linear = np.concatenate([np.zeros(size), problem.upper, np.zeros(2 * m)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.NonnegativeConeT(m), *[clarabel.ExponentialConeT()] * (2 * m)]
    solution = clarabel.DefaultSolver(P, linear, constraints, np.append(np.ones(m), values), cones, settings).solve()
    return float(solution.obj_val)
