"""The paper's protocol: folds, standardisation inside them, scores, and which cell of a grid is reported.

There are two readings of the same scores. "paper": the best mean over the grid, on the folds that chose it, as in the paper;
this is optimistic. "nested": five folds inside each training part choose the cell, which is scored on the part left out.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np
from sklearn.model_selection import KFold

from quadric.types import BoolArray, FloatArray, IntArray

N_FOLDS = 5
READINGS = ("paper", "nested")
# Means closer than this are equal, so that the order of a sum does not decide a tie.
SAME = 1e-12


@dataclass(frozen=True, order=True)
class Split:
    """An outer fold, or an inner fold of its training part.

    Attributes
    ----------
    outer : int
    inner : int or None
        None: train on the training part of the outer fold, and test on the outer fold.
    """

    outer: int
    inner: int | None = None

    def __str__(self) -> str:
        return f"{self.outer}" if self.inner is None else f"{self.outer}.{self.inner}"

    def parts(self, n_samples: int, seed: int) -> tuple[IntArray, IntArray]:
        """Training and test samples."""
        train, test = _folds(n_samples, seed)[self.outer]
        if self.inner is None:
            return train, test
        inner_train, inner_test = _folds(len(train), seed)[self.inner]
        return train[inner_train], train[inner_test]


OUTER_SPLITS = tuple(Split(outer) for outer in range(N_FOLDS))
INNER_SPLITS = tuple(Split(outer, inner) for outer in range(N_FOLDS) for inner in range(N_FOLDS))


def splits_of(reading: str) -> tuple[Split, ...]:
    """The splits for a reading."""
    return OUTER_SPLITS if reading == "paper" else OUTER_SPLITS + INNER_SPLITS


def _folds(n_samples: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    return list(KFold(N_FOLDS, shuffle=True, random_state=seed).split(np.empty(n_samples)))


def grid_scores(decisions: FloatArray, codes: IntArray) -> FloatArray:
    """Accuracy and F1 in per cent, of every cell of a grid on one split: shape (2, n_cells).

    Decisions of shape (n_cells, n_surfaces, m) count by sign for two classes, otherwise by the largest value. F1 is that of the
    positive class for two classes, otherwise the mean over classes.
    """
    two_classes = decisions.shape[1] == 1
    predicted = (decisions[:, 0] > 0).astype(int) if two_classes else decisions.argmax(axis=1)
    classes = [1] if two_classes else range(decisions.shape[1])
    f1 = np.mean([_f1(predicted == code, codes == code) for code in classes], axis=0)
    return 100.0 * np.stack([(predicted == codes).mean(axis=1), f1])


def _f1(predicted: BoolArray, actual: BoolArray) -> FloatArray:
    """F1 of one class for each row of predictions; 0 if the class is neither predicted nor present."""
    return 2.0 * (predicted & actual).sum(axis=1) / np.maximum(predicted.sum(axis=1) + actual.sum(), 1)


@dataclass(frozen=True)
class Reported:
    """Means and sample standard deviations over the folds, and their cells of the grid.

    Attributes
    ----------
    accuracy_mean, accuracy_std, f1_mean, f1_std : float
        In per cent.
    cells : tuple of int
        One for the paper's reading, one per fold for the nested reading; none for the paper's own figures.
    """

    accuracy_mean: float
    accuracy_std: float
    f1_mean: float
    f1_std: float
    cells: tuple[int, ...] = ()

    @property
    def figures(self) -> tuple[float, ...]:
        """The four numbers."""
        return astuple(self)[:4]

    def spread(self, figure: str) -> tuple[float, ...]:
        """Mean and standard deviation of "accuracy" or "F1"."""
        return self.figures[:2] if figure == "accuracy" else self.figures[2:]


def best_cell(scores: list[FloatArray]) -> int:
    """The first cell with the largest mean accuracy: the order of the grid decides ties."""
    mean = np.mean(scores, axis=0)[0]
    return int(np.flatnonzero(mean >= mean.max() - SAME * 100.0)[0])


def paper_reading(outer: list[FloatArray]) -> Reported:
    """The best mean over the grid, on the folds that chose it."""
    cell = best_cell(outer)
    return replace(_reported(outer, [cell] * len(outer)), cells=(cell,))


def nested_reading(outer: list[FloatArray], inner: list[list[FloatArray]]) -> Reported:
    """Each outer fold is scored at the cell that its own inner folds choose."""
    return _reported(outer, [best_cell(scores) for scores in inner])


def _reported(outer: list[FloatArray], cells: list[int]) -> Reported:
    figures = np.array([scores[:, cell] for scores, cell in zip(outer, cells, strict=True)])
    (accuracy, f1), (accuracy_std, f1_std) = figures.mean(axis=0).tolist(), figures.std(axis=0, ddof=1).tolist()
    return Reported(accuracy, accuracy_std, f1, f1_std, tuple(cells))
