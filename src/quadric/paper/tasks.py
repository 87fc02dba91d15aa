"""The tasks of the reproduction: each has a key, is reproducible, and computes one row of the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from quadric.baselines.grids import l1_quadratic_grid
from quadric.datasets import Dataset, load, resolve
from quadric.extras import require
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.paper.faults import FAULTS, faulty_decisions
from quadric.paper.models import C1S, C2S, CS_OF_FOUR, MODELS, Cell, budgets
from quadric.paper.protocol import Split, grid_scores
from quadric.samples.labelled import LabelledSamples
from quadric.samples.target import Target
from quadric.samples.units import Units
from quadric.search.path import trace_path
from quadric.search.rules import NO_LIMITS
from quadric.types import FloatArray, IntArray

# The values of C in the paper's figure on the credit data.
CURVE_CS = (1.0, 10.0, 100.0)
# Values of C1, four per octave, for counting the terms of l1-QSVM.
L1_CS = tuple(2.0 ** (power / 4) for power in range(-8, 49))


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

    @property
    def is_inner(self) -> bool:
        """Whether the task is for an inner fold of the nested protocol."""
        return self.split is not None and self.split.inner is not None

    def cost(self) -> float:
        """A rough number of seconds."""
        m, n = resolve(self.dataset).shape
        return KINDS[self.kind].cost(self, m * (0.64 if self.is_inner else 0.8), term_count(n))


# Shapes of the arrays of numbers in a row, by name; -1: any length.
Shapes: TypeAlias = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Kind:
    """The function for a kind of task, its rough cost in seconds, and the shapes of the numbers in its rows."""

    run: Callable[[Task, int], dict[str, Any]]
    cost: Callable[[Task, float, int], float]
    shapes: Callable[[Task], Shapes]


def row_problem(row: Mapping[str, Any]) -> str | None:
    """What is wrong with a stored row, or None.

    Parameters
    ----------
    row : mapping
        With a key.
    """
    try:
        task = _task_of(row["key"])
        shapes = KINDS[task.kind].shapes(task)
    except (KeyError, ValueError):
        return f"is of an unknown task {row['key']!r}"
    for name, shape in shapes.items():
        if not _has_shape(row.get(name), shape):
            size = " x ".join("n" if length < 0 else str(length) for length in shape) or "one"
            return f"has no {name!r} of {size} finite numbers"
    terms = np.array(row.get("terms", [])).reshape(-1, 2)[:, 0]
    n_terms = term_count(resolve(task.dataset).shape[1])
    return None if np.isin(terms, np.arange(n_terms)).all() else f"has 'terms' that are not in 0 to {n_terms - 1}"


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    try:
        numbers = np.array(value)
    except ValueError:  # rows of several lengths
        return False
    if numbers.size == 0 and -1 in shape:
        return value == []
    fits = numbers.ndim == len(shape) and all(want in (-1, got) for want, got in zip(shape, numbers.shape, strict=True))
    return fits and numbers.dtype.kind in "iuf" and bool(np.isfinite(numbers).all())


def _task_of(key: str) -> Task:
    kind, dataset, subject, *split = key.split("/")
    task = Task(kind, dataset, subject, Split(*map(int, split[0].split("."))) if split else None)
    if task.key != key:
        raise ValueError(key)
    return task


def execute(task: Task, seed: int) -> dict[str, Any]:
    """Run a task and return its row."""
    return {"key": task.key, "data": (_data(task.dataset).sha256 or "scikit-learn")[:16], **KINDS[task.kind].run(task, seed)}


@cache
def _data(name: str) -> Dataset:
    return load(name)


def _standardised(data: Dataset, rows: IntArray | slice = slice(None)) -> tuple[LabelledSamples, Units]:
    X, y = data.X[rows], data.y[rows]
    units = Units.of(X, np.ones(len(X)), standardize=True, clip=None)
    return LabelledSamples(units(X), Target(y, np.ones(len(data.class_names))), np.ones(len(y))), units


def _scored(
    data: Dataset, task: Task, seed: int, decide: Callable[[LabelledSamples, FloatArray], FloatArray]
) -> dict[str, Any]:
    """Accuracy and F1 of each cell of a grid, trained and tested on the split of a task."""
    assert task.split is not None
    train, test = task.split.parts(len(data.y), seed)
    samples, units = _standardised(data, train)
    accuracy, f1 = grid_scores(decide(samples, units(data.X[test])), data.y[test]).round(10).tolist()
    return {"accuracy": accuracy, "f1": f1}


def grid_cells(model: str, dataset: str) -> list[Cell]:
    """The grid of a model on a data set."""
    return MODELS[model].grid(dataset, resolve(dataset).shape[1])


def curve_cells(dataset: str) -> list[Cell]:
    """The cells of the paper's figure on the credit data."""
    return [{"k": k, "C": C} for C in CURVE_CS for k in budgets(resolve(dataset).shape[1])]


def _decide(task: Task, samples: LabelledSamples, X: FloatArray) -> FloatArray:
    """Decisions of a model for the cells of a task."""
    if task.kind == "wider":
        return l1_quadratic_grid(samples, C1S, [WIDER_C2]).scores(X)
    return MODELS[task.subject].decide(samples, X, _cells_of(task))


def _cells_of(task: Task) -> list[Cell]:
    return curve_cells(task.dataset) if task.kind == "curve" else grid_cells(task.subject, task.dataset)


