"""Every k and every C in one go: neighbours hand each other their supports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quadric.blas import one_blas_thread
from quadric.errors import warn_of_contradiction
from quadric.geometry.terms import term_count
from quadric.losses.base import Explorer, Found, SparseProblem, Step, TrainingData
from quadric.notebook import NOTHING, paragraph, table, view
from quadric.progress import Report, parts, silent
from quadric.search.decomposition import Schedule, Status, decompose
from quadric.search.exact import prove
from quadric.search.ruled import best_under, searched_under
from quadric.types import BoolArray, FloatArray, IntArray

PATH_METHODS = ("pd", "best")
# Where exchanges are cheap, a round of perturbations of a point has KICKS + SMALL_KICKS / k of them (small supports cost
# little, and beyond half of all terms there is less and less to choose); points where that helped get up to ROUNDS rounds.
KICKS, SMALL_KICKS, ROUNDS = 10, 120, 8
# Nodes of branch and bound for each cell of a certified path, by whether the loss has cheap exchanges: then its nodes are
# cheap, too.
PROOF_NODES = {True: 100, False: 10}
# Gap that counts as zero, as in certificates.
PROVED = 1e-6


@dataclass(frozen=True, eq=False)
class PathCell:
    """The surface of one C and k.

    Attributes
    ----------
    terms : array
        Its support, as positions in the full z.
    z, c : array of the same length, float
        Its coefficients there.
    objective : float
    n_iter : int
        Work spent on it.
    status : Status
    seconds : float
    """

    terms: IntArray
    z: FloatArray
    c: float
    objective: float
    n_iter: int
    status: Status
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticPath:
    """Surfaces for a grid of C and k; the arrays are aligned.

    Attributes
    ----------
    Cs, ks : arrays
        The grid.
    cells : sequence of sequences of PathCell
        One row for each C.
    n_terms : int
        All terms, p.
    objective : array of shape (n_Cs, n_ks)
        F. With method "best" it never increases along k.
    scores : array of shape (n_folds, n_Cs, n_ks) or None
        Cross-validated scores, where the path belongs to a cross-validation.
    lower_bound : array of shape (n_Cs, n_ks) or None
        No surface with at most k terms has a smaller objective. NaN: rounding leaves no safe bound, or there was no time for
        one. None: the path is not certified.
    n_iter : array of shape (n_Cs, n_ks)
        Work spent on each point: z-steps with method "pd", refits or tables of exchanges with "best".
    status : array of str of shape (n_Cs, n_ks)
    seconds : array of shape (n_Cs, n_ks)
        Time spent on each point.
    intercept : array of shape (n_Cs, n_ks)
    coef : array of shape (n_Cs, n_ks, p)
        z = [hvec(W); b]; made anew each time, as it is mostly zeros.
    support : boolean array of shape (n_Cs, n_ks, p)
        Terms that were chosen; a coefficient of a chosen term can still be zero.
    """

    Cs: FloatArray
    ks: IntArray
    cells: Sequence[Sequence[PathCell]]
    n_terms: int
    objective: FloatArray
    scores: FloatArray | None = None
    lower_bound: FloatArray | None = None

    def _grid(self, name: str) -> np.ndarray:
        return np.array([[getattr(cell, name) for cell in row] for row in self.cells])

    @cached_property
    def n_iter(self) -> IntArray:
        return self._grid("n_iter")

    @cached_property
    def status(self) -> npt.NDArray[np.str_]:
        return self._grid("status").astype(np.str_)

    @cached_property
    def seconds(self) -> FloatArray:
        return self._grid("seconds")

    @cached_property
    def intercept(self) -> FloatArray:
        return self._grid("c")

    @property
    def coef(self) -> FloatArray:
        """z = [hvec(W); b] of each point, of shape (n_Cs, n_ks, p)."""
        coef = np.zeros((*self.objective.shape, self.n_terms))
        for place in np.ndindex(self.objective.shape):
            cell = self.cells[place[0]][place[1]]
            coef[place][cell.terms] = cell.z
        return coef

    @property
    def support(self) -> BoolArray:
        """Terms that were chosen, of shape (n_Cs, n_ks, p)."""
        support = np.zeros((*self.objective.shape, self.n_terms), dtype=np.bool_)
        for place in np.ndindex(self.objective.shape):
            support[place][self.cells[place[0]][place[1]].terms] = True
        return support

    @property
    def gap(self) -> FloatArray | None:
        """(objective - lower_bound) / objective: how much lower any surface could be; None: the path is not certified."""
        if self.lower_bound is None:
            return None
        return np.divide(
            self.objective - self.lower_bound, self.objective, out=np.zeros_like(self.objective), where=self.objective != 0.0
        )

    @property
    def proved(self) -> BoolArray:
        """Where the gap is at most 1e-6: no surface with at most k terms is better."""
        return np.zeros(self.objective.shape, dtype=np.bool_) if self.gap is None else self.gap <= PROVED

    def __repr__(self) -> str:
        grid = f"{_span('k', self.ks)}; {_span('C', self.Cs)}"
        scored = "" if self.scores is None else f"; scores of {len(self.scores)} folds"
        proved = "" if self.lower_bound is None else f"; {self.proved.sum()} of {self.proved.size} proved best"
        return f"QuadraticPath({grid}; {self.n_terms} terms to choose from{scored}{proved})"

    def _repr_html_(self) -> str:
        columns = {f"objective, C = {C:g}": objective for C, objective in zip(self.Cs, self.objective, strict=True)}
        if self.gap is not None:
            columns |= {f"gap, C = {C:g}": gap for C, gap in zip(self.Cs, self.gap, strict=True)}
        if self.scores is not None:
            columns |= {f"score, C = {C:g}": mean for C, mean in zip(self.Cs, self.scores.mean(axis=0), strict=True)}
        cells = [[NOTHING if np.isnan(value) else float(value) for value in column] for column in columns.values()]
        rows = zip(self.ks.tolist(), *cells, strict=True)
        return view("QuadraticPath", [paragraph(repr(self)), table("By number of terms", ("k", *columns), rows)])

    def plot(self, ax: Any = None) -> Any:
        """Draw the objective, and where there are any the lower bound and the mean score, against k; needs matplotlib.

        The band of a certified path reaches from the objective down to the bound; rings are cells that are proved best.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        try:
            from matplotlib import pyplot as plt
            from matplotlib.ticker import MaxNLocator
        except ImportError as error:
            raise ImportError('QuadraticPath.plot needs matplotlib: pip install "quadric[plot]"') from error
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        largest = self.objective.max(axis=1, keepdims=True)
        for i, share in enumerate(self.objective / largest):
            (line,) = ax.plot(self.ks, share, marker=".", label=f"objective, C = {self.Cs[i]:g}")
            if self.lower_bound is not None:
                words = "down to the proved bound" if i == 0 else None
                bound, color = self.lower_bound[i] / largest[i], line.get_color()
                ax.fill_between(self.ks, bound, share, color=color, alpha=0.2, linewidth=0, label=words)
        if self.proved.any():
            at, heights = np.nonzero(self.proved)[1], (self.objective / largest)[self.proved]
            ax.scatter(self.ks[at], heights, s=60, facecolors="none", edgecolors="black", label="proved best")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("number of terms k")
        ax.set_ylabel("objective, as a share of its largest value")
        handles = ax.get_legend_handles_labels()[0]
        if self.scores is not None:
            handles.append(self._plot_scores(ax.twinx(), self.scores))
        ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.01), ncols=3, fontsize="small")
        return ax

    def _plot_scores(self, ax: Any, scores: FloatArray) -> Any:
        mean = scores.mean(axis=0)  # NaN where cross-validation skipped a cell
        best = np.unravel_index(int(np.nanargmax(mean)), mean.shape)[0]
        error = scores[:, best].std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
        ax.set_ylabel("cross-validated score, with its standard error")
        return ax.errorbar(self.ks, mean[best], yerr=error, color="black", capsize=2, label=f"score, C = {self.Cs[best]:g}")


