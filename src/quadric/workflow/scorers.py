"""What cross-validation can maximise: short names of the usual measures, and any scorer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from quadric._sklearn import scorer_misfit, scorer_towards
from quadric.credit import ks_statistic
from quadric.errors import near_name, quoted


@dataclass(frozen=True)
class Measure:
    """A measure with a short name.

    Attributes
    ----------
    words : str
        What people call it.
    scorer : str or callable
        As scikit-learn knows it.
    is_share : bool
        Whether it is written in percent.
    sign : int
        -1 where the scorer is the measure with its sign turned.
    two_classes : bool
        Whether it needs them.
    """

    words: str
    scorer: str | Callable[..., float]
    is_share: bool = False
    sign: int = 1
    two_classes: bool = False


MEASURES = {
    "log_loss": Measure("log-loss", "neg_log_loss", sign=-1),
    "accuracy": Measure("accuracy", "accuracy", is_share=True),
    "roc_auc": Measure("AUC", "roc_auc", two_classes=True),
    "balanced_accuracy": Measure("balanced accuracy", "balanced_accuracy", is_share=True),
    "brier": Measure("Brier score", "neg_brier_score", sign=-1, two_classes=True),
    "ks": Measure("KS", make_scorer(ks_statistic, response_method="decision_function"), two_classes=True),
    "average_precision": Measure("average precision", "average_precision", two_classes=True),
}


def measure_named(name: str) -> Measure:
    """A measure by its short name, or the scorer of scikit-learn with that name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Measure
    """
    return MEASURES.get(name) or Measure(name.removeprefix("neg_"), name, sign=-1 if name.startswith("neg_") else 1)


def check_scoring(name: str) -> None:
    """Refuse a name that neither we nor scikit-learn know, or that is not for classes.

    Parameters
    ----------
    name : str
    """
    if isinstance(name, str) and name in MEASURES:
        return  # to ask for all scorers of scikit-learn takes a while
    misfits = dict.fromkeys(MEASURES) | {other: scorer_misfit(get_scorer(other)) for other in get_scorer_names()}
    misfit = misfits.get(name, "") if isinstance(name, str) else ""
    if misfit is None:
        return
    usable = [other for other, subject in misfits.items() if subject is None]
    near = near_name(name, usable) if isinstance(name, str) and not misfit else None
    words = f", which is for {misfit}" if misfit else f" (did you mean {quoted(near)}?)" if near else ""
    raise ValueError(
        f"scoring must be one of {', '.join(MEASURES)} or another scorer of classes of scikit-learn, got {quoted(name)}{words}"
    )


def scorer_for(name: str, y: np.ndarray) -> Any:
    """The scorer for labels of any type; of two, the second is the positive one.

    Parameters
    ----------
    name : str
    y : array of labels

    Returns
    -------
    callable
    """
    classes = np.unique(y).tolist()
    measure = measure_named(name)
    if measure.two_classes and len(classes) > 2:
        raise ValueError(f"scoring {quoted(name)} needs two classes, and the target has {len(classes)}")
    scorer = get_scorer(measure.scorer) if isinstance(measure.scorer, str) else measure.scorer
    return scorer_towards(scorer, classes[1]) if len(classes) == 2 else scorer
