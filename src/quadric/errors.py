"""Errors and warnings of more than one room; errors name parameters that would help, and names that are near."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

LIBRARIES = (__name__.partition(".")[0], "sklearn", "joblib")
# Names, or troubles, that one message tells before it only counts them
MOST_LISTED = 8
# Characters of a value that a message quotes in full, and those that it quotes of a longer one
LONGEST_QUOTE, SHORT_QUOTE = 100, 40


class ParameterError(ValueError):
    """Something was refused that another value of a parameter would allow.

    Parameters
    ----------
    message : str
        What is wrong and what to do, in the words of the library.
    **remedies : str, tuple of str or None
        Parameters to change, each with a value to try where there is one, or several.
    """

    # Of an error that tells of several columns: how it begins, and the error of each
    several: tuple[str, Sequence[ValueError]] | None = None

    def __init__(self, message: str, **remedies: str | tuple[str, ...] | None) -> None:
        super().__init__(message)
        self.remedies = remedies


class EngineError(RuntimeError):
    """An engine that computes elsewhere is not there, or gave up."""


class BoundWarning(UserWarning):
    """A lower bound came out above an objective that was reached: one of the two is wrong, and the bound was dropped."""


def warn_of_contradiction(lower_bound: float, objective: float, depth: int = 1) -> None:
    """Give a BoundWarning on a bound above an objective; ``depth`` counts the callers to skip."""
    warnings.warn(
        f"a lower bound of {lower_bound:.10g} came out for a surface that reaches {objective:.10g}: one of them "
        "is wrong, so the bound was dropped; please report this, with the data or with how to make them",
        BoundWarning,
        stacklevel=2 + depth,
    )


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's code: the nearest caller outside of libraries that call estimators.

    Parameters
    ----------
    message : str or Warning
    category : type
        Where the message is a text.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in LIBRARIES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class MemoryLimitError(ParameterError, MemoryError):
    """A fit was refused before it began: it would need more memory than there is."""


class Troubles:
    """Errors that are collected, so that one message tells all of them.

    Parameters
    ----------
    several : str
        How that message begins where there are two or more, with ``{}`` for their number.
    """

    def __init__(self, several: str) -> None:
        self.several = several
        self.found: list[ValueError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Keep an error of this block for later."""
        try:
            yield
        except ValueError as error:
            self.found.append(error)

    def tell(self) -> None:
        """Raise what was found: one error as it is, several as one."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            remedies: dict[str, dict[str, None]] = {}
            for error in self.found[:MOST_LISTED]:
                for name, value in getattr(error, "remedies", {}).items():
                    values = (value,) if isinstance(value, str) else value or ()
                    remedies.setdefault(name, {}).update(dict.fromkeys(values))
            head, texts = self.several.format(len(self.found)), listed([str(error) for error in self.found], "; ")
            whole = ParameterError(f"{head}: {texts}", **{name: tuple(values) or None for name, values in remedies.items()})
            whole.several = head, self.found
            raise whole from None


def listed(texts: Sequence[str], separator: str = ", ") -> str:
    """Texts in a row; of many, the first and how many more there are.

    Parameters
    ----------
    texts : sequence of str
    separator : str

    Returns
    -------
    str
    """
    more = len(texts) - MOST_LISTED
    return separator.join(texts[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def printable(text: str) -> str:
    """A text from data on one line, with everything unprintable escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def quoted(value: object) -> str:
    """A value in quotes, as messages tell it: cut short where it is long, whatever the data hold.

    Parameters
    ----------
    value : Any

    Returns
    -------
    str
        "'castle'"
    """
    if isinstance(value, str):
        return repr(value) if len(value) <= LONGEST_QUOTE else f"{value[:SHORT_QUOTE]!r}... ({len(value):,} characters)"
    text = repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:SHORT_QUOTE]}..."


def unknown_names(wanted: Iterable[str], names: Sequence[str], owner: str, what: str = "column", note: str = "") -> str:
    """One sentence on names that do not exist, with those that were probably meant.

    Parameters
    ----------
    wanted : iterable of str
        All names that do not exist.
    names : sequence of str
        All that exist.
    owner : str
        Who has them, such as "the table".
    what : str
        What they are names of.
    note : str
        Put behind them.

    Returns
    -------
    str
        "the table has no column 'Outcome' (did you mean 'outcome'?)"
    """
    meant = {name: near_name(name, names) for name in wanted}
    texts = [f"{quoted(name)} (did you mean {quoted(near)}?)" if near else quoted(name) for name, near in meant.items()]
    plural = "" if len(texts) == 1 else "es" if what.endswith("s") else "s"
    sentence = f"{owner} has no {what}{plural} {listed(texts)}{note}"
    return sentence if all(meant.values()) else f"{sentence}; it has {listed([quoted(name) for name in names])}"


def refuse_unknown(
    wanted: Iterable[str],
    names: Sequence[str],
    owner: str,
    what: str = "column",
    note: str = "",
    error: Callable[[str], Exception] = ValueError,
) -> None:
    """Raise an error where names do not exist.

    Parameters
    ----------
    wanted : iterable of str
        All of which must exist.
    names, owner, what, note :
        As in :func:`unknown_names`.
    error : function of a sentence
        Makes the error.
    """
    unknown = [name for name in dict.fromkeys(wanted) if name not in names]
    if unknown:
        raise error(unknown_names(unknown, names, owner, what, note))


def near_name(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant: the same in other letters of case, or else a similar one.

    Parameters
    ----------
    name : str
    names : sequence of str

    Returns
    -------
    str or None
    """
    folded = {other.strip().casefold(): other for other in reversed(names)}
    same = folded.get(str(name).strip().casefold())
    close = get_close_matches(str(name).strip().casefold(), folded, 1) if same is None else []
    return same if same is not None else folded[close[0]] if close else None
