"""Rows of a benchmark: measured beside its target, printed as a table and written as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measured figure; ``sense`` says on which side of the target it should be."""

    what: str
    measured: float
    sense: str
    target: float

    @property
    def holds(self) -> bool:
        return bool(self.measured >= self.target if self.sense == ">=" else self.measured <= self.target)


def show(rows: Sequence[Row]) -> str:
    width = max(len(row.what) for row in rows)
    lines = [f"{'':{width}}  {'measured':>9}  {'target':>10}"]
    lines += [
        f"{row.what:{width}}  {_figure(row.measured):>9}  {row.sense} {_figure(row.target):>7}  {_verdict(row)}" for row in rows
    ]
    return "\n".join(lines)


def _verdict(row: Row) -> str:
    return "ok" if row.holds else "MISSED"


def _figure(value: float) -> str:
    return f"{value:d}" if isinstance(value, int) else f"{value:.3g}"


def write(rows: Sequence[Row], path: Path) -> None:
    """JSON with the rows, the versions and the machine."""
    write_json(
        {"rows": [{**asdict(row), "measured": float(row.measured), "holds": row.holds} for row in rows], **environment()}, path
    )


def environment() -> dict[str, Any]:
    """The versions and the machine."""
    return {
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: _version(name) for name in ("quadric", "numpy", "scipy", "scikit-learn", "clarabel")},
    }


def write_json(content: dict[str, Any], path: Path) -> None:
    """Replaces the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, suffix=".json") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    Path(file.name).chmod(0o644)
    os.replace(file.name, path)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