def _span(name: str, values: FloatArray | IntArray) -> str:
    if len(values) == 1:
        return f"{name} = {values[0]:g}"
    return f"{len(values)} values of {name} from {min(values):g} to {max(values):g}"


@dataclass
class _Point:
    """One (C, k) while the path is being made."""

    found: Found
    n_iter: int = 0
    seconds: float = 0.0


@one_blas_thread()
def trace_path(
    data: TrainingData,
    surface: int,
    Cs: Sequence[float] | FloatArray,
    ks: Sequence[int] | IntArray,
    *,
    method: str = "best",
    seed: tuple[int, ...] = (0,),
    schedule: Schedule | None = None,
    report: Report = silent,
) -> QuadraticPath:
    """The surfaces for every C and k that are fitted to one column of the target.

    Parameters
    ----------
    data : TrainingData
    surface : int
        One of ``Target.surfaces``.
    Cs, ks : sequences
        ks in increasing order.
    method : "pd" or "best"
    seed : tuple of int
    schedule : Schedule or None
        Of the decompositions of "pd".
    report : callable
        Told one line per C.
    """
    makers: list[_PathMaker] = []
    rows: list[list[_Point]] = []
    cells: list[list[PathCell]] = []
    for i, C in enumerate(Cs):
        problem = data.problem_for(surface, float(C), int(ks[-1]))
        if method == "pd":
            cells.append([])
            for k, cell in zip(ks, decomposed_cells(problem, ks, schedule), strict=True):
                cells[-1].append(cell)
                report(f"path: C = {C:g}, decomposition, k = {min(k, problem.n_terms)}: objective {cell.objective:.6g}")
        else:
            makers.append(_PathMaker(problem, ks, (*seed, i), report))
            rows.append(makers[-1].best(rows[-1] if rows else None))
        report(f"path: C = {C:g} done ({i + 1} of {len(Cs)}), {len(ks)} numbers of terms")
    for i in range(len(rows) - 2, -1, -1):  # back again: what a larger C found may help a smaller one
        makers[i].take_over(rows[i], rows[i + 1])
    cells += [maker.finished(row) for maker, row in zip(makers, rows, strict=True)]
    return assembled_path(Cs, ks, cells, term_count(problem.n_features))


