"""Options that several commands share, each declared once; names, defaults and choices of training are TrainingOptions'."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

import typer

import quadric
from quadric.cli.console import UsageError, as_usage, check_free, flag
from quadric.cli.inputs import (
    check_there,
    class_weights,
    column_prices,
    column_sets,
    column_signs,
    integers,
    number_or_word,
    numbers,
    term_limits,
)
from quadric.workflow.options import TrainingOptions, choices

DataFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="Table: CSV with column names in the first line, Parquet (a file or a folder of files) or Feather."
    ),
]
ModelFile: TypeAlias = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by quadric fit.")]
Target: TypeAlias = Annotated[str, typer.Option(help="Column with the classes.")]
Frozen: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that changes must leave alone. Repeatable.")
]
ACTIONABLE = (
    "The only columns that advised changes may touch, each with its direction: amount:down, savings:up:step (whole numbers), "
    "months (both ways). Repeatable.  [default: numbers but age, in the direction in which each helps on average]"
)
Actionable: TypeAlias = Annotated[list[str] | None, typer.Option(metavar="COLUMN:up|down|step", help=ACTIONABLE)]
Points: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="POINTS:DOUBLE:ODDS",
        help="Scale of a scorecard: 600:20:50 is 600 points at odds of 50 to 1, and 20 points double the odds.  "
        "[default: --points of quadric fit]",
    ),
]
OUTPUT, READING = "Output", "Reading the table"
Grades: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBERS",
        help="Boundaries between grades: probabilities such as 0.01,0.05, or points with --points.  [default: tenths of "
        "the scores of the rows that the model was fitted to]",
    ),
]
GradePoints: TypeAlias = Annotated[
    str | None, typer.Option(metavar="POINTS:DOUBLE:ODDS", help="Scale of the points in --grades, such as 600:20:50.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite the output.", rich_help_panel=OUTPUT)]
TestFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Table to measure the model on beside the rows that it was developed on. Repeatable."),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]
_reading = partial(typer.Option, rich_help_panel=READING)


def expanded(
    *, output: tuple[str, str] | None = None, **groups: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace parameters of a command, named here, by those of a function each, which makes one value of them.

    A missing table and an existing output are reported first: options need imports that take two seconds.

    Parameters
    ----------
    output : pair of str, optional
        The parameter whose file gives the output its name where none is asked for, and the ending of that name.
    **groups : functions
    """
    options = {name: inspect.signature(make, eval_str=True).parameters for name, make in groups.items()}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            if isinstance(values.get("data"), Path):
                check_there(values["data"], or_folder=True)
            if output is not None and values["output"] is None:
                values["output"] = default_output(values[output[0]], output[1])
            if isinstance(values.get("output"), Path) and values.get("engine") is None:
                check_free(values["output"], values["force"])
            with _uncollected():
                for name, make in groups.items():
                    values[name] = make(**{option: values.pop(option) for option in options[name]})
            command(**values)

        own = inspect.signature(command, eval_str=True).parameters
        listed = [option for name, each in own.items() for option in options.get(name, {name: each}).values()]
        keywords = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in listed]
        vars(run).update(__signature__=inspect.Signature(keywords))
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without a look for cycles: what imports make is there to stay, and to look through it takes a tenth of their time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def default_output(source: Path, ending: str) -> Path:
    """A file in the current folder with the name of another, without its endings: loans.model.json for data/loans.csv."""
    return Path(f"{source.resolve().name.split('.')[0] or 'table'}{ending}")


@dataclass(frozen=True)
class TableFormat:
    """How tables are to be read."""

    na: Annotated[
        str | None,
        _reading(metavar="TEXTS", help="Texts that mean a missing value, separated by commas.  [default: ,NA,NaN,null,?]"),
    ] = None
    delimiter: Annotated[
        str | None, _reading(metavar="CHARACTER", help="Delimiter of a CSV file, or tab.  [default: detected]")
    ] = None
    encoding: Annotated[str, _reading(help="Encoding of a CSV file.")] = "utf-8"
    decimal: Annotated[str | None, _reading(metavar="CHARACTER", help="Decimal mark in a CSV file.  [default: a point]")] = None
    thousands: Annotated[
        str | None, _reading(metavar="CHARACTER", help="Mark between groups of three digits.  [default: none]")
    ] = None

    def how(self, model: quadric.workflow.TableModel | None = None) -> dict[str, Any]:
        """As ``read_table`` takes it; by default all is written as where the model was fitted."""
        from quadric.defaults import MISSING
        from quadric.tables._csv import Notation

        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        notation = {"missing": list(MISSING), "decimal": ".", "thousands": None} | (model.notation if model else {})
        if self.na is not None:
            notation["missing"] = [text.strip() for text in self.na.split(",")]
        if self.decimal is not None or self.thousands is not None:
            notation |= {"decimal": self.decimal or ".", "thousands": self.thousands}
        how = {"delimiter": delimiter, "encoding": self.encoding, "drop_unnamed": model is not None, **notation}
        with as_usage():
            Notation(**how)  # an impossible one is refused before a file is opened
        return how


