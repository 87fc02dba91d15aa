"""From tables to models and back: what the command line does, as functions."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.workflow.comparison import Comparison as Comparison
    from quadric.workflow.comparison import Result as Result
    from quadric.workflow.comparison import compare as compare
    from quadric.workflow.options import OptionError as OptionError
    from quadric.workflow.options import TrainingOptions as TrainingOptions
    from quadric.workflow.preparation import PreparedData as PreparedData
    from quadric.workflow.preparation import prepare as prepare
    from quadric.workflow.scoring import Scores as Scores
    from quadric.workflow.scoring import TableModel as TableModel
    from quadric.workflow.training import Choice as Choice
    from quadric.workflow.training import Trained as Trained
    from quadric.workflow.training import choose as choose
    from quadric.workflow.training import train as train

_HOMES = {
    "comparison": ["Comparison", "Result", "compare"],
    "options": ["OptionError", "TrainingOptions"],
    "preparation": ["PreparedData", "prepare"],
    "scoring": ["Scores", "TableModel"],
    "training": ["Choice", "Trained", "choose", "train"],
}
__all__ = sorted(name for names in _HOMES.values() for name in names)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
