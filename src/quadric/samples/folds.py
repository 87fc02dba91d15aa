"""Folds of a cross-validation, as positions among the samples that count."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, check_cv

from quadric.geometry.lifting import column_ends
from quadric.labels import refuse_masked
from quadric.samples.labelled import LabelledSamples
from quadric.samples.source import SampleBatch, scattered
from quadric.types import BoolArray, IntArray

# Folds are drawn apart from samples.
FOLD_SEED = 1 << 32


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples to fit and samples left out.

    Attributes
    ----------
    number : int
    train, test : arrays
        Positions among the samples of positive weight.
    """

    number: int
    train: IntArray
    test: IntArray


def folds_of(cv: Any, X: Any, y: np.ndarray, groups: Any, present: BoolArray) -> list[Fold]:
    """The folds that ``cv`` asks for, which keep groups together if there are any.

    Parameters
    ----------
    cv : int, splitter or iterable
        As in scikit-learn; a number with groups means StratifiedGroupKFold.
    X, y, groups : arrays of shape (m, ...)
        As the user gave them; groups may be None.
    present : array of shape (m,)
        Samples of positive weight: the splitter sees all of them, the folds hold no others.
    """
    refuse_masked(groups=groups)
    if groups is not None and isinstance(cv, Integral):
        _, first, groups = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
        if len(first) < int(cv):
            raise ValueError(f"cv asks for {cv} folds, but groups has only {len(first)} different values: use fewer folds")
        # numbered in the order in which they appear: folds do not depend on what groups are called
        groups = np.argsort(np.argsort(first))[groups.ravel()]
        splitter: Any = StratifiedGroupKFold(int(cv))
    else:
        splitter = check_cv(cv, y, classifier=True)
    return list(_without_absent(splitter.split(X, y, groups), present))


def check_folds(folds: Iterable[Fold], samples: LabelledSamples, *, trains: bool = True) -> None:
    """Refuse folds that leave nothing out, and those whose training part lacks a class or has nothing that varies.

    Parameters
    ----------
    folds : iterable of Fold
    samples : LabelledSamples
    trains : bool
        Whether surfaces are fitted to the samples; otherwise their training part need not be complete.
    """
    for fold in folds:
        if len(fold.test) == 0:
            raise ValueError(f"fold {fold.number} leaves no sample out; use fewer folds")
        if not trains:
            continue
        missing = np.setdiff1d(np.arange(samples.target.n_classes), samples.target.codes[fold.train])
        if len(missing):
            label = samples.target.classes[missing].tolist()[0]
            raise ValueError(f"fold {fold.number} has no training sample of class {label!r}; use fewer folds")
        lowest, highest = column_ends(samples.X[fold.train])
        if (lowest == highest).all():
            raise ValueError(f"all columns of X are constant in the training part of fold {fold.number}")


def _without_absent(splits: Iterable[tuple[Any, Any]], present: BoolArray) -> Iterator[Fold]:
    everyone, position = np.arange(len(present)), np.cumsum(present) - 1
    for number, split in enumerate(splits):
        train, test = (everyone[part] for part in split)  # positions, lists of them or masks
        yield Fold(number, position[train[present[train]]], position[test[present[test]]])


def key_of(text: str) -> int:
    """A number for a group, the same for the same text everywhere."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")


def folds_by_key(batch: SampleBatch, n_folds: int, seed: int) -> IntArray:
    """The number of the fold of each row: by its key, or else by its id."""
    keys = batch.ids if batch.keys is None else batch.keys
    return (scattered(keys, FOLD_SEED + seed) % np.uint64(n_folds)).astype(np.intp)
