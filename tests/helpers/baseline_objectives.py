"""The baselines' problems written out: objectives by their definition, minima by Clarabel, from X and y alone."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from helpers import slow_lift
from helpers.convex_solver import TIGHT
from quadric.baselines import (
    L0LeastSquaresSVC,
    L1LinearSVC,
    L1QuadraticSVC,
    LeastSquaresSVC,
    LinearHingeSVC,
    QuadraticSVC,
)
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target

MODELS = [LinearHingeSVC, QuadraticSVC, L1QuadraticSVC, LeastSquaresSVC, L1LinearSVC, L0LeastSquaresSVC]
QUADRATIC = (QuadraticSVC, L1QuadraticSVC)


def labelled(X, y, weight=None, class_weight=(1.0, 1.0)):
    """Two-class samples as the grids take them."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    return LabelledSamples(X, Target((y > 0).astype(int), np.array(class_weight, dtype=float)), weight)


def objective(model, surface, X, y, w=None, o=None):
    """What a model minimises, at a surface; w weighs samples, o their loss."""
    w = np.ones(len(y)) if w is None else w
    o = w if o is None else o
    t = 1 - y * (0.5 * np.einsum("ij,jk,ik->i", X, surface.W, X) + X @ surface.b + surface.c)
    hinge = o @ np.maximum(t, 0.0)
    energy = w @ np.sum((X @ surface.W + surface.b) ** 2, axis=1)
    match model:
        case LinearHingeSVC():
            return 0.5 * surface.b @ surface.b + model.C * hinge
        case QuadraticSVC():
            return energy + model.C * hinge
        case L1QuadraticSVC():
            return energy + model.C1 * np.abs(surface.W[np.triu_indices(len(surface.b))]).sum() + model.C2 * hinge
        case LeastSquaresSVC():
            return 0.5 * surface.b @ surface.b + 0.5 * model.C * (o @ t**2)
        case L1LinearSVC():
            return np.abs(surface.b).sum() + model.C * hinge
        case L0LeastSquaresSVC():
            return 0.5 * surface.b @ surface.b + 0.5 * model.C * (o @ t**2) + model.lam * np.count_nonzero(surface.b)


def minimum(model, X, y, w=None):
    """The least value of a convex model's objective."""
    w = np.ones(len(y)) if w is None else w
    n = X.shape[1]
    W, b, c = cp.Variable((n, n), symmetric=True), cp.Variable(n), cp.Variable()
    triangle = cp.hstack([W[i, j] for i, j in zip(*np.triu_indices(n), strict=True)])
    slopes = X @ W + np.ones((len(X), 1)) @ cp.reshape(b, (1, n), order="C")
    energy = cp.sum_squares(cp.multiply(np.sqrt(w)[:, None] * np.ones(n), slopes))

    def hinge(scores):
        return w @ cp.pos(1 - cp.multiply(y, scores + c))

    linear, quadratic = hinge(X @ b), hinge(slow_lift(X) @ cp.hstack([triangle, b]))
    match model:
        case LinearHingeSVC():
            value = 0.5 * cp.sum_squares(b) + model.C * linear
        case QuadraticSVC():
            value = energy + model.C * quadratic
        case L1QuadraticSVC():
            value = energy + model.C1 * cp.norm1(triangle) + model.C2 * quadratic
        case L1LinearSVC():
            value = cp.norm1(b) + model.C * linear
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    return float(problem.value)
