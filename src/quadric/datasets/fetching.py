"""Originals from their public homes, or from a file on disk, turned into the CSV that the loader reads.

No test visits the public homes: downloading is tested against a server on loopback with originals made for the test. What was
downloaded is judged by the checksum of the CSV it becomes, so a home that changed its file gives an error, never other data.
The recipes of abalone, ecoli, glass, german and haberman give that checksum on copies of the true originals; those of the other
files were tried on made-up originals only, the two workbooks (CTG.xls, Immunotherapy.xlsx) among them.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from pathlib import Path

from quadric.datasets import archives
from quadric.datasets.conversion import convert
from quadric.datasets.info import DatasetInfo, Recipe
from quadric.datasets.registry import resolve
from quadric.datasets.storage import (
    DatasetError,
    Folder,
    advice,
    by_hand,
    problem_with,
    refuse_unwritable,
    store,
    target,
    verified,
)
from quadric.extras import MissingExtraError, require
from quadric.progress import Report, silent

PUBLIC_HOME = "https://archive.ics.uci.edu/static/public"
ATTEMPTS = 3
PAUSE = 1.0
"""Seconds before the second attempt; twice that before the third."""
TIMEOUT = 30.0
"""Seconds without a byte after which an attempt counts as failed."""


def fetch(name: str, *, folder: Folder = None, report: Report = silent, base_urls: Sequence[str] | None = None) -> Path:
    """Download a data set and put its CSV into the cache; needs the extra "data".

    Parameters
    ----------
    name : str
    folder : path, optional
        Where to put it instead.
    report : callable
        Receives lines of progress.
    base_urls : sequence of str, optional
        Mirrors to ask, in this order, instead of the public home. The checksum is the same for all of them.

    Returns
    -------
    Path
        The CSV; a right one that is there already is left alone.
    """
    info = resolve(name)
    if info.recipe is None or info.obtained != "fetched":
        raise DatasetError(f"{info.name} cannot be downloaded: {advice(info, folder)}")
    path = target(info, folder)
    if path.is_file():
        verified(info, path, folder)
        report(f"{info.name}: {path} is there already")
        return path
    refuse_unwritable(path)
    problems = []
    for base in base_urls or (PUBLIC_HOME,):
        try:
            content = _converted(info, info.recipe, _download(f"{base.rstrip('/')}/{info.recipe.archive}", info.name, report))
        except _FetchFailure as failure:
            problems.append(str(failure))
        else:
            return store(info, content, folder)
    raise DatasetError(f"{info.file_name} was not fetched: {'; '.join(problems)}; {by_hand(info, folder)}")


def add(name: str, file: str | os.PathLike[str], *, folder: Folder = None) -> Path:
    """Take in a file that was downloaded by hand: the public home's archive, the original in it, or the CSV itself.

    Parameters
    ----------
    name : str
    file : path
    folder : path, optional
        Where to put the CSV instead of the cache.

    Returns
    -------
    Path
        The CSV.
    """
    info = resolve(name)
    if info.obtained == "scikit-learn":
        raise DatasetError(f"{info.name} comes with scikit-learn: there is nothing to add")
    content = Path(file).expanduser().read_bytes()
    try:
        return store(info, _taken_in(info, content), folder)
    except _FetchFailure as failure:
        raise DatasetError(f"{file} does not give {info.file_name}: {failure}; {by_hand(info, folder)}") from failure


def _taken_in(info: DatasetInfo, content: bytes) -> bytes:
    problem = problem_with(info, content)
    if problem is None:
        return content
    if info.recipe is None:
        raise _FetchFailure(f"it {problem}")
    return _converted(info, info.recipe, content)


class _FetchFailure(Exception):  # noqa: N818
    """Why one address, or one file, did not give the CSV."""


def _converted(info: DatasetInfo, recipe: Recipe, content: bytes) -> bytes:
    """The right CSV, made of an archive or of the original in it."""
    try:
        converted = convert(archives.original_in(content, recipe.original), recipe, info.columns)
    except MissingExtraError:
        raise
    except Exception as error:  # a stranger's bytes: parsers of archives and workbooks fail on them in many ways
        raise _FetchFailure(f"{recipe.original} cannot be converted ({' '.join(str(error).split())})") from error
    if problem := problem_with(info, converted):
        raise _FetchFailure(f"{info.file_name}, as converted, {problem}")
    return converted


class _Sink:
    """What pooch writes to and shows progress on: memory, so that nothing can be left behind on disk."""

    def __init__(self, label: str, report: Report) -> None:
        self.total = 0
        self._label = label
        self._report = report
        self._content = io.BytesIO()

    def write(self, chunk: bytes) -> None:
        self._content.write(chunk)
        size = self._content.tell()
        if size > archives.LARGEST:
            raise _FetchFailure(f"{self._label} has more than {archives.LARGEST} bytes")
        self._report(f"{self._label}: {size / 1e6:.2f}{f' of {self.total / 1e6:.2f}' if self.total else ''} MB")

    def content(self) -> bytes:
        return self._content.getvalue()

    def flush(self) -> None:
        """Nothing to do in memory."""

    def update(self, size: int) -> None:
        """Pooch counts chunks; ``write`` counts bytes."""

    def reset(self) -> None:
        """Nothing to do: see ``update``."""

    def close(self) -> None:
        """Nothing to do in memory."""


def _download(url: str, label: str, report: Report) -> bytes:
    pooch = require("pooch", "data")
    errors = require("requests.exceptions", "data")
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            report(f"{label}: {problem}, trying again")
            time.sleep(PAUSE * attempt)
        sink = _Sink(label, report)
        try:
            pooch.HTTPDownloader(progressbar=sink, chunk_size=1 << 16, timeout=TIMEOUT)(url, sink, None)
            return sink.content()
        except errors.HTTPError as error:
            problem = f"{url} answered {error.response.status_code}"
            if error.response.status_code < 500:  # the server has understood and would say the same again
                break
        except errors.Timeout:
            problem = f"{url} gave no answer for {TIMEOUT:g} seconds"
        except errors.RequestException:
            problem = f"{url} {'broke off' if sink.total else 'cannot be reached'}"
    raise _FetchFailure(problem)
