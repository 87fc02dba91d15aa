"""``quadric report``: everything about a model on one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quadric.cli import inputs
from quadric.cli import options as shared
from quadric.cli.console import UsageError, as_usage, claim_output, say, say_json, working, write_output
from quadric.defaults import LARGEST_COUNT, LARGEST_SEED, MOST_BOOTSTRAPS, MOST_PROCESSES
from quadric.errors import quoted
from quadric.extras import require
from quadric.progress import part


@shared.expanded(output=("model", ".report.html"), table_format=shared.TableFormat)
def report(
    model: shared.ModelFile,
    data: shared.DataFile,
    *,
    test: shared.TestFiles = None,
    output: Annotated[
        Path | None, typer.Option(help="HTML file to write.  [default: the name of the model with .report.html]")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.  [default: the target in the data file]")] = None,
    rows: Annotated[
        str | None,
        typer.Option(help="Rows to explain, counted from 0: 0:3 or 1,5.  [default: three without the favourable class]"),
    ] = None,
    frozen: shared.Frozen = None,
    actionable: shared.Actionable = None,
    ks: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS", help="Numbers of terms to show, such as 1:12.  [default: up to twice the model's]"),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, max=MOST_BOOTSTRAPS, help="Bootstrap fits for the stability of the terms; 0 for none.")
    ] = 50,
    bounds: Annotated[
        bool, typer.Option("--bounds/--no-bounds", help="Prove how much better other terms could be, by a limited search.")
    ] = True,
    points: shared.Points = None,
    folds: Annotated[int, typer.Option(min=2, max=LARGEST_COUNT, help=shared.FLAGS["folds"].help)] = 5,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help=shared.FLAGS["seed"].help)] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MOST_PROCESSES, help="Processes; the result does not depend on their number.")
    ] = None,
    table_format: shared.TableFormat,
    force: shared.Force = False,
    as_json: shared.AsJson = False,
) -> None:
    r"""Write a self-contained HTML report on a model.

    It shows equation, accuracy, path, stability, explanations and history. The data should be those that the model was
    fitted to, including the target column. Rows get advice if quadric fit was told which class people want (--favourable).

    \b
    Examples:
      quadric report model.json data.csv
      quadric report model.json data.csv --bootstrap 0 --ks 1:10 --output r.html
      quadric report model.json data.csv --test later.csv
      quadric report model.json data.csv --rows 0,7 --actionable amount:down \
        --output r.html
    """
    assert output is not None  # the decorator named it
    tests = inputs.named_files(test)
    claim_output(output, force, model, data, *tests.values())
    require("jinja2", "report")
    from quadric.report import render
    from quadric.report.summarising import summarise_table
    from quadric.review.explaining import ExplainingOptions, check_names
    from quadric.workflow.prices import RulePrices
    from quadric.workflow.samples import samples_of

    loaded = inputs.read_table_model(model, points)
    grid = None if ks is None else inputs.integers(ks, "--ks")
    if grid is not None and (list(grid) != sorted(set(grid)) or grid[0] < 1):
        raise UsageError(f"--ks: the numbers of terms must be increasing and at least 1, got {quoted(ks)}")
    with as_usage():
        check_names(loaded, ExplainingOptions(frozen=frozen or (), actionable=actionable or ()))
    with working("report"):
        how = table_format.how(loaded)
        table, *others = (inputs.read_data(path, how, loaded.text_names) for path in (data, *tests.values()))
        (used, y), samples = samples_of(loaded, table, dict(zip(tests, others, strict=True)))
        places = loaded.places_of_fit(table)
        explained = () if rows is None else inputs.rows(rows, len(table))
        if strange := sorted({*explained}.difference(places.tolist())):
            raise UsageError(f"--rows: row {strange[0]} was set aside or has no outcome; the model was not fitted to it")
        with part(inputs.READING, 1.0):
            summary = summarise_table(
                loaded,
                used,
                y,
                name=title or (f"{loaded.saved.target} in {data.stem}" if loaded.saved.target else model.stem),
                rows=places.searchsorted(explained).tolist(),
                places=places,
                frozen=frozen or (),
                actionable=actionable or (),
                ks=grid,
                n_boot=bootstrap,
                bounds=bounds,
                folds=folds,
                seed=seed,
                n_jobs=jobs,
                origin=(data.name, table.sha256),
                figures=loaded.figures(table.sha256),
                findings=loaded.findings,
                samples=samples,
                prices=RulePrices.of(loaded.saved.metadata.get("rule_prices")),
            )
        page = render(summary)
    write_output(output, page, force)
    if as_json:
        say_json({"output": str(output), "rows": len(used), "bytes": len(page.encode("utf-8"))})
    else:
        say(f"written to: {output}")
