"""Run the tasks that a store lacks, on all cores, and report progress."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from joblib import cpu_count
from sklearn.utils.parallel import delayed

from quadric.blas import one_blas_thread
from quadric.paper.store import Store
from quadric.paper.tasks import Task, execute
from quadric.progress import advance
from quadric.resources import processes_of
from quadric.workers import workers

# Seconds of the smallest task.
LEAST_COST = 0.05


def canonical_order(tasks: Sequence[Task]) -> list[Task]:
    """Outer folds before inner ones, and long tasks first, so that none of them runs alone at the end."""
    return sorted({task.key: task for task in tasks}.values(), key=lambda task: (task.is_inner, -task.cost(), task.key))


def run(tasks: Sequence[Task], store: Store, *, seed: int, n_jobs: int | None = None) -> None:
    """Run the missing tasks. Each row is written to disk when it is done; at the end the rows are sorted.

    Parameters
    ----------
    tasks : sequence of Task
    store : Store
    seed : int
        Seed of the folds.
    n_jobs : int, optional
        Processes; all cores by default.
    """
    ordered = canonical_order(tasks)
    missing = {task.key: task for task in ordered if task.key not in store}
    if missing:
        processes = processes_of(n_jobs or cpu_count(only_physical_cores=True), len(missing))
        _run_missing(missing, store, seed, processes)
    position = {task.key: number for number, task in enumerate(ordered)}
    store.arrange(lambda key: (position.get(key, len(position)), key))


def _run_missing(missing: Mapping[str, Task], store: Store, seed: int, n_jobs: int) -> None:
    began, share = time.monotonic(), 0.0
    total = sum(map(_cost, missing.values()))
    # Few tasks wait at a time: when an error ends the run, loky may print a KeyError for each waiting task.
    pool = workers(n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
    results = pool(delayed(_timed)(task, seed) for task in missing.values())
    try:
        for done, (row, *took) in enumerate(results, start=1):
            store.add(row, *took)
            share = min(share + _cost(missing[row["key"]]) / total, 1.0)
            advance(share, f"{done} of {len(missing)} tasks ({row['key']})")
    finally:
        with warnings.catch_warnings(action="ignore"):  # joblib's: the run ends with its own error
            results.close()
    store.add_run(len(missing), round(time.monotonic() - began, 1), n_jobs)


def _timed(task: Task, seed: int) -> tuple[dict[str, Any], float, float]:
    began, used = time.perf_counter(), time.process_time()
    with one_blas_thread():
        row = execute(task, seed)
    return row, time.perf_counter() - began, time.process_time() - used


def _cost(task: Task) -> float:
    return max(task.cost(), LEAST_COST)
