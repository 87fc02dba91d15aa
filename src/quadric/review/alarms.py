"""Limits of what may differ in new rows from those that a model was fitted to, and which of them are passed."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isnan
from pathlib import Path
from typing import Any

from quadric.errors import quoted, refuse_unknown


class LimitsError(ValueError):
    """A file of limits cannot be used."""


@dataclass(frozen=True)
class Limits:
    """The largest values that are no alarm; infinity is no limit.

    Attributes
    ----------
    score_psi, column_psi, term_psi : float
        Population stability index of the score, of each column and of what each term adds to the score.
    missing : float
        By how much the share of rows without a value in a column may grow.
    new_levels : float
        The same for rows with rare or new levels.
    auc_drop : float
        By how much the AUC may be lower than out of fold at the fit.
    calibration : float
        By how much the number of events may differ from the sum of the probabilities, as a share of that.
    columns : mapping
        Limits of single columns by their names: ``column_psi``, ``missing`` and ``new_levels``.
    """

    score_psi: float = 0.25
    column_psi: float = 0.25
    term_psi: float = 0.25
    missing: float = 0.05
    new_levels: float = 0.05
    auc_drop: float = 0.05
    calibration: float = 0.2
    columns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def of(self, kind: str, subject: str) -> float:
        """The limit of a column, a term or a score.

        Parameters
        ----------
        kind : str
            Name of an attribute.
        subject : str

        Returns
        -------
        float
        """
        own = self.columns.get(subject, {}) if kind in OF_COLUMNS else {}
        return own.get(kind, getattr(self, kind))


OF_COLUMNS = ("column_psi", "missing", "new_levels")
NAMES = tuple(each.name for each in fields(Limits) if each.name != "columns")


def read_limits(path: str | os.PathLike[str]) -> Limits:
    """Read a TOML file with limits; those that it does not name keep their defaults.

    Parameters
    ----------
    path : path

    Returns
    -------
    Limits
    """
    name = Path(path).name
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # of TOML, or of UTF-8
        raise LimitsError(f"{name} is not a TOML file: {error}") from None
    columns = found.pop("columns", {})
    if not isinstance(columns, dict):
        raise LimitsError(f'{name}: columns must be tables, such as [columns."income"] with column_psi = 0.5 below')
    own = {column: _checked(limits, OF_COLUMNS, f"{name}, column {quoted(column)}") for column, limits in columns.items()}
    return Limits(**_checked(found, NAMES, name), columns=own)


def _checked(limits: Any, names: tuple[str, ...], where: str) -> dict[str, float]:
    if not isinstance(limits, dict):
        raise LimitsError(f"{where}: must be a table of limits, got {quoted(limits)}")
    refuse_unknown(limits, names, where, "limit", error=LimitsError)
    for name, value in limits.items():
        if not isinstance(value, int | float) or isinstance(value, bool) or isnan(value) or value < 0.0:
            raise LimitsError(f"{where}: {name} must be a number from 0 (inf for no limit), got {quoted(value)}")
    return {name: float(value) for name, value in limits.items()}


@dataclass(frozen=True)
class Check:
    """A figure beside its limit.

    Attributes
    ----------
    kind : str
        Name of the limit.
    subject : str
        Name of the score, column or term; empty for figures of the whole model.
    value, limit : float
    chance : float
        What chance alone would pass once in twenty times; a figure that is not above it is no alarm.
    """

    kind: str
    subject: str
    value: float
    limit: float
    chance: float = 0.0

    @property
    def is_alarm(self) -> bool:
        """Whether the figure is beyond the limit, and by more than chance."""
        return self.value > max(self.limit, self.chance)

    @property
    def words(self) -> str:
        """One clause for people."""
        share = self.kind in ("missing", "new_levels", "calibration")
        value, limit = (f"{each:.1%}" if share else f"{each:.3f}" for each in (self.value, self.limit))
        return f"{WORDS[self.kind].format(self.subject, value)} (limit {limit})"


WORDS = {
    "score_psi": "stability index of {} {}",
    "column_psi": "stability index of {} {}",
    "term_psi": "stability index of what {} adds {}",
    "missing": "{}: rows without a value {} more",
    "new_levels": "{}: rows with rare or new levels {} more",
    "auc_drop": "AUC{} lower by {} than out of fold at the fit",
    "calibration": "number of events{} {} away from the sum of their probabilities",
}
