"""Fits on fixed terms by passes: the same minimum as with all rows in memory, and a bound that proves it."""

import numpy as np
import pytest
from scipy.special import entr, expit, log_expit

from helpers.convex_solver import minimum
from quadric.geometry.lifting import lift
from quadric.geometry.terms import LINEAR, term_count, term_factors
from quadric.losses import loss_named
from quadric.losses.descent import scores_of
from quadric.losses.hinge import streamed
from quadric.losses.hinge.near_problem import NearProblem
from quadric.losses.hinge.split import SplitAt
from quadric.losses.logistic import Logistic
from quadric.losses.pass_problem import GAP, Passes
from quadric.losses.smooth.sums import SurfaceSums, by_label, scalars_of
from quadric.losses.survey import SurveyPass
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SamplesInMemory, scattered
from quadric.samples.target import Target
from quadric.search.rules import NO_LIMITS

N_FEATURES = 4
P = N_FEATURES * (N_FEATURES + 3) // 2


def planted(rng, m, noise=0.6, offset=0.0):
    X = rng.normal(size=(m, N_FEATURES)) + offset
    D = X - offset
    f = D[:, 0] * D[:, 1] + 0.7 * D[:, 2] - 0.5 * D[:, 3] ** 2 + 0.3 + noise * rng.normal(size=m)
    return X, (f > 0).astype(int)


def samples_of(X, codes, sample_weight=None, class_weight=(1.0, 1.0)):
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    return LabelledSamples(X, Target(codes, np.array(class_weight)), weight)


def in_memory(samples, C, support, loss="hinge"):
    problem = loss_named(loss).data(samples, NO_LIMITS).problem_for(1, C, len(support))
    return problem.step().refit(np.searchsorted(problem.terms, support)).value


def streamed_fit(samples, C, support, batch_rows=211, room=300, loss="hinge"):
    passes = Passes(SamplesInMemory(samples, batch_rows))
    survey = passes.total(SurveyPass(1, False, room))
    return loss_named(loss).streamed(passes, survey, survey.candidates(NO_LIMITS), C, len(support)).fit(support), passes.count


def cases():
    rng = np.random.default_rng(7)
    for seed in range(6):
        X, codes = planted(rng, 2500)
        yield f"plain{seed}", samples_of(X, codes), 10.0 ** rng.uniform(-2, 3)
    X, codes = planted(rng, 2000)
    yield "sample weights", samples_of(X, codes, rng.uniform(0.1, 5.0, 2000)), 3.0
    yield "class weights", samples_of(X, codes, rng.uniform(0.1, 5.0, 2000), (0.3, 4.0)), 3.0
    order = np.argsort(codes, kind="stable")
    yield "ordered by class", samples_of(X[order], codes[order]), 3.0
    order = np.argsort(X[:, 0])
    yield "ordered by a feature", samples_of(X[order], codes[order]), 3.0
    rounded, codes = planted(rng, 3000)
    rounded = np.round(rounded)
    yield "equal rows", samples_of(rounded, codes), 2.0
    X, codes = planted(rng, 2000, noise=0.0)
    yield "separable", samples_of(X, codes), 1e4
    yield "all rows below their margin", samples_of(*planted(rng, 2000)), 1e-6
    X, codes = planted(rng, 2000)
    rare = np.flatnonzero(codes == 0)[20:]
    yield "a rare class", samples_of(np.delete(X, rare, axis=0), np.delete(codes, rare)), 5.0
    yield "far from zero", samples_of(*planted(rng, 2000, offset=30.0)), 5.0


CASES = list(cases())
SUPPORT = np.array([0, 1, 4, 9, 11, 12])


both = pytest.mark.parametrize("loss", ["hinge", "logistic"])


