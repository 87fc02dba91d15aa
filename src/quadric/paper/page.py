"""The output of a run: tables, figures, one HTML page, and the page of the documentation."""

from __future__ import annotations

import html
import platform
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from quadric.datasets import resolve
from quadric.paper.claims import Claim, claims
from quadric.paper.experiments import TABLE_DATASETS, Plan
from quadric.paper.figures import FIGURES
from quadric.paper.models import BEST_OF, LARGEST_BEST_K, MODELS, TIES
from quadric.paper.results import Outlier, all_cells, is_within, outliers
from quadric.paper.store import Row, Store, write_whole
from quadric.paper.tables import TextTable, credit_table, long_table, models_table, result_table

OTHER_WORK = {"curve": "Figure 3", "fault": "errors reproduced"}
TIME_CAPTION = "Processor time in seconds on one core, summed over data sets and folds."
OUTLIERS = "Cells that differ by more than one standard deviation"
PD, BEST = "method pd", "method best"
LIBRARIES = ("quadric", "numpy", "scipy", "scikit-learn", "joblib", "statsmodels", "matplotlib")


@dataclass(frozen=True)
class Findings:
    """The content of the pages.

    Attributes
    ----------
    plan : Plan
    command : str
        The command that was run.
    tables : tuple of TextTable
    figures : mapping
        (name, SVG) by caption.
    outliers : tuple of Outlier
    claims : tuple of Claim
    seconds : mapping
        Seconds per model or other work, by protocol and method.
    runs : tuple of mappings
        ``pieces``, ``elapsed`` seconds and ``n_jobs`` of whole runs.
    counts : tuple of int
        Number of cells compared with the paper, with an accuracy within one standard deviation, and within two.
    """

    plan: Plan
    command: str
    tables: tuple[TextTable, ...]
    figures: Mapping[str, tuple[str, str]]
    outliers: tuple[Outlier, ...]
    claims: tuple[Claim, ...]
    seconds: Mapping[str, Mapping[str, float]]
    runs: tuple[Row, ...]
    counts: tuple[int, int, int]


def gather(plan: Plan, store: Store, command: str) -> Findings:
    """Make tables, figures and claims from a store."""
    makers: dict[str, Callable[[], TextTable]] = {
        "table1": lambda: models_table(plan),
        "table2": lambda: result_table(plan, store, "table2"),
        "table3": lambda: credit_table(plan),
        "table4": lambda: result_table(plan, store, "table4"),
    }
    tables = tuple(table for part, make in makers.items() if part in plan.parts and (table := make()).rows)
    figures = {caption: (name, draw(store)) for name, (caption, draw) in FIGURES.items() if name in plan.parts}
    compared = [cell.deviations["accuracy"] for cell in all_cells(plan, store) if cell.deviations]
    return Findings(
        plan=plan,
        command=command,
        tables=tables,
        figures={caption: (name, svg) for caption, (name, svg) in figures.items() if svg is not None},
        outliers=tuple(outliers(plan, store)),
        claims=tuple(claims(plan, store)) if "claims" in plan.parts else (),
        seconds=_seconds_by_column(store),
        runs=tuple(store.runs),
        counts=(len(compared), sum(is_within(d, 1.0) for d in compared), sum(is_within(d, 2.0) for d in compared)),
    )


def write_everything(findings: Findings, store: Store, folder: Path) -> list[Path]:
    """Write all files of a run and return their paths."""
    contents: dict[str, str] = {}
    for table in findings.tables:
        contents |= {f"{table.name}.csv": table.csv(), f"{table.name}.md": table.markdown(), f"{table.name}.tex": table.latex()}
    if TABLE_DATASETS.keys() & set(findings.plan.parts):
        contents["cells.csv"] = long_table(findings.plan, store).csv()
    contents |= {f"{name}.svg": svg for name, svg in findings.figures.values()}
    contents["reproduction.md"] = reproduction(findings)
    contents["index.html"] = page(findings)
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


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


