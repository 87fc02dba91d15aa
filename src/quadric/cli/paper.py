"""``quadric paper``: the paper's tables, figures and claims from raw data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import as_usage, check_free, duration, note, say, say_json, working
from quadric.cli.data import how_to_get
from quadric.defaults import LARGEST_SEED, MOST_PROCESSES

if TYPE_CHECKING:
    from quadric.paper.experiments import Plan


def paper(
    parts: Annotated[
        list[str] | None, typer.Argument(help="table1 to table4, figure1 to figure4, claims.  [default: all]")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for rows, tables, figures and the page.")] = Path("paper-results"),
    models: Annotated[str, typer.Option(help="Models, separated by commas.  [default: the paper's ten]")] = "",
    datasets: Annotated[str, typer.Option(help="Data sets, separated by commas.  [default: all available]")] = "",
    protocol: Annotated[
        str, typer.Option(help='"paper": best mean over the grid; "nested": also chosen inside each fold.')
    ] = "paper",
    method: Annotated[str, typer.Option(help='Search of the l0 models: "pd" (the paper\'s), "best" or "both".')] = "pd",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the folds; 0 is the paper's.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Only the small data sets, with full grids; under a minute.")] = False,
    only_write: Annotated[
        bool, typer.Option("--only-write", help="Compute nothing; write what the stored rows allow.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, max=MOST_PROCESSES, help="Processes.  [default: one per core]")] = None,
    docs: Annotated[Path | None, typer.Option(help="Also write the page as Markdown to this file.")] = None,
    as_json: shared.AsJson = False,
) -> None:
    r"""Reproduce the paper: tables, figures and claims.

    Every number stands beside the paper's. Finished tasks are kept in OUTPUT/rows.jsonl: a stopped run continues where it
    was. index.html shows everything.

    \b
    Examples:
      quadric paper --quick --output quick
      quadric paper --output results
      quadric paper table2 --models ls-svm --datasets ecoli,iris --output some
      quadric paper --protocol nested --method both --output all
    """
    from quadric.paper.experiments import QUICK_DATASETS, Plan
    from quadric.paper.page import DOCUMENTATION, gather, rendered, write_everything
    from quadric.paper.runner import run
    from quadric.paper.store import Store, write_whole
    from quadric.paper.tasks import row_problem

    names = _listed(datasets) or (list(QUICK_DATASETS) if quick else [])
    with as_usage():
        plan = Plan.of(parts or [], _listed(models), names, reading=protocol, method=method, seed=seed)
    if docs is not None:
        check_free(docs, force=True)
    _tell_missing(plan, wanted=bool(_listed(datasets)), quiet=as_json)
    began = time.monotonic()
    identity = {"version": quadric.__version__, "protocol": plan.reading, "seed": plan.seed}
    with Store.locked(output, identity, report=note, problem=row_problem) as store:
        tasks = plan.tasks()
        done_before = sum(task.key in store for task in tasks)
        if not only_write:
            with working("paper"):
                run(tasks, store, seed=plan.seed, n_jobs=jobs)
        findings = gather(plan, store, _command(plan, quick))
        paths = write_everything(findings, output)
        if docs is not None:
            write_whole(docs, rendered(DOCUMENTATION, findings))
    seconds, (compared, within, within_two) = time.monotonic() - began, findings["counts"]
    if as_json:
        say_json(
            {
                "output": str(output),
                "pieces": len(tasks),
                "done_before": done_before,
                "seconds": round(seconds, 1),
                "cells_compared": compared,
                "within_one_deviation": within,
                "within_two_deviations": within_two,
            }
        )
        return
    say(f"{len(tasks)} tasks ({done_before} already done), {duration(seconds)}")
    if compared:
        say(f"{within} of {compared} cells within one of the paper's standard deviations, {within_two} within two")
    say(f"{len(paths)} files in {output}; open {output / 'index.html'}")


def _tell_missing(plan: Plan, *, wanted: bool, quiet: bool) -> None:
    """Data sets that are not there: an error where they were named, else they are left out."""
    missing = plan.missing_data()
    if missing and wanted:
        raise quadric.datasets.DatasetError("; ".join(f"{info.name} is missing: {how_to_get(info)}" for info in missing))
    if missing and not quiet:
        note(f"left out because missing: {', '.join(info.name for info in missing)} (quadric data says how to get them)")


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _command(plan: Plan, quick: bool) -> str:
    from quadric.paper.experiments import PARTS, Plan

    words = ["quadric paper", *(plan.parts if plan.parts != PARTS else ()), *["--quick"] * quick]
    options = {"models": "models", "datasets": "datasets", "reading": "protocol", "method": "method", "seed": "seed"}
    for name, option in options.items():
        value = getattr(plan, name)
        if value != getattr(Plan(), name) and not (quick and name == "datasets"):
            words.append(f"--{option} {','.join(value) if isinstance(value, tuple) else value}")
    return " ".join(words)
