"""The logistic loss 8 log(1 + exp(-y f)): as curved as the squared loss at f = 0, and it gives probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import entr, expit, logit

from quadric.defaults import DEFAULT_CS
from quadric.losses.base import Loss
from quadric.losses.dual import DualBounds
from quadric.losses.ranked import RankedExplorer
from quadric.losses.rows_data import rows_data
from quadric.losses.smooth.formulas import SmoothLoss
from quadric.losses.smooth.judge import SmoothJudge
from quadric.losses.smooth.problem import SmoothProblem
from quadric.losses.smooth.step import SmoothStep
from quadric.losses.smooth.streamed import SmoothStream
from quadric.types import FloatArray

LARGEST_EXPONENT = 700.0  # so that no exponential overflows


class Logistic(SmoothLoss):
    """log(1 + exp(-m)): t = 1 / (1 + exp(m)), and h is the entropy of t and 1 - t (docs/mathematics.md, eq. 10.1 to 10.4)."""

    scale = 8.0  # at f = 0 the loss is then as curved as the squared loss
    steepest = 1.0
    most_bent = 0.25

    def value(self, m: FloatArray) -> FloatArray:
        # vectorised, unlike log_expit, and as exact: both summands are positive
        return np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0.0)

    def slope(self, m: FloatArray) -> FloatArray:
        return np.asarray(expit(-m))

    def bend(self, t: FloatArray) -> FloatArray:
        return t * (1.0 - t)

    def conjugate(self, t: FloatArray) -> FloatArray:
        return np.asarray(entr(t) + entr(1.0 - t))

    def constant_score(self, share: float) -> float:
        return float(logit(share))

    def at(self, m: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """One logarithm serves loss and entropy, and t^2 / bend = t / (1 - t) is exp(-m).

        With u = |m| and s = 1 / (1 + exp(u)), the smaller of t and 1 - t, loss and entropy are sums of positive numbers:
        log(1 + exp(-m)) = log(1 + exp(-u)) + max(-m, 0) and h(t) = log(1 + exp(-u)) + s u. Nothing cancels.
        """
        u = np.abs(m)
        tail = np.exp(-u)
        log, smaller = np.log1p(tail), tail / (1.0 + tail)
        entropy = smaller * u
        entropy += log
        loss = u - m  # 2 max(-m, 0), exactly
        loss *= 0.5
        loss += log
        return np.abs((m < 0.0) - smaller), loss, entropy, np.exp(np.minimum(-m, LARGEST_EXPONENT))  # t is 1 - s below zero


@dataclass(frozen=True, kw_only=True)
class LogisticProblem(SmoothProblem):
    """The logistic loss on lifted samples."""

    loss_name: ClassVar[str] = "logistic"
    formulas: ClassVar[SmoothLoss] = Logistic()


LOSS = Loss(
    name="logistic",
    title="logistic loss",
    keeps_rows=True,
    cheap_exchanges=False,
    has_probabilities=True,
    kicks=4,  # each costs a descent whose exchanges are convex problems
    restarts=0,
    default_Cs=DEFAULT_CS,
    screen="least_squares",
    data=partial(rows_data, LogisticProblem),
    step=SmoothStep,
    explorer=RankedExplorer,
    bounds=DualBounds,
    judge=partial(SmoothJudge, Logistic()),
    streamed=partial(SmoothStream, LogisticProblem),
    passes_from=100_000,
)
