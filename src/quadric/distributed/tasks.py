"""What a task of any engine does with a part of a table: the sum of a function over its rows, as bytes.

An engine brings the rows of a part and moves bytes; it knows nothing of what is summed. Errors that are the data's fault travel
as bytes too, so that every engine tells them in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from quadric.blas import one_blas_thread
from quadric.distributed import wire
from quadric.errors import ParameterError
from quadric.tables.facts import MixedColumnError
from quadric.tables.parts import CHUNK_ROWS, TableParts, numbered, summed
from quadric.tables.table import Table, as_column, as_table, label_texts, text_column
from quadric.tables.targets import MissingLabelsError

# States that one task merges
GROUP = 8
# Errors whose parts matter to who catches them, by their names
ADDED: dict[str, Any] = {error.__name__: error for error in (MissingLabelsError, MixedColumnError)}


class EngineTable(TableParts):
    """A DataFrame of an engine; its partitions are computed again on each pass, in the same order, unless they are kept.

    Parameters
    ----------
    frame : DataFrame of Dask or Spark
    text : collection of str
        Columns that are texts, whatever they hold.
    """

    is_local = False

    def __init__(self, frame: Any, text: Collection[str] = ()) -> None:
        self._frame, self.text = frame, tuple(text)

    def head(self) -> Table:
        return Table(tuple(self._frame.columns), tuple(text_column([]) for _ in self._frame.columns))


@dataclass(frozen=True)
class Failure:
    """What is wrong with the data, as a state.

    Attributes
    ----------
    kind : str
        The name of the exception.
    message : str
    made_of : dict
        What an error that parts add up is made of; of others, the parameters to change.
    """

    kind: str
    message: str
    made_of: dict[str, Any]

    @staticmethod
    def of(error: ValueError) -> Failure:
        """As it travels."""
        made_of = vars(error) if type(error).__name__ in ADDED else getattr(error, "remedies", {})
        return Failure(type(error).__name__, str(error), made_of)

    def error(self) -> ValueError:
        """As it is raised."""
        if self.kind in ADDED:
            return ADDED[self.kind](**self.made_of)
        return ParameterError(self.message, **self.made_of) if self.made_of else ValueError(self.message)


@dataclass(frozen=True, eq=False)
class PartTask:
    """The sum of a function over the rows of one part.

    Attributes
    ----------
    of : function of a Table
    names : tuple of str
        The columns that every part has.
    text : tuple of str
        Columns that are texts, whatever they hold.
    """

    of: Callable[[Table], Any]
    names: tuple[str, ...]
    text: tuple[str, ...] = ()

    def __call__(self, pieces: Iterable[Any], first_row: int, n_rows: int) -> bytes:
        """Of pieces of a frame, one after the other, with so many rows, the first of which has this number."""
        try:
            with one_blas_thread():
                return wire.to_bytes(summed(self.of, self._tables(pieces, first_row, n_rows)))
        except ValueError as error:
            return wire.to_bytes(Failure.of(error))

    def _tables(self, pieces: Iterable[Any], first_row: int, n_rows: int) -> Iterator[Table]:
        end = first_row + n_rows
        for piece in pieces:
            table = numbered(as_table(piece), self.names, first_row)
            if table.n_rows:
                yield replace(table, columns=tuple(map(self._typed, table.names, table.columns)))
                first_row += table.n_rows
        if first_row != end:
            raise ValueError("a part of the table has other rows than before: write the table to files, or keep it in memory")

    def _typed(self, name: str, column: Any) -> Any:
        return label_texts(name, column) if name in self.text and as_column(name, column).dtype.kind == "f" else column


def merged(states: Sequence[bytes]) -> bytes:
    """The sum of states, in their order; the first failure, if there is one.

    Parameters
    ----------
    states : sequence of bytes

    Returns
    -------
    bytes
    """
    if len(states) == 1:
        return states[0]
    try:
        return wire.to_bytes(summed(opened, states))  # opened one by one: those of many features are large
    except ValueError as error:  # a failure, or such as a column of numbers in one part and of texts in another
        return wire.to_bytes(Failure.of(error))


def opened(state: bytes) -> Any:
    """What a state holds; what is wrong with the data is raised.

    Parameters
    ----------
    state : bytes

    Returns
    -------
    the sum, or None where there is nothing to sum
    """
    value = wire.from_bytes(state)
    if isinstance(value, Failure):
        raise value.error()
    return value


def groups_of(items: Sequence[Any]) -> list[Sequence[Any]]:
    """Neighbours in groups, each of which one task merges.

    Parameters
    ----------
    items : sequence

    Returns
    -------
    list of sequences
    """
    return [items[first : first + GROUP] for first in range(0, len(items), GROUP)]


def first_rows(counts: Sequence[int]) -> tuple[int, ...]:
    """The number of the first row of each part, by the numbers of their rows; an error if there are none.

    Parameters
    ----------
    counts : sequence of int

    Returns
    -------
    tuple of int
    """
    first = list(accumulate(counts, initial=1))
    if first[-1] == 1:
        raise ValueError("the table has no rows")
    return tuple(first[:-1])


def pieces_of(frame: Any) -> Iterator[Any]:
    """A frame of pandas in pieces of a size that suits passes.

    Parameters
    ----------
    frame : DataFrame

    Yields
    ------
    DataFrame
    """
    for first in range(0, len(frame), CHUNK_ROWS):
        yield frame.iloc[first : first + CHUNK_ROWS]