# Seconds per surface that a proof may take by default
EXACT_TIME_LIMIT = 60.0


def written_values(value: Any) -> list[str]:
    """A value, or each of several, as it is typed."""
    return [f"{each}" for each in (value if isinstance(value, tuple) else (value,))]


@dataclass(frozen=True)
class Flag:
    """What the command line adds to a training option.

    Attributes
    ----------
    help : str
    metavar : str or None
    kind : type or None
        What the user types, where it is not a value of the option itself.
    read : function
        Turns that into the value.
    write : function
        Turns the value into what is typed, once for each time that the option is given.
    off : str or None
        What the flag with --no- before its name does, where there is one: it sets the option to None. Both are refused.
    """

    help: str
    metavar: str | None = None
    kind: Any = None
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], list[str]] = written_values
    off: str | None = None


def together(values: Any) -> list[str]:
    """Numbers in one option."""
    return [",".join(map(str, values))]


def weights_written(value: Any) -> list[str]:
    """As ``class_weights`` reads them."""
    return [value] if isinstance(value, str) else [f"{name}={weight}" for name, weight in value.items()]


def signs_written(value: Any) -> list[str]:
    """As ``column_signs`` reads them."""
    marks = {1: "+", "increasing": "+", -1: "-", "decreasing": "-", 0: "0"}
    return [f"{name}:{marks[sign]}" for name, sign in _flat(value)]


def limits_written(value: Any) -> list[str]:
    """As ``term_limits`` reads them."""
    return [":".join([name, *("" if end is None else str(end) for end in ends)]) for name, ends in _flat(value)]


