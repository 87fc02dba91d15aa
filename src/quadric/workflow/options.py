"""What a training run is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from quadric.estimators._grids import DEFAULT_CS, DEFAULT_KS
from quadric.estimators._validation import Rule, check_values, integer_from, number_above, number_from, one_of
from quadric.estimators.calibration import METHODS as CALIBRATIONS
from quadric.losses import LOSS_NAMES
from quadric.search.methods import METHODS

KS = DEFAULT_KS
"""Numbers of terms that cross-validation tries unless told."""
CS = DEFAULT_CS
"""Values of C that cross-validation tries unless told."""
MISSING = ("refuse", "drop", "impute", "indicator")


class OptionError(ValueError):
    """An option asks for something that the data do not have."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a table becomes a model.

    Attributes
    ----------
    k : int or None
        Largest number of terms; None: chosen by cross-validation.
    C : float or None
        Weight of the loss; None: chosen by cross-validation where there is one, else 1.
    loss : {"hinge", "least_squares"}
    method : {"best", "pd", "exact"}
        Of the final fit; cross-validation uses "best" where this is "exact".
    cross_validate : bool or None
        None: where k is to be chosen.
    folds : int
    rule : {"1se", "best"}
        How cross-validation chooses k.
    ks, Cs : tuples
        What it chooses from; the number of terms that there are and ``include`` bound ks.
    positive : str or None
        Of two classes the one that a high score is to mean; None: the last in sorted order.
    ignore : tuple of str
        Columns that are not used.
    standardize : bool
    coding : {"onehot", "ordinal"}
    missing : {"refuse", "drop", "impute", "indicator"}
        "drop" leaves out rows with missing values; the others are those of TableEncoder.
    unseen : {"refuse", "as_dropped"}
        What the model is to do with a level that the data do not have.
    max_levels : int
        A text column with more levels is refused.
    class_weight : "balanced", mapping from class names to factors, or None
    calibrate : {"sigmoid", "isotonic"} or None
        Whether, and how, scores become probabilities.
    include, exclude : tuples of str
        Names of terms; a column of categories stands for all of its features.
    seed : int
        Of the folds and of the search.
    time_limit : float or None
        Seconds a surface of the final fit.
    n_jobs : int or None
        Processes for cross-validation; None: one a core where the data are large enough to pay for it.
    """

    k: int | None = None
    C: float | None = None
    loss: str = "hinge"
    method: Literal["best", "pd", "exact"] = "best"
    cross_validate: bool | None = None
    folds: int = 5
    rule: Literal["1se", "best"] = "1se"
    ks: tuple[int, ...] = KS
    Cs: tuple[float, ...] = CS
    positive: str | None = None
    ignore: tuple[str, ...] = ()
    standardize: bool = True
    coding: str = "onehot"
    missing: str = "refuse"
    unseen: str = "refuse"
    max_levels: int = 100
    class_weight: str | Mapping[str, float] | None = None
    calibrate: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    seed: int = 0
    time_limit: float | None = None
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        given = {name: rule for name, rule in RULES.items() if name not in OPTIONAL or getattr(self, name) is not None}
        check_values(vars(self), given)
        if self.cross_validate is False and self.k is None:
            raise ValueError("without cross-validation the number of terms must be given: set k")
        if not self.ks or list(self.ks) != sorted(set(self.ks)) or self.ks[0] < 1:
            raise ValueError(f"the numbers of terms to try must be increasing and at least 1, got {list(self.ks)}")
        if not self.Cs or not all(number_above(0.0).holds(C) for C in self.Cs):
            raise ValueError(f"the values of C to try must be finite numbers above 0, got {list(self.Cs)}")
        if self.unseen == "as_dropped" and self.coding == "ordinal":
            raise ValueError("an unknown level has no rank: unseen as_dropped needs the coding onehot")

    @property
    def crosses(self) -> bool:
        """Whether cross-validation takes place."""
        return self.k is None if self.cross_validate is None else self.cross_validate

    def recorded(self) -> dict[str, object]:
        """All options as plain values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


OPTIONAL = ("k", "C", "calibrate", "time_limit")
RULES: dict[str, Rule] = {
    "k": integer_from(1),
    "C": number_above(0.0),
    "loss": one_of(*LOSS_NAMES),
    "method": one_of(*METHODS),
    "folds": integer_from(2),
    "rule": one_of("1se", "best"),
    "coding": one_of("onehot", "ordinal"),
    "missing": one_of(*MISSING),
    "unseen": one_of("refuse", "as_dropped"),
    "max_levels": integer_from(2),
    "calibrate": one_of(*CALIBRATIONS),
    "seed": integer_from(0),
    "time_limit": number_from(0.0),
}
