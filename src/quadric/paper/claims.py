"""The paper's claims about its results, checked against ours, with evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from itertools import product
from typing import TypeAlias, cast

import numpy as np

from quadric.datasets import resolve
from quadric.geometry.terms import term_count
from quadric.paper.experiments import FAULT_DATASET, TABLE_DATASETS, TREND_C, TREND_DATASETS, Plan, pattern_tasks
from quadric.paper.faults import FAULTS
from quadric.paper.figures import SIGNIFICANT, coefficients
from quadric.paper.models import BEST_OF, MODELS
from quadric.paper.protocol import Reported, paper_reading
from quadric.paper.results import published, split_scores, table_cells, trend
from quadric.paper.store import Store
from quadric.paper.tasks import WIDER_C2, Task, grid_cells
from quadric.types import BoolArray, FloatArray

HOLDS, PARTLY, FAILS, UNCHECKED = "holds", "holds in part", "does not hold", "not checked"
OURS = tuple(BEST_OF)
# A curve is flat within this many points of accuracy, or this many samples if they weigh more.
FLAT, FLAT_SAMPLES = 1.0, 1.5
# Standard errors above which a mean difference is clear.
CLEAR = 2.0
# Data sets on which the paper says that its own models have the highest accuracy and F1.
WINS = {
    "table2": ("ecoli", "haberman", "immunotherapy", "iris"),
    "table4": ("australian", "japanese", "german", "credit_small"),
}
GCD = {"Duration": 2, "Credit amount": 5, "Installment rate": 8}
# Features (counted from 1) whose main effects the paper says b keeps.
KEPT = (6, 11, 12, 15, 16, 17, 18, 19, 20)

CTG = cast(Reported, published("table2", "ls-l0-qsvm", FAULT_DATASET))

# Parts of a claim that hold or not, and a sentence with the numbers.
Finding: TypeAlias = tuple[Sequence[bool], str]
Checked: TypeAlias = "Callable[[Plan, Store], Claim]"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and whether it holds.

    Attributes
    ----------
    statement : str
    verdict : str
    evidence : tuple of str
        Sentences with the numbers.
    """

    statement: str
    verdict: str
    evidence: tuple[str, ...]


CLAIMS: list[Checked] = []


def claims(plan: Plan, store: Store) -> list[Claim]:
    """All claims that can be checked with the stored rows."""
    return [check(plan, store) for check in CLAIMS]


def _verdict(parts: Sequence[bool]) -> str:
    if not parts:
        return UNCHECKED
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def _claim(statement: str, verdict: Callable[[Sequence[bool]], str] = _verdict) -> Callable[..., Checked]:
    """Turn a function that yields findings into one that returns the claim, and add that to the list of all claims."""

    def decorate(find: Callable[[Plan, Store], Iterator[Finding]]) -> Checked:
        @wraps(find)
        def check(plan: Plan, store: Store) -> Claim:
            findings = list(find(plan, store))
            parts = [part for parts, _ in findings for part in parts]
            return Claim(statement, verdict(parts), tuple(text for _, text in findings))

        CLAIMS.append(check)
        return check

    return decorate


def _paper_names(table: str) -> str:
    return ", ".join(resolve(name).paper_name for name in WINS[table])


def _winners(plan: Plan, store: Store, table: str, contenders: Sequence[str]) -> Iterator[Finding]:
    cells = [cell for row in table_cells(plan, store, table) for cell in row]
    counting = [cell for cell in cells if cell.paper is not None and cell.model not in BEST_OF.values()]
    for name in WINS[table]:
        column = {cell.model: cell.ours for cell in counting if cell.dataset.name == name and cell.ours is not None}
        if len(column) > 1 and column.keys() & set(contenders):
            won, texts = zip(*(_comparison(column, contenders, figure) for figure in ("accuracy", "F1")), strict=True)
            yield won, f"{resolve(name).paper_name}: {'; '.join(texts)}"


