"""The tests on grades against their definitions: integrals, sums over all outcomes, and loops over all cells."""

from math import comb, erfc, log, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaincc, gammaln
from scipy.stats import mannwhitneyu

from quadric.credit import (
    Concentration,
    GradeTable,
    Migrations,
    auc_drop_test,
    binomial_test,
    concentration_test,
    hosmer_lemeshow_test,
    jeffreys_test,
)


def upper_tail(z):
    return 0.5 * erfc(z / sqrt(2))


@pytest.mark.parametrize("seed", range(4))
def test_calibration_of_grades(seed):
    rng = np.random.default_rng(seed)
    N, p = rng.integers(5, 60, 6), rng.uniform(0.02, 0.4, 6)
    D = rng.binomial(N, p)
    for d, n, q, jeffreys, binomial in zip(D, N, p, jeffreys_test(D, N, p), binomial_test(D, N, p), strict=True):
        a, b = d + 0.5, n - d + 0.5
        # t = s^2 takes the root out of the density at 0
        scale = np.exp(gammaln(a + b) - gammaln(a) - gammaln(b))
        area, _ = quad(
            lambda s, a=a, b=b: 2 * s ** (2 * a - 1) * (1 - s * s) ** (b - 1), 0, np.sqrt(q), epsabs=1e-14, epsrel=1e-13
        )
        assert jeffreys == pytest.approx(scale * area, abs=1e-10)
        assert binomial == pytest.approx(sum(comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(d, n + 1)), abs=1e-12)
    found = hosmer_lemeshow_test(np.append(D, 0), np.append(N, 0), np.append(p, np.nan))
    statistic = sum((d - n * q) ** 2 / (n * q * (1 - q)) for d, n, q in zip(D, N, p, strict=True))
    assert (found.statistic, found.p_value) == pytest.approx((statistic, gammaincc(3, statistic / 2)), abs=1e-12)
    assert np.isnan(jeffreys_test([0], [0], [np.nan])[0])


def test_only_whole_counts_are_tested():
    for events, counts, p, message in [
        ([1.5], [3], [0.1], "whole numbers, .* these tests take no weights"),
        ([4], [3], [0.1], "no more events than rows"),
        ([1], [3], [1.1], "probabilities must be from 0 to 1"),
        ([1, 2], [3], [0.1], "the same length"),
    ]:
        for test in (jeffreys_test, binomial_test, hosmer_lemeshow_test):
            with pytest.raises(ValueError, match=message):
                test(events, counts, p)


def test_a_table_of_grades_counts_its_rows():
    rng = np.random.default_rng(0)
    p = np.append(rng.uniform(0.01, 0.6, 200), [0.1, 0.3])
    event = rng.uniform(size=202) < p
    edges = [0.1, 0.3, 0.9]
    table = GradeTable.of(event, p, edges)
    ends = [(-np.inf, 0.1), (0.1, 0.3), (0.3, 0.9), (0.9, np.inf)]
    for row, (low, high) in zip(table.rows(), ends, strict=True):
        mine = (p > low) & (p <= high)
        assert (row["above"], row["upto"], row["count"], row["events"]) == (low, high, mine.sum(), event[mine].sum())
        if mine.any():
            assert (row["probability"], row["event_rate"]) == pytest.approx((p[mine].mean(), event[mine].mean()))
    assert np.isnan(table.jeffreys[3])
    by_score = GradeTable.of(event, p, np.log(edges), by=np.log(p))
    assert by_score.count.tolist() == table.count.tolist()


def test_discrimination_now_against_development():
    rng = np.random.default_rng(1)
    event, score = np.arange(90) % 3 == 0, rng.normal(size=90)
    score += event
    wins = np.subtract.outer(score[event], score[~event]) > 0
    error = sqrt(wins.mean(axis=1).var(ddof=1) / 30 + wins.mean(axis=0).var(ddof=1) / 60)
    area = mannwhitneyu(score[event], score[~event])[0] / 1800
    found = auc_drop_test(np.where(event, "bad", "good"), score, 0.9, event="bad")
    z = (0.9 - area) / error
    assert (found.statistic, found.p_value) == pytest.approx((z, upper_tail(z)), abs=1e-10)
    assert np.isnan(auc_drop_test(event, event.astype(float), 0.9).p_value)


def test_concentration_of_grades():
    before, now = [30, 40, 20, 10], [10, 70, 20, 0]

    def variation(rows):
        return sqrt(4 * sum((n / sum(rows) - 0.25) ** 2 for n in rows))

    for rows in (before, now):
        found = Concentration.of(rows)
        assert found.variation == pytest.approx(variation(rows), abs=1e-14)
        assert found.herfindahl == pytest.approx(1 + log(sum((n / sum(rows)) ** 2 for n in rows)) / log(4), abs=1e-12)
    assert Concentration.of([5] * 10).herfindahl == 0.0
    assert Concentration.of([0, 9]).herfindahl == pytest.approx(1.0)
    c, d = variation(before), variation(now)
    z = sqrt(3) * (d - c) / sqrt(d * d * (0.5 + d * d))
    found = concentration_test(before, now)
    assert (found.statistic, found.p_value) == pytest.approx((z, upper_tail(z)), abs=1e-12)
    assert np.isnan(concentration_test(before, [5, 5, 5, 5]).p_value)
    with pytest.raises(ValueError, match="two grades or more"):
        Concentration.of([5])
    with pytest.raises(ValueError, match="the same grades"):
        concentration_test([1, 2], [1, 2, 3])


def test_migrations_between_two_dates():
    rng = np.random.default_rng(2)
    K = 4
    before = {f"c{i}": int(rng.integers(K)) for i in range(120)}
    now = {f"c{i}": int(np.clip(before.get(f"c{i}", 0) + rng.integers(-2, 3), 0, K - 1)) for i in range(20, 130)}
    found = Migrations.of(before, now, K)
    counts = [[sum(before.get(c) == i and now[c] == j for c in now) for j in range(K)] for i in range(K)]
    gone = [sum(grade == i and c not in now for c, grade in before.items()) for i in range(K)]
    assert found.counts.tolist() == counts
    assert (found.gone.tolist(), found.n_new) == (gone, 10)
    N = [sum(counts[i]) + gone[i] for i in range(K)]
    p = [[counts[i][j] / N[i] for j in range(K)] for i in range(K)]
    for side, cells in zip(
        found.bandwidths,
        ([(i, j) for i in range(K) for j in range(i + 1, K)], [(i, j) for i in range(K) for j in range(i)]),
        strict=True,
    ):
        moved = sum(abs(i - j) * N[i] * p[i][j] for i, j in cells)
        most = sum(max(abs(i - (K - 1)), i) * N[i] * p[i][j] for i, j in cells)
        assert side == pytest.approx(moved / most, abs=1e-12)
    z = found.z_statistics
    for i in range(K):
        for j in range(K):
            near = j + 1 if j < i else j - 1
            if i == j:
                assert np.isnan(z[i, j])
            elif p[i][j] + p[i][near] > 0:
                a, b = p[i][j], p[i][near]
                error = sqrt((a * (1 - a) + b * (1 - b) + 2 * a * b) / N[i])
                assert z[i, j] == pytest.approx((b - a) / error, abs=1e-10)
    assert Migrations.of({"a": 0}, {"a": 0}, 2).bandwidths == (0.0, 0.0)
    assert np.isnan(Migrations.of({"a": 0}, {"a": 0}, 2).shares[1]).all()
