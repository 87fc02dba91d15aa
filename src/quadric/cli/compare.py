"""``quadric compare``: the sparse surface next to the usual classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import quadric
from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import READING, named_files, training_stream
from quadric.cli.layout import paragraphs, text_table
from quadric.progress import part
from quadric.workflow.options import TrainingOptions

OPTIONS = shared.training(
    without=[name for name in shared.ONLY_FIT if name not in shared.SAMPLES],
    defaults={"n_jobs": 1},
    words={"folds": "Folds, and folds inside each.", "n_jobs": "Processes for the choices inside each fold."},
)
SAMPLE_MEASURES = ("accuracy", "AUC", "log loss")
# Head, scale, digits and unit of each
MEASURES = {"accuracy": ("accuracy", 100, 1, "%"), "auc": ("AUC", 1, 3, ""), "log_loss": ("log-loss", 1, 3, "")}


@shared.expanded(options=OPTIONS, table_format=shared.TableFormat)
def compare(
    data: shared.DataFile,
    target: shared.Target,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    test: shared.TestFiles = None,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare the surface with other classifiers on the same folds.

    The surface is what quadric fit makes with the same options. The others are logistic regression, logistic regression on all
    products with an l1 penalty, an SVM, gradient boosting and, if installed, EBM. All get the same columns, choose their
    parameters inside each fold, and use one core.

    \b
    Examples:
      quadric compare data.csv --target risk
      quadric compare data.csv --target risk --k 10
      quadric compare data.csv --target risk --groups customer
      quadric compare data.csv --target risk --holdout 0.25 --test later.csv
      quadric compare data.csv --target risk --rule best --json
    """
    how, files = table_format.how(), named_files(test)
    with working("compare"):
        table, wanted = training_stream(data, target, options, how)
        tests = {name: training_stream(path, target, options, how)[0] for name, path in files.items()}
        with part(READING, 1.0):
            comparison = quadric.workflow.compare(table, target, wanted, tests=tests)
    facts = comparison.recorded()
    if as_json:
        say_json(facts)
    else:
        _tell(facts, target)


def _tell(facts: Mapping[str, Any], target: str) -> None:
    measures = [name for name in MEASURES if facts["models"][0][name] is not None]
    rows = [
        (
            model["name"],
            *(_figure(name, model[name]) for name in measures),
            _spread_words(model["size"]),
            _spread_words(model["seconds"]),
        )
        for model in facts["models"]
    ]
    say("\n".join([*text_table(("", *(MEASURES[name][0] for name in measures), "size", "time, s"), rows), ""]))
    for sample, models in facts["samples"].items():
        rows_of = int(next(iter(models.values()))["samples"][0])
        measures_of = [name for name in SAMPLE_MEASURES if name in next(iter(models.values()))]
        lines = [(name, *(_interval(own[measure]) for measure in measures_of)) for name, own in models.items()]
        say("\n".join([*text_table((f"{sample}, {rows_of} rows", *measures_of), lines), ""]))
    surface, *others = facts["models"]
    no_area = len(facts["classes"]) == 2 and "auc" not in measures
    units = {model["size_of"]: None for model in others}
    say(
        paragraphs(
            {
                target: f"{', '.join(facts['classes'])}; {facts['rows']} rows, {facts['features']} features after coding",
                "figures": f"out-of-fold, mean ± standard error over {facts['folds']} folds; the time includes all choices, "
                f"which were made by {facts['folds']} folds inside each",
                "AUC": "not defined, as a fold has rows of one class only" if no_area else None,
                "clearly different (paired, more than two standard errors)": _clear_words(facts["differences"]),
                surface["name"]: "; ".join(f"{each['loss']} k={each['k']} C={each['C']:g}" for each in surface["chosen"]),
                "size": f"{surface['size_of']}; of the others: {', '.join(units)}" if units else surface["size_of"],
                "not installed": ", ".join(facts["not_installed"]) or None,
            }
        )
    )


def _interval(ends: Sequence[float | None]) -> str:
    value, low, high = ends
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _figure(measure: str, spread: Mapping[str, float]) -> str:
    _, scale, digits, unit = MEASURES[measure]
    return f"{scale * spread['mean']:.{digits}f}±{scale * spread['standard_error']:.{digits}f}{unit}"


def _spread_words(spread: Mapping[str, float]) -> str:
    digits = sum(spread["mean"] < limit for limit in (1.0, 100.0))
    return f"{spread['mean']:.{digits}f}±{spread['standard_error']:.{digits}f}"


def _clear_words(differences: Sequence[Mapping[str, Any]]) -> str:
    clear: dict[str, list[str]] = {}
    for each in filter(lambda each: each["clear"], differences):
        (head, scale, digits, unit), mean, error = MEASURES[each["measure"]], each["mean"], each["standard_error"]
        size = f"{scale * abs(mean):.{digits}f} ± {scale * error:.{digits}f}{' points' * bool(unit)}"
        clear.setdefault(each["name"], []).append(f"{head} {size} {'higher' if mean > 0 else 'lower'}")
    return "; ".join(f"{name}: {', '.join(words)}" for name, words in clear.items()) or "none of the others"
