"""Columns that are compared by a few numbers each before they are compared row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np

from quadric.types import FloatArray

T = TypeVar("T")

# Numbers that stand for a column; of thousands of columns these hardly ever agree by chance
N_MARKS = 4


class Marked(Generic[T]):
    """Columns seen so far, by random sums over their rows, which are near for columns that are nearly equal.

    Parameters
    ----------
    n_rows : int
    """

    def __init__(self, n_rows: int) -> None:
        self._weights = np.random.default_rng(1).normal(size=(N_MARKS, n_rows))
        self._marks = np.empty((1, N_MARKS))
        self._seen: list[T] = []

    def add(self, column: FloatArray, thing: T) -> None:
        """One column more, and what is to be found by it.

        Parameters
        ----------
        column : array of shape (n_rows,)
        thing : any
        """
        if len(self._seen) == len(self._marks):
            self._marks = np.concatenate((self._marks, np.empty_like(self._marks)))
        self._marks[len(self._seen)] = self._weights @ column
        self._seen.append(thing)

    def near(self, column: FloatArray, tolerance: float) -> Iterator[T]:
        """What is found by columns that may equal this one, in the order in which they came.

        Parameters
        ----------
        column : array of shape (n_rows,)
        tolerance : float
            How far values of equal columns may be apart; columns that are left out here are further apart in some row.

        Yields
        ------
        any
        """
        slack = 5.0 * tolerance * len(column) ** 0.5  # five standard deviations of a mark's difference
        apart = np.abs(self._marks[: len(self._seen)] - self._weights @ column)
        yield from (self._seen[number] for number in np.flatnonzero((apart <= slack).all(axis=1)))
