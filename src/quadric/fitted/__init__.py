"""One view of a fitted model: what certify, explain, export, credit, report and save_model know of it.

Every feature that a surface sees is a function of one raw input column (a number, one level of a category, a code per level, or
a missing-value flag), between two limits, followed by an affine map that is the composition of all scalers:

    raw columns --codes--> features in reported units --(min(max(v, low), high) - center) / scale--> fitted units

in which the surfaces are written.
"""

from quadric.fitted.model import FittedModel, Model, ScoreColumns, as_judged, fitted_model
from quadric.fitted.steps import Variable, check_fitted

__all__ = ["FittedModel", "Model", "ScoreColumns", "Variable", "as_judged", "check_fitted", "fitted_model"]
