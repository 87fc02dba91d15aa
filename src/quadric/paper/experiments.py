"""Which tasks each table, figure and claim of the paper needs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from quadric.datasets import REGISTRY, DatasetInfo, resolve, status
from quadric.paper.faults import FAULTS
from quadric.paper.models import BEST_OF, MODELS, PUBLISHED_MODELS
from quadric.paper.protocol import OUTER_SPLITS, READINGS, splits_of
from quadric.paper.tasks import Task, pattern_subject

PARTS = ("table1", "table2", "table3", "table4", "figure1", "figure2", "figure3", "figure4", "claims")
METHODS = ("pd", "best", "both")
QUICK_DATASETS = ("haberman", "immunotherapy", "iris")
TABLE_DATASETS = {
    "table2": [name for name, info in REGISTRY.items() if info.table == 2],
    "table4": [name for name, info in REGISTRY.items() if info.table == 4],
}
PATTERNS = {
    "figure1": [
        ("immunotherapy", "l1-qsvm", {"C1": 256.0, "C2": 100.0}),
        ("immunotherapy", "l0-qsvm", {"C": 1024.0, "k": 12}),
        ("immunotherapy", "ls-l0-qsvm", {"C": 1024.0, "k": 12}),
    ],
    "figure4": [("german", "ls-l0-qsvm", {"C": 256.0, "k": 47})],
}
# Data sets of the figure on C and k, and the k for the curves over C.
TREND_DATASETS = {"immunotherapy": 12, "ecoli": 32}
TREND_C = 1024.0
CURVE_DATASETS = ("german", "australian", "ccc")
FAULT_DATASET = "ctg"


@dataclass(frozen=True)
class Plan:
    """What to run and write.

    Attributes
    ----------
    parts : tuple of str
        A selection from PARTS.
    models, datasets : tuple of str
        Rows and columns of the two result tables.
    reading : str
        One of READINGS; "nested" includes both.
    method : str
        One of METHODS: how the two l0 models search for terms.
    seed : int
        Seed of the folds.
    """

    parts: tuple[str, ...] = PARTS
    models: tuple[str, ...] = tuple(PUBLISHED_MODELS)
    datasets: tuple[str, ...] = tuple(REGISTRY)
    reading: str = "paper"
    method: str = "pd"
    seed: int = 0

    @staticmethod
    def of(
        parts: Sequence[str] = (),
        models: Sequence[str] = (),
        datasets: Sequence[str] = (),
        *,
        reading: str = "paper",
        method: str = "pd",
        seed: int = 0,
    ) -> Plan:
        """Make a plan from names. An unknown name is an error that lists the valid ones."""
        _check("part", parts, PARTS)
        _check("model", models, MODELS)
        _check("protocol", [reading], READINGS)
        _check("method", [method], METHODS)
        names = [resolve(name).name for name in datasets]
        return Plan(
            parts=_in_order(parts, PARTS),
            models=_in_order(models, MODELS if models else PUBLISHED_MODELS),
            datasets=_in_order(names, REGISTRY),
            reading=reading,
            method=method,
            seed=seed,
        )

    def rows_of_tables(self) -> list[str]:
        """Models of the result tables; the variants with the best terms come after their model."""
        variants = [((model, "pd"), (BEST_OF.get(model, model), "best")) for model in self.models]
        return list(dict.fromkeys(row for pair in variants for row, method in pair if self.method in (method, "both")))

    def columns_of_table(self, table: str) -> list[DatasetInfo]:
        """Data sets of a result table."""
        return [resolve(name) for name in TABLE_DATASETS[table] if name in self.datasets]

    def missing_data(self) -> list[DatasetInfo]:
        """Requested data sets that are missing."""
        return [resolve(name) for name in self.datasets if not is_there(name)]

    def tasks(self) -> list[Task]:
        """All tasks that the parts need, each once."""
        tasks = [task for part in self.parts for task in self._tasks_of(part)]
        return [task for task in dict.fromkeys(tasks) if is_there(task.dataset)]

    def _tasks_of(self, part: str) -> list[Task]:
        if part in TABLE_DATASETS:
            sets, splits = self.columns_of_table(part), splits_of(self.reading)
            return [Task("grid", info.name, row, split) for info in sets for row in self.rows_of_tables() for split in splits]
        if part in PATTERNS:
            extra = [Task("significance", "german", "logit")] if part == "figure4" else []
            return [*pattern_tasks(part), *extra] if PATTERNS[part][0][0] in self.datasets else []
        if part == "figure2":
            names = [name for name in TREND_DATASETS if name in self.datasets]
            return [Task("grid", name, model, split) for name in names for model in BEST_OF for split in OUTER_SPLITS]
        if part == "figure3":
            names = [name for name in CURVE_DATASETS if name in self.datasets]
            return [Task("curve", name, "ls-l0-qsvm", split) for name in names for split in OUTER_SPLITS]
        if part == "claims":
            return self._claim_tasks()
        return []

    def _claim_tasks(self) -> list[Task]:
        tasks = [Task("l1-counts", "immunotherapy", "l1-qsvm")] if "immunotherapy" in self.datasets else []
        if "abalone" in self.datasets:
            tasks += [Task("coding", "abalone", "ls-svm", split) for split in OUTER_SPLITS]
            tasks += [Task("wider", "abalone", "l1-qsvm", split) for split in OUTER_SPLITS]
        if FAULT_DATASET in self.datasets and "ls-l0-qsvm" in self.models:
            tasks += [Task("fault", FAULT_DATASET, fault, split) for fault in FAULTS for split in OUTER_SPLITS]
        return tasks


def pattern_tasks(figure: str) -> list[Task]:
    """The tasks for the surfaces in a figure of sparsity patterns."""
    return [Task("pattern", dataset, pattern_subject(model, cell)) for dataset, model, cell in PATTERNS[figure]]


def is_there(dataset: str) -> bool:
    """Whether a data set can be read now."""
    return status(dataset).place is not None  # a file with a wrong checksum counts: the error on loading explains it


def _check(what: str, names: Sequence[str], choices: Collection[str]) -> None:
    for name in names:
        if name not in choices:
            raise ValueError(f"there is no {what} {name!r}; choose from: {', '.join(choices)}")


def _in_order(names: Sequence[str], choices: Collection[str]) -> tuple[str, ...]:
    """The names in the paper's order; all choices if there are no names."""
    return tuple(name for name in choices if not names or name in names)
