"""The first model on raw tables with texts and gaps: ``quadric fit`` with all defaults beside its rivals and another checkout.

    python benchmarks/raw.py [--base CHECKOUT] [--parts tables numeric time] [--tables german titanic] [--folds 5]
                             [--models default base logistic boosting] [--jobs 1] [--cache FILE]

Part ``tables``: twenty tables (raw_tables.py says which, and what to install), five outer folds, everything chosen inside.
``default`` is this checkout through ``quadric.workflow.train``, with no option. ``base`` is the checkout that --base names;
since older ones refuse gaps and unseen levels by default, it imputes where a table has gaps, and takes unseen levels as the
dropped one. ``logistic`` is logistic regression on one-hot columns, tuned by log-loss, and ``boosting`` is gradient boosting
with its defaults. Terms are those of one surface, or of one class. Part ``numeric``: default and base on the paper's nine
numeric sets (QUADRIC_DATA, or ../shared/data). Part ``time``: processor seconds of ``quadric fit FILE --target T``, start-up
included.

Finished measurements are kept in the cache, one line each, under a digest of the source that made them.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, astuple, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from checkout import HERE, TREE, Checkout
from defaults import used, write_table
from paper_data import NAMES, folder
from raw_summary import (
    BASE,
    DEFAULT,
    MODELS,
    SURFACES,
    all_pairs,
    means_of,
    numeric_targets,
    show_means,
    show_pairs,
    table_targets,
)
from raw_tables import PAPER, TABLES, missing_packages
from row_store import append, latest
from table import Row, environment, show, write_json

PARTS = ("tables", "numeric", "time")
FOLDS, RESULTS = 5, HERE / "results" / "raw.json"
SECONDS = {"german": 8.0, "titanic": 5.0, "270 x 13": 4.0, "20,000 x 10": 5.0}
"""Processor time that ``quadric fit`` may take."""


@dataclass(frozen=True)
class Task:
    """One model on one outer fold; the source is a digest of a checkout, or the version of scikit-learn."""

    table: str
    folds: int
    fold: int
    model: str
    source: str


@cache
def digest(root: Path) -> str:
    """Of the package in a checkout."""
    package, found = root / "src" / "quadric", hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        found.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:12]


class Bench:
    """Measures what the cache does not have."""

    def __init__(self, cache_file: Path, base: Path | None, jobs: int) -> None:
        self.cache_file, self.jobs = cache_file, jobs
        self.roots = {DEFAULT: TREE} if base is None else {DEFAULT: TREE, BASE: base.resolve()}
        self._children = threading.local()

    def source(self, model: str) -> str:
        return digest(self.roots[model]) if model in SURFACES else f"scikit-learn {version('scikit-learn')}"

    def child(self, model: str) -> Checkout:
        """The process of this thread that runs the source of a model."""
        children, root = vars(self._children), self.roots.get(model, TREE)
        if str(root) not in children:
            children[str(root)] = Checkout(root, "raw_work.py")
        return children[str(root)]

    def options(self, model: str, table: str) -> dict[str, str]:
        if model != BASE:
            return {}
        has_gaps = self.child(model).ask("facts", table)["gaps"] > 0
        return {"unseen": "as_dropped", "missing": "impute"} if has_gaps else {"unseen": "as_dropped"}

    def measured(self, task: Task) -> dict[str, Any]:
        kind = "surface" if task.model in SURFACES else task.model
        options = self.options(task.model, task.table)
        row = self.child(task.model).ask("measure", kind, task.table, task.folds, task.fold, options)
        return {**asdict(task), **row}

    def rows(self, tables: Sequence[str], models: Sequence[str], folds: int) -> list[dict[str, Any]]:
        """One for each table, model and fold."""
        cells = ((model, name, fold) for model in models for name in tables for fold in range(folds))
        tasks = [Task(name, folds, fold, model, self.source(model)) for model, name, fold in cells]
        finished = self._finished()
        open_tasks = [task for task in tasks if astuple(task) not in finished]
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self.measured, task) for task in open_tasks]
            for number, future in enumerate(as_completed(futures), start=1):
                row = future.result()
                append(self.cache_file, [row])
                outcome = row.get("refused") or f"AUC {row['auc']:.3f}, {row['seconds']:.1f} s"
                place = f"{number} of {len(futures)}: {row['model']}, {row['table']}, fold {row['fold'] + 1}"
                print(f"{place}: {outcome}", file=sys.stderr, flush=True)
        finished = self._finished()
        return [dict(finished[astuple(task)]) for task in tasks]

    def _finished(self) -> dict[tuple[Any, ...], Any]:
        return latest(self.cache_file, tuple(Task.__dataclass_fields__))


def seconds() -> Iterator[Row]:
    """Processor time of the command with all defaults."""
    with tempfile.TemporaryDirectory() as place:
        data, model = Path(place) / "data.csv", Path(place) / "model.json"
        for name, limit in SECONDS.items():
            if name in TABLES:
                target: str | None = TABLES[name].target
                TABLES[name].read().to_csv(data, index=False)
            else:
                target = write_table(name, data)
            assert target is not None
            use = used(["fit", str(data), "--target", target, "--output", str(model), "--force"])
            yield Row(f"quadric fit, {name}: processor seconds", use.seconds, "<=", limit)


def judged(bench: Bench, part: str, arguments: argparse.Namespace) -> tuple[list[Row], dict[str, Any]]:
    """Measure a part and print it: its targets, and what the file of results keeps."""
    if part == "time":
        return list(seconds()), {}
    is_raw = part == "tables"
    tables = arguments.tables if is_raw else [PAPER + name for name in NAMES]
    models = [name for name in arguments.models if is_raw or name in SURFACES]
    rows = bench.rows(tables, models, arguments.folds)
    means = means_of(rows)
    pairs = all_pairs(means)
    print(f"\n{show_means(means, models)}\n")
    if pairs:
        print(f"{show_pairs(pairs)}\n")
    refused = {f"{row['model']}, {row['table']}": row["refused"] for row in rows if "refused" in row}
    for name, reason in refused.items():
        print(f"no figures of {name}: {reason}")
    kept = {
        "folds": arguments.folds,
        "sources": {model: bench.source(model) for model in models},
        "tables": {name: bench.child(DEFAULT).ask("facts", name) for name in tables},
        "means": means,
        "differences": pairs,
        "refused": refused,
    }
    return list(table_targets(means) if is_raw else numeric_targets(means)), kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, help="default: all; base only with --base")
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--base", type=Path, help="a checkout to compare with")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "quadric-raw.jsonl")
    parser.add_argument("--output", type=Path, help="default: results/raw.json when all parts, tables and models run")
    arguments = parser.parse_args()
    arguments.models = arguments.models or [name for name in MODELS if arguments.base or name != BASE]
    if BASE in arguments.models and arguments.base is None:
        parser.error("the model base needs --base CHECKOUT")
    if missing := missing_packages():
        print(f"nothing measured; first: pip install --no-deps {' '.join(missing)}", file=sys.stderr)
        return 2
    if "numeric" in arguments.parts and folder() is None:
        print("without part numeric: the paper's data are not there; set QUADRIC_DATA", file=sys.stderr)
        arguments.parts = [part for part in arguments.parts if part != "numeric"]
    bench = Bench(arguments.cache, arguments.base, arguments.jobs)
    found = {part: judged(bench, part, arguments) for part in arguments.parts}
    targets = [row for rows, _ in found.values() for row in rows]
    if targets:
        print(show(targets))
    is_whole = (arguments.parts, arguments.tables, arguments.models) == (list(PARTS), list(TABLES), list(MODELS))
    if arguments.output or is_whole:
        rows = [{**asdict(row), "holds": row.holds} for row in targets]
        content = {part: kept for part, (_, kept) in found.items() if kept}
        write_json({"rows": rows, **content, **environment()}, arguments.output or RESULTS)
    return 0 if all(row.holds for row in targets) else 1


if __name__ == "__main__":
    sys.exit(main())
