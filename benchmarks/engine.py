"""Speed and accuracy of the engine, as ratios to Clarabel and to one eigendecomposition, all measured in this one run.

    python benchmarks/engine.py [--output benchmarks/results/engine.json]

Needs the paper's data (QUADRIC_DATA, or ../shared/data) and the dev extra.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.linalg import eigh
from sklearn.linear_model import LogisticRegression

import reference_solver
from paper_data import NAMES, FloatArray, load
from quadric.blas import one_blas_thread
from quadric.certificate import Judge, Question
from quadric.geometry.lifting import lift
from quadric.geometry.surface import QuadraticSurface
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.base import SparseProblem, TrainingData
from quadric.losses.hinge import step as hinge
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.qp import HingeQP, HingeSolution
from quadric.losses.hinge.step import HingeStep
from quadric.losses.least_squares.curvature import Curvature
from quadric.losses.least_squares.problem import LeastSquaresProblem
from quadric.losses.logistic import Logistic
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.search import decomposition
from quadric.search.decomposition import RHO_SHARE, Schedule, decompose
from quadric.search.methods import SearchOptions, search
from quadric.search.rules import NO_LIMITS
from quadric.types import IntArray
from table import Row, show, write

CTG_K, CTG_C = 34, 256.0
MEMORY_ROWS, MEMORY_FEATURES, MEMORY_TERMS = 100_000, 20, 230


def problem_of(loss: str, X: FloatArray, y: FloatArray, C: float, k: int) -> Any:
    return data_of(loss, X, y).problem_for(1, C, k)


def data_of(loss: str, X: FloatArray, y: FloatArray) -> TrainingData:
    samples = LabelledSamples(X, Target((y > 0).astype(int), np.ones(2)), np.ones(len(y)))
    return loss_named(loss).data(samples, NO_LIMITS)


def seconds(action: Callable[[], Any], repeats: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median time of an action."""
    times = []
    for _ in range(repeats):
        start = clock()
        action()
        times.append(clock() - start)
    return median(times)


def first_sweep(problem: HingeProblem) -> HingeQP:
    """The first z-step of a decomposition: u = 0 and rho_0."""
    rho = RHO_SHARE * problem.mean_curvature
    P = problem.G + rho * np.eye(problem.n_terms)
    return HingeQP(problem.A, problem.y, problem.C * problem.loss_weight, P, np.zeros(problem.n_terms + 1))


def cold_steps() -> Iterator[Row]:
    for name in ("abalone", "german", "ctg"):
        X, y = load(name)
        for C in (1.0, 256.0):
            qp = first_sweep(problem_of("hinge", X, y, C, 1))

            def ours(qp: HingeQP = qp) -> HingeSolution:
                fresh = HingeQP(qp.A, qp.y, qp.upper, qp.P, qp.g)  # no factor of P kept from the run before
                return hinge.solve_hinge(fresh, np.zeros(fresh.n_terms + 1), None)

            theirs = [reference_solver.solve(qp) for _ in range(3)]
            solution = ours()
            gap = abs(qp.value(solution.w, qp.margins(solution.w)) / theirs[0].value - 1)
            yield Row(f"{name}, C={C:g}: relative difference to Clarabel's objective", gap, "<=", 1e-7)
            if name == "ctg":
                ratio = median(run.seconds for run in theirs) / seconds(ours)
                yield Row(f"{name}, C={C:g}: cold z-step, times faster than Clarabel", ratio, ">=", 8)


class Recorder:
    """Runs a decomposition and keeps each of its z-steps with the time it took."""

    def __init__(self) -> None:
        self.steps: list[tuple[HingeQP, float]] = []

    def __enter__(self) -> Recorder:
        self.original = hinge.solve_hinge

        def recorded(qp: HingeQP, w: FloatArray, alpha: FloatArray | None, likely: FloatArray | None = None) -> HingeSolution:
            start = time.perf_counter()
            solution = self.original(qp, w, alpha, likely)
            self.steps.append((qp, time.perf_counter() - start))
            return solution

        hinge.solve_hinge = recorded
        return self

    def __exit__(self, *exception: object) -> None:
        hinge.solve_hinge = self.original


