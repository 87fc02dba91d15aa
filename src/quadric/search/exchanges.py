"""Exchanges of terms by passes over all samples (losses/pass_problem.py), until every one of them is proved to be useless.

Exchanges are ruled out by the multipliers of the present fit, ranked by a model, and then examined by the loss; a move counts
by its value on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quadric.losses.base import Explorer, Found, SparseProblem, Step
from quadric.losses.columns import AnyTableau, SummedTableau, compounds
from quadric.losses.pass_problem import StreamedFit, StreamedProblem, Trial
from quadric.losses.ranked import RankedExplorer
from quadric.losses.shared import SharedStep
from quadric.losses.supports import Move
from quadric.progress import Report
from quadric.types import IntArray

# Share of the objective by which a support that counts as swap-optimal may be beaten.
SLACK = 1e-6
# Exchanges that are examined together: the most promising, then the others.
FIRST, NEXT = 16, 64
# Exchanges of one support that are fitted with passes of their own, where the rows of one pass do not decide.
MOST_FITTED = 20


def exchanged(
    stream: StreamedProblem, explorer: Explorer, fit: StreamedFit, most: int, report: Report
) -> tuple[StreamedFit, bool | None]:
    """Exchanges from a fit until none helps, or time is up.

    Parameters
    ----------
    stream : StreamedProblem
    explorer : Explorer
        Of the same problem, or of a sample of its rows: it ranks.
    fit : StreamedFit
    most : int
        Exchanges of one support that are examined; where more are left, only the most promising are.
    report : callable

    Returns
    -------
    fit : StreamedFit
        Where they ended.
    swap_optimal : bool or None
        Whether every exchange of one term is proved to be useless; None: cannot be told within the limits.
    """
    while stream.passes.going():
        report(f"{stream.passes.count} passes: objective {fit.value:.8g}, gap {fit.gap:.1e}")
        # moves that gain less than the slack would not end: values of passes carry a gap of their own
        ceiling = fit.value * (1.0 - SLACK)
        supports = _open(stream, explorer, fit, ceiling)
        few = len(supports) <= most
        better, decided = _better(stream, fit, supports if few else supports[:FIRST], ceiling)
        if better is None:
            better = _better(stream, fit, _compounds(stream, explorer, fit, ceiling), ceiling)[0]
        if better is None:
            return fit, decided if few else None
        fit = better
    return fit, None


def is_swap_optimal_by_passes(stream: StreamedProblem, fit: StreamedFit, most: int) -> bool | None:
    """Whether no exchange of one term helps, where no more than ``most`` of them are left to examine."""
    ceiling = fit.value * (1.0 - SLACK)
    supports = _open(stream, None, fit, ceiling)
    if len(supports) > most:
        return None
    better, decided = _better(stream, fit, supports, ceiling)
    return False if better is not None else decided


def exchanged_by_refits(
    problem: SparseProblem, step: Step, found: Found, most: int, going: Callable[[], bool]
) -> tuple[Found, bool | None]:
    """The same with all rows in memory, each exchange with a refit of its own."""
    while going():
        better, decided = better_by_refits(problem, step, found, most)
        if better is None:
            return found, decided
        found = better
    return found, None


def better_by_refits(problem: SparseProblem, step: Step, found: Found, most: int) -> tuple[Found | None, bool | None]:
    """A support that beats one, or whether each exchange of one term is proved not to; None: there are too many to tell."""
    explorer, ceiling, support = problem.explorer(step), found.value * (1.0 - SLACK), found.support
    assert isinstance(explorer, RankedExplorer)
    moves, dual, model = problem.rule.moves(support), explorer.dual_tableau(support), explorer.model(support)
    assert isinstance(step, SharedStep)
    assert isinstance(dual, SummedTableau)
    left = np.argwhere(dual.value + dual.exchanges(moves) < ceiling)
    left = left[np.argsort(model.exchanges(moves)[tuple(left.T)], kind="stable")]
    decided = len(left) <= most
    for i, j in left if decided else left[:FIRST]:
        move = Move(moves.out[[i]], moves.into[[j]])
        value, bound = step.bracket_below(other := move.applied(support), ceiling, dual.each_after(move))
        if value < ceiling:
            return Found(other, value), None
        decided = decided and bound >= ceiling
    for move in [move for move in compounds(model, problem.rule) if dual.after(move) < ceiling][:FIRST]:
        value = step.refit(other := move.applied(support)).value
        if value < ceiling:
            return Found(other, value), None
    return None, True if decided else None


def _open(stream: StreamedProblem, explorer: Explorer | None, fit: StreamedFit, ceiling: float) -> list[IntArray]:
    """The supports after moves that the multipliers of a fit do not rule out (6.5), the most promising first."""
    moves, tableau = stream.rule.moves(fit.support), stream.dual_tableau(fit)
    left = np.argwhere(tableau.value + tableau.exchanges(moves) < ceiling)
    if len(left) and explorer is not None:
        model = _model(stream, explorer, fit)
        if model is not None:
            left = left[np.argsort(model.exchanges(moves)[tuple(left.T)], kind="stable")]
            left[FIRST:] = left[FIRST:][np.argsort(left[FIRST:, stream.shared], kind="stable")]
    return [Move(moves.out[[i]], moves.into[[j]]).applied(fit.support) for i, j in left]


def _model(stream: StreamedProblem, explorer: Explorer, fit: StreamedFit) -> AnyTableau | None:
    model = stream.model(fit)
    return explorer.model(fit.support) if model is None and isinstance(explorer, RankedExplorer) else model


def _compounds(stream: StreamedProblem, explorer: Explorer, fit: StreamedFit, ceiling: float) -> list[IntArray]:
    """The supports after the most promising compound moves that the multipliers do not rule out."""
    tableau = stream.dual_tableau(fit)
    moves = compounds(_model(stream, explorer, fit) or tableau, stream.rule)
    return [move.applied(fit.support) for move in moves if tableau.after(move) < ceiling][:FIRST]


def _better(
    stream: StreamedProblem, fit: StreamedFit, supports: Sequence[IntArray], ceiling: float
) -> tuple[StreamedFit | None, bool | None]:
    """A fit below the ceiling, if there is one; otherwise True if all supports are proved to be above it, or None."""
    doubtful, going = list[Trial](), stream.passes.going
    for chunk in _chunks(supports):
        if not going():
            return None, None
        trials = stream.examine(fit, chunk, ceiling)
        lower = sorted((trial for trial in trials if trial.value < ceiling), key=lambda trial: trial.value)
        if lower:
            best = _combined(stream, fit, lower)
            return stream.fit(best.support, best.w), None
        doubtful += [trial for trial in trials if trial.bound < ceiling]
    if len(doubtful) > MOST_FITTED:  # each of them would take passes of its own
        return None, None
    for trial in sorted(doubtful, key=lambda trial: trial.bound):
        if not going():
            return None, None
        other = stream.fit(trial.support, trial.w, ceiling)
        if other.value < ceiling:
            return other, None
        if other.bound < ceiling:
            return None, None
    return None, True


def _chunks(supports: Sequence[IntArray]) -> Iterator[Sequence[IntArray]]:
    if supports:
        yield supports[:FIRST]
    for first in range(FIRST, len(supports), NEXT):
        yield supports[first : first + NEXT]


def _combined(stream: StreamedProblem, fit: StreamedFit, lower: Sequence[Trial]) -> Trial:
    """The best of the moves that help, or several of them at once where that is better still."""
    support, taken, several = fit.support, set[int](), list[IntArray]()
    for trial in lower:
        out, into = np.setdiff1d(fit.support, trial.support), np.setdiff1d(trial.support, fit.support)
        if taken.isdisjoint([*out.tolist(), *into.tolist()]):
            taken.update(out.tolist(), into.tolist())
            support = Move(out, into).applied(support)
            if stream.rule.admissible(support):
                several.append(support)
    trials = stream.examine(fit, several[1:], np.inf) if len(several) > 1 else []
    return min([lower[0], *trials], key=lambda trial: trial.value)
