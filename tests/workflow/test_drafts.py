"""What pages show of drafts equals what is computed elsewhere."""

import numpy as np
import pytest

from quadric.credit import auc, ks_statistic
from quadric.workflow.drafts import area_and_distance


@pytest.mark.parametrize("seed", range(20))
def test_area_and_distance_are_those_of_credit(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 200))
    is_event = np.append(rng.random(m) < 0.3, [True, False])
    score = rng.normal(size=m + 2) + is_event
    if seed % 2:
        score = np.round(score)  # many ties
    expected = auc(is_event, score), ks_statistic(is_event, score)
    assert area_and_distance(is_event, score) == pytest.approx(expected, rel=1e-12)
