"""The path of surfaces over k and C as a function of X and y."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_X_y

from quadric._sklearn import feature_names
from quadric.estimators._base import seed_of
from quadric.estimators._constraints import support_limits
from quadric.estimators._grids import C_grid, k_grid
from quadric.estimators._validation import check_spread, check_values, one_of, validate_samples
from quadric.problem import TRAINING_DATA
from quadric.progress import writer_for
from quadric.search.path import PATH_METHODS, QuadraticPath, trace_path


def sparse_quadratic_path(
    X: Any,
    y: Any,
    *,
    ks: Any = None,
    Cs: Any = (1.0,),
    loss: str = "hinge",
    method: str = "best",
    sample_weight: Any = None,
    class_weight: Any = None,
    include: Any = None,
    exclude: Any = None,
    random_state: Any = None,
    verbose: int = 0,
) -> QuadraticPath:
    """Surfaces for every number of terms and every C, at a cost near that of a few fits.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Samples; standardised ones, as for SparseQuadraticSVC.
    y : array-like of shape (m,)
        Labels of two classes; surfaces are positive for the second in sorted order.
    ks : increasing sequence of int or None
        Numbers of terms; None: 1, 2, ... up to the number of terms or 100.
    Cs : sequence of float
        Weights of the loss.
    loss : {"hinge", "least_squares"}
        Loss function.
    method : {"pd", "best"}
        "pd": penalty decomposition at each point. "best": forward selection and exchanges of terms, where neighbours in k and
        C hand each other their supports; the objective then never increases along k.
    sample_weight : array-like of shape (m,), optional
        Repetitions.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes.
    include, exclude : sequence or None
        Terms that must, or must not, be in every support, as in SparseQuadraticSVC.
    random_state : int, RandomState or None
        Seed of the perturbations; None is a fixed seed.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    QuadraticPath
    """
    check_values({"loss": loss, "method": method}, {"loss": one_of(*sorted(TRAINING_DATA)), "method": one_of(*PATH_METHODS)})
    names = feature_names(X)
    X, y = check_X_y(X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    samples = validate_samples(X, y, sample_weight, class_weight)
    if len(samples.classes) > 2:
        raise ValueError(f"a path needs two classes, but y has {len(samples.classes)}; use SparseQuadraticSVCCV for more")
    grid, Cs = k_grid(ks, X.shape[1]), C_grid(Cs)
    check_spread(X, names, "SparseQuadraticSVC", depth=1)
    limits = support_limits(include, exclude, names, X.shape[1], int(grid[0]))
    data = TRAINING_DATA[loss].from_samples(samples, limits)
    return trace_path(data, 1, Cs, grid, method=method, seed=(seed_of(random_state), 1), report=writer_for(verbose))
