"""Cut-offs are what enumeration finds, lie between scores, and are refused in one sentence where they make no sense."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_curve

from quadric.estimators.cutoffs import CutoffRule, read_cutoff


def sample(seed, weighted):
    rng = np.random.default_rng(seed)
    positive = rng.random(60) < 0.35
    probability = np.round(np.clip(0.35 + 0.25 * positive + 0.2 * rng.normal(size=60), 0.02, 0.98), 2)  # ties
    return positive, probability, rng.integers(1, 4, size=60).astype(float) if weighted else np.ones(60)


def every_cutoff(probability):
    levels = np.unique(np.concatenate([[0.0], probability, [1.0]]))
    return 0.5 * (levels[1:] + levels[:-1])


def judged(rule, positive, above, w):
    """The larger, the better; the rules in their own words."""
    misses, alarms = np.sum(w[positive & ~above]), np.sum(w[~positive & above])
    approved = np.sum(w[~above])
    if rule.name == "accuracy":
        return -(misses + alarms)
    if rule.name == "balanced":
        return round(balanced_accuracy_score(positive, above, sample_weight=w), 12)
    if rule.name == "ks":
        return round(np.sum(w[positive & above]) / w[positive].sum() - alarms / w[~positive].sum(), 12)
    if rule.name == "cost":
        return -(rule.numbers[0] * misses + rule.numbers[1] * alarms)
    if rule.name == "approval":
        return -abs(approved / w.sum() - rule.numbers[0])
    return approved if approved and misses / approved <= rule.numbers[0] else -np.inf


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", ["accuracy", "balanced", "ks", "cost:5:1", "cost:0:1", "approval:0.7", "badrate:0.2"])
def test_the_rule_is_kept_by_the_largest_of_the_best_cut_offs(text, weighted):
    rule = read_cutoff(text)
    for seed in range(40):
        positive, probability, weight = sample(seed, weighted)
        found = rule.cutoff(positive, probability, weight)
        assert np.abs(probability - found).min() > 1e-3  # clear of every score
        cutoffs = every_cutoff(probability)
        values = np.array([judged(rule, positive, probability > cutoff, weight) for cutoff in cutoffs])
        assert found == pytest.approx(cutoffs[values == values.max()].max(), abs=1e-12), seed


def test_balanced_and_ks_are_the_same_point_and_that_of_scikit_learn():
    for seed in range(20):
        positive, probability, weight = sample(seed, False)
        false, true, _ = roc_curve(positive, probability, drop_intermediate=False)
        found = [read_cutoff(text).cutoff(positive, probability, weight) for text in ("balanced", "ks")]
        assert found[0] == found[1]
        above = probability > found[0]
        assert above[positive].mean() - above[~positive].mean() == pytest.approx((true - false).max())


def test_probabilities_of_0_and_1_cannot_be_cut_off():
    positive, probability = np.array([True, False, True, False]), np.array([1.0, 0.0, 1.0, 1.0])
    assert CutoffRule("accuracy").cutoff(positive, probability, np.ones(4)) == 0.5
    assert read_cutoff("approval:0.99").cutoff(positive, np.array([1.0, 0.2, 1.0, 1.0]), np.ones(4)) == pytest.approx(0.6)
    assert read_cutoff("accuracy").cutoff(positive, np.array([0.0, 1.0, 0.0, 0.0]), np.ones(4)) == 0.5


def test_a_bad_rate_that_cannot_be_had_is_told():
    positive = np.array([True, False, True, True])
    with pytest.raises(
        ValueError, match=r"no cut-off has a bad rate of at most 0\.1 out of fold: the lowest is 0\.5, with 50 %"
    ):
        read_cutoff("badrate:0.1").cutoff(positive, np.array([0.1, 0.2, 0.3, 0.4]), np.ones(4))


@pytest.mark.parametrize("seed", range(20))
def test_fractional_weights_leave_no_rest_where_no_row_is_approved(seed):
    rng = np.random.default_rng(seed)
    positive, probability = rng.random(50) < 0.5, np.linspace(0.1, 0.9, 50)
    positive[0] = True  # the lowest score is bad: no cut-off approves only good rows
    with pytest.raises(ValueError, match=r"no cut-off has a bad rate of at most 0\.001 out of fold"):
        read_cutoff("badrate:0.001").cutoff(positive, probability, rng.random(50))


@pytest.mark.parametrize("value", [0.5, 0.25, np.float64(0.9)])
def test_numbers_are_cut_offs(value):
    assert read_cutoff(value) == value


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.2, np.nan, None, True, "", "cost", "cost:1", "cost:a:b", "mean", "ks:1"])
def test_other_values_are_refused_with_the_list_of_rules(value):
    with pytest.raises(ValueError, match=r"cutoff must be a number between 0 and 1, or one of accuracy, .*badrate:SHARE, got"):
        read_cutoff(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cost:-1:2", "costs of a cutoff must not be negative, nor both zero, got 'cost:-1:2'"),
        ("cost:0:0", "nor both zero"),
        ("approval:1.5", "share of a cutoff must be between 0 and 1, got 'approval:1.5'"),
        ("badrate:0", "share of a cutoff must be between 0 and 1"),
    ],
)
def test_impossible_numbers_of_a_rule_are_named(text, says):
    with pytest.raises(ValueError, match=says):
        read_cutoff(text)
