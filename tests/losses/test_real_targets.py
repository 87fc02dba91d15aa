"""The squared loss takes any target that answers as ``Target`` does: here real numbers, two columns of them."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from quadric.certificate import Judge, Question
from quadric.geometry import products
from quadric.geometry.lifting import lift
from quadric.geometry.moments import ColumnMoments, LiftedMoments
from quadric.geometry.surface import QuadraticSurface
from quadric.losses import loss_named
from quadric.samples.labelled import LabelledSamples
from quadric.search.methods import SearchOptions, search
from quadric.search.path import certified, trace_path
from quadric.search.rules import NO_LIMITS

C, K = 0.3, 2


@dataclass(frozen=True)
class RealMoments:
    loss: LiftedMoments
    of_columns: list[ColumnMoments]

    def columns(self):
        return self.of_columns

    def energy(self):
        return self.loss.energy()


@dataclass(frozen=True)
class RealTarget:
    values: np.ndarray

    def __len__(self):
        return len(self.values)

    @property
    def surfaces(self):
        return [0, 1]

    @property
    def factors(self):
        return np.ones(len(self.values))

    def y(self, surface):
        return self.values[:, surface]

    def moments(self, X, sample_weight):
        loss, R, columns = LiftedMoments.of(X, sample_weight), lift(X), []
        for y in self.values.T:
            mean = np.average(y, weights=sample_weight)
            off = sample_weight * (y - mean)
            columns.append(ColumnMoments(float(mean), float(off @ (y - mean)), off @ (R - loss.mean)))
        return RealMoments(loss, columns)


def samples_of(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    noise = rng.normal(size=(80, 2))
    y = np.column_stack([3.0 * X[:, 0] * X[:, 1] - X[:, 2], np.exp(X[:, 0])]) + 0.5 * noise
    return LabelledSamples(X, RealTarget(y), rng.uniform(0.5, 3.0, 80))


def least(samples, surface, support):
    """The smallest objective on a support, by normal equations."""
    y, A = samples.target.y(surface), np.column_stack([lift(samples.X)[:, support], np.ones(80)])
    M = 2.0 * C * (A.T * samples.sample_weight) @ A
    M[:-1, :-1] += samples.energy.gram()[np.ix_(support, support)]
    q = 2.0 * C * A.T @ (samples.sample_weight * y)
    return 0.5 * -q @ np.linalg.solve(M, q) + C * samples.sample_weight @ y**2


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_support_is_found_and_certified(seed, wide, monkeypatch):
    samples = samples_of(seed)
    if wide:
        monkeypatch.setattr(products, "MANY_TERMS", 0)
    data, judge = loss_named("least_squares").data(samples, NO_LIMITS), Judge.of(samples)
    for surface in samples.surfaces:
        expected = min(least(samples, surface, list(support)) for support in combinations(range(9), K))
        problem = data.problem_for(surface, C, K)
        found = search(problem, "best", SearchOptions())
        assert_allclose(found.objective, expected, rtol=1e-9)
        z = problem.embed(found.z)
        question = Question("least_squares", C, K, samples.target.y(surface), problem.terms)
        certificate = judge.certificate(QuadraticSurface.from_coordinates(z, found.c), question)
        assert_allclose(certificate.objective, expected, rtol=1e-9)
        assert certificate.local_minimum


def test_a_path_is_certified():
    samples = samples_of(7)
    data = loss_named("least_squares").data(samples, NO_LIMITS)
    path = trace_path(data, 1, [C], [1, 2, 3])
    assert_allclose(path.objective[0, 1], min(least(samples, 1, list(s)) for s in combinations(range(9), 2)), rtol=1e-9)
    bounds = certified(path, data, 1, node_limit=10_000).lower_bound
    assert_allclose(bounds[0, :2], path.objective[0, :2], rtol=1e-6)
