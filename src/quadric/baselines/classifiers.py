"""The baselines as scikit-learn classifiers: each is a grid of one cell."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from quadric.baselines.grids import (
    MAX_ITER,
    POSITIVE,
    TOL,
    GridFits,
    l0_least_squares_grid,
    l1_linear_grid,
    l1_quadratic_grid,
    least_squares_grid,
    linear_hinge_grid,
    quadratic_hinge_grid,
)
from quadric.errors import warn_user
from quadric.estimators.base import ClassWeight, SurfaceClassifier
from quadric.estimators.validation import check_parameters, integer_from, validate_samples, warn_of_spread
from quadric.samples.labelled import LabelledSamples, check_magnitude

# Violation of the optimality conditions above which there is a warning.
RESIDUAL_TOLERANCE = 1e-6

# What the docstrings of all baselines say, by the mark that stands for it.
SHARED = {
    "<class_weight>": """
        class_weight : dict, "balanced" or None
            Factors on the loss of the classes""",
    "<surfaces>": """
        surfaces_ : list of QuadraticSurface
            One for two classes, positive for ``classes_[1]``; otherwise one per class, against the rest.""",
    "<coefficients>": """
        coef_ : array of shape (n_surfaces, p)
            z = [hvec(W); b] of each surface.
        intercept_ : array of shape (n_surfaces,)
            c of each surface.""",
    "<labels>": """
        classes_ : array
            Labels.
        n_features_in_ : int
            Number of features.
        feature_names_in_ : array
            Names of the features, if X has names.""",
}
Baseline = TypeVar("Baseline", bound="BaselineClassifier")


def _documented(baseline: type[Baseline]) -> type[Baseline]:
    """Replace the marks in a docstring; all indents are taken off, as Python 3.13 takes off those of the docstring."""
    text = cleandoc(baseline.__doc__ or "")  # python -OO drops it
    for mark, shared in SHARED.items():
        text = text.replace(mark, cleandoc(shared))
    baseline.__doc__ = text
    return baseline


class BaselineClassifier(SurfaceClassifier):
    """Validates, fits a grid of one cell and stores its surfaces."""

    _grid: Callable[..., GridFits]
    _rules = {"C": POSITIVE}

    def __init__(self, C: float = 1.0, *, class_weight: ClassWeight = None) -> None:
        self.C = C
        self.class_weight = class_weight

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_parameters(self, self._rules)
        X, y = self._validated(X, y, ensure_min_samples=2)
        samples = validate_samples(X, y, sample_weight, self.class_weight)
        check_magnitude(samples.X)
        remedy = f"standardise first, inside each fold: make_pipeline(StandardScaler(), {type(self).__name__}(...))"
        warn_of_spread(samples.X, getattr(self, "feature_names_in_", None), remedy)
        fits = self._one_cell(samples)
        if trouble := self._trouble(float(fits.residual.max())):
            warn_user(f"{type(self).__name__}: {trouble}", ConvergenceWarning)
        self.classes_ = samples.target.classes
        self._set_surfaces(fits.surfaces(0))

    def _one_cell(self, samples: LabelledSamples) -> GridFits:
        return self._grid(samples, [self.C])

    def _trouble(self, residual: float) -> str:
        if residual <= RESIDUAL_TOLERANCE:
            return ""
        return f"the optimality conditions hold only to {residual:.2g}, above {RESIDUAL_TOLERANCE:g}; standardise X or lower C"


@_documented
class LinearHingeSVC(BaselineClassifier):
    r"""Linear support vector machine (LSVM), solved by the hinge solver of this package.

    Minimises over w and b

    .. math::
        \tfrac12 \|w\|^2 + C \sum_i \max(0, 1 - y_i (w'x_i + b)).

    The optimum is the same as of scikit-learn's ``SVC(kernel="linear")``, whose time grows with C; here it hardly does.

    Parameters
    ----------
    C : float
        Weight of the loss.
    <class_weight>.

    Attributes
    ----------
    <surfaces> W is zero.
    <coefficients>
    <labels>
    """

    _grid = staticmethod(linear_hinge_grid)


@_documented
class QuadraticSVC(BaselineClassifier):
    r"""Quadratic surface support vector machine without a limit on the number of terms (QSVM).

    Minimises over f(x) = 1/2 x'Wx + b'x + c

    .. math::
        \sum_i \|W x_i + b\|^2 + C \sum_i \max(0, 1 - y_i f(x_i)).

    Parameters
    ----------
    C : float
        Weight of the loss against the regulariser.
    <class_weight>; they do not affect the regulariser.

    Attributes
    ----------
    <surfaces>
    <coefficients>
    <labels>
    """

    _grid = staticmethod(quadratic_hinge_grid)


@_documented
class L1QuadraticSVC(BaselineClassifier):
    r"""Quadratic surface support vector machine with an l1 penalty on W (l1-QSVM).

    Minimises over f(x) = 1/2 x'Wx + b'x + c

    .. math::
        \sum_i \|W x_i + b\|^2 + C_1 \sum_{i \le j} |W_{ij}| + C_2 \sum_i \max(0, 1 - y_i f(x_i)).

    b and c are not penalised. With a large ``C1`` the surface is a hyperplane.

    Parameters
    ----------
    C1 : float
        Weight of the l1 norm of the upper triangle of W.
    C2 : float
        Weight of the loss.
    <class_weight>; they do not affect the regulariser.

    Attributes
    ----------
    <surfaces> Entries of W
        that the penalty removes are exactly zero.
    <coefficients>
    <labels>
    """

    _rules = {"C1": POSITIVE, "C2": POSITIVE}

    def __init__(self, C1: float = 1.0, C2: float = 1.0, *, class_weight: ClassWeight = None) -> None:
        self.C1 = C1
        self.C2 = C2
        self.class_weight = class_weight

    def _one_cell(self, samples: LabelledSamples) -> GridFits:
        return l1_quadratic_grid(samples, [self.C1], [self.C2])


@_documented
class LeastSquaresSVC(BaselineClassifier):
    r"""Linear least-squares support vector machine (LS-SVM).

    Minimises over w and b

    .. math::
        \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i (1 - y_i (w'x_i + b))^2.

    Parameters
    ----------
    C : float
        Weight of the loss.
    <class_weight>.

    Attributes
    ----------
    <surfaces> W is zero.
    <coefficients>
    <labels>
    """

    _grid = staticmethod(least_squares_grid)


@_documented
class L1LinearSVC(BaselineClassifier):
    r"""Linear support vector machine with an l1 norm (l1-SVM), a linear program solved by HiGHS.

    Minimises over w and b

    .. math::
        \|w\|_1 + C \sum_i \max(0, 1 - y_i (w'x_i + b)).

    The minimiser may not be unique, but the returned vertex is always the same.

    Parameters
    ----------
    C : float
        Weight of the loss.
    <class_weight>.

    Attributes
    ----------
    <surfaces> W is zero.
    <coefficients>
    <labels>
    """

    _grid = staticmethod(l1_linear_grid)


@_documented
class L0LeastSquaresSVC(BaselineClassifier):
    r"""Linear least-squares support vector machine with an l0 penalty (LS-l0-SVM); a reconstruction.

    The paper compares with the model of Tang et al. (Information Sciences, 2024), whose text was not available. This model was
    reconstructed from its name, its parameters and their ranges, and may differ from the original:

    .. math::
        \min \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i (1 - y_i (w'x_i + b))^2 + \lambda \|v\|_0 \quad \text{with } w = v

    by the alternating direction method of multipliers with penalty ``gamma``: a ridge step for w, the hard threshold
    sqrt(2 lam / gamma) for v, a step for the multipliers. Predictions use v with its best intercept. The problem is not convex.
    If ``gamma`` is small compared with the data, the iterations may cycle: then the fit with the lowest objective among the
    visited supports is kept, with a ConvergenceWarning.

    Parameters
    ----------
    C : float
        Weight of the loss.
    gamma : float
        Penalty of the augmented Lagrangian.
    lam : float
        Penalty per feature.
    max_iter : int
        Largest number of iterations.
    tol : float
        Step, in units of the threshold, below which the iterations may end; they do if their support is a fixed point.
    <class_weight>.

    Attributes
    ----------
    <surfaces> W is zero.
    <coefficients>
    n_iter_ : array of shape (n_surfaces,)
        Iterations of each surface.
    <labels>
    """

    _rules = {"C": POSITIVE, "gamma": POSITIVE, "lam": POSITIVE, "max_iter": integer_from(1), "tol": POSITIVE}

    def __init__(
        self,
        C: float = 1.0,
        gamma: float = 100.0,
        lam: float = 1.0,
        *,
        max_iter: int = MAX_ITER,
        tol: float = TOL,
        class_weight: ClassWeight = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight

    def _one_cell(self, samples: LabelledSamples) -> GridFits:
        fits = l0_least_squares_grid(samples, [self.C], [self.gamma], [self.lam], max_iter=self.max_iter, tol=self.tol)
        self.n_iter_ = fits.n_iter[0]
        return fits

    def _trouble(self, residual: float) -> str:
        if residual <= self.tol:
            return ""
        return (
            f"the iterations did not settle within max_iter={self.max_iter}: last step {residual:.2g}, tol = {self.tol:g}; "
            "raise max_iter, or gamma where they cycle"
        )
