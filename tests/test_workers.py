"""Worker processes end with their parent, and the backend that a user has chosen stays."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from joblib import parallel_config
from joblib.parallel import LokyBackend, get_active_backend
from sklearn.utils.parallel import delayed

from helpers.commands import ended, forked
from quadric import workers as module
from quadric.workers import workers, workers_end_with_us


def test_workers_watch_and_leave_interrupts_to_their_parent():
    def state():  # in here: other processes need not find this module
        blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []) if hasattr(signal, "pthread_sigmask") else None
        return os.getpid(), blocked, [thread.name for thread in threading.enumerate()]

    for process, blocked, threads in workers(2)(delayed(state)() for _ in range(2)):
        assert process != os.getpid()
        assert blocked in (True, None)
        assert any("_end_with" in name for name in threads)
    if hasattr(signal, "pthread_sigmask"):
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize("n_jobs", [None, 1])
def test_one_process_needs_no_workers(n_jobs):
    with workers_end_with_us(n_jobs):
        assert type(get_active_backend()[0]) is LokyBackend
    assert workers(n_jobs)(delayed(os.getpid)() for _ in range(2))[0] == os.getpid()


@pytest.mark.parametrize("chosen", [{"backend": "threading"}, {"backend": "loky", "inner_max_num_threads": 1}])
def test_the_backend_of_the_user_stays(chosen):
    with parallel_config(**chosen):
        before = get_active_backend()[0]
        with workers_end_with_us(2):
            assert get_active_backend()[0] is before


def test_numbers_of_jobs_may_come_from_the_user_too():
    with parallel_config(n_jobs=2), workers_end_with_us(None):
        backend, n_jobs = get_active_backend()
        assert type(backend) is module._Backend
        assert n_jobs == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_process_whose_parent_is_gone_ends(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LOOKS", 0.01)

    def orphan():
        module._watch(os.getppid() + 1)  # the parent is another one
        time.sleep(60)
        return 0

    assert ended(forked(orphan)).code == 1


LIMITED = """
import resource, sys
from sklearn.utils.parallel import delayed
from quadric.workers import workers
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    workers(2)(delayed(abs)(i) for i in range(4))
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [12, 18, 21])
def test_too_few_files_for_processes_are_one_line(limit):
    pytest.importorskip("resource")
    found = subprocess.run([sys.executable, "-c", LIMITED, str(limit)], capture_output=True, text=True, check=True)
    (line,) = (found.stdout + found.stderr).splitlines()
    assert line.startswith("2 processes need more files open")
    assert line.endswith("use one process, or raise the limit (ulimit -n)")
