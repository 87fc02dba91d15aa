"""What scale.py asks of a process of its own: one piece of work, its processor time and its peak resident memory.

    PYTHONPATH=CHECKOUT/src python benchmarks/scale_work.py '{"work": "moments", "m": 200000, "n": 20}'

Works with old checkouts too, as far as they have what is asked for. Prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk

FloatArray = npt.NDArray[np.float64]


def planted(m: int, n: int, seed: int = 0) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Standard normal features, and labels by a quadric of six terms with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    a, b, c, d = (j % n for j in range(4))
    f = X[:, a] * X[:, b] + 0.7 * X[:, c] ** 2 - X[:, d] + 0.5 * X[:, a] - 0.6 * X[:, b] * X[:, c] - 0.5
    return X, (f + 0.5 * rng.normal(size=m) > 0.0).astype(np.int64)


def timed(work: Callable[[], Any], rounds: int) -> float:
    """Least processor time of some rounds."""
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def peak(m: int, n: int, rounds: int) -> float:
    """Rank-k updates alone, of lifted rows that exist already."""
    p = n * (n + 3) // 2
    rows = min(m, 8192)
    A = np.asfortranarray(np.random.default_rng(0).normal(size=(rows, p)))
    C = np.zeros((p, p), order="F")
    return timed(lambda: dsyrk(1.0, A, beta=1.0, c=C, trans=1, overwrite_c=1), rounds) * m / rows


def moments(m: int, n: int, rounds: int) -> float:
    """What the squared loss needs of the rows of two classes."""
    from quadric.geometry import moments as module

    X, codes = planted(m, n)
    weight = np.ones(m)
    if hasattr(module, "LabelledMoments"):
        return timed(lambda: module.LabelledMoments.of(X, codes, weight, np.ones(2)), rounds)
    return timed(lambda: module.moments_by_class(X, codes, weight, 2), rounds)


def fit(m: int, n: int, k: int, loss: str, method: Any, C: float = 1.0) -> float:
    """A fit in memory."""
    from quadric import SparseQuadraticSVC

    X, y = planted(m, n)
    model = SparseQuadraticSVC(k=k, C=C, loss=loss, method=method)
    return timed(lambda: model.fit(X, y), 1)


def fit_file(path: str, k: int) -> float:
    """A fit with the squared loss to a file that is read in batches."""
    import quadric

    model = quadric.SparseQuadraticSVC(k=k, C=1.0, loss="least_squares")
    return timed(lambda: quadric.fit_batches(model, path, target="y"), 1)


def objectives(path: str, cases: list[tuple[int, float]]) -> list[float]:
    """F of hinge fits to standardised rows in a file, for some k and C."""
    from quadric import SparseQuadraticSVC

    with np.load(path) as rows:
        X, y = rows["X"], rows["y"]
    models = [SparseQuadraticSVC(k=k, C=C, loss="hinge") for k, C in cases]
    plain = {"standardize": False, "clip": None}  # old checkouts know nothing else
    for model in models:
        model.set_params(**{name: value for name, value in plain.items() if name in model.get_params()})
    return [model.fit(X, y).certificates_[0].objective for model in models]


WORKS: dict[str, Callable[..., float]] = {"peak": peak, "moments": moments, "fit": fit, "fit_file": fit_file}


def main() -> None:
    from quadric.blas import one_blas_thread

    request = json.loads(sys.argv[1])
    name = request.pop("work")
    warnings.simplefilter("ignore")
    if name == "objectives":
        print(json.dumps(objectives(**request)))
        return
    with one_blas_thread():
        seconds = WORKS[name](**request)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


if __name__ == "__main__":
    main()
