"""How a model and its report were made: parameters, versions, hashes, time."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from quadric.export._schema import quadric_version
from quadric.report.subject import Subject
from quadric.report.surfaces import same_objective
from quadric.report.values import Making
from quadric.tables import Table

LIBRARIES = ("numpy", "scipy", "scikit-learn")
PARAMETERS = ("loss", "method", "class_weight", "include", "exclude", "random_state", "standardize", "rule")


@dataclass
class Stopwatch:
    """Time spent on each part."""

    seconds: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds.append((name, round(time.perf_counter() - began, 2)))


def making_of(
    subject: Subject,
    origin: tuple[str, str | None] | None,
    settings: Mapping[str, Any],
    watch: Stopwatch,
    objective: float,
) -> Making:
    """How a model and its summary were made.

    Parameters
    ----------
    subject : Subject
    origin : pair (file name, SHA-256 or None), optional
        Of the data.
    settings : mapping
        Parameters of the summary.
    watch : Stopwatch
    objective : float
        Of the first surface on the data of the summary.
    """
    fitted = getattr(subject.classifier, "certificates_", None)
    return Making(
        data=_data_facts(subject, origin or ("", None)),
        model=_model_facts(subject),
        settings=tuple((name, str(value)) for name, value in settings.items()),
        versions=_versions(),
        hashes=_hashes(subject),
        seconds=tuple(watch.seconds),
        created=_created(),
        same_data=same_objective(objective, fitted[0].objective) if fitted else None,
    )


def _data_facts(subject: Subject, origin: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    file, digest = origin[0], origin[1] or (subject.X.sha256 if isinstance(subject.X, Table) else None)
    facts = {"File": file, "SHA-256 of the file": digest or "", "Rows": str(len(subject.V))}
    facts["Columns used for fitting"] = str(len(subject.tabular.input_names))
    return tuple((name, value) for name, value in facts.items() if value)


def _model_facts(subject: Subject) -> tuple[tuple[str, str], ...]:
    """Parameters of the classifier, and what comes before and after it."""
    own = subject.classifier
    facts = [("Classifier", type(own).__name__), ("k", str(subject.k)), ("C", f"{subject.C:g}")]
    facts += [(name, _parameter(subject, name)) for name in PARAMETERS if hasattr(own, name)]
    encoder, scaler, calibrated = subject.parts.encoder, subject.parts.scaler, subject.parts.calibrated
    facts.append(("Coding of categories", "none" if encoder is None else f"{encoder.coding}, missing: {encoder.missing}"))
    facts.append(("Scaler", "none" if scaler is None else type(scaler).__name__))
    facts.append(("Calibration", "none" if calibrated is None else calibrated.method_))
    return tuple(facts)


def _parameter(subject: Subject, name: str) -> str:
    value = getattr(subject.classifier, name)
    if name in ("include", "exclude") and value is not None:
        return f"{len(getattr(subject.limits, name))} terms"
    return str(value)


def _versions() -> tuple[tuple[str, str], ...]:
    """Of the library, of Python and of what numbers depend on."""
    own = [("quadric", quadric_version()), ("Python", platform.python_version())]
    return (*own, *((name, version(name)) for name in LIBRARIES), ("Machine", f"{platform.system()} {platform.machine()}"))


def _hashes(subject: Subject) -> tuple[tuple[str, str], ...]:
    """Of the numbers that the classifier saw with their labels, and of the coefficients."""
    coefficients = [array for s in subject.fitted.surfaces for array in (s.coordinates(), np.array([s.c]))]
    return (
        ("Features and labels", _digest(subject.V, subject.codes.astype(np.int64))),
        ("Coefficients", _digest(*coefficients)),
    )


def _digest(*arrays: np.ndarray) -> str:
    """SHA-256 of shapes and little-endian bytes."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes())
    return digest.hexdigest()


def _created() -> str:
    """Now, or the time in SOURCE_DATE_EPOCH for reproducible builds."""
    moment = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if moment is None else datetime.fromtimestamp(int(moment), UTC)
    return now.strftime("%Y-%m-%d %H:%M UTC")
