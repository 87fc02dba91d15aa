"""Rows that a pass keeps: those with the smallest keys, as many as there is room for, whatever the order of the batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from quadric.types import BoolArray, FloatArray, IntArray

SPARE = 0.75  # share of the room that is filled again where it was exceeded: rows leave in large parts, not one by one


@dataclass(frozen=True)
class Rows:
    """Some rows with what weighs them.

    Attributes
    ----------
    X : array of shape (m, n)
    y : array of shape (m,)
        Labels in {-1, 1}.
    weight : array of shape (m,)
        Of their losses.
    key : array of shape (m,)
        The smaller, the rather kept.
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray
    key: FloatArray | IntArray

    def __len__(self) -> int:
        return len(self.y)

    def where(self, mask: BoolArray | IntArray) -> Rows:
        """A copy of some of the rows."""
        return Rows(self.X[mask], self.y[mask], self.weight[mask], self.key[mask])

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """All rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        return Rows(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Rows)))


@dataclass(frozen=True)
class KeptRows:
    """The rows whose keys are at most ``reach``.

    Attributes
    ----------
    parts : tuple of Rows
        At least one, which may be empty.
    reach : float
        Falls where more rows come than there is room for.
    room : int
        Rows that are kept, at most.
    """

    parts: tuple[Rows, ...]
    reach: float
    room: int

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def rows(self) -> Rows:
        """All of them, in the order of their batches."""
        return Rows.joined(self.parts)

    def needed_reach(self, other: KeptRows) -> float:
        """The reach at which the rows of both find room."""
        joined = KeptRows(self.parts + other.parts, min(self.reach, other.reach), self.room)
        within = sum(int(np.count_nonzero(part.key <= joined.reach)) for part in joined.parts)
        return joined.reach if within <= self.room else joined.reach_of(int(SPARE * self.room))

    def reach_of(self, size: int) -> float:
        """A reach within which there are no more than ``size`` rows."""
        if len(self) <= size:
            return self.reach
        keys = np.concatenate([part.key for part in self.parts])
        # just below the next key: rows with equal keys stay or go together, whatever the order of the batches
        return min(self.reach, float(np.nextafter(np.partition(keys, size)[size], -np.inf)))

    def within(self, reach: float) -> KeptRows:
        """Those whose keys are at most ``reach``."""
        if reach >= self.reach:
            return self
        parts = (part if (keep := part.key <= reach).all() else part.where(keep) for part in self.parts)
        return KeptRows(tuple(parts), reach, self.room)

    def beyond(self, reach: float) -> list[Rows]:
        """The others."""
        return [part.where(part.key > reach) for part in self.parts if (part.key > reach).any()]

    def joined_with(self, other: KeptRows) -> KeptRows:
        """All rows of both, which have the same reach; parts without rows go."""
        parts = tuple(part for part in self.parts + other.parts if len(part))
        return KeptRows(parts or self.parts[:1], min(self.reach, other.reach), self.room)