def _setting(findings: Findings) -> list[str]:
    plan = findings.plan
    reading = {
        "paper": "the paper's: the best mean over the grid, on the folds that chose it, which is optimistic",
        "nested": "the paper's (best mean over the grid) and nested (chosen inside each outer fold); trust the nested figures",
    }[plan.reading]
    return [
        f"Command: `{findings.command}`",
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


def _summary(findings: Findings) -> str:
    compared, within, within_two = findings.counts
    if not compared:
        return "No cell of a result table was computed."
    return (
        f"Of the {compared} cells that the paper also has, {within} have a mean accuracy within one of the paper's standard "
        f"deviations, and {within_two} within two."
    )


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


def _time_lines(findings: Findings) -> list[str]:
    lines = []
    for group, columns in findings.seconds.items():
        total = sum(columns.values())
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in columns.items())
        lines.append(f"{group}: {total:.0f} s, about {total / 120:.1f} min on two free cores ({parts})")
    return lines + [
        "elapsed: {pieces} tasks in {elapsed:.0f} s ({minutes:.1f} min) with n_jobs = {n_jobs}".format(
            minutes=run["elapsed"] / 60, **run
        )
        for run in findings.runs
    ]


def reproduction(findings: Findings) -> str:
    """The page of the documentation, in Markdown."""
    evidence = ((f"- **{c.verdict}**: {c.statement}", *(f"    - {text}" for text in c.evidence)) for c in findings.claims)
    tables = (("", f"## {table.caption}", "", table.markdown().rstrip()) for table in findings.tables)
    lines = [
        *("# The paper's results, and ours", "", "Written by `quadric paper` from its stored rows. Do not edit.", ""),
        *(f"- {line}" for line in _setting(findings)),
        *("", "## What agrees", "", _summary(findings), ""),
        *(f"## {OUTLIERS}", ""),
        *([f"- {_outlier_line(item)}" for item in findings.outliers] or ["None."]),
        *(("", "## What the paper says", "") if findings.claims else ()),
        *chain.from_iterable(evidence),
        *chain.from_iterable(tables),
        *("", "## Time", "", TIME_CAPTION, ""),
        *(f"- {line}" for line in _time_lines(findings)),
    ]
    return "\n".join(lines) + "\n"


STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #ffffff; --soft: #f1f4f8; --line: #c9d2dc; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf1; --paper: #12171e; --soft: #1c232d; --line: #3a4654; }
  figure { background: #ffffff; }
}
body {
  font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 72rem; padding: 0 1rem;
}
section { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8rem; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; padding: 0.4rem 0; }
th, td {
  border-bottom: 1px solid var(--line); padding: 0.25rem 0.4rem; text-align: left; white-space: nowrap; vertical-align: top;
}
td:nth-child(2), td:last-child, thead th { white-space: normal; }
td:nth-child(2) { min-width: 6.5rem; }
#table3 td:last-child { min-width: 24rem; }
thead th { background: var(--soft); }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--ink); background: var(--paper); padding: 0.3rem 0; }
.verdict { font-weight: 600; }
@media print { table { font-size: 7pt; } body { max-width: none; } }
"""


def page(findings: Findings) -> str:
    """One self-contained HTML file."""
    verdicts = [
        f'<li><span class="verdict">{claim.verdict}</span>: {html.escape(claim.statement)}'
        f"{_html_list(claim.evidence) if claim.evidence else ''}</li>"
        for claim in findings.claims
    ]
    body = [
        "<h1>The paper's results, and ours</h1>",
        *("<ul>", *(f"<li>{html.escape(line.replace('`', ''))}</li>" for line in _setting(findings)), "</ul>"),
        *("<h2>What agrees</h2>", f"<p>{html.escape(_summary(findings))}</p>"),
        *(f"<h2>{OUTLIERS}</h2>", _html_list([_outlier_line(item) for item in findings.outliers])),
        *(("<h2>What the paper says</h2>", "<ul>", *verdicts, "</ul>") if verdicts else ()),
        "<h2>Tables</h2>",
        *(f'<section id="{table.name}">{table.html()}</section>' for table in findings.tables),
        *(["<h2>Figures</h2>"] if findings.figures else ()),
        *(_html_figure(name, caption, svg) for caption, (name, svg) in findings.figures.items()),
        *("<h2>Time</h2>", f"<p>{TIME_CAPTION}</p>", _html_list(_time_lines(findings))),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper's results, and ours</title><style>{STYLE}</style>"
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n<main>\n'
        + "\n".join(body)
        + "\n</main>\n</body></html>\n"
    )


def _html_list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines or ["None."]) + "</ul>"


def _html_figure(name: str, caption: str, svg: str) -> str:
    # Matplotlib uses the same ids in every figure, but they must be unique on a page
    inline = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", svg[svg.index("<svg") :])
    label = html.escape(caption)
    return f'<figure role="img" aria-label="{label}">{inline}<figcaption>{label}</figcaption></figure>'
