"""A hinge problem under cuts as one without: a cut is a row whose loss is steeper than any multiplier that it needs.

As soon as the price exceeds the multipliers of all cuts, min q(w) over A z >= b is min q(w) + price sum_j max(0, b_j - A_j z):
an exact penalty, with rows of target b_j that c does not move (docs/mathematics.md, eq. 12.5, and qp.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quadric.geometry.cuts import Cuts
from quadric.losses.cuts import inverse_root, newton_step, without_noise
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.types import FloatArray

DEARER = 1e3  # factor of the next price, where a multiplier has reached this one
REACHED = 1.0 - 1e-6  # share of the price that counts as that
MOST_PRICES = 5


class UnderCuts(NamedTuple):
    """The minimum of q over cuts.

    Attributes
    ----------
    z : array of shape (p,)
        It meets the cuts up to rounding.
    alpha, multipliers : arrays of shape (m,) and (n_cuts,)
        Of the samples and of the cuts.
    violation : float
        As of a HingeSolution.
    """

    z: FloatArray
    alpha: FloatArray
    multipliers: FloatArray
    violation: float


def solve_under(
    qp: HingeQP,
    cuts: Cuts,
    z: FloatArray,
    alpha: FloatArray,
    solved: Callable[[HingeQP, FloatArray, FloatArray], HingeSolution],
) -> UnderCuts:
    """The minimum of q over cuts; raises Infeasible where no coefficients meet them.

    Parameters
    ----------
    qp : HingeQP
    cuts : Cuts
    z, alpha : arrays of shape (p,) and (m,)
        Minimum without the cuts, and its multipliers.
    solved : function
        Solves problems without cuts, from a start and likely multipliers.
    """
    root, n_rows = inverse_root(qp.factor, np.ones(len(z))), len(qp.y)
    size = np.abs(z)
    near, multipliers = _repaired(root, cuts, z, np.zeros(len(cuts)), size)
    # in the unit of a typical sample, so that boxes and prices compare
    lengths, reach = (np.linalg.norm(rows @ root, axis=1) for rows in (cuts.A, qp.A[:, :-1]))
    used = np.flatnonzero(lengths)
    unit = lengths[used] / (float(np.median(reach)) or 1.0)
    A, targets, needed = cuts.A[used] / unit[:, None], cuts.b[used] / unit, multipliers[used] * unit
    price, solution = float(qp.upper.sum()), None
    for _ in range(MOST_PRICES):
        start, likely = np.append(near, qp.best_level(near)), np.append(alpha, np.minimum(needed, price))
        solution = solved(_with_rows(qp, A, targets, price), start, likely)
        near, alpha, needed = solution.w[:-1], solution.alpha[:n_rows], solution.alpha[n_rows:]
        if not np.any(needed >= REACHED * price):
            break
        price *= DEARER
    assert solution is not None
    multipliers[used] = needed / unit
    return UnderCuts(_repaired(root, cuts, near, multipliers, size)[0], alpha, multipliers, solution.violation)


def _with_rows(qp: HingeQP, A: FloatArray, targets: FloatArray, upper: float) -> HingeQP:
    """The problem with more rows, which c does not move."""
    new = np.ones(len(A))
    rows = np.vstack([qp.A, np.column_stack([A, 0.0 * new])])
    y, boxes = np.append(qp.y, new), np.append(qp.upper, upper * new)
    return HingeQP(rows, y, boxes, qp.P, qp.g, qp.offset, np.append(qp.target, targets))


def _repaired(
    root: FloatArray, cuts: Cuts, z: FloatArray, likely: FloatArray, size: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The nearest coefficients that meet the cuts, in the norm of P, and their multipliers; cuts with ``likely`` ones may bind.

    ``root``: T with T T' the inverse of P; ``size``: as of newton_step.
    """
    move, multipliers = newton_step(root, np.zeros(len(z)), cuts, z, np.flatnonzero(likely), size)
    return without_noise(root, z + move, float(np.linalg.norm(np.linalg.solve(root, size)))), multipliers
