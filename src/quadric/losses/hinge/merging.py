"""Equal samples taken as one: on discrete data they are many, and more so on few terms.

The loss is linear in its weights: samples with equal rows and labels are one sample that weighs as much as all of them, whose
multiplier is the sum of theirs (docs/mathematics.md, section 3). The weights of the regulariser play no part here: it is a
matrix by now, made of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from quadric.losses.hinge.qp import DistinctRows, HingeQP, HingeSolution
from quadric.types import FloatArray, IntArray

FEW_COLUMNS = 16  # rows that differ in these need not be compared in all


@dataclass(frozen=True)
class MergedRows:
    """A problem without equal rows, and where the rows of the original are in it.

    Attributes
    ----------
    qp, original : HingeQP
    group : array of shape (m,)
        Positions in ``qp`` of the original's rows.
    """

    qp: HingeQP
    original: HingeQP
    group: IntArray

    @staticmethod
    def of(qp: HingeQP) -> MergedRows | None:
        """None where all rows differ."""
        rows = qp.distinct or distinct_rows(qp)
        if rows.group is None:
            return None
        merged = HingeQP(rows.A, rows.y, _sums(rows.group, qp.upper), qp.P, qp.g, qp.offset, rows.target)
        return MergedRows(merged, qp, rows.group)

    def together(self, alpha: FloatArray | None) -> FloatArray | None:
        """Multipliers of the merged rows."""
        return None if alpha is None else _sums(self.group, alpha)

    def apart(self, solution: HingeSolution) -> HingeSolution:
        """The solution of the original."""
        return replace(solution, alpha=self.shared(solution.alpha))

    def shared(self, alpha: FloatArray) -> FloatArray:
        """Multipliers of the original: equal rows share theirs by their weights."""
        share: FloatArray = (alpha / self.qp.upper)[self.group]
        return share * self.original.upper


def distinct_rows(qp: HingeQP) -> DistinctRows:
    """The rows of a problem of which no two are equal, have equal labels and equal targets."""
    all_differ = DistinctRows(qp.A, qp.y, qp.target, None)
    suspects = _repeated(_hashes(qp, np.arange(len(qp.y)), min(FEW_COLUMNS, qp.A.shape[1])))
    if len(suspects) == 0:
        return all_differ
    _, first, same = np.unique(_hashes(qp, suspects, qp.A.shape[1]), return_index=True, return_inverse=True)
    leader = np.arange(len(qp.y))
    leader[suspects] = suspects[first][same.ravel()]
    kept, group = np.unique(leader, return_inverse=True)
    if len(kept) == len(leader) or not _equal(qp, suspects, leader[suspects]):
        return all_differ
    return DistinctRows(qp.A[kept], qp.y[kept], qp.target[kept], group)


def _sums(group: IntArray, values: FloatArray) -> FloatArray:
    return np.bincount(group, weights=values).astype(float)


def _hashes(qp: HingeQP, rows: IntArray, n_columns: int) -> npt.NDArray[np.uint64]:
    """Numbers that are equal for equal rows, labels and targets, and hardly ever otherwise."""
    factors = 2 * np.random.default_rng(0).integers(1, 2**63, size=n_columns + 2, dtype=np.uint64) + 1
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column, factor in zip((*qp.A.T[:n_columns], qp.y, qp.target), factors, strict=True):
        bits = (column[rows] + 0.0).view(np.uint64)  # -0.0 becomes 0.0
        hashes += (bits ^ bits >> np.uint64(32)) * factor  # short numbers have all their digits in the upper half
    return hashes


def _repeated(hashes: npt.NDArray[np.uint64]) -> IntArray:
    """Positions of the numbers that occur more than once."""
    ranked = np.sort(hashes)
    return np.flatnonzero(np.isin(hashes, ranked[1:][ranked[1:] == ranked[:-1]]))


def _equal(qp: HingeQP, rows: IntArray, others: IntArray) -> bool:
    """Whether rows are equal to others indeed: numbers of different rows might be equal by chance."""
    rows, others = rows[rows != others], others[rows != others]
    parts = ((qp.A[rows], qp.A[others]), (qp.y[rows], qp.y[others]), (qp.target[rows], qp.target[others]))
    return all(np.array_equal(one, other) for one, other in parts)
