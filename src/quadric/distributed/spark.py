"""Tables of Spark: passes as ``mapInArrow`` and two steps of merges, scores as column expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from operator import itemgetter
from typing import Any

from quadric.distributed.tasks import EngineTable, PartTask, first_rows, merged, opened
from quadric.errors import EngineError
from quadric.extras import require
from quadric.progress import advance
from quadric.samples.source import State
from quadric.tables.parts import CHUNK_ROWS
from quadric.tables.reading import regrouped
from quadric.tables.table import Table

COUNTS, STATES = "part int, rows long", "part int, state binary"
# Seconds between two looks at how far Spark is
LOOK_EVERY = 0.2
NAMES = {COUNTS: ["part", "rows"], STATES: ["part", "state"]}


class SparkTable(EngineTable):
    """A DataFrame of Spark, whose partitions go through ``mapInArrow``."""

    def total(self, of: Callable[[Table], State | None]) -> State | None:
        with telling():
            counts = self._counts
            firsts = dict(zip(counts, first_rows(list(counts.values())), strict=True))
            task = PartTask(of, tuple(self._frame.columns), self.text)
            run = partial(_state_of_part, task=task, first_rows=firsts, counts=counts)
            # under plain names: mapInArrow takes a dot in a name for something else
            states = self._frame.toDF(*(f"c{i}" for i in range(len(self._frame.columns)))).mapInArrow(run, STATES)
            n_groups = math.isqrt(len(counts))
            if n_groups > 1:  # few states reach the driver
                states = states.repartition(n_groups, states.part).mapInArrow(_merged_states, STATES)
            found = list(_collected(states, "state").values())
        return opened(merged(found))

    @cached_property
    def _counts(self) -> dict[int, int]:
        """Rows by the number of the partition, where Spark looked at it at all; of a file, one column tells."""
        column = self._frame.select(quoted(self._frame.columns[0])).toDF("c0")
        return _collected(column.mapInArrow(_rows_of_part, COUNTS), "rows")


def quoted(name: str) -> str:
    """The name of a column as Spark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _collected(frame: Any, name: str) -> dict[int, Any]:
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(frame.toArrow)
        try:
            while not wait([found], LOOK_EVERY).done:
                _advance(frame)
        except KeyboardInterrupt:
            frame.sparkSession.interruptAll()
            raise
        rows = found.result().sort_by("part")
        return dict(zip(rows["part"].to_pylist(), rows[name].to_pylist(), strict=True))


def _advance(frame: Any) -> None:
    with suppress(Exception):  # a remote session does not
        tracker = frame.sparkSession.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        done, tasks = (sum(getattr(stage, name) for stage in stages) for name in ("numCompletedTasks", "numTasks"))
        if tasks:
            advance(done / tasks, f"Spark: {done} of {tasks} tasks")


def _state_of_part(
    batches: Iterable[Any], task: PartTask, first_rows: Mapping[int, int], counts: Mapping[int, int]
) -> Iterator[Any]:
    pa, part = require("pyarrow", "spark"), _part()
    tables = (pa.Table.from_batches([batch]).rename_columns(task.names) for batch in batches)
    yield _row(STATES, part, task(regrouped(tables, CHUNK_ROWS), first_rows.get(part, 1), counts.get(part, 0)))


def _rows_of_part(batches: Iterable[Any]) -> Iterator[Any]:
    yield _row(COUNTS, _part(), sum(batch.num_rows for batch in batches))


def _merged_states(batches: Iterable[Any]) -> Iterator[Any]:
    found = sorted(((row["part"], row["state"]) for batch in batches for row in batch.to_pylist()), key=itemgetter(0))
    if found:
        yield _row(STATES, found[0][0], merged([state for _, state in found]))


def _part() -> int:
    return int(require("pyspark", "spark").TaskContext.get().partitionId())


def _row(schema: str, part: int, value: Any) -> Any:
    pa = require("pyarrow", "spark")
    kinds = (pa.int32(), pa.int64() if schema == COUNTS else pa.large_binary())
    return pa.record_batch([pa.array([each], kind) for each, kind in zip((part, value), kinds, strict=True)], NAMES[schema])


@contextmanager
def telling() -> Iterator[None]:
    """What goes wrong with a cluster, in a sentence.

    Yields
    ------
    None
    """
    errors, py4j = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        yield
    except (errors.PySparkException, py4j.Py4JError, OSError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        named = [re.match(r"(?:Caused by)?[: ]*([\w.]+(?:Error|Exception): (?!Traceback).+)", line) for line in lines]
        causes = [found[1] for found in named if found]  # the last one, behind long traces of Java and Python
        raise EngineError(f"Spark failed: {causes[-1] if causes else lines[0]}") from error