@both
@pytest.mark.parametrize(("samples", "C"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_minimum_is_that_of_all_rows_and_the_bound_proves_it(samples, C, loss):
    fit, _ = streamed_fit(samples, C, SUPPORT, loss=loss)
    value = in_memory(samples, C, SUPPORT, loss)
    assert fit.value == pytest.approx(value, rel=2e-9)
    assert fit.bound <= value * (1.0 + 1e-12)
    assert fit.gap <= GAP


@both
def test_the_minimum_is_that_of_another_solver(loss):
    rng = np.random.default_rng(3)
    X, codes = planted(rng, 400)
    fit, _ = streamed_fit(samples_of(X, codes), 2.0, SUPPORT, batch_rows=17, room=60, loss=loss)
    assert fit.value == pytest.approx(minimum(X, 2.0 * codes - 1.0, loss, 2.0, support=SUPPORT), rel=1e-7)


def stream_of(samples, C, loss, batch_rows=500, room=300):
    passes = Passes(SamplesInMemory(samples, batch_rows))
    survey = passes.total(SurveyPass(1, False, room))
    return loss_named(loss).streamed(passes, survey, survey.candidates(NO_LIMITS), C, len(SUPPORT))


@both
def test_the_surface_reaches_its_value(loss):
    rng = np.random.default_rng(4)
    samples = samples_of(*planted(rng, 2000, offset=2.0), rng.uniform(0.5, 2.0, 2000), (1.0, 2.0))
    problem = loss_named(loss).data(samples, NO_LIMITS).problem_for(1, 3.0, len(SUPPORT))
    stream = stream_of(samples, 3.0, loss)
    fit = stream.fit(SUPPORT)
    z = np.zeros(P)
    z[SUPPORT] = fit.w[:-1]
    assert problem.objective(z, stream.intercept(SUPPORT, fit.w)) == pytest.approx(fit.value, rel=1e-12)


@pytest.mark.parametrize("batch_rows", [1, 64, 10_000])
@both
def test_batches_do_not_matter(batch_rows, loss):
    rng = np.random.default_rng(5)
    samples = samples_of(*planted(rng, 600))
    fit, _ = streamed_fit(samples, 2.0, SUPPORT, batch_rows=batch_rows, room=100, loss=loss)
    assert fit.value == pytest.approx(in_memory(samples, 2.0, SUPPORT, loss), rel=2e-9)
    assert fit.gap <= GAP


@both
def test_few_passes_suffice(loss):
    rng = np.random.default_rng(6)
    samples = samples_of(*planted(rng, 40_000))
    for C in (1.0, 16.0):
        _, count = streamed_fit(samples, C, SUPPORT, batch_rows=4096, room=4000, loss=loss)
        assert count <= 6


def test_more_near_rows_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(streamed, "NEAR_ROWS", 60)
    rng = np.random.default_rng(8)
    samples = samples_of(*planted(rng, 3000))
    fit, _ = streamed_fit(samples, 2.0, SUPPORT)
    assert fit.value == pytest.approx(in_memory(samples, 2.0, SUPPORT), rel=2e-9)
    assert fit.gap <= GAP


@both
def test_a_step_that_is_too_long_is_shortened(loss):
    """From a start that no sample suggests, the first small problem is a poor picture of F."""
    rng = np.random.default_rng(9)
    samples = samples_of(*planted(rng, 3000))
    stream = stream_of(samples, 50.0, loss)
    for seed in range(5):
        start = 3.0 * np.random.default_rng(seed).normal(size=len(SUPPORT) + 1)
        fit = stream.fit(SUPPORT, start)
        assert fit.value == pytest.approx(in_memory(samples, 50.0, SUPPORT, loss), rel=2e-9)


@both
def test_dual_points_bound_every_support(loss):
    rng = np.random.default_rng(10)
    samples = samples_of(*planted(rng, 1500), rng.uniform(0.5, 2.0, 1500), (1.0, 2.0))
    stream = stream_of(samples, 2.0, loss)
    fit = stream.fit(SUPPORT)
    for _ in range(8):
        support = np.sort(rng.choice(P, 6, replace=False))
        assert stream.bound_on(support, fit.constant, fit.pull[support]) <= in_memory(samples, 2.0, support, loss) * (
            1.0 + 1e-12
        )


def test_the_heavier_label_gives_way():
    rng = np.random.default_rng(13)
    X, codes = planted(rng, 300, offset=1.0)
    split = SamplesInMemory(samples_of(X, codes), 64).total(
        SplitAt(1, X[0], SUPPORT, np.zeros((1, len(SUPPORT) + 1)), 2.0, 300)
    )
    small = NearProblem(split, 1.0)
    alpha = rng.uniform(size=300) * np.where(small.y > 0, 1.0, 0.4)
    constant, pull = small.dual(alpha)
    light, heavy = alpha[small.y < 0].sum(), alpha[small.y > 0].sum()
    alpha[small.y > 0] *= light / heavy
    assert constant == pytest.approx(2.0 * light, rel=1e-12)
    rows = split.near.rows()
    np.testing.assert_allclose(pull, (rows.y * alpha) @ lift(rows.X), rtol=1e-10, atol=1e-10)


def test_a_split_accounts_for_every_row():
    rng = np.random.default_rng(11)
    samples = samples_of(*planted(rng, 1000), rng.uniform(0.5, 2.0, 1000), (1.0, 2.0))
    w = rng.normal(size=len(SUPPORT) + 1)
    for room in (1000, 50):
        split = SamplesInMemory(samples, 64).total(SplitAt(1, np.zeros(N_FEATURES), SUPPORT, w[None], 0.5, room))
        weight = split.far[:, 0].sum() + np.abs(split.near.rows().weight).sum()
        assert len(split.near) <= room
        assert weight == pytest.approx(samples.loss_weight.sum(), rel=1e-12)


def test_random_rows_do_not_depend_on_the_order_of_batches():
    rng = np.random.default_rng(12)
    X, codes = planted(rng, 1000)
    forth = SamplesInMemory(samples_of(X, codes), 90).total(SurveyPass(1, False, 100))
    whole = SamplesInMemory(samples_of(X, codes), 1000).total(SurveyPass(1, False, 100))
    mine, theirs = (survey.samples.classes[1].batch.ids for survey in (forth, whole))
    assert len(mine) == 50
    np.testing.assert_array_equal(mine, theirs)


def test_keys_look_random():
    keys = scattered(np.arange(100_000)) * 2.0**-64
    assert len(np.unique(keys)) == len(keys)
    assert np.histogram(keys, bins=10, range=(0, 1))[0] == pytest.approx(10_000, rel=0.05)
    assert abs(np.corrcoef(keys[:-1], keys[1:])[0, 1]) < 0.02


def test_entropies_of_multipliers_that_give_way_are_not_overrated():
    """Whatever the factor by which the heavier label gives way, and however far rows are below their margin."""
    rng = np.random.default_rng(14)
    margins, weight, y = rng.normal(size=400) * 6.0, rng.uniform(0.5, 2.0, 400), np.where(rng.random(400) < 0.5, -1.0, 1.0)
    for shift in (0.0, 1e-6, 1e-3, 0.1, 3.0):
        m = margins + shift * (y > 0)
        t = expit(-m)
        scalars = scalars_of(m, Logistic().at(m), by_label(y, weight))
        pulls = np.array([[[(weight * t)[y == s].sum()]] for s in (-1, 1)])
        constant, pull = SurfaceSums(np.zeros(1), pulls, scalars[None]).dual()
        heavy, light = sorted([-1, 1], key=lambda s: -(weight * t)[y == s].sum())
        t[y == heavy] *= (weight * t)[y == light].sum() / (weight * t)[y == heavy].sum()
        exact = float(weight @ (entr(t) + entr(1.0 - t)))
        assert constant <= exact * (1.0 + 1e-12)
        assert pull[0] == pytest.approx(float(weight @ (y * t)), abs=1e-9)
    assert constant < exact


def test_one_exponential_gives_all_that_sums_take_of_margins():
    m = np.concatenate([np.linspace(-40.0, 40.0, 2001), [-800.0, -1e-300, 0.0, 800.0]])
    at, t = Logistic().at(m), expit(-m)
    entropy = at[2]
    np.testing.assert_allclose(at[0], t, rtol=1e-14)
    np.testing.assert_allclose(at[1], -log_expit(m), rtol=1e-14)
    np.testing.assert_allclose(entropy, -t * log_expit(-m) - expit(m) * log_expit(m), rtol=1e-13)
    near = m >= -7.0
    slopes, bends, far = scalars_of(m, at, np.eye(len(m))).T[2:]  # of each row by itself
    np.testing.assert_allclose(slopes, np.where(near, t * m, 0.0), rtol=1e-13)
    np.testing.assert_allclose(bends, np.exp(np.where(near, -m, -np.inf)), rtol=1e-13)
    np.testing.assert_array_equal(far, np.where(near, 0.0, entropy))


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_scores_of_surfaces_are_those_of_lifted_rows(offset):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) + offset
    middle, surfaces = X.mean(axis=0) + 0.1, rng.normal(size=(3, 8))
    terms = rng.choice(term_count(4), 7, replace=False)
    left, right = (factors[terms] for factors in term_factors(4))
    exact = np.longdouble(np.vstack([X, middle]))  # its 18 digits are enough for rows that are far from zero
    lifted = exact[:, left] * np.where(right == LINEAR, 1.0, exact[:, right]) * np.where(left == right, 0.5, 1.0)
    expected = (lifted[:-1] - lifted[-1]) @ surfaces[:, :-1].T + surfaces[:, -1]
    scale = np.abs(lifted[:-1] - lifted[-1]) @ np.abs(surfaces[:, :-1].T) + 1.0
    assert (np.abs(scores_of(X, middle, terms, surfaces).T - expected) <= 1e-14 * scale).all()
