"""The tasks of the reproduction: each has a key, is reproducible, and computes one row of the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from quadric.baselines.grids import l1_quadratic_grid
from quadric.datasets import Dataset, load, resolve
from quadric.extras import require
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.losses.base import LabelledSamples
from quadric.paper.faults import FAULTS, faulty_decisions
from quadric.paper.models import C1S, C2S, CS_OF_FOUR, MODELS, Cell, budgets
from quadric.paper.protocol import GridScores, Split, Standardisation
from quadric.search.path import trace_path
from quadric.search.rules import NO_LIMITS
from quadric.types import FloatArray

CURVE_CS = (1.0, 10.0, 100.0)
"""The values of C in the paper's figure on the credit data."""
L1_CS = tuple(2.0 ** (power / 4) for power in range(-8, 49))
"""Values of C1, four per octave, for counting the terms of l1-QSVM."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes
    ----------
    kind : str
        One of KINDS.
    dataset : str
    subject : str
        What the task is about: a model, a fault, or the cell of a fitted surface.
    split : Split or None
        None: all samples.
    """

    kind: str
    dataset: str
    subject: str
    split: Split | None = None

    @property
    def key(self) -> str:
        parts = [self.kind, self.dataset, self.subject]
        return "/".join(parts if self.split is None else [*parts, str(self.split)])

    def cost(self) -> float:
        """A rough number of seconds."""
        m, n = resolve(self.dataset).shape
        return KINDS[self.kind].cost(self, m * (0.8 if self.split is None or self.split.inner is None else 0.64), term_count(n))


@dataclass(frozen=True)
class Kind:
    """The function for a kind of task, and its rough cost in seconds."""

    run: Callable[[Task, int], dict[str, Any]]
    cost: Callable[[Task, float, int], float]


def execute(task: Task, seed: int) -> dict[str, Any]:
    """Run a task and return its row."""
    return {"key": task.key, "data": (_data(task.dataset).sha256 or "scikit-learn")[:16], **KINDS[task.kind].run(task, seed)}


@lru_cache(maxsize=4)
def _data(name: str) -> Dataset:
    return load(name)


def _samples(X: FloatArray, y: np.ndarray, n_classes: int) -> LabelledSamples:
    return LabelledSamples(X, y, np.ones(len(y)), np.ones(n_classes))


@dataclass(frozen=True)
class _Parts:
    train: LabelledSamples
    X_test: FloatArray
    y_test: np.ndarray


def _parts(data: Dataset, split: Split | None, seed: int) -> _Parts:
    assert split is not None
    train, test = split.parts(len(data.y), seed)
    standardise = Standardisation.of(data.X[train])
    n_classes = len(data.class_names)
    return _Parts(_samples(standardise(data.X[train]), data.y[train], n_classes), standardise(data.X[test]), data.y[test])


def _scores(decisions: FloatArray, y: np.ndarray) -> dict[str, Any]:
    scores = GridScores.of(decisions, y)
    return {"accuracy": scores.accuracy.round(10).tolist(), "f1": scores.f1.round(10).tolist()}


def grid_cells(model: str, dataset: str) -> list[Cell]:
    """The grid of a model on a data set."""
    return MODELS[model].grid(dataset, resolve(dataset).shape[1])


def curve_cells(dataset: str) -> list[Cell]:
    """The cells of the paper's figure on the credit data."""
    return [{"k": k, "C": C} for C in CURVE_CS for k in budgets(resolve(dataset).shape[1])]


def _run_grid(task: Task, seed: int) -> dict[str, Any]:
    """Scores of a model's whole grid on one split."""
    parts = _parts(_data(task.dataset), task.split, seed)
    decisions = MODELS[task.subject].decide(parts.train, parts.X_test, grid_cells(task.subject, task.dataset))
    return _scores(decisions, parts.y_test)


def _run_curve(task: Task, seed: int) -> dict[str, Any]:
    """LS-l0-QSVM at values of C outside its grid."""
    parts = _parts(_data(task.dataset), task.split, seed)
    return _scores(MODELS["ls-l0-qsvm"].decide(parts.train, parts.X_test, curve_cells(task.dataset)), parts.y_test)


def _run_fault(task: Task, seed: int) -> dict[str, Any]:
    """LS-l0-QSVM with an error of the paper."""
    data, fault = _data(task.dataset), FAULTS[task.subject]
    keep = [i for i, name in enumerate(data.feature_names) if name not in fault.drops]
    parts = _parts(replace(data, X=data.X[:, keep]), task.split, seed)
    ks = budgets(len(keep))
    decisions = faulty_decisions(parts.train, parts.X_test, CS_OF_FOUR, ks, fault, seed)
    return _scores(decisions.reshape(len(ks) * len(CS_OF_FOUR), 1, -1), parts.y_test)


