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
from quadric.summary.subject import Subject, printable
from quadric.summary.surfaces import same_objective
from quadric.summary.values import Making
from quadric.tables import Table, TableEncoder

LIBRARIES = ("numpy", "scipy", "scikit-learn")
SHOWN = ("loss", "method", "class_weight", "include", "exclude", "random_state", "standardize", "rule")


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
    """All that is known about how a model and its summary were made.

    Parameters
    ----------
    subject : Subject
    origin : pair (file name, SHA-256 or None), optional
        Of the data.
    settings : mapping
        What the summary was asked for.
    watch : Stopwatch
    objective : float
        Of the first surface on the data of the summary.
    """
    return Making(
        data=_data_facts(subject, origin),
        model=_model_facts(subject),
        settings=tuple((name, printable(value)) for name, value in settings.items()),
        versions=_versions(),
        hashes=_hashes(subject),
        seconds=tuple(watch.seconds),
        created=_created(),
        same_data=_same_data(subject, objective),
    )


def _data_facts(subject: Subject, origin: tuple[str, str | None] | None) -> tuple[tuple[str, str], ...]:
    file, digest = origin if origin is not None else (None, None)
    if digest is None and isinstance(subject.X, Table):
        digest = subject.X.sha256
    facts = [("File", printable(file))] if file else []
    facts += [("SHA-256 of the file", digest)] if digest else []
    return (*facts, ("Rows", str(len(subject.V))), ("Columns used for fitting", str(len(subject.known.inputs))))


def _model_facts(subject: Subject) -> tuple[tuple[str, str], ...]:
    """The parameters of the classifier and what comes before and after it."""
    own = subject.classifier
    facts = [("Classifier", type(own).__name__), ("k", str(subject.k)), ("C", f"{subject.C:g}")]
    facts += [(name, _parameter(subject, name)) for name in SHOWN if hasattr(own, name)]
    steps = [step for _, step in subject.known.steps]
    codings = [f"{step.coding}, missing: {step.missing}" for step in steps if isinstance(step, TableEncoder)]
    others = [type(step).__name__ for step in steps if not isinstance(step, TableEncoder)]
    facts.append(("Coding of categories", ", ".join(codings) or "none"))
    facts.append(("Scaler", ", ".join(others) or "none"))
    facts.append(("Calibration", subject.known.calibration or "none"))
    return tuple(facts)


def _parameter(subject: Subject, name: str) -> str:
    value = getattr(subject.classifier, name)
    if name in ("include", "exclude") and value is not None:
        return f"{len(getattr(subject.limits, name))} terms"
    return printable(value)


def _versions() -> tuple[tuple[str, str], ...]:
    """Of the library, of Python and of what numbers depend on."""
    own = [("quadric", quadric_version()), ("Python", platform.python_version())]
    return (*own, *((name, version(name)) for name in LIBRARIES), ("Machine", f"{platform.system()} {platform.machine()}"))


def _hashes(subject: Subject) -> tuple[tuple[str, str], ...]:
    """Of the numbers that the classifier saw with their labels, and of the coefficients."""
    coefficients = [array for s in subject.known.surfaces for array in (s.coordinates(), np.array([s.c]))]
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
    """Now, or the moment that SOURCE_DATE_EPOCH names for builds that must repeat to the bit."""
    moment = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if moment is None else datetime.fromtimestamp(int(moment), UTC)
    return now.strftime("%Y-%m-%d %H:%M UTC")


def _same_data(subject: Subject, objective: float) -> bool | None:
    """Whether the first surface has on these data the objective that its fit had."""
    fitted = getattr(subject.classifier, "certificates_", None)
    return same_objective(objective, fitted[0].objective) if fitted else None
