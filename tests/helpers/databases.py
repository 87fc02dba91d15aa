"""Databases in memory that run what was exported."""

from __future__ import annotations

import sqlite3

import pytest

from helpers.random_models import rows_of
from quadric.export.sql import Writer


def table_sql(table, name="data"):
    """CREATE TABLE and INSERT, with a column that keeps the order of the rows."""
    kinds = ["VARCHAR" if column.dtype == object else "DOUBLE PRECISION" for column in table.columns]
    columns = ", ".join(f"{Writer.identifier(n)} {kind}" for n, kind in zip(table.names, kinds, strict=True))
    rows = []
    for i, row in enumerate(rows_of(table)):
        values = ["NULL" if v is None else Writer.literal(v) if isinstance(v, str) else repr(v) for v in row.values()]
        rows.append(f"({i}, {', '.join(values)})")
    return f"CREATE TABLE {Writer.identifier(name)} (row_number INTEGER, {columns}); INSERT INTO {Writer.identifier(name)} VALUES {', '.join(rows)};"


def in_sqlite(setup, select):
    with sqlite3.connect(":memory:") as connection:
        connection.executescript(setup)
        cursor = connection.execute(select)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def in_duckdb(setup, select):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(":memory:") as connection:
        connection.execute(setup)
        cursor = connection.execute(select)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
