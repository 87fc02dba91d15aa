"""The training options of ``fit``, ``path`` and ``compare``: names, defaults and choices are those of TrainingOptions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer

from quadric.cli.flags import flag
from quadric.cli.inputs import class_weights, integers, numbers
from quadric.cli.options import Group
from quadric.losses import LOSS_NAMES
from quadric.workflow.options import TrainingOptions

EXACT_TIME_LIMIT = 60.0
"""Seconds per surface that a proof may take by default."""


@dataclass(frozen=True)
class Flag:
    """What the command line adds to a training option.

    Attributes
    ----------
    help : str
    metavar : str or None
    kind : type or None
        What the user types, where it is not a value of the option itself.
    read : function
        Turns that into the value.
    """

    help: str
    metavar: str | None = None
    kind: Any = None
    read: Callable[[Any], Any] = lambda value: value


def _several(help: str, metavar: str) -> Flag:  # noqa: A002
    return Flag(help, metavar, list[str] | None, lambda values: tuple(values or ()))


FLAGS = {
    "k": Flag("Largest number of terms. Without it, cross-validation chooses."),
    "C": Flag("Weight of the loss. Without it, cross-validation chooses, or it is 1 if there is none."),
    "loss": Flag("Loss to minimise."),
    "method": Flag("Search for the terms: local search, the paper's algorithm, or branch and bound with a proof."),
    "cross_validate": Flag("Choose k, C or both by cross-validation; on unless --k is given."),
    "folds": Flag("Folds of the cross-validation."),
    "rule": Flag("Choose the fewest terms within one standard error of the best accuracy, or the best accuracy."),
    "ks": Flag("Numbers of terms to try, such as 1:10,15.", "NUMBERS", str, partial(integers, option="--ks")),
    "Cs": Flag("Values of C to try.", "NUMBERS", str, partial(numbers, option="--Cs")),
    "positive": Flag("Class with positive scores.  [default: the last in sorted order]", "CLASS"),
    "standardize": Flag("Centre and scale the features."),
    "coding": Flag("Text columns: one-hot, dropping the most frequent level; or alphabetical ranks."),
    "missing": Flag(
        "Missing values: refuse them; drop their rows; impute the mean or the most frequent level; "
        "or impute, and add a missing-value flag."
    ),
    "unseen": Flag("Levels that only new data have: refuse them, or treat them as the dropped level."),
    "max_levels": Flag("Refuse text columns with more levels."),
    "ignore": _several("Column to leave out, such as an identifier. Repeatable.", "COLUMN"),
    "class_weight": Flag(
        "Weight of the errors of a class, repeatable; or: balanced.", "CLASS=WEIGHT", list[str] | None, class_weights
    ),
    "calibrate": Flag("Add probabilities, fitted on out-of-fold scores."),
    "include": _several("Term that must be used: age, age^2, 'age*income'. Repeatable.", "TERM"),
    "exclude": _several("Term that must not be used; 'age*' is every product of age. Repeatable.", "TERM"),
    "seed": Flag("Seed of folds and search: same seed, same result."),
    "n_jobs": Flag("Processes; the result does not depend on their number.  [default: one per core where that pays]"),
    "time_limit": Flag("Seconds per surface.  [default: 60 with --method exact, else none]"),
}


def training(without: Collection[str] = (), defaults: Mapping[str, Any] = {}, words: Mapping[str, str] = {}) -> Group:
    """The training options of one command.

    Parameters
    ----------
    without : collection of str
        Options that it does not have.
    defaults, words : mappings
        Defaults and help texts that differ from those of the others.
    """
    hints, parameters = get_type_hints(TrainingOptions) | {"loss": Literal[LOSS_NAMES]}, []
    for option in fields(TrainingOptions):
        name, own = option.name, FLAGS[option.name]
        if name not in without:
            kind = own.kind or hints[name]
            typed = typer.Option(_names(name, kind), metavar=own.metavar, help=words.get(name, own.help))
            default = _typed(defaults.get(name, option.default))
            parameters.append(_parameter(name, annotation=Annotated[kind, typed], default=default))
    return Group(parameters, _options)


_parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)


def _names(name: str, kind: Any) -> str:
    return f"{flag(name)}/--no-{flag(name)[2:]}" if bool in (kind, *get_args(kind)) else flag(name)


def _typed(default: Any) -> Any:
    """A default as the user would type it."""
    return (",".join(f"{value:g}" for value in default) or None) if isinstance(default, tuple) else default


def _options(**values: Any) -> TrainingOptions:
    options = {name: FLAGS[name].read(value) for name, value in values.items()}
    if options.get("method") == "exact" and options["time_limit"] is None:
        options["time_limit"] = EXACT_TIME_LIMIT
    return TrainingOptions(**options)
