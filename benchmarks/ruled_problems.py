"""Small random problems under rules, and their optima: every support that the rules admit, solved by Clarabel called directly.

Nothing here uses quadric: surfaces, energies, losses and rules are written out from their definitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import clarabel
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

FloatArray = npt.NDArray[np.float64]
Terms = tuple[int, ...]
Factors = tuple[int, int | None]
LOSSES = ("least_squares", "hinge", "logistic")
SETTINGS: tuple[dict[str, Any], ...] = ({}, {"static_regularization_enable": False}, {"max_step_fraction": 0.9})
"""Of Clarabel: the next ones where it makes no progress; rules may leave a set without an inside."""
SOLVED, INFEASIBLE = ("Solved", "AlmostSolved"), ("PrimalInfeasible", "AlmostPrimalInfeasible")


def factors(n: int) -> list[Factors]:
    """The features of each term, as coef_ has them: the upper triangle of W row by row, then b."""
    return [*((a, b) for a in range(n) for b in range(a, n)), *((a, None) for a in range(n))]


def name(term: Factors) -> str:
    a, b = term
    return f"x{a}" if b is None else f"x{a}^2" if a == b else f"x{a}*x{b}"


@dataclass(frozen=True)
class RuledProblem:
    """Samples and rules, as parameters of SparseQuadraticSVC.

    Attributes
    ----------
    X, y : arrays of shape (m, n) and (m,)
        Labels are -1 and 1, or several classes, each against the rest.
    C, k : float, int
    rules : dict
    """

    X: FloatArray
    y: FloatArray
    C: float
    k: int
    rules: dict[str, Any] = field(default_factory=dict)

    @property
    def terms(self) -> list[Factors]:
        return factors(self.X.shape[1])

    @property
    def parameters(self) -> dict[str, Any]:
        """The rules with terms by name."""
        limits = {"coef_bounds": {name(term): pair for term, pair in self.rules.get("coef_bounds", {}).items()}}
        return {**self.rules, **(limits if "coef_bounds" in self.rules else {})}

    def admits(self, chosen: Terms) -> bool:
        """Whether rules on terms admit a support."""
        rules, inside = self.rules, {self.terms[t] for t in chosen}
        used = {feature for term in inside for feature in term if feature is not None}
        for a, b in inside:
            parents = set[Factors]() if b is None else {(a, None), (b, None)}
            if rules.get("hierarchy") == "strong" and not parents <= inside:
                return False
            if rules.get("hierarchy") == "weak" and parents and not parents & inside:
                return False
            if rules.get("interaction_cst") == "no_interactions" and b is not None and a != b:
                return False
        price = sum(rules.get("feature_cost", {}).get(f"x{feature}", 0.0) for feature in used)
        return len(used) <= rules.get("max_features", np.inf) and price <= rules.get("max_cost", np.inf) + 1e-9

    def supports(self) -> Iterator[Terms]:
        """Those of at most k terms that rules on terms admit."""
        for size in range(self.k + 1):
            for chosen in combinations(range(len(self.terms)), size):
                if self.admits(chosen):
                    yield chosen

    def minimum(self, loss: str, chosen: Terms) -> float:
        """min of F over surfaces on some terms that obey the rules on slopes and coefficients; inf where there are none.

        Of several classes the sum.
        """
        if len(classes := np.unique(self.y)) > 2:
            against_rest = (replace(self, y=np.where(self.y == own, 1.0, -1.0)) for own in classes)
            return sum(one.minimum(loss, chosen) for one in against_rest)
        programme = Programme(self, chosen)
        getattr(programme, loss)()
        for rule, sign in self.rules.get("monotonic_cst", {}).items():
            programme.slope(int(rule[1:]), sign)
        for rule, (low, high) in self.rules.get("coef_bounds", {}).items():
            programme.limit(rule, low, high)
        return programme.solved()


@dataclass(frozen=True)
class Enumeration:
    """The minimum on every support that a problem admits.

    Attributes
    ----------
    problem : RuledProblem
    values : dict
    """

    problem: RuledProblem
    values: dict[Terms, float]

    @staticmethod
    def of(problem: RuledProblem, loss: str) -> Enumeration:
        return Enumeration(problem, {chosen: problem.minimum(loss, chosen) for chosen in problem.supports()})

    @property
    def optimum(self) -> float:
        return min(self.values.values())

    def error(self, live: Terms, objective: float) -> float:
        """How far an objective is from that of a support with these terms, relatively: others may have come out as zero."""
        return min(abs(objective / value - 1.0) for chosen, value in self.values.items() if set(live) <= set(chosen))

    def is_swap_optimal(self, live: Terms, objective: float, tolerance: float) -> bool:
        """Whether live terms are part of a largest support with this objective that no exchange of one term improves."""
        for chosen, value in self.values.items():
            if not set(live) <= set(chosen) or abs(value / objective - 1.0) > tolerance or self._can_grow(chosen):
                continue
            near = (other for other in self.values if len(other) == len(chosen) and len(set(other) - set(chosen)) == 1)
            if all(self.values[other] >= objective * (1.0 - tolerance) for other in near):
                return True
        return False

    def _can_grow(self, chosen: Terms) -> bool:
        return any(len(other) == len(chosen) + 1 and set(chosen) < set(other) for other in self.values)


class Programme:
    """min 1/2 x'Px + q'x + constant over A x + s = b, s in cones; x begins with the coefficients of a support and c.

    Parameters
    ----------
    problem : RuledProblem
    chosen : tuple of int
        Terms.
    """

    def __init__(self, problem: RuledProblem, chosen: Terms) -> None:
        X, y, m = problem.X, problem.y, len(problem.y)
        self.C, self.m, self.ends = problem.C, m, (X.min(axis=0), X.max(axis=0))
        self.terms = [problem.terms[t] for t in chosen]
        columns = [X[:, a] if b is None else (0.5 if a == b else 1.0) * X[:, a] * X[:, b] for a, b in self.terms]
        self.signed = y[:, None] * np.column_stack([*columns, np.ones(m)])
        # ||W x_i + b||^2: W_ab meets x_b in row a and x_a in row b
        energy = np.zeros((m, X.shape[1], len(self.terms) + 1))
        for place, (a, b) in enumerate(self.terms):
            energy[:, a, place] = 1.0 if b is None else X[:, b]
            if b is not None and b != a:
                energy[:, b, place] = X[:, a]
        E = energy.reshape(-1, len(self.terms) + 1)
        self.P, self.q, self.constant = 2.0 * E.T @ E, np.zeros(len(self.terms) + 1), 0.0
        self._rows: list[FloatArray] = []
        self._limits: list[FloatArray] = []
        self._cones: list[Any] = []

    def least_squares(self) -> None:
        self.P = self.P + 2.0 * self.C * self.signed.T @ self.signed  # (1 - y f)^2
        self.q, self.constant = -2.0 * self.C * self.signed.sum(axis=0), self.C * self.m

    def hinge(self) -> None:
        slack = self._more(self.m)
        self.q[slack] = self.C
        self._at_least(1.0, (slice(0, self.signed.shape[1]), self.signed), (slack, np.eye(self.m)))
        self._at_least(0.0, (slack, np.eye(self.m)))

    def logistic(self) -> None:
        """log(1 + exp(-m)) <= s where exp(-s) <= u, exp(-m - s) <= v and u + v <= 1."""
        eye, surface = np.eye(self.m), slice(0, self.signed.shape[1])
        s, u, v = (self._more(self.m) for _ in range(3))
        self.q[s] = 8.0 * self.C
        self._at_least(-1.0, (u, -eye), (v, -eye))
        for bound, share in ((u, 0.0), (v, 1.0)):
            rows, limits = np.zeros((3 * self.m, len(self.q))), np.zeros(3 * self.m)
            rows[0::3, surface], rows[0::3, s], rows[2::3, bound], limits[1::3] = share * self.signed, eye, -eye, 1.0
            self._add(rows, limits, [clarabel.ExponentialConeT()] * self.m)

    def slope(self, feature: int, sign: int) -> None:
        """sign (W_c'x + b_c) >= 0 at every corner of the box."""
        places = {place: b if a == feature else a for place, (a, b) in enumerate(self.terms) if feature in (a, b)}
        if not places:
            return
        others = sorted({other for other in places.values() if other is not None})
        for corner in product(*((self.ends[0][other], self.ends[1][other]) for other in others)):
            row = np.zeros((1, len(self.q)))
            for place, other in places.items():
                row[0, place] = sign * (1.0 if other is None else corner[others.index(other)])
            self._at_least(0.0, (slice(0, row.shape[1]), row))

    def limit(self, term: Factors, low: float | None, high: float | None) -> None:
        for place in (place for place, own in enumerate(self.terms) if own == term):
            for sign, end in ((1.0, low), (-1.0, high)):
                if end is not None:
                    self._at_least(sign * end, (slice(place, place + 1), [[sign]]))

    def solved(self) -> float:
        n, unit = len(self.q), self.C * self.m
        P = np.zeros((n, n))
        P[: len(self.P), : len(self.P)] = self.P / unit
        rows = [np.pad(rows, ((0, 0), (0, n - rows.shape[1]))) for rows in self._rows]
        if not rows:  # Clarabel needs a condition
            rows, self._limits, self._cones = [np.zeros((1, n))], [np.zeros(1)], [clarabel.NonnegativeConeT(1)]
        A, b = sp.csc_matrix(np.vstack(rows)), np.concatenate(self._limits)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        for more in SETTINGS:
            for setting, value in more.items():
                setattr(settings, setting, value)
            solution = clarabel.DefaultSolver(sp.csc_matrix(np.triu(P)), self.q / unit, A, b, self._cones, settings).solve()
            if str(solution.status) in INFEASIBLE:
                return np.inf
            if str(solution.status) in SOLVED:
                return unit * float(solution.obj_val) + self.constant
        raise ArithmeticError(f"Clarabel: {solution.status}")

    def _more(self, count: int) -> slice:
        """New variables."""
        self.q = np.append(self.q, np.zeros(count))
        return slice(len(self.q) - count, len(self.q))

    def _at_least(self, least: float, *blocks: tuple[slice, Any]) -> None:
        """Sums of blocks times their variables are at least that."""
        count = len(blocks[0][1])
        rows = np.zeros((count, len(self.q)))
        for columns, block in blocks:
            rows[:, columns] += block
        self._add(-rows, np.full(count, -least), [clarabel.NonnegativeConeT(count)])

    def _add(self, rows: FloatArray, limits: FloatArray, cones: list[Any]) -> None:
        self._rows.append(rows)
        self._limits.append(limits)
        self._cones += cones


def random_problem(kind: str, seed: int) -> RuledProblem:
    """Three features, or two; rules of one kind, sometimes contradicted by the samples.

    Parameters
    ----------
    kind : str
        A key of KINDS.
    seed : int
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    n, m = int(rng.integers(2, 4)), int(rng.integers(25, 45))
    X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-0.5, 0.5, n) + rng.normal(size=n)
    left, right = X[:, 0] - X[:, 0].mean(), X[:, -1] - X[:, -1].mean()
    score = rng.normal() * left * right + rng.normal() * left + rng.normal() * right**2 + rng.normal(size=m) * left.std()
    y = np.where(score > np.quantile(score, rng.uniform(0.3, 0.7)), 1.0, -1.0)
    k, rules = int(rng.integers(2, 5 if n == 3 else 4)), KINDS[kind](rng, n)
    if "multiclass" in rules:
        y = np.digitize(score, np.quantile(score, [0.3, 0.65])).astype(float)
    return RuledProblem(X, y, float(4.0 ** rng.integers(-1, 5)), k, rules)


def _monotone(rng: np.random.Generator, n: int) -> dict[str, Any]:
    ruled = rng.choice(n, int(rng.integers(1, n + 1)), replace=False)
    return {"monotonic_cst": {f"x{feature}": int(rng.choice([-1, 1])) for feature in ruled}}


def _bounds(rng: np.random.Generator, n: int) -> dict[str, Any]:
    terms = factors(n)
    limits = [(0.0, None), (None, 0.0), (-0.2, 0.1), (None, 0.05)]
    chosen = rng.choice(len(terms), int(rng.integers(1, len(terms))), replace=False)
    return {"coef_bounds": {terms[t]: limits[int(rng.integers(len(limits)))] for t in chosen}}


def _hierarchy(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {"hierarchy": str(rng.choice(["weak", "strong"]))}


def _budgets(rng: np.random.Generator, n: int) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {"max_features": int(rng.integers(1, n))}
    return {"feature_cost": {f"x{a}": float(rng.integers(1, 4)) for a in range(n)}, "max_cost": float(rng.integers(3, 7))}


def _all(rng: np.random.Generator, n: int) -> dict[str, Any]:
    slopes, limits = _monotone(rng, n), _bounds(rng, n)["coef_bounds"]
    # a limit against the sign of a rule on a slope is refused
    kept = {term: pair for term, pair in limits.items() if name(term) not in slopes["monotonic_cst"]}
    return {**slopes, **({"coef_bounds": kept} if kept else {}), **_hierarchy(rng, n)}


def _shared(rng: np.random.Generator, n: int) -> dict[str, Any]:
    return {"multiclass": "shared", **(_hierarchy(rng, n) if rng.random() < 0.3 else {})}


KINDS = {
    "monotonic_cst": _monotone,
    "coef_bounds": _bounds,
    "hierarchy": _hierarchy,
    "budgets": _budgets,
    "interaction_cst": lambda rng, n: {"interaction_cst": "no_interactions"},
    "together": _all,
    "multiclass": _shared,
}
"""Rules by what they are about."""
