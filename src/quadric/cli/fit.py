"""``quadric fit``: a table in, a model file out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import remark, say, say_json, working
from quadric.cli.engines import Engine
from quadric.cli.inputs import check_output, check_there, texts_of, training_stream
from quadric.cli.layout import certificate_words, paragraphs, percent, wrapped_equation
from quadric.workflow.options import TrainingOptions

if TYPE_CHECKING:
    from quadric.workflow.figures import Figure

MANY_ROWS = 100_000


@shared.expanded(options=shared.training(), table_format=shared.TableFormat, engine=Engine)
def fit(
    data: shared.DataFile,
    target: shared.Target,
    output: Annotated[Path, typer.Option(help="Model file to write.")],
    options: TrainingOptions,
    table_format: shared.TableFormat,
    engine: Engine,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Fit a quadratic surface with at most k terms to a table.

    Loss, k and C are chosen by cross-validation as far as they are not given, and scores become probabilities. Higher scores
    mean that the class --positive is likelier. Squares of two-valued columns and products within one text column are left
    out: they are redundant with linear terms.

    \b
    Examples:
      quadric fit data.csv --target risk --output model.json
      quadric fit data.csv --target risk --k 8 --output model.json
      quadric fit data.csv --target risk --positive bad --cutoff cost:5:1 \
        --scoring roc_auc --groups customer --output model.json
      quadric fit data.csv --target risk --ignore id --missing impute \
        --exclude 'sex*' --output model.json
      quadric fit data.csv --target risk --k 4 --method exact --time-limit 30 \
        --output model.json
      quadric fit data.csv --target risk --no-cv --k 4 --C 1 --no-calibrate \
        --output model.json
      quadric fit folder --target risk --engine dask --scheduler HOST:8786 \
        --output model.json
    """
    from quadric.workflow.preparation import lighter_loss
    from quadric.workflow.scoring import NOTATION

    check_output(output, force, data)
    how = table_format.how()
    began = time.monotonic()
    with working("fit") as describe:
        trained = _trained(data, target, options, how, describe, engine)
    saved = trained.saved(file=data.name, **{key: how[name] for name, key in NOTATION.items()})
    quadric.save_model(saved, output, force=force)
    for each in _remarks(trained):
        remark(each)
    loss = trained.classifier.loss
    if trained.data.n_rows >= MANY_ROWS and not trained.data.is_sampled and (lighter := lighter_loss(loss)):
        remark(f"the loss {loss} keeps all {trained.data.n_rows} rows in memory; --loss {lighter} does not")
    if as_json:
        say_json(_facts(trained, output, time.monotonic() - began))
    else:
        _tell(trained, output)


def _trained(
    data: Path, target: str, options: TrainingOptions, how: Any, describe: Any, engine: Engine
) -> quadric.workflow.Trained:
    """Fit here, or on a cluster."""
    check_there(data, or_folder=True)
    if engine.engine is not None:
        text, options = texts_of(target, options), replace(options, missing_texts=tuple(how["missing"]))
        with engine.table(data, text) as parts:
            return quadric.workflow.train(parts, target, options)
    stream, options = training_stream(data, target, options, how)
    describe(f"cross-validation, {options.folds} folds" if options.crosses else "searching for the terms")
    return quadric.workflow.train(stream, target, options)


def _remarks(trained: quadric.workflow.Trained) -> Iterator[str]:
    """What somebody should know who is about to use the model."""
    names, labelled = trained.data.class_names, trained.labelled
    is_calibrated, rows = trained.options.calibrate is not None, trained.data.n_rows
    if trained.says_nothing:
        yield f"out of fold, scores do not rise with {names[-1]}: its probability is the same for all rows"
    if max(labelled) == rows:
        advice = "--class-weight" if trained.cutoff is None else "--cutoff (such as balanced) or --class-weight"
        alike = names[labelled.index(rows)]
        yield f"the model labels every row {alike} (base rate: {_base_rates(trained)}): set {advice}"
    elif trained.options.class_weight is not None and is_calibrated and labelled != trained.by_surface:
        others = f"{labelled[-1]} of {rows} rows are labelled {names[-1]}, {trained.by_surface[-1]} by the sign of f"
        advice = (
            "choose labels with --cutoff (such as balanced), or give --no-calibrate" if trained.cutoff else "--no-calibrate"
        )
        yield f"--class-weight moves the surface, but calibrated probabilities follow the base rate: {others}; {advice}"