def _comparison(column: Mapping[str, Reported], contenders: Sequence[str], figure: str) -> tuple[bool, str]:
    means = {model: row.spread(figure)[0] for model, row in column.items()}
    best = max(means.values())
    leaders = [model for model in means if means[model] >= best - 1e-9]
    ours = max((model for model in means if model in contenders), key=means.__getitem__)
    names = ", ".join(MODELS[model].label for model in leaders)
    return ours in leaders, f"best {figure} {best:.2f} ({names}), {MODELS[ours].label} {means[ours]:.2f}"


l0_models_win = _claim(f"the two l0 models have the highest accuracy and F1 on {_paper_names('table2')}")(
    partial(_winners, table="table2", contenders=OURS)
)
_claim(f"LS-l0-QSVM has the highest accuracy and F1 on {_paper_names('table4')}")(
    partial(_winners, table="table4", contenders=OURS[1:])
)


def _mostly(parts: Sequence[bool]) -> str:
    return UNCHECKED if not parts else HOLDS if sum(parts) > len(parts) / 2 else FAILS


@_claim("LS-l0-QSVM is ahead of l0-QSVM on most of those benchmark sets", _mostly)
def _squares_beat_hinge(plan: Plan, store: Store) -> Iterator[Finding]:
    rows = {row[0].model: row for row in table_cells(plan, store, "table2") if row}
    for hinge, squares in zip(*(rows.get(model, []) for model in OURS), strict=False):
        if hinge.dataset.name in WINS["table2"] and hinge.ours and squares.ours:
            ours, theirs = squares.ours.accuracy_mean, hinge.ours.accuracy_mean
            yield [ours >= theirs], f"{hinge.dataset.paper_name}: LS-l0-QSVM {ours:.2f}, l0-QSVM {theirs:.2f}"


@_claim("with C = 1024 accuracy rises with k and is flat beyond some k")
def flat_beyond_some_k(plan: Plan, store: Store) -> Iterator[Finding]:
    """From which k on each curve stays within a point, or a sample and a half, of its best."""
    for dataset, model in product(TREND_DATASETS, OURS):
        line = trend(store, dataset, model, along="k", C=TREND_C)
        if line is None:
            continue
        (ks, accuracy), (m, n) = line, resolve(dataset).shape
        width, p = max(FLAT, FLAT_SAMPLES * 100.0 / m), term_count(n)
        first = _after_last(accuracy < accuracy.max() - width)
        reached = first < len(ks)
        yield (
            [bool(reached and ks[first] <= p / 2)],
            f"{resolve(dataset).paper_name}, {MODELS[model].label}: within {width:.3g} points of its best "
            f"({accuracy.max():.2f} at k = {ks[int(accuracy.argmax())]:g}) "
            f"{f'from k = {ks[first]:g} on' if reached else 'nowhere'}, of {p} terms",
        )


def _after_last(marked: BoolArray) -> int:
    """The position after the last mark; 0 if there is none."""
    return int(np.max(np.flatnonzero(marked), initial=-1)) + 1


@_claim("C matters less than k")
def _C_matters_less_than_k(plan: Plan, store: Store) -> Iterator[Finding]:
    for (dataset, k), model in product(TREND_DATASETS.items(), OURS):
        lines = trend(store, dataset, model, along="C", k=k), trend(store, dataset, model, along="k", C=TREND_C)
        ranges = [float(np.ptp(line[1])) for line in lines if line is not None]
        if len(ranges) == len(lines):
            yield (
                [ranges[0] < ranges[1]],
                f"{resolve(dataset).paper_name}, {MODELS[model].label}: {ranges[0]:.2f} points over C at k = {k}, "
                f"{ranges[1]:.2f} over k at C = {TREND_C:g}",
            )


def _l1_counts(store: Store) -> Iterator[dict[str, np.ndarray]]:
    """All C1, one C2, and the numbers of terms in W and in b for each C1."""
    key = Task("l1-counts", "immunotherapy", "l1-qsvm").key
    if key in store:
        row = store[key]
        for C2, in_W, in_b in zip(row["C2"], row["in_W"], row["in_b"], strict=True):
            yield {"C1": np.array(row["C1"]), "C2": np.array(C2), "in_W": np.array(in_W), "in_b": np.array(in_b)}


