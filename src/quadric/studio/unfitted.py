"""What the page shows of a table that cannot be fitted, in place of a session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

State = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Unfitted:
    """Why there is no equation, and how to go on.

    Attributes
    ----------
    name : str
        Of the table.
    words : str
        The sentence in which the command line refuses it.
    onward : str
        What to do.
    command : str
        That starts again.
    """

    name: str
    words: str
    onward: str
    command: str
    _listeners: list[Callable[[State], None]] = field(default_factory=list)

    def start(self) -> State:
        """All that the page shows."""
        return {"name": self.name, "unfitted": {"words": self.words, "onward": self.onward, "command": self.command}}

    def source(self) -> State:
        """No news of the file: it is to be changed."""
        return {}

    def listen(self, listener: Callable[[State], None]) -> Callable[[], None]:
        """Tell somebody of the end; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """Tell whoever listens."""
        for listener in list(self._listeners):
            listener({"end": "The studio has ended."})
