"""The first pass over samples: their energy, a random sample of them and, for a search, their moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.compensated import split
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift_adjoint
from quadric.geometry.moments import LabelledMoments, energy_of_sums
from quadric.losses.base import SAMPLE_ROWS
from quadric.losses.smallest_keys import Rows
from quadric.losses.supports import Candidates, Limits, candidates_of
from quadric.samples.random_rows import MOST_RANDOM, ClassSamples, RandomRows, SampledRows
from quadric.samples.source import SampleBatch, SampleSource
from quadric.samples.sums import KnownRows
from quadric.types import FloatArray


@dataclass(frozen=True)
class Survey:
    """What one pass tells of the samples of one class against the rest, for its surface.

    Attributes
    ----------
    surface : int
    class_weights : array of shape (n_classes,)
        Sums of the sample weights.
    sums : array of shape (p,)
        Weighted sum of r(x): the first and second moments of x.
    class_weight : array of shape (n_classes,)
        Factors on the losses.
    samples : ClassSamples
        Random rows of the rest and of the positive class.
    n_rows : int
    moments : LabelledMoments or None
        Of all samples: what a fit with the squared loss sums, too.
    """

    surface: int
    class_weights: FloatArray
    sums: FloatArray
    class_weight: FloatArray
    samples: ClassSamples
    n_rows: int
    moments: LabelledMoments | None

    @staticmethod
    def of_sums(known: KnownRows, surface: int) -> Survey:
        """The survey without a pass: sums and random rows are known."""
        moments = known.sums.moments
        sides = tuple(SampledRows((rows,), SAMPLE_ROWS // 2, 0) for rows in known.random_rows(surface))
        samples = ClassSamples(sides, known.samples.longest, known.samples.n_batches)
        sums = moments.class_weights @ moments.class_means
        return Survey(surface, moments.class_weights, sums, moments.factors, samples, known.sums.n_rows, moments)

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            self.surface,
            self.class_weights + other.class_weights,
            self.sums + other.sums,
            self.class_weight,
            self.samples + other.samples,
            self.n_rows + other.n_rows,
            None if self.moments is None or other.moments is None else self.moments + other.moments,
        )

    @cached_property
    def side_weights(self) -> tuple[float, float]:
        """Sums of the loss weights of the rest and of the positive class."""
        weights = self.class_weights * self.class_weight
        return float(np.delete(weights, self.surface).sum()), float(weights[self.surface])

    @property
    def labelled(self) -> LabelledMoments:
        """What the squared loss needs; only a survey with moments knows it."""
        assert self.moments is not None
        return self.moments

    def candidates(self, limits: Limits) -> Candidates:
        """What limits leave of the terms that vary; without moments all are taken to vary."""
        if self.moments is not None:
            # the same decision as by rows in memory: both come from means and scatters (2.4)
            return candidates_of(self.moments.loss, limits)
        none = np.zeros(len(self.sums), dtype=bool)
        return limits.candidates(none, lambda: none)

    @property
    def variance(self) -> FloatArray:
        """Of each term; not a number without moments, so that nothing is claimed of it."""
        if self.moments is None:
            return np.full(len(self.sums), np.nan)
        return np.diag(self.moments.loss.scatter) / self.moments.loss.weight

    @cached_property
    def energy(self) -> Energy:
        """The regulariser of all samples."""
        return energy_of_sums(float(self.class_weights.sum()), self.sums)

    @cached_property
    def sample(self) -> Rows:
        """The random rows, with weights that stand for all rows of their side."""
        # as many rows of either side, however rare one is: their weights put the sides back into proportion
        sides = zip((drawn.batch for drawn in self.samples.classes), self.side_weights, strict=True)
        parts = [(rows, total / rows.loss_weight.sum()) for rows, total in sides if len(rows.ids)]
        return Rows.joined(
            [Rows(rows.X, rows.target.y(self.surface), factor * rows.loss_weight, rows.ids) for rows, factor in parts]
        )

    @cached_property
    def middle(self) -> FloatArray:
        """Where liftings are centred: medians, with digits to spare for products."""
        return split(np.median(self.sample.X, axis=0))[0]


def surveyed(source: SampleSource, surface: int, with_moments: bool, room: int = SAMPLE_ROWS) -> Survey:
    """The survey for the surface of one class against the rest.

    Where the number of rows is known, each batch keeps only its share of the random sample; where many of them have no weight,
    that is too little, and a second pass keeps more.

    Parameters
    ----------
    source : SampleSource
    surface : int
    with_moments : bool
    room : int
        As in SurveyPass.
    """
    whole = SurveyPass(surface, with_moments, room)
    if source.class_rows is None:
        return source.total(whole)
    sides = int(source.class_rows.sum() - source.class_rows[surface]), int(source.class_rows[surface])
    # numbers above which a row is hardly ever among the lowest of its side: batches need not keep it
    rest, its = (RandomRows.of(room // 2, 0, n_rows).highest for n_rows in sides)
    survey = source.total(SurveyPass(surface, with_moments, room, (rest, its)))
    # rows without weight count in class_rows but never come, so that a share of all may be too few
    is_short = (drawn.highest < MOST_RANDOM and len(drawn.batch.ids) < room // 2 for drawn in survey.samples.classes)
    return source.total(whole) if any(is_short) else survey


@dataclass(frozen=True)
class SurveyPass:
    """From a batch to what a survey is the sum of.

    Attributes
    ----------
    surface : int
        That of the class against the rest.
    with_moments : bool
        Whether the p x p moments are wanted, too.
    room : int
        Rows of the sample, half of them of each side where there are enough.
    highest : pair of int
        Random numbers of the rest and of the positive class above which rows are not kept.
    """

    surface: int
    with_moments: bool
    room: int = SAMPLE_ROWS
    highest: tuple[int, int] = (MOST_RANDOM, MOST_RANDOM)

    def __call__(self, batch: SampleBatch) -> Survey:
        weight, codes, n_rows = batch.sample_weight, batch.target.codes, len(batch.target)
        factors = batch.target.class_weight
        sides = zip((codes != self.surface, codes == self.surface), self.highest, strict=True)
        drawn = (RandomRows(self.room // 2, 0, highest)(batch.part(np.flatnonzero(side))) for side, highest in sides)
        return Survey(
            self.surface,
            np.bincount(codes, weights=weight, minlength=len(factors)).astype(float),
            # with the sample weights alone: class weights are factors on the losses and not on the energy (1.7)
            lift_adjoint(batch.X, weight),
            factors,
            ClassSamples(tuple(drawn), n_rows, 1),
            n_rows,
            LabelledMoments.of(batch.X, codes, weight, factors) if self.with_moments else None,
        )
