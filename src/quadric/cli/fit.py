"""``quadric fit``: a table in, a model file out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from quadric.cli import options as shared
from quadric.cli.console import note, say, say_json, working
from quadric.cli.inputs import as_usage, check_output, class_weights, integers, numbers, read_data, reading
from quadric.cli.layout import certificate_facts, certificate_words, counted, paragraph, percent, wrapped_equation
from quadric.export import equation, save_model
from quadric.workflow import Trained, TrainingOptions, train
from quadric.workflow.options import CS, KS

EXACT_TIME_LIMIT = 60.0
MANY_ROWS = 100_000


def fit(
    data: shared.DataFile,
    target: shared.Target,
    output: Annotated[Path, typer.Option(help="Model file to write.")],
    k: Annotated[int | None, typer.Option(min=1, help="Largest number of terms; without it, chosen by --cv.")] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the loss; without it, chosen by --cv, else 1.")] = None,
    loss: shared.Loss = "hinge",
    method: shared.Method = "best",
    cv: Annotated[
        bool | None, typer.Option("--cv/--no-cv", help="Choose what is not given of k and C; on without --k.")
    ] = None,
    folds: shared.Folds = 5,
    rule: Annotated[
        Literal["1se", "best"],
        typer.Option(help="Of --cv: the fewest terms within a standard error of the best accuracy, or the best."),
    ] = "1se",
    ks: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help=f"Terms to try, as 1:10,15.  [default: {','.join(map(str, KS))}]")
    ] = None,
    Cs: Annotated[
        str | None,
        typer.Option("--Cs", metavar="NUMBERS", help=f"C to try.  [default: {','.join(f'{C:g}' for C in CS)}]"),
    ] = None,
    positive: shared.Positive = None,
    standardize: shared.Standardize = True,
    coding: shared.Coding = "onehot",
    missing: shared.Missing = "refuse",
    unseen: Annotated[
        Literal["refuse", "as_dropped"],
        typer.Option(help="Levels that the data do not have, later on: an error, or like the most frequent level."),
    ] = "refuse",
    na: shared.NA = None,
    max_levels: shared.MaxLevels = 100,
    ignore: shared.Ignore = None,
    class_weight: shared.ClassWeight = None,
    calibrate: Annotated[
        Literal["sigmoid", "isotonic"] | None, typer.Option(help="Add probabilities, fitted to rows left out in turn.")
    ] = None,
    include: shared.Include = None,
    exclude: shared.Exclude = None,
    seed: shared.Seed = 0,
    jobs: shared.Jobs = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, help="Seconds a surface.  [default: 60 with --method exact, else none]")
    ] = None,
    delimiter: shared.Delimiter = None,
    encoding: shared.Encoding = "utf-8",
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Fit a quadratic surface with at most k terms to a table, and write it to a model file.

    A high score means the class --positive. Squares of columns with two values and products within one text column say nothing
    that single terms do not, and are left out.

    \b
    Examples:
      quadric fit data.csv --target risk --k 12 --output model.json
      quadric fit data.csv --target risk --output model.json
      quadric fit data.csv --target risk --positive bad --k 8 --cv \
        --loss least_squares --calibrate sigmoid --output model.json
      quadric fit data.csv --target risk --k 5 --ignore id --missing impute \
        --exclude 'sex*' --output model.json
      quadric fit data.csv --target risk --k 4 --method exact --time-limit 30 \
        --output model.json
    """
    check_output(output, force, data)
    how = reading(delimiter, encoding, na)
    with as_usage():
        asked = TrainingOptions(
            k=k,
            C=C,
            loss=loss,
            method=method,
            cross_validate=cv,
            folds=folds,
            rule=rule,
            ks=KS if ks is None else integers(ks, "--ks"),
            Cs=CS if Cs is None else numbers(Cs, "--Cs"),
            positive=positive,
            ignore=tuple(ignore or ()),
            standardize=standardize,
            coding=coding,
            missing=missing,
            unseen=unseen,
            max_levels=max_levels,
            class_weight=class_weights(class_weight or ()),
            calibrate=calibrate,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            seed=seed,
            time_limit=EXACT_TIME_LIMIT if method == "exact" and time_limit is None else time_limit,
            n_jobs=jobs,
        )
    began = time.monotonic()
    with working("fit") as report:
        table = read_data(data, how, report=report)
        report(f"choosing by {asked.folds} folds" if asked.crosses else "searching for the terms")
        trained = train(table, target, asked, verbose=1)
    saved = trained.saved()
    metadata = {**saved.metadata, "file": data.name, "missing_texts": list(how["missing"])}
    save_model(replace(saved, metadata=metadata), output, force=force)
    if max(trained.labelled) == len(trained.data.y):
        note(f"quadric: all rows get the same label: raise --C above {trained.C:g}, or let --cv choose it; or --class-weight")
    if loss == "hinge" and len(table) >= MANY_ROWS:
        note(f"quadric: the hinge loss keeps all {len(table)} rows at hand; --loss least_squares passes over them once")
    if as_json:
        say_json(_facts(trained, output, time.monotonic() - began))
    else:
        _tell(trained, output)


