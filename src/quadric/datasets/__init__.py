"""The paper's twelve data sets: a registry that describes them, and loaders that check every file."""

from quadric.datasets.arrays import Dataset
from quadric.datasets.fetching import add, fetch, load
from quadric.datasets.registry import REGISTRY, DatasetInfo, Recipe, resolve
from quadric.datasets.storage import DatasetError, DatasetStatus, cache_folder, status

__all__ = [
    "REGISTRY",
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "DatasetStatus",
    "Recipe",
    "add",
    "cache_folder",
    "fetch",
    "load",
    "resolve",
    "status",
]
