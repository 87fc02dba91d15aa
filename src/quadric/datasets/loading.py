"""``load``: the file if it is there, the public home if it is not, and the arrays."""

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
    """One of the paper's data sets.

    The file is looked for in ``folder``, in the folder that the environment variable ``QUADRIC_DATA`` names and in the user's
    cache; a file with a wrong checksum is refused. What is nowhere is fetched from its public home, where it has one.

    Parameters
    ----------
    name : str
        "german" or "GCD"; :data:`quadric.datasets.REGISTRY` has all of them.
    folder : path, optional
        Looked at first, and where a fetched file goes instead of the cache.
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
