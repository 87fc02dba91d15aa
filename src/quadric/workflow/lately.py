"""Results that are expensive to make again: as many of each kind are kept as were wanted lately."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

Value = TypeVar("Value")


class Lately:
    """Results by kind and key; of each kind, those that nobody has asked for longest are forgotten.

    Parameters
    ----------
    most : int
        Of each kind.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kinds: dict[str, dict[str, Any]] = {}

    def get(self, kind: str, key: str) -> Any:
        """What is known, or None.

        Parameters
        ----------
        kind, key : str
        """
        with self._lock:
            own = self._kinds.setdefault(kind, {})
            value = own.pop(key, None)
            if value is not None:
                own[key] = value  # the last one is the latest
            return value

    def once(self, kind: str, key: str, make: Callable[[], Value]) -> Value:
        """What is known, or made now.

        Parameters
        ----------
        kind, key : str
        make : function
            Other threads may meanwhile make the same.
        """
        value: Value | None = self.get(kind, key)
        if value is None:
            value = make()
            with self._lock:
                own = self._kinds[kind]
                own[key] = value
                for old in list(own)[: -self._most]:
                    own.pop(old)
        return value