def supports_along(problem: SparseProblem, ks: Sequence[int]) -> list[IntArray]:
    """Supports for increasing k, each from the one before: terms are added one at a time and then exchanged (6.2, 6.3)."""
    explorer, support, supports = problem.explorer(), problem.rule.required, []
    for k in ks:
        support = explorer.descend(explorer.resized(support, min(k, problem.n_terms))).support
        supports.append(support)
    return supports


def decomposed_cells(
    problem: SparseProblem, ks: Sequence[int] | IntArray, schedule: Schedule | None = None
) -> Iterator[PathCell]:
    """The surfaces of one C by penalty decomposition; all k share the solver."""
    problem = problem.decomposable()
    step = problem.step()
    for k in ks:
        began = time.perf_counter()
        found = decompose(problem.with_k(min(int(k), problem.n_terms)), schedule, step=step)
        if problem.shape is not None:
            found = searched_under(problem, found, lambda: False)
        seconds = time.perf_counter() - began
        terms, z = problem.terms[found.support], found.z[found.support]
        yield PathCell(terms, z, found.c, found.objective, found.n_iter, found.status, seconds)


def certified(
    path: QuadraticPath,
    data: TrainingData,
    surface: int,
    *,
    node_limit: int | None = None,
    report: Report = silent,
    going: Callable[[], bool] = lambda: True,
) -> QuadraticPath:
    """A path with a lower bound for each cell; its surfaces stay as they are.

    Parameters
    ----------
    path : QuadraticPath
    data : TrainingData
        What the path was made from, with all terms that it could choose from.
    surface : int
    node_limit : int or None
        Nodes of branch and bound for each cell, zero for the first bound alone; None: as PROOF_NODES has it.
    report : callable
        Told the progress of branch and bound, and one line per C.
    going : callable
        Whether there is time for another cell; those that there is none for are NaN.
    """
    bounds = np.full(path.objective.shape, np.nan)
    for i, (C, own_part) in enumerate(zip(path.Cs.tolist(), parts(*[1.0] * len(path.Cs)), strict=True)):
        with own_part:
            problem = data.problem_for(surface, C, int(path.ks[-1]))
            bounds[i] = _row_bounds(problem, path, i, node_limit, report, going)
        report(f"bounds: C = {C:g} done ({i + 1} of {len(path.Cs)})")
    # "pd" may end higher with more terms: a bound is compared with the best of k terms or fewer
    reached = np.minimum.accumulate(path.objective, axis=1)  # by k terms, or by fewer
    for cell in zip(*np.nonzero(bounds > reached * (1.0 + PROVED)), strict=True):
        warn_of_contradiction(bounds[cell], reached[cell])
        bounds[cell] = np.nan
    return replace(path, lower_bound=for_fewer_terms(np.minimum(bounds, reached)))  # what is above is rounding


