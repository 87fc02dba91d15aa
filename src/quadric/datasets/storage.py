"""Where to look for the CSV files, how to check them, and what to do if they are missing."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from quadric.datasets.archives import LARGEST
from quadric.datasets.arrays import form_problem
from quadric.datasets.registry import DatasetInfo, resolve
from quadric.files import write_atomically

# A folder to search first; None: only those of the environment.
Folder: TypeAlias = str | os.PathLike[str] | None


class DatasetError(ValueError):
    """A data set is missing, has a wrong checksum, or cannot be fetched. The message says what to do."""


@dataclass(frozen=True)
class DatasetStatus:
    """Whether a data set can be loaded now.

    Attributes
    ----------
    info : DatasetInfo
    place : str or None
        The file to read, "scikit-learn", or None if it is missing.
    problem : str or None
        Why the file at ``place`` cannot be used.
    advice : str
        How to get it.
    """

    info: DatasetInfo
    place: str | None
    problem: str | None
    advice: str

    @property
    def available(self) -> bool:
        """Whether the right file is there."""
        return self.place is not None and self.problem is None


def status(name: str, *, folder: Folder = None) -> DatasetStatus:
    """Where a data set would be read from, and how to get it. Nothing is fetched.

    Parameters
    ----------
    name : str
    folder : path, optional
        Searched first.

    Returns
    -------
    DatasetStatus
    """
    info = resolve(name)
    if info.obtained == "scikit-learn":
        return DatasetStatus(info, "scikit-learn", None, advice(info, folder))
    path = find(info, folder)
    place, problem = (str(path), _file_problem(info, path)) if path else (None, None)
    return DatasetStatus(info, place, problem, advice(info, folder))


def cache_folder() -> Path:
    """Where fetched files are stored: ``QUADRIC_CACHE``, or else the cache folder of the operating system.

    Returns
    -------
    Path
    """
    if named := os.environ.get("QUADRIC_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "quadric"


def target(info: DatasetInfo, folder: Folder) -> Path:
    """Where to write the CSV."""
    return (cache_folder() if folder is None else Path(folder).expanduser()) / info.file_name


def find(info: DatasetInfo, folder: Folder) -> Path | None:
    """The first file with that name in ``folder``, ``QUADRIC_DATA`` and the cache."""
    return next((path for place in folders(folder) if (path := place / info.file_name).is_file()), None)


def folders(folder: Folder) -> list[Path]:
    """Where files are looked for, in this order."""
    named = os.environ.get("QUADRIC_DATA")
    if named and not Path(named).expanduser().is_dir():
        raise DatasetError(f"QUADRIC_DATA names {named}, which is not a folder: correct it or unset it")
    chosen = [Path(place).expanduser() for place in (folder, named or None) if place is not None]
    return [*chosen, cache_folder()]


def verified(info: DatasetInfo, path: Path, folder: Folder) -> bytes:
    """The content of a file; an error if it is not the right file."""
    if problem := _file_problem(info, path):
        raise DatasetError(f"{path} {problem}: remove it; {advice(info, folder)}")
    return path.read_bytes()


def _file_problem(info: DatasetInfo, path: Path) -> str | None:
    if path.stat().st_size > LARGEST:
        return f"has more than {LARGEST:,} bytes"
    return problem_with(info, path.read_bytes())


def problem_with(info: DatasetInfo, content: bytes) -> str | None:
    """Why a CSV is not the right file, or None. Without a known checksum, its form decides."""
    if info.sha256 is None:
        return form_problem(info, content)
    actual = hashlib.sha256(content).hexdigest()
    return None if actual == info.sha256 else f"has sha256 {actual} where {info.sha256} is expected"


def store(info: DatasetInfo, content: bytes, folder: Folder) -> Path:
    """Write the CSV to the folder or the cache."""
    path = target(info, folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise DatasetError(f"cannot write {path} ({error.strerror or error}): name a folder that can be written to") from error
    return path


def refuse_unwritable(path: Path) -> None:
    """Raise an error before a download, and create nothing on disk yet."""
    nearest = next(folder for folder in path.absolute().parents if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise DatasetError(f"cannot write {path} ({nearest} cannot be written to): name a folder that can be written to")


def advice(info: DatasetInfo, folder: Folder) -> str:
    """How to get a data set, and where to put it."""
    if info.obtained == "scikit-learn":
        return "it comes with scikit-learn"
    call = f"quadric.datasets.fetch({info.name!r}{_folder_argument(folder)})"
    return f"{call} downloads it, or {by_hand(info, folder)}" if info.obtained == "fetched" else by_hand(info, folder)


def by_hand(info: DatasetInfo, folder: Folder) -> str:
    """What to do if downloading does not work."""
    path = target(info, folder)
    if info.recipe is None:
        m, n = info.shape
        return f"{info.paper_name} is private: only its owners can put it, {m} rows of {n} features and a label, at {path}"
    login = " (it wants a login)" if info.obtained == "by hand" else ""
    call = f"quadric.datasets.add({info.name!r}, FILE{_folder_argument(folder)})"
    return f"get {info.recipe.original} from {info.homepage}{login} and let {call} put it at {path}"


def _folder_argument(folder: Folder) -> str:
    return "" if folder is None else f", folder={os.fspath(folder)!r}"
