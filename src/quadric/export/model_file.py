"""Models as JSON files: the whole of a fitted model in plain text, read back without running anything.

Schema 4, top keys:

- ``schema``, ``quadric_version``
- ``task``: ``target``, names of the ``classes``, the ``positive`` one of two; the estimator's own ``labels``, of ``dtype``
- ``inputs``: the columns of raw data: ``name``, ``type``, and whether values may be ``missing`` and levels ``unseen``
- ``steps``: the transformers before the classifier, each with ``name``, ``class``, ``params``, ``fitted`` attributes, ``inner``
  steps or columns (with the ``origin`` of dates), and ``output``, the kind of frame that it was set to give
- ``features``: ``count`` and ``names`` of what the classifier takes
- ``surfaces``: ``terms`` [i, j, W_ij] with i <= j, [i, null, b_i] for linear ones, and ``c``; in the units of the classifier
- ``estimator``: its ``class``, the name of its ``step``, and what else it knows of its fit, such as ``center`` and ``scale``
  of its columns, ``clip_low`` and ``clip_high`` (null where a column is not capped), and the ``box`` of values that rules on
  slopes speak of, in fitted units; ``params``: its parameters
- ``calibration``: ``method``, ``curves``, ``cutoff`` (of two classes, the second is predicted where its probability is above),
  ``params``, and for each curve ``probes``, decision values with their probabilities; or null
- ``certificates``; ``data``: ``rows`` and ``sha256``, or null; ``metadata``: anything plain
- ``samples``: raw ``values``, one per input, with ``scores``, ``label``, ``probabilities`` and ``prediction`` (the estimator's
  own label) as the model gave them; ``probes``: the same for made-up rows that try every part of the model
- ``digest``: SHA-256 of each of the others, in canonical JSON

Reading compares all of it. What an accident changed does not agree with its digest; a change with a new digest
does not agree with the probes, as far as it matters for scores, labels or probabilities.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.estimators.calibration import CalibratedModel
from quadric.estimators.shape_rules import SHAPES
from quadric.export._checks import MAX_BYTES, ModelFileError, parse
from quadric.export._probes import accepts, probe_rows, probed_scores
from quadric.export._reading import read_document
from quadric.export._schema import (
    ESTIMATORS,
    FITTED,
    INFINITE,
    MEMBERS,
    SCHEMA,
    DataOrigin,
    SavedModel,
    digest,
    quadric_version,
)
from quadric.export._steps import ARRAY_TYPES, written_parameters, written_step
from quadric.export.scoring import checked_class_names, scored_samples
from quadric.files import write_atomically
from quadric.fitted import FittedModel, Model, fitted_model
from quadric.geometry.box import Box
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import LINEAR, term_factors
from quadric.labels import class_texts, typed_labels
from quadric.tables import Table
from quadric.tables.table import Rows


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    class_names: Sequence[str] | None = None,
    target: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    data: Table | DataOrigin | None = None,
    samples: Rows | None = None,
    force: bool = True,
) -> None:
    """Write a fitted model to a JSON file, from which ``load_model`` makes the same model again, bit for bit.

    Paths over k, scores of cross-validation and traces of the search are not written.

    Parameters
    ----------
    model : fitted model
        What :func:`quadric.fitted.fitted_model` takes, except a bare surface. Also what ``read_model`` gave; names and origin
        are then kept unless others are passed.
    path : path
        Its folder must exist.
    class_names : sequence of str, optional
        Names of the classes, in the order of ``classes_``, where the labels are codes.
    target : str, optional
        Name of the target column.
    metadata : mapping, optional
        Whatever else is to be kept: texts, numbers, lists and mappings of them.
    data : Table or DataOrigin, optional
        What the model was fitted to; the number of rows and the hash of the file are kept.
    samples : Table, frame, mapping of columns or array, optional
        Raw rows to keep with their scores; by default a few made-up ones. Mind that they may be personal data.
    force : bool
        False: refuse to replace a file.
    """
    target_path = Path(path)
    if not force and target_path.exists():
        raise FileExistsError(f"{target_path} exists already")
    saved = SavedModel.of(
        model,
        class_names=class_names,
        target=target,
        metadata=None if metadata is None else dict(metadata),
        data=DataOrigin(data.n_rows, data.sha256) if isinstance(data, Table) else data,
        samples=samples,
    )
    try:
        json.dumps(saved.metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata cannot be written as JSON: {error}") from None
    content = _laid_out(_document(saved, fitted_model(saved.model))).encode("utf-8")
    _check_readable(content, target_path.name)
    write_atomically(target_path, content)


def _check_readable(content: bytes, name: str) -> None:
    """Refuse to write what would be refused when read: the reader's limits, and whatever else it checks."""
    if len(content) > MAX_BYTES:
        raise ValueError(
            f"the model is too large to be saved: {len(content) >> 20} MB, and files have at most {MAX_BYTES >> 20}"
        )
    try:
        read_document(parse(content, name))
    except ModelFileError as error:
        words = str(error).removeprefix("damaged model file: ")
        raise ValueError(f"the model cannot be saved, as it could not be read again: {words}") from None


