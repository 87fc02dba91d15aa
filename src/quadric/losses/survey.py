"""The first pass over samples: their energy, a random sample of them and, for a search, their moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from quadric.geometry.compensated import split
from quadric.geometry.energy import Energy
from quadric.geometry.lifting import lift_adjoint
from quadric.geometry.moments import LabelledMoments, Moments, energy_of_sums
from quadric.losses.base import SAMPLE_ROWS
from quadric.losses.smallest_keys import KeptRows, Rows, random_keys
from quadric.samples.source import SampleBatch, SampleSource, spread_of_count
from quadric.samples.sums import KnownRows
from quadric.types import BoolArray, FloatArray


@dataclass(frozen=True)
class Survey:
    """What one pass tells of the samples of one class against the rest.

    Attributes
    ----------
    class_weights : array of shape (n_classes,)
        Sums of the sample weights.
    class_sums : array of shape (n_classes, p)
        Weighted sums of r(x): the first and second moments of x.
    side_weights : array of shape (2,)
        Sums of the loss weights of the rest and of the positive class.
    samples : pair of KeptRows
        Random rows of either side.
    n_rows : int
    longest, n_batches : int
        Rows of the largest batch, and batches: how long sums are.
    class_weight : array of shape (n_classes,)
        Factors on the losses.
    moments : Moments or None
        Of all samples, with the weights of their losses.
    """

    class_weights: FloatArray
    class_sums: FloatArray
    side_weights: FloatArray
    samples: tuple[KeptRows, KeptRows]
    n_rows: int
    longest: int
    n_batches: int
    class_weight: FloatArray
    moments: Moments | None

    @staticmethod
    def of_sums(known: KnownRows, positive: int) -> Survey:
        """The survey of one class against the rest, without a pass: sums and random rows are known."""
        moments, class_weight = known.moments, known.source.class_weight
        loss_weights = moments.class_weights * class_weight
        rest, its = (
            KeptRows((Rows(rows.X, rows.signs(positive), rows.loss_weight, random_keys(rows.ids)),), 1.0, SAMPLE_ROWS // 2)
            for rows in known.random_rows(positive)
        )
        return Survey(
            moments.class_weights,
            moments.class_weights[:, None] * moments.class_means,
            np.array([loss_weights.sum() - loss_weights[positive], loss_weights[positive]]),
            (rest, its),
            known.n_rows,
            known.samples.longest,
            known.samples.n_batches,
            class_weight,
            moments.loss,
        )

    def __add__(self, other: Survey) -> Survey:
        rest, positive = (
            mine.joined_with(theirs, mine.needed_reach(theirs))
            for mine, theirs in zip(self.samples, other.samples, strict=True)
        )
        return Survey(
            self.class_weights + other.class_weights,
            self.class_sums + other.class_sums,
            self.side_weights + other.side_weights,
            (rest, positive),
            self.n_rows + other.n_rows,
            max(self.longest, other.longest),
            self.n_batches + other.n_batches,
            self.class_weight,
            None if self.moments is None or other.moments is None else self.moments + other.moments,
        )

    @cached_property
    def labelled(self) -> LabelledMoments:
        """What the squared loss needs."""
        assert self.moments is not None
        weights = self.class_weights[:, None]
        means = np.divide(self.class_sums, weights, out=np.zeros_like(self.class_sums), where=weights > 0.0)
        return LabelledMoments(self.moments, self.class_weights, means)

    @property
    def variance(self) -> FloatArray:
        """Of each term; not a number without moments, so that nothing is claimed of it."""
        if self.moments is None:
            return np.full(self.class_sums.shape[1], np.nan)
        return np.diag(self.moments.scatter) / self.moments.weight

    @cached_property
    def energy(self) -> Energy:
        """The regulariser of all samples."""
        return energy_of_sums(float(self.class_weights.sum()), self.class_sums.sum(axis=0))

    @cached_property
    def sample(self) -> Rows:
        """The random rows, with weights that stand for all rows of their side."""
        sides = [kept.rows() for kept in self.samples if len(kept)]
        totals = [total for kept, total in zip(self.samples, self.side_weights, strict=True) if len(kept)]
        rows = Rows.joined(tuple(sides))
        factors = np.concatenate(
            [np.full(len(side), total / side.weight.sum()) for side, total in zip(sides, totals, strict=True)]
        )
        return Rows(rows.X, rows.y, rows.weight * factors, rows.key)

    @cached_property
    def middle(self) -> FloatArray:
        """Where liftings are centred: medians, with digits to spare for products."""
        return split(np.median(self.sample.X, axis=0))[0]

    @property
    def length_of_sums(self) -> int:
        """Numbers that are added one after another, at most."""
        return self.longest + self.n_batches


def surveyed(source: SampleSource, positive: int, with_moments: bool, room: int = SAMPLE_ROWS) -> Survey:
    """The survey of one class against the rest.

    Where the number of rows is known, each batch keeps only its share of the random sample; where many of them have no weight,
    that is too little, and a second pass keeps more.

    Parameters
    ----------
    source : SampleSource
    positive : int
    with_moments : bool
    room : int
        As in SurveyPass.
    """
    if source.class_rows is None:
        return source.total(SurveyPass(positive, with_moments, room))
    sides = int(source.class_rows.sum() - source.class_rows[positive]), int(source.class_rows[positive])
    wanted = max(1.0, room // 2 - spread_of_count(room // 2))
    rest, its = (1.0 if n_rows <= room // 2 else wanted / n_rows for n_rows in sides)
    survey = source.total(SurveyPass(positive, with_moments, room, (rest, its)))
    least, kept = wanted - spread_of_count(wanted), survey.samples
    is_short = (rest < 1.0 and len(kept[0]) < least) or (its < 1.0 and len(kept[1]) < least)
    return source.total(SurveyPass(positive, with_moments, room)) if is_short else survey


@dataclass(frozen=True)
class SurveyPass:
    """From a batch to what a survey is the sum of.

    Attributes
    ----------
    positive : int
        The class against the rest.
    with_moments : bool
        Whether the p x p moments are wanted, too.
    room : int
        Rows of the sample, half of them of each side where there are enough.
    reach : pair of floats
        Random numbers of the rest and of the positive class above which rows are not kept.
    """

    positive: int
    with_moments: bool
    room: int = SAMPLE_ROWS
    reach: tuple[float, float] = (1.0, 1.0)

    def __call__(self, batch: SampleBatch) -> Survey:
        weight, codes = batch.sample_weight, batch.codes
        classes = [codes == code for code in range(len(batch.class_weight))]
        y, loss_weight, keys = batch.signs(self.positive), batch.loss_weight, random_keys(batch.ids)
        sides = y < 0.0, y > 0.0
        return Survey(
            np.array([weight[mine].sum() for mine in classes]),
            np.array([lift_adjoint(batch.X[mine], weight[mine]) for mine in classes]),
            np.array([loss_weight[side].sum() for side in sides]),
            (
                self._kept(batch.X, y, loss_weight, keys, sides[0], self.reach[0]),
                self._kept(batch.X, y, loss_weight, keys, sides[1], self.reach[1]),
            ),
            len(y),
            len(y),
            1,
            batch.class_weight,
            Moments.of(batch.X, loss_weight) if self.with_moments else None,
        )

    def _kept(
        self, X: FloatArray, y: FloatArray, weight: FloatArray, keys: FloatArray, side: BoolArray, reach: float
    ) -> KeptRows:
        room, mine = self.room // 2, np.flatnonzero(side & (keys <= reach))
        if len(mine) > room:
            mine = mine[np.sort(np.argpartition(keys[mine], room - 1)[:room])]
        rows = Rows(X[mine], y[mine], weight[mine], keys[mine])
        reach = float(rows.key.max()) if len(mine) == room else reach
        return KeptRows((rows,) if len(mine) else (), reach, room)
