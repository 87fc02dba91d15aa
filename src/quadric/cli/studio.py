"""``quadric studio``: a local page on which equations are tried, compared and saved."""

from __future__ import annotations

import os
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from quadric.cli import options as shared
from quadric.cli.console import UsageError, flag, note, say, sentence, working
from quadric.cli.inputs import check_there, read_table_model, training_stream
from quadric.cli.options import FLAGS
from quadric.extras import require
from quadric.workflow.options import OptionError, TrainingOptions

# How to go on where a table cannot be fitted
ONWARD = (
    "Mend the table, or change an option: --target names the column with the classes, --ignore and --keep choose others. "
    "End the studio with Ctrl-C in its terminal, and start it again with:"
)


@shared.expanded(options=shared.training(without=("method", "time_limit", "gap_limit")), table_format=shared.TableFormat)
def studio(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[MODEL] DATA", help="A table; before it, if wanted, the model file to begin with."),
    ],
    *,
    target: Annotated[str | None, typer.Option(help="Column with the classes.  [default: the model's]")] = None,
    output_folder: Annotated[
        Path, typer.Option(help="The only folder in which the page writes files.", rich_help_panel=shared.OUTPUT)
    ] = Path(),
    options: TrainingOptions,
    table_format: shared.TableFormat,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0, or where it is taken: a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    # not --keep, which names columns, as for fit
    keep_open: Annotated[bool, typer.Option("--keep-open", help="Go on when no page has been open for 15 minutes.")] = False,
) -> None:
    r"""Open the workbench: a page on this machine alone, for a table with two classes.

    Move the number of terms, forbid and force terms, leave columns out, move the cut-off; see at once what that does to the
    equation, and a little later what it costs on rows left out. Save the model, and the command that makes it again.
    Ctrl-C ends it.

    \b
    Examples:
      quadric studio data.csv --target risk
      quadric studio model.json data.csv
      quadric studio data.csv --target risk --k 8 --C 64 --loss least_squares
    """
    for module in ("starlette", "uvicorn"):
        require(module, "studio")
    from quadric.studio.serving import Serving, open_browser
    from quadric.studio.session import Session, Work
    from quadric.studio.unfitted import Unfitted
    from quadric.workflow.bench import Bench
    from quadric.workflow.scoring import NOTATION

    *models, data = files
    if len(models) > 1:
        raise UsageError("give one table, or a model file and a table")
    folder = output_folder.absolute()
    if not folder.is_dir():
        raise UsageError(f"there is no folder {output_folder}; make it first")
    how, target, options = _opened(models, data, target, options, table_format)
    stream, options = training_stream(data, target, options, how)
    reading = _format_flags(table_format)

    def command(name: str, wanted: TrainingOptions, *more: str) -> str:
        table = f".{os.sep}{data}" if str(data).startswith("-") else str(data)  # what begins with a dash is read as an option
        words = ["quadric", name, table, *_typed("--target", target), *option_words(wanted), *reading, *more]
        return shlex.join(words)

    def repeat(wanted: TrainingOptions, path: Path) -> str:
        return command("fit", wanted, "--output", str(path))

    metadata = {"file": data.name, **{key: how[name] for name, key in NOTATION.items()}}
    session: Session | Unfitted
    try:
        with working("studio"):
            session = Session(Bench(stream, target, options), Work(data.name, folder, repeat, metadata))
    except ValueError as error:
        if _is_typed_wrong(error, options):
            raise
        stream.count_rows()  # a table that cannot be read is refused here and now
        session = Unfitted(data.name, sentence(error), ONWARD, command("studio", options, *_remedy(error)))
        note(f"quadric: {session.words}\n{ONWARD}\n  {session.command}")
    with Serving(session, port=port, keep=keep_open, log=note) as serving:
        say(f"quadric studio: {serving.address}")
        if browser and not open_browser(serving.address):
            note("quadric: there is no browser here; open the address in one on this machine")
        serving.wait()


def _is_typed_wrong(error: ValueError, options: TrainingOptions) -> bool:
    """Whether another table would be refused, too: an option makes no sense, or does not suit the names in this table."""
    if not isinstance(error, OptionError):
        return False
    plain = TrainingOptions()
    left = [name for name in error.remedies if hasattr(plain, name) and getattr(options, name) == getattr(plain, name)]
    return len(left) < max(1, len(error.remedies))


def _remedy(error: ValueError) -> list[str]:
    """The flag that helps, where the error says with what value."""
    values = ((flag(name), value) for name, value in getattr(error, "remedies", {}).items())
    return [word for name, value in values if isinstance(value, str) for word in _typed(name, value)]


def _opened(
    models: list[Path], data: Path, target: str | None, options: TrainingOptions, table_format: shared.TableFormat
) -> tuple[dict[str, Any], str, TrainingOptions]:
    """How the table is read, the target and the options: those of a model file where there is one."""
    check_there(data, or_folder=True)
    if not models:
        if target is None:
            raise UsageError("name the column with the classes: --target")
        return table_format.how(), target, options
    if options != TrainingOptions() or target is not None:
        raise UsageError("a model file brings its target and its options: give no others")
    loaded = read_table_model(models[0])
    recorded, own = loaded.training_options, loaded.saved.target
    if recorded is None or own is None:
        raise UsageError(f"{models[0]} does not say how it was fitted: give the table and the options alone")
    parameters = {name: loaded.view.question(name) for name in ("k", "C", "loss", "terms")}
    return table_format.how(loaded), own, replace(recorded, **parameters)


def option_words(options: TrainingOptions) -> list[str]:
    """Options as they are typed; those that are the defaults are not.

    Parameters
    ----------
    options : TrainingOptions

    Returns
    -------
    list of str
    """
    words, plain = [], TrainingOptions()
    for each in fields(options):
        value, own = getattr(options, each.name), FLAGS.get(each.name)
        if own is None or value == getattr(plain, each.name):
            continue
        name = flag(each.name)
        if isinstance(value, bool):
            words.append(name if value else f"--no-{name[2:]}")
        elif value is None and own.off is not None:
            words.append(f"--no-{name[2:]}")
        else:
            for text in own.write(value):
                words += _typed(name, text)
    return words


def _typed(name: str, text: str) -> list[str]:
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def _format_flags(table_format: shared.TableFormat) -> list[str]:
    own = {each.name: getattr(table_format, each.name) for each in fields(table_format)}
    plain = {each.name: each.default for each in fields(table_format)}
    return [f"{flag(name)}={value}" for name, value in own.items() if value != plain[name]]
