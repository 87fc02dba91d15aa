"""Branch and bound: the best support, or a lower bound on what it could reach.

A node allows the terms A and has fixed some of them, F, in the support; r = |A| - k of the others must still go. Its relaxation
is a quadratic in z on A whose minimum f is a lower bound for every support inside A. With B the inverse of its matrix on A and
z its minimiser, leaving out T costs 1/2 z_T' (B_TT)^-1 z_T exactly, hence (docs/mathematics.md, section 7)

    f + the r-th smallest of z_j^2 / (2 B_jj)            bounds the node from below,
    f + 1/2 sum of the r smallest d_j z_j^2              too, for any diagonal D below the matrix,
    f + z_j^2 / (2 B_jj) >= incumbent                    fixes j in the support.

Least squares: the quadratic is F itself. Hinge: the dual at the multipliers of the best fit on A, whose matrix is G.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from quadric.blas import one_blas_thread
from quadric.problem import HingeProblem, LeastSquaresProblem, SparseProblem
from quadric.progress import Report, silent
from quadric.search.local import Found
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.zstep import HingeStep, Step, step_for

HOPELESS = 1e14
"""Condition number beyond which the inverse is worth nothing to a bound."""
REPORT_EVERY = 32
"""Nodes between two lines of progress."""


@dataclass(frozen=True)
class Proof:
    """What branch and bound found out.

    Attributes
    ----------
    best : Found
        The best support met, the one it started from included.
    lower_bound : float
        No support with k terms has a smaller objective.
    closed : bool
        Whether the bound reaches the objective within the tolerance of the loss: the support is proved best.
    n_nodes : int
    """

    best: Found
    lower_bound: float
    closed: bool
    n_nodes: int


@dataclass(frozen=True)
class _Relaxation:
    """Minimum f of the quadratic on the allowed terms, with its minimiser z and the inverse B of its matrix."""

    terms: IntArray
    f: float
    z: FloatArray
    B: FloatArray

    def costs(self) -> FloatArray:
        return 0.5 * self.z**2 / np.diag(self.B)


class _Bounds(ABC):
    """What differs between the losses."""

    tolerance: float
    diagonal: FloatArray
    """D, over all terms."""
    rounding: float
    """Error that cancellation may leave in a bound."""

    @abstractmethod
    def root(self) -> _Relaxation: ...

    @abstractmethod
    def without(self, parent: _Relaxation, position: int) -> _Relaxation:
        """The relaxation with one term fewer."""

    @abstractmethod
    def minimum(self, support: IntArray) -> tuple[float, float]:
        """F on a support as found, and a lower bound of its true minimum there."""

    def bound(self, node: _Relaxation, free: BoolArray, n_to_drop: int) -> float:
        """The better of the two bounds."""
        if n_to_drop <= 0:
            return node.f
        costs = np.partition(node.costs()[free], n_to_drop - 1)
        curved = self.diagonal[node.terms[free]] * node.z[free] ** 2
        cheapest = np.partition(curved, n_to_drop - 1)[:n_to_drop]
        return node.f + max(float(costs[n_to_drop - 1]), 0.5 * float(cheapest.sum()))


class _LeastSquaresBounds(_Bounds):
    tolerance = 1e-9

    def __init__(self, problem: LeastSquaresProblem, step: Step) -> None:
        self.problem = problem
        self.step = step
        self._inverse, condition = _inverse(problem.M)
        self.diagonal = _diagonal_below(self._inverse)
        self.rounding = _rounding(condition, problem)

    def root(self) -> _Relaxation:
        z = self._inverse @ self.problem.q
        f = self.problem.constant - 0.5 * float(self.problem.q @ z)
        return _Relaxation(np.arange(self.problem.n_terms), f, z, self._inverse)

    def without(self, parent: _Relaxation, position: int) -> _Relaxation:
        terms, B = _without(parent, position)
        z = np.delete(parent.z - parent.B[position] * (parent.z[position] / parent.B[position, position]), position)
        return _Relaxation(terms, parent.f + float(parent.costs()[position]), z, B)

    def minimum(self, support: IntArray) -> tuple[float, float]:
        M, q = self.problem.M[support[:, None], support], self.problem.q[support]
        try:  # a tenth of the price of the step's own refit, which matters at ten thousand nodes a second
            value = self.problem.constant - 0.5 * float(q @ np.linalg.solve(M, q))
        except np.linalg.LinAlgError:
            value = self.step.refit(support).value
        return value, value


class _HingeBounds(_Bounds):
    tolerance = 1e-7

    def __init__(self, problem: HingeProblem, step: HingeStep) -> None:
        self.problem = problem
        self.step = step
        self._inverse, condition = _inverse(problem.G)
        self.diagonal = _diagonal_below(self._inverse)
        self.rounding = _rounding(condition, problem)

    def root(self) -> _Relaxation:
        return self._solved(np.arange(self.problem.n_terms), self._inverse)

    def without(self, parent: _Relaxation, position: int) -> _Relaxation:
        return self._solved(*_without(parent, position))

    def minimum(self, support: IntArray) -> tuple[float, float]:
        value = self.step.refit(support).value
        alpha = self._balanced(self.step.multipliers)
        q = ((self.problem.y * alpha) @ self.problem.A[:, :-1])[support]
        dual = float(alpha.sum() - 0.5 * q @ np.linalg.solve(self.problem.G[np.ix_(support, support)], q))
        return value, min(value, dual)

    def _solved(self, terms: IntArray, B: FloatArray) -> _Relaxation:
        self.step.refit(terms)
        alpha = self._balanced(self.step.multipliers)
        q = ((self.problem.y * alpha) @ self.problem.A[:, :-1])[terms]
        z = B @ q
        return _Relaxation(terms, float(alpha.sum() - 0.5 * q @ z), z, B)

    def _balanced(self, alpha: FloatArray) -> FloatArray:
        """Multipliers that meet sum y alpha = 0 to the last digit: the bound holds for no others."""
        positive = self.problem.y > 0
        above, below = float(alpha[positive].sum()), float(alpha[~positive].sum())
        if min(above, below) <= 0.0:
            return np.zeros_like(alpha)
        shrunk = alpha.copy()
        shrunk[positive] *= min(1.0, below / above)
        shrunk[~positive] *= min(1.0, above / below)
        return shrunk


def _inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Inverse, by way of the matrix with a unit diagonal, and that one's condition number."""
    scale = 1.0 / np.sqrt(np.diag(matrix))
    unit = matrix * np.outer(scale, scale)
    inverse = cho_solve(cho_factor(unit), np.eye(len(unit)))
    e = eigh(unit, eigvals_only=True)
    condition = float(e[-1] / max(e[0], np.finfo(float).eps * e[-1]))
    if condition > HOPELESS:
        raise LinAlgError("singular to working precision")
    return 0.5 * (inverse + inverse.T) * np.outer(scale, scale), condition


