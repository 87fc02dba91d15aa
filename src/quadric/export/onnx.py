"""Scores as an ONNX graph, written node by node."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from quadric.estimators.calibration import Calibration, SigmoidCalibration
from quadric.export._schema import quadric_version
from quadric.export.scoring import ScoringModel, missing_values, scoring_model
from quadric.extras import require
from quadric.files import write_atomically
from quadric.fitted import Model, Variable
from quadric.tables import InputColumn
from quadric.tables.dates import days_since

# The first with regular expressions, which texts are compared by.
OPSET, IR_VERSION = 20, 9


def to_onnx(model: Model, path: str | os.PathLike[str], *, dtype: str = "float32") -> None:
    """Write an ONNX model.

    Inputs: ``numbers`` of shape (m, number of columns of numbers and dates), NaN where missing, and ``categories`` of shape
    (m, number of text columns), an empty text where missing; a model without one kind of column lacks that input. A date goes
    in as the number of days since its origin. The metadata list the columns in order (``numbers``, ``categories``), and hold
    the origins of ``dates``, ``classes`` and ``samples``.

    Outputs: ``score`` and, where the model is calibrated, ``probability``, of shape (m,) for two classes and (m, n_classes)
    otherwise; ``label`` of shape (m,). A row with an unknown category, with a missing value that the model does not fill in, or
    with values so large that the score overflows, gets no finite score and an empty label.

    Parameters
    ----------
    model : fitted model, or ScoringModel
    path : path
    dtype : {"float32", "float64"}
        Of the numbers that go in and come out. In between the graph computes in double precision, because means far from zero
        leave nothing of a centred float32.
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    onnx = require("onnx", "onnx")
    proto = _Graph(scoring_model(model), onnx, dtype).model()
    onnx.checker.check_model(proto, full_check=True)
    write_atomically(path, proto.SerializeToString(deterministic=True))


