"""From a table to a model that can be saved, as functions and values; and tables that a saved model is to judge."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.workflow.checking import TableCheck, TableWarning, look_over, looked_at
    from quadric.workflow.comparison import Comparison, Result, compare
    from quadric.workflow.limits import is_streamed
    from quadric.workflow.options import OptionError, TrainingOptions
    from quadric.workflow.preparation import PreparedData, prepare
    from quadric.workflow.prices import RulePrice, RulePrices, rule_prices
    from quadric.workflow.scoring import Scores, TableModel
    from quadric.workflow.training import Trained, choose, price_rules, train

__all__ = [
    "Comparison",
    "OptionError",
    "PreparedData",
    "Result",
    "RulePrice",
    "RulePrices",
    "Scores",
    "TableCheck",
    "TableModel",
    "TableWarning",
    "Trained",
    "TrainingOptions",
    "choose",
    "compare",
    "is_streamed",
    "look_over",
    "looked_at",
    "prepare",
    "price_rules",
    "rule_prices",
    "train",
]

_HOMES = {
    "checking": "TableCheck TableWarning look_over looked_at",
    "comparison": "Comparison Result compare",
    "limits": "is_streamed",
    "options": "OptionError TrainingOptions",
    "preparation": "PreparedData prepare",
    "prices": "RulePrice RulePrices rule_prices",
    "scoring": "Scores TableModel",
    "training": "Trained choose price_rules train",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