def _laid_out(document: Mapping[str, Any]) -> str:
    """JSON with one line per key, and one line per item of its lists: short, and readable as a difference of two versions."""
    members = []
    for key, value in document.items():
        shown = json.dumps(value, allow_nan=False)
        if isinstance(value, list) and value:
            shown = "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n ]"
        members.append(f" {json.dumps(key)}: {shown}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _document(saved: SavedModel, view: FittedModel) -> dict[str, Any]:
    own = view.classifier
    kind, feature_names = type(own).__name__, getattr(own, "feature_names_in_", None)
    if not isinstance(saved.data, DataOrigin | None):
        raise TypeError(f"data must be a Table or a DataOrigin, not {type(saved.data).__name__}")
    if ESTIMATORS.get(kind) is not type(own):
        raise TypeError(f"cannot save a {kind}; a model file holds one of {', '.join(ESTIMATORS)}")
    names = checked_class_names(view, saved.class_names)
    document = {
        "schema": SCHEMA,
        "quadric_version": quadric_version(),
        "task": _task(own.classes_, names, saved.target),
        "inputs": accepts(view),
        "steps": [written_step(name, step) for name, step in view.steps],
        "features": {"count": view.n_features, "names": None if feature_names is None else [*map(str, feature_names)]},
        "surfaces": [_surface(surface) for surface in view.surfaces],
        "estimator": _estimator(own, saved.model),
        "params": written_parameters(own.get_params(deep=False)),
        "calibration": _calibration(view),
        "certificates": [_certificate(certificate) for certificate in getattr(own, "certificates_", [])],
        "data": None if saved.data is None else asdict(saved.data),
        "metadata": saved.metadata,
        "samples": _answers(view, saved.samples, names),
        "probes": _answers(view, probe_rows(view), names),
    }
    return document | {"digest": {name: digest(document[name]) for name in MEMBERS}}


def _answers(view: FittedModel, rows: Rows | None, names: tuple[str, ...]) -> list[dict[str, Any]]:
    labels = dict(zip(names, view.classes.tolist(), strict=True))
    return [asdict(sample) | {"prediction": labels[sample.label]} for sample in scored_samples(view, rows, names)]


def _task(labels: np.ndarray, names: tuple[str, ...], target: str | None) -> dict[str, Any]:
    if not ARRAY_TYPES.fullmatch(labels.dtype.str):
        raise ValueError(f"cannot save class labels of type {labels.dtype}: use texts, integers or booleans")
    return {
        "target": target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "labels": labels.tolist(),
        "dtype": labels.dtype.str,
    }


def _surface(surface: QuadraticSurface) -> dict[str, Any]:
    z = surface.coordinates()
    left, right = term_factors(surface.n_features)
    live = np.flatnonzero((z != 0.0) | np.signbit(z))  # -0.0 is no term, but it is not the bits of 0.0 either
    terms = [[int(left[t]), None if right[t] == LINEAR else int(right[t]), float(z[t])] for t in live]
    return {"terms": terms, "c": surface.c}


def _certificate(certificate: Certificate) -> dict[str, Any]:
    """All of it but the proofs of rules on slopes, which follow from the coefficients."""
    plain = asdict(replace(certificate, monotone=()))
    del plain["monotone"]
    return {name: INFINITE if value == math.inf else value for name, value in plain.items()}


def _box(box: Box | None) -> dict[str, Any] | None:
    if box is None:
        return None
    return {
        "low": box.low.tolist(),
        "high": box.high.tolist(),
        "two_valued": np.flatnonzero(box.two_valued).tolist(),
        "levels": [members.tolist() for members in box.levels],
        "flags": [[int(flag), int(feature)] for flag, feature in box.flags.items()],
        "fills": [[int(feature), float(fill)] for feature, fill in box.fills.items()],
    }


def _estimator(classifier: Any, model: Any) -> dict[str, Any]:
    """What the classifier knows of its fit; null where one of its kind does not have it."""
    fitted = {name: getattr(classifier, f"{name}_", None) for name in FITTED} | {"box": _box(getattr(classifier, "box_", None))}
    plain = {
        name: [one if math.isfinite(one) else None for one in value.tolist()] if isinstance(value, np.ndarray) else value
        for name, value in fitted.items()
    }
    while isinstance(model, CalibratedModel):
        model = model.estimator_
    return {
        "class": type(classifier).__name__,
        "step": model.steps[-1][0] if hasattr(model, "steps") else "classifier",
        **plain,
    }


def _calibration(view: FittedModel) -> dict[str, Any] | None:
    if not view.is_calibrated:
        return None
    curves = [{name: np.asarray(value).tolist() for name, value in vars(curve).items()} for curve in view.calibrators]
    probes = [
        {"scores": (f := probed_scores(curve)).tolist(), "probabilities": curve(f).tolist()} for curve in view.calibrators
    ]
    own = {"cutoff": view.threshold, "cv": None, "n_jobs": None}
    settings = written_parameters({name: getattr(view.model, name, default) for name, default in own.items()})
    return {
        "method": view.calibration,
        "curves": curves,
        "cutoff": view.threshold,
        "params": settings,
        "probes": probes,
    }


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file with all that it says.

    Parameters
    ----------
    path : path

    Returns
    -------
    SavedModel
    """
    with Path(path).open("rb") as file:
        return read_document(parse(file.read(MAX_BYTES + 1), Path(path).name))


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model file.

    Parameters
    ----------
    path : path
        What ``save_model`` wrote. Damaged, hostile and newer files give a ModelFileError; nothing in them is executed.

    Returns
    -------
    fitted estimator
        A Pipeline where transformers come before the classifier (nested ones become one), else the classifier;
        a CalibratedModel of it where it is calibrated. It predicts the labels of the table that it was fitted to, also where
        ``quadric fit`` numbered the classes to put the positive one last.
    """
    saved = read_model(path)
    classifier = fitted_model(saved.model).classifier
    if saved.class_names != class_texts(classifier.classes_):
        numbers, classifier.classes_ = classifier.classes_.tolist(), typed_labels(saved.class_names)
        if isinstance(weights := getattr(classifier, "class_weight", None), Mapping):
            labels = dict(zip(numbers, classifier.classes_.tolist(), strict=True))
            classifier.class_weight = {labels[number]: weight for number, weight in weights.items()}
        texts = dict(zip(map(str, numbers), saved.class_names, strict=True))
        for name in SHAPES:  # rules by class go by the names of the classes, too
            if (rules := getattr(classifier, name, None)) and all(isinstance(own, Mapping) for own in rules.values()):
                setattr(classifier, name, {texts[str(label)]: own for label, own in rules.items()})
    return saved.model
