"""A look at a table before the fit: what is left out, what to look at, what to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quadric.errors import MOST_LISTED, listed, warn_user
from quadric.samples.random_rows import drawn_rows
from quadric.tables import Table
from quadric.tables.dates import FORMS
from quadric.tables.forms import find_forms, with_forms
from quadric.tables.parts import TableParts, as_parts, gathered
from quadric.workflow.findings import EQUAL, LOOKS, REPEATED, Finding, TableView, known_classes, quoted
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.profiles import ColumnProfile

# Rows that are looked at; of larger tables, a random sample
MOST_ROWS = 50_000
# Kinds of findings of which a fit warns; dates count as days, or as texts where days and months cannot be told apart
LEAKS, TIMES = ("leak", "disguise"), ("date", "ambiguous dates")


class TableWarning(UserWarning):
    """Something about a table that somebody should know before using a model of it.

    Parameters
    ----------
    words : str
    remedies : mapping
        Options that help.
    """

    def __init__(self, words: str, remedies: Mapping[str, str | tuple[str, ...] | None]) -> None:
        super().__init__(words)
        self.remedies = dict(remedies)


@dataclass(frozen=True)
class TableCheck:
    """What a look at a table brought up.

    Attributes
    ----------
    findings : tuple of Finding
    n_rows, n_seen : int
        Of the table, and of the sample that was looked at.
    """

    findings: tuple[Finding, ...] = ()
    n_rows: int = 0
    n_seen: int = 0

    def recorded(self) -> dict[str, Any]:
        """As plain values, for model files.

        Returns
        -------
        dict
        """
        return {"rows": self.n_rows, "rows_seen": self.n_seen, "findings": [each.recorded() for each in self.findings]}


def looked_at(table: Table | TableParts, target: str, options: TrainingOptions) -> tuple[TableCheck, TrainingOptions]:
    """Look at the columns that a fit would use, wherever the table is.

    Parameters
    ----------
    table : Table or TableParts
        At most 50,000 random rows are looked at, the same ones however it is read.
    target : str
    options : TrainingOptions
        May say in which forms dates and numbers are written in texts.

    Returns
    -------
    TableCheck, and the options with these forms, with a remark on those that were found
    """
    parts = as_parts(table)
    n_rows, unused = parts.count_rows(), (*options.ignore, options.groups)
    names = [name for name in parts.head().names if name == target or name not in unused]
    picked = drawn_rows(np.arange(1, n_rows + 1), MOST_ROWS, options.seed)
    sample = gathered(parts, picked if n_rows > MOST_ROWS else None, names)
    forms = options.forms
    if not forms:
        wanted = [name for name in names if name not in (target, *options.texts)]
        forms = find_forms(sample, parts, wanted, options.dates, options.missing_texts)
        for name, form in forms.items():
            warn_user(_read_as(name, form))
    sample = with_forms(sample, forms, options.missing_texts)
    return look_over(sample, target, n_rows=n_rows, options=options), replace(options, forms=forms)


def _read_as(name: str, form: str) -> TableWarning:
    if form in FORMS:
        return TableWarning(f"column {quoted(name)} holds dates, read as {form}", {})
    words = f"column {quoted(name)} is read as numbers written like {quoted(form)}: say so if it is something else"
    marks = {"decimal": ","} if form == "1,234.5" else {}
    return TableWarning(words, {**marks, "texts": name})


def look_over(table: Table, target: str, *, n_rows: int | None = None, options: TrainingOptions | None = None) -> TableCheck:
    """Look at a table.

    Parameters
    ----------
    table : Table
        All rows, or a random sample of them in their order.
    target : str
        Column with the classes.
    n_rows : int, optional
        Number of all rows.
    options : TrainingOptions, optional
        Say which columns are dates, texts or to be kept, and which texts mean a missing value.

    Returns
    -------
    TableCheck
    """
    options = TrainingOptions() if options is None else options
    n_all = table.n_rows if n_rows is None else n_rows
    if table.n_rows == 0:
        return TableCheck((), n_all, 0)
    findings: list[Finding] = []
    y, names, known = known_classes(table, target, findings)
    columns = []
    for name in table.names:
        if name != target:
            try:
                columns.append(ColumnProfile.of(name, known, options.missing_texts))
            except ValueError as error:
                findings.append(Finding("unreadable", (name,), str(error), remedies={"ignore": name}))
    view = TableView(tuple(columns), target, y, names, known.n_rows, n_all / table.n_rows, options)
    for look in LOOKS:
        findings += look(view)
    return TableCheck(tuple(findings), n_all, table.n_rows)


def left_out(check: TableCheck, options: TrainingOptions) -> tuple[str, ...]:
    """Columns that a fit leaves out.

    Parameters
    ----------
    check : TableCheck
    options : TrainingOptions
        Columns to be kept, and those named as dates or texts, are not left out.

    Returns
    -------
    tuple of str
    """
    wanted = {*options.keep, *options.texts, *options.dates}
    return tuple(name for finding in check.findings if finding.left_out for name in finding.columns if name not in wanted)


def settled(check: TableCheck, options: TrainingOptions, target: str, columns: Sequence[str]) -> TrainingOptions:
    """The options with what the look at the table decides; it warns of what is left out, and of leaks.

    Parameters
    ----------
    check : TableCheck
    options : TrainingOptions
    target : str
    columns : sequence of str
        All of the table.

    Returns
    -------
    TrainingOptions
        Which ignore the columns that are left out, and name the columns of dates.
    """
    apart = left_out(check, options)
    rest = [name for name in columns if name not in (target, options.groups, *options.ignore, *apart)]
    if apart and not rest:
        first = next(each.remedies for each in check.findings if each.left_out and each.columns[0] == apart[0])
        usable = {option: value for option, value in first.items() if option != "ignore"}
        raise OptionError(
            f"every column besides the target is left out ({listed([quoted(name) for name in apart])}): "
            f"add columns that say something about the rows{', or use one of these' if usable else ''}",
            **usable,
        )
    for finding in check.findings:
        name = finding.columns[0] if finding.columns else ""
        if finding.left_out and name in apart:
            warn_user(TableWarning(f"left out: {finding}", finding.remedies))
        elif finding.kind in (*LEAKS, *TIMES, REPEATED) and name in rest:
            is_last = finding.kind in LEAKS and set(rest) <= set(finding.columns)
            more = "; no other column is left: add columns that are known before the target is" if is_last else ""
            warn_user(TableWarning(f"{finding}{more}", {} if is_last else finding.remedies))
    for kind, say in EQUAL.items():
        pairs = [each.columns for each in check.findings if each.kind == kind and set(each.columns).issubset(rest)]
        if pairs:
            same = listed([f"{quoted(first)} and {quoted(second)}" for first, second in pairs])
            copies = tuple(second for _, second in pairs[:MOST_LISTED])
            warn_user(TableWarning(f"columns say {say}: {same}; leave one of each out", {"ignore": copies}))
    dates, texts = (tuple(f.columns[0] for f in check.findings if f.kind == kind and f.columns[0] in rest) for kind in TIMES)
    return replace(
        options,
        ignore=(*options.ignore, *apart),
        dates=(*options.dates, *dates),
        texts=(*options.texts, *texts),
        forms={name: form for name, form in options.forms.items() if name not in apart},
    )


def recorded_findings(history: object) -> tuple[str, ...]:
    """The sentences that a model file keeps of the look at its table; none in files of before.

    Parameters
    ----------
    history : object
        What the file says of the training; anything, since anybody can write a file.

    Returns
    -------
    tuple of str
    """
    check = history.get("check") if isinstance(history, Mapping) else None
    findings = check.get("findings") if isinstance(check, Mapping) else None
    found: Sequence[object] = findings if isinstance(findings, list) else ()
    words = (each.get("words") for each in found if isinstance(each, Mapping))
    return tuple(text for text in words if isinstance(text, str))
