"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text file that takes the place of an old one when all of it is written; after a failure the old one is still there.

    Parameters
    ----------
    path : path
        Its folder must exist. A link is followed; a pipe or a device is refused.

    Yields
    ------
    TextIO
        In UTF-8, with the line ends that are written; its ``buffer`` takes bytes.
    """
    target = replaceable(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode_of_new_files())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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


def _mode_of_new_files() -> int:
    """What open() would have given: mkstemp is stricter than the user's umask asks for."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
