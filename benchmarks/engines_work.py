"""What engines.py needs in other processes: rows that workers make, clusters, and tasks that note what they take.

    python benchmarks/engines_work.py '{"work": "memory", "m": 1000000}'

runs one piece of work in a process of its own and prints one line of JSON.

Tasks write to the folder QUADRIC_ENGINE_NOTES, one file per process, so that notes of a worker outlive it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import quadric.distributed
from quadric.distributed import dask as dask_engine
from quadric.distributed import spark as spark_engine
from quadric.distributed import tasks, wire
from quadric.distributed.sessions import KEEPING_MEMORY, LARGE_BATCHES
from quadric.extras import require
from quadric.tables.parts import TableStream
from scale_work import planted

NOTES = "QUADRIC_ENGINE_NOTES"
LIMIT = "4GB"


# rows, which are made where they are needed


@dataclass(frozen=True)
class PlantedPart:
    """A part of a table of standard normal features, with the label of a planted quadric."""

    n_rows: int
    n: int

    def __call__(self, number: int) -> Any:
        X, y = planted(self.n_rows, self.n, seed=1000 + number)
        return frame_of(X, {"y": np.where(y == 1, "yes", "no")})

    def columns(self) -> Any:
        """A frame without rows, made of few: memory of the driver is measured, too."""
        return PlantedPart(10, self.n)(0).iloc[:0]


@dataclass(frozen=True)
class MixedPart:
    """Neighbouring rows of a table of 20,000 rows, eight features (two of them 0 or 1), three classes and weights."""

    n_parts: int

    def __call__(self, number: int) -> Any:
        whole = mixed_rows()
        first, end = (len(whole) * place // self.n_parts for place in (number, number + 1))
        return whole.iloc[first:end]

    def columns(self) -> Any:
        """A frame without rows."""
        return mixed_rows().iloc[:0]


def mixed_rows() -> Any:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20_000, 8))
    X[:, 6:] = rng.random((20_000, 2)) < (0.3, 0.6)
    X[:, 5] = np.exp(X[:, 5])  # a long tail, for the caps
    f = X[:, 0] * X[:, 1] + 0.7 * X[:, 2] ** 2 - X[:, 3] + 0.8 * X[:, 6] + 0.5 * X[:, 7] * X[:, 0]
    cuts = np.quantile(f, [0.35, 0.7])
    y = np.array(["a", "b", "c"])[np.digitize(f + 0.4 * rng.normal(size=len(f)), cuts)]
    return frame_of(X, {"y": y, "w": rng.uniform(0.2, 3.0, len(f))})


def frame_of(X: NDArray[np.float64], others: dict[str, Any]) -> Any:
    pd = require("pandas", "dask")
    return pd.DataFrame({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, **others})


# clusters


@contextmanager
def dask_cluster(settings: dict[str, Any] = KEEPING_MEMORY) -> Iterator[Any]:
    """Two worker processes of one thread each; by default with the settings of the command line."""
    distributed, config = require("distributed", "dask"), require("dask", "dask").config
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": LIMIT}
    with (
        config.set({"dataframe.convert-string": False, **settings}),
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def spark_cluster() -> Iterator[Any]:
    """Two threads of one machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **LARGE_BATCHES,
    }
    session = require("pyspark.sql", "spark").SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


CLUSTERS = {"dask": dask_cluster, "spark": spark_cluster}


def engine_frame(
    engine: str, cluster: Any, make: PlantedPart | MixedPart, numbers: Iterable[int], *, keeps: bool = False
) -> Any:
    """A frame with one partition for each number, in this order; the rows are made on the workers."""
    numbers = list(numbers)
    if engine == "dask":
        frame = require("dask.dataframe", "dask").from_map(make, numbers, meta=make.columns())
        if keeps:
            frame = frame.persist()
            require("distributed", "dask").wait(frame)
        return frame
    types = {"f": "double", "O": "string", "U": "string"}
    schema = ", ".join(f"{name} {types.get(kind.kind, 'string')}" for name, kind in make.columns().dtypes.items())
    frame = cluster.range(0, len(numbers), 1, len(numbers)).mapInArrow(MadeInSpark(make, numbers), schema)
    if keeps:
        frame = frame.cache()
        frame.count()
    return frame


