"""How often each term is chosen, and with which sign, when the data are drawn again."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.parallel import delayed

from quadric._sklearn import check_sample_weight
from quadric.defaults import MOST_BOOTSTRAPS
from quadric.estimators import ScaleWarning
from quadric.estimators.base import RandomState, SparseSurfaceClassifier, drawn_seed
from quadric.estimators.validation import N_JOBS, check_values, integer_from
from quadric.estimators.views import Ranges, remember_ranges
from quadric.fitted import Model, as_judged
from quadric.labels import positions_in, refuse_masked
from quadric.progress import counted
from quadric.resources import processes_of
from quadric.tables.table import Rows
from quadric.types import FloatArray
from quadric.workers import workers

DECILES = np.arange(1, 10) / 10
# Attempts to draw samples of all classes before giving up.
DRAWS = 1000


@dataclass(frozen=True, eq=False)
class TermStability:
    """Terms over bootstrap fits. Rows follow the surfaces: one for two classes, one per class otherwise.

    Attributes
    ----------
    names : list of str
        All terms, in the order of ``coef_``.
    inclusion : array of shape (n_surfaces, p)
        Share of the fits in which the term is not zero.
    positive : array of shape (n_surfaces, p)
        Share of positive coefficients among these fits; NaN for a term that is in none.
    mean : array of shape (n_surfaces, p)
        Mean coefficient among these fits.
    deciles : array of shape (n_surfaces, 9, p)
        Deciles 1 to 9 of the coefficient among these fits.
    coef : array of shape (n_boot, n_surfaces, p)
        ``coef_`` of every fit.
    """

    names: list[str]
    inclusion: FloatArray
    positive: FloatArray
    mean: FloatArray
    deciles: FloatArray
    coef: FloatArray


def stability(
    model: Model,
    X: Rows,
    y: ArrayLike,
    *,
    n_boot: int = 100,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> TermStability:
    """Refit a model to bootstrap samples and count its terms.

    A bootstrap sample is a set of weights, the number of times that each row is drawn. Transformers, scalers, k and C stay as
    fitted: levels of categories and units do not change from fit to fit, and coefficients can be compared. A cross-validated
    model is refitted as SparseQuadraticSVC with the k and C it chose. Samples that lack a class are drawn again.

    Parameters
    ----------
    model : fitted model
        What :func:`quadric.fitted.fitted_model` takes; a calibration is ignored.
    X, y : array-likes
        The data that the model was fitted to.
    n_boot : int
        Number of fits.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``; they multiply the numbers of draws.
    random_state : int, RandomState or None
        Seed; each fit has its own generator.
    n_jobs : int or None
        Fits at the same time; the result does not depend on it.

    Returns
    -------
    TermStability
        Notebooks then show the ranges in their view of the model.
    """
    check_values({"n_boot": n_boot, "n_jobs": n_jobs}, {"n_boot": integer_from(1, MOST_BOOTSTRAPS), "n_jobs": N_JOBS})
    view, X, y = as_judged(model, X, y)
    if view.is_surface:
        raise TypeError("stability refits a model: give a fitted estimator or a Pipeline, not a QuadraticSurface")
    refuse_masked(y=y)
    Z, y, estimator = view.fitted(X), np.asarray(y), view.classifier
    if isinstance(estimator, SparseSurfaceClassifier):  # for data in fitted units, which stay as they are
        estimator = view.procedure().set_params(standardize=False, clip=None)
        y = positions_in(view.classes, y)
    weight = check_sample_weight(sample_weight, Z, non_negative=False)
    seed = drawn_seed(random_state)
    fits = workers(processes_of(n_jobs, n_boot), return_as="generator")(
        delayed(_coefficients)(estimator, Z, y, weight, (seed, replicate)) for replicate in range(n_boot)
    )
    found = _summary(np.array(list(counted(fits, n_boot, "bootstrap fits"))), view.term_names)
    remember_ranges(view.classifier, Ranges(n_boot, found.inclusion, found.deciles[:, 0], found.deciles[:, -1]))
    return found


def _coefficients(estimator: Any, Z: Any, y: np.ndarray, weight: FloatArray, seed: tuple[int, int]) -> FloatArray:
    rng = np.random.default_rng(seed)
    labels = np.unique(y[weight > 0.0])
    for _ in range(DRAWS):
        drawn = weight * rng.multinomial(len(y), np.full(len(y), 1.0 / len(y)))
        if len(np.unique(y[drawn > 0.0])) == len(labels):
            break
    else:
        raise ValueError("no bootstrap sample has all classes: one of them has too few rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # the first fit has said so
        return np.asarray(clone(estimator).fit(Z, y, sample_weight=drawn).coef_)


def _summary(coef: FloatArray, names: list[str]) -> TermStability:
    included = coef != 0.0
    count = included.sum(axis=0)
    times = np.where(count > 0, count, np.nan)
    deciles = np.full((coef.shape[1], len(DECILES), coef.shape[2]), np.nan)
    for surface, term in zip(*np.nonzero(count), strict=True):
        deciles[surface, :, term] = np.quantile(coef[included[:, surface, term], surface, term], DECILES)
    return TermStability(
        names=names,
        inclusion=count / len(coef),
        positive=(coef > 0.0).sum(axis=0) / times,
        mean=coef.sum(axis=0) / times,
        deciles=deciles,
        coef=coef,
    )
