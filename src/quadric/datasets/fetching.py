"""Load data sets; get original files from public sites or from disk, and convert them to the CSV that is read.

No test visits the public sites: downloads are tested against a local server with made-up files. Every download is checked by
the checksum of the converted CSV, so a site that changed its file leads to an error, never to other data. The recipes of
abalone, ecoli, glass, german and haberman were checked on copies of the true originals; the others only on made-up files,
including the two workbooks (CTG.xls, Immunotherapy.xlsx).
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from quadric.datasets import archives
from quadric.datasets.arrays import Dataset, from_csv
from quadric.datasets.conversion import convert
from quadric.datasets.registry import DatasetInfo, Recipe, resolve
from quadric.datasets.storage import (
    DatasetError,
    Folder,
    advice,
    by_hand,
    find,
    folders,
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
# Seconds before the second attempt; twice as long before the third.
PAUSE = 1.0
# Seconds without data after which an attempt has failed.
TIMEOUT = 30.0


def load(name: str, *, folder: Folder = None, report: Report = silent) -> Dataset:
    """Load one of the paper's data sets.

    It looks for the file in ``folder``, in the folder named by the environment variable ``QUADRIC_DATA``, and in the user's
    cache. A file with a wrong checksum is an error. A missing file is fetched from its public site, if it has one.

    Parameters
    ----------
    name : str
        Such as "german" or "GCD"; :data:`quadric.datasets.REGISTRY` has all names.
    folder : path, optional
        Searched first; a fetched file is stored there, instead of in the cache.
    report : callable
        Receives lines of progress while fetching.

    Returns
    -------
    Dataset
    """
    info = resolve(name)
    if info.obtained == "scikit-learn":
        return _iris(info)
    path = find(info, folder)
    if path is None:
        if info.obtained != "fetched":
            places = ", ".join(map(str, folders(folder)))
            raise DatasetError(f"{info.file_name} is not in {places}; {advice(info, folder)}")
        path = fetch(info.name, folder=folder, report=report)
    return from_csv(info, verified(info, path, folder))


def _iris(info: DatasetInfo) -> Dataset:
    iris = load_iris()
    X, y = np.array(iris.data, dtype=float), np.array(iris.target, dtype=np.intp)
    return Dataset(info, X, y, tuple(map(str, iris.target_names)), tuple(iris.feature_names))


def fetch(name: str, *, folder: Folder = None, report: Report = silent, base_urls: Sequence[str] | None = None) -> Path:
    """Download a data set and store its CSV in the cache. Needs the extra "data".

    Parameters
    ----------
    name : str
    folder : path, optional
        Where to store it instead.
    report : callable
        Receives lines of progress.
    base_urls : sequence of str, optional
        Mirrors to try in this order, instead of the public site. The checksum is the same for all.

    Returns
    -------
    Path
        The CSV. An existing file with the right checksum is kept.
    """
    info = resolve(name)
    if info.recipe is None or info.obtained != "fetched":
        raise DatasetError(f"{info.name} cannot be downloaded: {advice(info, folder)}")
    path = target(info, folder)
    if path.is_file():
        verified(info, path, folder)
        report(f"{info.name}: {path} exists already")
        return path
    refuse_unwritable(path)
    problems = []
    for base in base_urls or (PUBLIC_HOME,):
        try:
            original = _download(f"{base.rstrip('/')}/{info.recipe.archive}", info.name, report)
            content = _converted(info, info.recipe, original)
        except DatasetError as failure:
            problems.append(str(failure))
        else:
            return store(info, content, folder)
    raise DatasetError(f"{info.file_name} was not fetched: {'; '.join(problems)}; {by_hand(info, folder)}")


def add(name: str, file: str | os.PathLike[str], *, folder: Folder = None) -> Path:
    """Add a file that you downloaded by hand: the archive of the public site, the original in it, or the CSV itself.

    Parameters
    ----------
    name : str
    file : path
    folder : path, optional
        Where to store the CSV, instead of the cache.

    Returns
    -------
    Path
        The CSV.
    """
    info = resolve(name)
    if info.obtained == "scikit-learn":
        raise DatasetError(f"{info.name} comes with scikit-learn: there is nothing to add")
    try:
        content = archives.read_file(Path(file).expanduser())
    except ValueError as error:
        raise DatasetError(f"{info.name}: {error}") from error
    try:
        if problem := problem_with(info, content):
            if info.recipe is None:
                raise DatasetError(f"it {problem}")
            content = _converted(info, info.recipe, content)
    except DatasetError as failure:
        raise DatasetError(f"{file} does not give {info.file_name}: {failure}; {by_hand(info, folder)}") from failure
    return store(info, content, folder)


def _converted(info: DatasetInfo, recipe: Recipe, content: bytes) -> bytes:
    """The CSV with the right checksum, from an archive or from the original in it."""
    try:
        converted = convert(archives.original_in(content, recipe.original), recipe, info.columns)
    except MissingExtraError:
        raise
    except Exception as error:  # untrusted bytes: parsers of archives and workbooks fail in many ways
        raise DatasetError(f"{recipe.original} cannot be converted ({' '.join(str(error).split())})") from error
    if problem := problem_with(info, converted):
        raise DatasetError(f"{info.file_name}, as converted, {problem}")
    return converted


class _Sink(io.BytesIO):
    """Where pooch writes and shows progress: memory, so that nothing is left behind on disk."""

    def __init__(self, label: str, report: Report) -> None:
        super().__init__()
        self.total = 0
        self._label = label
        self._report = report

    def write(self, chunk: Any) -> int:
        size = self.tell() + super().write(chunk)
        if size > archives.LARGEST:
            raise DatasetError(f"the download has more than {archives.LARGEST:,} bytes")
        self._report(f"{self._label}: {size / 1e6:.2f}{f' of {self.total / 1e6:.2f}' if self.total else ''} MB")
        return len(chunk)

    def update(self, size: int = 0) -> None:
        """Nothing to do: ``write`` counts the bytes, and the content is still to be read."""

    reset = close = update


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
            return sink.getvalue()
        except errors.HTTPError as error:
            problem = f"{url} answered {error.response.status_code}"
            if error.response.status_code < 500:  # another attempt would get the same answer
                break
        except errors.Timeout:
            problem = f"{url} gave no answer for {TIMEOUT:g} seconds"
        except errors.RequestException:
            problem = f"{url} {'broke off' if sink.total else 'cannot be reached'}"
    raise DatasetError(problem)
