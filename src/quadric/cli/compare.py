"""``quadric compare``: the sparse surface next to the usual classifiers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import quadric
from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import READING, read_training
from quadric.cli.layout import paragraphs, text_table
from quadric.progress import part
from quadric.workflow.options import INNER_CS, INNER_FOLDS, INNER_KS, TrainingOptions

OPTIONS = shared.training(
    without=("method", "cross_validate", "rule", "unseen", "calibrate", "frozen", "time_limit"),
    defaults={"ks": INNER_KS, "Cs": INNER_CS, "n_jobs": 1},
    words={
        "k": "Largest number of terms. Without it, chosen inside each fold, by two rules.",
        "C": "Weight of the loss. Without it, chosen inside each fold.",
        "n_jobs": "Processes for the choice inside each fold.",
    },
)


@shared.expanded(options=OPTIONS, table_format=shared.TableFormat)
def compare(
    data: shared.DataFile,
    target: shared.Target,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare the surface with other classifiers on the same folds.

    The others are logistic regression, an SVM, gradient boosting and, if installed, EBM, with their default parameters. All
    get the same coded columns, standardised inside each fold, and one core.

    \b
    Examples:
      quadric compare data.csv --target risk
      quadric compare data.csv --target risk --k 10 --C 4
      quadric compare data.csv --target risk --loss least_squares --json
    """
    with working("compare") as describe:
        table, options = read_training(data, target, options, table_format.how())
        with part(READING, 1.0):
            comparison = quadric.workflow.compare(table, target, options, report=describe)
    facts = _facts(comparison)
    if as_json:
        say_json(facts)
    else:
        _tell(facts, options, target)


def _facts(comparison: quadric.workflow.Comparison) -> dict[str, Any]:
    data, options = comparison.data, comparison.options
    return {
        "classes": list(data.class_names),
        "rows": len(data.y),
        "features": data.X.shape[1],
        "folds": options.folds,
        "chosen_inside_folds": options.k is None or options.C is None,
        "not_installed": comparison.absent,
        "models": [_result_facts(result) for result in comparison.results],
    }


def _result_facts(result: quadric.workflow.Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "accuracy": _measured(result.accuracy),
        "auc": None if math.isnan(result.auc.sum()) else _measured(result.auc),
        "size": {"mean": float(result.size.mean()), "of": result.unit},
        "seconds": float(result.seconds.mean()),
        "chosen": [{"k": k, "C": C} for k, C in result.chosen] or None,
    }


def _measured(values: Any) -> dict[str, Any]:
    from quadric.workflow.training import standard_error

    return {"mean": float(values.mean()), "standard_error": float(standard_error(values)), "folds": values.tolist()}


def _tell(facts: Mapping[str, Any], options: TrainingOptions, target: str) -> None:
    measures = {"accuracy": "accuracy, %", "auc": "AUC"} if len(facts["classes"]) == 2 else {"accuracy": "accuracy, %"}
    rows = [
        (
            model["name"],
            *(_with_error(model[measure], in_percent="%" in head) for measure, head in measures.items()),
            f"{model['seconds']:.2f} s",
            f"{model['size']['mean']:.0f} {model['size']['of']}",
        )
        for model in facts["models"]
    ]
    say("\n".join([*text_table(("", *measures.values(), "time to fit", "size"), rows), ""]))
    remarks = {
        target: f"{', '.join(facts['classes'])}; {facts['rows']} rows, {facts['features']} features after coding",
        "figures": f"out-of-fold, mean ± standard error over {facts['folds']} folds",
        "sparse quadratic": _choice_words([model["chosen"] for model in facts["models"] if model["chosen"]], options),
        "the others": "default parameters of scikit-learn" + " and interpret" * (not facts["not_installed"]),
        "not installed": ", ".join(facts["not_installed"]) or None,
    }
    say(paragraphs(remarks))


def _with_error(measure: Mapping[str, float], *, in_percent: bool) -> str:
    scale, digits = (100, 1) if in_percent else (1, 3)
    return f"{scale * measure['mean']:.{digits}f} ± {scale * measure['standard_error']:.{digits}f}"


def _choice_words(choices: Sequence[Sequence[Mapping[str, float]]], options: TrainingOptions) -> str:
    what = " and ".join(name for name in ("k", "C") if getattr(options, name) is None)
    if not what:
        return f"loss {options.loss}, k = {options.k} and C = {options.C:g} as given"
    inner = min(INNER_FOLDS, options.folds)
    text = f"loss {options.loss}, {what} chosen inside each fold by {inner} inner folds, included in its time; "
    pairs = [", ".join(f"{cell['k']}/{cell['C']:g}" for cell in cells) for cells in reversed(choices)]
    if len(pairs) == 1:
        return f"{text}k/C = {pairs[0]}"
    by_rule = ("with the best mean (best)", "with the fewest terms within one standard error of it (1se)")
    return text + "; ".join(f"k/C {how}: {listed}" for how, listed in zip(by_rule, pairs, strict=True))
