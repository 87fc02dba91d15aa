"""Files are whole, keep their rights, follow no planted link, and clear up after the dead; folders have one worker."""

import errno
import importlib.util
import os
import stat
import sys
import time
from types import SimpleNamespace

import pytest

from helpers.commands import ended, forked
from quadric import files
from quadric.errors import ParameterError

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
needs_modes = pytest.mark.skipif(os.name == "nt", reason="files have no modes")


@pytest.fixture
def umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def parts(folder):
    return sorted(name for name in os.listdir(folder) if name.startswith(".quadric"))


@needs_modes
@pytest.mark.parametrize("before", [0o600, 0o644, 0o640, 0o444, 0o777])
def test_a_file_keeps_its_mode(before, tmp_path, umask):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(before)
    files.write_atomically(path, "new")
    assert (path.read_text(), mode(path)) == ("new", before)


@needs_modes
def test_a_new_file_has_the_mode_that_the_user_asks_for(tmp_path, umask):
    files.write_atomically(tmp_path / "file", "new")
    assert mode(tmp_path / "file") == 0o640


@needs_modes
def test_a_private_file_is_private_while_it_is_written(tmp_path, umask):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o600)
    with files.replacing(path) as file:
        file.write("new")
        assert [mode(tmp_path / part) for part in parts(tmp_path)] == [0o600]


@needs_modes
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_are_kept_where_that_is_allowed(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    files.write_atomically(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


@needs_modes
def test_rights_of_a_group_are_not_given_to_another(tmp_path, monkeypatch):
    def refused(*arguments):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o660)
    monkeypatch.setattr(os, "fchown", refused)
    files.write_atomically(path, "new")
    assert mode(path) == 0o600


def test_names_can_be_as_long_as_the_file_system_allows(tmp_path):
    longest = "n" * 255
    files.write_atomically(tmp_path / longest, "new")
    assert os.listdir(tmp_path) == [longest]
    with pytest.raises(OSError, match="File name too long"):
        files.write_atomically(tmp_path / ("n" * 256), "new")
    assert os.listdir(tmp_path) == [longest]


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    (tmp_path / "victim").write_text("precious")
    for name in (f".out.{os.getpid()}.part", f".quadric-{'0' * 16}.part"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    files.write_atomically(tmp_path / "out", "new")
    assert (tmp_path / "victim").read_text() == "precious"
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: "0" * 16)  # even where the name was guessed
    with pytest.raises(FileExistsError, match="out"):
        files.write_atomically(tmp_path / "out", "newer")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "out").read_text() == "new"


def test_names_of_parts_are_not_repeated(tmp_path):
    seen = set()
    for _ in range(20):
        with files.replacing(tmp_path / "out"):
            seen |= set(parts(tmp_path))
    assert len(seen) == 20
    assert all(files.PART.fullmatch(name) for name in seen)


def test_errors_name_the_file_that_was_asked_for(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="out") as caught:
        files.write_atomically(tmp_path / "out", "new")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "out"))
    assert os.listdir(tmp_path) == []


@needs_fork
def test_what_the_dead_left_is_removed_and_what_the_living_write_is_not(tmp_path):
    def die():
        with files.replacing(tmp_path / "file") as file:
            file.write("half")
            file.flush()
            os._exit(7)

    def live():
        with files.replacing(tmp_path / "slow"):
            os.write(there, b"x")
            time.sleep(60)
        return 0

    assert ended(forked(die)).code == 7
    (dead,) = parts(tmp_path)
    waiting, there = os.pipe()
    child = forked(live)
    os.read(waiting, 1)
    (alive,) = parts(tmp_path)  # whoever writes removes what is left over first
    assert alive != dead
    files.write_atomically(tmp_path / "file", "whole")
    assert parts(tmp_path) == [alive]
    os.kill(child, 9)
    os.waitpid(child, 0)
    files.write_atomically(tmp_path / "file", "whole")
    assert os.listdir(tmp_path) == ["file"]


def test_files_of_others_are_not_removed(tmp_path, monkeypatch):
    names = [f".quadric-{'0' * 15}.part", f".quadric-{'0' * 16}.parts", ".file.123.part", f".quadric-{'x' * 16}.part"]
    for name in names:
        (tmp_path / name).write_text("")
    files.write_atomically(tmp_path / "file", "new")
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "file"])
    foreign = tmp_path / f".quadric-{'0' * 16}.part"
    foreign.write_text("")
    if hasattr(os, "geteuid"):
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
        files.write_atomically(tmp_path / "file", "new")
        assert foreign.exists()
        monkeypatch.undo()
        (tmp_path / "link").symlink_to(foreign)
        os.rename(tmp_path / "link", tmp_path / f".quadric-{'1' * 16}.part")
        files.write_atomically(tmp_path / "file", "new")
        assert not foreign.exists()
        assert (tmp_path / f".quadric-{'1' * 16}.part").is_symlink()


