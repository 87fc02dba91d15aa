"""The output of a run: tables, figures, one HTML page, and the page of the documentation."""

from __future__ import annotations

import platform
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from quadric.datasets import resolve
from quadric.extras import require
from quadric.paper.claims import claims
from quadric.paper.experiments import TABLE_DATASETS, Plan
from quadric.paper.figures import FIGURES
from quadric.paper.models import BEST_OF, LARGEST_BEST_K, MODELS, TIES
from quadric.paper.results import Outlier, all_cells, is_within, outliers
from quadric.paper.store import Store, write_whole
from quadric.paper.tables import TextTable, credit_table, long_table, models_table, result_table

OTHER_WORK = {"curve": "Figure 3", "fault": "errors reproduced"}
AGREEMENT = (
    "Of the {} cells that the paper also has, {} have a mean accuracy within one of the paper's standard deviations, and {} "
    "within two."
)
# The page of the documentation
DOCUMENTATION = "reproduction.md"
PD, BEST = "method pd", "method best"
LIBRARIES = ("quadric", "numpy", "scipy", "scikit-learn", "joblib", "statsmodels", "matplotlib")


def gather(plan: Plan, store: Store, command: str) -> dict[str, Any]:
    """What a run has found, by the names that the templates of the pages use.

    Parameters
    ----------
    plan : Plan
    store : Store
    command : str
        The command that was run.

    Returns
    -------
    dict
        Texts, except ``tables``; ``cells``, the long table, or None; ``figures``, pairs (name, SVG) by caption; ``claims``;
        and ``counts``: cells compared with the paper, with an accuracy within one standard deviation, and within two.
    """
    makers: dict[str, Callable[[], TextTable]] = {
        "table1": lambda: models_table(plan),
        "table2": lambda: result_table(plan, store, "table2"),
        "table3": lambda: credit_table(plan),
        "table4": lambda: result_table(plan, store, "table4"),
    }
    drawn = {caption: (name, draw(store)) for name, (caption, draw) in FIGURES.items() if name in plan.parts}
    compared = [cell.deviations["accuracy"] for cell in all_cells(plan, store) if cell.deviations]
    counts = len(compared), *(sum(is_within(deviation, limit) for deviation in compared) for limit in (1.0, 2.0))
    return {
        "setting": _setting(plan, command),
        "counts": counts,
        "summary": AGREEMENT.format(*counts) if compared else "No cell of a result table was computed.",
        "outliers": list(map(_outlier_line, outliers(plan, store))),
        "claims": claims(plan, store) if "claims" in plan.parts else (),
        "tables": [table for part, make in makers.items() if part in plan.parts and (table := make()).rows],
        "cells": long_table(plan, store) if TABLE_DATASETS.keys() & set(plan.parts) else None,
        "figures": {caption: (name, svg) for caption, (name, svg) in drawn.items() if svg is not None},
        "times": _time_lines(store),
    }


def write_everything(findings: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write all files of a run and return their paths."""
    contents: dict[str, str] = {}
    for table in findings["tables"]:
        contents |= {f"{table.name}.csv": table.csv(), f"{table.name}.md": table.markdown(), f"{table.name}.tex": table.latex()}
    if findings["cells"] is not None:
        contents["cells.csv"] = findings["cells"].csv()
    contents |= {f"{name}.svg": svg for name, svg in findings["figures"].values()}
    contents |= {name: rendered(name, findings) for name in (DOCUMENTATION, "index.html")}
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def rendered(name: str, findings: Mapping[str, Any]) -> str:
    """A page from its template: DOCUMENTATION in Markdown, or one self-contained HTML file."""
    jinja = require("jinja2", "paper")
    environment = jinja.Environment(
        loader=jinja.PackageLoader("quadric.paper"),
        autoescape=jinja.select_autoescape(),
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["inline"] = _inline
    return str(environment.get_template(name).render(findings))


def _inline(svg: str, name: str) -> str:
    """A picture for a page: Matplotlib uses the same ids in every figure, but they must be unique on a page."""
    return re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])


def _seconds_by_column(store: Store) -> dict[str, dict[str, float]]:
    readings = ("the paper's protocol", "inner folds of the nested protocol")
    totals: dict[str, dict[str, float]] = {f"{r}, {m}": defaultdict(float) for r in readings for m in (PD, BEST)}
    for key, row in store.times.items():
        kind, _, subject, *split = key.split("/")
        name = MODELS[subject].label if kind == "grid" else OTHER_WORK.get(kind, "single fits")
        reading = readings[bool(split) and "." in split[0]]
        totals[f"{reading}, {BEST if subject in BEST_OF.values() else PD}"][name] += row["work"]
    ordered = {group: dict(sorted(columns.items(), key=lambda item: -item[1])) for group, columns in totals.items()}
    return {group: columns for group, columns in ordered.items() if columns}


def _versions() -> list[str]:
    versions = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return versions


def _setting(plan: Plan, command: str) -> list[str]:
    reading = {
        "paper": "the paper's: the best mean over the grid, on the folds that chose it, which is optimistic",
        "nested": "the paper's (best mean over the grid) and nested (chosen inside each outer fold); trust the nested figures",
    }[plan.reading]
    return [
        f"Command: `{command}`",
        f"Protocol: {reading}",
        f"Folds: KFold(5, shuffle=True, random_state={plan.seed}), standardised inside each fold; sample standard deviations",
        f"Ties: {TIES}",
        *_shorter_grids(plan),
        f"Versions: {', '.join(_versions())}",
    ]


def _shorter_grids(plan: Plan) -> list[str]:
    shorter = {name: k for name, k in LARGEST_BEST_K.items() if name in plan.datasets}
    if "l0-qsvm-best" not in plan.rows_of_tables():
        return []
    label = MODELS["l0-qsvm-best"].label
    return [f"Grids: {label}, only up to k = {k} on {resolve(name).paper_name}" for name, k in shorter.items()]


def _outlier_line(item: Outlier) -> str:
    cell, figures, reason = item
    assert cell.ours is not None
    assert cell.paper is not None
    texts = [
        "{} {:.2f} against {:.2f} ± {:.2f} ({:+.2f} deviations)".format(
            figure, cell.ours.spread(figure)[0], *cell.paper.spread(figure), cell.deviations[figure]
        )
        for figure in figures
    ]
    return f"{MODELS[cell.model].label} on {cell.dataset.paper_name}: {', '.join(texts)}: {reason}"


def _time_lines(store: Store) -> list[str]:
    lines = []
    for group, columns in _seconds_by_column(store).items():
        total = sum(columns.values())
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in columns.items())
        lines.append(f"{group}: {total:.0f} s, about {total / 120:.1f} min on two free cores ({parts})")
    return lines + [
        "elapsed: {pieces} tasks in {elapsed:.0f} s ({minutes:.1f} min) with n_jobs = {n_jobs}".format(
            minutes=run["elapsed"] / 60, **run
        )
        for run in store.runs
    ]
