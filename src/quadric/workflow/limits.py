"""How large a table may be: what a model file cannot hold is refused before a model is fitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from quadric.errors import MemoryLimitError, ParameterError, quoted
from quadric.export._schema import MAX_COEFFICIENTS, MAX_FEATURES
from quadric.resources import gigabytes, memory
from quadric.samples.extent import is_small
from quadric.tables import TableEncoder
from quadric.tables.reading import estimated_values

# Characters of the name of a column, a level or a class
LONGEST_NAME = 1_000
# Of the coded rows, that are alive at the same time
COPIES = 3


def check_columns(names: Sequence[str]) -> None:
    """Refuse more columns than a model can have features, and names that nobody can read.

    Parameters
    ----------
    names : sequence of str
        Of the columns to learn from.
    """
    if len(names) > MAX_FEATURES:
        raise ParameterError(
            f"the table has {len(names):,} columns to learn from, and a model has at most {MAX_FEATURES:,} features: "
            "leave columns out",
            ignore=None,
        )
    check_names("the table has a column", names)


def check_names(words: str, names: Iterable[object], **remedies: str | None) -> None:
    """Refuse texts that are too long to be names.

    Parameters
    ----------
    words : str
        What has such a name, as the beginning of a sentence.
    names : iterable
        Those that are no texts pass.
    **remedies : str or None
        Options that help.
    """
    for name in names:
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            raise ParameterError(
                f"{words} whose name has {len(name):,} characters ({name[:20]!r}...), more than {LONGEST_NAME:,}: shorten it",
                **remedies,
            )


def check_features(encoder: TableEncoder, class_names: Sequence[str], n_rows: int) -> None:
    """Refuse more features than a model file, or coded rows than memory, can hold.

    Parameters
    ----------
    encoder : fitted TableEncoder
    class_names : sequence of str
    n_rows : int
    """
    for column in encoder.inputs_:
        check_names(f"column {quoted(column.name)} has a level", column.categories, ignore=column.name)
    if not encoder.features_:
        raise ParameterError(
            "no column is left to learn from: all of them are texts without two levels that have enough rows; keep rare "
            "levels, or add columns",
            rare="keep",
        )
    n_features, n_surfaces = len(encoder.features_), 1 if len(class_names) == 2 else len(class_names)
    most = min(MAX_FEATURES, int((MAX_COEFFICIENTS / n_surfaces) ** 0.5))
    if n_features > most:
        raise ParameterError(
            f"{len(encoder.inputs_):,} columns become {n_features:,} features, and a model of {len(class_names)} classes has "
            f"at most {most:,}: leave columns out, or code levels as ranks",
            ignore=None,
            coding="ordinal",
        )
    needed, room = COPIES * 8 * n_rows * n_features, memory()
    if room is not None and needed > room.size:
        raise MemoryLimitError(
            f"{n_rows:,} rows of {n_features:,} features need about {gigabytes(needed)} of memory as numbers, "
            f"and {room.words} {gigabytes(room.size)}: take fewer rows or columns",
            ignore=None,
        )


def is_streamed(path: Path, needs_rows: bool = False) -> bool:
    """Whether a table is so large that it is read in batches.

    Parameters
    ----------
    path : Path
        A file or a folder.
    needs_rows : bool
        Whether all rows are wanted in memory, if it can hold them.

    Returns
    -------
    bool
    """
    values, room = estimated_values(path), memory()
    if needs_rows and (room is None or 8 * COPIES * values <= room.size):
        return False
    return not is_small(values, 1) or (room is not None and 8 * 4 * values > room.size)
