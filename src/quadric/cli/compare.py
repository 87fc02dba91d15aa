"""``quadric compare``: the sparse surface next to the usual classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from quadric.cli import options as shared
from quadric.cli.console import say, say_json, working
from quadric.cli.inputs import as_usage, class_weights, integers, numbers, read_data, reading
from quadric.cli.layout import paragraph, text_table
from quadric.types import FloatArray
from quadric.workflow import Comparison, Result, TrainingOptions
from quadric.workflow import compare as compare_models
from quadric.workflow.comparison import INNER_CS, INNER_FOLDS, INNER_KS


def compare(
    data: shared.DataFile,
    target: shared.Target,
    k: Annotated[
        int | None, typer.Option(min=1, help="Terms of the surface; without it, chosen inside each fold, by two rules.")
    ] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the loss; without it, chosen inside each fold.")] = None,
    ks: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help=f"Terms to choose from.  [default: {','.join(map(str, INNER_KS))}]"),
    ] = None,
    Cs: Annotated[
        str | None,
        typer.Option("--Cs", metavar="NUMBERS", help=f"C to choose from.  [default: {','.join(f'{C:g}' for C in INNER_CS)}]"),
    ] = None,
    loss: shared.Loss = "hinge",
    folds: shared.Folds = 5,
    positive: shared.Positive = None,
    standardize: shared.Standardize = True,
    coding: shared.Coding = "onehot",
    missing: shared.Missing = "refuse",
    na: shared.NA = None,
    max_levels: shared.MaxLevels = 100,
    ignore: shared.Ignore = None,
    class_weight: shared.ClassWeight = None,
    include: shared.Include = None,
    exclude: shared.Exclude = None,
    seed: shared.Seed = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes for the choice inside each fold.")] = 1,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = "utf-8",
    as_json: shared.AsJson = False,
) -> None:
    r"""Compare the sparse surface with logistic regression, an SVM, gradient boosting and EBM (if installed) on the same folds.

    The others have their default parameters. All get the same coded columns, standardised inside each fold, and one core.

    \b
    Examples:
      quadric compare data.csv --target risk
      quadric compare data.csv --target risk --k 10 --C 4
      quadric compare data.csv --target risk --loss least_squares --json
    """
    with as_usage():
        asked = TrainingOptions(
            k=k,
            C=C,
            loss=loss,
            folds=folds,
            ks=INNER_KS if ks is None else integers(ks, "--ks"),
            Cs=INNER_CS if Cs is None else numbers(Cs, "--Cs"),
            positive=positive,
            ignore=tuple(ignore or ()),
            standardize=standardize,
            coding=coding,
            missing=missing,
            max_levels=max_levels,
            class_weight=class_weights(class_weight or ()),
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            seed=seed,
            n_jobs=jobs,
        )
    with working("compare") as report:
        table = read_data(data, reading(delimiter, encoding, na), report=report)
        comparison = compare_models(table, target, asked, report=report)
    if as_json:
        say_json(_facts(comparison))
    else:
        _tell(comparison, asked, target)


def _tell(comparison: Comparison, asked: TrainingOptions, target: str) -> None:
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
    for line in text_table(("", *measures, "time to fit", "size"), rows):
        say(line)
    say("")
    classes = ", ".join(comparison.class_names)
    say(paragraph(target, f"{classes}; {comparison.n_rows} rows, {comparison.n_features} features after coding"))
    say(paragraph("figures", f"means over {comparison.folds} folds, of the rows left out, ± standard error"))
    say(paragraph("sparse quadratic", _choice_words(comparison, asked)))
    say(paragraph("the others", "default parameters of scikit-learn" + " and interpret" * (not comparison.absent)))
    if comparison.absent:
        say(paragraph("not installed", ", ".join(comparison.absent)))


def _choice_words(comparison: Comparison, asked: TrainingOptions) -> str:
    ours = [result for result in comparison.results if result.chosen]
    if not comparison.nested:
        k, C = ours[0].chosen[0]
        return f"loss {asked.loss}, k = {k} and C = {C:g} as given"
    what = " and ".join(name for name, given in (("k", asked.k), ("C", asked.C)) if given is None)
    inner = min(INNER_FOLDS, asked.folds)
    text = f"loss {asked.loss}, {what} chosen inside each fold by {inner} inner folds, which is part of its time; "
    if len(ours) == 1:
        return f"{text}k/C = {_pairs(ours[0])}"
    by_rule = ("by the largest mean (best)", "by the fewest terms within one standard error of it (1se)")
    return text + "; ".join(f"k/C {how}: {_pairs(result)}" for how, result in zip(by_rule, reversed(ours), strict=True))


def _pairs(result: Result) -> str:
    return ", ".join(f"{k}/{C:g}" for k, C in result.chosen)


def _with_error(values: FloatArray, digits: int) -> str:
    return f"{values.mean():.{digits}f} ± {_standard_error(values):.{digits}f}"


def _standard_error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _facts(comparison: Comparison) -> dict[str, Any]:
    return {
        "classes": list(comparison.class_names),
        "rows": comparison.n_rows,
        "features": comparison.n_features,
        "folds": comparison.folds,
        "chosen_inside_folds": comparison.nested,
        "not_installed": comparison.absent,
        "models": [_result_facts(result) for result in comparison.results],
    }


def _result_facts(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "accuracy": _measured(result.accuracy),
        "auc": None if np.isnan(result.auc).any() else _measured(result.auc),
        "size": {"mean": float(result.size.mean()), "of": result.unit},
        "seconds": float(result.seconds.mean()),
        "chosen": [{"k": k, "C": C} for k, C in result.chosen] or None,
    }


def _measured(values: Sequence[float] | FloatArray) -> dict[str, Any]:
    values = np.asarray(values)
    return {"mean": float(values.mean()), "standard_error": _standard_error(values), "folds": values.tolist()}
