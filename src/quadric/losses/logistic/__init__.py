"""The logistic loss 8 log(1 + exp(-y f)): as curved as the squared loss at f = 0, and it gives probabilities."""

from quadric.defaults import DEFAULT_CS
from quadric.losses.base import Loss
from quadric.losses.dual import DualBounds
from quadric.losses.logistic.explorer import LogisticExplorer
from quadric.losses.logistic.judge import LogisticJudge
from quadric.losses.logistic.problem import LogisticData
from quadric.losses.logistic.step import LogisticStep
from quadric.losses.logistic.streamed import LogisticStream

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
    data=LogisticData,
    step=LogisticStep,
    explorer=LogisticExplorer,
    bounds=DualBounds,
    judge=LogisticJudge,
    streamed=LogisticStream,
    passes_from=100_000,
)
