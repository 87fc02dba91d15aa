"""What a run leaves behind to read: tables, figures, one HTML page, and the page of the documentation."""

from __future__ import annotations

import html
import platform
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from quadric.files import write_atomically
from quadric.paper.claims import Claim, claims
from quadric.paper.experiments import Plan
from quadric.paper.explanations import Outlier, outliers
from quadric.paper.figures import FIGURES
from quadric.paper.models import MODELS
from quadric.paper.results import table_cells
from quadric.paper.store import Store
from quadric.paper.tables import TextTable, credit_table, long_table, models_table, result_table

OTHER_WORK = {"curve": "Figure 3", "fault": "errors switched on"}
TIME_CAPTION = "Seconds of one core's work by column, summed over data sets and folds."
LIBRARIES = ("quadric", "numpy", "scipy", "scikit-learn", "joblib", "statsmodels", "matplotlib")


@dataclass(frozen=True)
class Findings:
    """Everything that pages show.

    Attributes
    ----------
    plan : Plan
    command : str
        What was run.
    tables : tuple of TextTable
    figures : mapping
        From a caption to (name, SVG).
    outliers : tuple of Outlier
    claims : tuple of Claim
    seconds : mapping
        From a model or other work to the seconds of all its rows.
    counts : tuple of int
        Cells compared with the paper, and those within one deviation or above.
    """

    plan: Plan
    command: str
    tables: tuple[TextTable, ...]
    figures: Mapping[str, tuple[str, str]]
    outliers: tuple[Outlier, ...]
    claims: tuple[Claim, ...]
    seconds: Mapping[str, float]
    counts: tuple[int, int, int]


def gather(plan: Plan, store: Store, command: str) -> Findings:
    """Read tables, figures and claims off a store."""
    makers: dict[str, Callable[[], TextTable]] = {
        "table1": lambda: models_table(plan),
        "table2": lambda: result_table(plan, store, "table2"),
        "table3": lambda: credit_table(plan),
        "table4": lambda: result_table(plan, store, "table4"),
    }
    tables = tuple(table for part, make in makers.items() if part in plan.parts and (table := make()).rows)
    drawn = {caption: (name, draw(store)) for name, (caption, draw) in FIGURES.items() if name in plan.parts}
    deviations = [cell.deviation for t in ("table2", "table4") for row in table_cells(plan, store, t) for cell in row]
    known = [deviation for deviation in deviations if deviation is not None]
    return Findings(
        plan=plan,
        command=command,
        tables=tables,
        figures={caption: (name, svg) for caption, (name, svg) in drawn.items() if svg is not None},
        outliers=tuple(outliers(plan, store)),
        claims=tuple(claims(plan, store)) if "claims" in plan.parts else (),
        seconds=_seconds_by_column(store),
        counts=(len(known), sum(abs(d) <= 1.0 for d in known), sum(abs(d) <= 2.0 for d in known)),
    )


def write_everything(findings: Findings, store: Store, folder: Path) -> list[Path]:
    """Write all files of a run; returns their paths."""
    contents: dict[str, str] = {}
    for table in findings.tables:
        contents |= {f"{table.name}.csv": table.csv(), f"{table.name}.md": table.markdown(), f"{table.name}.tex": table.latex()}
    if {"table2", "table4"} & set(findings.plan.parts):
        contents["cells.csv"] = long_table(findings.plan, store).csv()
    contents |= {f"{name}.svg": svg for name, svg in findings.figures.values()}
    contents["reproduction.md"] = reproduction(findings)
    contents["index.html"] = page(findings)
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]


