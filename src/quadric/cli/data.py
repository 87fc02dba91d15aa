"""``quadric data``: what data sets of the paper are there, and fetching those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import quadric
from quadric.cli import options as shared
from quadric.cli.console import UsageError, as_usage, note, say, say_json, working
from quadric.cli.inputs import check_there
from quadric.cli.layout import indented, paragraph, text_table


def data(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets to fetch. Without names, all are listed.")] = None,
    fetch_all: Annotated[bool, typer.Option("--fetch", help="Fetch all public data sets that are missing.")] = False,
    file: Annotated[Path | None, typer.Option("--from", help="Take one data set from a file that you downloaded.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder to write to.  [default: the user's cache]")] = None,
    as_json: shared.AsJson = False,
) -> None:
    r"""List the paper's data sets, and fetch missing ones.

    Data are read from the folder in QUADRIC_DATA, else from the user's cache, and checked against their SHA-256.

    \b
    Examples:
      quadric data
      quadric data german ecoli
      quadric data --fetch
      quadric data credit_small --from "Credit Score Classification Dataset.csv"
    """
    with as_usage():
        chosen = [quadric.datasets.resolve(name) for name in names or []]
    if fetch_all:
        chosen = [state.info for state in _states() if not state.available and state.info.obtained == "fetched"]
    if file is not None:
        if len(chosen) != 1:
            raise UsageError("--from needs the name of one data set")
        check_there(file)
        note(f"{chosen[0].name}: written to {quadric.datasets.add(chosen[0].name, file, folder=folder)}")
        chosen = []
    failures = [message for info in chosen if (message := _fetched(info, folder)) is not None]
    if as_json:
        say_json({state.info.name: _described(state.info, state.place) for state in _states()})
    else:
        _list(_states())
    if failures:
        raise RuntimeError("; ".join(failures))


def _states() -> list[quadric.datasets.DatasetStatus]:
    return [quadric.datasets.status(name) for name in quadric.datasets.REGISTRY]


def _fetched(info: quadric.datasets.DatasetInfo, folder: Path | None) -> str | None:
    if quadric.datasets.status(info.name).available:
        note(f"{info.name}: already there")
        return None
    try:
        with working("data") as describe:
            path = quadric.datasets.fetch(info.name, folder=folder, report=describe)
    except (quadric.datasets.DatasetError, OSError) as error:
        return f"{error} (quadric data {info.name} --from FILE)"
    note(f"{info.name}: written to {path}")
    return None


def _described(info: quadric.datasets.DatasetInfo, place: str | None) -> dict[str, object]:
    return {
        "paper_name": info.paper_name,
        "rows": info.shape[0],
        "features": info.shape[1],
        "source": info.source,
        "licence": info.licence,
        "obtained": info.obtained,
        "sha256": info.sha256,
        "where": place,
    }


def how_to_get(info: quadric.datasets.DatasetInfo) -> str:
    """The commands that put a data set where it is found."""
    if info.recipe is None:
        m, n = info.shape
        return f"private: its owners have a CSV of {m} rows, {n} features and a label; quadric data {info.name} --from FILE"
    login = " (login required)" if info.obtained == "by hand" else ""
    by_hand = f"get {info.recipe.original} from {info.homepage}{login}, then quadric data {info.name} --from FILE"
    return f"quadric data {info.name}; or {by_hand}" if info.obtained == "fetched" else by_hand


def _list(states: list[quadric.datasets.DatasetStatus]) -> None:
    rows = [
        (each.info.name, each.info.paper_name, " x ".join(map(str, each.info.shape)), each.info.licence, _state(each))
        for each in states
    ]
    lines = text_table(("name", "paper", "rows x features", "licence", "where"), rows, left=range(4))
    folders: dict[str, list[str]] = {}
    for each in states:
        if _state(each) == "there":
            folders.setdefault(str(Path(str(each.place)).parent), []).append(each.info.name)
    lines += [paragraph(f"in {folder}", ", ".join(names)) for folder, names in folders.items()]
    wrong = [each for each in states if each.problem is not None]
    lines += [f"{each.info.name}: not the expected file, remove it\n  {each.place}" for each in wrong]
    lines += _advice([each.info for each in states if not each.available])
    say("\n".join(lines))


def _state(found: quadric.datasets.DatasetStatus) -> str:
    if found.problem is not None:
        return "wrong file"
    if found.place is None:
        return {"fetched": "missing"}.get(found.info.obtained, found.info.obtained)
    return found.info.obtained if found.info.obtained == "scikit-learn" else "there"


def _advice(missing: list[quadric.datasets.DatasetInfo]) -> list[str]:
    """Which commands get what is missing; an address stands on a line of its own, to be copied whole."""
    lines = []
    if any(info.obtained == "fetched" for info in missing):
        lines.append("quadric data NAME fetches one data set, quadric data --fetch all missing ones.")
    by_hand = [(info, info.recipe) for info in missing if info.recipe is not None]
    if by_hand:
        lines.append("Or download a file yourself, and run quadric data NAME --from FILE:")
    for info, recipe in by_hand:
        login = " (login required)" if info.obtained == "by hand" else ""
        lines += [f"  {info.name}: {recipe.original}{login}", f"    {info.homepage}"]
    lines += [indented(how_to_get(info), f"{info.name}: ") for info in missing if info.recipe is None]
    return lines