@dataclass(frozen=True)
class MadeInSpark:
    """The rows of a partition that holds its place."""

    make: Callable[[int], Any]
    numbers: list[int]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        pa = require("pyarrow", "spark")
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from pa.Table.from_pandas(self.make(self.numbers[place]), preserve_index=False).to_batches(10_000)


# what tasks take


def note(**what: Any) -> None:
    what["at"] = time.time()
    with (Path(os.environ[NOTES]) / str(os.getpid())).open("a") as file:
        file.write(json.dumps(what) + "\n")


def notes() -> list[dict[str, Any]]:
    """Those of all processes."""
    return [json.loads(line) for path in sorted(Path(os.environ[NOTES]).iterdir()) for line in path.read_text().splitlines()]


def measured(kind: str, work: Callable[[], bytes]) -> bytes:
    """Its thread takes the time of the task; the process has more, for messages and a profiler."""
    began, began_all = time.thread_time(), time.process_time()
    state = work()
    note(kind=kind, seconds=time.thread_time() - began, process=time.process_time() - began_all, bytes=len(state))
    return state


class MeasuredTask(tasks.PartTask):
    """Notes its processor time and the size of its state."""

    def __call__(self, pieces: Iterable[Any], first_row: int, n_rows: int) -> bytes:
        return measured("part", lambda: tasks.PartTask.__call__(self, pieces, first_row, n_rows))


def measured_merged(states: Any) -> bytes:
    """``merged``, which notes its processor time."""
    return measured("merge", lambda: tasks.merged(states))


def measured_merged_states(batches: Iterable[Any]) -> Iterator[Any]:
    """What a task of Spark that merges does, and notes its processor time."""
    began, began_all = time.thread_time(), time.process_time()
    for row in spark_merged_states(batches):
        seconds, process = time.thread_time() - began, time.process_time() - began_all
        note(kind="merge", seconds=seconds, process=process, bytes=len(row.column(1)[0].as_py()))
        yield row


spark_merged_states = spark_engine._merged_states


@dataclass
class Passes:
    """What the driver sees of passes: their names, and the states that reach it."""

    names: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Processor time of this process."""
    wall: list[float] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    """Bytes of states."""
    state_bytes: list[int] = field(default_factory=list)
    """Size of the sum over all parts."""
    merges: list[float] | None = None
    """Processor time of merging a group of such states, where it is measured."""
    megabytes: float = 0.0
    """Peak memory up to the last pass and merge, where merges are measured."""

    def watched(self, total: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def watching(table: Any, of: Any) -> Any:
            self.names.append(name_of(of))
            self.received.append(0)
            began, began_wall = time.process_time(), time.perf_counter()
            state = total(table, of)
            self.seconds.append(time.process_time() - began)
            self.wall.append(time.perf_counter() - began_wall)
            sent = wire.to_bytes(state)
            self.state_bytes.append(len(sent))
            if self.merges is not None:
                self.merges.append(merge_seconds(sent))
                self.megabytes = peak_megabytes()
            return state

        return watching


def merge_seconds(state: bytes) -> float:
    """Processor time of merging as many states as one task merges."""
    began = time.process_time()
    tasks.merged([state] * tasks.GROUP)
    return time.process_time() - began


def name_of(of: Any) -> str:
    """The innermost function of a pass."""
    while hasattr(of, "of"):
        of = of.of
    both = [name_of(getattr(of, each)) for each in ("first", "second") if hasattr(of, each)]
    return " and ".join(both) or type(of).__name__


@contextmanager
def watching() -> Iterator[Passes]:
    """Passes of all engines and of one process; tasks are sent as ones that note what they take."""
    passes, kept = Passes(), []

    def replaced(owner: Any, name: str, value: Any) -> None:
        kept.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def received_of_dask(state: bytes) -> Any:
        passes.received[-1] += len(state)
        return tasks.opened(state)

    def received_of_spark(frame: Any, name: str) -> dict[int, Any]:
        found = collected(frame, name)
        if name == "state":
            passes.received[-1] += sum(map(len, found.values()))
        return found

    collected = spark_engine._collected
    for owner in (dask_engine.DaskTable, spark_engine.SparkTable, TableStream):
        replaced(owner, "total", passes.watched(owner.total))
    for engine in (dask_engine, spark_engine):
        replaced(engine, "PartTask", MeasuredTask)
    replaced(dask_engine, "merged", measured_merged)
    replaced(dask_engine, "opened", received_of_dask)
    replaced(spark_engine, "_merged_states", measured_merged_states)
    replaced(spark_engine, "_collected", received_of_spark)
    try:
        yield passes
    finally:
        for owner, name, value in reversed(kept):
            setattr(owner, name, value)


def peak_megabytes() -> float:
    """High-water mark of resident memory of this process; unlike ``ru_maxrss``, not of the one that started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e3