class _Graph:
    def __init__(self, scoring: ScoringModel, onnx: Any, dtype: str) -> None:
        self.scoring, self.onnx, self.helper = scoring, onnx, onnx.helper
        self.kind = np.dtype(dtype)
        self.outer = onnx.TensorProto.FLOAT if dtype == "float32" else onnx.TensorProto.DOUBLE
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.codes: dict[tuple[int, tuple[str, ...]], str] = {}
        self.numbers = [i for i, column in enumerate(scoring.inputs) if column.type != "category"]
        self.categories = [i for i, column in enumerate(scoring.inputs) if column.type == "category"]

    def model(self) -> Any:
        self._wide = self._node("Cast", "numbers", to=self.onnx.TensorProto.DOUBLE) if self.numbers else ""
        scores = self._scores()
        overflow = self._node("ReduceSum", self._node("Sub", scores, scores), self._constant([1], np.int64), keepdims=1)
        results = {"score": self._node("Add", scores, overflow)}  # infinity less itself is NaN: such a row has no score
        if self.scoring.calibrators:
            results["probability"] = self._chances(results["score"])
        for name, values in results.items():
            flat = self._node("Squeeze", values, self._constant([1], np.int64)) if self.scoring.is_binary else values
            self._node("Cast", flat, output=name, to=self.outer)
        self._label(values)
        helper, text = self.helper, self.onnx.TensorProto.STRING
        columns = {"numbers": (self.outer, len(self.numbers)), "categories": (text, len(self.categories))}
        inputs = [helper.make_tensor_value_info(name, kind, ["m", n]) for name, (kind, n) in columns.items() if n]
        shape = ["m"] if self.scoring.is_binary else ["m", len(self.scoring.classes)]
        outputs = [helper.make_tensor_value_info(name, self.outer, shape) for name in results]
        outputs.append(helper.make_tensor_value_info("label", text, ["m"]))
        graph = helper.make_graph(self.nodes, "scores", inputs, outputs, self.constants)
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="quadric",
            producer_version=quadric_version(),
        )
        helper.set_model_props(proto, self._metadata())
        return proto

    def _metadata(self) -> dict[str, str]:
        inputs, names = self.scoring.inputs, [column.name for column in self.scoring.inputs]
        content = {
            "numbers": [names[i] for i in self.numbers],
            "categories": [names[i] for i in self.categories],
            "dates": {column.name: column.origin for column in inputs if column.origin is not None},
            "classes": self.scoring.classes,
            "samples": [
                {
                    "numbers": [_as_number(inputs[i], sample.values[i]) for i in self.numbers],
                    "categories": [sample.values[i] for i in self.categories],
                    "scores": sample.scores,
                    "label": sample.label,
                    "probabilities": sample.probabilities,
                }
                for sample in self.scoring.samples
            ],
        }
        return {key: json.dumps(value) for key, value in content.items()}

    def _node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def _constant(self, values: Any, kind: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values, dtype=kind), name))
        return name

    def _scores(self) -> str:
        """Z = (capped features - center) / scale; then products of its columns, and Z, times coefficients, plus constants."""
        variables, surfaces = self.scoring.variables, self.scoring.surfaces
        constants = self._constant([[surface.c for surface in surfaces]])
        columns = self._node("Concat", *(self._feature(variable) for variable in variables), axis=1)
        columns = self._node("Where", self._node("IsInf", columns), self._constant(np.nan), columns)  # no value
        for sign, end in (("Less", "low"), ("Greater", "high")):  # not Max and Min, which may lose NaN
            limits = self._constant([getattr(variable, end) for variable in variables])
            columns = self._node("Where", self._node(sign, columns, limits), limits, columns)
        centred = self._node("Sub", columns, self._constant([variable.center for variable in variables]))
        Z = self._node("Div", centred, self._constant([variable.scale for variable in variables]))
        # Gemm rather than MatMul: onnxruntime fuses scalars into the latter in single precision
        total = self._node("Gemm", Z, self._constant(np.column_stack([surface.b for surface in surfaces])), constants)
        pairs = np.nonzero(np.triu(np.any([surface.W for surface in surfaces], axis=0)))
        if not len(pairs[0]):
            return total
        halves = np.where(pairs[0] == pairs[1], 0.5, 1.0)
        left, right = (self._node("Gather", Z, self._constant(place, np.int64), axis=1) for place in pairs)
        weights = np.column_stack([halves * surface.W[pairs] for surface in surfaces])
        return self._node("Gemm", self._node("Mul", left, right), self._constant(weights), total)

    def _feature(self, variable: Variable) -> str:
        """A column of shape (m, 1) in double precision."""
        feature = variable.feature
        levels, values = [level for level, _ in feature.codes], [value for _, value in feature.codes]
        if self.scoring.inputs[feature.input].type == "category":
            table = self._constant([*values, _number(feature.missing), _number(feature.unseen)])
            return self._node("Gather", table, self._codes(feature.input, levels), axis=0)
        raw = self._number_column(feature.input, self._wide)
        narrow = self._number_column(feature.input, "numbers")  # levels are compared in the type in which numbers come
        for code in missing_values(self.scoring.inputs[feature.input])[1]:
            raw = self._node("Where", self._equal(narrow, code), self._constant(np.nan), raw)
        absent, missing = self._node("IsNaN", raw), self._constant(_number(feature.missing))
        if feature.kind == "number":
            return raw if feature.missing is None else self._node("Where", absent, missing, raw)
        value = self._constant([[_number(feature.unseen)]])
        for level, code in zip(levels, values, strict=True):
            value = self._node("Where", self._equal(narrow, level), self._constant(code), value)
        return self._node("Where", absent, missing, value)

    def _equal(self, column: str, value: Any) -> str:
        return self._node("Equal", column, self._constant(value, self.kind))

    def _number_column(self, position: int, matrix: str) -> str:
        return self._node("Gather", matrix, self._constant([self.numbers.index(position)], np.int64), axis=1)

    def _codes(self, position: int, levels: Sequence[Any]) -> str:
        """Positions of the texts of a column among levels; then one for missing values and one for all others."""
        key = (position, tuple(levels))
        if key not in self.codes:
            column = self.scoring.inputs[position]
            texts = self._node("Gather", "categories", self._constant([self.categories.index(position)], np.int64), axis=1)
            missing = "|".join(["", *(f"(?i:{_quoted(text)})" for text in missing_values(column)[0])])
            codes = self._constant([[len(levels) + 1]], np.int64)
            spellings = [[spelling for spelling, own in column.truths.items() if own == level] for level in levels]
            patterns = [
                "|".join([_quoted(level), *(f"(?i:{_quoted(s)})" for s in own)])
                for level, own in zip(levels, spellings, strict=True)
            ]
            for code, pattern in enumerate([*patterns, missing]):
                blanks = f"[{_quoted(column.blanks)}]*" if column.blanks else ""
                found = self._node("RegexFullMatch", texts, pattern=f"{blanks}(?:{pattern}){blanks}")
                codes = self._node("Where", found, self._constant(code, np.int64), codes)
            self.codes[key] = codes
        return self.codes[key]

    def _chances(self, scores: str) -> str:
        columns = [
            self._curve(calibrator, self._node("Gather", scores, self._constant([s], np.int64), axis=1))
            for s, calibrator in enumerate(self.scoring.calibrators)
        ]
        if len(columns) == 1:
            return columns[0]
        curves = self._node("Concat", *columns, axis=1)
        total = self._node("ReduceSum", curves, self._constant([1], np.int64), keepdims=1)
        is_zero = self._node("Equal", total, self._constant(0.0))
        share = self._node("Div", curves, self._node("Where", is_zero, self._constant(1.0), total))
        return self._node("Where", is_zero, self._constant(1.0 / len(columns)), share)

    def _curve(self, calibrator: Calibration, score: str) -> str:
        if isinstance(calibrator, SigmoidCalibration):
            z = self._node("Add", self._node("Mul", score, self._constant(-calibrator.a)), self._constant(-calibrator.b))
            return self._node("Sigmoid", z)
        # A piecewise linear function is its first value plus the slopes times the part of each piece that has been passed
        x, y = calibrator.x, calibrator.y
        if len(x) == 1:
            return self._node("Add", self._node("Mul", score, self._constant(0.0)), self._constant(y[0]))
        passed = self._node("Max", self._node("Sub", score, self._constant(x[:-1])), self._constant(0.0))
        passed = self._node("Min", passed, self._constant(np.diff(x)))
        slopes = (np.diff(y) / np.diff(x))[:, None]
        return self._node("Gemm", passed, self._constant(slopes), self._constant([[y[0]]]))

    def _label(self, judged: str) -> None:
        axis = self._constant([1], np.int64)
        total = self._node("Squeeze", self._node("ReduceSum", judged, axis, keepdims=1), axis)
        if self.scoring.is_binary:
            positive = self._node("Greater", self._node("Squeeze", judged, axis), self._constant(self.scoring.threshold))
            best = self._node("Cast", positive, to=self.onnx.TensorProto.INT64)
        else:
            best = self._node("ArgMax", judged, axis=1, keepdims=0)
        names = [*self.scoring.classes, ""]
        best = self._node("Where", self._node("IsNaN", total), self._constant(len(names) - 1, np.int64), best)
        self._node("Gather", self._constant(names, object), best, output="label", axis=0)


def _number(value: Any) -> float:
    """NaN where a value is refused."""
    return np.nan if value is None else float(value)


def _quoted(text: str) -> str:
    """A pattern that matches a text and nothing else."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)


def _as_number(column: InputColumn, value: Any) -> float | None:
    if column.origin is None or value is None:
        return value
    return float(days_since(np.array([value], dtype="datetime64[us]"), column.origin)[0])
