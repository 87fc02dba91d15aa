"""JSON that is not trusted: strict parsing, and values that are only taken after a check of type, range and size."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

MAX_BYTES = 32 << 20
MAX_TEXT = 10_000
MAX_ITEMS = 1_000_000
# Of an error that a class raised.
MAX_WORDS = 200

T = TypeVar("T")


class ModelFileError(ValueError):
    """A model file cannot be used: damaged, not a model file, or from a newer version."""


def parse(content: bytes, name: str) -> Any:
    """The content of a JSON file of this name; nothing but plain values, no NaN, no repeated keys."""
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"{name} is larger than {MAX_BYTES >> 20} MB: not a model file")
    try:
        if content.count(b"[") + content.count(b"{") > MAX_ITEMS:  # each costs far more memory than its bytes in the file
            raise ValueError(f"it has more than {MAX_ITEMS} lists")
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_without_repetition)
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at line {error.lineno}, column {error.colno}"
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:
        reason = str(error)
    raise ModelFileError(f"{name} is damaged or not a model file: {reason}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number that a model may hold")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found


@dataclass(frozen=True)
class Node:
    """A value of the file with the place it stands at, for messages.

    Attributes
    ----------
    value : Any
    place : str
        Empty for the whole file.
    """

    value: Any
    place: str

    def fail(self, words: str) -> ModelFileError:
        return ModelFileError(f"damaged model file: {self.place or 'it'} {words}")

    def require(self, holds: Any, words: str) -> None:
        if not holds:
            raise self.fail(words)

    @contextmanager
    def usable(self) -> Iterator[None]:
        """Whatever goes wrong with what is made of this value is the fault of the file."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        except ModelFileError:
            raise
        except Exception as error:  # classes and steps of scikit-learn raise all kinds where their attributes do not fit
            words = ascii(" ".join(str(error).split()) or type(error).__name__)[1:-1]
            raise self.fail(f"cannot be used: {words[:MAX_WORDS]}") from None

    def fields(self, names: Collection[str], added: Mapping[str, Any] | None = None) -> dict[str, Node]:
        """The members of an object with exactly these keys, except that an old file may lack some that were added later."""
        self.require(isinstance(self.value, dict), "must be an object")
        value = {name: old for name, old in (added or {}).items() if name in names} | self.value
        for odd in sorted(set(names).symmetric_difference(value)):
            shown = ascii(odd if len(odd) <= 40 else odd[:40] + "...")
            raise self.fail(f"{'has an unknown' if odd in value else 'lacks the'} key {shown}")
        return {name: Node(value[name], f"{self.place}.{name}".lstrip(".")) for name in names}

    def items(self, length: int | None = None, at_most: int = MAX_ITEMS) -> list[Node]:
        """The members of a list."""
        self.require(isinstance(self.value, list), "must be a list")
        self.require(length in (None, len(self.value)), f"must have {length} items, it has {len(self.value)}")
        self.require(len(self.value) <= at_most, f"has {len(self.value)} items, more than {at_most}")
        return [Node(value, f"{self.place}[{i}]") for i, value in enumerate(self.value)]

    def optional(self, read: Callable[[Node], T]) -> T | None:
        """None for null, else what ``read`` makes of it."""
        return None if self.value is None else read(self)

    def number(self) -> float:
        self.require(isinstance(self.value, int | float) and not isinstance(self.value, bool), "must be a number")
        self.require(abs(self.value) <= sys.float_info.max, "must be a finite number")
        return float(self.value)

    def numbers(self, length: int | None = None) -> list[float]:
        return [item.number() for item in self.items(length)]

    def integer(self, low: int, high: int) -> int:
        is_integer = isinstance(self.value, int) and not isinstance(self.value, bool)
        self.require(is_integer and low <= self.value <= high, f"must be an integer from {low} to {high}")
        return self.value

    def boolean(self) -> bool:
        self.require(isinstance(self.value, bool), "must be true or false")
        return self.value

    def text(self) -> str:
        self.require(
            isinstance(self.value, str) and len(self.value) <= MAX_TEXT, f"must be a text of at most {MAX_TEXT} characters"
        )
        try:
            self.value.encode("utf-8")
        except UnicodeEncodeError:
            raise self.fail("is not a valid text") from None
        return self.value

    def choice(self, options: Collection[str]) -> str:
        self.require(isinstance(self.value, str) and self.value in options, f"must be one of {', '.join(sorted(options))}")
        return self.value

    def texts(self, length: int | None = None, at_most: int = MAX_ITEMS) -> list[str]:
        texts = [item.text() for item in self.items(length, at_most)]
        self.require(len(set(texts)) == len(texts), "has a text twice")
        return texts
