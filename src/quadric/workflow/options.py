"""What a training run is asked to do: the one declaration, from which the command line takes names, defaults and choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, datetime, timedelta
from functools import cache
from math import isinf
from typing import Any, Literal, get_args, get_origin, get_type_hints

from quadric.defaults import LARGEST_COUNT, LARGEST_SEED, LONGEST_GRID, MISSING, MOST_LEVELS
from quadric.errors import ParameterError, quoted
from quadric.losses import LOSS_NAMES, loss_named

# The loss and the kind of terms that are chosen with k and C
AUTO = "auto"


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
        Weight of the loss; None: chosen by cross-validation.
    loss : str
        One of LOSS_NAMES; "auto": chosen by cross-validation among the defaults of SparseQuadraticSVCCV, or the default of
        SparseQuadraticSVC where there is none.
    terms : {"auto", "linear", "quadratic"}
        Terms to choose from, as in SparseQuadraticSVCCV; "auto" without cross-validation means quadratic ones.
    method : {"best", "pd", "exact"}
        Of the final fit; cross-validation uses "best" where this is "exact".
    multiclass : {"ovr", "shared"}
        With more than two classes: terms of its own for each class, or one list of at most k terms for all of them.
    cross_validate : bool or None
        None: unless there is nothing to choose and nothing to calibrate. False: k and C are needed.
    folds : int
    groups : str or None
        Column whose equal values stay in the same fold, and in the same sample; not a feature.
    holdout : float or None
        Share of the rows that are set aside as a test sample, of each class or by whole groups. Nothing looks at them until the
        model is finished. Only ``train``, ``compare`` and what stands on them know of samples.
    time_column : str or None
        Column of dates, which is not a feature; rows after ``after`` are set aside as a later sample.
    after : str or None
        A day, such as 2026-01-31, or a moment.
    scoring : str
        What cross-validation chooses by: log_loss, accuracy, roc_auc, balanced_accuracy, brier, ks, average_precision, or the
        name of a scikit-learn scorer.
    rule : "best", "1se", float or None
        How cross-validation chooses k; a number is a tolerance in score. None: as SparseQuadraticSVCCV does.
    ks, Cs : tuples or None
        What it chooses from; ks is bounded by the number of terms that the data have, and by ``include``. None: as
        SparseQuadraticSVCCV does.
    positive : str or None
        Of two classes, the one with positive scores; None: as in ``target_labels``.
    favourable : str or None
        The class that people want, which explanations and advice then speak of; None: they do not, and there is no advice.
    standardize : bool
    clip : float or None
        Share of the rows beyond the limits at which columns are capped; None: not capped.
    coding : {"onehot", "ordinal"}
    missing : {"indicator", "impute", "drop", "refuse"}
        "drop" leaves out rows with missing values; the others are those of TableEncoder.
    unseen : {"other", "refuse"}
        What the model does later with a level that the data do not have, as in TableEncoder.
    rare : {"other", "keep"}
        What happens to levels with few rows, as in TableEncoder. "keep" also lets products of levels have few rows.
    max_levels : int
        Levels of a text column that stay, as in TableEncoder.
    ignore : tuple of str
        Columns that are not used.
    keep : tuple of str
        Columns that are used even if they look like identifiers.
    texts : tuple of str
        Columns of names that look like numbers or dates, such as codes.
    dates : tuple of str
        Columns of dates, which become days since the earliest date.
    missing_texts : tuple of str
        Texts in columns to learn from that mean a missing value, besides blank ones: those that the table was read with.
    forms : mapping
        How dates and numbers in columns of texts are written, as in ``TableEncoder``; by default found in the table. New rows
        are read the same way.
    class_weight : "balanced", mapping from class names to factors, or None
    calibrate : {"auto", "sigmoid", "isotonic"} or None
        Whether, and how, scores become probabilities, as in CalibratedModel.
    cutoff : float or str
        Probability above which the second of two classes is predicted, or a rule that chooses it, as in CalibratedModel.
    points : str or None
        Scale of a scorecard, "600:20:50": 600 points at odds of 50 to 1, and 20 points that double the odds. The model file
        keeps it for predictions, reports and exports. More points speak for ``favourable``, or else for the class that is not
        positive.
    include, exclude : tuples of str
        Names of terms; a column of categories stands for all of its features.
    interaction_cst, hierarchy, max_features, feature_cost, max_cost :
        Rules on terms and columns, as in SparseQuadraticSVC, by the names of columns; the features of one column count as one.
    monotonic_cst : mapping or None
        Columns (or levels, "home=rent") along which the score must never fall (1 or "increasing") or never rise (-1 or
        "decreasing"), by name; of more than two classes by class first, {"bad": {"income": -1}} or {"bad:income": -1}.
    coef_bounds : mapping or None
        Limits (low, high) of coefficients by the names of terms, None for none, in the units in which terms are counted; by
        class likewise.
    frozen : tuple of str
        Columns that advice on how to change a decision must leave alone; the model file keeps them.
    actionable : tuple of str
        The only columns that advice may touch, as in ``ExplainingOptions``; the model file keeps them, too.
    seed : int
        Of the hold-out, of the folds and of the search.
    n_jobs : int or None
        Processes for cross-validation; None: one per core where the data are large enough for that to pay.
    time_limit : float or None
        Seconds per surface of the final fit.
    gap_limit : float
        Relative gap at which a proof may stop.
    fit_time_limit : float or None
        Seconds for cross-validation and fit together.
    allow_degenerate : bool
        Whether a surface that is the same for all rows, but for rounding, is a result.
    """

    k: int | None = None
    C: float | None = None
    loss: str = AUTO
    terms: Literal["auto", "linear", "quadratic"] = "auto"
    method: Literal["best", "pd", "exact"] = "best"
    multiclass: Literal["ovr", "shared"] = "ovr"
    cross_validate: bool | None = None
    folds: int = 5
    groups: str | None = None
    holdout: float | None = None
    time_column: str | None = None
    after: str | None = None
    scoring: str = "log_loss"
    rule: str | float | None = None
    ks: tuple[int, ...] | None = None
    Cs: tuple[float, ...] | None = None
    positive: str | None = None
    favourable: str | None = None
    standardize: bool = True
    clip: float | None = 0.01
    coding: Literal["onehot", "ordinal"] = "onehot"
    missing: Literal["indicator", "impute", "drop", "refuse"] = "indicator"
    unseen: Literal["other", "refuse"] = "other"
    rare: Literal["other", "keep"] = "other"
    max_levels: int = 100
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    missing_texts: tuple[str, ...] = MISSING
    forms: Mapping[str, str] = field(default_factory=dict)
    class_weight: str | Mapping[str, float] | None = None
    calibrate: Literal["auto", "sigmoid", "isotonic"] | None = "auto"
    cutoff: float | str = 0.5
    points: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    interaction_cst: str | Sequence[Iterable[str]] | None = None
    hierarchy: Literal["weak", "strong"] | None = None
    max_features: int | None = None
    feature_cost: Mapping[str, float] | None = None
    max_cost: float | None = None
    monotonic_cst: Mapping[str, Any] | None = None
    coef_bounds: Mapping[str, Any] | None = None
    frozen: tuple[str, ...] = ()
    actionable: tuple[str, ...] = ()
    seed: int = 0
    n_jobs: int | None = None
    time_limit: float | None = None
    gap_limit: float = 0.0
    fit_time_limit: float | None = None
    allow_degenerate: bool = False

    def __post_init__(self) -> None:
        from quadric.estimators import validation as rule  # takes a second, which a help text does not have
        from quadric.estimators.cutoffs import EVEN, read_cutoff
        from quadric.fitted.points import ScoreScale
        from quadric.tables.dates import LIKE_THIS
        from quadric.workflow.scorers import check_scoring

        tolerance = rule.number_from(0.0)
        rules = {
            **{name: rule.one_of(*values) for name, values in choices().items()},
            "k": rule.N_TERMS,
            "max_features": rule.N_TERMS,
            "max_cost": tolerance,
            "C": rule.LOSS_WEIGHT,
            "folds": rule.integer_from(2, LARGEST_COUNT),
            "holdout": rule.Rule(lambda v: tolerance.holds(v) and 0.0 < v < 1.0, "a number between 0 and 1"),
            "after": rule.Rule(lambda v: end_of_day(v) is not None, f"a date such as {LIKE_THIS}"),
            "rule": rule.Rule(lambda v: v in ("best", "1se") or tolerance.holds(v), f"'best', '1se' or {tolerance.words}"),
            "class_weight": rule.Rule(
                lambda v: v == "balanced" or (isinstance(v, Mapping) and all(map(rule.LOSS_WEIGHT.holds, v.values()))),
                f"'balanced', or the weight of each class, {rule.LOSS_WEIGHT.words}",
            ),
            "clip": rule.Rule(lambda v: tolerance.holds(v) and v < 0.5, "a number from 0 to less than 0.5"),
            "max_levels": rule.integer_from(2, MOST_LEVELS),
            "seed": rule.integer_from(0, LARGEST_SEED),
            "n_jobs": rule.N_JOBS,
            "time_limit": tolerance,
            "gap_limit": rule.GAP_LIMIT,
            "fit_time_limit": tolerance,
        }
        for name in ("monotonic_cst", "coef_bounds"):
            if not isinstance(getattr(self, name), Mapping | None):
                raise OptionError(
                    f"{name} must be rules by the names of columns, got {quoted(getattr(self, name))}", **{name: None}
                )
        for name, wanted in rules.items():
            value = getattr(self, name)
            if not wanted.holds(value) and not (value is None and type(None) in get_args(_hints()[name])):
                raise OptionError(f"{name} must be {wanted.words}, got {quoted(value)}", **{name: None})
        if (self.time_column is None) != (self.after is None):
            missing = {"time_column" if self.time_column is None else "after": None}
            raise OptionError("a later sample needs both a column of dates and a day after which it begins", **missing)
        if self.cross_validate is False and (self.k is None or self.C is None):
            raise OptionError("without cross-validation k and C must be given", k=None, C=None)
        for name in ("ks", "Cs"):
            if len(getattr(self, name) or ()) > LONGEST_GRID:
                raise OptionError(f"{name} has {len(getattr(self, name)):,} values, more than {LONGEST_GRID:,}", **{name: None})
        if self.ks is not None and (
            not self.ks or list(self.ks) != sorted(set(self.ks)) or not all(map(rule.N_TERMS.holds, self.ks))
        ):
            raise OptionError(
                f"the numbers of terms to try must be increasing and from 1 to {LARGEST_COUNT:,}, got {_some(self.ks)}", ks=None
            )
        if self.Cs is not None and (not self.Cs or not all(map(rule.LOSS_WEIGHT.holds, self.Cs))):
            raise OptionError(f"the values of C to try must each be {rule.LOSS_WEIGHT.words}, got {_some(self.Cs)}", Cs=None)
        for name, check in {"cutoff": read_cutoff, "scoring": check_scoring, "points": ScoreScale.read}.items():
            try:
                if getattr(self, name) is not None:
                    check(getattr(self, name))
            except ValueError as error:
                raise OptionError(str(error), **{name: None}) from None
        if self.calibrate is None and self.cutoff != EVEN:
            raise OptionError("a cut-off is one on probabilities: calibrate the scores", calibrate="auto")
        if self.points is not None and self.calibrate not in ("auto", "sigmoid"):
            raise OptionError("points need probabilities by a sigmoid: calibrate the scores", points=None, calibrate="auto")

    @property
    def gives_probabilities(self) -> bool:
        """Whether the loss does without a calibration; one that is still to be chosen may not."""
        return self.loss != AUTO and loss_named(self.loss).has_probabilities

    @property
    def crosses(self) -> bool:
        """Whether cross-validation takes place."""
        is_open = None in (self.k, self.C) or self.loss == AUTO or self.calibrate is not None
        return is_open if self.cross_validate is None else self.cross_validate

    def recorded(self) -> dict[str, object]:
        """All options as plain values.

        Returns
        -------
        dict
        """
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        if not isinstance(self.interaction_cst, str | None):
            plain["interaction_cst"] = [sorted(members) for members in self.interaction_cst]
        if self.coef_bounds is not None:
            plain["coef_bounds"] = _recorded_limits(self.coef_bounds)
        return plain


