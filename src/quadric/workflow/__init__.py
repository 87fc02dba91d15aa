"""From tables to models and back: what the command line does, as functions."""

from quadric.workflow.comparison import Comparison, Result, compare
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.preparation import PreparedData, prepare
from quadric.workflow.scoring import Scores, TableModel
from quadric.workflow.training import Choice, Trained, choose, train

__all__ = [
    "Choice",
    "Comparison",
    "OptionError",
    "PreparedData",
    "Result",
    "Scores",
    "TableModel",
    "Trained",
    "TrainingOptions",
    "choose",
    "compare",
    "prepare",
    "train",
]
