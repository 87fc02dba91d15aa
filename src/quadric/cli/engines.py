"""``--engine``: commands that run where the data are."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import quadric
from quadric.cli.console import UsageError
from quadric.errors import refuse_unknown

if TYPE_CHECKING:
    from quadric.distributed.sessions import Session
    from quadric.tables.parts import TableParts
    from quadric.workflow.scoring import Surprises

PREFIX = "quadric_scored_"
_clustered = partial(typer.Option, rich_help_panel="Cluster")


@dataclass(frozen=True)
class Engine:
    """Where to run."""

    engine: Annotated[
        Literal["dask", "spark"] | None,
        _clustered(help="Run on a cluster; DATA are Parquet files that all of its machines see.  [default: this process]"),
    ] = None
    scheduler: Annotated[
        str | None, _clustered(metavar="ADDRESS", help="Scheduler of Dask.  [default: processes of this machine]")
    ] = None
    master: Annotated[
        str | None, _clustered(metavar="URL", help="Master of Spark.  [default: Spark's own settings, or this machine]")
    ] = None

    def __post_init__(self) -> None:
        for option, engine in (("scheduler", "dask"), ("master", "spark")):
            if getattr(self, option) is not None and self.engine != engine:
                raise UsageError(f"--{option} needs --engine {engine}")

    def session(self) -> AbstractContextManager[Session]:
        """The engine, as long as a block runs."""
        from quadric.distributed import sessions

        return sessions.dask_session(self.scheduler) if self.engine == "dask" else sessions.spark_session(self.master)

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
                raise UsageError(f"--engine reads Parquet files; {file.name} is not a Parquet file, so convert it first")


def write_scores(
    engine: Engine,
    model: quadric.workflow.TableModel,
    data: Path,
    kept: Sequence[str],
    row: str,
    output: Path,
    check: Callable[[Surprises | None], object],
) -> Counter[str]:
    """Score Parquet files into a folder of Parquet files, which appears when all is written; returns the counts of labels.

    Where no column is kept, the column ``row`` tells the rows apart. ``check`` hears of missing and new values before.
    """
    check_parquet(data)
    unfinished = output.with_name(f".{output.name}.{os.getpid()}.unfinished")
    try:
        with engine.session() as session:
            frame = session.read(str(data))
            refuse_unknown(kept, list(frame.columns), "--keep: the table", error=UsageError)
            if not kept:
                frame = session.numbered(frame, PREFIX + row, _first_rows(data))
            scored = quadric.distributed.predict(model.saved, frame, prefix=PREFIX)
            needed = [name for name in frame.columns if name in model.view.needed]
            rows = quadric.distributed.frames.table_of(frame, columns=needed, text=model.text_names)
            check(rows.total(model.surprises))
            scored = scored[[*(kept or [PREFIX + row]), *model.outputs(PREFIX).names]]
            # without the prefix, which kept new columns apart from those of the data
            names = {name: name.removeprefix(PREFIX) for name in scored.columns}
            scored = scored.toDF(*names.values()) if hasattr(scored, "toDF") else scored.rename(columns=names)
            session.write(scored, str(unfinished))
        counts = _labels(unfinished)
        if output.exists():
            shutil.rmtree(output)
        unfinished.rename(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return counts


def _first_rows(data: Path) -> dict[str, int]:
    from quadric.tables._arrow import arrow_files, shape_of

    files = arrow_files(data)
    counts = [(shape_of(file) or (0, 0))[0] for file in files]
    return dict(zip((file.name for file in files), accumulate(counts, initial=0), strict=False))


def _labels(folder: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for table in quadric.tables.read_chunks(folder, 1 << 20, text=["label"]):
        counts.update("no label" if label is None else label for label in table["label"].tolist())
    return counts
