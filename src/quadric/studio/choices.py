"""What an analyst does to a model: each choice changes the options of the fit, and says so in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from quadric.errors import quoted
from quadric.losses import LOSS_NAMES
from quadric.workflow.options import TrainingOptions

# What is chosen on the page, with its value or its words
HIERARCHIES = {"no": None, "weak": "weak", "strong": "strong"}
SIGNS = {"may rise or fall": 0, "never falls": 1, "never rises": -1}
KINDS = {"linear": "linear terms only", "quadratic": "squares and products, too"}


class ChoiceError(ValueError):
    """A choice that makes no sense; the words are for the page."""


def changed(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    """Options after a choice, and the choice in words.

    Parameters
    ----------
    options : TrainingOptions
    choice : mapping
        ``do``, one of CHOICES, and what that takes. To leave a column out takes ``terms``, the names of all of its terms, and
        ``names`` that stand for all of them together, too.

    Returns
    -------
    TrainingOptions, str
    """
    return CHOICES[_one_of(choice, "do", CHOICES)](options, choice)


def _k(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    k = _integer(choice, "k")
    return replace(options, k=k), f"{k} terms"


def _forbid(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    term = _text(choice, "term")
    options = _without(options, term)
    return replace(options, exclude=(*options.exclude, term)), f"forbid {term}"


def _force(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    term = _text(choice, "term")
    options = _without(options, term)
    return replace(options, include=(*options.include, term)), f"force {term}"


def _release(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    term = _text(choice, "term")
    return _without(options, term), f"leave {term} to the search"


def _swap(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    out, into = _text(choice, "out"), _text(choice, "into")
    return swapped(options, out, into), f"{into} in place of {out}"


def swapped(options: TrainingOptions, out: str, into: str) -> TrainingOptions:
    """Options that forbid one term and force another.

    Parameters
    ----------
    options : TrainingOptions
    out, into : str
    """
    options = _without(options, out, into)
    return replace(options, exclude=(*options.exclude, out), include=(*options.include, into))


def _column(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    column, names, terms = _text(choice, "column"), choice["names"], choice["terms"]
    others = tuple(term for term in options.exclude if term not in names)
    if choice.get("out"):
        include = tuple(term for term in options.include if term not in terms)
        return replace(options, include=include, exclude=(*others, *names)), f"leave out the column {column}"
    return replace(options, exclude=others), f"use the column {column} again"


def _hierarchy(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    rule = _one_of(choice, "rule", HIERARCHIES)
    hierarchy: Any = HIERARCHIES[rule]
    return replace(options, hierarchy=hierarchy), f"{rule} hierarchy"


def _monotone(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    column, sign = _text(choice, "column"), _one_of(choice, "sign", SIGNS)
    others = {name: own for name, own in (options.monotonic_cst or {}).items() if name != column}
    rules = others if SIGNS[sign] == 0 else {**others, column: SIGNS[sign]}
    return replace(options, monotonic_cst=rules or None), f"f {sign} with {column}"


def _loss(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    loss = _one_of(choice, "loss", LOSS_NAMES)
    return replace(options, loss=loss), f"the loss {loss}"


def _terms(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    kind: Any = _one_of(choice, "kind", KINDS)
    return replace(options, terms=kind), KINDS[kind]


def _C(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    C = _number(choice, "C")
    return replace(options, C=C), f"C = {C:g}"


def _cutoff(options: TrainingOptions, choice: Mapping[str, Any]) -> tuple[TrainingOptions, str]:
    if options.calibrate is None:
        raise ChoiceError("a cut-off is one on probabilities, and the scores are not calibrated")
    cutoff = _number(choice, "cutoff")
    if not 0.0 < cutoff < 1.0:
        raise ChoiceError("the cut-off must be a probability between 0 and 1")
    return replace(options, cutoff=cutoff), f"the cut-off {cutoff:g}"


CHOICES: dict[str, Callable[[TrainingOptions, Mapping[str, Any]], tuple[TrainingOptions, str]]] = {
    "k": _k,
    "forbid": _forbid,
    "force": _force,
    "release": _release,
    "swap": _swap,
    "column": _column,
    "hierarchy": _hierarchy,
    "monotone": _monotone,
    "loss": _loss,
    "terms": _terms,
    "C": _C,
    "cutoff": _cutoff,
}


def _without(options: TrainingOptions, *terms: str) -> TrainingOptions:
    """Options that leave terms to the search."""
    include, exclude = (tuple(each for each in own if each not in terms) for own in (options.include, options.exclude))
    return replace(options, include=include, exclude=exclude)


def _one_of(choice: Mapping[str, Any], name: str, values: Collection[str]) -> str:
    value = choice.get(name)
    if not isinstance(value, str) or value not in values:
        raise ChoiceError(f"{name} must be one of {', '.join(values)}, got {quoted(value)}")
    return value


def _text(choice: Mapping[str, Any], name: str) -> str:
    value = choice.get(name)
    if not isinstance(value, str) or not value:
        raise ChoiceError(f"{name} must be a text, got {quoted(value)}")
    return value


def _integer(choice: Mapping[str, Any], name: str) -> int:
    value = choice.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ChoiceError(f"{name} must be a whole number, got {quoted(value)}")
    return value


def _number(choice: Mapping[str, Any], name: str) -> float:
    value = choice.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ChoiceError(f"{name} must be a number, got {quoted(value)}")
    return float(value)


def words_of_sign(rule: object) -> str:
    """A rule on a slope as the page says it."""
    falls = ("decreasing", -1, "-1", "-")
    return "may rise or fall" if rule in (0, None) else "never rises" if rule in falls else "never falls"
