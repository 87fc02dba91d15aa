"""``quadric data``: what data sets of the paper are there, and fetching those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quadric.cli.console import UsageError, note, progress_lines, say, say_json
from quadric.datasets import REGISTRY, DatasetError, DatasetInfo, add, fetch, resolve, status


def data(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets to fetch; none: only list them.")] = None,
    fetch_all: Annotated[bool, typer.Option("--fetch", help="Fetch every data set that is missing and public.")] = False,
    file: Annotated[Path | None, typer.Option("--from", help="Take one data set from a file got by hand.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to put them; by default the user's cache.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    r"""List the paper's data sets, and fetch those that are not there.

    Data are read from the folder that QUADRIC_DATA names, else from the user's cache, and checked against their SHA-256.

    \b
    Examples:
      quadric data
      quadric data german ecoli
      quadric data --fetch
      quadric data credit_small --from "Credit Score Classification Dataset.csv"
    """
    chosen = [_resolved(name) for name in names or []]
    if fetch_all:
        chosen = [info for info in REGISTRY.values() if not status(info.name).available and info.obtained == "fetched"]
    if file is not None:
        if len(chosen) != 1:
            raise UsageError("--from needs the name of one data set")
        note(f"{chosen[0].name}: written to {add(chosen[0].name, file, folder=folder)}")
        chosen = []
    failures = [message for info in chosen if (message := _fetched(info, folder)) is not None]
    if as_json:
        say_json({info.name: _described(info) for info in REGISTRY.values()})
    else:
        _list()
    if failures:
        raise RuntimeError("; ".join(failures))


def _resolved(name: str) -> DatasetInfo:
    try:
        return resolve(name)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _fetched(info: DatasetInfo, folder: Path | None) -> str | None:
    """Fetch a data set; what went wrong, if anything did."""
    if status(info.name).available:
        note(f"{info.name}: there already")
        return None
    try:
        with progress_lines(info.name) as report:
            path = fetch(info.name, folder=folder, report=report)
    except (DatasetError, OSError) as error:
        return str(error)
    note(f"{info.name}: written to {path}")
    return None


def _described(info: DatasetInfo) -> dict[str, object]:
    return {
        "paper_name": info.paper_name,
        "rows": info.shape[0],
        "features": info.shape[1],
        "source": info.source,
        "licence": info.licence,
        "obtained": info.obtained,
        "sha256": info.sha256,
        "where": status(info.name).place,
    }


def _list() -> None:
    say(f"{'name':<14} {'paper':<14} {'rows x features':<16} {'licence':<10} where")
    for info in REGISTRY.values():
        found = status(info.name)
        place = found.place or {"fetched": "missing"}.get(info.obtained, info.obtained)
        place += "" if found.problem is None else " (wrong file)"
        size = f"{info.shape[0]} x {info.shape[1]}"
        say(f"{info.name:<14} {info.paper_name:<14} {size:<16} {info.licence:<10} {place}")
    for info in REGISTRY.values():
        if not status(info.name).available:
            say(f"{info.name}: {status(info.name).advice}")
