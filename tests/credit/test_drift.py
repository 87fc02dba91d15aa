"""Distributions add up, drift is what a loop over rows says, and the parts of a score's change sum to it."""

import json
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import random_samples
from quadric import SparseQuadraticSVC
from quadric.credit import (
    Distribution,
    Drift,
    column_drifts,
    contribution_drifts,
    population_stability_index,
    stability_table,
)
from quadric.explain import contributions


def slow_psi(before, now, bin_of):
    """By a loop over bins; every row is in one, missing values in their own."""
    places = sorted({bin_of(value) for value in [*before, *now]}, key=str)
    total = 0.0
    for place in places:
        shares = [max(sum(bin_of(value) == place for value in rows) / len(rows), 1e-4) for rows in (before, now)]
        total += (shares[1] - shares[0]) * np.log(shares[1] / shares[0])
    return total


@pytest.mark.parametrize("seed", range(8))
def test_psi_of_texts_and_gaps_by_a_loop(seed):
    rng = np.random.default_rng(seed)
    before = rng.choice(np.array(["a", "b", "c", None], dtype=object), 200)
    now = rng.choice(np.array(["a", "b", "new", "newer", None], dtype=object), 90)
    found = Drift.between("home", first := Distribution.of(before), first.like(now))
    known = {"a", "b", "c", None}
    assert found.psi == pytest.approx(slow_psi(before, now, lambda v: v if v in known else "other"), abs=1e-10)
    assert found.new_levels == pytest.approx(np.mean([value not in known for value in now]))
    assert found.missing_before == pytest.approx(np.mean([value is None for value in before]))
    assert found.missing_now == pytest.approx(np.mean([value is None for value in now]))
    assert np.isnan(found.mean_before)


@pytest.mark.parametrize("seed", range(8))
def test_psi_of_numbers_with_gaps_by_a_loop(seed):
    rng = np.random.default_rng(seed)
    before, now = rng.normal(size=300), rng.normal(0.4, 1.3, size=120)
    before[rng.random(300) < 0.1] = np.nan
    now[rng.random(120) < 0.3] = np.nan
    first = Distribution.of(before, 5)
    found = Drift.between("income", first, first.like(now))
    edges = stability_table(before[~np.isnan(before)], now[~np.isnan(now)], 5).upto[:-1]
    assert_array_equal(first.edges, edges)

    def bin_of(value):
        return "gap" if np.isnan(value) else sum(value > edge for edge in edges)

    assert found.psi == pytest.approx(slow_psi(before, now, bin_of), abs=1e-10)
    assert [found.mean_before, found.mean_now] == pytest.approx([np.nanmean(before), np.nanmean(now)])
    assert found.new_levels == 0.0


def test_without_gaps_it_is_the_stability_index():
    rng = np.random.default_rng(0)
    before, now = rng.normal(size=400), rng.normal(0.5, 1.0, size=100)
    weight = rng.integers(1, 4, size=100)
    first = Distribution.of(before)
    plain = population_stability_index(before, now, actual_weight=weight)
    assert Drift.between("score", first, first.like(now, weight)).psi == pytest.approx(plain, abs=1e-12)
    assert first.like(now, weight).n_rows == weight.sum()


