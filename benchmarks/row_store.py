"""Finished measurements in a file, one line each, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def latest(path: Path, key: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """Finished rows, the latest of each key; a line that an interruption cut is not one."""
    rows: dict[tuple[Any, ...], Row] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        rows[tuple(row[name] for name in key)] = row
    return rows


def append(path: Path, rows: Sequence[Row]) -> None:
    """Add rows in one write, on a new line; they are on the disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        cut = file.tell() > 0 and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"
        file.write(b"\n" * cut + "".join(json.dumps(row) + "\n" for row in rows).encode())
        file.flush()
        os.fsync(file.fileno())