def test_a_part_that_is_taken_for_a_leftover_is_begun_again(tmp_path, monkeypatch):
    """Another process may see a new part before its lock is there."""
    original, removed = files._lock, []

    def late(descriptor):
        if not removed:
            removed.extend(parts(tmp_path))
            os.unlink(tmp_path / removed[0])
        return original(descriptor)

    monkeypatch.setattr(files, "_lock", late)
    files.write_atomically(tmp_path / "file", "new")
    assert len(removed) == 1
    assert (tmp_path / "file").read_text() == "new"


@needs_fork
def test_a_folder_has_one_worker_and_the_dead_do_not_count(tmp_path):
    def work():
        with files.locked(tmp_path):
            os.write(there, b"x")
            time.sleep(60)
        return 0

    waiting, there = os.pipe()
    child = forked(work)
    os.read(waiting, 1)
    with pytest.raises(ParameterError, match=f"process {child} on .* works in") as caught, files.locked(tmp_path):
        pass
    assert caught.value.remedies == {"folder": None}
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert parts(tmp_path) == [files.LOCK]
    with files.locked(tmp_path):
        assert parts(tmp_path) == [files.LOCK]
    assert parts(tmp_path) == []


def fresh(monkeypatch, **modules):
    """The module as another system would import it."""
    for name, module in {"fcntl": None, "msvcrt": None, **modules}.items():
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("other_files", files.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_any_locks_files_are_still_whole(tmp_path, monkeypatch):
    other = fresh(monkeypatch)
    assert other.fcntl is other.msvcrt is None
    leftover = tmp_path / f".quadric-{'0' * 16}.part"
    leftover.write_text("perhaps of a living process")
    with other.locked(tmp_path):
        other.write_atomically(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"
    assert leftover.exists()


class FakeWindows(SimpleNamespace):
    """Locks of bytes, as Windows has them."""

    LK_NBLCK = 2

    def locking(self, descriptor, how, n_bytes):
        key = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if self.is_open(self.held.get(key), key[0]):
            raise PermissionError(errno.EACCES, "Permission denied")
        self.held[key] = descriptor

    @staticmethod
    def is_open(descriptor, number):
        try:
            return descriptor is not None and os.fstat(descriptor).st_ino == number
        except OSError:
            return False


def test_windows_locks_with_its_own_module(tmp_path, monkeypatch):
    windows = FakeWindows(held={})
    other = fresh(monkeypatch, msvcrt=windows)
    with other.locked(tmp_path):
        assert {place for _, place in windows.held} == {other.LOCKED_BYTE}
        with pytest.raises(ParameterError, match=f"process {os.getpid()}"), other.locked(tmp_path):
            pass
        assert (tmp_path / other.LOCK).read_text().startswith("process ")
    leftover = tmp_path / f".quadric-{'0' * 16}.part"
    windows.held.clear()
    with leftover.open("w"):  # open, so that no new file gets its number
        other.write_atomically(tmp_path / "file", "new")
    assert os.listdir(tmp_path) == ["file"]


def test_file_systems_without_locks_are_no_obstacle(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(descriptor, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files, "fcntl", SimpleNamespace(flock=unsupported, LOCK_EX=fcntl.LOCK_EX, LOCK_NB=fcntl.LOCK_NB))
    leftover = tmp_path / f".quadric-{'0' * 16}.part"
    leftover.write_text("perhaps of a living process")
    with files.locked(tmp_path):
        files.write_atomically(tmp_path / "file", "new")
    assert leftover.exists()


@needs_fork
def test_a_claimed_file_is_refused_to_others_until_its_process_ends(tmp_path):
    def work():
        with files.claimed(tmp_path / "model.json"):
            os.write(there, b"x")
            time.sleep(60)
        return 0

    waiting, there = os.pipe()
    child = forked(work)
    os.read(waiting, 1)
    (tmp_path / "link").symlink_to("model.json")
    for name in ("model.json", "link"):
        with pytest.raises(ParameterError, match=f"process {child} on .* is writing .*{name}: wait"):
            files.claimed(tmp_path / name).__enter__()
    with files.claimed(tmp_path / "other.json"):
        pass
    os.kill(child, 9)
    os.waitpid(child, 0)
    with files.claimed(tmp_path / "model.json"):
        pass
    assert os.listdir(tmp_path) == ["link"]
