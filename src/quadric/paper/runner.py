"""Does the tasks that a store lacks, on all cores, and tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from joblib import Parallel, cpu_count, delayed

from quadric.blas import one_blas_thread
from quadric.paper.store import Store, Took
from quadric.paper.tasks import Task, execute

Advance: TypeAlias = Callable[["Progress"], None]
LEAST_COST = 0.05
"""Seconds that even the smallest task takes."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    done, total : int
        Tasks.
    share : float
        Of the work, by its estimated cost.
    elapsed, remaining : float
        Seconds of this run; what remains is an estimate.
    latest : str
        Key of the task that was finished last.
    """

    done: int
    total: int
    share: float
    elapsed: float
    remaining: float
    latest: str


def canonical_order(tasks: Sequence[Task]) -> list[Task]:
    """Long tasks first, so that no core is left alone with one at the end; outer folds before inner ones."""
    unique = {task.key: task for task in tasks}
    return sorted(unique.values(), key=lambda task: (_is_inner(task), -task.cost(), task.key))


def run(tasks: Sequence[Task], store: Store, *, seed: int, n_jobs: int | None = None, advance: Advance | None = None) -> None:
    """Do what is missing. Rows are written in one order, whatever the order in which workers finish.

    Parameters
    ----------
    tasks : sequence of Task
    store : Store
    seed : int
        Of the folds.
    n_jobs : int, optional
        Processes; all cores by default.
    advance : callable, optional
        Told of progress after every row.
    """
    missing = [task for task in canonical_order(tasks) if task.key not in store]
    if not missing:
        return
    n_jobs = n_jobs or cpu_count(only_physical_cores=True)
    clock = _Clock(missing)
    workers = Parallel(n_jobs=n_jobs, return_as="generator", pre_dispatch="all", batch_size=1)
    for task, (row, took) in zip(missing, workers(delayed(_timed)(task, seed) for task in missing), strict=True):
        store.add(row, took)
        if advance is not None:
            advance(clock.after(task))


def _is_inner(task: Task) -> bool:
    return task.split is not None and task.split.inner is not None


def _timed(task: Task, seed: int) -> tuple[dict[str, Any], Took]:
    began, used = time.perf_counter(), time.process_time()
    with one_blas_thread():
        row = execute(task, seed)
    return row, Took(time.perf_counter() - began, time.process_time() - used)


class _Clock:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.began = time.monotonic()
        self.total = len(tasks)
        self.work = sum(_cost(task) for task in tasks)
        self.done, self.share = 0, 0.0

    def after(self, task: Task) -> Progress:
        self.done += 1
        self.share = min(self.share + _cost(task) / self.work, 1.0)
        elapsed = time.monotonic() - self.began
        return Progress(self.done, self.total, self.share, elapsed, elapsed * (1.0 / self.share - 1.0), task.key)


def _cost(task: Task) -> float:
    return max(task.cost(), LEAST_COST)
