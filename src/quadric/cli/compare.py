"""``quadric compare``: the sparse surface next to the usual classifiers."""

from __future__ import annotations

import math
from typing import Any

import quadric
from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import read_data
from quadric.cli.layout import paragraphs, text_table
from quadric.cli.training import training
from quadric.workflow.options import INNER_CS, INNER_FOLDS, INNER_KS, TrainingOptions

OPTIONS = training(
    without=("method", "cross_validate", "rule", "unseen", "calibrate", "time_limit"),
    defaults={"ks": INNER_KS, "Cs": INNER_CS, "n_jobs": 1},
    words={
        "k": "Largest number of terms. Without it, chosen inside each fold, by two rules.",
        "C": "Weight of the loss. Without it, chosen inside each fold.",
        "n_jobs": "Processes for the choice inside each fold.",
    },
)


@shared.expanded(options=OPTIONS, table_format=shared.TABLE_FORMAT)
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
    how = table_format.how()
    with working("compare") as report:
        table = read_data(data, how, report=report)
        comparison = quadric.workflow.compare(table, target, options, report=report)
    if as_json:
        say_json(_facts(comparison))
    else:
        _tell(comparison, options, target)


def _tell(comparison: quadric.workflow.Comparison, options: TrainingOptions, target: str) -> None:
    binary = len(comparison.class_names) == 2
    measures = ["accuracy, %", *["AUC"] * binary]
    rows = [
        (
            result.name,
            _with_error(100 * result.accuracy, 1),
            *[_with_error(result.auc, 3)] * binary,
            f"{result.seconds.mean():.2f} s",
            f"{result.size.mean():.0f} {result.unit}",
        )
        for result in comparison.results
    ]
    say("\n".join([*text_table(("", *measures, "time to fit", "size"), rows), ""]))
    classes = ", ".join(comparison.class_names)
    facts = {
        target: f"{classes}; {comparison.n_rows} rows, {comparison.n_features} features after coding",
        "figures": f"out-of-fold, mean ± standard error over {comparison.folds} folds",
        "sparse quadratic": _choice_words(comparison, options),
        "the others": "default parameters of scikit-learn" + " and interpret" * (not comparison.absent),
        "not installed": ", ".join(comparison.absent) or None,
    }
    say(paragraphs(facts))


def _choice_words(comparison: quadric.workflow.Comparison, options: TrainingOptions) -> str:
    ours = [result for result in comparison.results if result.chosen]
    if not comparison.nested:
        k, C = ours[0].chosen[0]
        return f"loss {options.loss}, k = {k} and C = {C:g} as given"
    what = " and ".join(name for name in ("k", "C") if getattr(options, name) is None)
    inner = min(INNER_FOLDS, options.folds)
    text = f"loss {options.loss}, {what} chosen inside each fold by {inner} inner folds, included in its time; "
    if len(ours) == 1:
        return f"{text}k/C = {_pairs(ours[0])}"
    by_rule = ("with the best mean (best)", "with the fewest terms within one standard error of it (1se)")
    return text + "; ".join(f"k/C {how}: {_pairs(result)}" for how, result in zip(by_rule, reversed(ours), strict=True))


def _pairs(result: quadric.workflow.Result) -> str:
    return ", ".join(f"{k}/{C:g}" for k, C in result.chosen)


def _with_error(values: Any, digits: int) -> str:
    return f"{values.mean():.{digits}f} ± {_standard_error(values):.{digits}f}"


def _standard_error(values: Any) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _facts(comparison: quadric.workflow.Comparison) -> dict[str, Any]:
    return {
        "classes": list(comparison.class_names),
        "rows": comparison.n_rows,
        "features": comparison.n_features,
        "folds": comparison.folds,
        "chosen_inside_folds": comparison.nested,
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
    return {"mean": float(values.mean()), "standard_error": _standard_error(values), "folds": values.tolist()}
