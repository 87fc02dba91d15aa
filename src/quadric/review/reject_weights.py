"""Weights that make up for applicants without an outcome."""

from __future__ import annotations

import numpy as np

from quadric.types import BoolArray, FloatArray

BANDS = 10
# Nobody stands for more applicants than a chance of acceptance of this makes it
SMALLEST_CHANCE = 0.02


def fuzzy_weights(chances: FloatArray, factor: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Weights of the two copies of each reject, as bad and as good; they sum to 1.

    Parameters
    ----------
    chances : array of shape (m,)
        Probability of bad.
    factor : float
        How many times as many rejects are bad; products above 1 count as 1.

    Returns
    -------
    tuple of two arrays of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from quadric.review import fuzzy_weights
    >>> bad, good = fuzzy_weights(np.array([0.25, 0.75]), factor=2.0)
    >>> bad.tolist(), good.tolist()
    ([0.5, 1.0], [0.5, 0.0])
    """
    bad = np.minimum(factor * np.asarray(chances, dtype=float), 1.0)
    return bad, 1.0 - bad


def band_weights(score: FloatArray, accepted: BoolArray, bands: int = BANDS) -> tuple[FloatArray, int]:
    """Of each applicant, how many of its band of the score one accepted applicant stands for; 0 for rejects.

    Parameters
    ----------
    score : array of shape (m,)
        Of all applicants.
    accepted : boolean array of shape (m,)
    bands : int
        With as many applicants each, but for ties. One without any accepted applicant joins the nearest that has some.

    Returns
    -------
    array of shape (m,) and int
        Weights that sum to m, and the number of applicants in bands without an accepted one.

    Examples
    --------
    >>> import numpy as np
    >>> from quadric.review import band_weights
    >>> band_weights(np.arange(4.0), np.array([False, True, True, True]), bands=2)
    (array([0., 2., 1., 1.]), 0)
    """
    edges = np.unique(np.quantile(score, np.arange(1, bands) / bands, method="inverted_cdf"))
    band = np.searchsorted(edges, score)
    inside = np.unique(band[accepted])
    nearest = inside[np.abs(np.arange(len(edges) + 1)[:, None] - inside).argmin(axis=1)]
    n_alone = int((~np.isin(band, inside)).sum())
    band = nearest[band]
    everyone, ours = (np.bincount(each, minlength=len(edges) + 1).astype(float) for each in (band, band[accepted]))
    return np.where(accepted, everyone[band] / np.maximum(ours[band], 1.0), 0.0), n_alone


def acceptance_weights(chances: FloatArray, accepted: BoolArray) -> tuple[FloatArray, int]:
    """Of each applicant, 1 / P(accepted), scaled so that they sum to the number of applicants; 0 for rejects.

    Parameters
    ----------
    chances : array of shape (m,)
        Probability of being accepted, of all applicants; below 0.02 it counts as 0.02.
    accepted : boolean array of shape (m,)

    Returns
    -------
    array of shape (m,) and int
        Weights, and the number of accepted applicants whose probability was below 0.02.
    """
    weight = np.where(accepted, 1.0 / np.maximum(chances, SMALLEST_CHANCE), 0.0)
    return weight * (len(weight) / weight.sum()), int((accepted & (chances < SMALLEST_CHANCE)).sum())
