"""Real engines for tests: a cluster of Dask with two worker processes, and a local session of Spark."""

import os
import shutil
import sys
import time
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pytest


def table(m=600, classes=("no", "yes"), seed=0):
    """Weighted rows: numbers, one with heavy tails, two 0/1 columns, and classes by a rule with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    X[:, 0] = np.exp(X[:, 0])
    home = rng.integers(0, 3, size=m)
    score = X[:, 0] * X[:, 1] + X[:, 2] - (home == 1) + rng.normal(size=m)
    places = np.searchsorted(np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]), score)
    columns = {"size": X[:, 0], "age": X[:, 1], "load": X[:, 2], "rent": (home == 1) * 1.0, "free": (home == 2) * 1.0}
    return {**columns, "weight": rng.uniform(0.5, 2.0, size=m), "y": np.array(classes, dtype=object)[places]}


FEATURES = ["size", "age", "load", "rent", "free"]


def features(columns):
    return np.column_stack([columns[name] for name in FEATURES])


def cut(columns, *ends):
    """Neighbouring parts of a table."""
    bounds = [0, *ends, len(columns["y"])]
    return [{name: values[a:b] for name, values in columns.items()} for a, b in pairwise(bounds)]


def part(values):
    """A part of a frame, made by a worker."""
    import pandas as pd

    return pd.DataFrame(values)


def slow_part(values):
    time.sleep(0.1)
    return part(values)


def work_done(dask_scheduler):
    """A number that grows with each step of each task."""
    return dask_scheduler.transition_counter


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster) as client:
        yield client


@contextmanager
def spark_session(folder, threads=2, **options):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    java = shutil.which("java") or shutil.which("java", path=os.path.join(os.environ.get("JAVA_HOME", ""), "bin"))
    if java is None:
        pytest.skip("Java is not installed (Debian: apt-get install default-jre-headless)")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # ends before better compiled code would pay
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder),
        "spark.local.dir": str(folder),
        **options,
    }
    session = sql.SparkSession.builder.master(f"local[{threads}]").config(map=options).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
