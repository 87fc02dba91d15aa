"""Sparse quadratic-surface classifiers with an exact budget of terms."""

from quadric._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:  # for type checkers and editors; _HOMES and _ROOMS below say the same
    from quadric import baselines as baselines
    from quadric import credit as credit
    from quadric import datasets as datasets
    from quadric import explain as explain
    from quadric import export as export
    from quadric import tables as tables
    from quadric import workflow as workflow
    from quadric.certificate import Certificate as Certificate
    from quadric.estimators import Alternatives as Alternatives
    from quadric.estimators import ScaleWarning as ScaleWarning
    from quadric.estimators import SparseQuadraticSVC as SparseQuadraticSVC
    from quadric.estimators import SparseQuadraticSVCCV as SparseQuadraticSVCCV
    from quadric.estimators import alternatives as alternatives
    from quadric.estimators import certify as certify
    from quadric.estimators import sparse_quadratic_path as sparse_quadratic_path
    from quadric.export import load_model as load_model
    from quadric.export import save_model as save_model
    from quadric.geometry.surface import QuadraticSurface as QuadraticSurface
    from quadric.search.path import QuadraticPath as QuadraticPath

__version__ = "0.1.0.dev0"

_HOMES = {
    "certificate": ["Certificate"],
    "estimators": [
        "Alternatives",
        "ScaleWarning",
        "SparseQuadraticSVC",
        "SparseQuadraticSVCCV",
        "alternatives",
        "certify",
        "sparse_quadratic_path",
    ],
    "export": ["load_model", "save_model"],
    "geometry.surface": ["QuadraticSurface"],
    "search.path": ["QuadraticPath"],
}
_ROOMS = ("baselines", "credit", "datasets", "explain", "export", "tables", "workflow")
__all__ = sorted(name for names in _HOMES.values() for name in names)
__getattr__, __dir__ = lazy_names(__name__, _HOMES, _ROOMS)
