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
from quadric.cli.layout import CONSTANT, certificate_words, paragraphs, percent, shortened_equation, wrapped_equation
from quadric.samples.rare import FEWEST_ROWS
from quadric.workflow.options import TrainingOptions

if TYPE_CHECKING:
    from quadric.workflow.figures import Figure

MANY_ROWS = 100_000
MOST_LINES = 5
"""Of an equation, at a glance."""


@shared.expanded(output=("data", ".model.json"), options=shared.training(), table_format=shared.TableFormat, engine=Engine)
def fit(
    data: shared.DataFile,
    target: shared.Target,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Model file to write.  [default: the name of the table with .model.json]")
    ] = None,
    options: TrainingOptions,
    table_format: shared.TableFormat,
    engine: Engine,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the whole equation and all that is known of the fit.")
    ] = False,
) -> None:
    r"""Fit a quadratic surface with at most k terms to a table.

    Loss, k and C are chosen by cross-validation as far as they are not given, and scores become probabilities. Higher scores
    mean that the class --positive is likelier. Squares of two-valued columns and products within one text column are left
    out: they are redundant with linear terms.

    \b
    Examples:
      quadric fit data.csv --target risk
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

    assert output is not None  # the decorator named it
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
        say(_all_facts(trained, output) if verbose else _glance(trained, output, data))


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


def _glance(trained: quadric.workflow.Trained, output: Path, data: Path) -> str:
    """The model in a few lines: the equation, how good it is and beside what, what was left out, what to do next."""
    equations = [line for line in quadric.export.equation(trained.saved()).splitlines() if not line.startswith("Capped: ")]
    constant = any(quadric.fitted.fitted_model(trained.classifier).is_constant(trained.data.X))
    facts = {
        "certificate": CONSTANT if constant else None,
        "how good": _goodness(trained),
        "beside it": _beside(trained),
        "chosen": _chosen_shortly(trained),
        "missing values": _missing_shortly(trained),
        "read in passes": _passes(trained),
        "written to": str(output),
        "next": f"quadric report {output} {data}; fit --verbose for the rest",
    }
    shown = [shortened_equation(line, MOST_LINES // len(equations)) for line in equations]
    return "\n".join([*_subject(trained), *shown, "", paragraphs(facts)])


def _goodness(trained: quadric.workflow.Trained) -> str:
    found = trained.cross_validation
    if found is None:
        return f"accuracy {percent(trained.accuracy)} on the training rows; without --no-cv, rows left out are scored, too"
    area = "" if found.auc is None else f"AUC {_figure(found.auc, 'roc_auc')}, "
    measures = f"{area}log-loss {_figure(found.log_loss, 'log_loss')}, accuracy {_figure(found.accuracy, 'accuracy')}"
    return f"{measures} out of fold ({found.folds} folds)"


def _beside(trained: quadric.workflow.Trained) -> str | None:
    """Always guessing, and logistic regression on the same folds."""
    found = trained.cross_validation
    if found is None:
        return None
    rates, names = trained.base_rates, trained.data.class_names
    guess = f"always {names[rates.index(max(rates))]}: accuracy {percent(max(rates))}"
    if found.plain is None:
        return guess
    plain = found.plain
    area = "" if plain.auc is None else f"AUC {plain.auc:.3f}, "
    words = f"{area}log-loss {plain.log_loss:.3f}, accuracy {percent(plain.accuracy)}"
    return f"logistic regression: {words}; {guess} (both models were chosen on these folds)"


def _chosen_shortly(trained: quadric.workflow.Trained) -> str:
    model, chosen = trained.classifier, _chosen(trained)
    counts = ", ".join(str(certificate.n_terms) for certificate in model.certificates_)
    what = f"{counts} of {trained.n_candidates} terms, loss {model.loss}, C = {model.C:g}"
    return what if chosen is None else f"{what}; {chosen}"


def _all_facts(trained: quadric.workflow.Trained, output: Path) -> str:
    data, certificates = trained.data, trained.classifier.certificates_
    equations = quadric.export.equation(trained.saved()).splitlines()
    subjects = [f"certificate, {name}" for name in data.class_names] if len(certificates) > 1 else ["certificate"]
    constant = quadric.fitted.fitted_model(trained.classifier).is_constant(data.X)
    words = (certificate_words(*one, "no bound yet: run quadric certify") for one in zip(certificates, constant, strict=True))
    facts = {
        "classes": _classes(trained),
        "base rate": _base_rates(trained),
        "accuracy": _accuracy(trained),
        "AUC": _area(trained),
        "beside it": _beside(trained),
        "log-loss": _log_loss(trained),
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
    return "\n".join([*_subject(trained), *map(wrapped_equation, equations), "", paragraphs(facts)])


def _subject(trained: quadric.workflow.Trained) -> list[str]:
    """Which class f is the score of."""
    data = trained.data
    if len(data.class_names) > 2:
        return []
    share = f"{percent(trained.base_rates[1])} of {data.n_rows} rows"
    text = f"f is the score of {trained.target} = {data.class_names[1]} ({share})"
    return [text.replace("\n", "\\n")]


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


def _log_loss(trained: quadric.workflow.Trained) -> str | None:
    found = trained.cross_validation
    return None if found is None else f"{_figure(found.log_loss, 'log_loss')} out of fold"


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
    text = f"{used} of {trained.n_candidates} ({origin}, {data.n_rows} rows); k = {model.k}, C = {model.C:g}"
    return f"{text}, loss {model.loss}, method {model.method}"


def _chosen(trained: quadric.workflow.Trained) -> str | None:
    """What cross-validation chose, by which measure, and how it did there."""
    from quadric.workflow.options import AUTO
    from quadric.workflow.scorers import measure_named

    options, found = trained.options, trained.cross_validation
    if found is None:
        return None
    free = {
        f"{found.chosen.terms} terms": found.products is not None,
        "loss": options.loss == AUTO,
        "k": options.k is None,
        "C": options.C is None,
    }
    names = [name for name, is_free in free.items() if is_free]
    if not names:
        return None
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    slack = "one standard error" if found.rule == "1se" else f"{found.rule}"
    rule = f", the fewest terms within {slack} of the best" if free["k"] and found.rule != "best" else ""
    measure = measure_named(found.scoring)
    text = f"{listed} by cross-validated {measure.words}{rule}"
    if found.scoring != "log_loss":  # which has a line of its own
        text += f"; scored {_figure(found.chosen.score, found.scoring)}"
    if measure.is_share and not _labels_as_chosen(trained):
        # the model's own labels, whose accuracy is told above, follow the calibration, which comes after the choice
        text += f", with labels by the {'sign of f' if len(trained.labelled) == 2 else 'largest f'}"
    if found.products is None:
        return text
    factor, digits, unit = (100, 1, " points") if measure.is_share else (1, 4, "")
    change = f"{factor * found.products.mean:+.{digits}f} ± {factor * found.products.error:.{digits}f}{unit}"
    helped = "helped" if found.chosen.terms != "linear" else "did not help"
    return f"{text}; products {helped}: {measure.words} {change}"


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
    parts = [f"{' and '.join(redundant)}: redundant with linear terms"] if redundant else []
    if limits.n_rare:
        parts.append(f"{limits.n_rare} product{'s' * (limits.n_rare > 1)} of rare levels: fewer than {FEWEST_ROWS} rows")
    requested = len(limits.exclude) - sum(limits.counts.values())
    return "; ".join([*(parts or ["no term"]), *[f"{requested} more as requested"] * (requested > 0)])


def _passes(trained: quadric.workflow.Trained) -> str | None:
    """What is different where a table is too large to be read as a whole."""
    if not trained.data.is_sampled or trained.search is None:
        return None
    shared = "levels and imputed values" if trained.options.clip is None else "caps, levels and imputed values"
    scores = "; the choice goes by scores of all rows" if trained.search.all_rows_scored_ else ""
    folds = "folds go by the " + ("number of the row; " if trained.options.groups is None else "group; ")
    figures = f"accuracy and AUC out of fold are of {len(trained.data.y)} random rows{scores}"
    return f"{shared} are those of all rows, the same in all folds; {folds}{figures}"


def _missing(trained: quadric.workflow.Trained) -> str:
    missing = trained.data.missing
    if not missing:
        return "none"
    counts = ", ".join([f"{count} in {name}" for name, count in missing.items()][:6] + ["..."] * (len(missing) > 6))
    treatment = {
        "drop": f"{trained.data.n_dropped} rows dropped",
        "impute": "imputed by the mean or the most frequent level",
        "indicator": "numbers imputed by the mean, texts as a level of their own" + _flags(trained),
    }
    return f"{counts}; {treatment[trained.options.missing]}"


def _missing_shortly(trained: quadric.workflow.Trained) -> str | None:
    missing, how = trained.data.missing, trained.options.missing
    if not missing:
        return None
    columns = f"{sum(missing.values())} in {len(missing)} column{'s' * (len(missing) > 1)}"
    return f"{columns}, {f'{trained.data.n_dropped} rows dropped' if how == 'drop' else 'imputed'}"


def _flags(trained: quadric.workflow.Trained) -> str:
    """Which columns have a missing-value flag."""
    flagged = [column.name for column in trained.data.encoder.inputs_ if column.indicator]
    if not flagged:
        return "; too few for missing-value flags"
    return ", with missing-value flags for " + ", ".join([*flagged[:6], *["..."] * (len(flagged) > 6)])


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
        "n_candidates": trained.n_candidates,
        "equation": quadric.export.equation(trained.saved()).splitlines(),
        "surfaces": [{"terms": surface.terms(data.feature_names), "constant": surface.c} for surface in model.surfaces_],
        "accuracy": trained.accuracy,
        "labelled": dict(zip(names, trained.labelled, strict=True)),
        "labelled_by_surface": dict(zip(names, trained.by_surface, strict=True)),
        "cutoff": trained.cutoff,
        "cross_validation": found,
        "certificates": [asdict(certificate) for certificate in model.certificates_],
        "excluded": data.limits.counts | {"terms": len(data.limits.exclude)},
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
