"""Rules on slopes, coefficients and terms: against enumeration, what they cost, and what they take.

    python benchmarks/rules.py [--parts enumeration pairs german supports] [--losses least_squares hinge logistic] [--quick]

enumeration: 200 small random problems for each loss and each kind of rule, every support solved by Clarabel called directly.
pairs: 10,000 pairs of rows, far beyond the caps, that differ in a ruled column only. german: the price of monotone columns.
supports: hierarchies and budgets on the paper's sets and iris. Each part replaces its rows in benchmarks/results/rules.json.
Needs the dev extra, and for the last two parts the paper's data (QUADRIC_DATA, or ../shared/data).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, cross_val_score

from paper_data import NAMES, FloatArray, folder
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, datasets
from quadric.blas import one_blas_thread
from ruled_problems import KINDS, LOSSES, Enumeration, random_problem
from table import Row, environment, show, write_json

STORE = Path(__file__).resolve().parent / "results" / "rules.json"
PROBLEMS, QUICK_PROBLEMS = 200, 10
PAIRS = 10_000
EQUAL = 1e-6
MOST_PRICES = {6: 0.02, 12: 0.21, 20: 1.12}
"""Of four monotone columns of german with least squares, in per cent: those of the prototype."""
MOST_TIMES = {6: 1.0, 12: 1.0, 20: 3.0}
"""Times the processor time without rules."""
SUPPORT_RULES: dict[str, dict[str, Any]] = {
    "hierarchy weak": {"hierarchy": "weak"},
    "hierarchy strong": {"hierarchy": "strong"},
    "max_features 4": {"max_features": 4},
    "no_interactions": {"interaction_cst": "no_interactions"},
}
PLAIN: dict[str, Any] = {"standardize": False, "clip": None}


def enumerated(loss: str, kind: str, count: int) -> Iterator[Row]:
    """Random problems of one kind."""
    errors, missed, wrong, above, claimed, optimal = [0.0], [0.0], 0, 0, 0, 0
    for seed in range(count):
        problem = random_problem(kind, seed)
        truth = Enumeration.of(problem, loss)
        for method in ("best", "exact"):
            model = SparseQuadraticSVC(problem.k, problem.C, loss=loss, method=method, **PLAIN, **problem.parameters)
            certificate = model.fit(problem.X, problem.y).certificates_[0]
            live = tuple(np.flatnonzero(model.coef_.any(axis=0)).tolist())
            errors.append(truth.error(live, certificate.objective))
            if certificate.swap_optimal:
                claimed += 1
                wrong += not truth.is_swap_optimal(live, certificate.objective, EQUAL)
            if certificate.lower_bound is not None:
                above += certificate.lower_bound > truth.optimum * (1.0 + EQUAL)
            if method == "best":
                optimal += certificate.objective <= truth.optimum * (1.0 + EQUAL)
            else:
                missed.append(certificate.objective / truth.optimum - 1.0)
    what = f"{loss}, {kind}"
    yield Row(f"{what}: largest difference to Clarabel on the same terms", max(errors), "<=", EQUAL)
    yield Row(f"{what}: method exact above the optimum, at most", max(missed), "<=", EQUAL)
    yield Row(f"{what}: method best at the optimum, %", 100.0 * optimal / count, ">=", 90.0)
    yield Row(f"{what}: swap-optimal by mistake, of {claimed} claims", wrong, "<=", 0)
    yield Row(f"{what}: bounds above the optimum", above, "<=", 0)


def enumeration(losses: list[str], quick: bool, kinds: list[str]) -> Iterator[Row]:
    for kind in kinds:
        for loss in losses:
            yield from enumerated(loss, kind, QUICK_PROBLEMS if quick else PROBLEMS)


def smallest_rise(model: SparseQuadraticSVC, rules: Mapping[int, int], rows: FloatArray, moved: FloatArray) -> float:
    """The smallest of sign times the change of f along a ruled feature, relative to max(1, |f|).

    Parameters
    ----------
    model : SparseQuadraticSVC
    rules : mapping of int to int
    rows : array of shape (PAIRS, n)
    moved : array of the same shape
        Other values of the features.
    """
    worst = np.inf
    for feature, sign in rules.items():
        low, high = rows.copy(), rows.copy()
        low[:, feature] = np.minimum(rows[:, feature], moved[:, feature])
        high[:, feature] = np.maximum(rows[:, feature], moved[:, feature])
        before, after = model.decision_function(low), model.decision_function(high)
        worst = min(worst, float(np.min(sign * (after - before) / np.maximum(1.0, np.abs(before)))))
    return worst


def far_rows(X: FloatArray, seed: int) -> FloatArray:
    """Rows with values from well inside to far beyond those of X; features of two values keep these."""
    rng = np.random.default_rng(seed)
    wide = X.mean(axis=0) + X.std(axis=0) * rng.normal(size=(PAIRS, X.shape[1])) * 10.0 ** rng.integers(-1, 4, (PAIRS, 1))
    drawn = X[rng.integers(0, len(X), PAIRS)]
    two_valued = np.array([len(np.unique(column)) <= 2 for column in X.T])
    return np.where(two_valued, drawn, wide)


def pairs(losses: list[str], quick: bool) -> Iterator[Row]:
    """Applicants with numbers, a flag, and three levels of a text column, two of which have a feature."""
    for loss in losses:
        worst, proved, asked = np.inf, 0, 0
        for seed in range(2 if quick else 10):
            rng = np.random.default_rng(seed)
            X = np.column_stack([rng.normal(size=(400, 3)) * [900.0, 9.0, 5000.0], rng.random(400) < 0.4, np.zeros((400, 2))])
            level = rng.integers(0, 3, 400)
            X[:, 4], X[:, 5] = level == 1, level == 2
            unit = (X - X.mean(axis=0)) / X.std(axis=0)
            score = unit[:, 0] * unit[:, 1] - 0.5 * unit[:, 0] + 0.6 * unit[:, 2] * unit[:, 3] - 0.5 * unit[:, 4] * unit[:, 0]
            rules = {0: -1, 2: 1, 3: int(rng.choice([-1, 1]))}
            model = SparseQuadraticSVC(k=4 + seed % 7, loss=loss, monotonic_cst=rules, feature_groups=[[4, 5]])
            model.fit(X, np.where(score + rng.normal(size=400) > 0.0, 1, 0))
            proofs = model.certificates_[0].monotone
            proved, asked = proved + sum(proof.proved for proof in proofs), asked + len(proofs)
            rows, moved = far_rows(X, seed), far_rows(X, seed + 1000)
            levels = np.random.default_rng(seed).integers(0, 3, PAIRS)
            rows[:, 4], rows[:, 5], moved[:, 3] = levels == 1, levels == 2, 1.0 - rows[:, 3]
            worst = min(worst, smallest_rise(model, rules, rows, moved))
        yield Row(f"{loss}: rules proved, of {asked}", proved, ">=", asked)
        yield Row(f"{loss}: smallest rise in {PAIRS:,} pairs of rows per model", worst, ">=", -1e-9)


def german(losses: list[str], quick: bool) -> Iterator[Row]:
    """The columns with the largest correlation, each monotone in its direction."""
    data = datasets.load("german", folder=folder())
    X, y = data.X, np.where(data.y == 1, 1, 0)
    correlation = np.array([np.corrcoef(column, y)[0, 1] for column in X.T])
    rules = {int(j): int(np.sign(correlation[j])) for j in np.argsort(-np.abs(correlation))[:4]}
    for loss in losses:
        squared = loss == "least_squares"
        for k in list(MOST_PRICES)[: 1 if quick else None]:
            free, before = fitted(SparseQuadraticSVC(k, 64.0, loss=loss), X, y)
            ruled, after = fitted(SparseQuadraticSVC(k, 64.0, loss=loss, monotonic_cst=rules), X, y)
            (without,), (certificate,) = free.certificates_, ruled.certificates_
            what, price = f"german, {loss}, k = {k}", 100.0 * (certificate.objective / without.objective - 1.0)
            yield Row(f"{what}: price of four monotone columns, %", price, "<=", MOST_PRICES[k] if squared else np.inf)
            yield Row(f"{what}: swap-optimal", int(certificate.swap_optimal is True), ">=", int(squared))
            yield Row(f"{what}: rules proved", sum(proof.proved for proof in certificate.monotone), ">=", 4)
            yield Row(f"{what}: could be lower with the same terms by", certificate.decrease, "<=", EQUAL)
            yield Row(f"{what}: processor time, times that without", after / before, "<=", MOST_TIMES[k] if squared else np.inf)
            rise = smallest_rise(ruled, rules, far_rows(X, 0), far_rows(X, 1))
            yield Row(f"{what}: smallest rise in {PAIRS:,} pairs of rows", rise, ">=", -1e-9)


def fitted(model: SparseQuadraticSVC, X: FloatArray, y: FloatArray) -> tuple[SparseQuadraticSVC, float]:
    """The model, and the least processor time of three fits."""
    times = []
    for _ in range(3):
        began = time.process_time()
        model.fit(X, y)
        times.append(time.process_time() - began)
    return model, min(times)


def supports(losses: list[str], quick: bool) -> Iterator[Row]:
    """Objectives with one list of rules and without, and the accuracy of folds that had no part in the choice of k and C."""
    for name in [*(("haberman",) if quick else NAMES), "iris"]:
        data: Any = load_iris() if name == "iris" else datasets.load(name, folder=folder())
        X, y = (data.data, data.target) if name == "iris" else (data.X, data.y)
        rules = {**SUPPORT_RULES, **({"multiclass shared": {"multiclass": "shared"}} if name == "iris" else {})}
        without, before = fitted(SparseQuadraticSVC(8, 16.0), X, y)
        plain = accuracy(X, y, {})
        for what, own in rules.items():
            ruled, after = fitted(SparseQuadraticSVC(8, 16.0, **own), X, y)
            price = 100.0 * (objective(ruled) / objective(without) - 1.0)
            yield Row(f"{name}, {what}: price, %", price, "<=", np.inf)
            yield Row(f"{name}, {what}: nested accuracy, points above that without", accuracy(X, y, own) - plain, ">=", -np.inf)
            yield Row(f"{name}, {what}: processor time, times that without", after / before, "<=", 2.0)


def objective(model: SparseQuadraticSVC) -> float:
    """The sum over classes, which is what each certificate of classes that share their terms speaks of."""
    return sum(certificate.objective / certificate.n_surfaces for certificate in model.certificates_)


def accuracy(X: FloatArray, y: FloatArray, own: Mapping[str, Any]) -> float:
    """In per cent, of five folds; k and C are chosen inside each."""
    folds = KFold(5, shuffle=True, random_state=0)
    model = SparseQuadraticSVCCV(
        ks=(2, 4, 8, 12), Cs=(1.0, 16.0, 256.0), loss="least_squares", terms="quadratic", scoring="accuracy", **own
    )
    return 100.0 * float(cross_val_score(model, X, y, cv=folds).mean())


PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "enumeration": enumeration,
    "pairs": pairs,
    "german": german,
    "supports": supports,
}


def kept(row: Row) -> dict[str, Any]:
    """As JSON, which has no infinite targets."""
    target = row.target if np.isfinite(row.target) else None
    return {**asdict(row), "measured": float(row.measured), "target": target, "holds": row.holds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=PARTS)
    parser.add_argument("--losses", nargs="*", default=list(LOSSES), choices=LOSSES)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS, help="Of rules to enumerate.")
    parser.add_argument("--quick", action="store_true", help="A few problems; nothing is stored.")
    arguments = parser.parse_args()
    stored = json.loads(STORE.read_text())["rows"] if STORE.exists() else {}
    holds = True
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in arguments.parts:
            own = {"kinds": arguments.kinds} if part == "enumeration" else {}
            rows = list(PARTS[part](arguments.losses, arguments.quick, **own))
            print(show(rows), flush=True)
            holds &= all(row.holds for row in rows)
            new = {row.what: kept(row) for row in rows}
            stored[part] = {**stored.get(part, {}), **new}
            if not arguments.quick:
                write_json({"rows": stored, **environment()}, STORE)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
