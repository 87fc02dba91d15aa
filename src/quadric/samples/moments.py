"""Sums over the rows of a table: all that a fit with the squared loss needs, of any number of rows, from any number of places.

Sums are kept in units of their own, about the middle and spread of the first rows, because sums of fourth powers far from zero
would lose digits. Whoever adds or fits them maps them to other units first, which is exact up to rounding.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from quadric.geometry.moments import LabelledMoments, LiftedMoments
from quadric.geometry.terms import term_count
from quadric.samples.units import Units
from quadric.types import FloatArray

MAGIC = b"quadric moments 1\n"
# Columns whose standard deviation is below this share of their root mean square keep their scale.
CONSTANT = 1e-12


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, means and scatter of all terms of some rows; ``+`` merges those of different rows.

    Attributes
    ----------
    columns : tuple of str
        Features.
    target : str
        The column of the classes.
    classes : tuple
        Labels, sorted.
    n_rows : int
        Rows with positive weight.
    units : Units
        Limits at which features were capped, and the units in which the sums are kept.
    class_weights : array of shape (n_classes,)
        Sums of the sample weights of each class.
    class_means : array of shape (n_classes, p)
        Weighted means of all terms in each class.
    by_class : bool
        Whether there is a scatter for each class, which fits with class weights need.
    parts : tuple of moments of lifted samples
        Of all rows, or one of each class.
    """

    columns: tuple[str, ...]
    target: str
    classes: tuple[Any, ...]
    n_rows: int
    units: Units
    class_weights: FloatArray
    class_means: FloatArray
    by_class: bool
    parts: tuple[LiftedMoments, ...]

    def __repr__(self) -> str:
        classes = ", ".join(map(repr, self.classes))
        per_class = ", a scatter for each class" * self.by_class
        return f"Moments({self.n_rows:,} rows of {len(self.columns)} features; target {self.target!r}: {classes}{per_class})"

    @property
    def clip_low(self) -> FloatArray:
        """Lower limits of the features, -inf where there is none."""
        return self.units.low

    @property
    def clip_high(self) -> FloatArray:
        """Upper limits of the features, inf where there is none."""
        return self.units.high

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        self._check_compatible(other)
        if self.classes != other.classes:
            classes = tuple(sorted({*self.classes, *other.classes}))
            return self._with_classes(classes) + other._with_classes(classes)
        if not (np.array_equal(self.units.center, other.units.center) and np.array_equal(self.units.scale, other.units.scale)):
            center, scale = other.units.center, other.units.scale
            other = other._mapped((self.units.center - center) / scale, self.units.scale / scale, self.units)
        merged = self._first + other._first
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            class_weights=merged.class_weights,
            class_means=merged.class_means,
            parts=(merged.loss, *(one + two for one, two in zip(self.parts[1:], other.parts[1:], strict=True))),
        )

    @property
    def _first(self) -> LabelledMoments:
        """The first scatter, with the sums of all classes."""
        return LabelledMoments(self.parts[0], self.class_weights, self.class_means, np.ones(len(self.classes)))

    def _check_compatible(self, other: Moments) -> None:
        for name, words in {"columns": "other columns", "target": "another target"}.items():
            mine, others = getattr(self, name), getattr(other, name)
            if mine != others:
                raise ValueError(f"moments with {words} cannot be added: {_difference(mine, others)}")
        same = np.array_equal(self.clip_low, other.clip_low) and np.array_equal(self.clip_high, other.clip_high)
        if not same:
            raise ValueError("moments with other limits cannot be added: give clip_low and clip_high, the same everywhere")
        if self.by_class != other.by_class:
            raise ValueError("moments with and without a scatter for each class cannot be added: give by_class everywhere")

    def _with_classes(self, classes: tuple[Any, ...]) -> Moments:
        place = [classes.index(label) for label in self.classes]
        weights, means = np.zeros(len(classes)), np.zeros((len(classes), self.class_means.shape[1]))
        weights[place], means[place] = self.class_weights, self.class_means
        parts = self.parts
        if self.by_class:
            mine = dict(zip(place, self.parts, strict=True))
            parts = tuple(mine.get(i, LiftedMoments.empty(len(self.columns))) for i in range(len(classes)))
        return replace(self, classes=classes, class_weights=weights, class_means=means, parts=parts)

    def _mapped(self, center: FloatArray, scale: FloatArray, units: Units) -> Moments:
        """The same rows, with the features of these moments minus ``center``, divided by ``scale``."""
        first = self._first.mapped(center, scale)
        parts = (first.loss, *(part.mapped(center, scale) for part in self.parts[1:]))
        return replace(self, units=units, class_means=first.class_means, parts=parts)

    def standardized(self, standardize: bool) -> Moments:
        """The same rows in the units of a fit: standardised by themselves, or as they came.

        Parameters
        ----------
        standardize : bool

        Returns
        -------
        Moments
        """
        units, n = self.units, len(self.columns)
        if not standardize:
            plain = replace(units, center=np.zeros(n), scale=np.ones(n))
            return self._mapped(-units.center / units.scale, 1.0 / units.scale, plain)
        whole = reduce(add, self.parts)
        mean, spread = whole.mean[-n:], np.sqrt(np.maximum(np.diag(whole.scatter)[-n:], 0.0) / whole.weight)
        size = np.abs(units.center / units.scale + mean) + spread
        spread = np.where(spread > CONSTANT * size, spread, 1.0 / units.scale)  # a constant feature keeps its own scale
        fitted = replace(units, center=units.center + units.scale * mean, scale=units.scale * spread)
        return self._mapped(mean, spread, fitted)

    def labelled(self, class_weight: FloatArray) -> LabelledMoments:
        """What the squared loss needs, with a factor on the loss of each class.

        Parameters
        ----------
        class_weight : array of shape (n_classes,)

        Returns
        -------
        LabelledMoments
        """
        if self.by_class:
            return LabelledMoments.merged(self.parts, class_weight)
        if np.ptp(class_weight) > 0.0:
            raise ValueError("class weights that differ need a scatter for each class: moments(..., by_class=True)")
        return replace(self._first, loss=self.parts[0].scaled(float(class_weight[0])), factors=class_weight)

    def to_bytes(self) -> bytes:
        """The moments as bytes, for files and networks: numbers, names and a checksum, no pickle.

        Returns
        -------
        bytes
        """
        upper = np.triu_indices(term_count(len(self.columns)))
        arrays = [self.units.low, self.units.high, self.units.center, self.units.scale, self.class_weights]
        arrays.append(self.class_means.ravel())
        for part in self.parts:
            arrays += [np.array([part.weight]), part.mean, part.scatter[upper]]
        body = np.concatenate(arrays).astype("<f8").tobytes()
        header = json.dumps(
            {
                "columns": list(self.columns),
                "target": self.target,
                "classes": list(self.classes),
                "rows": self.n_rows,
                "by_class": self.by_class,
            }
        ).encode()
        data = MAGIC + struct.pack("<Q", len(header)) + header + body
        return data + hashlib.sha256(data).digest()

    @staticmethod
    def from_bytes(data: bytes) -> Moments:
        """Moments that :meth:`to_bytes` has written.

        Parameters
        ----------
        data : bytes
            Checked: whatever is not whole, or is something else, is refused.

        Returns
        -------
        Moments
        """
        header, body = _opened(data)
        columns, classes = tuple(header["columns"]), tuple(header["classes"])
        n, p, n_classes = len(columns), term_count(len(columns)), len(classes)
        n_parts = n_classes if header["by_class"] else 1
        lengths = [n, n, n, n, n_classes, n_classes * p, *[1, p, p * (p + 1) // 2] * n_parts]
        if len(body) != 8 * sum(lengths):
            raise ValueError("these are no whole moments: the number of values does not suit the header")
        values = np.frombuffer(body, dtype="<f8").astype(float)
        low, high, center, scale, weights, means, *rest = np.split(values, np.cumsum(lengths)[:-1])
        if not np.isfinite(np.concatenate([center, scale, weights, means, *rest])).all() or not (scale > 0.0).all():
            raise ValueError("these are no moments: some values are not finite")
        parts = tuple(
            LiftedMoments(float(rest[3 * i][0]), rest[3 * i + 1], _symmetric(rest[3 * i + 2], p)) for i in range(n_parts)
        )
        about = columns, header["target"], classes, header["rows"], Units(low, high, center, scale)
        return Moments(*about, weights, means.reshape(n_classes, p), header["by_class"], parts)


def _difference(mine: Any, others: Any) -> str:
    if isinstance(mine, str):
        return f"{mine!r} and {others!r}"
    only = [repr(value) for value in (*mine, *others) if (value in mine) != (value in others)]
    return f"only one of them has {only[0]}" if only else "they stand in another order"


def _opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the values of bytes whose checksum is right."""
    data = bytes(data)
    if not data.startswith(MAGIC):
        raise ValueError("these are no moments of this version: they begin with other bytes")
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise ValueError("these moments are damaged: the checksum is another one")
    start = len(MAGIC) + 8
    (length,) = struct.unpack("<Q", data[len(MAGIC) : start])
    try:
        header = json.loads(data[start : start + length])
        right = (
            isinstance(header["rows"], int)
            and isinstance(header["by_class"], bool)
            and isinstance(header["target"], str)
            and all(isinstance(name, str) for name in header["columns"])
            and all(isinstance(label, str | int | float) for label in header["classes"])
        )
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise ValueError("these are no moments: their header cannot be read")
    return header, data[start + length : -32]


def _symmetric(upper: FloatArray, p: int) -> FloatArray:
    matrix = np.zeros((p, p))
    matrix[np.triu_indices(p)] = upper
    return matrix + np.triu(matrix, 1).T
