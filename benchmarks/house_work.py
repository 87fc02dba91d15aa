"""What house.py asks of a checkout: fits and timed workloads, through public names that old and new checkouts share.

Runs as a child process with PYTHONPATH set to the checkout's src: reads one JSON request per line, answers with one line.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from checkout import serve
from paper_data import NAMES, FloatArray, folder
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, certify, datasets, sparse_quadratic_path
from quadric.explain import contributions, reason_codes, recourse, shapley

MULTICLASS = ("credit_small", "iris")
MANY = 10_000


@cache
def standardised(name: str) -> tuple[FloatArray, np.ndarray]:
    """Standardised X, and the labels."""
    data = datasets.load(name, folder=folder())
    return (data.X - data.X.mean(axis=0)) / data.X.std(axis=0), data.y


def budgets(name: str) -> list[int]:
    """A small, a middle and a large number of terms."""
    n = standardised(name)[0].shape[1]
    p = n * (n + 3) // 2
    return [2, max(4, p // 8), max(6, p // 3)]


def fit(name: str, loss: str, method: Any, C: float, k: int, **options: Any) -> SparseQuadraticSVC:
    return SparseQuadraticSVC(k=k, C=C, loss=loss, method=method, standardize=False, clip=None, **options).fit(
        *standardised(name)
    )


def fitted_cell(name: str, loss: str, method: str, C: float, k: int) -> dict[str, Any]:
    """Objective and support of each surface."""
    model = fit(name, loss, method, C, k)
    objective = [float(certificate.objective) for certificate in model.certificates_]
    return {"objective": objective, "support": [" ".join(map(str, np.flatnonzero(row))) for row in model.coef_]}


def fits(names: tuple[str, ...], loss: str, method: str, C: float, **options: Any) -> None:
    for name in names:
        for k in budgets(name)[1:]:
            fit(name, loss, method, C, k, **options)


def path(name: str, loss: str, step: int) -> None:
    X, y = standardised(name)
    p = X.shape[1] * (X.shape[1] + 3) // 2
    sparse_quadratic_path(X, y, ks=range(2, p + 1, step), Cs=(1.0, 256.0), loss=loss)


def crossvalidation(name: str, loss: str) -> None:
    folds = KFold(5, shuffle=True, random_state=0)
    ks, Cs = [1, 2, 4], [1.0, 16.0]
    SparseQuadraticSVCCV(ks, Cs, cv=folds, loss=loss, rule="best", clip=None).fit(*standardised(name))


@cache
def sparse_model(name: str) -> tuple[SparseQuadraticSVC, FloatArray, FloatArray]:
    """A model of twelve terms, the data, and many rows to explain."""
    X, y = standardised(name)
    model = SparseQuadraticSVC(k=12, C=1.0, loss="hinge", class_weight="balanced", standardize=False, clip=None).fit(X, y)
    return model, X, X[np.arange(MANY) % len(X)]


def explained(what: str, name: str) -> None:
    model, X, batch = sparse_model(name)
    ways: dict[str, Callable[[], Any]] = {
        "predict": lambda: model.predict(batch),
        "contributions": lambda: contributions(model, batch),
        "shapley": lambda: shapley(model, batch, background=X),
        "reason codes": lambda: reason_codes(model, batch[:1_000], background=X),
        "exact recourse": lambda: recourse(model, batch, target=1),
        "bounded recourse": lambda: recourse(model, batch[:50], target=1, lower=X.min(axis=0), upper=X.max(axis=0)),
        "certify": lambda: certify(model, X, standardised(name)[1]),
    }
    ways[what]()


SMALL = ("ecoli", "glass", "haberman", "immunotherapy")
CREDIT = ("australian", "german", "japanese")
WORK: dict[str, tuple[Callable[[], object], int]] = {
    "nine sets, least squares, pd": (partial(fits, tuple(NAMES), "least_squares", "pd", 256.0), 1),
    "small sets, hinge, pd": (partial(fits, SMALL, "hinge", "pd", 256.0), 1),
    "credit sets, hinge, pd": (partial(fits, CREDIT, "hinge", "pd", 1.0), 1),
    "abalone, hinge, pd": (partial(fits, ("abalone",), "hinge", "pd", 1.0), 1),
    "ctg, hinge, pd": (partial(fits, ("ctg",), "hinge", "pd", 256.0), 1),
    "nine sets, least squares, best": (partial(fits, tuple(NAMES), "least_squares", "best", 1.0), 1),
    "small sets, hinge, best": (partial(fits, SMALL, "hinge", "best", 1.0), 1),
    "german, hinge, best": (partial(fit, "german", "hinge", "best", 1.0, 8), 1),
    "three classes, least squares, best": (partial(fits, MULTICLASS, "least_squares", "best", 16.0), 1),
    "three classes, hinge, best": (partial(fits, MULTICLASS, "hinge", "best", 16.0), 1),
    "german, least squares, path": (partial(path, "german", "least_squares", 5), 1),
    "ctg, least squares, path": (partial(path, "ctg", "least_squares", 10), 1),
    "ecoli, hinge, path": (partial(path, "ecoli", "hinge", 8), 1),
    "german, least squares, cross-validation": (partial(crossvalidation, "german", "least_squares"), 1),
    "haberman, hinge, cross-validation": (partial(crossvalidation, "haberman", "hinge"), 1),
    "ecoli, least squares, exact": (partial(fit, "ecoli", "least_squares", "exact", 256.0, 8), 1),
    "abalone, least squares, exact": (partial(fit, "abalone", "least_squares", "exact", 1.0, 8), 1),
    "haberman, hinge, exact": (partial(fit, "haberman", "hinge", "exact", 1.0, 4), 1),
    "german, predict": (partial(explained, "predict", "german"), 100),
    "abalone, predict": (partial(explained, "predict", "abalone"), 100),
    "german, contributions": (partial(explained, "contributions", "german"), 100),
    "german, shapley": (partial(explained, "shapley", "german"), 50),
    "german, reason codes": (partial(explained, "reason codes", "german"), 1),
    "german, exact recourse": (partial(explained, "exact recourse", "german"), 20),
    "german, bounded recourse": (partial(explained, "bounded recourse", "german"), 1),
    "german, certify": (partial(explained, "certify", "german"), 4),
}
"""Workloads like those of engine.py, search.py and explain.py, with the repeats that make a tenth of a second or more."""


def processor_seconds(row: str) -> float:
    action, repeats = WORK[row]
    start = time.process_time()
    for _ in range(repeats):
        action()
    return time.process_time() - start


REQUESTS: dict[str, Callable[..., Any]] = {
    "budgets": budgets,
    "fit": fitted_cell,
    "rows": lambda: list(WORK),
    "processor seconds": processor_seconds,
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    serve(REQUESTS)


if __name__ == "__main__":
    main()
