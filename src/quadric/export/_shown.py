"""What every export says of itself, and names from data in it: printable, on one line, never mistaken for something else."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

from quadric.export._schema import quadric_version
from quadric.export.scoring import ScoringModel

NAME = re.compile(r"[^\W\d][\w.]*( [\w.]+)*")
LEVEL = re.compile(r"[\w.]+( [\w.]+)*")
ANYTHING = re.compile(r".*", re.DOTALL)
"""Texts that need no quotes: as the name of a feature, as a level of a category, and where there is no equation to mix up."""


def shown(text: str, *, plain: re.Pattern[str] = NAME) -> str:
    """A text with everything unprintable escaped, in quotes where it does not look plain.

    Parameters
    ----------
    text : str
    plain : pattern
        What needs no quotes.
    """
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
    if plain.fullmatch(escaped):
        return escaped
    # as JSON, from which it can be read back: escapes are told from backslashes of its own
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in json.dumps(text, ensure_ascii=False))


def heading(model: ScoringModel) -> list[str]:
    """Lines that say what an export is."""
    lines = [f"Scores of a sparse quadratic model, made by quadric {quadric_version()}."]
    if model.target is not None:
        lines.append(f"Target: {shown(model.target, plain=LEVEL)}")
    names = [shown(name, plain=LEVEL) for name in model.classes]
    if model.is_binary:
        lines.append(f"Classes: {names[0]}, {names[1]}; a high score means {names[1]}.")
    else:
        lines.append("Classes: " + ", ".join(f"{i} {name}" for i, name in enumerate(names, start=1)))
    return lines


def sample_lines(model: ScoringModel) -> list[str]:
    """Sample rows with their expected scores, one line of JSON each."""
    return [f"Sample: {json.dumps(asdict(sample) | {'values': model.row(sample)})}" for sample in model.samples]