ALPHABETICAL_SEX = np.array([2.0, 0.0, 1.0])
"""abalone's sex by alphabetical rank (F, I, M) instead of the registry's M, F, I."""


def _run_coding(task: Task, seed: int) -> dict[str, Any]:
    """A model's grid on abalone with its categories coded in alphabetical order."""
    data = _data(task.dataset)
    X = data.X.copy()
    sex = data.feature_names.index("sex")
    X[:, sex] = ALPHABETICAL_SEX[X[:, sex].astype(int)]
    parts = _parts(replace(data, X=X), task.split, seed)
    return _scores(MODELS[task.subject].decide(parts.train, parts.X_test, grid_cells(task.subject, task.dataset)), parts.y_test)


WIDER_C2 = 1000.0
"""The next value after the paper's grid of C2."""


def _run_wider(task: Task, seed: int) -> dict[str, Any]:
    """l1-QSVM one step beyond the grid of C2."""
    parts = _parts(_data(task.dataset), task.split, seed)
    return _scores(l1_quadratic_grid(parts.train, C1S, [WIDER_C2]).scores(parts.X_test), parts.y_test)


def pattern_subject(model: str, cell: Cell) -> str:
    """Name of a surface fitted on all samples."""
    return model + ":" + ",".join(f"{name}={value:g}" for name, value in cell.items())


def _run_pattern(task: Task, seed: int) -> dict[str, Any]:
    """The coefficients of one surface fitted on all samples, standardised."""
    model, _, text = task.subject.partition(":")
    cell = {name: float(value) for name, value in (item.split("=") for item in text.split(","))}
    samples = _all_samples(task.dataset)
    if model == "l1-qsvm":
        fits = l1_quadratic_grid(samples, [cell["C1"]], [cell["C2"]])
        return _sparse(fits.coef[0, 0], float(fits.intercept[0, 0]))
    loss = {"l0-qsvm": "hinge", "ls-l0-qsvm": "least_squares"}[model]
    data = loss_named(loss).data.from_samples(samples, NO_LIMITS)
    path = trace_path(data, 1, [cell["C"]], [int(cell["k"])], method="pd", seed=(0, 1))
    return {**_sparse(path.coef[0, 0], float(path.intercept[0, 0])), "objective": float(path.objective[0, 0])}


def _all_samples(dataset: str) -> LabelledSamples:
    data = _data(dataset)
    return _samples(Standardisation.of(data.X)(data.X), data.y, len(data.class_names))


def _sparse(z: FloatArray, c: float) -> dict[str, Any]:
    return {"terms": [[int(t), float(z[t])] for t in np.flatnonzero(z)], "c": c}


def _run_l1_counts(task: Task, seed: int) -> dict[str, Any]:
    """Numbers of coefficients that l1-QSVM keeps in W and in b, for each C2 and C1."""
    samples = _all_samples(task.dataset)
    n = samples.X.shape[1]
    fits = l1_quadratic_grid(samples, L1_CS, C2S)
    live = (fits.coef[:, 0] != 0.0).reshape(len(L1_CS), len(C2S), -1).swapaxes(0, 1)
    return {
        "C1": list(L1_CS),
        "C2": C2S,
        "in_W": live[..., :-n].sum(axis=2).tolist(),
        "in_b": live[..., -n:].sum(axis=2).tolist(),
    }


def _run_significance(task: Task, seed: int) -> dict[str, Any]:
    """p-values of a logistic regression on standardised features."""
    statsmodels = require("statsmodels.api", "paper")
    samples = _all_samples(task.dataset)
    fit = statsmodels.Logit(samples.codes, statsmodels.add_constant(samples.X)).fit(disp=0)
    return {"p_values": [float(value) for value in fit.pvalues[1:]], "coefficients": [float(v) for v in fit.params[1:]]}


def _grid_cost(task: Task, m: float, p: int) -> float:
    n_surfaces = 1 if resolve(task.dataset).n_classes == 2 else 3
    return n_surfaces * MODELS[task.subject].cost(int(m), p)


KINDS: dict[str, Kind] = {
    "grid": Kind(_run_grid, _grid_cost),
    "curve": Kind(_run_curve, lambda task, m, p: 3e-5 * p**2),
    "coding": Kind(_run_coding, _grid_cost),
    "wider": Kind(_run_wider, _grid_cost),
    "fault": Kind(_run_fault, lambda task, m, p: 3e-4 * p**2),
    "pattern": Kind(_run_pattern, lambda task, m, p: 0.5),
    "l1-counts": Kind(_run_l1_counts, lambda task, m, p: 2.0),
    "significance": Kind(_run_significance, lambda task, m, p: 2.0),
}
