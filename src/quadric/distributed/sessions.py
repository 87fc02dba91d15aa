"""Engines that the command line starts or connects to, and the Parquet files that they read and write."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from joblib import cpu_count

from quadric.errors import EngineError
from quadric.extras import require
from quadric.tables.parts import CHUNK_ROWS

# Settings of Dask with which workers keep the memory of one batch for the next; by default they give it back at once
KEEPING_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 27,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}
# Settings of Spark with which rows reach Python in fewer pieces
LARGE_BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": str(CHUNK_ROWS), "spark.buffer.size": str(1 << 20)}
# Seconds in which a scheduler must answer
CONNECTING = 10


@dataclass(frozen=True)
class Session:
    """A running engine.

    Attributes
    ----------
    read : function of a path
        The Parquet files at a path, as a frame.
    write : function of a frame and a path
        The frame as a folder of Parquet files.
    numbered : function of a frame that was read, a name and a mapping
        The frame with a column of that name, the number of the row from 0; the mapping gives the number of the first row of
        each file by its name.
    """

    read: Callable[[str], Any]
    write: Callable[[Any, str], None]
    numbered: Callable[[Any, str, Mapping[str, int]], Any]


@contextmanager
def dask_session(address: str | None = None) -> Iterator[Session]:
    """A cluster of Dask.

    Parameters
    ----------
    address : str, optional
        Of its scheduler; by default processes of this machine, one per core, which end with the block.

    Yields
    ------
    Session
    """
    distributed, dd, dask = require("distributed", "dask"), require("dask.dataframe", "dask"), require("dask", "dask")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # errors are told in a sentence
    with ExitStack() as stack:
        where: Any = address
        if address is None:
            local = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
            stack.enter_context(dask.config.set(KEEPING_MEMORY))
            where = stack.enter_context(distributed.LocalCluster(n_workers=cpu_count(), threads_per_worker=1, **local))
        try:
            stack.enter_context(distributed.Client(where, timeout=CONNECTING))
        except (OSError, ValueError) as error:
            raise EngineError(f"there is no scheduler of Dask at {address}") from error
        yield Session(dd.read_parquet, lambda frame, path: frame.to_parquet(path, write_index=False), _numbered_by_dask)


@contextmanager
def spark_session(master: str | None = None) -> Iterator[Session]:
    """A session of Spark.

    Parameters
    ----------
    master : str, optional
        URL of its master; by default the one of Spark's own settings, or else this machine.

    Yields
    ------
    Session
    """
    sql = require("pyspark.sql", "spark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=f"{home}/bin" if home else None) is None:
        raise EngineError("Spark needs Java, which is not installed (Debian: apt-get install default-jre-headless)")
    from quadric.distributed.spark import telling

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR", **LARGE_BATCHES}
    builder = sql.SparkSession.builder.appName("quadric").config(map=options)
    with telling():
        session = (builder if master is None else builder.master(master)).getOrCreate()
    try:
        with telling():
            yield Session(session.read.parquet, lambda frame, path: frame.write.parquet(path), _numbered_by_spark)
    finally:
        session.stop()


def _numbered_by_dask(frame: Any, name: str, first_rows: Mapping[str, int]) -> Any:
    """Partitions come in the order of the files."""
    counted = frame.assign(**{name: 1})
    return counted.assign(**{name: counted[name].cumsum() - 1})


def _numbered_by_spark(frame: Any, name: str, first_rows: Mapping[str, int]) -> Any:
    """Files come in the order of their sizes: each row knows its file, and its number there."""
    functions = require("pyspark.sql.functions", "spark")
    names = {spelt: row for file, row in first_rows.items() for spelt in (file, quote(file))}
    firsts = functions.create_map(*(functions.lit(each) for pair in names.items() for each in pair))
    return frame.withColumn(name, firsts[frame["_metadata.file_name"]] + frame["_metadata.row_index"])
