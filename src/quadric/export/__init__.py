"""Models outside the library: files, formulas and programs that give the same scores."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quadric.errors import quoted
from quadric.export._checks import ModelFileError
from quadric.export._schema import DataOrigin, SavedModel
from quadric.export.equations import equation, expanded, to_latex
from quadric.export.excel import to_excel
from quadric.export.model_file import load_model, read_model, save_model
from quadric.export.onnx import to_onnx
from quadric.export.python import to_python
from quadric.export.scoring import ScoringModel, scoring_model
from quadric.export.sql import to_sql
from quadric.files import write_atomically
from quadric.fitted import Model

__all__ = [
    "DataOrigin",
    "ModelFileError",
    "SavedModel",
    "ScoringModel",
    "equation",
    "expanded",
    "export",
    "load_model",
    "read_model",
    "save_model",
    "scoring_model",
    "to_excel",
    "to_latex",
    "to_onnx",
    "to_python",
    "to_sql",
]

SUFFIXES = {".json": "json", ".sql": "sql", ".py": "python", ".tex": "latex", ".xlsx": "excel", ".onnx": "onnx"}


def export(model: Model, format: str | None, path: str | os.PathLike[str], **options: Any) -> None:  # noqa: A002
    """Write a model to a file that another program uses.

    Parameters
    ----------
    model : fitted model, or what ``read_model`` gave
    format : {"json", "sql", "python", "latex", "excel", "onnx"} or None
        None: by the ending of the path.
    path : path
    **options : Any
        Of ``save_model``, ``to_sql``, ``to_python``, ``to_latex``, ``to_excel`` or ``to_onnx``.
    """
    path = Path(path)
    if format is None:
        if path.suffix.lower() not in SUFFIXES:
            raise ValueError(f"cannot tell a format from {quoted(path.name)}; its ending must be one of {', '.join(SUFFIXES)}")
        format = SUFFIXES[path.suffix.lower()]  # noqa: A001
    if format in FILES:
        FILES[format](model, path, **options)
    elif format in TEXTS:
        write_atomically(path, TEXTS[format](model, **options))
    else:
        raise ValueError(f"there is no format {quoted(format)}; choose one of {', '.join(SUFFIXES.values())}")


FILES: dict[str, Callable[..., None]] = {"json": save_model, "excel": to_excel, "onnx": to_onnx}
TEXTS: dict[str, Callable[..., str]] = {"sql": to_sql, "python": to_python, "latex": to_latex}
