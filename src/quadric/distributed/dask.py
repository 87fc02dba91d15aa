"""Tables of Dask: passes as tasks and a tree of merges, scores as one more step of a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from quadric.distributed.tasks import EngineTable, PartTask, first_rows, groups_of, merged, opened, pieces_of
from quadric.errors import EngineError
from quadric.extras import require
from quadric.geometry.terms import default_names
from quadric.progress import RowsRead, advance
from quadric.samples.source import State
from quadric.tables.table import Table


class DaskTable(EngineTable):
    """A DataFrame of Dask, whose partitions are tasks."""

    def total(self, of: Callable[[Table], State | None]) -> State | None:
        delayed = require("dask", "dask").delayed
        task = PartTask(of, tuple(self._frame.columns), self.text)
        sent = delayed(task, pure=False, traverse=False)  # once, not with each part
        run = delayed(_state_of_part, pure=False)
        parts = zip(self._frame.to_delayed(), first_rows(self._counts), self._counts, strict=True)
        states = [run(sent, *part) for part in parts]
        with _telling(self._frame):
            state = _sum_of(states, sum(self._counts))
        return opened(state)

    @cached_property
    def _counts(self) -> list[int]:
        dask = require("dask", "dask")
        column = self._frame[[self._frame.columns[0]]]
        with _telling(column):
            return list(dask.compute(*[dask.delayed(len)(part) for part in column.to_delayed()]))


def _state_of_part(task: PartTask, frame: Any, first_row: int, n_rows: int) -> bytes:
    return task(pieces_of(frame), first_row, n_rows)


def _sum_of(parts: list[Any], n_rows: int) -> bytes:
    dask, client = require("dask", "dask"), _client()
    if client is None:
        while len(parts) > 1:
            parts = [dask.delayed(merged, pure=False)(list(group)) for group in groups_of(parts)]
        return parts[0].compute()
    states = client.compute(parts)
    done = require("distributed", "dask").as_completed(states)
    while len(states) > 1:
        states = [client.submit(merged, list(group), pure=False) for group in groups_of(states)]
    for number, _ in enumerate(done, start=1):  # lets go of states that are merged
        n_read = n_rows * number // len(parts)
        advance(number / len(parts), RowsRead(f"{n_read} rows", n_read))
    return states[0].result()


def _client() -> Any:
    try:
        return require("distributed", "dask").default_client()
    except ValueError:
        return None


@contextmanager
def _telling(frame: Any) -> Iterator[None]:
    """What goes wrong with a cluster, or with a partition of a frame, in a sentence."""
    distributed = require("distributed", "dask")
    lost = (distributed.CancelledError, distributed.TimeoutError, distributed.comm.CommClosedError, ConnectionError)
    try:
        yield
    except distributed.scheduler.KilledWorker as error:
        raise EngineError(f"Dask gave up: workers died again and again over the same part ({_first_line(error)})") from error
    except lost as error:
        raise EngineError(f"the cluster of Dask went away: {_first_line(error) or type(error).__name__}") from error
    except Exception as error:  # of the frame itself: what our tasks find wrong travels as bytes
        if isinstance(error, KeyError) and "not in index" in str(error):  # Dask chooses columns before our tasks see a part
            raise ValueError(f"a part of the table lacks columns that others have: {_first_line(error)}") from error
        where, cause = _failing(frame), f"{type(error).__name__}: {_first_line(error)}"
        raise EngineError(f"Dask failed on {where}: {cause}") from error


def _failing(frame: Any) -> str:
    parts = frame.to_delayed()
    for number, each in enumerate(parts, start=1):
        try:
            each.compute()
        except Exception:
            return f"partition {number} of {len(parts)}"
    return "a partition"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")


def frame_of_array(array: Any, **columns: Any) -> Any:
    """A Dask Array of two dimensions as a frame with the columns x0, x1, ... and others.

    Parameters
    ----------
    array : dask.array.Array of shape (m, n)
    **columns : dask.array.Array of shape (m,)
        Of numbers.

    Returns
    -------
    dask.dataframe.DataFrame
    """
    da, dd = require("dask.array", "dask"), require("dask.dataframe", "dask")
    n = array.shape[1] if array.ndim == 2 else None
    if n is None or n != n:
        raise ValueError(f"a Dask Array must have two dimensions and a known number of columns, got shape {array.shape}")
    allowed = any(size != size for size in array.chunks[0])  # sizes that nobody knows are taken to agree
    for name, column in columns.items():
        chunks = getattr(column, "chunks", ((),))
        same = len(chunks[0]) == len(array.chunks[0]) if allowed else chunks[0] == array.chunks[0]
        if column.ndim != 1 or not same or column.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be a Dask Array of numbers, of one dimension, in the same chunks as the rows")
    parts = [array.rechunk({1: n}), *(column[:, None] for column in columns.values())]
    whole = da.concatenate(parts, axis=1, allow_unknown_chunksizes=allowed)
    return dd.from_dask_array(whole.rechunk({1: whole.shape[1]}), columns=[*default_names(n), *columns])