def test_parts_add_up_and_come_back_from_a_file():
    rng = np.random.default_rng(1)
    columns = [rng.normal(size=90), rng.choice(np.array(["x", "y", None], dtype=object), 90)]
    for column in columns:
        whole = Distribution.of(column)
        parts = whole.like(column[:30]) + whole.like(column[30:])
        assert_array_equal(parts.counts, whole.counts)
        assert parts.total == pytest.approx(whole.total)
        assert parts.n_missing == whole.n_missing
        again = Distribution.from_record(json.loads(json.dumps(whole.recorded())))
        assert again.has_bins_of(whole)
        assert_array_equal(again.counts, whole.counts)
        assert (again.n_missing, again.total) == (whole.n_missing, whole.total)


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"edges": [1.0], "counts": [1.0], "missing": 0.0, "total": 0.0},
        {"edges": [2.0, 1.0], "counts": [1, 1, 1], "missing": 0.0, "total": 0.0},
        {"edges": [1.0], "levels": ["a"], "counts": [1, 1], "missing": 0.0, "total": 0.0},
        {"levels": ["a", "a"], "counts": [1, 1, 1], "missing": 0.0, "total": 0.0},
        {"levels": ["a"], "counts": [1, -1], "missing": 0.0, "total": 0.0},
        {"levels": ["a"], "counts": [0, 0], "missing": 0.0, "total": 0.0},
        {"levels": [1], "counts": [1, 1], "missing": 0.0, "total": 0.0},
        {"levels": ["a"], "counts": [1, 1], "missing": True, "total": 0.0},
        {"levels": ["a"], "counts": [1, float("inf")], "missing": 0.0, "total": 0.0},
    ],
)
def test_records_that_make_no_sense_are_none(record):
    assert Distribution.from_record(record) is None


def test_columns_of_frames_with_dates_booleans_and_gaps():
    days = [date(2025, 1, 1) + timedelta(days=i) for i in range(100)]
    before = pd.DataFrame({"day": pd.to_datetime(days), "own": [True, False] * 50, "empty": [None] * 100})
    now = before.assign(day=before["day"] + pd.Timedelta(days=50), own=True)
    found = {each.name: each for each in column_drifts(before, now)}
    assert list(found) == ["day", "own", "empty"]
    assert found["day"].mean_now - found["day"].mean_before == pytest.approx(50.0)
    assert found["own"].psi == pytest.approx(0.5 * np.log(2.0) + (1e-4 - 0.5) * np.log(1e-4 / 0.5))
    assert (found["empty"].psi, found["empty"].missing_now) == (0.0, 1.0)
    assert [each.psi for each in column_drifts(before, before)] == [0.0, 0.0, 0.0]
    assert [each.name for each in column_drifts(before, now, ["own"])] == ["own"]


def test_of_many_levels_the_most_frequent_are_counted():
    many = np.array([f"level {i}" for i in range(150)] + ["level 149"] * 5, dtype=object)
    found = Distribution.of(many)
    assert len(found.levels) == 100
    assert "level 149" in found.levels
    assert found.other_share == pytest.approx(50 / 155)
    assert Distribution.of(many, levels=["level 3"]).counts.tolist() == [1.0, 154.0]


def test_bins_and_kinds_that_do_not_fit_are_refused():
    numbers, texts = Distribution.of([1.0, 2.0, 3.0]), Distribution.of(np.array(["a", "b"], dtype=object))
    with pytest.raises(ValueError, match="different bins do not add up"):
        numbers + Distribution.of([1.0, 9.0])
    with pytest.raises(ValueError, match="distributions of age have different bins"):
        Drift.between("age", numbers, texts)
    with pytest.raises(ValueError, match="texts cannot be counted in bins of numbers"):
        numbers.like(np.array(["a"], dtype=object))
    with pytest.raises(ValueError, match="there are no values"):
        numbers.like([])
    assert texts.like([1.0, 2.0]).other_share == 1.0


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_drift_of_the_terms_sums_to_the_change_of_the_mean_score(loss):
    X, y = random_samples(3, m=200, n=4, noise=0.5)
    model = SparseQuadraticSVC(k=4, loss=loss).fit(X, y)
    now = X[:80] * 1.3 + 0.2
    found = contribution_drifts(model, X, now)
    change = model.decision_function(now).mean() - model.decision_function(X).mean()
    assert sum(each.mean_now - each.mean_before for each in found) == pytest.approx(change, abs=1e-10)
    split = contributions(model, X)
    assert [each.name for each in found] == split.names
    moved = contributions(model, now).values
    for each, old, new in zip(found, split.values.T, moved.T, strict=True):
        assert each.psi == pytest.approx(population_stability_index(old, new), abs=1e-10)
    other = contribution_drifts(model, X, now, target=model.classes_[0])
    assert_allclose([each.mean_now for each in other], [-each.mean_now for each in found])
