"""Pictures for notebooks and papers, of everything that ``explain``, the search and ``credit`` compute; needs matplotlib.

Every function returns the axes that it drew into. ``ax`` takes axes of your own; without it a new figure is made.
"""

from quadric.plot.columns import beeswarm, effects, products, waterfall
from quadric.plot.scores import calibration, ks, roc
from quadric.plot.surfaces import boundary
from quadric.plot.terms import path, stability

__all__ = [
    "beeswarm",
    "boundary",
    "calibration",
    "effects",
    "ks",
    "path",
    "products",
    "roc",
    "stability",
    "waterfall",
]
