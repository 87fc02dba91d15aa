"""SIGKILL at random moments: the same command, run again, ends with the bytes of an unbroken run, and nothing is left behind."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from helpers.commands import COMMANDS, clear, ended, forked, left_over, outputs, prepare, run
from helpers.small_tables import credit_columns, csv_text
from quadric.cli import predict
from quadric.cli.signals import Signals
from quadric.progress import STOP

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork and SIGKILL")
KILLED = {
    "fit": COMMANDS["fit"],
    "predict": COMMANDS["predict"],
    "report": COMMANDS["report"],
    "paper": "paper table2 --models ls-svm,lsvm --datasets iris --jobs 1 --output new --docs new.md",
}
JOBS = "fit many.csv --target risk --ks 1:12 --folds 4 --jobs 2 --force --output new.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    prepare(folder, None)
    (folder / "many.csv").write_text(csv_text(credit_columns(n_rows=2000)))
    with contextlib.chdir(folder):
        yield folder


def timed(command, folder):
    """Seconds of an unbroken run in a child, and what it writes."""
    assert run(command).code == 0  # everything is imported
    clear(folder)
    began = time.monotonic()
    assert ended(forked(lambda: run(command).code)).code == 0
    seconds = time.monotonic() - began
    assert left_over(folder) == []
    return seconds, outputs(folder)


def while_writing(child, folder, rng):
    """Wait for a moment in which a new file is there in part; the paper writes several."""
    seen, wanted = set(), rng.randint(1, 4) if (folder / "new").is_dir() else 1
    while len(seen) < wanted and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        for place in filter(os.path.isdir, (folder, folder / "new")):
            seen |= {name for name in os.listdir(place) if name.endswith(".part")}
    time.sleep(rng.random() * 0.004)


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLED)
def test_a_killed_command_run_again_gives_the_same_bytes(name, place, size, tally):
    if name == "report":
        pytest.importorskip("jinja2")
    command, rng = KILLED[name], random.Random(name)
    seconds, new = timed(command, place)
    clear(place)
    for number in range(size(1 if name == "report" else 3, 75)):
        if rng.random() < 0.5:
            clear(place)  # otherwise the paper goes on with its rows, and the others replace a whole file
        child = forked(lambda: run(command).code)
        if number % 2:
            time.sleep(seconds * rng.random())
        else:
            while_writing(child, place, rng)
        os.kill(child, signal.SIGKILL)
        end = ended(child)
        tally(f"kills: {name}, {'killed' if end.signal else 'had ended'}")
        tally("kills: something left over", len(left_over(place)) > 0)
        for file, content in outputs(place).items():
            is_begun = Path(file).name in ("rows.jsonl", ".quadric.lock") or file.endswith(".part")
            assert content == new.get(file) or is_begun, file
        if rng.random() < 0.7 or not number:  # otherwise it is killed once more first
            assert run(command).code == 0
            assert outputs(place) == new
            assert left_over(place) == []
    assert run(command).code == 0
    assert outputs(place) == new


def processes():
    """Running processes by number: their parent and command line."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            if fields[0] != "Z":
                found[int(entry.name)] = (int(fields[1]), (entry / "cmdline").read_text())
    return found


def workers_of(process):
    return [number for number, (parent, line) in processes().items() if parent == process and "LokyProcess" in line]


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def started(command, folder):
    """A real process, in a session of its own, with workers."""
    running = subprocess.Popen(
        [sys.executable, "-c", START, *command.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "stderr").open("wb"),
        start_new_session=True,
    )
    return running, until(lambda: len(found := workers_of(running.pid)) == 2 and found)


START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
from quadric.cli import main
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent(number, place, size, tally):
    if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("this process ignores SIGHUP (nohup), and so do those that it starts")
    for again in range(size(1 if number in (signal.SIGKILL, signal.SIGINT) else 0, 5)):
        clear(place)
        running, workers = started(JOBS, place)
        time.sleep(0.2 * again)
        if number == signal.SIGINT:  # Ctrl-C reaches all processes of a terminal
            os.killpg(running.pid, number)
        else:
            running.send_signal(number)
        code = running.wait(60)
        until(lambda: not set(workers) & set(processes()))  # noqa: B023
        assert code == (-number if number == signal.SIGKILL else 128 + number)
        if number != signal.SIGKILL:
            lines = [line for line in (place / "stderr").read_text().splitlines() if not line.startswith("fit: ")]
            words = {signal.SIGHUP: "terminal closed", signal.SIGTERM: "terminated", signal.SIGINT: "interrupted"}
            assert lines == [f"quadric: {words[number]}"]
        left = outputs(place)
        if number == signal.SIGKILL:  # the claim on the output stays, and the next command removes it
            left = {name: content for name, content in left.items() if not name.startswith(".quadric-")}
        assert left == {}
        shared = Path("/dev/shm")
        until(lambda: not list(shared.glob(f"joblib_memmapping_folder_{running.pid}_*")))  # noqa: B023
        tally(f"kills: {number.name} with two workers")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_a_file_is_written_leaves_nothing(number, place, monkeypatch):
    def interrupted(*arguments):
        assert any(name.endswith(".part") for name in os.listdir())
        os.kill(os.getpid(), number)
        return lines(*arguments)

    def interrupted_run():
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        end = run(COMMANDS["predict"])
        Path("said").write_text("\n".join(end.errors))
        return end.code

    clear(place)
    lines = predict._lines
    monkeypatch.setattr(predict, "_lines", interrupted)
    assert ended(forked(interrupted_run)).code == 128 + number
    words = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "terminal closed"}
    assert Path("said").read_text() == f"quadric: {words[number]}"
    assert outputs(place) == {}


def test_a_process_that_was_told_to_ignore_hangups_goes_on(place):
    def ignoring_run():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
        with Signals(final=False):
            os.kill(os.getpid(), signal.SIGHUP)
            return run(COMMANDS["predict"]).code

    clear(place)
    assert ended(forked(ignoring_run)).code == 0
    assert list(outputs(place)) == ["new.csv"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_errors_of_threads_are_told_unless_a_signal_caused_them(is_interrupted, capsys, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)  # pytest has its own
    with Signals(final=False) as signals:
        signals.watch_threads()
        if is_interrupted:
            signals.received.append(signal.SIGINT)
        thread = threading.Thread(target=lambda: {}["lost task"])
        thread.start()
        thread.join()
    assert ("KeyError: 'lost task'" in capsys.readouterr().err) is not is_interrupted
    assert threading.excepthook is threading.__excepthook__


def test_the_first_interrupt_of_a_proof_ends_only_the_proof():
    signals = Signals(final=False)  # its handler is called, and no signal sent: workers of pytest would take it for their own
    with STOP.awaited():
        signals._stop(signal.SIGINT, None)
        assert STOP.is_wanted
        assert not signals.received
        with pytest.raises(KeyboardInterrupt):
            signals._stop(signal.SIGINT, None)
    assert signals.received == [signal.SIGINT]
    assert STOP.was_wanted
    with STOP.awaited():
        assert not STOP.is_wanted
    assert STOP.was_wanted  # by a proof before
