"""Intervals of measures: DeLong's from its definition, those of bootstrap samples from scikit-learn's measures."""

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import mannwhitneyu, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_curve

from quadric.credit import auc_interval
from quadric.credit.intervals import AreaEstimate, bootstrap_counts
from quadric.credit.measuring import FOLD_MEANS, ScoredSample, sample_measures


def scored(seed, m=80, *, folds=None):
    """Scores with ties, and probabilities that go with them."""
    rng = np.random.default_rng(seed)
    codes = np.r_[0, 1, 0, 1, rng.integers(0, 2, m - 4)]
    score = np.round(codes + rng.normal(size=m), 1)
    p = 1 / (1 + np.exp(-0.7 * score + 0.2))
    chances = np.column_stack([1 - p, p])
    return ScoredSample(codes, (p > 0.5).astype(int), score, chances, np.ones(m), folds)


def by_definition(is_event, score):
    """The area and its variance from the matrix of all pairs, as DeLong, DeLong and Clarke-Pearson write them."""
    wins = np.subtract.outer(score[is_event], score[~is_event])
    wins = (wins > 0) + 0.5 * (wins == 0)
    events, others = wins.shape
    return wins.mean(), wins.mean(axis=1).var(ddof=1) / events + wins.mean(axis=0).var(ddof=1) / others


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_an_area_is_that_of_delong(seed):
    sample = scored(seed)
    event, score = sample.is_event, sample.score
    area, variance = by_definition(event, score)
    assert area == pytest.approx(mannwhitneyu(score[event], score[~event])[0] / event.sum() / (~event).sum(), abs=1e-12)
    for level in (0.9, 0.95):
        found, width = auc_interval(event, score, level=level), norm.ppf((1 + level) / 2) * np.sqrt(variance)
        assert (found.value, found.low, found.high) == pytest.approx((area, area - width, min(area + width, 1)), abs=1e-12)
    weight = np.random.default_rng(seed).integers(1, 4, len(score))
    repeated = by_definition(np.repeat(event, weight), np.repeat(score, weight))
    found = AreaEstimate.of(event, score, weight.astype(float))
    assert (found.value, found.variance) == pytest.approx(repeated, abs=1e-12)
    assert np.isnan(auc_interval([0, 0, 1], [0.0, 1.0, 2.0]).low)
    with pytest.raises(ValueError, match="level must be below 1, got 1"):
        auc_interval(event, score, level=1)


def of_rows(sample, rows):
    """The measures of some rows, with repetitions, by scikit-learn."""
    y, p, score = sample.codes[rows], sample.chances[rows, 1], sample.score[rows]
    false, true, _ = roc_curve(y, score, drop_intermediate=False)
    line = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(logit(p)[:, None], y)
    return {
        "event rate": y.mean(),
        "mean probability": p.mean(),
        "accuracy": accuracy_score(y, sample.predicted[rows]),
        "KS": np.abs(true - false).max(),
        "Brier score": brier_score_loss(y, p),
        "log loss": log_loss(y, p),
        "calibration intercept": line.intercept_[0],
        "calibration slope": line.coef_[0, 0],
    }


def test_bootstrap_intervals_are_quantiles_of_the_measures_of_bootstrap_samples():
    sample, n_boot = scored(0), 20
    found = sample_measures(sample, n_boot, 3)
    own = of_rows(sample, np.arange(80))
    drawn = [of_rows(sample, np.repeat(np.arange(80), counts.astype(int))) for counts in bootstrap_counts(80, None, n_boot, 3)]
    for name, value in own.items():
        ends = np.quantile([each[name] for each in drawn], [0.025, 0.975])
        assert (found[name].value, found[name].low, found[name].high) == pytest.approx((value, *ends), abs=1e-10)
    assert found["Gini"].low == pytest.approx(2 * found["AUC"].low - 1, abs=1e-15)


def test_rows_of_folds_are_measured_fold_by_fold():
    folds = np.arange(80) % 3
    sample, whole = scored(1, folds=folds), scored(1)
    found, parts = sample_measures(sample, 30), [of_rows(sample, np.flatnonzero(folds == fold)) for fold in range(3)]
    for name in FOLD_MEANS:
        assert found[name].value == pytest.approx(np.mean([part[name] for part in parts]), abs=1e-12)
        assert found[name].low < found[name].value < found[name].high
    assert found["KS"].value == sample_measures(whole, 0)["KS"].value
    areas = np.array([by_definition(sample.is_event[folds == fold], sample.score[folds == fold]) for fold in range(3)])
    width = norm.ppf(0.975) * np.sqrt(areas[:, 1].sum()) / 3
    ends = areas[:, 0].mean() + width * np.array([0.0, -1.0, 1.0])
    assert (found["AUC"].value, found["AUC"].low, found["AUC"].high) == pytest.approx(ends, abs=1e-12)
    for counts in bootstrap_counts(80, folds, 5):
        assert np.bincount(folds, weights=counts).tolist() == np.bincount(folds).tolist()
