"""The same small table as a CSV file, as a Parquet file of several row groups, and as a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.small_tables import csv_text


def arrow_table(columns) -> pa.Table:
    """Columns as Arrow has them; NaN is null."""
    return pa.table({name: pa.array(np.asarray(values).tolist(), from_pandas=True) for name, values in columns.items()})


def table_files(folder: Path, columns) -> dict[str, Path]:
    """Write the columns in each form; the paths by "csv", "parquet" and "folder"."""
    table, parts = arrow_table(columns), folder / "parts"
    (folder / "data.csv").write_text(csv_text(columns))
    pq.write_table(table, folder / "data.parquet", row_group_size=50)
    parts.mkdir()
    for number, first in enumerate(range(0, len(table), 150)):
        pq.write_table(table.slice(first, 150), parts / f"{number}.parquet", row_group_size=64)
    return {"csv": folder / "data.csv", "parquet": folder / "data.parquet", "folder": parts}
