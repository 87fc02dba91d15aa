"""Read files of unknown origin, also out of zip archives: in memory, never unpacked to disk, up to a size limit."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

# Bytes of a download, and of any one file in it; the paper's files are below two million.
LARGEST = 20_000_000


def read_file(path: Path) -> bytes:
    """A file as a whole.

    Parameters
    ----------
    path : Path
        A regular file: a device or a pipe may never end.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a regular file")
    with path.open("rb") as file:
        return _bounded(file, str(path))


def _bounded(file: IO[bytes], name: str) -> bytes:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"{name} has more than {LARGEST:,} bytes, and no data set here is that large")
    return content


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of an archive.

    Parameters
    ----------
    archive : ZipFile
    name : str
        Its full name in the archive.
    """
    with archive.open(name) as member:
        return _bounded(member, name)  # the size that the archive states may be wrong


def original_in(content: bytes, name: str) -> bytes:
    """The file with a certain name in a zip archive, or the content itself if it is not such an archive.

    Parameters
    ----------
    content : bytes
    name : str
        Folders in the archive and the case of letters do not matter.
    """
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        matches = [entry for entry in archive.namelist() if PurePosixPath(entry).name.lower() == name.lower()]
        if matches:
            return read_member(archive, matches[0])
    if name.lower().endswith(".xlsx"):  # a workbook is a zip archive itself
        return content
    raise ValueError(f"there is no {name} in the archive")