def _tell(trained: Trained, output: Path) -> None:
    data = trained.data
    for line in equation(trained.saved()).splitlines():
        say(wrapped_equation(line))
    say("")
    say(paragraph("classes", _classes(trained)))
    say(paragraph("terms", _terms(trained)))
    say(paragraph("accuracy", _accuracy(trained)))
    subjects = [f"certificate, {name}" for name in data.class_names] if len(trained.certificates) > 1 else ["certificate"]
    for subject, certificate in zip(subjects, trained.certificates, strict=True):
        say(paragraph(subject, certificate_words(certificate)))
    say(paragraph("left out", _excluded(trained)))
    say(paragraph("missing values", _missing(trained)))
    if trained.options.calibrate:
        say(paragraph("probabilities", f"{trained.options.calibrate}, fitted to rows left out in turn"))
    say(paragraph("written to", str(output)))


def _classes(trained: Trained) -> str:
    names = trained.data.class_names
    if trained.options.calibrate is not None:
        return (
            f"a high f speaks for {trained.target} = {names[1] if len(names) == 2 else 'its class'}; the label is the likeliest"
        )
    if len(names) == 2:
        return f"f > 0 means {trained.target} = {names[1]}, otherwise {names[0]}"
    return f"{trained.target} is the one of {', '.join(names)} with the largest f"


def _terms(trained: Trained) -> str:
    data, options = trained.data, trained.options
    counts = [certificate.n_terms for certificate in trained.certificates]
    shown = str(counts[0]) if len(counts) == 1 else f"{', '.join(map(str, counts))} (a surface a class)"
    origin = f"{len(data.encoder.inputs_)} columns, {data.X.shape[1]} features"
    return (
        f"{shown} of {data.n_candidates} ({origin}, {len(data.y)} rows); "
        f"k = {trained.k}, C = {trained.C:g}, loss {options.loss}, method {options.method}{_chosen(trained)}"
    )


def _chosen(trained: Trained) -> str:
    options = trained.options
    what = [name for name, given in (("k", options.k), ("C", options.C)) if given is None]
    if trained.choice is None or not what:
        return ""
    rule = f" by the rule {options.rule}" if "k" in what else ""
    return f"; {' and '.join(what)} chosen by cross-validation{rule}"


def _accuracy(trained: Trained) -> str:
    text = f"{percent(trained.accuracy)} of the rows that it was fitted to"
    choice = trained.choice
    if choice is not None:
        text += (
            f"; {_with_error(choice.accuracy, choice.standard_error)} of rows left out ({choice.folds} folds, ± standard error)"
        )
    return text


def _with_error(share: float, error: float) -> str:
    return f"{100 * share:.1f} ± {100 * error:.1f} %"


def _excluded(trained: Trained) -> str:
    data = trained.data
    parts = []
    if data.limits.n_squares:
        parts.append(f"{counted(data.limits.n_squares, 'square')} of features with two values")
    if data.limits.n_products:
        parts.append(f"{counted(data.limits.n_products, 'product')} within one column")
    asked = len(data.limits.exclude) - data.limits.n_squares - data.limits.n_products
    text = " and ".join(parts) + ": single terms say the same" if parts else "no term"
    return f"{text}; {asked} more as asked" if asked > 0 else text


def _missing(trained: Trained) -> str:
    missing = trained.data.missing
    if not missing:
        return "none"
    shown = ", ".join(f"{count} in {name}" for name, count in list(missing.items())[:6]) + (", ..." if len(missing) > 6 else "")
    done = {
        "drop": f"{trained.data.n_dropped} rows left out",
        "impute": "filled in with the mean or the most frequent level",
        "indicator": "filled in with the mean or the most frequent level, and marked by features of their own",
    }
    return f"{shown}; {done[trained.options.missing]}"


def _facts(trained: Trained, output: Path, seconds: float) -> dict[str, Any]:
    data, choice, names = trained.data, trained.choice, trained.data.class_names
    return {
        "model": str(output),
        "target": trained.target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "rows": len(data.y),
        "rows_dropped": data.n_dropped,
        "features": data.feature_names,
        "k": trained.k,
        "C": trained.C,
        "n_terms": [certificate.n_terms for certificate in trained.certificates],
        "n_candidates": data.n_candidates,
        "equation": equation(trained.saved()).splitlines(),
        "surfaces": [
            {"terms": surface.terms(data.feature_names), "constant": surface.c} for surface in trained.classifier.surfaces_
        ],
        "accuracy": trained.accuracy,
        "labelled": dict(zip(names, trained.labelled, strict=True)),
        "cross_validation": None
        if choice is None
        else {
            "accuracy": choice.accuracy,
            "standard_error": choice.standard_error,
            "folds": choice.folds,
            "ks": choice.ks.tolist(),
            "Cs": choice.Cs.tolist(),
            "mean": choice.mean.tolist(),
        },
        "certificates": [certificate_facts(certificate) for certificate in trained.certificates],
        "excluded": {"squares": data.limits.n_squares, "products": data.limits.n_products, "terms": len(data.limits.exclude)},
        "missing": data.missing,
        "options": trained.options.recorded(),
        "seconds": round(seconds, 2),
    }
