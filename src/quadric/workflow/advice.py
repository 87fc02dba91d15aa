"""What advice may change: which columns, which way, and whether in whole steps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quadric.errors import quoted, unknown_names
from quadric.workflow.options import OptionError

if TYPE_CHECKING:
    from quadric.workflow.scoring import TableModel

# Columns that hold an age, which nobody can change
AGE = re.compile("age|age_.*|.*_age", re.IGNORECASE)
WORDS = ("up", "down", "step")


@dataclass(frozen=True)
class Moves:
    """How a column may change.

    Attributes
    ----------
    up, down : bool
        Neither: in the direction in which the column helps on average, where it has one.
    whole : bool
        To whole numbers only.
    """

    up: bool = False
    down: bool = False
    whole: bool = False


def read_moves(texts: Sequence[str], names: Sequence[str]) -> dict[str, Moves]:
    """Columns and how they may change, as people write it: ``amount:down``, ``savings:up:step``, ``months``.

    Parameters
    ----------
    texts : sequence of str
        A column, and after it any of WORDS; a column without a direction may go both ways.
    names : sequence of str
        Columns that there are.
    """
    moves = {}
    for text in texts:
        column, words = text, set[str]()
        while column not in names and column.rpartition(":")[2] in WORDS:
            column, _, word = column.rpartition(":")
            words.add(word)
        if column not in names:
            start, _, word = column.rpartition(":")
            wrong = f"{text!r} is not a column with up, down or step after it, such as {start}:down"
            error = wrong if start in names else unknown_names([column], names, "the table")
            raise OptionError(error, actionable=None)
        if column in moves:
            raise OptionError(
                f"the column {quoted(column)} is named twice: give it once, such as {column}:up:step", actionable=None
            )
        both = not words & {"up", "down"}
        moves[column] = Moves(both or "up" in words, both or "down" in words, "step" in words)
    return moves


def allowed_moves(model: TableModel, frozen: Sequence[str], actionable: Sequence[str]) -> dict[str, Moves]:
    """Columns that a change may touch: numbers that the decision depends on and that are not left alone.

    Parameters
    ----------
    model : TableModel
        What its file says of columns counts, too.
    frozen, actionable : sequences of str
        As in ``ExplainingOptions``.
    """
    view, fixed = model.view, {*frozen, *model.frozen}
    named = read_moves(actionable or model.actionable, model.view.input_names)
    numbers = {view.input_names[i] for i in view.blocks[view.numeric].tolist()} & view.needed - fixed
    if named:
        return {name: moves for name, moves in named.items() if name in numbers}
    alone = ages(model, frozen, actionable)
    return {name: Moves() for name in view.input_names if name in numbers and name not in alone}


def ages(model: TableModel, frozen: Sequence[str], actionable: Sequence[str]) -> list[str]:
    """Columns that nobody can change and that are left alone unless something is said about columns: age.

    Parameters
    ----------
    model : TableModel
    frozen, actionable : sequences of str
    """
    if actionable or model.actionable:
        return []
    return [name for name in model.input_names if AGE.fullmatch(name) and name not in {*frozen, *model.frozen}]


def one_way(moves: Mapping[str, Moves], helpful: Mapping[str, int]) -> dict[str, Any]:
    """Parameters of ``recourse``: which columns go one way only, and which take whole numbers.

    Parameters
    ----------
    moves : mapping
        As :func:`allowed_moves` gives them.
    helpful : mapping of str to int
        The direction in which each column helps on average, 0 for none.
    """
    ways = {name: (own.up - own.down) if own.up or own.down else helpful.get(name, 0) for name, own in moves.items()}
    return {
        "increase_only": [name for name, way in ways.items() if way > 0],
        "decrease_only": [name for name, way in ways.items() if way < 0],
        "integer": [name for name, own in moves.items() if own.whole],
    }
