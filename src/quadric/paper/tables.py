"""The four tables as text, CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quadric.paper.experiments import Plan
from quadric.paper.models import MODELS, Cell
from quadric.paper.protocol import N_FOLDS, Reported
from quadric.paper.results import TableCell, all_cells, table_cells
from quadric.paper.store import Store

# Figures of a cell, and their names in the header.
FIGURES = {"accuracy": "acc", "F1": "F1"}
BOLD = re.compile(r"\*\*(.*)\*\*")
# Means closer than this are tied.
SAME = 1e-9


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    name : str
        Name of its files, without ending.
    caption : str
    header : tuple of str
    rows : sequence of sequences of str
        As in Markdown: a bold entry stands between asterisks.
    """

    name: str
    caption: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def csv(self) -> str:
        out = io.StringIO()
        rows = ([text.strip("*") for text in row] for row in self.rows)
        csv.writer(out, lineterminator="\n").writerows([self.header, *rows])
        return out.getvalue()

    def markdown(self) -> str:
        rows = [self.header, ["---"] * len(self.header), *self.rows]
        return "".join("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |\n" for row in rows)

    def latex(self) -> str:
        rows = [[BOLD.sub(r"\\textbf{\1}", latex_escaped(text)) for text in row] for row in self.rows]
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{latex_escaped(self.caption)}}}",
                rf"\begin{{tabular}}{{{'l' * len(self.header)}}}",
                r"\toprule",
                " & ".join(latex_escaped(name) for name in self.header) + r" \\",
                r"\midrule",
                *(" & ".join(row) + r" \\" for row in rows),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def models_table(plan: Plan) -> TextTable:
    """Table 1."""
    models = [MODELS[key] for key in plan.rows_of_tables()]
    rows = [(m.label, m.solver, m.published_solver or "(ours only)", ", ".join(m.parameters)) for m in models]
    return TextTable("table1", "Table 1. Models", ("Model", "Solver here", "Solver in the paper", "Parameters"), rows)


def credit_table(plan: Plan) -> TextTable:
    """Table 3."""
    rows = []
    for info in plan.columns_of_table("table4"):
        features = "; ".join(f"{i}. {name}" for i, name in enumerate(info.features, 1))
        rows.append((info.paper_name, info.source, info.kind, str(info.shape), features))
    header = ("Data set", "Source", "Type", "(m, n)", "Features")
    return TextTable("table3", "Table 3. Credit data", header, rows)


def result_table(plan: Plan, store: Store, table: str) -> TextTable:
    """Table 2 or 4: one row per model and data set, with our figures and the paper's."""
    cells = table_cells(plan, store, table)
    readings = ("ours", "nested", "paper") if plan.reading == "nested" else ("ours", "paper")
    figures = [f"{figure} {column}" for figure in FIGURES.values() for column in (*readings, "diff")]
    rows = []
    for j in range(len(plan.columns_of_table(table))):
        column = [row[j] for row in cells]
        best = {figure: max((_mean(cell.ours, figure) for cell in column), default=-math.inf) for figure in FIGURES}
        rows += [_result_row(cell, best, readings) for cell in column]
    title = {"table2": "Table 2. Public benchmark data", "table4": "Table 4. Credit data"}[table]
    caption = (
        f"{title}: mean ± sample standard deviation over {N_FOLDS} folds, in per cent; diff: ours minus the paper's, in units "
        "of the paper's standard deviation; bold: the best accuracy and the best F1 of ours on a data set"
    )
    return TextTable(table, caption, ("Data set", "Model", *figures, "chosen"), rows)


def _result_row(cell: TableCell, best: Mapping[str, float], readings: Sequence[str]) -> list[str]:
    label = MODELS[cell.model].label + (" (ours only)" if cell.paper is None else "")
    row = [f"{cell.dataset.paper_name} {cell.dataset.shape}", label]
    for figure in FIGURES:
        texts = {
            "ours": _plus_minus(cell.ours, figure) or ("private" if cell.dataset.obtained == "private" else "not computed"),
            "nested": _plus_minus(cell.nested, figure) or "–",
            "paper": _plus_minus(cell.paper, figure) or "–",
        }
        if cell.ours is not None and _mean(cell.ours, figure) >= best[figure] - SAME:
            texts["ours"] = f"**{texts['ours']}**"
        row += [texts[reading] for reading in readings]
        row.append(f"{cell.deviations[figure]:+.2f}" if cell.deviations else "–")
    return [*row, parameter_text(cell.chosen) or "–"]


def long_table(plan: Plan, store: Store) -> TextTable:
    """One row per cell of both result tables, with more digits and the chosen parameters."""
    names = ("accuracy_mean", "accuracy_std", "f1_mean", "f1_std")
    header = ["table", "dataset", "model", *names, *(f"paper_{name}" for name in names), "deviations", "chosen"]
    header += [f"nested_{name}" for name in names]
    rows = []
    for cell in all_cells(plan, store):
        numbers = [*_numbers(cell.ours), *_numbers(cell.paper)]
        chosen = [f"{cell.deviations['accuracy']:.3f}" if cell.deviations else "", parameter_text(cell.chosen)]
        name = cell.dataset.name
        rows.append((f"table{cell.dataset.table}", name, cell.model, *numbers, *chosen, *_numbers(cell.nested)))
    return TextTable("cells", "All cells", tuple(header), rows)


def parameter_text(cell: Cell | None) -> str:
    """The parameters of a cell as text."""
    return "" if cell is None else ", ".join(f"{name}={value:g}" for name, value in cell.items())


def _numbers(values: Reported | None) -> list[str]:
    return [""] * 4 if values is None else [f"{value:.4f}" for value in values.figures]


def _plus_minus(values: Reported | None, figure: str) -> str:
    return "" if values is None else "{:.2f} ± {:.2f}".format(*values.spread(figure))


def _mean(values: Reported | None, figure: str) -> float:
    return -math.inf if values is None else values.spread(figure)[0]


def latex_escaped(text: str) -> str:
    """Escape the special characters of LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "–": "--"}
    return "".join(special.get(letter, "\\" + letter if letter in "&%$#_{}" else letter) for letter in text)
