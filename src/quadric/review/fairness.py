"""Decisions by groups of people: acceptance, errors, terms that stand for the group, and the model without the column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm

from quadric.credit.intervals import AreaEstimate
from quadric.errors import quoted, refuse_unknown
from quadric.explain import contributions
from quadric.tables import Table
from quadric.tables.inputs import missing_cells
from quadric.tables.table import number_text
from quadric.types import BoolArray, FloatArray
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import train

# Different numbers of a column that are groups of their own; more are cut at the quartiles
MOST_VALUES, QUARTILES = 10, (0.25, 0.5, 0.75)
MOST_GROUPS = 30
MISSING = "no value"
# Share of the terms that say nothing of the group whose separation is not above ``by_chance``
CHANCE = 0.95


@dataclass(frozen=True)
class Group:
    """Rows with the same value of a column.

    Attributes
    ----------
    name : str
    n_rows : int
    approved : float
        Share of the rows that get the good class.
    ratio : float
        That share, of the largest one of all groups; below 0.8 is called adverse impact by custom.
    n_good, n_bad : int
        Rows whose outcome is known.
    bad_approved, good_declined : float or None
        Shares of the bad and of the good rows that are decided wrongly; None where there are none.
    approved_without : float or None
        As ``approved``, by a model without the column that approves as many rows in all; None where none was fitted.
    """

    name: str
    n_rows: int
    approved: float
    ratio: float
    n_good: int
    n_bad: int
    bad_approved: float | None
    good_declined: float | None
    approved_without: float | None = None


@dataclass(frozen=True)
class Proxy:
    """How much a term stands for the groups.

    Attributes
    ----------
    term : str
    group : str
        The group that it tells best from all others.
    separation : float
        2 AUC - 1 of what it adds to the score as a guess of that group, without its sign: 0 tells nothing, 1 everything.
    by_chance : float
        A term that says nothing of the group is above it once in twenty times.
    gap : float
        Mean of what it adds to the score for the group, minus that for all others; positive: towards the class of high scores.
    """

    term: str
    group: str
    separation: float
    by_chance: float
    gap: float


@dataclass(frozen=True)
class Fairness:
    """Decisions of a model by groups.

    Attributes
    ----------
    column, good, bad : str
        The column of the groups, and the classes; approved means that good is decided.
    is_used : bool
        Whether a term depends on the column.
    groups : tuple of Group
        The largest first.
    proxies : tuple of Proxy
        Terms, the ones that tell most first.
    auc, auc_without : float or None
        On rows left out, of the model and of one without the column; None where nobody measured it.
    """

    column: str
    good: str
    bad: str
    is_used: bool
    groups: tuple[Group, ...]
    proxies: tuple[Proxy, ...]
    auc: float | None
    auc_without: float | None = None


def fairness(model: TableModel, table: Table, column: str, *, refit: bool = False) -> Fairness:
    """Compare how groups fare.

    Parameters
    ----------
    model : TableModel
        Of two classes.
    table : Table
        Raw rows, with the column of the groups; outcomes are taken from the target column where it is there.
    column : str
        Texts, or numbers, which are cut at their quartiles if there are more than ten. It need not be a column of the model.
    refit : bool
        Whether to fit the model anew without the column, to the rows of the table.

    Returns
    -------
    Fairness
    """
    names, target = model.class_names, model.saved.target
    refuse_unknown([column], table.names, "the table", error=partial(OptionError, group=None))
    if len(names) != 2:
        raise ValueError(f"groups are compared for two classes, and the model has {len(names)}")
    if column == target:
        raise OptionError(f"the column {quoted(column)} is the target: give a column of groups", group=None)
    good = model.favourable or names[0]
    labels = _groups(np.asarray(table[column]), column)
    found = contributions(model.view, model.inputs(table, only_needed=True))
    approved = model.judged(found.decision, table.first_row).codes == names.index(good)
    codes = model.outcomes(table) if target in table.names else np.full(len(table), -1)
    without, auc = _without(model, table, column, float(approved.mean()), good) if refit else (None, None)
    best = max(float(approved[labels == name].mean()) for name in np.unique(labels))
    groups = []
    for name in np.unique(labels).tolist():
        rows = labels == name
        known = [rows & (codes == names.index(label)) for label in (good, *(other for other in names if other != good))]
        share = float(approved[rows].mean())
        groups.append(
            Group(
                name=name,
                n_rows=int(rows.sum()),
                approved=share,
                ratio=share / best if best else 1.0,
                n_good=int(known[0].sum()),
                n_bad=int(known[1].sum()),
                bad_approved=_share(approved, known[1]),
                good_declined=_share(~approved, known[0]),
                approved_without=None if without is None else float(without[rows].mean()),
            )
        )
    proxies = [_proxy(term, values, labels) for term, values in zip(found.names, found.values.T, strict=True)]
    return Fairness(
        column=column,
        good=good,
        bad=next(name for name in names if name != good),
        is_used=column in model.view.needed,
        groups=tuple(sorted(groups, key=lambda each: -each.n_rows)),
        proxies=tuple(sorted(proxies, key=lambda each: -each.separation)) if len(groups) > 1 else (),
        auc=model.development_auc,
        auc_without=auc,
    )


def _share(decided: BoolArray, rows: BoolArray) -> float | None:
    return float(decided[rows].mean()) if rows.any() else None


def _groups(values: np.ndarray, column: str) -> np.ndarray:
    """The name of the group of each row."""
    absent = missing_cells(values)
    if values.dtype.kind in "biuf":
        numbers, texts = values[~absent].astype(float), np.full(len(values), MISSING, dtype=object)
        if len(np.unique(numbers)) <= MOST_VALUES:
            texts[~absent] = [number_text(number) for number in numbers.tolist()]
        else:
            edges = np.unique(np.quantile(numbers, QUARTILES, method="inverted_cdf"))
            ends = [number_text(edge) for edge in edges.tolist()]
            names = [f"up to {ends[0]}", *(f"over {low} to {high}" for low, high in pairwise(ends)), f"over {ends[-1]}"]
            texts[~absent] = np.array(names, dtype=object)[np.searchsorted(edges, numbers)]
    else:
        texts = np.array(
            [MISSING if gap else str(value) for value, gap in zip(values.tolist(), absent, strict=True)], dtype=object
        )
    n_groups = len(np.unique(texts))
    if n_groups > MOST_GROUPS:
        raise OptionError(
            f"the column {quoted(column)} has {n_groups} values: give one with at most {MOST_GROUPS} groups",
            group=None,
        )
    return texts


def _proxy(term: str, values: FloatArray, labels: np.ndarray) -> Proxy:
    names, counts = np.unique(labels, return_counts=True)
    m, ties = len(values), np.unique(values, return_counts=True)[1].astype(float)
    spread = (m + 1.0 - (ties**3 - ties).sum() / (m * max(m - 1.0, 1.0))) / 3.0  # of 2 AUC - 1, if ranks are random
    # the best of several groups is compared; two groups are one comparison
    clear = norm.isf(0.5 * (1.0 - CHANCE ** (1.0 / max(len(names) - (len(names) == 2), 1))))
    tests = []
    for name, count in zip(names.tolist(), counts.tolist(), strict=True):
        mine = labels == name
        if mine.all():
            continue
        area = AreaEstimate.of(mine, values, np.ones(m))
        chance = min(clear * (spread / (count * (m - count))) ** 0.5, 1.0)
        gap = float(values[mine].mean() - values[~mine].mean())
        tests.append(Proxy(term, name, abs(2.0 * area.value - 1.0), float(chance), gap))
    # of groups of a few rows, chance tells most
    return max(tests, key=lambda each: round(each.separation - each.by_chance, 9), default=Proxy(term, "", 0.0, 1.0, 0.0))


def _without(model: TableModel, table: Table, column: str, share: float, good: str) -> tuple[BoolArray, float | None]:
    """Whom a model without the column approves, if it approves as many rows, and its AUC out of fold."""
    options, target = model.training_options, model.saved.target
    if options is None or target is None:
        raise OptionError("the model file does not say how the model was fitted: leave it out", refit=None)
    if "reject_inference" in model.saved.metadata:
        raise OptionError("the model was fitted with reject inference, which is not repeated: leave it out", refit=None)
    kept: dict[str, Any] = {
        name: tuple(each for each in getattr(options, name) if not _names(each, column))
        for name in ("keep", "texts", "dates", "include", "exclude")
    }
    kept |= _rules_without(options, column)
    own = replace(options, ignore=(*options.ignore, column), frozen=(), actionable=(), **kept)
    trained = train(table, target, own)
    found = trained.cross_validation
    again = TableModel(trained.saved())
    scores = again.scores(table).decision
    towards = scores if again.class_names[1] == good else -scores
    approved = np.asarray(towards >= np.quantile(towards, 1.0 - share, method="higher")) & (share > 0.0)
    return approved, None if found is None or found.auc is None else found.auc.mean


def _rules_without(options: TrainingOptions, column: str) -> dict[str, Any]:
    """The rules of a fit, less what they say of a column."""
    kept: dict[str, Any] = {}
    for name in ("feature_cost", "monotonic_cst", "coef_bounds"):
        rules = getattr(options, name) or {}
        kept[name] = {term: rule for term, rule in rules.items() if not _names(term, column)} or None
    if kept["feature_cost"] is None:
        kept["max_cost"] = None
    if not isinstance(options.interaction_cst, str | None):
        sets = ([name for name in members if not _names(name, column)] for members in options.interaction_cst)
        kept["interaction_cst"] = [members for members in sets if members] or None
    return kept


def _names(term: str, column: str) -> bool:
    """Whether a term is one of a column."""
    factors = (factor.removesuffix("^2") for factor in term.split("*"))
    return any(factor == column or factor.startswith((f"{column}=", f"{column} is missing")) for factor in factors)