def end_of_day(text: object) -> datetime | None:
    """The first moment after a day, or after a moment; None for a text that is neither.

    Parameters
    ----------
    text : Any
    """
    from quadric.tables.dates import parsed_date

    moment = parsed_date(text) if isinstance(text, str) else None
    if moment is None or moment.year == MAXYEAR:
        return None
    return moment + (timedelta(days=1) if len(str(text)) == len("2026-01-31") else timedelta(microseconds=1))


def _recorded_limits(limits: Any) -> Any:
    """Limits of coefficients by name, or by class and name, with None in the place of infinity."""
    if isinstance(limits, Mapping):
        return {name: _recorded_limits(own) for name, own in limits.items()}
    return [None if end is None or isinf(end) else float(end) for end in limits]


def _some(values: tuple[float, ...]) -> str:
    return ", ".join([*map(str, values[:8]), *["..."] * (len(values) > 8)]) or "none"


def choices() -> dict[str, tuple[str, ...]]:
    """The values to choose from, of options that have such.

    Returns
    -------
    dict
        Names of options, with their values.
    """
    listed: dict[str, tuple[str, ...]] = {"loss": (AUTO, *LOSS_NAMES)}
    for name, hint in _hints().items():
        for kind in (hint, *get_args(hint)):  # X, or X | None
            if get_origin(kind) is Literal:
                listed[name] = get_args(kind)
    return listed


@cache
def _hints() -> Mapping[str, Any]:
    """The types of the options: to read them, Python compiles the text of each."""
    return get_type_hints(TrainingOptions)