@_claim("l1-QSVM turns into a linear SVM when C1 is large (immunotherapy)")
def l1_turns_linear(plan: Plan, store: Store) -> Iterator[Finding]:
    """The smallest C1 from which on W is zero."""
    for counts in _l1_counts(store):
        first = _after_last(counts["in_W"] > 0)
        turns = first < len(counts["C1"])
        at = f"from C1 = {counts['C1'][first]:.3g} on" if turns else f"not up to C1 = {counts['C1'][-1]:g}"
        yield [turns], f"C2 = {counts['C2']:g}: W is zero {at}"


@_claim("l1-QSVM does not allow the number of terms to be chosen (immunotherapy)")
def l1_misses_counts(plan: Plan, store: Store) -> Iterator[Finding]:
    """Numbers of terms that no C1 of a fine grid gives."""
    for counts in _l1_counts(store):
        reached = np.unique(counts["in_W"] + counts["in_b"]).tolist()
        missed = sorted(set(range(reached[0], reached[-1])).difference(reached))
        text = f"C2 = {counts['C2']:g}: {len(counts['C1'])} values of C1 give the counts {reached}; never {missed}"
        yield [bool(missed)], text


def _gcd(store: Store) -> list[tuple[FloatArray, FloatArray]]:
    return [coefficients(store[task.key], 20) for task in pattern_tasks("figure4") if task.key in store]


@_claim("GCD at (256, 47): duration, credit amount and instalment rate act only through W")
def _financial_features_act_through_products(plan: Plan, store: Store) -> Iterator[Finding]:
    for (W, b), (name, feature) in product(_gcd(store), GCD.items()):
        j = feature - 1
        yield (
            [b[j] == 0.0 and bool(W[j].any())],
            f"{name} ({feature}): {'not in b' if b[j] == 0.0 else f'b = {b[j]:+.3g}'}, "
            f"{np.count_nonzero(np.delete(W[j], j))} products, {'a' if W[j, j] else 'no'} square",
        )


@_claim("GCD at (256, 47): b keeps features 6, 11, 12 and 15 to 20")
def _main_effects_kept(plan: Plan, store: Store) -> Iterator[Finding]:
    for W, b in _gcd(store):
        ours = (np.flatnonzero(b) + 1).tolist()
        yield (
            [feature in ours for feature in KEPT],
            f"ours: {ours}; the paper's: {list(KEPT)}; in both: {[feature for feature in KEPT if feature in ours]}; "
            f"{len(ours)} of {len(ours) + np.count_nonzero(np.triu(W))} terms are in b",
        )


@_claim("logistic regression finds more significant features among 1 to 8 than among 9 to 20")
def _regression_finds_financial_features(plan: Plan, store: Store) -> Iterator[Finding]:
    key = Task("significance", "german", "logit").key
    if key in store:
        significant = [j for j, p in enumerate(store[key]["p_values"], start=1) if p < SIGNIFICANT]
        financial, context = [j for j in significant if j <= 8], [j for j in significant if j > 8]
        yield [len(financial) > len(context)], f"significant at 95 %: {financial} of 1 to 8, {context} of 9 to 20"


def _one_explains(parts: Sequence[bool]) -> str:
    return UNCHECKED if len(parts) <= len(FAULTS) else HOLDS if any(parts) else FAILS


