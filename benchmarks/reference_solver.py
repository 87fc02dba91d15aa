"""The hinge z-step by Clarabel's direct interface: primal form with slacks, tolerances 1e-9, one thread."""

from __future__ import annotations

import time
from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse as sp

from quadric.losses.hinge.qp import HingeQP


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
