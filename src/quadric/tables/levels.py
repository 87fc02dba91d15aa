"""Which levels of a text column are features, and what the others count as."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from quadric.samples.recoding import is_rare
from quadric.tables.inputs import OTHER


@dataclass(frozen=True)
class Levels:
    """The levels of a text column.

    Attributes
    ----------
    kept : tuple of str
        Levels that are not grouped, sorted; at least one.
    dropped : str
        The most frequent of them and of the group (of several, the first in alphabetical order).
    other : str or None
        Name of the group; None: its levels, if there are any, count as the dropped one.
    """

    kept: tuple[str, ...]
    dropped: str
    other: str | None = None

    @staticmethod
    def all(counts: Counter[str]) -> Levels:
        """Without a group.

        Parameters
        ----------
        counts : Counter
            Rows of each level.

        Returns
        -------
        Levels
        """
        return Levels(tuple(sorted(counts)), _most_frequent(counts))

    @staticmethod
    def frequent(counts: Counter[str], n_present: int, n_rows: int, most: int) -> Levels:
        """Rare levels in one group, with levels that are called "other" already.

        Parameters
        ----------
        counts : Counter
            Rows of each level.
        n_present : int
            Rows with any of them; more than these where a column has more levels than are counted.
        n_rows : int
            All rows.
        most : int
            The largest number of levels that are kept.

        Returns
        -------
        Levels
        """
        ranked = sorted(counts, key=lambda level: (-counts[level], level))
        kept = [level for level in ranked if not is_rare(counts[level], n_rows) and level.lower() != OTHER][:most]
        if not kept:  # nothing to tell from the rest
            return Levels((ranked[0],), ranked[0])
        n_others = n_present - sum(counts[level] for level in kept)
        if is_rare(n_others, n_rows):
            return Levels(tuple(sorted(kept)), kept[0])
        groups = Counter({level: counts[level] for level in kept} | {OTHER: n_others})
        return Levels(tuple(sorted(kept)), _most_frequent(groups), OTHER)


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda level: (-counts[level], level))
