"""What a training run is asked to do: the one declaration, from which the command line takes names, defaults and choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from quadric.defaults import DEFAULT_CS, DEFAULT_KS, LARGEST_COUNT, LARGEST_SEED, LONGEST_GRID, MOST_LEVELS
from quadric.errors import ParameterError
from quadric.losses import LOSS_NAMES

INNER_FOLDS, INNER_KS, INNER_CS = 3, (2, 4, 8, 16), (4.0, 32.0)
"""What ``compare`` chooses from by default: a coarse grid, as it is searched once per fold."""


class OptionError(ParameterError):
    """An option makes no sense, or does not suit the data."""


@dataclass(frozen=True)
class TrainingOptions:
    """How a table becomes a model.

    Attributes
    ----------
    k : int or None
        Largest number of terms; None: chosen by cross-validation.
    C : float or None
        Weight of the loss; None: chosen by cross-validation where there is one, else 1.
    loss : {"hinge", "least_squares", "logistic"}
    method : {"best", "pd", "exact"}
        Of the final fit; cross-validation uses "best" where this is "exact".
    cross_validate : bool or None
        None: where k is to be chosen.
    folds : int
    rule : {"1se", "best"}
        How cross-validation chooses k.
    ks, Cs : tuples
        What it chooses from; ks is bounded by the number of terms that the data have, and by ``include``.
    positive : str or None
        Of two classes, the one with positive scores; None: the last in sorted order.
    standardize : bool
    coding : {"onehot", "ordinal"}
    missing : {"refuse", "drop", "impute", "indicator"}
        "drop" leaves out rows with missing values; the others are those of TableEncoder.
    unseen : {"refuse", "as_dropped"}
        What the model does later with a level that the data do not have.
    max_levels : int
        A text column with more levels is refused.
    ignore : tuple of str
        Columns that are not used.
    texts : tuple of str
        Columns of names that look like numbers or dates, such as codes.
    dates : tuple of str
        Columns of dates, which become days since the earliest date.
    missing_texts : tuple of str
        Other texts than blank ones that mean a missing value: those that the table was read with.
    class_weight : "balanced", mapping from class names to factors, or None
    calibrate : {"sigmoid", "isotonic"} or None
        Whether, and how, scores become probabilities.
    include, exclude : tuples of str
        Names of terms; a column of categories stands for all of its features.
    frozen : tuple of str
        Columns that advice on how to change a decision must leave alone; the model file keeps them.
    seed : int
        Of the folds and of the search.
    n_jobs : int or None
        Processes for cross-validation; None: one per core where the data are large enough for that to pay.
    time_limit : float or None
        Seconds per surface of the final fit.
    """

    k: int | None = None
    C: float | None = None
    loss: str = "hinge"
    method: Literal["best", "pd", "exact"] = "best"
    cross_validate: bool | None = None
    folds: int = 5
    rule: Literal["1se", "best"] = "1se"
    ks: tuple[int, ...] = DEFAULT_KS
    Cs: tuple[float, ...] = DEFAULT_CS
    positive: str | None = None
    standardize: bool = True
    coding: Literal["onehot", "ordinal"] = "onehot"
    missing: Literal["refuse", "drop", "impute", "indicator"] = "refuse"
    unseen: Literal["refuse", "as_dropped"] = "refuse"
    max_levels: int = 100
    ignore: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    missing_texts: tuple[str, ...] = ()
    class_weight: str | Mapping[str, float] | None = None
    calibrate: Literal["sigmoid", "isotonic"] | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()
    seed: int = 0
    n_jobs: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        from quadric.estimators import _validation as rule  # takes a second, which a help text does not have

        rules = {
            **{name: rule.one_of(*values) for name, values in choices().items()},
            "k": rule.N_TERMS,
            "C": rule.LOSS_WEIGHT,
            "folds": rule.integer_from(2, LARGEST_COUNT),
            "max_levels": rule.integer_from(2, MOST_LEVELS),
            "seed": rule.integer_from(0, LARGEST_SEED),
            "n_jobs": rule.N_JOBS,
            "time_limit": rule.number_from(0.0),
        }
        for name, wanted in rules.items():
            value = getattr(self, name)
            optional = getattr(type(self), name) is None
            if not wanted.holds(value) and not (optional and value is None):
                raise OptionError(f"{name} must be {wanted.words}, got {value!r}", **{name: None})
        if self.cross_validate is False and self.k is None:
            raise OptionError("without cross-validation the number of terms is needed: set k", k=None)
        for name in ("ks", "Cs"):
            if len(getattr(self, name)) > LONGEST_GRID:
                raise OptionError(f"{name} has {len(getattr(self, name)):,} values, more than {LONGEST_GRID:,}", **{name: None})
        if not self.ks or list(self.ks) != sorted(set(self.ks)) or not all(map(rule.N_TERMS.holds, self.ks)):
            raise OptionError(
                f"the numbers of terms to try must be increasing and from 1 to {LARGEST_COUNT:,}, got {_some(self.ks)}", ks=None
            )
        if not self.Cs or not all(map(rule.LOSS_WEIGHT.holds, self.Cs)):
            raise OptionError(
                f"the values of C to try must each be {rule.LOSS_WEIGHT.words}, got {_some(self.Cs)}",
                Cs=None,
            )
        if self.unseen == "as_dropped" and self.coding == "ordinal":
            raise OptionError(
                "a level that was not seen has no rank: unseen='as_dropped' needs coding='onehot'", coding="onehot"
            )

    @property
    def crosses(self) -> bool:
        """Whether cross-validation takes place."""
        return self.k is None if self.cross_validate is None else self.cross_validate

    def recorded(self) -> dict[str, object]:
        """All options as plain values.

        Returns
        -------
        dict
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


def _some(values: tuple[float, ...]) -> str:
    return ", ".join([*map(str, values[:8]), *["..."] * (len(values) > 8)]) or "none"


def choices() -> dict[str, tuple[str, ...]]:
    """The values to choose from, of options that have such.

    Returns
    -------
    dict
        Names of options, with their values.
    """
    listed: dict[str, tuple[str, ...]] = {"loss": LOSS_NAMES}
    for name, hint in get_type_hints(TrainingOptions).items():
        for kind in (hint, *get_args(hint)):  # X, or X | None
            if get_origin(kind) is Literal:
                listed[name] = get_args(kind)
    return listed
