"""What people decided on rows: a column of decisions as approved, declined, and not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from quadric.errors import listed, quoted, refuse_unknown, unknown_names
from quadric.tables import Table
from quadric.tables.targets import class_position
from quadric.types import BoolArray
from quadric.workflow.options import OptionError

# What people call the two decisions, whatever the case of the letters
APPROVED = frozenset(["approved", "approve", "accepted", "accept", "yes", "true", "y", "1", "granted", "booked"])
DECLINED = frozenset(["declined", "decline", "rejected", "reject", "denied", "refused", "no", "false", "n", "0"])


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions on the rows of a table.

    Attributes
    ----------
    column : str
    approved, declined : boolean arrays of shape (m,)
        Rows of which neither is true have no decision, or another one.
    n_missing, n_other : int
        How many of these there are of either kind.
    """

    column: str
    approved: BoolArray
    declined: BoolArray
    n_missing: int
    n_other: int

    @staticmethod
    def of(table: Table, column: str, approved: Sequence[str] = (), declined: Sequence[str] = ()) -> Decisions:
        """Read a column.

        Parameters
        ----------
        table : Table
        column : str
        approved : sequence of str
            Values that mean approved; not needed where the column has two values such as approved and declined, 1 and 0.
        declined : sequence of str
            Values that mean declined; by default all others.

        Returns
        -------
        Decisions
        """
        refuse_unknown([column], table.names, "the table", error=partial(OptionError, decision=None))
        labels, places = table.distinct_labels(column)
        values = [label for label in labels if label is not None]
        if not values:
            raise ValueError(f"the column {quoted(column)} has no decision in any row")
        yes = _named(values, approved, column, "approved") if approved else _understood(values, column)
        no = _named(values, declined, column, "declined") if declined else set(values) - yes
        if both := sorted(yes & no):
            raise OptionError(f"{quoted(both[0])} cannot mean both approved and declined", approved=None, declined=None)
        is_yes, is_no, is_missing = (
            np.array([label in some for label in labels], dtype=bool)[places] for some in (yes, no, {None})
        )
        others = int((~(is_yes | is_no | is_missing)).sum())
        return Decisions(column, is_yes, is_no, int(is_missing.sum()), others)


def _named(values: Sequence[str], wanted: Sequence[str], column: str, option: str) -> set[str]:
    positions = [class_position(value, values) for value in wanted]
    unknown = [value for value, position in zip(wanted, positions, strict=True) if position is None]
    if unknown:
        raise OptionError(unknown_names(unknown, values, f"the column {quoted(column)}", "value"), **{option: None})
    return {values[position] for position in positions if position is not None}


def _understood(values: Sequence[str], column: str) -> set[str]:
    """The value that means approved, where there are two that leave no doubt, or one."""
    plain = {value: value.strip().lower().removesuffix(".0") for value in values}
    yes = {value for value in values if plain[value] in APPROVED}
    no = {value for value in values if plain[value] in DECLINED}
    if len(yes) + len(no) < len(values) or any(len({plain[value] for value in some}) > 1 for some in (yes, no)):
        found = listed([quoted(value) for value in sorted(values)])
        raise OptionError(f"the column {quoted(column)} has the values {found}: say which mean approved", approved=None)
    return yes
