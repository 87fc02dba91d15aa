"""A run that was killed ends with the same bytes as one that was not, on any number of processes."""

import os
import subprocess
import sys
import time

import pytest

from quadric.paper.experiments import Plan
from quadric.paper.runner import canonical_order, run
from quadric.paper.store import ROWS, Store

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
    seen = []
    run(plan.tasks(), Store(folder, IDENTITY), seed=0, n_jobs=1, advance=seen.append)
    assert [progress.done for progress in seen] == list(range(1, 21))
    assert seen[-1].share == pytest.approx(1.0)
    assert seen[-1].remaining == pytest.approx(0.0, abs=1e-6)
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
    done = []
    run(plan.tasks(), Store(tmp_path, IDENTITY), seed=0, n_jobs=1, advance=done.append)
    assert len(done) == 20 - (kept.count(b"\n") - 1)
    assert (tmp_path / ROWS).read_bytes() == expected


def test_nothing_is_done_twice(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    run(plan.tasks()[:3], store, seed=0, n_jobs=1)
    done = []
    run(plan.tasks()[:3], store, seed=0, n_jobs=1, advance=done.append)
    assert done == []


def test_outer_folds_come_before_inner_ones_and_long_work_first():
    tasks = canonical_order(Plan.of(["table2"], ["ls-svm", "l0-qsvm"], ["iris"], reading="nested").tasks())
    inner = [task.split.inner is not None for task in tasks]
    assert inner == sorted(inner)
    assert tasks[0].subject == "l0-qsvm"
