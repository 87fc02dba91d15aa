"""AUC and KS by sorting once are those of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from quadric.credit.metrics import area_and_distance


@pytest.mark.parametrize("seed", range(20))
def test_area_and_distance_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 200))
    is_event = np.append(rng.random(m) < 0.3, [True, False])
    score = rng.normal(size=m + 2) + is_event
    if seed % 2:
        score = np.round(score)  # many ties
    weight = np.ones(m + 2) if seed % 4 < 2 else rng.integers(1, 5, m + 2).astype(float)
    false, true, _ = roc_curve(is_event, score, sample_weight=weight, drop_intermediate=False)
    expected = roc_auc_score(is_event, score, sample_weight=weight), np.abs(true - false).max()
    assert area_and_distance(is_event, score, weight) == pytest.approx(expected, rel=1e-12)
