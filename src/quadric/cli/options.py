"""Options that several commands share, each declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

import quadric
from quadric.cli.console import as_usage

DataFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DATA", help="Table: CSV with column names in the first line, or Parquet.")
]
ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by quadric fit.")]
Target: TypeAlias = Annotated[str, typer.Option(help="Column with the classes.")]
Frozen: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that changes must leave alone. Repeatable.")
]
Folds: TypeAlias = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of folds and search: same seed, same result.")]
Jobs: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Processes; the result does not depend on their number.")]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@dataclass(frozen=True)
class Group:
    """Options that a command receives as one value.

    Attributes
    ----------
    parameters : sequence of inspect.Parameter
        As typer reads them.
    make : callable
        Makes the value; receives what was given by name.
    """

    parameters: Sequence[inspect.Parameter]
    make: Callable[..., Any]


def expanded(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace parameters of a command, named here, by the options of a group each."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            for name, group in groups.items():
                values[name] = group.make(**{option.name: values.pop(option.name) for option in group.parameters})
            command(**values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        listed = [option for each in own for option in (groups[each.name].parameters if each.name in groups else [each])]
        keywords = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in listed]
        vars(run).update(__signature__=inspect.Signature(keywords))
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


@dataclass(frozen=True)
class TableFormat:
    """How tables are to be read."""

    na: Annotated[
        str | None,
        typer.Option(metavar="TEXTS", help="Texts that mean a missing value, separated by commas.  [default: ,NA,NaN,null,?]"),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="Delimiter of a CSV file, or tab.  [default: detected]")
    ] = None
    encoding: Annotated[str, typer.Option(help="Encoding of a CSV file.")] = "utf-8"

    def how(self, model: quadric.workflow.TableModel | None = None) -> dict[str, Any]:
        """As ``read_table`` takes it; by default missing values are what they were when the model was fitted."""
        from quadric.tables.reading import MISSING, check_format

        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        with as_usage():
            check_format(delimiter, self.encoding)
        missing = (model and model.missing_texts) or MISSING
        if self.na is not None:
            missing = [text.strip() for text in self.na.split(",")]
        return {"delimiter": delimiter, "encoding": self.encoding, "missing": missing}


TABLE_FORMAT = Group(list(inspect.signature(TableFormat, eval_str=True).parameters.values()), TableFormat)
