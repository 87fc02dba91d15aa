"""What passes over batches find is what the whole table has, however it is cut into batches."""

import tracemalloc

import numpy as np
import pytest

from quadric import SparseQuadraticSVC
from quadric.losses.survey import surveyed
from quadric.samples import capped, quantiles
from quadric.samples.capped import Stream
from quadric.samples.extent import bytes_of_pairs
from quadric.samples.folds import folds_by_key
from quadric.samples.labelled import LabelledSamples
from quadric.samples.quantiles import CountedKeys, exact_caps
from quadric.samples.random_rows import RandomRows
from quadric.samples.source import SamplesInMemory
from quadric.samples.sums import BatchMoments
from quadric.samples.target import Target
from quadric.samples.units import Units, caps


def source(X, weight=None, batch_rows=100):
    weight = np.ones(len(X)) if weight is None else weight
    return SamplesInMemory(LabelledSamples(X, Target(np.arange(len(X)) % 2, np.ones(2)), weight), batch_rows)


def odd_columns(rng, m):
    return np.column_stack(
        [
            rng.normal(size=m),
            rng.integers(0, 4, m),
            rng.integers(0, 9, m),
            1e6 + 1e-3 * rng.normal(size=m),
            np.round(rng.normal(size=m), 1),
            np.zeros(m),
            1e100 * rng.standard_cauchy(m),
            np.where(rng.random(m) < 0.995, 0.0, rng.normal(size=m)),
            np.where(rng.random(m) < 0.5, -0.0, rng.normal(size=m)),
            1.0 + 1e-9 * rng.integers(0, 8, m),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("most_keys", [0, 50, 250_000])
def test_caps_are_exact_quantiles(monkeypatch, most_keys):
    monkeypatch.setattr(quantiles, "MOST_KEYS", most_keys)
    for seed in range(12):  # each combination of the remainders below
        rng = np.random.default_rng(seed)
        m = int(rng.integers(3, 3000))
        X, weight = odd_columns(rng, m), rng.integers(1, 4, m).astype(float) if seed % 2 else np.ones(m)
        X = X[np.argsort(X[:, 0])] if seed % 3 == 0 else X
        share = [0.01, 0.0, 0.1, 0.3][seed % 4]
        rows = source(X, weight, int(rng.integers(1, 1000)))
        found, expected = exact_caps(rows, share, rows.total(CountedKeys())), caps(X, weight, share)
        assert [limit.tolist() for limit in found] == [limit.tolist() for limit in expected]
        closed = exact_caps(rows, share, rows.total(CountedKeys()), closed=True)
        units = Units.of(X, weight, standardize=False, clip=share, closed=True)
        assert [limit.tolist() for limit in closed] == [units.low.tolist(), units.high.tolist()]


@pytest.mark.parametrize("most_keys", [0, 250_000])
def test_caps_where_most_batches_have_no_number_near_them(monkeypatch, most_keys):
    monkeypatch.setattr(quantiles, "MOST_KEYS", most_keys)
    X = np.random.default_rng(0).normal(size=(4000, 1))
    rows = source(X, batch_rows=20)
    found, expected = exact_caps(rows, 0.01, rows.total(CountedKeys())), caps(X, np.ones(len(X)), 0.01)
    assert [limit.tolist() for limit in found] == [limit.tolist() for limit in expected]


class Counting(SamplesInMemory):
    """Remembers what passes found."""

    found: tuple = ()

    def total(self, of):
        state = super().total(of)
        self.found += (state,)
        return state


def test_counts_take_no_more_room_with_more_rows(monkeypatch):
    monkeypatch.setattr(quantiles, "MOST_KEYS", 2_500)
    for m in (20_000, 200_000):
        X = np.random.default_rng(0).normal(size=(m, 3))
        rows = Counting(LabelledSamples(X, Target(np.arange(m) % 2, np.ones(2)), np.ones(m)), 10_000)
        found, expected = exact_caps(rows, 0.01, rows.total(CountedKeys())), caps(X, np.ones(m), 0.01)
        assert [limit.tolist() for limit in found] == [limit.tolist() for limit in expected]
        assert max(sum(len(column.keys) for column in counts.columns) for counts in rows.found) <= 2_500
        assert len(rows.found) <= 3


@pytest.mark.parametrize("without_weight", [0.0, 0.9])
def test_a_sample_of_known_rows_is_the_same_with_less_to_carry(monkeypatch, without_weight):
    monkeypatch.setattr(capped, "sample_size", lambda n_columns: 500)
    m = 40_000
    X = np.random.default_rng(1).normal(size=(m, 2))
    weight = (np.random.default_rng(2).random(m) >= without_weight).astype(float)
    kept = np.flatnonzero(weight)
    rows = source(X[kept], batch_rows=1000)
    rows.class_rows = np.array([m // 2, m // 2])  # of a table, before rows without weight are gone
    found = SparseQuadraticSVC(clip=None)._surveyed(Stream(rows, ("a", "b"), "y", np.array(["no", "yes"]))).sample
    expected = source(X[kept], batch_rows=1000).total(RandomRows(500)).batch
    assert found.ids.tolist() == expected.ids.tolist()
    draw = RandomRows.of(500, 0, rows.known_rows)
    carried = sum(len(batch.ids) for batch in rows.total(draw).batches)
    assert carried <= 700


@pytest.mark.parametrize("without_weight", [0.0, 0.95])
def test_the_sample_of_a_survey_does_not_depend_on_the_batches(without_weight):
    m = 30_000
    X = np.random.default_rng(1).normal(size=(m, 2))
    kept = np.flatnonzero(np.random.default_rng(2).random(m) >= without_weight)
    samples = []
    for batch_rows in (100, 1000, m):
        rows = source(X[kept], batch_rows=batch_rows)
        rows.class_rows = np.array([m // 2, m // 2])
        samples.append(surveyed(rows, 1, False, 2_000).sample)
    assert 1_000 < len(samples[0]) <= 2_000
    assert [sample.X.tolist() for sample in samples] == [samples[0].X.tolist()] * 3


def test_the_random_sample_does_not_depend_on_the_batches():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    samples = [source(X, batch_rows=size).total(RandomRows(300)).batch for size in (1, 7, 1000, 5000)]
    for other in samples[1:]:
        assert other.ids.tolist() == samples[0].ids.tolist()
        assert other.X.tolist() == samples[0].X.tolist()
    assert len(samples[0].ids) == 300
    assert abs(samples[0].ids.mean() - 2500) < 5 * 1443 / 300**0.5
    another = source(X).total(RandomRows(300, seed=1)).batch
    assert len(np.intersect1d(another.ids, samples[0].ids)) < 60
    assert len(source(X[:100]).total(RandomRows(300)).batch.ids) == 100


def test_folds_follow_from_the_key():
    batch = source(np.zeros((20_000, 1)), batch_rows=20_000).total(RandomRows(20_000)).batch
    folds = folds_by_key(batch, 5, 0)
    assert abs(np.bincount(folds, minlength=5) - 4000).max() < 400
    assert (folds_by_key(batch, 5, 1) != folds).mean() > 0.7
    grouped = folds_by_key(batch.part(np.arange(100)), 5, 0)
    assert grouped.tolist() == folds[:100].tolist()


def test_sums_make_the_units_of_a_fit():
    rng = np.random.default_rng(1)
    X, weight = np.column_stack([1e3 + rng.normal(size=999), np.full(999, 7.0), rng.normal(size=999)]), rng.integers(1, 3, 999)
    limits = np.array([999.0, -np.inf, -1.0]), np.array([np.inf, np.inf, 1.0])
    rows = source(X, weight.astype(float))
    found = rows.total(BatchMoments(("a", "b", "c"), "y", (0, 1), limits, False)).standardized(True).units
    expected = Units.of(np.clip(X, *limits), weight.astype(float), standardize=True, clip=None)
    np.testing.assert_allclose(found.center, expected.center, rtol=1e-13)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-11)


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("n_folds", [1, 5])
def test_sums_over_pairs_of_terms_take_what_was_estimated(n_folds, by_class):
    X = np.random.default_rng(0).normal(size=(3000, 40))
    columns = tuple(f"x{j}" for j in range(40))
    stream = Stream(source(X, batch_rows=500), columns, "y", np.array(["no", "yes"]))
    surveyed_rows = SparseQuadraticSVC()._surveyed(stream)
    tracemalloc.start()
    if n_folds == 1:
        surveyed_rows.moments(by_class=by_class)
    else:
        surveyed_rows.fold_moments(n_folds, by_class=by_class)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= bytes_of_pairs(40, n_folds * (2 if by_class else 1)) <= 1.5 * peak
