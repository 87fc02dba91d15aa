"""What is done with a saved model on rows, as functions and values: certify, explain, monitor, validate, swaps, fairness."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.review.alarms import Check, Limits, read_limits
    from quadric.review.certifying import Judged, certify_stream, certify_table
    from quadric.review.monitoring import Monitored, monitor

__all__ = [
    "Check",
    "Judged",
    "Limits",
    "Monitored",
    "certify_stream",
    "certify_table",
    "monitor",
    "read_limits",
]

_HOMES = {
    "alarms": "Check Limits read_limits",
    "certifying": "Judged certify_stream certify_table",
    "monitoring": "Monitored monitor",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
