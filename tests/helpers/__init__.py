"""Random problems and slow, obvious formulas that tests compare with."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from quadric.geometry.surface import QuadraticSurface
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import SparseProblem
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search.rules import NO_LIMITS

LOSSES = LOSS_NAMES
PLAIN = {"standardize": False, "clip": None}
"""The paper's problem on the data as they are."""
PER_SAMPLE = {
    "hinge": lambda t: np.maximum(t, 0.0),
    "least_squares": lambda t: t**2,
    "logistic": lambda t: 8.0 * np.logaddexp(0.0, t - 1.0),
}
"""H(1 - y f) of each loss, by its definition."""


def random_surface(rng, n):
    W = rng.normal(size=(n, n))
    return QuadraticSurface(W + W.T, rng.normal(size=n), rng.normal())


def random_samples(seed, m=40, n=3, noise=0.5):
    """X and labels in {-1, 1} of a quadratic rule with noise; both classes are there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    scores = X[:, 0] * X[:, -1] + X[:, 0] + noise * rng.normal(size=m)
    y = np.where(scores > np.median(scores), 1.0, -1.0)
    return X, y


def make_problem(loss, X, y, C=1.0, k=3, sample_weight=None, class_weight=(1.0, 1.0)) -> SparseProblem:
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    samples = LabelledSamples(X, Target((y > 0).astype(int), np.array(class_weight, dtype=float)), weight)
    return loss_named(loss).data(samples, NO_LIMITS).problem_for(1, C, k)


def slow_lift(X):
    """r(x) written out term by term."""
    n = X.shape[1]
    quadratic = [(0.5 if a == b else 1.0) * X[:, a] * X[:, b] for a, b in combinations_with_replacement(range(n), 2)]
    return np.column_stack([*quadratic, X])


def slow_objective(surface, X, y, loss, C, w=None, o=None):
    """F by its definition: a loop over the samples, no G and no lifting."""
    w = np.ones(len(y)) if w is None else w
    o = w if o is None else o
    total = 0.0
    for x, label, weight, loss_weight in zip(X, y, w, o, strict=True):
        t = 1 - label * (0.5 * x @ surface.W @ x + surface.b @ x + surface.c)
        total += weight * np.sum((surface.W @ x + surface.b) ** 2)
        total += C * loss_weight * PER_SAMPLE[loss](t)
    return total


def surface_of(problem, z, c):
    return QuadraticSurface.from_coordinates(problem.embed(z), c)


def numerical_gradient(function, z, h=1e-6):
    gradient = np.empty_like(z)
    for j in range(len(z)):
        step = np.zeros_like(z)
        step[j] = h
        gradient[j] = (function(z + step) - function(z - step)) / (2 * h)
    return gradient