def _row_bounds(
    problem: SparseProblem, path: QuadraticPath, i: int, node_limit: int | None, report: Report, going: Callable[[], bool]
) -> FloatArray:
    """The bounds of one C: all k share the arrays and the solver."""
    step, bounds = problem.step(), np.full(len(path.ks), np.nan)
    limit = PROOF_NODES[problem.loss.cheap_exchanges] if node_limit is None else node_limit
    for j, own_part in enumerate(parts(*[1.0] * len(path.ks))):
        if going():
            cell = path.cells[i][j]
            start = Found(np.flatnonzero(np.isin(problem.terms, cell.terms)), cell.objective)
            with own_part:
                proof = prove(problem.with_k(int(path.ks[j])), start, node_limit=limit, report=report, step=step)
            bounds[j] = np.nan if proof.lower_bound is None else proof.lower_bound
    return bounds


def for_fewer_terms(bounds: FloatArray) -> FloatArray:
    """Lower bounds along k, the last axis, raised to those of larger k: fewer terms cannot do better. NaN: no bound."""
    return np.asarray(np.fmax.accumulate(bounds[..., ::-1], axis=-1)[..., ::-1])


class _PathMaker:
    """All k for one C."""

    def __init__(self, problem: SparseProblem, ks: Sequence[int] | IntArray, seed: tuple[int, ...], report: Report) -> None:
        self.problem, self.seed, self.report = problem, seed, report
        self.step: Step = problem.step()
        self.sizes = [min(int(k), problem.n_terms) for k in ks]

    @cached_property
    def explorer(self) -> Explorer:
        return self.problem.explorer(self.step)

    def best(self, previous: list[_Point] | None) -> list[_Point]:
        """Local search along k, up and down, from forward selection and from the supports of the C before."""
        starts = [[] for _ in self.sizes] if previous is None else [[point.found.support] for point in previous]
        if (screen := self.problem.screen()) is not None:
            for start, support in zip(starts, supports_along(screen, self.sizes), strict=True):
                start.append(support)
        points = self._upwards(starts)
        if self.problem.loss.cheap_exchanges:
            for i in range(len(points) - 2, -1, -1):  # each larger support with terms dropped
                self._handed_over(points[i + 1], points[i], self.sizes[i])
            self._kick(points)
        self._never_increasing(points)
        return points

    def take_over(self, points: list[_Point], others: list[_Point]) -> None:
        """Try the supports of another C; where exchanges are cheap, that is."""
        if self.problem.loss.cheap_exchanges:
            for point, other in zip(points, others, strict=True):
                self._handed_over(other, point, len(point.found.support))
            self._never_increasing(points)

    def _upwards(self, starts: list[list[IntArray]]) -> list[_Point]:
        """From each k to the next: the smaller support with terms added, and the given starts."""
        points: list[_Point] = []
        support = self.problem.rule.required
        for k, others in zip(self.sizes, starts, strict=True):
            began, refits = time.perf_counter(), self.explorer.n_refits
            point = _Point(self.explorer.descend_from([self.explorer.resized(support, k), *others]))
            self._charge(point, began, refits)
            points.append(point)
            support = point.found.support
            self._tell("exchanges", k, point)
        return points

    def _never_increasing(self, points: list[_Point]) -> None:
        """Hand each support, with terms added, to the next k; more terms are never worse."""
        for i in range(1, len(points)):
            began, refits = time.perf_counter(), self.explorer.n_refits
            grown = self.explorer.resized(points[i - 1].found.support, self.sizes[i])
            if self.problem.loss.cheap_exchanges or self.step.refit(grown).value < points[i].found.value:
                points[i].found = self.explorer.descend(grown).better_of(points[i].found)
            self._charge(points[i], began, refits)

    def _kick(self, points: list[_Point]) -> None:
        """Perturb every point, and go on where that helped, the point or a neighbour who then gets the new support."""
        # one generator per k: what one point draws does not depend on how often its neighbours were perturbed
        rngs = [np.random.default_rng((*self.seed, k)) for k in self.sizes]
        lively = set(range(len(points)))
        for _ in range(ROUNDS):
            improved = set()
            for i in sorted(lively):
                if self._kicked(points[i], rngs[i]):
                    improved.add(i)
                self._tell("perturbations", self.sizes[i], points[i])
            lively = improved | self._spread(points, improved)
            if not lively:
                return

    def _kicked(self, point: _Point, rng: np.random.Generator) -> bool:
        began, refits = time.perf_counter(), self.explorer.n_refits
        k, p = len(point.found.support), self.problem.n_terms
        # beyond half of all terms there is less and less to choose from
        n_kicks = round(KICKS * min(1.0, 2.0 * (1.0 - k / p))) + SMALL_KICKS // max(k, 1)
        before, point.found = point.found, self.explorer.refined(point.found, rng, n_kicks, lambda: True)
        self._charge(point, began, refits)
        return point.found.beats(before)

    def _spread(self, points: list[_Point], improved: set[int]) -> set[int]:
        """Offer improved supports to their neighbours, and so on; who took one."""
        taken, waiting = set(), sorted(improved)
        while waiting:
            i = waiting.pop(0)
            for j in (i - 1, i + 1):
                if 0 <= j < len(points) and self._handed_over(points[i], points[j], self.sizes[j]):
                    taken.add(j)
                    waiting.append(j)
        return taken

    def _handed_over(self, giver: _Point, taker: _Point, size: int) -> bool:
        began, refits = time.perf_counter(), self.explorer.n_refits
        # terms are added or dropped by their gains and costs (6.2), then exchanged (6.3)
        offer = self.explorer.descend(self.explorer.resized(giver.found.support, size))
        helps = offer.beats(taker.found)
        taker.found = offer if helps else taker.found
        self._charge(taker, began, refits)
        return helps

    def _tell(self, what: str, k: int, point: _Point) -> None:
        self.report(f"path: C = {self.problem.C:g}, {what}, k = {k}: objective {point.found.value:.6g}")

    def _charge(self, point: _Point, began: float, refits: int) -> None:
        point.seconds += time.perf_counter() - began
        point.n_iter += self.explorer.n_refits - refits

    def finished(self, points: list[_Point]) -> list[PathCell]:
        """The surfaces, under the rules on coefficients if there are any."""
        cells, supports = list[PathCell](), list[IntArray]()
        for point in points:
            began, starts = time.perf_counter(), [point.found.support]
            if self.problem.shape is None:
                refit = self.step.refit(starts[0])
                supports = starts
            else:  # also from the fewer terms before, with others added: the objective never increases along k
                starts += [self.explorer.resized(support, len(starts[0])) for support in supports]
                fit, _ = best_under(self.problem, starts, lambda: True)
                refit, supports = fit.solution, [fit.support]
            seconds = point.seconds + time.perf_counter() - began
            (support,) = supports
            found = self.problem.terms[support], refit.z[support], refit.c, refit.value
            cells.append(PathCell(*found, point.n_iter, Status.CONVERGED, seconds))
        return cells


def assembled_path(
    Cs: Sequence[float] | FloatArray, ks: Sequence[int] | IntArray, cells: Sequence[Sequence[PathCell]], n_terms: int
) -> QuadraticPath:
    """The path of a grid, without scores and bounds."""
    objective = np.array([[cell.objective for cell in row] for row in cells])
    return QuadraticPath(np.asarray(Cs, dtype=float), np.asarray(ks, dtype=np.intp), cells, n_terms, objective)
