"""Nested accuracy of the short equation, its variants and its rivals on the paper's nine two-class data sets.

    python benchmarks/accuracy.py [--families default EBM ...] [--sets glass ...] [--seeds 11 12 13] [--jobs 2] [--page]

Outer: five stratified folds for each seed; all choices are made inside the training part, of at most 2,000 rows, by five
stratified folds. Finished measurements are kept, one line each, so that an interrupted run goes on where it was. ``--page``
measures nothing: it writes benchmarks/results/accuracy.json, docs/accuracy.md and its picture from what is there. The
rows of the page are in benchmarks/results/accuracy-rows.jsonl.gz; unpack them there to go on from them.

Needs the paper's data (QUADRIC_DATA, or ../shared/data); EBM also needs interpret-core, which is not a dependency.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils.parallel import delayed

from accuracy_page import summary_of, targets, write_all
from paper_data import NAMES, FloatArray, folder
from quadric import SparseQuadraticSVCCV, datasets
from quadric.baselines.rivals import BOOSTING_MACHINE, RIVALS, Rival
from quadric.blas import one_blas_thread
from quadric.credit import CalibratedModel
from quadric.types import IntArray
from quadric.workers import workers
from row_store import Row, append, latest
from table import show

N_FOLDS, SEEDS, MOST_ROWS = 5, (11, 12, 13), 2_000
STORE, RESULTS = (Path(__file__).parent / "results" / name for name in ("accuracy-rows.jsonl", "accuracy.json"))
DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Task:
    """One family of models on one outer fold."""

    set: str
    seed: int
    fold: int
    family: str


@dataclass(frozen=True, eq=False)
class Part:
    """Training and test rows of an outer fold."""

    X: FloatArray
    y: IntArray
    X_test: FloatArray
    y_test: IntArray
    seed: int

    @property
    def inner(self) -> StratifiedKFold:
        """The folds that make all choices."""
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.seed)

    def scored(self, model: Any, likely: Any, terms: int, seconds: float, **more: Any) -> dict[str, Any]:
        """Figures of a fitted model, and of what gives its probabilities."""
        chances = likely.predict_proba(self.X_test)[:, 1]
        return {
            "accuracy": float(np.mean(model.predict(self.X_test) == self.y_test)),
            "accuracy_of_probabilities": float(np.mean((chances > 0.5) == self.y_test)),
            "auc": float(roc_auc_score(self.y_test, chances)),
            "log_loss": float(log_loss(self.y_test, chances, labels=[0, 1])),
            "terms": terms,
            "seconds": round(seconds, 3),
            **more,
        }


@cache
def data_of(name: str) -> datasets.Dataset:
    return datasets.load(name, folder=folder())


def part_of(task: Task) -> Part:
    data = data_of(task.set)
    splits = StratifiedKFold(N_FOLDS, shuffle=True, random_state=task.seed).split(data.X, data.y)
    train, test = list(splits)[task.fold]
    if len(train) > MOST_ROWS:
        train, _ = train_test_split(train, train_size=MOST_ROWS, stratify=data.y[train], random_state=task.seed)
    return Part(data.X[train], data.y[train], data.X[test], data.y[test], task.seed)


def rival_rows(rival: Rival, part: Part) -> dict[str, Row]:
    began = time.process_time()
    tuned = rival.fit(part.X, part.y, N_FOLDS, part.seed)
    seconds = time.process_time() - began
    return {rival.name: part.scored(tuned.model, tuned.likely, tuned.size, seconds, chosen=tuned.chosen)}


def surface_rows(name: str, parameters: Mapping[str, Any], part: Part) -> dict[str, Row]:
    """What ``quadric fit`` makes of the training part: probabilities come from the scores of the rows left out."""
    began = time.process_time()
    search = SparseQuadraticSVCCV(cv=part.inner, **parameters).fit(part.X, part.y)
    fitted = search.best_estimator_
    likely = CalibratedModel.around(fitted, part.X, part.y, method="auto", out_of_fold=search.oof_decision_)
    seconds = time.process_time() - began
    chosen = {"loss": search.best_loss_, "k": search.best_k_, "C": search.best_C_}
    return {name: part.scored(fitted, likely, fitted.surfaces_[0].n_terms, seconds, chosen=chosen)}


LEAST_SQUARES, LOGISTIC, HINGE = ({"loss": loss} for loss in ("least_squares", "logistic", "hinge"))
BEST, UNCAPPED = {"rule": "best"}, {"clip": None}
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "default, best": BEST,
    "least squares uncapped, best": LEAST_SQUARES | UNCAPPED | BEST,
    "least squares, best": LEAST_SQUARES | BEST,
    "logistic, best": LOGISTIC | BEST,
    "uncapped, best": UNCAPPED | BEST,
    "default, 1se": {"rule": "1se"},
    "least squares": LEAST_SQUARES,
    "logistic": LOGISTIC,
    "hinge": HINGE,
    "hinge, best": HINGE | BEST,
    "uncapped": UNCAPPED,
    **{f"k = {k}": {"ks": (k,)} for k in (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)},
}
"""What differs from the defaults of SparseQuadraticSVCCV."""

Measure = Callable[[Part], dict[str, Row]]
FAMILIES: dict[str, Measure] = {name: partial(surface_rows, name, parameters) for name, parameters in VARIANTS.items()}
FAMILIES |= {rival.name: partial(rival_rows, rival) for rival in (*RIVALS, BOOSTING_MACHINE)}


def measured(task: Task) -> list[Row]:
    """Rows of the models of a family; the time is processor time, all choices included."""
    with one_blas_thread():
        found = FAMILIES[task.family](part_of(task))
    return [{**vars(task), "model": name, **row} for name, row in found.items()]


def stored(path: Path) -> list[Row]:
    """Finished rows, the latest of each."""
    return list(latest(path, ("set", "seed", "fold", "model")).values())


def open_tasks(path: Path, sets: Sequence[str], seeds: Sequence[int], families: Sequence[str]) -> list[Task]:
    """What is not measured yet, one family after the other."""
    done = {Task(row["set"], row["seed"], row["fold"], row["family"]) for row in stored(path)}
    tasks = (
        Task(name, seed, fold, family) for family in families for seed in seeds for name in sets for fold in range(N_FOLDS)
    )
    return [task for task in tasks if task not in done]


def run(path: Path, tasks: Sequence[Task], n_jobs: int) -> Iterator[Task]:
    """Measure, and keep what is finished."""
    jobs = (delayed(measured)(task) for task in tasks)
    for rows in workers(n_jobs, return_as="generator_unordered")(jobs):
        append(path, rows)
        yield Task(**{name: rows[0][name] for name in Task.__dataclass_fields__})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    tasks = [] if arguments.page else open_tasks(arguments.store, arguments.sets, arguments.seeds, arguments.families)
    for number, task in enumerate(run(arguments.store, tasks, arguments.jobs), start=1):
        print(f"{number} of {len(tasks)}: {task.family}, {task.set}, seed {task.seed}, fold {task.fold}", file=sys.stderr)
    if not arguments.page:
        return 0
    summary = summary_of(stored(arguments.store), NAMES, VARIANTS)
    write_all(summary, list(VARIANTS), [name for name in FAMILIES if name not in VARIANTS], RESULTS, DOCS)
    rows = targets(summary)
    print(show(rows))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