def _seconds_by_column(store: Store) -> dict[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for key, row in store.times.items():
        kind, _, subject, *split = key.split("/")
        name = MODELS[subject].label if kind == "grid" else OTHER_WORK.get(kind, "single fits")
        reading = ", inner folds" if split and "." in split[0] else ""
        totals[name + reading] += row["work"]
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def _versions() -> list[str]:
    found = [f"Python {platform.python_version()}"]
    for name in LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _setting(findings: Findings) -> list[str]:
    plan = findings.plan
    reading = {
        "paper": "the paper's: the best mean over the grid, on the folds that chose it (optimistic)",
        "nested": "the paper's (best mean over the grid) and nested (chosen inside each outer fold), which is what to believe",
    }[plan.reading]
    return [
        f"Command: `{findings.command}`",
        f"Protocol: {reading}",
        f"Folds: KFold(5, shuffle=True, random_state={plan.seed}), standardised inside the fold, sample deviation",
        f"Versions: {', '.join(_versions())}",
    ]


def _summary(findings: Findings) -> str:
    compared, within, within_two = findings.counts
    if not compared:
        return "No cell of a result table was computed."
    return (
        f"Of {compared} cells that the paper prints too, {within} have a mean accuracy within one of the paper's standard "
        f"deviations and {within_two} within two."
    )


def _outlier_line(item: Outlier) -> str:
    cell, ours, paper = item.cell, item.cell.ours, item.cell.paper
    assert ours is not None
    assert paper is not None
    figures = f"{ours.accuracy_mean:.2f} against {paper.accuracy_mean:.2f} ± {paper.accuracy_std:.2f}"
    name = f"{MODELS[cell.model].label} on {cell.dataset.paper_name}"
    return f"{name}: {figures} ({cell.deviation:+.2f} deviations): {item.reason}"


def _time_lines(findings: Findings) -> list[str]:
    total = sum(findings.seconds.values())
    lines = [f"{name}: {seconds:.1f} s" for name, seconds in findings.seconds.items()]
    return [f"all work: {total:.0f} s", *lines]


def reproduction(findings: Findings) -> str:
    """The page of the documentation, in Markdown."""
    lines = ["# The paper's results, and ours", "", "Written by `quadric paper` from its stored rows; do not edit.", ""]
    lines += [f"- {line}" for line in _setting(findings)]
    lines += ["", "## What agrees", "", _summary(findings), ""]
    lines += ["## Cells outside one deviation", ""]
    lines += [f"- {_outlier_line(item)}" for item in findings.outliers] or ["None."]
    lines += ["", "## What the paper says", ""] if findings.claims else []
    for claim in findings.claims:
        lines += [f"- **{claim.verdict}**: {claim.statement}", *(f"    - {text}" for text in claim.evidence)]
    for table in findings.tables:
        lines += ["", f"## {table.caption}", "", table.markdown().rstrip()]
    lines += ["", "## Time", "", TIME_CAPTION, ""]
    lines += [f"- {line}" for line in _time_lines(findings)]
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
table { border-collapse: collapse; font-size: 0.85rem; margin: 1rem 0; display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: 0.4rem 0; }
th, td {
  border-bottom: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: left; white-space: nowrap; vertical-align: top;
}
#table3 td:last-child { white-space: normal; min-width: 24rem; }
thead th { background: var(--soft); }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--ink); background: var(--paper); padding: 0.3rem 0; }
.verdict { font-weight: 600; }
@media print { table { display: table; font-size: 7pt; } body { max-width: none; } }
"""


def page(findings: Findings) -> str:
    """One HTML file with everything in it and nothing fetched."""
    body = ["<h1>The paper's results, and ours</h1>"]
    body += ["<ul>", *(f"<li>{html.escape(line.replace('`', ''))}</li>" for line in _setting(findings)), "</ul>"]
    body += ["<h2>What agrees</h2>", f"<p>{html.escape(_summary(findings))}</p>"]
    body += ["<h2>Cells outside one deviation</h2>", _html_list([_outlier_line(item) for item in findings.outliers])]
    if findings.claims:
        body += ["<h2>What the paper says</h2>", "<ul>", *(_html_claim(claim) for claim in findings.claims), "</ul>"]
    body += ["<h2>Tables</h2>"]
    body += [f'<section id="{table.name}">{table.html()}</section>' for table in findings.tables]
    body += ["<h2>Figures</h2>"] if findings.figures else []
    body += [_html_figure(caption, svg) for caption, (_, svg) in findings.figures.items()]
    body += [
        "<h2>Time</h2>",
        f"<p>{TIME_CAPTION}</p>",
        _html_list(_time_lines(findings)),
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


def _html_claim(claim: Claim) -> str:
    evidence = _html_list(claim.evidence) if claim.evidence else ""
    return f'<li><span class="verdict">{claim.verdict}</span>: {html.escape(claim.statement)}{evidence}</li>'


def _html_figure(caption: str, svg: str) -> str:
    inline, name = svg[svg.index("<svg") :], html.escape(caption)
    return f'<figure role="img" aria-label="{name}">{inline}<figcaption>{name}</figcaption></figure>'
