"""``quadric fit`` with all defaults on more and more rows: processor time, start-up included, and accuracy on other rows.

    python benchmarks/door.py [--base CHECKOUT] [--rows 10000 100000 1000000] [--output benchmarks/results/door.json]

Tables are Parquet files of 20 columns with a planted quadratic and two classes. With ``--base`` every fit is repeated, in turn,
by the source of another checkout, and the accuracies are compared; so are processor time and peak memory of fits to a folder
of files, which goes by passes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from checkout import TREE
from defaults import Use, used
from table import Row, show, write

LIMITS = {10_000: 5.0, 100_000: 12.0, 1_000_000: 25.0}
"""Processor seconds that a fit of this many rows may take."""
N_COLUMNS, TEST_ROWS = 20, 50_000
POINTS_LOST = 0.2
FOLDER_FILES, FILE_ROWS = 6, 100_000


def planted(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and classes by eight terms with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_COLUMNS))
    f = 0.8 * X[:, 0] * X[:, 1] + X[:, 2] - 0.7 * X[:, 3] ** 2 + 0.5 * X[:, 4] * X[:, 5] + 0.6 * X[:, 6] + 0.4 * X[:, 7] ** 2
    f += 0.2 - 0.3 * X[:, 8] * X[:, 2]
    return X, np.where(f + 0.7 * rng.logistic(size=n_rows) > 0.0, "bad", "good")


def save_table(X: np.ndarray, y: np.ndarray, path: Path) -> Path:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    parquet.write_table(pa.table({**{f"x{j}": column for j, column in enumerate(X.T)}, "class": y}), path)
    return path


def fitted(table: Path, model: Path, checkout: Path, *options: str) -> Use:
    """Processor time and peak memory of the command in a new process."""
    return used(["fit", str(table), "--target", "class", "--output", str(model), "--force", *options], checkout)


def accuracy(model: Path, X: np.ndarray, y: np.ndarray) -> float:
    """In points, on rows that no fit has seen."""
    import quadric

    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    return 100.0 * float(np.mean(quadric.load_model(model).predict(columns) == y))


def rows_of(numbers: Sequence[int], base: Path | None, folder: Path) -> Iterator[Row]:
    test, taken = planted(TEST_ROWS, seed=1), []
    for n_rows in numbers:
        table = save_table(*planted(n_rows, seed=0), folder / f"{n_rows}.parquet")
        taken.append(fitted(table, folder / "own.json", TREE).seconds)
        yield Row(f"quadric fit, {n_rows:,} rows, seconds", taken[-1], "<=", LIMITS.get(n_rows, np.inf))
        if base is not None:
            before = fitted(table, folder / "base.json", base).seconds
            yield Row(f"{n_rows:,} rows, share of the time of the base", taken[-1] / before, "<=", 1.1)
            lost = accuracy(folder / "base.json", *test) - accuracy(folder / "own.json", *test)
            yield Row(f"{n_rows:,} rows, points of accuracy lost", lost, "<=", POINTS_LOST)
    for (less, more), (quick, slow) in zip(pairwise(numbers), pairwise(taken), strict=True):
        yield Row(f"{more:,} rows, share of the time of {less:,}", slow / quick, ">=", 1.0)


def folder_rows(base: Path, folder: Path) -> Iterator[Row]:
    files = folder / "files"
    files.mkdir()
    for i in range(FOLDER_FILES):
        save_table(*planted(FILE_ROWS, seed=i), files / f"{i}.parquet")
    for loss in ("auto", "hinge"):
        own, before = (fitted(files, folder / "folder.json", tree, "--loss", loss) for tree in (TREE, base))
        yield Row(f"folder, loss {loss}, share of the time of the base", own.seconds / before.seconds, "<=", 1.1)
        yield Row(f"folder, loss {loss}, share of the peak memory of the base", own.gigabytes / before.gigabytes, "<=", 1.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=list(LIMITS))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "door.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(rows_of(sorted(arguments.rows), arguments.base, Path(folder)))
        if arguments.base is not None:
            rows += folder_rows(arguments.base, Path(folder))
    print(show(rows))
    write(rows, arguments.output)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
