"""The squared loss H(t) = t^2: the paper's LS-l0-QSVM. Sums over the samples are all it needs."""

from quadric.defaults import DEFAULT_CS
from quadric.losses.base import Loss
from quadric.losses.least_squares.bounds import LeastSquaresBounds
from quadric.losses.least_squares.data import least_squares_data
from quadric.losses.least_squares.explorer import LeastSquaresExplorer
from quadric.losses.least_squares.judge import LeastSquaresJudge
from quadric.losses.least_squares.step import LeastSquaresStep, WideStep
from quadric.losses.least_squares.wide import WideExplorer

LOSS = Loss(
    name="least_squares",
    title="squared loss",
    keeps_rows=False,
    cheap_exchanges=True,
    has_probabilities=False,
    kicks=300,
    restarts=100,
    default_Cs=DEFAULT_CS,
    screen=None,
    data=least_squares_data,
    step=lambda problem: (WideStep if problem.is_wide else LeastSquaresStep)(problem),
    explorer=lambda problem, step: (WideExplorer if problem.is_wide else LeastSquaresExplorer)(problem),
    bounds=LeastSquaresBounds,
    judge=LeastSquaresJudge,
)