def _tell(trained: quadric.workflow.Trained, output: Path) -> None:
    data, certificates = trained.data, trained.classifier.certificates_
    equations = quadric.export.equation(trained.saved()).splitlines()
    say("\n".join([*map(wrapped_equation, equations), ""]))
    subjects = [f"certificate, {name}" for name in data.class_names] if len(certificates) > 1 else ["certificate"]
    constant = quadric.fitted.fitted_model(trained.classifier).is_constant(data.X)
    words = (certificate_words(*one, "no bound yet: run quadric certify") for one in zip(certificates, constant, strict=True))
    facts = {
        "classes": _classes(trained),
        "base rate": _base_rates(trained),
        "accuracy": _accuracy(trained),
        "AUC": _area(trained),
        "terms": _terms(trained),
        "chosen": _chosen(trained),
        "runner-up": _runner_up(trained),
        **dict(zip(subjects, words, strict=True)),
        "left out": _excluded(trained),
        "missing values": _missing(trained),
        "read in passes": _passes(trained),
        "probabilities": trained.options.calibrate and f"{trained.model.method_}, fitted on out-of-fold scores",
        "written to": str(output),
    }
    say(paragraphs(facts))


def _classes(trained: quadric.workflow.Trained) -> str:
    names, target, rule = trained.data.class_names, trained.target, trained.options.cutoff
    if trained.cutoff is not None:
        rises = "" if trained.says_nothing else f"higher f means {target} = {names[1]} is likelier; "
        origin = f", chosen by {rule} on out-of-fold probabilities" if isinstance(rule, str) else ""
        where = f"its probability is above {trained.cutoff:.4g}"
        if trained.border is not None:
            where = f"f > {trained.border:.4g} (probability above {trained.cutoff:.4g})"
        return f"{rises}label {names[1]} where {where}{origin}"
    if trained.options.calibrate is not None:
        return "higher f means its class is likelier; label = most probable class"
    if len(names) == 2:
        return f"f > 0 means {target} = {names[1]}, otherwise {names[0]}"
    return f"{target} is whichever of {', '.join(names)} has the largest f"


def _base_rates(trained: quadric.workflow.Trained) -> str:
    rates = zip(trained.data.class_names[::-1], trained.base_rates[::-1], strict=True)
    return ", ".join(f"{percent(rate)} {name}" for name, rate in rates)


def _accuracy(trained: quadric.workflow.Trained) -> str:
    fitted, found = f"{percent(trained.accuracy)} on the training rows", trained.cross_validation
    if found is None:
        return fitted
    folds = f"{found.folds} folds, mean ± standard error" if found.folds > 1 else "of one fold: the time ran out"
    text = f"{_figure(found.accuracy, 'accuracy')} out of fold ({folds}), {fitted}"
    return text if _labels_as_chosen(trained) else f"{text}, with labels by probability"


def _labels_as_chosen(trained: quadric.workflow.Trained) -> bool:
    """Whether the model's labels follow the surface alone, as those did by which it was chosen."""
    return trained.options.calibrate is None or trained.border == 0.0


def _area(trained: quadric.workflow.Trained) -> str | None:
    found = trained.cross_validation
    return None if found is None or found.auc is None else f"{_figure(found.auc, 'roc_auc')} out of fold"


def _figure(figure: Figure, scoring: str) -> str:
    """A mean with its standard error, in the units of a measure."""
    from quadric.workflow.scorers import measure_named

    if measure_named(scoring).is_share:
        return f"{100 * figure.mean:.1f} ± {100 * figure.error:.1f} %"
    return f"{figure.mean:.3f} ± {figure.error:.3f}"


def _terms(trained: quadric.workflow.Trained) -> str:
    data, model = trained.data, trained.classifier
    counts = [str(certificate.n_terms) for certificate in model.certificates_]
    used = ", ".join(counts) + " (one surface per class)" * (len(counts) > 1)
    origin = f"{len(data.encoder.inputs_)} columns, {data.X.shape[1]} features"
    text = f"{used} of {data.n_candidates} ({origin}, {data.n_rows} rows); k = {model.k}, C = {model.C:g}"
    return f"{text}, loss {model.loss}, method {model.method}"


