"""``load``: find or fetch the file of a data set, and return its arrays."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from quadric.datasets.arrays import Dataset, from_csv
from quadric.datasets.fetching import fetch
from quadric.datasets.info import DatasetInfo
from quadric.datasets.registry import resolve
from quadric.datasets.storage import Folder, find, missing, verified
from quadric.progress import Report, silent


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
            raise missing(info, folder)
        path = fetch(info.name, folder=folder, report=report)
    return from_csv(info, verified(info, path, folder))


def _iris(info: DatasetInfo) -> Dataset:
    iris = load_iris()
    X, y = np.array(iris.data, dtype=float), np.array(iris.target, dtype=np.intp)
    return Dataset(info, X, y, tuple(map(str, iris.target_names)), tuple(iris.feature_names))
