"""What the rows of raw.py say: means by table and model, paired differences, and the targets of the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from accuracy_page import spread
from paper_data import FloatArray
from raw_tables import PAPER
from table import Row

DEFAULT, BASE, LOGISTIC, BOOSTING = MODELS = ("default", "base", "logistic", "boosting")
SURFACES = (DEFAULT, BASE)
PAIRS = ((DEFAULT, BASE), (DEFAULT, LOGISTIC), (DEFAULT, BOOSTING), (BASE, LOGISTIC), (BASE, BOOSTING))
SCALES = {"accuracy": 100.0, "auc": 100.0, "log_loss": 1.0, "terms": 1.0, "seconds": 1.0}
"""Figures, with the factors that make per cent of shares."""
HEADS = {"auc": ("AUC", 1), "log_loss": ("log-loss", 3), "accuracy": ("accuracy", 1), "terms": ("terms", 1)}
"""What is printed: names and digits."""
SHORT = {DEFAULT: "own", BASE: "base", LOGISTIC: "logit", BOOSTING: "boost"}

Means = dict[str, dict[str, dict[str, float]]]
"""Figures by table and model, means over folds; a model that refused a fold of a table is not there."""


def means_of(rows: Sequence[dict[str, Any]]) -> Means:
    means: Means = {}
    for table, model in dict.fromkeys((row["table"], row["model"]) for row in rows):
        cells = [row for row in rows if (row["table"], row["model"]) == (table, model)]
        models = means.setdefault(table, {})
        if not any("refused" in row for row in cells):
            figures = [name for name in SCALES if cells[0][name] is not None]
            models[model] = {name: float(SCALES[name] * np.mean([row[name] for row in cells])) for name in figures}
    return means


def differences(means: Means, first: str, second: str, figure: str) -> FloatArray:
    """One model minus another, for each table that both took."""
    pairs = [(models[first], models[second]) for models in means.values() if first in models and second in models]
    return np.array([one[figure] - other[figure] for one, other in pairs if figure in one and figure in other])


def paired(means: Means, first: str, second: str, figure: str) -> dict[str, Any] | None:
    """Mean and standard error over tables, and on how many the first is better and worse; None for fewer than two tables."""
    values = differences(means, first, second, figure)
    if len(values) < 2:
        return None
    mean, error = spread(values)
    gains = values if figure in ("accuracy", "auc") else -values
    return {
        "mean": mean,
        "error": error,
        "better": int(np.sum(gains > 0)),
        "worse": int(np.sum(gains < 0)),
        "tables": len(values),
    }


def all_pairs(means: Means) -> dict[str, dict[str, Any]]:
    """All differences of the models that were measured."""
    pairs = {}
    for first, second in PAIRS:
        rows = {figure: paired(means, first, second, figure) for figure in SCALES}
        if rows["auc"] is not None:
            pairs[f"{first} - {second}"] = {figure: row for figure, row in rows.items() if row is not None}
    return pairs


def show_means(means: Means, models: Sequence[str]) -> str:
    """Figures by table, their means over the tables that all models took, and the mean time of a fit."""
    shown = {figure: [model for model in models if figure != "terms" or model in SURFACES] for figure in HEADS}
    average = common_mean(means, models)
    width = max(len(table.removeprefix(PAPER)) for table in means | average)
    groups = [f"{HEADS[figure][0]:^{6 * len(names)}}" for figure, names in shown.items()]
    heads = ["".join(f"{SHORT[name]:>6}" for name in names) for names in shown.values()]
    lines = [f"{'':{width}}{' '.join(groups)}".rstrip(), f"{'':{width}}{' '.join(heads)}"]
    for table, of_models in (means | average).items():
        cells = [[_cell(of_models.get(name, {}).get(figure), HEADS[figure][1]) for name in shown[figure]] for figure in HEADS]
        lines.append(f"{table.removeprefix(PAPER):{width}}{' '.join(''.join(group) for group in cells)}")
    for of_models in average.values():
        seconds = [f"{SHORT[model]} {figures['seconds']:.2f}" for model, figures in of_models.items()]
        lines.append(f"processor seconds of a fit, mean: {', '.join(seconds)}")
    return "\n".join(lines)


def common_mean(means: Means, models: Sequence[str]) -> Means:
    """Over the tables that all models took."""
    common = [of_models for of_models in means.values() if all(model in of_models for model in models)]
    if not common:
        return {}
    figures = {model: list(common[0][model]) for model in models}
    average = {
        model: {figure: float(np.mean([of_models[model][figure] for of_models in common])) for figure in figures[model]}
        for model in models
    }
    return {f"mean of {len(common)}": average}


def _cell(value: float | None, digits: int) -> str:
    return f"{'-':>6}" if value is None else f"{value:6.{digits}f}"


def show_pairs(pairs: dict[str, dict[str, Any]]) -> str:
    """One line for each pair of models: mean and standard error over tables, and on how many the first is better and worse."""
    scaled = {"auc": ("AUC, points", 1.0), "log_loss": ("log-loss, 0.001", 1000.0), "accuracy": ("accuracy, points", 1.0)}
    lines = [f"{'':20}{''.join(f'{head:>24}' for head, _ in scaled.values())}{'terms':>7}"]
    for name, rows in pairs.items():
        line = f"{name:20}"
        for figure, (_, scale) in scaled.items():
            row = rows[figure]
            counts = f"({row['better']}/{row['worse']})"
            line += f"{scale * row['mean']:+8.2f} ± {scale * row['error']:5.2f}{counts:>8}"
        lines.append(line + (f"{rows['terms']['mean']:+7.1f}" if "terms" in rows else f"{'-':>7}"))
    return "\n".join(lines)


def table_targets(means: Means) -> Iterator[Row]:
    """What the defaults must show on raw tables; a table that the default refuses counts as one where it is no better."""
    against_base, against_logistic = (all_pairs(means).get(f"{DEFAULT} - {other}") for other in (BASE, LOGISTIC))
    if against_base is not None:
        shares = {figure: against_base[figure]["better"] / len(means) for figure in ("auc", "log_loss")}
        yield Row("tables, default - base: AUC, points", against_base["auc"]["mean"], ">=", 1.0)
        yield Row("tables, default - base: share with a better AUC", shares["auc"], ">=", 0.75)
        yield Row("tables, default - base: share with a better log-loss", shares["log_loss"], ">=", 0.9)
    if against_logistic is not None:
        yield Row("tables, default - logistic: AUC, points", against_logistic["auc"]["mean"], ">=", -0.3)
    of_default = {name: models[DEFAULT] for name, models in means.items() if DEFAULT in models}
    if "german" in of_default:
        yield Row("german, default: AUC, per cent", of_default["german"]["auc"], ">=", 77.5)
    if of_default:
        terms = float(np.mean([figures["terms"] for figures in of_default.values()]))
        yield Row("tables, default: terms, mean over tables", terms, "<=", 15.0)


def numeric_targets(means: Means) -> Iterator[Row]:
    """What they must not lose on numeric sets."""
    rows = all_pairs(means).get(f"{DEFAULT} - {BASE}", {})
    for figure in ("accuracy", "auc"):
        if figure in rows:
            yield Row(f"numeric sets, default - base: {figure}, points", rows[figure]["mean"], ">=", -0.3)
