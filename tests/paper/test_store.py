"""Rows survive whatever happens to the file, and rows of other runs stay out."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest

from quadric.paper.store import RESULTS, ROWS, SCHEMA, TIMES, Store, StoreError

IDENTITY = {"version": "1", "protocol": "paper", "seed": 0}


def rows(n):
    return [{"key": f"grid/iris/m/{i}", "accuracy": [1.0 / 3.0, float(i)]} for i in range(n)]


def filled(folder, n=3):
    store = Store(folder, IDENTITY)
    for row in rows(n):
        store.add(row, 0.2, 0.1)
    return store


def test_rows_come_back_with_the_same_bits(tmp_path):
    filled(tmp_path)
    again = Store(tmp_path, IDENTITY)
    assert list(again.rows.values()) == rows(3)
    assert "grid/iris/m/2" in again
    assert (again.times["grid/iris/m/1"]["clock"], again.times["grid/iris/m/1"]["work"]) == (0.2, 0.1)


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_damaged_last_line_is_dropped_and_reported(tmp_path, cut):
    filled(tmp_path)
    path = tmp_path / ROWS
    path.write_bytes(path.read_bytes()[:-cut])
    told = []
    store = Store(tmp_path, IDENTITY, report=told.append)
    assert list(store.rows.values()) == rows(2)
    assert "last line was damaged" in told[0]
    store.add(rows(3)[2], 0.2, 0.1)
    assert list(Store(tmp_path, IDENTITY).rows.values()) == rows(3)


def test_a_last_line_of_rubbish_with_its_end_is_dropped_too(tmp_path):
    filled(tmp_path)
    with (tmp_path / ROWS).open("ab") as file:
        file.write(b'{"key": "half\n')
    assert list(Store(tmp_path, IDENTITY).rows.values()) == rows(3)


def test_damage_in_the_middle_is_refused(tmp_path):
    filled(tmp_path)
    lines = (tmp_path / ROWS).read_bytes().split(b"\n")
    lines[2] = b"{"
    (tmp_path / ROWS).write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match="line 3 is damaged"):
        Store(tmp_path, IDENTITY)


def test_a_damaged_time_costs_no_result(tmp_path):
    filled(tmp_path)
    path = tmp_path / TIMES
    path.write_bytes(path.read_bytes()[:-5])
    told = []
    store = Store(tmp_path, IDENTITY, report=told.append)
    assert (len(store.rows), len(store.times)) == (3, 2)
    assert told == [f"{path}: the last line was damaged and has been dropped; only the time of one task is lost"]


def test_both_files_begin_with_what_the_rows_depend_on(tmp_path):
    filled(tmp_path)
    header = f'{{"store":"quadric paper","schema":{SCHEMA},"results":{RESULTS},"version":"1","protocol":"paper","seed":0}}'
    assert [(tmp_path / name).read_text().splitlines()[0] for name in (ROWS, TIMES)] == [header, header]


def test_rows_of_code_with_other_results_are_refused(tmp_path, monkeypatch):
    filled(tmp_path)
    monkeypatch.setattr("quadric.paper.store.RESULTS", RESULTS + 1)
    with pytest.raises(StoreError, match=f"was made with results {RESULTS}, this run has {RESULTS + 1}"):
        Store(tmp_path, IDENTITY)


def test_runs_are_kept_beside_the_times(tmp_path):
    store = filled(tmp_path)
    runs = [(3, 1.5, 2), (1, 0.5, 1)]
    for run in runs:
        store.add_run(*run)
    again = Store(tmp_path, IDENTITY)
    assert again.runs == store.runs
    assert [(run["pieces"], run["elapsed"], run["n_jobs"]) for run in again.runs] == runs
    assert len(again.times) == 3


@pytest.mark.parametrize("change", [{"version": "2"}, {"protocol": "nested"}, {"seed": 1}])
def test_rows_of_another_run_are_refused_with_advice(tmp_path, change):
    filled(tmp_path)
    before = (tmp_path / ROWS).read_bytes()
    with pytest.raises(StoreError, match="choose another folder"):
        Store(tmp_path, IDENTITY | change)
    assert (tmp_path / ROWS).read_bytes() == before


def test_some_other_file_is_no_store(tmp_path):
    (tmp_path / ROWS).write_text(json.dumps({"key": "x"}) + "\n")
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path, IDENTITY)


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        Store(tmp_path / "file" / "below", IDENTITY)


FULL_DISK = """
import resource, signal, sys
from quadric.paper.store import Store, StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = Store(sys.argv[1], {"version": "1", "protocol": "paper", "seed": 0})
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
try:
    for i in range(100):
        store.add({"key": f"grid/iris/m/{i}", "accuracy": [0.5] * 20}, 0.2, 0.1)
