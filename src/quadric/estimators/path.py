"""The path of surfaces over k and C as a function of X and y."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_X_y

from quadric._sklearn import feature_names
from quadric.defaults import DEFAULT_KS, DEFAULT_LINEAR_KS, LARGEST_COUNT
from quadric.estimators.base import ClassWeight, RandomState, Terms, seed_of
from quadric.estimators.classifier import DECOMPOSITION
from quadric.estimators.constraints import LINEAR, QUADRATIC, support_limits
from quadric.estimators.feature_rules import FeatureSets
from quadric.estimators.shape_rules import Limits, Signs, shape_demands
from quadric.estimators.validation import (
    TRUE_OR_FALSE,
    C_grid,
    check_values,
    integer_from,
    k_grid,
    none_or,
    numbers_only,
    one_of,
    validate_samples,
    warn_of_spread,
)
from quadric.geometry.terms import term_count
from quadric.labels import refuse_masked
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.footprint import check_memory
from quadric.progress import parts, writer_for
from quadric.samples.labelled import check_magnitude
from quadric.search.decomposition import Schedule
from quadric.search.path import PATH_METHODS, QuadraticPath, certified, trace_path


def sparse_quadratic_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    ks: Sequence[int] | None = None,
    Cs: Sequence[float] | int = (64.0,),
    loss: str = "least_squares",
    terms: Literal["quadratic", "linear"] = "quadratic",
    method: Literal["best", "pd"] = "best",
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight = None,
    include: Terms = None,
    exclude: Terms = None,
    interaction_cst: Literal["no_interactions", "pairwise"] | FeatureSets | None = None,
    hierarchy: Literal["weak", "strong"] | None = None,
    max_features: int | None = None,
    feature_cost: Mapping[str | int, float] | None = None,
    max_cost: float | None = None,
    feature_groups: FeatureSets | None = None,
    monotonic_cst: Signs | None = None,
    coef_bounds: Limits | None = None,
    rho: float | None = None,
    growth: float = 10**0.5,
    inner_tol: float = 1e-4,
    outer_tol: float = 1e-4,
    max_iter: int = 10_000,
    certify: bool = False,
    node_limit: int | None = None,
    random_state: RandomState = 0,
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
        Numbers of terms; None: 1 to 6, 8, 10, 12, 15 and 20, for linear terms also 25, 30 and 40, as far as the data have that
        many terms; and all of them where they are fewer.
    Cs : sequence of float
        Weights of the loss.
    loss : {"least_squares", "hinge", "logistic"}
        Loss function.
    terms : {"quadratic", "linear"}
        Terms to choose from: linear ones only, or squares and products, too.
    method : {"pd", "best"}
        "pd": penalty decomposition at each point. "best": forward selection and exchanges of terms, where neighbours in k and
        C hand each other their supports; the objective then never increases along k.
    sample_weight : array-like of shape (m,), optional
        Repetitions.
    class_weight : dict, "balanced" or None
        Factors on the loss of the classes.
    include, exclude : sequence or None
        Terms that must, or must not, be in every support, as in SparseQuadraticSVC.
    interaction_cst, hierarchy, max_features, feature_cost, max_cost, feature_groups :
        Rules on the terms and features of every surface, as in SparseQuadraticSVC.
    monotonic_cst, coef_bounds :
        Rules on the slopes and coefficients of every surface, as in SparseQuadraticSVC; slopes keep their sign in the range of
        the samples.
    rho, growth, inner_tol, outer_tol, max_iter :
        Of the decompositions of "pd", as in SparseQuadraticSVC.
    certify : bool
        Add a lower bound for every C and k (``lower_bound``), by branch and bound; surfaces stay as they are.
    node_limit : int or None
        Nodes of branch and bound for each C and k; unlike seconds, they repeat. Zero: the first bound alone;
        None: 100 for the squared loss, 10 for others.
    random_state : int, RandomState or None
        Seed of the perturbations; None draws a new one.
    verbose : int
        1 or 2 writes progress to standard error.

    Returns
    -------
    QuadraticPath
    """
    schedule: dict[str, Any] = {
        "rho": rho,
        "growth": growth,
        "inner_tol": inner_tol,
        "outer_tol": outer_tol,
        "max_iter": max_iter,
    }
    rules = {
        "interaction_cst": interaction_cst,
        "hierarchy": hierarchy,
        "max_features": max_features,
        "feature_cost": feature_cost,
        "max_cost": max_cost,
        "feature_groups": feature_groups,
    }
    check_values(
        {"loss": loss, "terms": terms, "method": method, "certify": certify, "node_limit": node_limit, **schedule},
        {
            **DECOMPOSITION,
            "loss": one_of(*LOSS_NAMES),
            "terms": one_of(QUADRATIC, LINEAR),
            "method": one_of(*PATH_METHODS),
            "certify": TRUE_OR_FALSE,
            "node_limit": none_or(integer_from(0, LARGEST_COUNT)),
        },
    )
    refuse_masked(X=X, y=y)
    names = feature_names(X)
    with numbers_only(X):
        checked_X, checked_y = check_X_y(X, y, dtype=np.float64, order="C", ensure_min_samples=2)
    samples = validate_samples(checked_X, checked_y, sample_weight, class_weight)
    if samples.target.n_classes > 2:
        raise ValueError(f"a path needs two classes, but y has {samples.target.n_classes}; use SparseQuadraticSVCCV for more")
    n_features, n_terms = samples.X.shape[1], term_count(samples.X.shape[1])
    limits = support_limits(include, exclude, names, n_features, n_terms, terms, rules=rules)
    default = DEFAULT_LINEAR_KS if terms == LINEAR else DEFAULT_KS
    grid, weights = k_grid(ks, n_terms - len(limits.exclude), len(limits.include), default), C_grid(Cs)
    check_memory(loss, samples.extent(len(limits.exclude), grid=(len(weights), len(grid)), proves=certify, k=int(grid[-1])))
    check_magnitude(samples.X)
    warn_of_spread(samples.X, names, "standardise them first, with StandardScaler().fit_transform(X)")
    owner = SimpleNamespace(monotonic_cst=monotonic_cst, coef_bounds=coef_bounds, feature_groups=feature_groups)
    if (demands := shape_demands(owner, names, n_features, samples.target.classes, limits)) is not None:
        limits = replace(limits, shapes=demands.on(samples))
    data = loss_named(loss).data(samples, limits)
    seed = (seed_of(random_state), 1)
    report, (tracing, proving) = writer_for(verbose), parts(1.0, 2.0 * certify)
    with tracing:
        path = trace_path(data, 1, weights, grid, method=method, seed=seed, schedule=Schedule(**schedule), report=report)
    with proving:
        return certified(path, data, 1, node_limit=node_limit, report=report) if certify else path
