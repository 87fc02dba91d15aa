"""What is done with a saved model on rows, as functions and values: certify, explain, monitor, validate, swaps, overrides."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quadric.review.alarms import Check, Limits, read_limits
    from quadric.review.certifying import Judged, certify_stream, certify_table
    from quadric.review.decisions import Decisions
    from quadric.review.monitoring import Monitored, monitor
    from quadric.review.overriding import OverrideGrade, OverrideGroup, Overrides, Reason, TermGap, overrides
    from quadric.review.reject_figures import RejectFit, RejectInference
    from quadric.review.reject_weights import acceptance_weights, band_weights, fuzzy_weights
    from quadric.review.rejecting import infer_rejects

__all__ = [
    "Check",
    "Decisions",
    "Judged",
    "Limits",
    "Monitored",
    "OverrideGrade",
    "OverrideGroup",
    "Overrides",
    "Reason",
    "RejectFit",
    "RejectInference",
    "TermGap",
    "acceptance_weights",
    "band_weights",
    "certify_stream",
    "certify_table",
    "fuzzy_weights",
    "infer_rejects",
    "monitor",
    "overrides",
    "read_limits",
]

_HOMES = {
    "alarms": "Check Limits read_limits",
    "certifying": "Judged certify_stream certify_table",
    "decisions": "Decisions",
    "monitoring": "Monitored monitor",
    "overriding": "OverrideGrade OverrideGroup Overrides Reason TermGap overrides",
    "reject_figures": "RejectFit RejectInference",
    "reject_weights": "acceptance_weights band_weights fuzzy_weights",
    "rejecting": "infer_rejects",
}
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
