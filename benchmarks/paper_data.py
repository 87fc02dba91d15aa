"""The paper's two-class data sets, standardised, from the folder that QUADRIC_DATA names or ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from quadric import datasets

FloatArray = npt.NDArray[np.float64]
NAMES = sorted(name for name, info in datasets.REGISTRY.items() if info.n_classes == 2 and info.obtained == "fetched")


def folder() -> Path | None:
    """Where the data are, or None."""
    named = os.environ.get("QUADRIC_DATA")
    path = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    return path if path.is_dir() else None


def load(name: str) -> tuple[FloatArray, FloatArray]:
    """Standardised X and labels -1 or 1 of one data set."""
    data = datasets.load(name, folder=folder())
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return X, np.where(data.y == 1, 1.0, -1.0)
