"""From tables to models and back: what the command line does, as functions."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.workflow.alarms import Check, Limits, read_limits
    from quadric.workflow.certifying import Judged, certify_stream, certify_table
    from quadric.workflow.checking import TableCheck, TableWarning, look_over, looked_at
    from quadric.workflow.comparison import Comparison, Result, compare
    from quadric.workflow.limits import is_streamed
    from quadric.workflow.monitoring import Monitored, monitor
    from quadric.workflow.options import OptionError, TrainingOptions
    from quadric.workflow.preparation import PreparedData, prepare
    from quadric.workflow.prices import RulePrice, RulePrices, rule_prices
    from quadric.workflow.scoring import Scores, TableModel
    from quadric.workflow.training import Trained, choose, price_rules, train

__all__ = [
    "Check",
    "Comparison",
    "Judged",
    "Limits",
    "Monitored",
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
    "certify_stream",
    "certify_table",
    "choose",
    "compare",
    "is_streamed",
    "look_over",
    "looked_at",
    "monitor",
    "prepare",
    "price_rules",
    "read_limits",
    "rule_prices",
    "train",
]

_HOMES = {
    "alarms": "Check Limits read_limits",
    "checking": "TableCheck TableWarning look_over looked_at",
    "comparison": "Comparison Result compare",
    "certifying": "Judged certify_stream certify_table",
    "limits": "is_streamed",
    "monitoring": "Monitored monitor",
    "options": "OptionError TrainingOptions",
    "preparation": "PreparedData prepare",
    "prices": "RulePrice RulePrices rule_prices",
    "scoring": "Scores TableModel",
    "training": "Trained choose price_rules train",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
