"""The losses: one folder each, behind one contract (base.py).

This module is the registry. Listing the names imports nothing else, so that a help text or a parameter check costs nothing; a
loss is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quadric.losses.base import Loss

LOSS_NAMES = ("hinge", "least_squares", "logistic")  # each is a module or folder here whose LOSS declares it


def loss_named(name: str) -> Loss:
    """The loss of this name.

    Parameters
    ----------
    name : one of LOSS_NAMES

    Returns
    -------
    Loss
    """
    if name not in LOSS_NAMES:
        raise ValueError(f"loss must be {' or '.join(map(repr, LOSS_NAMES))}, got {name!r}")
    loss: Loss = import_module(f"quadric.losses.{name}").LOSS
    return loss


__all__ = ["LOSS_NAMES", "loss_named"]
