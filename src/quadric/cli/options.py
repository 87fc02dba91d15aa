"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

DataFile: TypeAlias = Annotated[Path, typer.Argument(help="Table: CSV with column names in its first line, or Parquet.")]
ModelFile: TypeAlias = Annotated[Path, typer.Argument(help="Model file that quadric fit wrote.")]

Target: TypeAlias = Annotated[str, typer.Option(help="Column with the classes.")]
Positive: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Class that a high score means; by default the last in sorted order.")
]
Ignore: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that is not used, such as an identifier; can be repeated.")
]
Coding: TypeAlias = Annotated[
    Literal["onehot", "ordinal"],
    typer.Option(help="Texts as a feature a level but for the most frequent one, or as alphabetical ranks."),
]
Missing: TypeAlias = Annotated[
    Literal["refuse", "drop", "impute", "indicator"],
    typer.Option(
        help="Missing values: an error; drop the rows; fill in the mean or the most frequent level; "
        "that and a feature that says so."
    ),
]
NA: TypeAlias = Annotated[
    str | None,
    typer.Option("--na", metavar="TEXTS", help="Texts that stand for no value, by commas.  [default: ,NA,NaN,null,?]"),
]
MaxLevels: TypeAlias = Annotated[int, typer.Option(min=2, help="A text column with more levels is refused.")]
Delimiter: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Of a CSV file; by default found out ('tab' for a tab).")
]
Encoding: TypeAlias = Annotated[str, typer.Option(help="Of a CSV file.")]

Loss: TypeAlias = Annotated[
    Literal["hinge", "least_squares"], typer.Option(help="Loss; least_squares is much faster on many rows.")
]
Method: TypeAlias = Annotated[
    Literal["best", "pd", "exact"],
    typer.Option(help="Search for the terms: local search, the paper's, or with a proof (see --time-limit)."),
]
Standardize: TypeAlias = Annotated[
    bool, typer.Option("--standardize/--no-standardize", help="Centre and scale the features first.")
]
ClassWeight: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="CLASS=WEIGHT", help="Weight of a class's errors, repeated for others; or: balanced."),
]
Include: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="TERM", help="Term that must be used: age, age^2, 'age*income'; can be repeated.")
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="TERM", help="Term that must not be used; 'age*' is every product of age. Can be repeated."),
]
Folds: TypeAlias = Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Of folds and search: the same seed gives the same result.")]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Processes; by default one a core where that pays. The result is the same.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite the output.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
