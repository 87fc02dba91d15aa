"""Sparse quadratic-surface classifiers with an exact budget of terms."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers and editors; _HOMES and _ROOMS say the same
    from quadric import baselines as baselines
    from quadric import credit as credit
    from quadric import datasets as datasets
    from quadric import distributed as distributed
    from quadric import explain as explain
    from quadric import export as export
    from quadric import plot as plot
    from quadric import report as report
    from quadric import review as review
    from quadric import studio as studio
    from quadric import tables as tables
    from quadric import workflow as workflow
    from quadric.batches import Moments, fit_batches, moments
    from quadric.certificate import Certificate
    from quadric.estimators import ScaleWarning, SparseQuadraticSVC, SparseQuadraticSVCCV, sparse_quadratic_path
    from quadric.examine import certify
    from quadric.export import load_model, save_model
    from quadric.geometry.surface import QuadraticSurface
    from quadric.near_ties import NearTies, alternatives
    from quadric.search.path import QuadraticPath
    from quadric.table_classifier import TableClassifier
    from quadric.workflow.prices import rule_prices

__version__ = "0.1.0.dev0"
__all__ = [
    "Certificate",
    "Moments",
    "NearTies",
    "QuadraticPath",
    "QuadraticSurface",
    "ScaleWarning",
    "SparseQuadraticSVC",
    "SparseQuadraticSVCCV",
    "TableClassifier",
    "alternatives",
    "certify",
    "fit_batches",
    "load_model",
    "moments",
    "rule_prices",
    "save_model",
    "sparse_quadratic_path",
]

_HOMES = {
    "certificate": "Certificate",
    "estimators": "ScaleWarning SparseQuadraticSVC SparseQuadraticSVCCV sparse_quadratic_path",
    "examine": "certify",
    "export": "load_model save_model",
    "geometry.surface": "QuadraticSurface",
    "near_ties": "NearTies alternatives",
    "search.path": "QuadraticPath",
    "batches": "Moments fit_batches moments",
    "table_classifier": "TableClassifier",
    "workflow.prices": "rule_prices",
}
_ROOMS = "baselines credit datasets distributed explain export plot report review studio tables workflow"
__getattr__, __dir__ = lazy_names(__name__, _HOMES, _ROOMS)
