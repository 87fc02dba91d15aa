"""Models outside the library: files, formulas and programs that give the same scores."""

from quadric.export._checks import ModelFileError
from quadric.export._saved import DataOrigin, SavedModel
from quadric.export.dispatch import export
from quadric.export.equations import equation, expanded, to_latex
from quadric.export.excel import to_excel
from quadric.export.model_file import load_model, read_model, save_model
from quadric.export.onnx import to_onnx
from quadric.export.python import to_python
from quadric.export.scoring import ScoringModel, scoring_model
from quadric.export.sql import to_sql

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
