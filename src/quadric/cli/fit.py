"""``quadric fit``: a table in, a model file out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, claim_output, flag, remark, say, say_json, working
from quadric.cli.engines import Engine
from quadric.cli.inputs import check_there, named_files, texts_of, training_stream
from quadric.cli.layout import indented, paragraphs, shortened_equation, shortened_list, text_table, wrapped_equation
from quadric.workflow.options import TrainingOptions

PriceRules = Annotated[
    bool, typer.Option("--price-rules", help="Also fit without each rule, and tell what it costs.", rich_help_panel="Rules")
]
# Rows from which on a loss that keeps them in memory is remarked on
MANY_ROWS = 100_000
# At a glance: the equation has the lines that the facts leave, but at least so many terms, of several equations one each
MOST_LINES = 15
FEWEST_TERMS = 3
# Of several classes that share their terms
MOST_SHARED = 5


@shared.expanded(output=("data", ".model.json"), options=shared.training(), table_format=shared.TableFormat, engine=Engine)
def fit(
    data: shared.DataFile,
    target: shared.Target,
    *,
    output: Annotated[
        Path | None, typer.Option(help="Model file to write.  [default: the name of the table with .model.json]")
    ] = None,
    test: shared.TestFiles = None,
    options: TrainingOptions,
    price_rules: PriceRules = False,
    table_format: shared.TableFormat,
    engine: Engine,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", help="Print the whole equation and all that is known of the fit.", rich_help_panel=shared.OUTPUT
        ),
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
      quadric fit data.csv --target risk --holdout 0.25
      quadric fit data.csv --target risk --time-column opened \
        --after 2026-01-01 --test other-branch.csv
      quadric fit data.csv --target risk --ignore id --missing impute \
        --exclude 'sex*' --output model.json
      quadric fit data.csv --target risk --k 4 --method exact --time-limit 30 \
        --output model.json
      quadric fit data.csv --target risk --hierarchy weak --max-features 5 \
        --price-rules --output model.json
      quadric fit data.csv --target risk --no-cv --k 4 --C 1 --no-calibrate \
        --output model.json
      quadric fit folder --target risk --engine dask --scheduler HOST:8786 \
        --output model.json
    """
    from quadric.progress import STOP, part
    from quadric.workflow import fit_summary
    from quadric.workflow.scoring import NOTATION

    assert output is not None  # the decorator named it
    tests = named_files(test)
    claim_output(output, force, data, *tests.values())
    if price_rules:
        check_rules(options)
    how = table_format.how()
    began, STOP.was_wanted = time.monotonic(), False
    with working("fit") as describe:
        with part(0.0, 0.5 if price_rules else 1.0):
            trained = _trained(data, target, options, how, describe, engine, tests)
        with part(0.5, 1.0):
            prices = quadric.workflow.price_rules(trained) if price_rules else None
    history = {key: how[name] for name, key in NOTATION.items()} | (
        {} if prices is None else {"rule_prices": prices.recorded()}
    )
    quadric.save_model(trained.saved(file=data.name, **history), output, force=force)
    for each in _remarks(trained):
        remark(each)
    if as_json:
        facts = fit_summary.plain_facts(trained)
        facts["rule_prices"] = prices and prices.recorded()
        say_json({"model": str(output), **facts, "seconds": round(time.monotonic() - began, 2)})
        return
    lines, written = quadric.export.equation(trained.saved()).splitlines(), {"written to": str(output)}
    samples = fit_summary.sample_table(trained)
    subject = (fit_summary.subject(trained) or "").replace("\n", "\\n")
    if verbose:
        words = fit_summary.all_facts(trained)
        equations = list(map(wrapped_equation, lines))
    else:
        words = fit_summary.facts_at_a_glance(trained, STOP.was_wanted)
        if trained.cross_validation is None:
            words["how good"] = f"{words['how good']}; without --no-cv, rows left out are scored, too"
        written["next"] = f"quadric report {output} {data}; fit --verbose for the rest"
        rest = paragraphs(words | written).count("\n") + 2 + bool(subject)
        equations = _at_a_glance(trained, [line for line in lines if not line.startswith("Capped: ")], MOST_LINES - rest)
    say("\n".join([*filter(None, [subject]), *equations, ""]))
    if prices is not None:
        head, *rows = prices.table()
        say("\n".join([*text_table(head, rows), ""]))
    if samples is not None:
        say("\n".join([paragraphs(words), "", samples, ""]))
        words = fit_summary.sample_facts(trained)
    say(paragraphs(words | written))