except StoreError as error:
    print(error)
"""


def test_a_file_that_can_grow_no_further_stays_whole(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert "run again to go on" in done.stdout
    assert (tmp_path / ROWS).read_bytes().endswith(b"\n")
    told = []
    assert 0 < len(Store(tmp_path, IDENTITY, report=told.append).rows) < 100
    assert told == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1500
    assert signal.getsignal(signal.SIGXFSZ) is not None
    assert os.path.getsize(tmp_path / ROWS) <= 1500


def test_a_full_disk_while_rows_are_put_in_order_is_one_clear_line(tmp_path, monkeypatch):
    store = filled(tmp_path)
    before = (tmp_path / ROWS).read_bytes()

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("quadric.paper.store.write_atomically", full)
    with pytest.raises(
        StoreError, match=r"cannot write .*rows.jsonl: No space left on device; finished rows are kept, run again"
    ):
        store.arrange(lambda key: -int(key[-1]))
    assert (tmp_path / ROWS).read_bytes() == before


def test_rows_can_be_put_in_order(tmp_path):
    store = filled(tmp_path)
    store.arrange(lambda key: -int(key[-1]))
    assert list(Store(tmp_path, IDENTITY).rows) == [f"grid/iris/m/{i}" for i in (2, 1, 0)]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"[1, 2]", "is damaged"),
        (b'{"store": "quadric paper"}', "has no key"),
        (b'{"key": 3}', "has no key"),
        (b'{"key": ["grid"]}', "has no key"),
        (b"[" * 100_000, "is damaged"),
        (b"\xff\xfe\x00", "is damaged"),
        (b'{"key": "grid/iris/m/9"}', "is wrong"),
    ],
)
def test_a_wrong_row_is_named_with_its_file_and_line(tmp_path, line, says):
    filled(tmp_path)
    lines = (tmp_path / ROWS).read_bytes().splitlines()
    (tmp_path / ROWS).write_bytes(b"\n".join([*lines[:2], line, *lines[2:], b""]))
    before = (tmp_path / ROWS).read_bytes()
    with pytest.raises(StoreError, match=f"{ROWS}: line 3 {says}"):
        Store(tmp_path, IDENTITY, problem=lambda row: None if "accuracy" in row else "is wrong")
    assert (tmp_path / ROWS).read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        b'{"key": "grid/iris/m/0"}',
        b'{"key": "grid/iris/m/0", "clock": "1", "work": 1}',
        b'{"key": "run/0", "pieces": 1}',
        b'{"key": "run/0", "pieces": 1, "elapsed": [], "n_jobs": 1}',
    ],
)
def test_a_wrong_time_is_named_too(tmp_path, line):
    filled(tmp_path)
    with (tmp_path / TIMES).open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(StoreError, match=f"{TIMES}: line 5 has no number"):
        Store(tmp_path, IDENTITY)


def test_times_of_rows_that_were_lost_do_not_count(tmp_path):
    filled(tmp_path)
    (tmp_path / ROWS).write_bytes(b"".join((tmp_path / ROWS).read_bytes().splitlines(keepends=True)[:3]))
    assert list(Store(tmp_path, IDENTITY).times) == ["grid/iris/m/0", "grid/iris/m/1"]


def test_a_folder_in_the_place_of_the_rows_is_refused(tmp_path):
    (tmp_path / ROWS).mkdir()
    with pytest.raises(StoreError, match=r"rows.jsonl is a folder"):
        Store(tmp_path, IDENTITY)


def test_a_locked_store_is_refused_to_others_and_leaves_no_lock(tmp_path):
    with Store.locked(tmp_path / "new", IDENTITY) as store:
        store.add(rows(1)[0], 0.2, 0.1)
        with pytest.raises(ValueError, match=f"process {os.getpid()} .* works in"), Store.locked(tmp_path / "new", IDENTITY):
            pass
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [ROWS, TIMES]