def _chosen(trained: quadric.workflow.Trained) -> str | None:
    """What cross-validation chose, by which measure, and how it did there."""
    from quadric.workflow.options import AUTO
    from quadric.workflow.scorers import measure_named

    options, found = trained.options, trained.cross_validation
    free = {"loss": options.loss == AUTO, "k": options.k is None, "C": options.C is None}
    names = [name for name, is_free in free.items() if is_free]
    if found is None or not names:
        return None
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    slack = "one standard error" if found.rule == "1se" else f"{found.rule}"
    rule = f", the fewest terms within {slack} of the best" if free["k"] and found.rule != "best" else ""
    measure = measure_named(found.scoring)
    text = f"{listed} by cross-validated {measure.words}{rule}; scored {_figure(found.chosen.score, found.scoring)}"
    if _labels_as_chosen(trained) or not measure.is_share:
        return text
    # the model's own labels, whose accuracy is told above, follow the calibration, which comes after the choice
    return f"{text}, with labels by the {'sign of f' if len(trained.labelled) == 2 else 'largest f'}"


def _runner_up(trained: quadric.workflow.Trained) -> str | None:
    found = trained.cross_validation
    if found is None or found.runner_up is None:
        return None
    cell = found.runner_up
    return f"loss {cell.loss}, k = {cell.k}, C = {cell.C:g}; scored {_figure(cell.score, found.scoring)}"


def _excluded(trained: quadric.workflow.Trained) -> str:
    limits = trained.data.limits
    counts = {"square{} of two-valued features": limits.n_squares, "product{} within one column": limits.n_products}
    redundant = [f"{count} {what.format('s' * (count > 1))}" for what, count in counts.items() if count]
    text = f"{' and '.join(redundant)}: redundant with linear terms" if redundant else "no term"
    requested = len(limits.exclude) - limits.n_squares - limits.n_products
    return f"{text}; {requested} more as requested" if requested > 0 else text


def _passes(trained: quadric.workflow.Trained) -> str | None:
    """What is different where a table is too large to be read as a whole."""
    if not trained.data.is_sampled or trained.search is None:
        return None
    caps = "" if trained.options.clip is None else "columns are capped at quantiles of all rows, the same in all folds; "
    scores = "; the choice goes by scores of all rows" if trained.search.all_rows_scored_ else ""
    folds = "folds go by the " + ("number of the row; " if trained.options.groups is None else "group; ")
    return f"{caps}{folds}accuracy and AUC out of fold are of {len(trained.data.y)} random rows{scores}"


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
    data, model, names = trained.data, trained.classifier, trained.data.class_names
    found = trained.cross_validation and trained.cross_validation.recorded() | {"grids": _grids(trained.search)}
    return {
        "model": str(output),
        "target": trained.target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "rows": data.n_rows,
        "rows_dropped": data.n_dropped,
        "read_in_passes": data.is_sampled,
        "features": data.feature_names,
        "base_rates": dict(zip(names, trained.base_rates, strict=True)),
        "loss": model.loss,
        "k": model.k,
        "C": model.C,
        "n_terms": [certificate.n_terms for certificate in model.certificates_],
        "n_candidates": data.n_candidates,
        "equation": quadric.export.equation(trained.saved()).splitlines(),
        "surfaces": [{"terms": surface.terms(data.feature_names), "constant": surface.c} for surface in model.surfaces_],
        "accuracy": trained.accuracy,
        "labelled": dict(zip(names, trained.labelled, strict=True)),
        "labelled_by_surface": dict(zip(names, trained.by_surface, strict=True)),
        "cutoff": trained.cutoff,
        "cross_validation": found,
        "certificates": [asdict(certificate) for certificate in model.certificates_],
        "excluded": {"squares": data.limits.n_squares, "products": data.limits.n_products, "terms": len(data.limits.exclude)},
        "missing": data.missing,
        "check": data.check.recorded(),
        "options": trained.options.recorded(),
        "seconds": round(seconds, 2),
    }


def _grids(search: Any) -> dict[str, Any]:
    """Mean scores by loss, as the scorer gives them; null where a cell was skipped."""
    from quadric.workflow.figures import grids_of

    out = {}
    for grid in grids_of(search):
        means = [[None if mean != mean else mean for mean in row] for row in grid.scores.mean(axis=0).tolist()]
        out[grid.loss] = {"ks": grid.ks.tolist(), "Cs": grid.Cs.tolist(), "mean": means}
    return out