def _rounding(condition: float, problem: SparseProblem) -> float:
    """What rounding in the inverse can do to a bound: the bounds are parts of F at zero."""
    return 16.0 * np.finfo(float).eps * (condition + problem.n_terms) * problem.at_zero()


def _diagonal_below(inverse: FloatArray) -> FloatArray:
    """A diagonal D below the matrix whose inverse is given: 1/B_jj, shrunk until it fits."""
    scale = np.sqrt(np.diag(inverse))
    n = len(scale)
    largest = eigh(inverse / np.outer(scale, scale), eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]
    return 1.0 / (float(largest) * (1.0 + 1e-12) * scale**2)


def _without(parent: _Relaxation, position: int) -> tuple[IntArray, FloatArray]:
    """Terms and inverse with one term left out: a rank-one downdate."""
    keep = np.delete(np.arange(len(parent.terms)), position)
    column = parent.B[position]
    rest = column[keep]
    return parent.terms[keep], parent.B[keep[:, None], keep] - rest[:, None] * (rest / column[position])


@dataclass(frozen=True)
class _Open:
    """A node that waits: the parent's relaxation, the term to leave out of it, what is fixed, and a bound known already."""

    relaxation: _Relaxation
    position: int
    fixed: BoolArray
    bound: float


class _Tree:
    def __init__(self, problem: SparseProblem, bounds: _Bounds, start: Found) -> None:
        self.k = problem.k
        self.required = problem.required
        self.bounds = bounds
        self.best = start
        self.n_nodes = 0
        self.open: list[_Open] = []
        self.unsure = np.inf  # lowest bound of a support whose minimum could not be found to the tolerance

    @property
    def cutoff(self) -> float:
        """A node with a bound above this holds nothing better than the incumbent, but for the tolerance."""
        return self.best.value - self.bounds.tolerance * abs(self.best.value) + self.bounds.rounding

    @property
    def proved(self) -> float:
        """What a node with a bound above the cutoff is known not to fall below."""
        return self.cutoff - self.bounds.rounding

    def search(self, out_of_time: Callable[[], bool], report: Callable[[_Tree], None]) -> Proof:
        root = self.bounds.root()
        fixed = np.zeros(len(root.terms), dtype=bool)
        fixed[self.required] = True
        floor = self.bounds.bound(root, ~fixed, len(root.terms) - self.k)
        self._expand(root, fixed, floor)
        while self.open:
            if out_of_time():
                break
            if self.n_nodes % REPORT_EVERY == 0:
                report(self)
            node = self.open.pop()
            if node.bound < self.cutoff:
                child = self.bounds.without(node.relaxation, node.position)
                self._expand(child, np.delete(node.fixed, node.position), node.bound)
        return self._proof()

    def _expand(self, node: _Relaxation, fixed: BoolArray, floor: float) -> None:
        """Follow the branch that keeps the most valuable term each time; leave those that drop it open."""
        self.n_nodes += 1
        costs = node.costs()
        n_to_drop = len(node.terms) - self.k
        fixed = fixed.copy()
        while True:
            if n_to_drop > 0:
                fixed |= node.f + costs >= self.cutoff
            n_fixed = int(fixed.sum())
            if n_fixed > self.k:
                return
            floor = max(floor, self.bounds.bound(node, ~fixed, n_to_drop))
            if floor >= self.cutoff:
                return
            if n_to_drop <= 0 or n_fixed == self.k:
                self._evaluate(node.terms if n_to_drop <= 0 else node.terms[fixed])
                return
            position = int(np.argmax(np.where(fixed, -np.inf, costs)))
            self.open.append(_Open(node, position, fixed.copy(), max(floor, node.f + float(costs[position]))))
            fixed[position] = True

    def _evaluate(self, support: IntArray) -> None:
        value, bound = self.bounds.minimum(support)
        if value < self.best.value:
            self.best = Found(support, value)
        if bound < value - self.bounds.tolerance * abs(value):
            self.unsure = min(self.unsure, bound)

    def lower_bound(self) -> float:
        """No better than the open nodes allow, less a margin for rounding; what was closed is no better than the cutoff."""
        margin = self.bounds.tolerance * abs(self.best.value) + self.bounds.rounding
        return min([self.proved, self.unsure] + [node.bound - margin for node in self.open])

    def _proof(self) -> Proof:
        closed = self.unsure >= self.proved and not any(node.bound < self.cutoff for node in self.open)
        return Proof(self.best, self.lower_bound(), closed, self.n_nodes)


