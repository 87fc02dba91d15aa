"""Files that are there whole or not at all, and folders that only one process at a time works in.

A new file is written beside its target and takes its place in one step. Its process holds a lock on it meanwhile, which ends
with the process: a part without a lock is left over, and the next writer in that folder removes it.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from quadric.errors import ParameterError

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

# Names of new files before they are whole: not to be guessed, and short whatever the file is called
PART = re.compile(r"\.quadric-[0-9a-f]{16}\.part")
LOCK = ".quadric.lock"
# What locking says where another process has the lock; other errors mean that the file system has no locks
HELD = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
# What syncing a folder says where folders cannot be synced
CANNOT_SYNC = (errno.EINVAL, errno.EBADF, errno.EACCES, errno.EPERM, errno.ENOTSUP)
OPENED = os.O_RDWR | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))
SECONDS_BETWEEN_LOOKS = 0.01
# How often a new file may be taken for a leftover by others that write to the same folder
ATTEMPTS = 20
# Windows locks ranges and keeps others from reading them: one beyond what is written
LOCKED_BYTE = 1 << 30
# Seconds after which Windows, where a file is closed before it is renamed, has surely renamed it
SETTLED = 60.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file that takes the place of an old one when all of it is written; after a failure the old one is still there.

    It keeps the permissions of the file that it replaces, and is on the disk when the block ends.

    Parameters
    ----------
    path : path
        Its folder must exist. A link stays, and the file that it leads to is replaced; a pipe or a device is refused.

    Yields
    ------
    TextIO
        In UTF-8, with the line ends that are written; its ``buffer`` takes bytes.
    """
    target = replaceable(path)
    _remove_leftovers(target.parent)
    with _naming(path):
        old = os.stat(target) if target.exists() else None
        part, raw = _new_part(path, target.parent, 0o666 if old is None else 0o600)
    file = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", newline="")
    try:
        yield file
        with _naming(path):
            file.flush()
            os.fsync(raw.fileno())
            if old is not None:
                _dress(part, raw.fileno(), old)
            if os.name == "nt":  # it renames no open file
                file.close()
            os.replace(part, target)
    finally:
        with suppress(OSError, ValueError):  # what could not be written is given up with the part
            file.close()
        with suppress(OSError):  # gone if all went well
            os.unlink(part)
    with _naming(path):
        _sync_folder(target.parent)


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file in one step: readers see the old content or the new one, and a failure leaves the old one.

    Parameters
    ----------
    path : path
        As in :func:`replacing`.
    content : str or bytes
        Text is written as UTF-8 with the line ends it has.
    """
    with replacing(path) as file:
        file.buffer.write(content.encode("utf-8") if isinstance(content, str) else content)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file that a new one can replace: what a link leads to, and only a regular file.

    Parameters
    ----------
    path : path
        It need not exist.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is {'a folder' if target.is_dir() else 'no regular file'}; give the name of a file")
    return target


@contextmanager
def locked(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes that lock the same folder out of it. A lock ends with its process, however that ends.

    Parameters
    ----------
    folder : path
        It must exist.
    """
    with _holding(Path(folder, LOCK), f"works in {Path(folder)}: wait for it, or choose another folder"):
        yield


@contextmanager
def claimed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes that claim the same file from writing it meanwhile.

    Parameters
    ----------
    path : path
        Its folder must exist, the file need not. Of a link, the file that it leads to is claimed.
    """
    target = Path(os.path.realpath(path))
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]  # short, whatever the file is called
    # the name of a part: what a dead process leaves is removed by the next writer in the folder
    with _holding(target.with_name(f".quadric-{name}.part"), f"is writing {path}: wait for it, or choose another file"):
        yield


@contextmanager
def _holding(path: Path, words: str) -> Iterator[None]:
    descriptor = _taken(path, words)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        _remove(path, descriptor)


def _taken(path: Path, words: str) -> int:
    looks = 0
    while True:
        descriptor = os.open(path, OPENED | os.O_CREAT, 0o666)
        if _lock(descriptor) is False:
            owner, looks = os.read(descriptor, 200).decode(errors="replace"), looks + 1
            os.close(descriptor)
            if owner or looks == ATTEMPTS:
                raise ParameterError(f"{owner or 'another process'} {words}", folder=None)
            time.sleep(SECONDS_BETWEEN_LOOKS)  # somebody has just taken it, or removes what it takes for a leftover
        elif os.fstat(descriptor).st_nlink:
            return descriptor
        else:
            os.close(descriptor)  # whoever had the lock removed the file before letting go of it


def _new_part(path: str | os.PathLike[str], folder: Path, mode: int) -> tuple[Path, _Part]:
    for _ in range(ATTEMPTS):
        part = folder / f".quadric-{secrets.token_hex(8)}.part"
        descriptor = os.open(part, OPENED | os.O_CREAT | os.O_EXCL, mode)
        if _lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return part, _Part(path, descriptor)
        _remove(part, descriptor)  # taken for a leftover before the lock was there
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class _Part(io.FileIO):
    """A file whose errors name the one that it is to become."""

    def __init__(self, path: str | os.PathLike[str], descriptor: int) -> None:
        super().__init__(descriptor, "wb")
        self._path = path

    def write(self, content: Any) -> int:
        with _naming(self._path):
            return super().write(content)


def _remove_leftovers(folder: Path) -> None:
    with suppress(OSError):
        for name in filter(PART.fullmatch, os.listdir(folder)):
            with suppress(OSError):
                descriptor = os.open(folder / name, OPENED)
                if _is_left_over(descriptor):
                    _remove(folder / name, descriptor)
                else:
                    os.close(descriptor)


def _is_left_over(descriptor: int) -> bool:
    """Whether a part is ours and nobody holds its lock; true leaves it locked."""
    info = os.fstat(descriptor)
    is_ours = stat.S_ISREG(info.st_mode) and (os.name == "nt" or info.st_uid == os.geteuid())
    return is_ours and (os.name != "nt" or time.time() - info.st_mtime > SETTLED) and _lock(descriptor) is True


def _remove(path: Path, descriptor: int) -> None:
    """Remove a file and close it, in this order: whoever takes the lock later sees that the file is gone."""
    if os.name == "nt":  # it removes no open file
        os.close(descriptor)
        descriptor = -1
    with suppress(OSError):
        os.unlink(path)
    if descriptor >= 0:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Whether this process has the lock now; None where there are no locks."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            return None
    except OSError as error:
        return False if error.errno in HELD else None
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True


def _dress(part: Path, descriptor: int, old: os.stat_result) -> None:
    """Give a new file the mode of an old one, and its owner and group where allowed: never more rights than it gave."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if hasattr(os, "fchown"):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:
                mode &= 0o707
    with suppress(OSError):  # where files have no modes
        os.chmod(descriptor if os.chmod in os.supports_fd else part, mode)


def _sync_folder(folder: Path) -> None:
    """Put a new name on the disk, where folders can be opened and synced."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors name the file that was asked for, not the part beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
