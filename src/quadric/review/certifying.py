"""Models that were saved, judged on the rows of a table: in memory, or in a pass where the table is large."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.errors import refuse_unknown
from quadric.examine import certify, certify_passes, certify_sums, tested_slopes
from quadric.fitted.model import is_level
from quadric.labels import positions_in
from quadric.losses import LOSS_NAMES, loss_named
from quadric.progress import part
from quadric.samples.source import SampleBatch, Together
from quadric.samples.sums import BatchMoments, class_totals
from quadric.samples.target import Target, surfaces_of
from quadric.samples.units import Units
from quadric.slope_proofs import SlopeProof
from quadric.tables import Table
from quadric.tables.coded import TableSource
from quadric.tables.parts import TableParts
from quadric.tables.reading import digest_of
from quadric.types import FloatArray
from quadric.workflow.drawing import DEVELOPMENT
from quadric.workflow.scoring import TableModel


@dataclass(frozen=True, eq=False)
class Judged:
    """What is known of a model as an answer to its own question.

    Attributes
    ----------
    certificates : list of Certificate
        One per surface.
    is_constant : list of bool
        Whether each surface has the same value for all rows.
    n_rows : int
        Rows that it was judged on.
    sha256 : str or None
        Checksum of their file.
    is_proved : bool
        Whether a bound for other terms was looked for.
    slopes : tuple of tuples of SlopeProof
        What was asked of slopes, by surface.
    """

    certificates: list[Certificate]
    is_constant: list[bool]
    n_rows: int
    sha256: str | None
    is_proved: bool = True
    slopes: tuple[tuple[SlopeProof, ...], ...] = ()


def certify_table(model: TableModel, table: Table, slopes: Mapping[str, int | None] = {}, **limits: Any) -> Judged:
    """Judge a model on a table.

    Parameters
    ----------
    model : TableModel
    table : Table
        With the target column.
    slopes : mapping of str to 1, -1 or None
        Columns, or levels of them, along which the score may never fall or never rise, or does either, whatever the rules of
        the model are; of more than two classes with the class before the name, "bad:income", or of each.
    **limits : Any
        Of the proof, as in ``quadric.certify``.

    Returns
    -------
    Judged
    """
    rows, y = model.labelled(table)
    X = model.view.native(model.inputs(rows))
    asked = asked_slopes(model, X, slopes)
    return Judged(certify(model.saved.model, X, y, **limits), model.view.is_constant(X), len(rows), table.sha256, slopes=asked)


def asked_slopes(model: TableModel, X: Any, slopes: Mapping[str, int | None]) -> tuple[tuple[SlopeProof, ...], ...]:
    """Whether the scores of a model never fall, or never rise, along columns: proved, undecided, or with a counterexample.

    Parameters
    ----------
    model : TableModel
    X : rows as the model takes them
        They tell the range of columns without caps, and which features have two values.
    slopes : mapping
        As in ``certify_table``.

    Returns
    -------
    tuple of tuples of SlopeProof
        By surface; where no direction was asked for, of the one that is proved, else of both.
    """
    if not slopes:
        return ()
    view, found = model.view, []
    rows, numbers = view.fitted(X), surfaces_of(len(view.classes))
    open_ends = {
        feature.name
        for feature, *limits in zip(view.features, view.units.low, view.units.high, strict=True)
        if feature.kind not in ("level", "missing") and not np.isfinite(limits).all()
    }
    subjects = model.class_names if len(view.surfaces) > 1 else model.class_names[1:]
    wanted = [(*_subject(name, model.class_names, view.names), sign) for name, sign in slopes.items()]
    for subject, number in zip(subjects, numbers, strict=True):
        proofs: list[SlopeProof] = []
        for class_name, feature, sign in wanted:
            is_other = len(subjects) == 1 and class_name == model.class_names[0]  # of two classes, whose score is -f
            if is_other or class_name in (None, subject):
                sign = -sign if is_other and sign is not None else sign
                texts = view.class_texts
                both = [
                    replace(proof, is_capped=open_ends.isdisjoint(proof.box))  # levels and flags have no other values
                    for each in ((1, -1) if sign is None else (sign,))
                    for proof in tested_slopes(view, {texts[number]: {feature: each}}, rows)[number]
                ]
                proofs += [proof for proof in both if proof.proved][:1] or both
        found.append(tuple(proofs))
    return tuple(found)


def _subject(name: str, subjects: Sequence[str], names: Sequence[str]) -> tuple[str | None, int]:
    """The class that a rule names, if any, and the number of the feature."""
    own = next((each for each in subjects if name not in names and name.startswith(f"{each}:")), None)
    feature = name if own is None else name.removeprefix(f"{own}:")
    refuse_unknown([feature], names, "the model", "column or level")
    return own, list(names).index(feature)


def certify_stream(model: TableModel, stream: TableParts, **limits: Any) -> Judged:
    """Judge a model on a table of any number of rows: by one pass where the loss needs sums only, otherwise by some more.

    Of other losses than the squared one, passes tell the objective, how much a refit could lower it, and whether exchanges of
    a term help. A bound for all other terms needs the rows in memory.

    Parameters
    ----------
    model : TableModel
    stream : TableParts
        With the target column.
    **limits : Any
        Of the proof, as in ``quadric.certify``.

    Returns
    -------
    Judged
        Whose certificates are those of ``certify_table``, but for rounding and that bound.
    """
    digest = None if stream.path is None else digest_of(stream.path)
    if model.drawing is not None and model.is_fitted_to(digest):
        stream = model.drawing.samples(stream)[DEVELOPMENT]
    view, plain = model.view, Units.plain(model.view.n_features)  # rows come in fitted units
    source = TableSource(stream, partial(_fitted_rows, model=model), view.n_features, len(view.classes))
    ranges = partial(_score_range, model=model)
    if needs_rows(model):
        loss = view.question("loss")
        if loss not in LOSS_NAMES or loss_named(loss).streamed is None:
            raise ValueError(
                f"the certificate of a model with the loss {loss} needs all rows in memory: certify it on a part of them"
            )
        if view.shares_terms:
            raise ValueError(
                f"with the loss {loss} a list of terms for all classes needs all rows in memory: certify it on a part of them"
            )
        with part(0.0, 0.2):
            totals, found = source.total(Together((class_totals, ranges))).parts
        with part(0.2, 1.0):
            certificates = certify_passes(model.saved.model, source, totals.parts[0])
        return Judged(certificates, found.is_constant(), totals.parts[1], digest, is_proved=False)
    about = tuple(map(str, view.names)), str(model.saved.target), tuple(view.classes.tolist())
    moments = BatchMoments(*about, (plain.low, plain.high), view.question("class_weight") is not None, plain)
    with part(0.0, 0.8):
        sums, found = source.total(Together((moments, ranges))).parts
    with part(0.8, 1.0):
        certificates = certify_sums(model.saved.model, sums, **limits)
    return Judged(certificates, found.is_constant(), sums.n_rows, digest)


def needs_rows(model: TableModel) -> bool:
    """Whether a model can be judged only with all rows at hand.

    Parameters
    ----------
    model : TableModel

    Returns
    -------
    bool
    """
    loss = model.view.question("loss")
    return loss not in LOSS_NAMES or loss_named(loss).keeps_rows


def _fitted_rows(table: Table, model: TableModel) -> SampleBatch:
    view = model.view
    rows, y = model.labelled(table)
    X = view.fitted(model.inputs(rows)) if len(rows) else np.empty((0, view.n_features))
    ids = np.arange(len(rows)) + table.first_row
    target = Target(positions_in(view.classes, y), np.ones(len(view.classes)))
    return SampleBatch(X, target, np.ones(len(rows)), ids)


@dataclass(frozen=True, eq=False)
class _ScoreRange:
    low: FloatArray
    high: FloatArray

    def __add__(self, other: _ScoreRange) -> _ScoreRange:
        return _ScoreRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def is_constant(self) -> list[bool]:
        return [is_level(np.array(ends)) for ends in zip(self.low, self.high, strict=True)]


def _score_range(batch: SampleBatch, model: TableModel) -> _ScoreRange:
    values = np.array([surface(batch.X) for surface in model.view.surfaces])
    return _ScoreRange(values.min(axis=1), values.max(axis=1))
