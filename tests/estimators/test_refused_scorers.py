"""Scorers that a cross-validation cannot use are refused in one sentence."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error

from helpers import random_samples
from quadric import SparseQuadraticSVCCV
from quadric._sklearn import scorer_misfit
from quadric.errors import ParameterError


def not_a_number(model, X, y):
    return np.nan


def broken(model, X, y):
    raise RuntimeError("no luck\ntoday.")


@pytest.mark.parametrize(
    ("scoring", "says"),
    [
        ("r2", "such as accuracy, balanced_accuracy, .*, got 'r2', which is for numbers$"),
        ("rand_score", "got 'rand_score', which is for clusters"),
        ("recall_samples", "got 'recall_samples', which is for several labels per row$"),
        (make_scorer(mean_absolute_error, greater_is_better=False), "which is for numbers$"),
        (not_a_number, "^the scorer returned nan in fold 0: choose another one$"),
        (broken, "^the scorer failed in fold 0: no luck today; choose another one$"),
    ],
)
def test_scorers_that_tell_nothing_of_classes(scoring, says):
    X, y = random_samples(0, m=40, n=2)
    model = SparseQuadraticSVCCV(ks=[1], Cs=[1.0], cv=2, loss="least_squares", scoring=scoring)
    with pytest.raises(ParameterError, match=says) as refused:
        model.fit(X, (y > 0).astype(int))
    assert refused.value.remedies == {"scoring": None}


def test_a_scorer_of_nobody_knows_what_is_tried():
    assert scorer_misfit(not_a_number) is None
