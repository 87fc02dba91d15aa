"""The best k terms, the proofs and the cross-validation: objectives and times beside rivals, measured in this one run.

    python benchmarks/search.py [--output benchmarks/results/search.json] [--parts objectives path proofs crossvalidation]

Needs the paper's data (QUADRIC_DATA, or ../shared/data) and the dev extra. abess (GPL, not a dependency) is compared with where
it is installed: pip install abess. Set OMP_NUM_THREADS=1 for it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from engine import data_of, problem_of
from paper_data import NAMES, FloatArray, load
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.blas import one_blas_thread
from quadric.geometry.lifting import lift
from quadric.losses.base import Found
from quadric.losses.least_squares.explorer import LeastSquaresExplorer
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.search.exact import prove
from quadric.search.methods import SearchOptions, search
from quadric.search.path import QuadraticPath, trace_path
from quadric.types import IntArray
from table import Row, show, write

try:
    import abess
except ImportError:
    abess = None

N_RESTARTS = 1000
NOTHING = np.empty(0, dtype=np.intp)


def eight_budgets(n_terms: int) -> list[int]:
    """About eight numbers of terms, from few to half of all."""
    return sorted({int(k) for k in np.geomspace(2, max(3, n_terms // 2), 8)})


def best_of_restarts(problem: LeastSquaresProblem, n_restarts: int) -> float:
    """The best end of descents from random halves of a support, completed greedily."""
    explorer, rng = LeastSquaresExplorer(problem), np.random.default_rng(12345)
    best = np.inf
    for _ in range(n_restarts):
        half = np.sort(rng.choice(problem.n_terms, max(1, problem.k // 2), replace=False))
        best = min(best, explorer.descend(explorer.resized(half, problem.k)).value)
    return float(best)


def abess_objective(problem: LeastSquaresProblem, ks: list[int]) -> dict[int, float]:
    """abess on pseudo-samples with the same quadratic: one fit a size and one for the list, the better counts."""
    L = np.linalg.cholesky(problem.M)
    X, y = L.T, np.linalg.solve(L, problem.q)
    values = dict.fromkeys(ks, np.inf)
    for sizes in [*[[k] for k in ks], ks]:
        model = abess.LinearRegression(support_size=sizes, fit_intercept=False, thread=1)
        model.fit(X, y, is_normal=False)
        support = np.flatnonzero(model.coef_)
        if len(support) in values:
            values[len(support)] = min(values[len(support)], refit_value(problem, support))
    return values


def refit_value(problem: LeastSquaresProblem, support: IntArray) -> float:
    M, q = problem.M[np.ix_(support, support)], problem.q[support]
    return float(problem.constant - 0.5 * q @ np.linalg.solve(M, q))


def objectives() -> Iterator[Row]:
    above_pd, above_abess, above_restarts, n_problems = [], [], [], 0
    for name in NAMES:
        X, y = load(name)
        for C in (1.0, 256.0):
            problem = problem_of("least_squares", X, y, C, 1)
            ks = eight_budgets(problem.n_terms)
            theirs = abess_objective(problem, ks) if abess else {}
            for k in ks:
                budget = problem.with_k(k)
                best = search(budget, "best", SearchOptions()).objective
                above_pd.append(best / search(budget, "pd", SearchOptions()).objective - 1)
                above_restarts.append(best / best_of_restarts(budget, N_RESTARTS) - 1)
                above_abess.append(best / theirs.get(k, np.inf) - 1)
                n_problems += 1
            print(f"  {name}, C={C:g}: done", file=sys.stderr, flush=True)
    yield Row(f"best above PD, worst of {n_problems} problems", max(above_pd), "<=", 1e-9)
    yield Row("PD above best, median, %", -100 * float(np.median(above_pd)), ">=", 0)
    yield Row("PD above best, worst, %", 100 * (1 / (1 + min(above_pd)) - 1), ">=", 0)
    if abess:
        yield Row("best above abess on the same quadratic, worst", max(above_abess), "<=", 1e-9)
    yield Row(f"best above the best of {N_RESTARTS} restarts, worst, %", 100 * max(above_restarts), "<=", 0.1)


def path() -> Iterator[Row]:
    for name in ("german", "ctg"):
        X, y = load(name)
        R = lift(X)
        ks = list(range(2, R.shape[1] + 1, 5))
        start = time.perf_counter()
        problem = problem_of("least_squares", X, y, 256.0, ks[-1])
        explorer, support = LeastSquaresExplorer(problem), NOTHING
        for k in ks:
            support = explorer.descend(explorer.resized(support, k)).support
        forward = time.perf_counter() - start
        start = time.perf_counter()
        trace_path(data_of("least_squares", X, y), 1, [256.0], ks)
        whole = time.perf_counter() - start
        if abess is None:
            yield Row(f"{name}: seconds for the whole default path of {len(ks)} sizes", whole, "<=", np.inf)
            continue
        start = time.perf_counter()
        abess.LinearRegression(support_size=ks, thread=1).fit(R, y)
        theirs = time.perf_counter() - start
        yield Row(f"{name}: forward selection and exchanges, {len(ks)} sizes, in abess paths", forward / theirs, "<=", 1)
        yield Row(f"{name}: the whole default path, in abess paths", whole / theirs, "<=", 3)


PROOFS = [
    ("least_squares", ("haberman", "immunotherapy", "ecoli", "abalone"), (1.0, 256.0), 14, 10.0),
    ("least_squares", ("glass",), (1.0,), 14, 60.0),
    ("hinge", ("haberman", "ecoli"), (1.0, 256.0), 8, 30.0),
    ("hinge", ("immunotherapy",), (1.0, 256.0), 4, 30.0),
    ("logistic", ("haberman", "immunotherapy", "ecoli"), (1.0, 16.0), 4, 30.0),
]


def proofs() -> Iterator[Row]:
    for loss, names, Cs, top, limit in PROOFS:
        for name in names:
            X, y = load(name)
            slowest, open_cases = 0.0, 0
            for C in Cs:
                problem = problem_of(loss, X, y, C, 1)
                for k in range(1, min(top, problem.n_terms) + 1):
                    start = time.perf_counter()
                    result = search(problem.with_k(k), "best", SearchOptions())
                    proof = prove(problem.with_k(k), Found(result.support, result.objective), time_limit=limit)
                    slowest = max(slowest, time.perf_counter() - start)
                    open_cases += not proof.closed
            yield Row(f"{name}, {loss}, k <= {top}: cases not proved", open_cases, "<=", 0)
            yield Row(f"{name}, {loss}, k <= {top}: slowest proof, search included, s", slowest, "<=", limit)


def path_of(X: FloatArray, y: FloatArray, Cs: list[float], ks: list[int]) -> QuadraticPath:
    """The path that a fold of the cross-validated search runs."""
    return trace_path(data_of("least_squares", X, y), 1, Cs, ks, seed=(0, 1))


def crossvalidation() -> Iterator[Row]:
    X, y = load("german")
    ks, Cs, folds = list(range(1, 231, 5)), [4.0**i for i in range(-1, 9)], KFold(5, shuffle=True, random_state=0)
    start = time.perf_counter()
    SparseQuadraticSVCCV(ks=ks, Cs=Cs, cv=folds, loss="least_squares", clip=None).fit(X, y)
    ours = time.perf_counter() - start
    rng = np.random.default_rng(0)
    cells = [(f, i, j) for f in range(5) for i in range(len(Cs)) for j in range(len(ks))]
    sample = [cells[t] for t in rng.choice(len(cells), len(cells) // 20, replace=False)]
    splits, spent, above = list(folds.split(X)), 0.0, []
    paths: dict[int, QuadraticPath] = {}
    for f, i, j in sample:
        train, test = splits[f]
        scaler = StandardScaler().fit(X[train])
        start = time.perf_counter()
        model = SparseQuadraticSVC(k=ks[j], C=Cs[i], loss="least_squares", standardize=False, clip=None).fit(
            scaler.transform(X[train]), y[train]
        )
        model.score(scaler.transform(X[test]), y[test])
        spent += time.perf_counter() - start
        if f not in paths:
            paths[f] = path_of(scaler.transform(X[train]), y[train], Cs, ks)
        above.append(paths[f].objective[i, j] / model.certificates_[0].objective - 1)
    separate = spent / len(sample) * len(cells)
    yield Row(f"german: {len(cells)} cells one by one, in cross-validated searches", separate / ours, ">=", 10)
    yield Row(
        "german: path within 0.1 % of the separate fit, share of cells", float(np.mean(np.array(above) <= 1e-3)), ">=", 0.99
    )
    yield Row("german: path above the separate fit, worst, %", 100 * max(above), "<=", 1)


PARTS = {part.__name__: part for part in (objectives, path, proofs, crossvalidation)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "search.json")
    parser.add_argument("--parts", nargs="+", choices=sorted(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    rows: list[Row] = []
    with one_blas_thread():
        for name in arguments.parts:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += PARTS[name]()
    print(show(rows))
    write(rows, arguments.output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
