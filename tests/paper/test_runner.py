"""A run that was killed ends with the same bytes as one that was not, on any number of processes."""

import os
import subprocess
import sys
import threading
import time

import pytest
from joblib import parallel_config

from helpers.listening import heard
from quadric.paper.experiments import Plan
from quadric.paper.runner import canonical_order, run
from quadric.paper.store import ROWS, Store
from quadric.paper.tasks import execute
from quadric.progress import listening

IDENTITY = {"version": "1", "protocol": "paper", "seed": 0}
SCRIPT = """
import sys
from quadric.paper.experiments import Plan
from quadric.paper.runner import run
from quadric.paper.store import Store
plan = Plan.of(["table2"], ["ls-svm", "lsvm", "svm-rbf", "ls-l0-qsvm"], ["iris"])
store = Store(sys.argv[1], {"version": "1", "protocol": "paper", "seed": 0})
run(plan.tasks(), store, seed=0, n_jobs=1)
"""


@pytest.fixture(scope="module")
def plan():
    return Plan.of(["table2"], ["ls-svm", "lsvm", "svm-rbf", "ls-l0-qsvm"], ["iris"])


@pytest.fixture(scope="module")
def expected(plan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with heard() as told:
        run(plan.tasks(), Store(folder, IDENTITY), seed=0, n_jobs=1)
    assert [what.split(" (")[0] for _, what in told] == [f"{done} of 20 tasks" for done in range(1, 21)]
    assert told == sorted(told, key=lambda one: one[0])
    assert told[-1][0] == pytest.approx(1.0)
    return (folder / ROWS).read_bytes()


def test_two_processes_write_the_same_bytes(plan, expected, tmp_path):
    run(plan.tasks(), Store(tmp_path, IDENTITY), seed=0, n_jobs=2)
    assert (tmp_path / ROWS).read_bytes() == expected


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(plan, expected, tmp_path):
    running = subprocess.Popen([sys.executable, "-c", SCRIPT, tmp_path], env=os.environ)
    while not (tmp_path / ROWS).exists() or (tmp_path / ROWS).read_bytes().count(b"\n") < 4:
        time.sleep(0.01)
        assert running.poll() in (None, 0)
    running.kill()
    running.wait()
    kept = (tmp_path / ROWS).read_bytes()
    with heard() as done:
        run(plan.tasks(), Store(tmp_path, IDENTITY), seed=0, n_jobs=1)
    assert len(done) == 20 - (kept.count(b"\n") - 1)
    assert (tmp_path / ROWS).read_bytes() == expected


def test_nothing_is_done_twice(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    run(plan.tasks()[:3], store, seed=0, n_jobs=1)
    with heard() as done:
        run(plan.tasks()[:3], store, seed=0, n_jobs=1)
    assert done == []


def test_outer_folds_come_before_inner_ones_and_long_work_first():
    tasks = canonical_order(Plan.of(["table2"], ["ls-svm", "l0-qsvm"], ["iris"], reading="nested").tasks())
    inner = [task.split.inner is not None for task in tasks]
    assert inner == sorted(inner)
    assert tasks[0].subject == "l0-qsvm"


def test_a_row_behind_a_slow_one_is_on_the_disk_before_it(plan, expected, tmp_path, monkeypatch):
    tasks = plan.tasks()
    slow, gate = canonical_order(tasks)[0].key, threading.Event()

    def execute_late(task, seed):
        if task.key == slow:
            assert gate.wait(30)
        return execute(task, seed)

    def open_gate(share, what):
        written = (tmp_path / ROWS).read_bytes()
        if what.startswith("3 of"):
            assert slow.encode() not in written
            assert written.count(b"\n") == 4
            gate.set()

    monkeypatch.setattr("quadric.paper.runner.execute", execute_late)
    with parallel_config(backend="threading"), listening(open_gate):
        run(tasks, Store(tmp_path, IDENTITY), seed=0, n_jobs=2)
    assert (tmp_path / ROWS).read_bytes() == expected


FAILING = """
import sys
from quadric.paper.experiments import Plan
from quadric.paper.runner import run
from quadric.paper.store import Store, StoreError
store = Store(sys.argv[1], {identity!r})
added = []
def add(row, clock, work):
    added.append(row)
    if len(added) == 8:
        raise StoreError("cannot write")
store.add = add
try:
    run(Plan.of(["table2"], ["ls-svm", "lsvm", "svm-rbf", "l1-svm"], ["iris"]).tasks(), store, seed=0, n_jobs=2)
except StoreError as error:
    print(error)
"""


def test_a_store_that_fails_stops_the_run_without_other_words(tmp_path):
    """A traceback from a thread of the workers' manager would reach the standard error of a process of its own."""
    code = FAILING.format(identity=IDENTITY)
    done = subprocess.run([sys.executable, "-W", "always", "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "cannot write\n"
    assert done.stderr == ""


def test_a_run_that_came_to_its_end_says_how_long_it_took(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    run(plan.tasks()[:3], store, seed=0, n_jobs=1)
    run(plan.tasks()[:3], store, seed=0, n_jobs=1)
    assert [(record["pieces"], record["n_jobs"]) for record in Store(tmp_path, IDENTITY).runs] == [(3, 1)]