BOUNDS: dict[str, type[_LeastSquaresBounds] | type[_HingeBounds]] = {
    "least_squares": _LeastSquaresBounds,
    "hinge": _HingeBounds,
}


@one_blas_thread()
def prove(problem: SparseProblem, start: Found, *, time_limit: float | None = None, report: Report = silent) -> Proof:
    """Branch and bound from a known support.

    Parameters
    ----------
    problem : SparseProblem
    start : Found
        Incumbent; the better it is, the fewer nodes.
    time_limit : float or None
        Seconds; at zero only the root is bounded.
    report : callable
        Told incumbent, bound, gap and nodes from time to time.
    """
    began = time.monotonic()
    step = step_for(problem)
    try:
        bounds: _Bounds = BOUNDS[problem.loss](problem, step)  # type: ignore[arg-type]
    except LinAlgError:  # singular to working precision: what all terms together reach is the only bound left
        everything = step.refit(np.arange(problem.n_terms)).value
        return Proof(start, min(start.value, everything) * (1.0 - 1e-6), False, 0)
    tree = _Tree(problem, bounds, start)

    def out_of_time() -> bool:
        return time_limit is not None and time.monotonic() - began >= time_limit

    def tell(tree: _Tree) -> None:
        bound = tree.lower_bound()
        gap = (tree.best.value - bound) / abs(tree.best.value)
        report(
            f"{tree.n_nodes} nodes: best {tree.best.value:.6g}, bound {bound:.6g}, gap {100 * gap:.2f} %, open {len(tree.open)}"
        )

    return tree.search(out_of_time, tell)