def _run_grid(task: Task, seed: int) -> dict[str, Any]:
    return _scored(_data(task.dataset), task, seed, partial(_decide, task))


def _run_fault(task: Task, seed: int) -> dict[str, Any]:
    data, fault = _data(task.dataset), FAULTS[task.subject]
    keep = [i for i, name in enumerate(data.feature_names) if name not in fault.drops]

    def decide(samples: LabelledSamples, X: FloatArray) -> FloatArray:
        return faulty_decisions(samples, X, CS_OF_FOUR, budgets(len(keep)), fault, seed).reshape(-1, 1, len(X))

    return _scored(replace(data, X=data.X[:, keep]), task, seed, decide)


# abalone's sex by alphabetical rank (F, I, M) instead of the registry's M, F, I.
ALPHABETICAL_SEX = np.array([2.0, 0.0, 1.0])


def _run_coding(task: Task, seed: int) -> dict[str, Any]:
    data = _data(task.dataset)
    X, sex = data.X.copy(), data.feature_names.index("sex")
    X[:, sex] = ALPHABETICAL_SEX[X[:, sex].astype(int)]
    return _scored(replace(data, X=X), task, seed, partial(_decide, task))


# The next value after the paper's grid of C2.
WIDER_C2 = 1000.0


def pattern_subject(model: str, cell: Cell) -> str:
    """Name of a surface fitted on all samples."""
    return model + ":" + ",".join(f"{name}={value:g}" for name, value in cell.items())


def _run_pattern(task: Task, seed: int) -> dict[str, Any]:
    model, _, text = task.subject.partition(":")
    cell = {name: float(value) for name, value in (item.split("=") for item in text.split(","))}
    samples, _ = _standardised(_data(task.dataset))
    if model == "l1-qsvm":
        fits = l1_quadratic_grid(samples, [cell["C1"]], [cell["C2"]])
        return _sparse(fits.coef[0, 0], float(fits.intercept[0, 0]))
    data = loss_named({"l0-qsvm": "hinge", "ls-l0-qsvm": "least_squares"}[model]).data(samples, NO_LIMITS)
    path = trace_path(data, 1, [cell["C"]], [int(cell["k"])], method="pd", seed=(0, 1))
    return {**_sparse(path.coef[0, 0], float(path.intercept[0, 0])), "objective": float(path.objective[0, 0])}


def _sparse(z: FloatArray, c: float) -> dict[str, Any]:
    return {"terms": [[int(t), float(z[t])] for t in np.flatnonzero(z)], "c": c}


def _run_l1_counts(task: Task, seed: int) -> dict[str, Any]:
    """Numbers of coefficients that l1-QSVM keeps in W and in b, for each C2 and C1."""
    samples, _ = _standardised(_data(task.dataset))
    n = samples.X.shape[1]
    live = (l1_quadratic_grid(samples, L1_CS, C2S).coef[:, 0] != 0.0).reshape(len(L1_CS), len(C2S), -1).swapaxes(0, 1)
    return {
        "C1": list(L1_CS),
        "C2": C2S,
        "in_W": live[..., :-n].sum(axis=2).tolist(),
        "in_b": live[..., -n:].sum(axis=2).tolist(),
    }


def _run_significance(task: Task, seed: int) -> dict[str, Any]:
    statsmodels = require("statsmodels.api", "paper")
    samples, _ = _standardised(_data(task.dataset))
    fit = statsmodels.Logit(samples.target.codes, statsmodels.add_constant(samples.X)).fit(disp=0)
    return {"p_values": [float(value) for value in fit.pvalues[1:]], "coefficients": [float(v) for v in fit.params[1:]]}


def _grid_cost(task: Task, m: float, p: int) -> float:
    return (1 if resolve(task.dataset).n_classes == 2 else 3) * MODELS[task.subject].cost(int(m), p)


def _scores(n_cells: int) -> Shapes:
    return {"accuracy": (n_cells,), "f1": (n_cells,)}


def _grid_shapes(task: Task) -> Shapes:
    return _scores(len(_cells_of(task)))


def _fault_shapes(task: Task) -> Shapes:
    return _scores(len(CS_OF_FOUR) * len(budgets(resolve(task.dataset).shape[1] - len(FAULTS[task.subject].drops))))


COUNTS: Shapes = {"C1": (len(L1_CS),), "C2": (len(C2S),), **dict.fromkeys(("in_W", "in_b"), (len(C2S), len(L1_CS)))}
KINDS: dict[str, Kind] = {
    "grid": Kind(_run_grid, _grid_cost, _grid_shapes),
    "curve": Kind(_run_grid, lambda task, m, p: 3e-5 * p**2, _grid_shapes),
    "coding": Kind(_run_coding, _grid_cost, _grid_shapes),
    "wider": Kind(_run_grid, _grid_cost, lambda task: _scores(len(C1S))),
    "fault": Kind(_run_fault, lambda task, m, p: 3e-4 * p**2, _fault_shapes),
    "pattern": Kind(_run_pattern, lambda task, m, p: 0.5, lambda task: {"terms": (-1, 2), "c": ()}),
    "l1-counts": Kind(_run_l1_counts, lambda task, m, p: 2.0, lambda task: COUNTS),
    "significance": Kind(
        _run_significance, lambda task, m, p: 2.0, lambda task: {"p_values": (resolve(task.dataset).shape[1],)}
    ),
}
