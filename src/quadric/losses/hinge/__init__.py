"""The hinge loss H(t) = max(t, 0): the paper's l0-QSVM. Lifted samples stay in memory, or are passed over."""

from functools import partial

from quadric.losses.base import Loss
from quadric.losses.dual import DualBounds
from quadric.losses.hinge.judge import HingeJudge
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.hinge.step import HingeStep
from quadric.losses.hinge.streamed import HingeStream
from quadric.losses.ranked import RankedExplorer
from quadric.losses.rows_data import rows_data

LOSS = Loss(
    name="hinge",
    title="hinge loss",
    keeps_rows=True,
    cheap_exchanges=False,
    has_probabilities=False,
    kicks=4,  # each costs a descent whose exchanges are convex problems
    restarts=0,
    default_Cs=(8.0, 64.0, 512.0, 4096.0),  # at C = 1 its surfaces are far too flat
    screen="least_squares",
    data=partial(rows_data, HingeProblem),
    step=HingeStep,
    explorer=RankedExplorer,
    bounds=DualBounds,
    judge=HingeJudge,
    streamed=partial(HingeStream, HingeProblem),
    passes_from=50_000,
)
