"""A file system that fails, or a process that dies, at any call that opens, writes, syncs, renames or makes a folder.

Every output is afterwards the old one or the new one, never half; a failure is one line and leaves nothing behind; what a dead
process left is gone after the next run.
"""

import builtins
import contextlib
import errno
import io
import os
import random
from pathlib import Path
from unittest import mock

import pytest

from helpers.commands import COMMANDS, clear, ended, forked, left_over, outputs, prepare, run
from helpers.original_files import data_folder
from quadric import files

DEATH = 42
OLD = b"old content\n"
CALLS = ("open", "write", "fsync", "replace", "mkdir")
ERRORS = {
    "open": (errno.EACCES, errno.EMFILE, errno.EIO),
    "write": (errno.ENOSPC, errno.EIO, errno.EDQUOT),
    "fsync": (errno.EIO, errno.ENOSPC),
    "replace": (errno.EACCES, errno.ENOSPC, errno.EIO),
    "mkdir": (errno.EACCES, errno.ENOSPC),
}


class Fault:
    """Counts calls that touch a folder, and lets one of them go wrong."""

    def __init__(self, folder, place=None, act=None):
        self.folder, self.place, self.act = str(folder), place, act
        self.places = []

    def __call__(self, name, half=lambda: None):
        self.places.append(name)
        if len(self.places) - 1 == self.place:
            if self.act == "die":
                half()
                os._exit(DEATH)
            raise OSError(self.act, os.strerror(self.act))

    def touches(self, path):
        return isinstance(path, str | os.PathLike) and os.path.abspath(path).startswith(self.folder)

    def wrapped(self, name, original):
        def call(path, *arguments, **more):
            if isinstance(path, int) or self.touches(path):
                self(name)
            return original(path, *arguments, **more)

        return call

    def opened(self, path, mode="r", buffering=-1, *arguments, **more):
        if not self.touches(path):
            return io_open(path, mode, buffering, *arguments, **more)
        self("open")
        return self.raw(path, mode) if buffering == 0 else io_open(path, mode, buffering, *arguments, **more)

    def raw(self, path, mode):
        """A file for appending, as the store of the paper uses it."""
        fault = self

        class Raw(io.FileIO):
            def write(self, content):
                fault("write", half=lambda: io.FileIO.write(self, content[: len(content) // 2]))
                return super().write(content)

        return Raw(path, mode)

    def write_part(self, part, content):
        self("write", half=lambda: io.FileIO.write(part, bytes(content)[: len(content) // 2]))
        return part_write(part, content)

    @contextlib.contextmanager
    def injected(self):
        with contextlib.ExitStack() as stack:
            for name in ("open", "fsync", "replace", "mkdir"):
                stack.enter_context(mock.patch.object(os, name, self.wrapped(name, getattr(os, name))))
            stack.enter_context(mock.patch.object(builtins, "open", self.opened))
            stack.enter_context(mock.patch.object(io, "open", self.opened))
            stack.enter_context(mock.patch.object(files._Part, "write", lambda part, content: self.write_part(part, content)))
            yield


io_open, part_write = io.open, files._Part.write


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the inputs of all commands."""
    folder, source = tmp_path_factory.mktemp("faults"), data_folder()
    prepare(folder, source and source / "haberman.csv")
    with contextlib.chdir(folder):
        yield folder


def set_out(folder, command):
    """What was there before: old outputs of commands that write one file."""
    clear(folder)
    name = command.split()[-1]
    if "." in name and not command.startswith("paper"):
        Path(folder, name).write_bytes(OLD)


def points(folder, command):
    """The calls of an unbroken run, and what it writes."""
    set_out(folder, command)
    fault = Fault(folder)
    with fault.injected():
        assert run(command).code == 0
    assert left_over(folder) == []
    return fault.places, outputs(folder)


def whole(folder, new):
    """Whether every output is an old one, a new one, or a store in the middle of its rows."""
    for name, content in outputs(folder).items():
        if Path(name).name.startswith(".quadric"):
            continue
        is_begun_store = name == "new/rows.jsonl" and set(content.splitlines()[:-1]) <= set(new[name].splitlines())
        assert content in (OLD, new[name]) or is_begun_store, name


def sampled(places, n):
    """Some calls, of each kind at least one, or all."""
    if n >= len(places):
        return list(range(len(places)))
    chosen = {next(i for i, name in enumerate(places) if name == kind) for kind in dict.fromkeys(places)}
    rest = [i for i in range(len(places)) if i not in chosen]
    picked = random.Random(len(places)).sample(sorted(chosen), min(n, len(chosen)))
    return sorted([*picked, *random.Random(0).sample(rest, max(0, n - len(picked)))])


SLOW = ("report", "path .svg", "path .csv", "paper")
ALIKE = ("path .csv", "path .svg", "export .py", "export .tex", "export equation")
"""Commands that write as others do: they die only at full size."""


def available(command, folder):
    if command == "data" and not (folder / "haberman.csv").exists():
        pytest.skip("the data sets of the paper are not here")
    for name, module in {"report": "jinja2", ".svg": "matplotlib", ".xlsx": "xlsxwriter", ".onnx": "onnx"}.items():
        if name in command:
            pytest.importorskip(module)
    return COMMANDS[command]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_call_that_fails_is_one_line_and_leaves_old_or_new(name, place, size, tally):
    command = available(name, place)
    places, new = points(place, command)
    assert {"open", "fsync", "replace"} <= set(places)
    for number in sampled(places, size(1 if name in SLOW else 3, 10**6)):
        kinds = ERRORS[places[number]]
        for kind in kinds if size(0, 1) else [kinds[number % len(kinds)]]:
            set_out(place, command)
            fault = Fault(place, number, kind)
            with fault.injected():
                result = run(command)
            about = (name, places[number], number, errno.errorcode[kind], result)
            assert len(fault.places) > number, about
            if result.code == 0:  # syncing a folder that cannot be opened is not needed
                assert outputs(place) == new, about
            else:
                assert result.code in (1, 2), about
                words = [line for line in result.errors if line.startswith("quadric: ")]
                assert len(words) == 1, about
                assert "unexpected" not in words[0], about
                whole(place, new)
            assert left_over(place) == [], about
            assert run(command).code == 0, about
            assert outputs(place) == new, about
            tally(f"faults: {places[number]} failed, exit code {result.code}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_death_at_a_call_leaves_old_or_new_and_the_next_run_clears_up(name, place, size, tally):
    command = available(name, place)
    if name in ALIKE and not size(0, 1):
        pytest.skip("only with --full")
    places, new = points(place, command)

    def die(number):
        with Fault(place, number, "die").injected():
            return run(command).code

    for number in sampled(places, size(1 if name in SLOW else 2, 10**6)):
        set_out(place, command)
        about = (name, places[number], number)
        assert ended(forked(lambda: die(number))).code == DEATH, about  # noqa: B023
        whole(place, new)
        tally("faults: deaths with something left over", len(left_over(place)) > 0)
        assert run(command).code == 0, about
        assert outputs(place) == new, about
        assert left_over(place) == [], about
        tally(f"faults: died at {places[number]}")
