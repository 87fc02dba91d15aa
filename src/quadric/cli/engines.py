"""``--engine``: commands that run where the data are."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import quadric
from quadric.cli.console import UsageError

if TYPE_CHECKING:
    from quadric.distributed.sessions import Session
    from quadric.tables.streams import TableParts


@dataclass(frozen=True)
class Engine:
    """Where to run."""

    engine: Annotated[
        Literal["dask", "spark"] | None,
        typer.Option(help="Run on a cluster; DATA are Parquet files that all of its machines see.  [default: this process]"),
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of Dask.  [default: processes of this machine]")
    ] = None
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="Master of Spark.  [default: Spark's own settings, or this machine]")
    ] = None

    def __post_init__(self) -> None:
        for option, engine in (("scheduler", "dask"), ("master", "spark")):
            if getattr(self, option) is not None and self.engine != engine:
                raise UsageError(f"--{option} needs --engine {engine}")

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The engine, as long as the block runs."""
        from quadric.distributed import sessions

        with sessions.dask_session(self.scheduler) if self.engine == "dask" else sessions.spark_session(self.master) as session:
            yield session

    @contextmanager
    def table(self, path: Path, text: Collection[str]) -> Iterator[TableParts]:
        """Parquet files as a table in parts; some columns as texts."""
        check_parquet(path)
        with self.session() as session:
            yield quadric.distributed.frames.table_of(session.read(str(path)), text=text)


def check_parquet(path: Path) -> None:
    """Refuse files that an engine does not read in parts."""
    from quadric.tables._arrow import PARQUET, arrow_files

    for file in arrow_files(path) or (path,):
        with file.open("rb") as opened:
            if opened.read(4) != PARQUET:
                raise UsageError(f"--engine reads Parquet files, and {file.name} is none: convert it first")


def write_scores(
    engine: Engine, model: quadric.workflow.TableModel, data: Path, kept: Sequence[str], output: Path
) -> Counter[str]:
    """Score Parquet files into a folder of Parquet files, which appears when all is written; returns the counts of labels."""
    from quadric.distributed.scores import ScoredFrame

    check_parquet(data)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}.unfinished")
    try:
        with engine.session() as session:
            frame = session.read(str(data))
            names = ScoredFrame.of(model.saved, list(frame.columns), "").names
            scored = quadric.distributed.predict(model.saved, frame, prefix="")
            session.write(_chosen(scored, [*kept, *names]), str(unfinished))
        counts = _labels(unfinished)
        if output.exists():
            (shutil.rmtree if output.is_dir() else Path.unlink)(output)
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return counts


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    absent = [name for name in names if name not in frame.columns]
    if absent:
        from quadric.errors import unknown_names

        raise UsageError(f"--keep: {unknown_names(absent, list(frame.columns), 'the table')}")
    return frame[list(names)]


def _labels(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for table in quadric.tables.read_chunks(folder, 1 << 20, text=["label"]):
        counts.update("no label" if label is None else label for label in table["label"].tolist())
    return counts
