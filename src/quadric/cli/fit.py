"""``quadric fit``: a table in, a model file out."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import note, say, say_json, working
from quadric.cli.inputs import READING, check_output, read_training
from quadric.cli.layout import certificate_words, paragraphs, percent, wrapped_equation
from quadric.progress import part
from quadric.workflow.options import TrainingOptions

MANY_ROWS = 100_000


@shared.expanded(options=shared.training(), table_format=shared.TableFormat)
def fit(
    data: shared.DataFile,
    target: shared.Target,
    output: Annotated[Path, typer.Option(help="Model file to write.")],
    options: TrainingOptions,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Fit a quadratic surface with at most k terms to a table.

    Scores above 0 mean the class --positive. Squares of two-valued columns and products within one text column are left out:
    they are redundant with linear terms. With 100,000 rows or more, choose --loss least_squares: it reads them once.

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
    from quadric.workflow.preparation import lighter_loss
    from quadric.workflow.scoring import NOTATION

    check_output(output, force, data)
    how = table_format.how()
    began = time.monotonic()
    with working("fit") as describe:
        table, options = read_training(data, target, options, how)
        describe(f"cross-validation, {options.folds} folds" if options.crosses else "searching for the terms")
        with part(READING, 1.0):
            trained = quadric.workflow.train(table, target, options)
    saved = trained.saved(file=data.name, **{key: how[name] for name, key in NOTATION.items()})
    quadric.save_model(saved, output, force=force)
    if max(trained.labelled) == len(trained.data.y):
        advice = f"raise --C above {trained.classifier.C:g}, let --cv choose it, or set --class-weight"
        note(f"quadric: the model gives all rows the same label: {advice}")
    if len(table) >= MANY_ROWS and (lighter := lighter_loss(options.loss)):
        note(f"quadric: the loss {options.loss} keeps all {len(table)} rows in memory; --loss {lighter} does not")
    if as_json:
        say_json(_facts(trained, output, time.monotonic() - began))
    else:
        _tell(trained, output)


def _tell(trained: quadric.workflow.Trained, output: Path) -> None:
    data, certificates = trained.data, trained.classifier.certificates_
    equations = quadric.export.equation(trained.saved()).splitlines()
    say("\n".join([*map(wrapped_equation, equations), ""]))
    subjects = [f"certificate, {name}" for name in data.class_names] if len(certificates) > 1 else ["certificate"]
    constant = quadric.fitted.fitted_model(trained.classifier).is_constant(data.X)
    words = (certificate_words(*one, "no bound yet: run quadric certify") for one in zip(certificates, constant, strict=True))
    facts = {
        "classes": _classes(trained),
        "terms": _terms(trained),
        "accuracy": _accuracy(trained),
        **dict(zip(subjects, words, strict=True)),
        "left out": _excluded(trained),
        "missing values": _missing(trained),
        "probabilities": trained.options.calibrate and f"{trained.options.calibrate}, fitted on out-of-fold scores",
        "written to": str(output),
    }
    say(paragraphs(facts))


def _classes(trained: quadric.workflow.Trained) -> str:
    names, target = trained.data.class_names, trained.target
    if trained.options.calibrate is not None:
        likelier = f"{target} = {names[1]}" if len(names) == 2 else "its class"
        return f"higher f means {likelier} is likelier; label = most probable class"
    if len(names) == 2:
        return f"f > 0 means {target} = {names[1]}, otherwise {names[0]}"
    return f"{target} is whichever of {', '.join(names)} has the largest f"


def _terms(trained: quadric.workflow.Trained) -> str:
    data, options, model = trained.data, trained.options, trained.classifier
    counts = [str(certificate.n_terms) for certificate in model.certificates_]
    used = ", ".join(counts) + " (one surface per class)" * (len(counts) > 1)
    origin = f"{len(data.encoder.inputs_)} columns, {data.X.shape[1]} features"
    text = f"{used} of {data.n_candidates} ({origin}, {len(data.y)} rows); k = {model.k}, C = {model.C:g}"
    text += f", loss {options.loss}, method {options.method}"
    chosen = [name for name in ("k", "C") if getattr(options, name) is None]
    if trained.search is None or not chosen:
        return text
    return f"{text}; {' and '.join(chosen)} chosen by cross-validation" + f", rule {options.rule}" * ("k" in chosen)


def _accuracy(trained: quadric.workflow.Trained) -> str:
    text, found = f"{percent(trained.accuracy)} on the training rows", trained.cross_validation
    if found is None:
        return text
    mean = f"{100 * found['accuracy']:.1f} ± {100 * found['standard_error']:.1f} %"
    return f"{text}; {mean} in cross-validation ({found['folds']} folds, mean ± standard error)"


def _excluded(trained: quadric.workflow.Trained) -> str:
    limits = trained.data.limits
    counts = {"square{} of two-valued features": limits.n_squares, "product{} within one column": limits.n_products}
    redundant = [f"{count} {what.format('s' * (count > 1))}" for what, count in counts.items() if count]
    text = f"{' and '.join(redundant)}: redundant with linear terms" if redundant else "no term"
    requested = len(limits.exclude) - limits.n_squares - limits.n_products
    return f"{text}; {requested} more as requested" if requested > 0 else text


def _missing(trained: quadric.workflow.Trained) -> str:
    missing = trained.data.missing
    if not missing:
        return "none"
    counts = ", ".join([f"{count} in {name}" for name, count in missing.items()][:6] + ["..."] * (len(missing) > 6))
    treatment = {
        "drop": f"{trained.data.n_dropped} rows dropped",
        "impute": "imputed by the mean or the most frequent level",
        "indicator": "imputed by the mean or the most frequent level, with missing-value flags",
    }
    return f"{counts}; {treatment[trained.options.missing]}"


def _facts(trained: quadric.workflow.Trained, output: Path, seconds: float) -> dict[str, Any]:
    data, search, model, names = trained.data, trained.search, trained.classifier, trained.data.class_names
    grid = search and {"ks": search.ks_.tolist(), "Cs": search.Cs_.tolist(), "mean": search.cv_scores_.mean(axis=0).tolist()}
    return {
        "model": str(output),
        "target": trained.target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "rows": len(data.y),
        "rows_dropped": data.n_dropped,
        "features": data.feature_names,
        "k": model.k,
        "C": model.C,
        "n_terms": [certificate.n_terms for certificate in model.certificates_],
        "n_candidates": data.n_candidates,
        "equation": quadric.export.equation(trained.saved()).splitlines(),
        "surfaces": [{"terms": surface.terms(data.feature_names), "constant": surface.c} for surface in model.surfaces_],
        "accuracy": trained.accuracy,
        "labelled": dict(zip(names, trained.labelled, strict=True)),
        "cross_validation": grid and {**(trained.cross_validation or {}), **grid},
        "certificates": [asdict(certificate) for certificate in model.certificates_],
        "excluded": {"squares": data.limits.n_squares, "products": data.limits.n_products, "terms": len(data.limits.exclude)},
        "missing": data.missing,
        "options": trained.options.recorded(),
        "seconds": round(seconds, 2),
    }