# pieces of work


def classifier(loss: str, k: int) -> quadric.SparseQuadraticSVC:
    return quadric.SparseQuadraticSVC(k, C=1.0, loss=loss)


def local_frames(make: Callable[[int], Any], n_parts: int, engine: str = "dask") -> list[Any]:
    """The pieces of all partitions, as tasks take them: frames of pandas, or tables of Arrow, which take less time."""
    pieces = [piece for number in range(n_parts) for piece in tasks.pieces_of(make(number))]
    if engine == "dask":
        return pieces
    from_pandas = require("pyarrow", "spark").Table.from_pandas
    return [from_pandas(piece, preserve_index=False) for piece in pieces]


def memory(m: int) -> dict[str, Any]:
    """Peak memory of a driver, of rows that the workers make."""
    with dask_cluster() as cluster:
        frame = engine_frame("dask", cluster, PlantedPart(m // 16, 20), range(16))
        quadric.distributed.fit(classifier("least_squares", 6), frame, target="y")
        return {"megabytes": peak_megabytes()}


def defaults(loss: str, m: int) -> dict[str, Any]:
    """Processor time in the tasks of three fits on a cluster with Dask's own settings."""
    seconds = []
    with dask_cluster({}) as cluster, watching():
        frame = engine_frame("dask", cluster, PlantedPart(m // 16, 20), range(16), keeps=True)
        for _ in range(3):
            before = len(notes())
            quadric.distributed.fit(classifier(loss, 6), frame, target="y")
            seconds.append(sum(each["seconds"] for each in sorted(notes(), key=lambda each: each["at"])[before:]))
    return {"seconds": seconds}


def rates(loss: str, m: int, n: int) -> dict[str, Any]:
    """Passes of a fit in one process: what each takes, the size of its state, and what it takes to merge eight."""
    frames = local_frames(PlantedPart(m, n), 1)
    with watching() as passes:
        passes.merges = []
        quadric.fit_batches(classifier(loss, 6), frames, target="y")
    found = zip(passes.names, passes.seconds, passes.state_bytes, passes.merges, strict=True)
    return {
        "rows": m,
        "features": n,
        "passes": [dict(zip(("name", "seconds", "bytes", "merge"), each, strict=True)) for each in found],
        "megabytes in passes": passes.megabytes,
        "megabytes": peak_megabytes(),
    }


WORKS: dict[str, Callable[..., dict[str, Any]]] = {"memory": memory, "defaults": defaults, "rates": rates}


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    print(json.dumps(WORKS[request.pop("work")](**request)))
