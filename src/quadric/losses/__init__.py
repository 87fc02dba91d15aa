"""The losses by name. Listing them imports nothing else, so that a help text or a parameter check costs nothing."""

LOSS_NAMES = ("hinge", "least_squares")

__all__ = ["LOSS_NAMES"]
