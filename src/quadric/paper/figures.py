"""Draw the paper's figures as SVG from the rows of a store; the same rows give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from quadric.datasets import resolve
from quadric.extras import require
from quadric.geometry.terms import term_count, to_matrix
from quadric.paper.experiments import CURVE_DATASETS, PATTERNS, TREND_C, TREND_DATASETS, pattern_tasks
from quadric.paper.models import BEST_OF, MODELS
from quadric.paper.results import Trend, trend
from quadric.paper.store import Row, Store
from quadric.paper.tables import parameter_text
from quadric.paper.tasks import CURVE_CS, Task
from quadric.types import FloatArray

BLUE, ORANGE, GREEN, GREY = "#1f5fa8", "#d98200", "#2e8b57", "#9aa4ad"
COLOURS = {"l0-qsvm": BLUE, "ls-l0-qsvm": ORANGE}
SIGNIFICANT = 0.05
# Title, parameter on the axis, and lines by their labels.
Panel: TypeAlias = tuple[str, str, dict[str, Trend | None]]


def coefficients(row: Row, n_features: int) -> tuple[FloatArray, FloatArray]:
    """W and b of a stored surface."""
    z = np.zeros(term_count(n_features))
    for term, value in row["terms"]:
        z[term] = value
    return to_matrix(z)


def sparsity_figure(store: Store) -> str | None:
    """Non-zero entries of W and b for the three sparse quadratic models on immunotherapy."""
    tasks = pattern_tasks("figure1")
    if any(task.key not in store for task in tasks):
        return None
    figure, axes = _canvas(1, len(tasks), (10.5, 4.2))
    for ax, task, (dataset, model, cell) in zip(axes.flat, tasks, PATTERNS["figure1"], strict=True):
        _draw_pattern(ax, *coefficients(store[task.key], resolve(dataset).shape[1]))
        ax.set_title(f"{MODELS[model].label}\n({parameter_text(cell)}): {len(store[task.key]['terms'])} terms", fontsize=10)
    return _svg(figure)


def trend_figure(store: Store) -> str | None:
    """Accuracy against k at C = 1024, and against C at one k, for both l0 models."""
    panels: list[Panel] = []
    for dataset, k in TREND_DATASETS.items():
        name = resolve(dataset).paper_name
        along_k = {MODELS[model].label: trend(store, dataset, model, along="k", C=TREND_C) for model in BEST_OF}
        along_C = {MODELS[model].label: trend(store, dataset, model, along="C", k=k) for model in BEST_OF}
        panels += [(f"{name}: accuracy against k (C = {TREND_C:g})", "k", along_k)]
        panels += [(f"{name}: accuracy against C (k = {k})", "C", along_C)]
    if any(line is None for _, _, lines in panels for line in lines.values()):
        return None
    return _curves(panels, (2, 2), (10.5, 7.5), list(COLOURS.values()))


def credit_figure(store: Store) -> str | None:
    """Accuracy of LS-l0-QSVM against k on credit data, for three values of C."""
    panels: list[Panel] = []
    for dataset in CURVE_DATASETS:
        lines = {f"C = {C:g}": trend(store, dataset, "ls-l0-qsvm", along="k", kind="curve", C=C) for C in CURVE_CS}
        if all(line is not None for line in lines.values()):
            panels.append((f"{resolve(dataset).paper_name}: LS-l0-QSVM", "k", lines))
    if not panels:
        return None
    return _curves(panels, (1, len(panels)), (5.2 * len(panels), 4.0), [BLUE, ORANGE, GREEN])


def significance_figure(store: Store) -> str | None:
    """GCD: the non-zero entries of W and b next to the significant coefficients of a logistic regression."""
    pattern, test = pattern_tasks("figure4")[0], Task("significance", "german", "logit")
    if pattern.key not in store or test.key not in store:
        return None
    figure, axes = _canvas(1, 2, (9.5, 6.6), width_ratios=[14, 1])
    _draw_pattern(axes[0, 0], *coefficients(store[pattern.key], 20))
    axes[0, 0].set_title(
        f"LS-l0-QSVM ({parameter_text(PATTERNS['figure4'][0][2])}): non-zero entries of W, and of b below", fontsize=10
    )
    _draw_column(axes[0, 1], np.array(store[test.key]["p_values"]) < SIGNIFICANT)
    axes[0, 1].set_title("LR, 95 %", fontsize=10)
    return _svg(figure)


FIGURES: dict[str, tuple[str, Callable[[Store], str | None]]] = {
    "figure1": ("Figure 1. Sparsity of W and b on immunotherapy, three sparse quadratic models", sparsity_figure),
    "figure2": ("Figure 2. Accuracy against k and C: l0-QSVM (blue) and LS-l0-QSVM (orange)", trend_figure),
    "figure3": ("Figure 3. Accuracy of LS-l0-QSVM against k on credit data", credit_figure),
    "figure4": (
        "Figure 4. GCD: terms of LS-l0-QSVM (blue) and significant coefficients of a logistic regression (green)",
        significance_figure,
    ),
}


def _canvas(rows: int, columns: int, size: tuple[float, float], **grid: Any) -> tuple[Any, Any]:
    figure = require("matplotlib.figure", "plot").Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, gridspec_kw=grid or None)


def _draw_pattern(ax: Any, W: FloatArray, b: FloatArray) -> None:
    """W as squares, with b as one more row below; filled where a coefficient is not zero."""
    n = len(b)
    for i in range(n):
        for j in range(n):
            _square(ax, j, i, BLUE if W[i, j] else "white")
        _square(ax, i, n + 0.6, BLUE if b[i] else "white")
    names = [str(i) for i in range(1, n + 1)]
    ax.set_xticks(range(n), names, fontsize=8)
    ax.set_yticks([*range(n), n + 0.6], [*names, "b"], fontsize=8)
    _frame(ax, n, n)


def _draw_column(ax: Any, marked: Sequence[bool] | np.ndarray) -> None:
    n = len(marked)
    for i, mark in enumerate(marked):
        _square(ax, 0, i, GREEN if mark else "white")
    ax.set_xticks([])
    ax.set_yticks(range(n), [str(i) for i in range(1, n + 1)], fontsize=8)
    _frame(ax, n, 1)


def _square(ax: Any, x: float, y: float, colour: str) -> None:
    rectangle = require("matplotlib.patches", "plot").Rectangle
    ax.add_patch(rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=colour, edgecolor=GREY, linewidth=0.5))


def _frame(ax: Any, rows: int, columns: int) -> None:
    ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows + 1.2, -0.6), aspect="equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _curves(panels: Sequence[Panel], grid: tuple[int, int], size: tuple[float, float], colours: Sequence[str]) -> str:
    figure, axes = _canvas(*grid, size)
    for ax, (title, name, lines) in zip(axes.flat, panels, strict=True):
        for (label, line), colour in zip(lines.items(), colours, strict=True):
            if line is not None:
                ax.plot(*line, marker="o", markersize=3, color=colour, label=label)
        if name == "C":
            ax.set_xscale("log", base=4)
        ax.set(xlabel=name, ylabel="accuracy, %")
        ax.set_title(title, fontsize=10)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8)
    return _svg(figure)


def _svg(figure: Any) -> str:
    matplotlib = require("matplotlib", "plot")
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "quadric", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()