def _at_a_glance(trained: quadric.workflow.Trained, lines: list[str], room: int) -> list[str]:
    """The largest terms of each surface in about so many lines, and what numbers of days are counted from."""
    if trained.view.shares_terms:
        return shortened_list(lines, n_terms=trained.classifier.certificates_[0].n_terms, most=MOST_SHARED)
    n = len(trained.view.surfaces)
    notes = [indented("; ".join(lines[n:]), "")] if lines[n:] else []
    each = (room - sum(note.count("\n") + 1 for note in notes)) // n
    return [*(shortened_equation(line, each, FEWEST_TERMS if n == 1 else 1) for line in lines[:n]), *notes]


def check_rules(options: TrainingOptions) -> None:
    """Refuse to price rules where there are none."""
    from quadric.workflow.rule_words import TERMS, listed_rules, listed_shapes

    if not listed_rules(options, TERMS) and not listed_shapes(options):
        rules = [flag(name) for name in shared.PANELS["Rules"].split()]
        raise UsageError(f"--price-rules needs a rule: give {', '.join(rules[:-1])} or {rules[-1]}")


def _trained(
    data: Path, target: str, options: TrainingOptions, how: Any, describe: Any, engine: Engine, tests: Mapping[str, Path]
) -> quadric.workflow.Trained:
    others = {name: training_stream(path, target, options, how)[0] for name, path in tests.items()}
    if engine.engine is not None:
        check_there(data, or_folder=True)
        text, options = texts_of(target, options), replace(options, missing_texts=tuple(how["missing"]))
        with engine.table(data, text) as parts:
            return quadric.workflow.train(parts, target, options, tests=others)
    stream, options = training_stream(data, target, options, how)
    describe(f"cross-validation, {options.folds} folds" if options.crosses else "searching for the terms")
    return quadric.workflow.train(stream, target, options, tests=others)


def _remarks(trained: quadric.workflow.Trained) -> Iterator[str]:
    from quadric.workflow.fit_summary import base_rates
    from quadric.workflow.preparation import lighter_loss

    names, labelled, rows = trained.data.class_names, trained.labelled, trained.data.n_rows
    if trained.says_nothing:
        yield f"out of fold, scores do not rise with {names[-1]}: its probability is the same for all rows"
    if max(labelled) == rows:
        advice = "--class-weight" if trained.cutoff is None else "--cutoff (such as balanced) or --class-weight"
        yield f"the model labels every row {names[labelled.index(rows)]} (base rate: {base_rates(trained)}): set {advice}"
    elif trained.options.class_weight is not None and trained.options.calibrate and labelled != trained.by_surface:
        others = f"{labelled[-1]} of {rows} rows are labelled {names[-1]}, {trained.by_surface[-1]} by the sign of f"
        advice = "choose labels with --cutoff (such as balanced), or give " if trained.cutoff else ""
        yield (
            "--class-weight moves the surface, but calibrated probabilities follow the base rate: "
            f"{others}; {advice}--no-calibrate"
        )
    loss = trained.classifier.loss
    if rows >= MANY_ROWS and not trained.data.is_sampled and (lighter := lighter_loss(loss)):
        yield f"the loss {loss} keeps all {rows} rows in memory; --loss {lighter} does not"
