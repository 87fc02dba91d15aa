"""``quadric paper``: the paper's tables, figures and claims from raw data."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

import quadric
from quadric.cli.console import UsageError, check_free, duration, note, progress_bar, say, say_json
from quadric.cli.data import how_to_get
from quadric.datasets import DatasetError
from quadric.paper.experiments import PARTS, QUICK_DATASETS, Plan
from quadric.paper.page import gather, reproduction, write_everything
from quadric.paper.runner import Progress, run
from quadric.paper.store import Store, write_whole


def paper(
    parts: Annotated[
        list[str] | None, typer.Argument(help="table1 ... table4, figure1 ... figure4, claims; none: everything.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder for rows, tables, figures and the page.")] = Path("paper-results"),
    models: Annotated[str, typer.Option(help="Models, separated by commas; none: the paper's ten.")] = "",
    datasets: Annotated[str, typer.Option(help="Data sets, separated by commas; none: all that are there.")] = "",
    protocol: Annotated[
        str, typer.Option(help='"paper": best mean over the grid; "nested": chosen inside each fold too.')
    ] = "paper",
    method: Annotated[str, typer.Option(help='Terms of the l0 models by "pd" (the paper\'s), "best" or "both".')] = "pd",
    seed: Annotated[int, typer.Option(min=0, help="Of the folds; 0 is the paper's.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Only the small data sets, with full grids: under a minute.")] = False,
    only_write: Annotated[bool, typer.Option("--only-write", help="Compute nothing: write what the rows allow.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    docs: Annotated[Path | None, typer.Option(help="Also write the Markdown page here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    r"""Reproduce the paper: every model, table, figure and claim, ours beside the paper's.

    Finished pieces are kept in OUTPUT/rows.jsonl: a run that was stopped goes on where it was. index.html shows everything.

    \b
    Examples:
      quadric paper --quick --output quick
      quadric paper --output results
      quadric paper table2 --models ls-svm --datasets ecoli,iris --output some
      quadric paper --protocol nested --method both --output all
    """
    plan = _plan(parts or [], _listed(models), _listed(datasets), protocol, method, seed, quick)
    if docs is not None:
        check_free(docs, force=True)
    _tell_missing(plan, wanted=bool(_listed(datasets)), quiet=as_json)
    began = time.monotonic()
    identity = {"version": quadric.__version__, "protocol": plan.reading, "seed": plan.seed}
    store = Store(output, identity, report=note)
    tasks = plan.tasks()
    done_before = sum(task.key in store for task in tasks)
    if not only_write:
        with progress_bar("paper") as bar:
            run(tasks, store, seed=plan.seed, n_jobs=jobs, advance=lambda progress: bar(progress.share, _described(progress)))
    findings = gather(plan, store, _command(plan, quick))
    paths = write_everything(findings, store, output)
    if docs is not None:
        write_whole(docs, reproduction(findings))
    _summarise(output, len(tasks), done_before, time.monotonic() - began, findings.counts, as_json, len(paths))


def _plan(parts: list[str], models: list[str], datasets: list[str], protocol: str, method: str, seed: int, quick: bool) -> Plan:
    try:
        names = datasets or (list(QUICK_DATASETS) if quick else [])
        return Plan.of(parts, models, names, reading=protocol, method=method, seed=seed)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _tell_missing(plan: Plan, *, wanted: bool, quiet: bool) -> None:
    """Data sets that are not there: an error where they were named, else they are left out."""
    missing = plan.missing_data()
    if missing and wanted:
        raise DatasetError("; ".join(f"{info.name} is not there: {how_to_get(info)}" for info in missing))
    if missing and not quiet:
        note(f"not there, so left out: {', '.join(info.name for info in missing)} (quadric data says how to get them)")


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _described(progress: Progress) -> str:
    return f"{progress.done} of {progress.total} pieces, about {duration(progress.remaining)} left ({progress.latest})"


def _command(plan: Plan, quick: bool) -> str:
    words = ["quadric paper", *(plan.parts if plan.parts != PARTS else ())]
    everything = Plan()
    words += ["--quick"] if quick else []
    words += [f"--models {','.join(plan.models)}"] if plan.models != everything.models else []
    words += [f"--datasets {','.join(plan.datasets)}"] if plan.datasets != everything.datasets and not quick else []
    words += [f"--protocol {plan.reading}"] if plan.reading != everything.reading else []
    words += [f"--method {plan.method}"] if plan.method != everything.method else []
    words += [f"--seed {plan.seed}"] if plan.seed else []
    return " ".join(words)


def _summarise(
    output: Path, n_tasks: int, done_before: int, seconds: float, counts: tuple[int, int, int], as_json: bool, n_files: int
) -> None:
    compared, within, within_two = counts
    if as_json:
        say_json(
            {
                "output": str(output),
                "pieces": n_tasks,
                "done_before": done_before,
                "seconds": round(seconds, 1),
                "cells_compared": compared,
                "within_one_deviation": within,
                "within_two_deviations": within_two,
            }
        )
        return
    say(f"{n_tasks} pieces of work ({done_before} were there already), {duration(seconds)}")
    if compared:
        say(f"{within} of {compared} cells within one of the paper's standard deviations, {within_two} within two")
    say(f"{n_files} files in {output}; open {output / 'index.html'}")
