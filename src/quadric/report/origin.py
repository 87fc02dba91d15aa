"""How a model and its report were made: parameters, versions, hashes, time."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from math import isclose
from typing import Any

import numpy as np

from quadric.export._schema import quadric_version
from quadric.report.subject import Subject
from quadric.report.surfaces import SAME_OBJECTIVE
from quadric.tables import Table, TableEncoder

LIBRARIES = ("numpy", "scipy", "scikit-learn")
PARAMETERS = ("loss", "method", "class_weight", "include", "exclude", "random_state", "standardize", "clip", "rule")


@contextmanager
def timed(seconds: dict[str, str], part: str) -> Iterator[None]:
    """Write down how long a part takes.

    Parameters
    ----------
    seconds : dict
        Receives the entry.
    part : str
    """
    began = time.perf_counter()
    yield
    seconds[part] = f"{time.perf_counter() - began:.2f} s"


def making_of(
    subject: Subject,
    origin: tuple[str, str | None] | None,
    settings: Mapping[str, Any],
    seconds: dict[str, str],
    objective: float,
) -> dict[str, Any]:
    """How a model and its summary were made, as values for ``ReportSummary``.

    Parameters
    ----------
    subject : Subject
    origin : pair (file name, SHA-256 or None), optional
        Of the data.
    settings : mapping
        Parameters of the summary.
    seconds : dict
        Time spent on each part of the summary.
    objective : float
        Of the first surface on the data of the summary.
    """
    certificates = getattr(subject.fitted.classifier, "certificates_", None)
    coefficients = [array for s in subject.fitted.surfaces for array in (s.coordinates(), np.array([s.c]))]
    facts = {
        "Data": _data_facts(subject, origin or ("", None)),
        "Model": _model_facts(subject),
        "This report": settings,
        "Versions": {
            "quadric": quadric_version(),
            "Python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
            "Machine": f"{platform.system()} {platform.machine()}",
        },
        "Hashes (SHA-256)": {
            "Features and labels": _digest(subject.V, subject.codes.astype(np.int64)),
            "Coefficients": _digest(*coefficients),
        },
        "Time": seconds,
    }
    moment = os.environ.get("SOURCE_DATE_EPOCH")  # for reproducible builds
    now = datetime.now(UTC) if moment is None else datetime.fromtimestamp(int(moment), UTC)
    return {
        "facts": tuple((title, tuple((name, str(value)) for name, value in pairs.items())) for title, pairs in facts.items()),
        "created": now.strftime("%Y-%m-%d %H:%M UTC"),
        "same_data": isclose(objective, certificates[0].objective, rel_tol=SAME_OBJECTIVE) if certificates else None,
    }


def _data_facts(subject: Subject, origin: tuple[str, str | None]) -> dict[str, Any]:
    digest = origin[1] or (subject.X.sha256 if isinstance(subject.X, Table) else None)
    file = {name: value for name, value in (("File", origin[0]), ("SHA-256 of the file", digest)) if value}
    return {**file, "Rows": len(subject.V), "Columns used for fitting": len(subject.tabular.input_names)}


def _model_facts(subject: Subject) -> dict[str, Any]:
    own, steps = subject.fitted.classifier, [step for _, step in subject.fitted.steps]
    codings = [f"{step.coding}, missing: {step.missing}" for step in steps if isinstance(step, TableEncoder)]
    others = [type(step).__name__ for step in steps if not isinstance(step, TableEncoder)]
    parameters = {name: subject.fitted.question(name) for name in PARAMETERS if hasattr(own, name)}
    limited = [name for name in ("include", "exclude") if parameters[name] is not None]
    return {
        "Classifier": type(own).__name__,
        "k": subject.k,
        "C": f"{subject.fitted.question('C'):g}",
        **parameters,
        **{name: f"{len(getattr(subject.limits, name))} terms" for name in limited},
        "Coding of categories": ", ".join(codings) or "none",
        "Other steps": ", ".join(others) or "none",
        "Calibration": subject.fitted.calibration or "none",
    }


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes())
    return digest.hexdigest()