def _flat(rules: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Rules by name, after that of a class where they are by class."""
    for name, own in rules.items():
        yield from ((f"{name}:{inner}", one) for inner, one in own.items()) if isinstance(own, Mapping) else [(name, own)]


def sets_written(value: Any) -> list[str]:
    """As ``column_sets`` reads them."""
    return ["none"] if isinstance(value, str) else [",".join(members) for members in value]


def prices_written(value: Any) -> list[str]:
    """As ``column_prices`` reads them."""
    return [f"{name}:{price}" for name, price in value.items()]


def _several(help: str, metavar: str) -> Flag:  # noqa: A002
    return Flag(help, metavar, list[str] | None, lambda values: tuple(values or ()))


FLAGS = {
    "k": Flag("Largest number of terms. Without it, cross-validation chooses."),
    "C": Flag("Weight of the loss. Without it, cross-validation chooses."),
    "loss": Flag("Loss to minimise; auto: cross-validation chooses."),
    "terms": Flag("Terms to choose from: linear ones, or squares and products, too; auto: cross-validation chooses."),
    "method": Flag("Search for the terms: local search, the paper's algorithm, or branch and bound with a proof."),
    "multiclass": Flag("More than two classes: terms of its own for each (ovr), or one list of at most k for all (shared)."),
    "cross_validate": Flag("Cross-validate, to choose and to judge; without it, --k and --C are needed.  [default: cv]"),
    "folds": Flag("Folds of the cross-validation."),
    "groups": Flag("Column of groups, such as customers, that folds keep together. It is not a feature.", "COLUMN"),
    "holdout": Flag("Share of the rows to set aside for a test: nothing looks at them until the model is finished.", "SHARE"),
    "time_column": Flag("Column of dates, no feature: rows after --after are set aside for a later test.", "COLUMN"),
    "after": Flag("Day after which rows with a date in --time-column are set aside.", "DATE"),
    "scoring": Flag(
        "What cross-validation chooses by: log_loss, accuracy, roc_auc, balanced_accuracy, brier, ks, average_precision, or "
        "any scorer of classes of scikit-learn.",
        "MEASURE",
    ),
    "rule": Flag(
        "Choose the best mean score; or the fewest terms within one standard error (1se), or within a tolerance, of it.  "
        "[default: best for log_loss, and 0.005 for scores between 0 and 1]",
        "best|1se|TOLERANCE",
        str | None,
        number_or_word,
    ),
    "ks": Flag(
        "Numbers of terms to try, such as 1:10,15.  [default: 1:6,8,10,12,15,20; also 25,30,40 if linear]",
        "NUMBERS",
        str | None,
        partial(integers, option="--ks"),
        together,
    ),
    "Cs": Flag(
        "Values of C to try.  [default: four for each loss, and more while the last is best]",
        "NUMBERS",
        str | None,
        partial(numbers, option="--Cs"),
        together,
    ),
    "positive": Flag(
        "Class of two with positive scores.  [default: 1, yes, true, bad, default, ... in pairs of plain sense, else the rarer "
        "one]",
        "CLASS",
    ),
    "favourable": Flag("Class that people want. Explanations advise how to reach it; without it, there is no advice.", "CLASS"),
    "standardize": Flag("Centre and scale the features."),
    "clip": Flag(
        "Cap numbers at the limits that leave this share of the rows beyond each.", "SHARE", off="Do not cap numbers."
    ),
    "coding": Flag("Text columns: one-hot, dropping the most frequent level; or alphabetical ranks."),
    "missing": Flag(
        "Missing values: impute the mean, and add a missing-value flag, in text columns a level of its own; impute the mean or "
        "the most frequent level; drop their rows; or refuse them."
    ),
    "unseen": Flag(
        "Levels that only new data have: treat them as other (or as the most frequent level where no level is rare), or refuse "
        "them."
    ),
    "rare": Flag("Levels with fewer than 10 rows, or fewer than 100 and 1 %: group them as other, or keep them."),
    "max_levels": Flag("Levels of a text column that stay; less frequent ones are grouped with the rare ones."),
    "ignore": _several("Column to leave out, such as an identifier. Repeatable.", "COLUMN"),
    "keep": _several("Column to use even if it looks like an identifier. Repeatable.", "COLUMN"),
    "texts": _several("Column of names that look like numbers or dates, such as codes. Repeatable.", "COLUMN"),
    "dates": _several("Column of dates, which become days since the earliest one. Repeatable.", "COLUMN"),
    "class_weight": Flag(
        "Weight of the errors of a class, repeatable; or: balanced.",
        "CLASS=WEIGHT",
        list[str] | None,
        class_weights,
        weights_written,
    ),
    "calibrate": Flag(
        "Add probabilities, fitted on out-of-fold scores: by a sigmoid, with an offset only where the scores ask for it (auto) "
        "or always (sigmoid), or by steps (isotonic).",
        kind=Literal["auto", "sigmoid", "isotonic", "none"],
        read=lambda method: None if method == "none" else method,
        off="No calibration: the sign of the score decides. Some losses have probabilities of their own.",
    ),
    "cutoff": Flag(
        "Probability above which a row is labelled --positive; or a rule that chooses it on out-of-fold probabilities. "
        "approval: share of the rows below it. badrate: as many rows below it as possible, no more than this share of them "
        "positive.",
        "NUMBER|accuracy|balanced|ks|cost:FN:FP|approval:SHARE|badrate:SHARE",
        str,
        number_or_word,
    ),
    "points": Flag(
        "Scale of a scorecard: 600:20:50 is 600 points at odds of 50 to 1, and 20 points double the odds. predict, report and "
        "export then show points.",
        "POINTS:DOUBLE:ODDS",
    ),
    "include": _several("Term that must be used: age, age^2, 'age*income'. Repeatable.", "TERM"),
    "exclude": _several("Term that must not be used; 'age*' is every product of age. Repeatable.", "TERM"),
    "interaction_cst": Flag(
        "Columns that may be multiplied with each other; columns in no such set are one more set. Or: none, for no products of "
        "two columns. Repeatable.",
        "COLUMNS|none",
        list[str] | None,
        column_sets,
        sets_written,
    ),
    "hierarchy": Flag("Products only with one (weak) or both (strong) of their linear terms, squares only with theirs."),
    "max_features": Flag("Largest number of columns in the terms of one surface."),
    "feature_cost": Flag(
        "Price of a column for --max-cost; columns without a price are free. Repeatable.",
        "COLUMN:PRICE",
        list[str] | None,
        column_prices,
        prices_written,
    ),
    "max_cost": Flag("Largest sum of the prices of the columns in the terms of one surface."),
    "monotonic_cst": Flag(
        "Column along which the score never falls (+) or never rises (-), proved for every row; or a level of a text column, "
        "such as sex=male. The score is that of --positive; of more than two classes, name one: bad:income:-. Repeatable.",
        "COLUMN:+|-",
        list[str] | None,
        column_signs,
        signs_written,
    ),
    "coef_bounds": Flag(
        "Limits of the coefficient of a term, in the units in which terms are counted; nothing for no limit: 'age*debt:0:' is "
        "not negative. Repeatable.",
        "TERM:LOW:HIGH",
        list[str] | None,
        term_limits,
        limits_written,
    ),
    "frozen": _several("Column that changes advised by quadric explain must leave alone. Repeatable.", "COLUMN"),
    "actionable": _several(ACTIONABLE, "COLUMN:up|down|step"),
    "seed": Flag("Seed of folds and search: same seed, same result."),
    "n_jobs": Flag("Processes; the result does not depend on their number.  [default: one per core where that pays]"),
    "time_limit": Flag("Seconds per surface.  [default: 60 with --method exact, else none]"),
    "gap_limit": Flag("Relative gap at which --method exact may stop proving; 0: only at the end, or at Ctrl-C."),
    "fit_time_limit": Flag("Seconds for cross-validation and fit together; the best so far is then the result."),
    "allow_degenerate": Flag("Also write a model whose coefficients are only rounding."),
}


# Groups of the options in help texts
PANELS = {
    "Model": "k C loss terms method multiclass standardize clip class_weight include exclude",
    "Rules": "monotonic_cst coef_bounds interaction_cst hierarchy max_features feature_cost max_cost",
    "Samples": "holdout time_column after",
    "Cross-validation": "cross_validate folds groups scoring rule ks Cs",
    "Columns": "ignore keep texts dates coding missing unseen rare max_levels",
    "Classes and probabilities": "positive favourable calibrate cutoff points frozen actionable",
    "Run": "seed n_jobs time_limit gap_limit fit_time_limit allow_degenerate",
}
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names.split()}
# Options that set rows aside
SAMPLES = ("holdout", "time_column", "after")
# Options of ``quadric fit`` alone: what becomes of the model, and how long its fit may take
ONLY_FIT = (
    *("method", "multiclass", "cross_validate", "scoring", "unseen", "calibrate", "cutoff", "points", "favourable"),
    *("frozen", "actionable", "time_limit", "gap_limit", "fit_time_limit", "allow_degenerate", *SAMPLES),
)


def training(
    without: Collection[str] = (), defaults: Mapping[str, Any] = {}, words: Mapping[str, str] = {}
) -> Callable[..., TrainingOptions]:
    """The training options of one command: a function with a parameter for each.

    Parameters
    ----------
    without : collection of str
        Options that it does not have.
    defaults, words : mappings
        Defaults and help texts that differ from those of the others.
    """
    hints, parameters = get_type_hints(TrainingOptions) | {"loss": Literal[choices()["loss"]]}, []
    for option in fields(TrainingOptions):
        name, own = option.name, FLAGS.get(option.name)
        if own is not None and name not in without:
            kind, text = own.kind or hints[name], words.get(name, own.help)
            default = _typed(defaults.get(name, option.default), kind)
            if own.off is not None:  # None: not given
                kind, text, default = kind | None, f"{text}  [default: {default}]", None
            panel = PANEL_OF[name]
            typed = typer.Option(_names(name, kind, option.default), metavar=own.metavar, help=text, rich_help_panel=panel)
            parameters.append(_parameter(name, annotation=Annotated[kind, typed], default=default))
            if own.off is not None:
                switch = typer.Option(f"--no-{flag(name)[2:]}", help=own.off, rich_help_panel=panel)
                parameters.append(_parameter(f"no_{name}", annotation=Annotated[bool, switch], default=False))
    make = partial(_options)
    vars(make).update(__signature__=inspect.Signature(parameters))
    return make


_parameter = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)


def _names(name: str, kind: Any, default: Any) -> str:
    switches = bool in (kind, *get_args(kind)) and default is not False
    return f"{flag(name)}/--no-{flag(name)[2:]}" if switches else flag(name)


def _typed(default: Any, kind: Any) -> Any:
    if isinstance(default, tuple):
        return ",".join(f"{value:g}" for value in default) or None
    return f"{default:g}" if isinstance(default, float) and kind is str else default


def _options(**values: Any) -> TrainingOptions:
    for name in [name for name, own in FLAGS.items() if own.off is not None and name in values]:
        value, is_off = values.pop(name), values.pop(f"no_{name}")
        if is_off and value is not None:
            raise UsageError(f"{flag(name)} and --no-{flag(name)[2:]} contradict each other: give one of them")
        if is_off or value is not None:
            values[name] = value
    options: dict[str, Any] = {name: FLAGS[name].read(value) for name, value in values.items()}
    if options.get("method") == "exact" and options["time_limit"] is None:
        options["time_limit"] = EXACT_TIME_LIMIT
    return TrainingOptions(**options)