def whole_decompositions() -> Iterator[Row]:
    X, y = load("ctg")
    problem = problem_of("hinge", X, y, CTG_C, CTG_K)
    with Recorder() as record:
        result = decompose(problem)
    steps = [step for step in record.steps if step[0].n_terms == problem.n_terms]  # refits have fewer
    middle = steps[len(steps) // 4 : 3 * len(steps) // 4]
    sample = steps[:: max(1, len(steps) // 5)]
    clarabel = median(reference_solver.solve(qp).seconds for qp, _ in sample)
    ratio = clarabel / median(time for _, time in middle)
    yield Row("ctg: median warm z-step in mid-decomposition, times faster than Clarabel", ratio, ">=", 100)
    ours = seconds(lambda: decompose(problem, step=HingeStep(problem)), 3)
    yield Row(
        f"ctg: decomposition ({result.n_iter} z-steps), times faster than with Clarabel",
        result.n_iter * clarabel / ours,
        ">=",
        50,
    )
    plain = decompose(problem, Schedule(accelerated=False))
    yield Row(f"ctg: the same against {plain.n_iter} plain sweeps with Clarabel", plain.n_iter * clarabel / ours, ">=", 300)


def least_squares() -> Iterator[Row]:
    X, y = load("ctg")
    problem: LeastSquaresProblem = problem_of("least_squares", X, y, CTG_C, CTG_K)
    factorisation = seconds(lambda: eigh(problem.M), 9)
    # a fresh curvature each time: the eigendecomposition counts
    whole = seconds(lambda: decompose(replace(problem, curvature=Curvature(problem.M, problem.G))), 9)
    yield Row("ctg, least squares: decomposition, in eigendecompositions of p x p", whole / factorisation, "<=", 3)
    decompose(problem)
    again = seconds(lambda: decompose(problem.with_k(20)), 9)
    yield Row("ctg, least squares: the same for another k", again / factorisation, "<=", 3)


def logistic() -> Iterator[Row]:
    """Refits against Clarabel's exponential cone, and a whole search in fits of scikit-learn's logistic regression."""
    worst = 0.0
    for name in ("haberman", "glass", "german"):
        X, y = load(name)
        for C in (1.0, 256.0):
            problem, rng = problem_of("logistic", X, y, C, 1), np.random.default_rng(0)
            support = np.sort(rng.choice(problem.n_terms, 8, replace=False))
            theirs = reference_solver.logistic_minimum(problem, support)
            worst = max(worst, abs(problem.step().refit(support).value / theirs - 1.0))
    yield Row("logistic: relative difference of refits to Clarabel's objective", worst, "<=", 1e-8)
    X, y = load("german")
    R, problem = lift(X), problem_of("logistic", X, y, 16.0, 12)
    ours = seconds(lambda: search(problem, "best", SearchOptions()), clock=time.process_time)
    weight, curvature = Logistic.scale * problem.C, float(np.mean(np.diag(problem.G)))
    for C, words in ((weight, "our 8C"), (1.0, "their default C"), (weight / curvature, "8C over the mean curvature of G")):
        regression = LogisticRegression(C=C, tol=1e-8, max_iter=100_000)
        theirs = seconds(partial(regression.fit, R, y), clock=time.process_time)
        yield Row(f"german, logistic, k=12, C=16: method best, in logistic regressions with {words}", ours / theirs, "<=", 5)


def last_penalties() -> Iterator[Row]:
    """The jump from terms that look final to the last penalty, against every penalty on the way."""
    for loss in LOSS_NAMES:
        changed, jumping, walking = [], 0.0, 0.0
        for name in NAMES:
            data = data_of(loss, *load(name))
            for C in (1.0, 16.0, 256.0, 4096.0, 65536.0):
                for problem in budgets(data.problem_for(1, C, 1)):
                    fast, slow = decomposed(problem, decomposition.STAY_SHARE), decomposed(problem, 0.0)
                    jumping, walking = jumping + fast[1], walking + slow[1]
                    changed.append(not np.array_equal(fast[0], slow[0]))
        what = f"{loss}: {len(changed)} decompositions with the jump to the last penalty"
        yield Row(f"{what}, share that ends with other terms", float(np.mean(changed)), "<=", 0.02)
        yield Row(f"{what}, times faster than without", walking / jumping, ">=", 1)


def decomposed(problem: SparseProblem, stay_share: float) -> tuple[IntArray, float]:
    """The terms that a decomposition chooses, and its time."""
    with patch.object(decomposition, "STAY_SHARE", stay_share):
        start = time.perf_counter()
        return decompose(problem).support, time.perf_counter() - start


def stationarity() -> Iterator[Row]:
    for loss, target in (("least_squares", 1e-10), ("hinge", 1e-8), ("logistic", 1e-8)):
        worst, over_budget = 0.0, 0
        for name in NAMES:
            X, y = load(name)
            judge = Judge(X, np.ones(len(y)), np.ones(len(y)))
            for C in (1.0, 256.0):
                for problem in budgets(problem_of(loss, X, y, C, 1)):
                    result = decompose(problem)
                    surface = QuadraticSurface.from_coordinates(problem.embed(result.z), result.c)
                    support = problem.terms[result.support]
                    certificate = judge.certificate(surface, Question(loss, C, problem.k, y), support)
                    worst = max(worst, certificate.stationarity)
                    over_budget += certificate.n_terms > problem.k
        yield Row(f"{loss}: worst stationarity on the nine data sets", worst, "<=", target)
        yield Row(f"{loss}: surfaces with more than k terms", over_budget, "<=", 0)


def budgets(problem: SparseProblem) -> list[SparseProblem]:
    return [problem.with_k(k) for k in sorted({2, max(3, problem.n_terms // 8), problem.n_terms // 3})]


MEMORY = """
import sys, re, numpy as np
from quadric import SparseQuadraticSVC
def status(field):
    return 1024 * int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1))
m, n = {m}, {n}
rng = np.random.default_rng(0)
X = rng.normal(size=(m, n))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=m) > 0
SparseQuadraticSVC(k=3, C=1.0, loss="{loss}", standardize=False, clip=None).fit(X[:200], y[:200])
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
SparseQuadraticSVC(k=10, C=1.0, loss="{loss}", standardize=False, clip=None).fit(X, y)
print(status("VmHWM") - before)
"""


def memory() -> Iterator[Row]:
    R = 8 * MEMORY_ROWS * MEMORY_TERMS
    for loss, target in (("hinge", 4), ("least_squares", 1), ("logistic", 4)):
        code = MEMORY.format(m=MEMORY_ROWS, n=MEMORY_FEATURES, loss=loss)
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        yield Row(f"{loss}: peak memory of a fit at m=100,000, n=20, in sizes of R", int(run.stdout) / R, "<=", target)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "engine.json")
    output = parser.parse_args().output
    rows: list[Row] = []
    with one_blas_thread():
        for part in (cold_steps, whole_decompositions, least_squares, logistic, last_penalties, stationarity, memory):
            print(f"{part.__name__.replace('_', ' ')} ...", file=sys.stderr, flush=True)
            rows += part()
    print(show(rows))
    write(rows, output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