@_claim(f"an error of the paper explains its {CTG.accuracy_mean} ± {CTG.accuracy_std} for LS-l0-QSVM on CTG", _one_explains)
def _ctg_figure_explained(plan: Plan, store: Store) -> Iterator[Finding]:
    """LS-l0-QSVM on CTG with each of the paper's errors reproduced, and the largest k that would be closest to the paper."""
    for name, fault in FAULTS.items():
        if scores := split_scores(store, FAULT_DATASET, name, kind="fault"):
            result = paper_reading(scores)
            off = (result.accuracy_mean - CTG.accuracy_mean) / CTG.accuracy_std
            figures = f"{result.accuracy_mean:.2f} ± {result.accuracy_std:.2f} ({off:+.1f} deviations)"
            yield [abs(off) <= 1.0 and name != "none"], f"{fault.label}: {figures}"
    if scores := split_scores(store, FAULT_DATASET, "ls-l0-qsvm"):
        budgets = np.array([cell["k"] for cell in grid_cells("ls-l0-qsvm", FAULT_DATASET)])
        mean = np.mean(scores, axis=0)[0]
        best = {end: float(mean[budgets <= end].max()) for end in sorted(set(budgets))}
        nearest = min(best, key=lambda end: abs(best[end] - CTG.accuracy_mean))
        yield [False], f"no error, but a grid of k that ends at {nearest:g} instead of {max(best):g}: {best[nearest]:.2f}"


@_claim("(our finding) the paper coded abalone's sex by alphabetical rank (F, I, M), not as M, F, I")
def abalone_coded_alphabetically(plan: Plan, store: Store) -> Iterator[Finding]:
    """LS-SVM on abalone with the other coding of sex: whether it gives the paper's row."""
    paper = published("table2", "ls-svm", "abalone")
    if paper and (scores := split_scores(store, "abalone", "ls-svm", kind="coding")):
        ours = paper_reading(scores)
        yield [np.allclose(ours.figures, paper.figures, rtol=0.0, atol=0.01)], f"LS-SVM with that coding: {_words(ours)}"
        yield [], f"the paper: {_words(paper)}"


@_claim("(our finding) the paper's row of l1-QSVM on abalone matches a C2 above the grid, which ends at 100")
def abalone_needs_a_larger_c2(plan: Plan, store: Store) -> Iterator[Finding]:
    """l1-QSVM on abalone with the next C2 after the grid: whether its means are closer to the paper's."""
    inside, beyond = (split_scores(store, "abalone", "l1-qsvm", kind=kind) for kind in ("grid", "wider"))
    paper = published("table2", "l1-qsvm", "abalone")
    if inside and beyond and paper:
        rows = [paper_reading(inside), paper_reading(beyond)]
        off = np.abs(np.subtract([row.figures for row in rows], paper.figures))
        yield [], f"C2 in the grid: {_words(rows[0])}"
        yield [bool(off[1, i] < off[0, i]) for i in (0, 2)], f"C2 = {WIDER_C2:g}: {_words(rows[1])}"
        yield [], f"the paper: {_words(paper)}"


def _words(row: Reported) -> str:
    return "accuracy {:.2f} ± {:.2f}, F1 {:.2f} ± {:.2f}".format(*row.figures)


@_claim("(our question) a better optimum of the same problem generalises better")
def better_optimum_generalises(plan: Plan, store: Store) -> Iterator[Finding]:
    """Method "best" against "pd", nested where available."""
    gains: list[tuple[float, str]] = []
    for table in TABLE_DATASETS:
        rows = {row[0].model: row for row in table_cells(plan, store, table) if row}
        for pair in (pair for both in BEST_OF.items() for pair in zip(*(rows.get(model, []) for model in both), strict=False)):
            before, after = (cell.nested if plan.reading == "nested" else cell.ours for cell in pair)
            if before is not None and after is not None:
                label = f"{pair[0].dataset.paper_name}, {MODELS[pair[0].model].label}"
                gains.append((after.accuracy_mean - before.accuracy_mean, label))
    if len(gains) > 1:
        points = np.array([gain for gain, _ in gains])
        mean, error = points.mean(), points.std(ddof=1) / np.sqrt(len(points))
        clear = "clear" if abs(mean) > CLEAR * error else "no clear difference"
        counts = f"better in {(points > 0).sum()}, worse in {(points < 0).sum()} of {len(points)}"
        text = f"mean difference {mean:+.2f} ± {error:.2f} points (standard error), {clear}; {counts}"
        yield [bool(mean > CLEAR * error)], f"{text} ({plan.reading} protocol)"
    for gain, label in gains:
        yield [], f"{label}: {gain:+.2f} points"
