"""The paper's claims about its results, checked against ours, with evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quadric.datasets import resolve
from quadric.geometry.terms import term_count
from quadric.paper.experiments import FAULT_DATASET, TREND_C, TREND_DATASETS, Plan, pattern_tasks
from quadric.paper.faults import FAULTS
from quadric.paper.figures import SIGNIFICANT, coefficients
from quadric.paper.models import BEST_OF, MODELS
from quadric.paper.protocol import OUTER_SPLITS, Reported, paper_reading
from quadric.paper.results import Published, TableCell, published, split_scores, table_cells, trend
from quadric.paper.store import Store
from quadric.paper.tasks import WIDER_C2, Task, grid_cells

HOLDS, PARTLY, FAILS, UNCHECKED = "holds", "holds in part", "does not hold", "not checked"
OURS = tuple(BEST_OF)
FLAT, FLAT_SAMPLES = 1.0, 1.5
"""A curve is flat within this many points of accuracy, or this many samples if they weigh more."""
CLEAR = 2.0
"""Standard errors above which a mean difference is clear."""
WINS = {
    "table2": ("ecoli", "haberman", "immunotherapy", "iris"),
    "table4": ("australian", "japanese", "german", "credit_small"),
}
"""Data sets on which the paper says that its own models have the highest accuracy and F1."""


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


def claims(plan: Plan, store: Store) -> list[Claim]:
    """All claims that can be checked with the stored rows."""
    makers: list[Callable[[Plan, Store], Claim]] = [
        lambda plan, store: winners(plan, store, "table2"),
        lambda plan, store: winners(plan, store, "table4"),
        squares_beat_hinge,
        flat_beyond_some_k,
        C_matters_less_than_k,
        l1_turns_linear,
        l1_misses_counts,
        financial_features_act_through_products,
        main_effects_kept,
        regression_finds_financial_features,
        ctg_figure_explained,
        abalone_coded_alphabetically,
        abalone_needs_a_larger_c2,
        better_optimum_generalises,
    ]
    return [maker(plan, store) for maker in makers]


def _verdict(parts: Sequence[bool]) -> str:
    if not parts:
        return UNCHECKED
    return HOLDS if all(parts) else PARTLY if any(parts) else FAILS


def winners(plan: Plan, store: Store, table: str) -> Claim:
    """Whether the paper's own models win on the data sets that it names."""
    names = ", ".join(resolve(name).paper_name for name in WINS[table])
    who = "the two l0 models have" if table == "table2" else "LS-l0-QSVM has"
    parts, evidence = [], []
    cells = table_cells(plan, store, table)
    contenders = OURS if table == "table2" else OURS[1:]
    for name in WINS[table]:
        column = [cell for row in cells for cell in row if cell.dataset.name == name and _counts(cell)]
        if len(column) < 2 or not any(cell.model in contenders for cell in column):
            continue
        comparisons = [_comparison(column, contenders, figure, mean) for figure, mean in MEANS.items()]
        parts += [won for won, _ in comparisons]
        evidence.append(f"{resolve(name).paper_name}: {'; '.join(text for _, text in comparisons)}")
    return Claim(f"{who} the highest accuracy and F1 on {names}", _verdict(parts), tuple(evidence))


def _comparison(
    column: Sequence[TableCell], contenders: Sequence[str], figure: str, mean: Callable[[TableCell], float]
) -> tuple[bool, str]:
    """Whether a contender is best on a data set, or tied for best, and the comparison in words."""
    best = max(map(mean, column))
    leaders = [cell for cell in column if mean(cell) >= best - 1e-9]
    ours = max((cell for cell in column if cell.model in contenders), key=mean)
    names = ", ".join(MODELS[cell.model].label for cell in leaders)
    return ours in leaders, f"best {figure} {best:.2f} ({names}), {MODELS[ours.model].label} {mean(ours):.2f}"


def _counts(cell: TableCell) -> bool:
    """Whether a cell counts: only rows that the paper has."""
    return cell.ours is not None and cell.paper is not None and cell.model not in BEST_OF.values()


def _accuracy(cell: TableCell) -> float:
    return cell.ours.accuracy_mean if cell.ours else -np.inf


def _f1(cell: TableCell) -> float:
    return cell.ours.f1_mean if cell.ours else -np.inf


MEANS: dict[str, Callable[[TableCell], float]] = {"accuracy": _accuracy, "F1": _f1}


def squares_beat_hinge(plan: Plan, store: Store) -> Claim:
    """LS-l0-QSVM against l0-QSVM on the data sets that they win in the paper."""
    rows = {row[0].model: row for row in table_cells(plan, store, "table2") if row}
    parts, evidence = [], []
    if all(model in rows for model in OURS):
        for hinge, squares in zip(rows["l0-qsvm"], rows["ls-l0-qsvm"], strict=True):
            if hinge.dataset.name in WINS["table2"] and hinge.ours and squares.ours:
                parts.append(_accuracy(squares) >= _accuracy(hinge))
                evidence.append(
                    f"{hinge.dataset.paper_name}: LS-l0-QSVM {_accuracy(squares):.2f}, l0-QSVM {_accuracy(hinge):.2f}"
                )
    verdict = UNCHECKED if not parts else HOLDS if sum(parts) > len(parts) / 2 else FAILS
    return Claim("LS-l0-QSVM is ahead of l0-QSVM on most of those benchmark sets", verdict, tuple(evidence))


def flat_beyond_some_k(plan: Plan, store: Store) -> Claim:
    """From which k on each curve stays within a point, or a sample and a half, of its best."""
    parts, evidence = [], []
    for dataset in TREND_DATASETS:
        for model in OURS:
            line = trend(store, dataset, model, MODELS[model].label, along="k", C=TREND_C)
            if line is None:
                continue
            m, n = resolve(dataset).shape
            width = max(FLAT, FLAT_SAMPLES * 100.0 / m)
            low = np.flatnonzero(line.accuracy < line.accuracy.max() - width)
            first = int(low[-1]) + 1 if len(low) else 0
            p = term_count(n)
            flat = first < len(line.x) and line.x[first] <= p / 2
            parts.append(bool(flat))
            where = f"from k = {line.x[first]:g} on" if first < len(line.x) else "nowhere"
            evidence.append(
                f"{resolve(dataset).paper_name}, {line.label}: within {width:.3g} points of its best "
                f"({line.accuracy.max():.2f} at k = {line.x[int(line.accuracy.argmax())]:g}) {where}, of {p} terms"
            )
    return Claim("with C = 1024 accuracy rises with k and is flat beyond some k", _verdict(parts), tuple(evidence))


def C_matters_less_than_k(plan: Plan, store: Store) -> Claim:
    """Range of accuracy over C for one k against its range over k for one C."""
    parts, evidence = [], []
    for dataset, k in TREND_DATASETS.items():
        for model in OURS:
            over_k = trend(store, dataset, model, "", along="k", C=TREND_C)
            over_C = trend(store, dataset, model, "", along="C", k=k)
            if over_k is None or over_C is None:
                continue
            ranges = [float(np.ptp(line.accuracy)) for line in (over_C, over_k)]
            parts.append(ranges[0] < ranges[1])
            evidence.append(
                f"{resolve(dataset).paper_name}, {MODELS[model].label}: {ranges[0]:.2f} points over C at k = {k}, "
                f"{ranges[1]:.2f} over k at C = {TREND_C:g}"
            )
    return Claim("C matters less than k", _verdict(parts), tuple(evidence))


def _l1_counts(store: Store) -> dict[str, np.ndarray] | None:
    key = Task("l1-counts", "immunotherapy", "l1-qsvm").key
    return {name: np.array(store[key][name]) for name in ("C1", "C2", "in_W", "in_b")} if key in store else None


def l1_turns_linear(plan: Plan, store: Store) -> Claim:
    """The smallest C1 from which on W is zero."""
    counts, parts, evidence = _l1_counts(store), [], []
    if counts is not None:
        for C2, in_W in zip(counts["C2"], counts["in_W"], strict=True):
            still = np.flatnonzero(in_W > 0)
            linear_from = int(still[-1]) + 1 if len(still) else 0
            parts.append(linear_from < len(in_W))
            at = f"from C1 = {counts['C1'][linear_from]:.3g} on" if parts[-1] else f"not up to C1 = {counts['C1'][-1]:g}"
            evidence.append(f"C2 = {C2:g}: W is zero {at}")
    return Claim("l1-QSVM turns into a linear SVM when C1 is large (immunotherapy)", _verdict(parts), tuple(evidence))


def l1_misses_counts(plan: Plan, store: Store) -> Claim:
    """Numbers of terms that no C1 of a fine grid gives."""
    counts, parts, evidence = _l1_counts(store), [], []
    if counts is not None:
        for C2, in_W, in_b in zip(counts["C2"], counts["in_W"], counts["in_b"], strict=True):
            reached = sorted({int(total) for total in in_W + in_b})
            missed = [count for count in range(reached[0], reached[-1] + 1) if count not in reached]
            parts.append(bool(missed))
            evidence.append(f"C2 = {C2:g}: {len(counts['C1'])} values of C1 give the counts {reached}; never {missed}")
    return Claim("l1-QSVM does not allow the number of terms to be chosen (immunotherapy)", _verdict(parts), tuple(evidence))


GCD = {"Duration": 2, "Credit amount": 5, "Installment rate": 8}
KEPT = (6, 11, 12, 15, 16, 17, 18, 19, 20)
"""Features (counted from 1) whose main effects the paper says b keeps."""


def _gcd(store: Store) -> tuple[np.ndarray, np.ndarray] | None:
    key = pattern_tasks("figure4")[0].key
    return coefficients(store[key], 20) if key in store else None


def financial_features_act_through_products(plan: Plan, store: Store) -> Claim:
    """Duration, credit amount and instalment rate: absent from b, present in W."""
    surface, parts, evidence = _gcd(store), [], []
    if surface is not None:
        W, b = surface
        for name, feature in GCD.items():
            j = feature - 1
            products = int(np.count_nonzero(np.delete(W[j], j)))
            parts.append(b[j] == 0.0 and bool(W[j].any()))
            evidence.append(
                f"{name} ({feature}): {'not in b' if b[j] == 0.0 else f'b = {b[j]:+.3g}'}, {products} products, "
                f"{'a' if W[j, j] else 'no'} square"
            )
    statement = "GCD at (256, 47): duration, credit amount and instalment rate act only through W"
    return Claim(statement, _verdict(parts), tuple(evidence))


def main_effects_kept(plan: Plan, store: Store) -> Claim:
    """Which main effects b keeps."""
    surface, parts, evidence = _gcd(store), [], []
    if surface is not None:
        ours = [j + 1 for j in range(20) if surface[1][j] != 0.0]
        parts = [feature in ours for feature in KEPT]
        evidence = [
            f"ours: {ours}; the paper's: {list(KEPT)}; in both: {[feature for feature in KEPT if feature in ours]}; "
            f"{len(ours)} of {np.count_nonzero(surface[1]) + np.count_nonzero(np.triu(surface[0]))} terms are in b"
        ]
    return Claim("GCD at (256, 47): b keeps features 6, 11, 12 and 15 to 20", _verdict(parts), tuple(evidence))


def regression_finds_financial_features(plan: Plan, store: Store) -> Claim:
    """Significant coefficients of a logistic regression among features 1-8 and 9-20."""
    key, parts, evidence = Task("significance", "german", "logit").key, [], []
    if key in store:
        significant = [j + 1 for j, p in enumerate(store[key]["p_values"]) if p < SIGNIFICANT]
        financial = [j for j in significant if j <= 8]
        context = [j for j in significant if j > 8]
        parts = [len(financial) > len(context)]
        evidence = [f"significant at 95 %: {financial} of 1 to 8, {context} of 9 to 20"]
    return Claim(
        "logistic regression finds more significant features among 1 to 8 than among 9 to 20", _verdict(parts), tuple(evidence)
    )


def ctg_figure_explained(plan: Plan, store: Store) -> Claim:
    """LS-l0-QSVM on CTG with each of the paper's errors reproduced."""
    paper = published("table2", "ls-l0-qsvm", FAULT_DATASET)
    assert paper is not None
    evidence, near = [], []
    for name, fault in FAULTS.items():
        scores = split_scores(store, FAULT_DATASET, name, list(OUTER_SPLITS), kind="fault")
        if scores is not None:
            result = paper_reading(scores)
            off = (result.accuracy_mean - paper.accuracy_mean) / paper.accuracy_std
            near += [name] if abs(off) <= 1.0 and name != "none" else []
            evidence.append(f"{fault.label}: {result.accuracy_mean:.2f} ± {result.accuracy_std:.2f} ({off:+.1f} deviations)")
    evidence += _shorter_grid(store, paper)
    statement = f"an error of the paper explains its {paper.accuracy_mean} ± {paper.accuracy_std} for LS-l0-QSVM on CTG"
    verdict = UNCHECKED if len(evidence) <= len(FAULTS) else HOLDS if near else FAILS
    return Claim(statement, verdict, tuple(evidence))


def _shorter_grid(store: Store, paper: Published) -> list[str]:
    """The largest k at which the best mean would be closest to the paper's."""
    scores = split_scores(store, FAULT_DATASET, "ls-l0-qsvm", list(OUTER_SPLITS))
    if scores is None:
        return []
    budgets = np.array([cell["k"] for cell in grid_cells("ls-l0-qsvm", FAULT_DATASET)])
    mean = np.mean([score.accuracy for score in scores], axis=0)
    ends = sorted(set(budgets))
    best = [float(mean[budgets <= end].max()) for end in ends]
    nearest = int(np.argmin(np.abs(np.array(best) - paper.accuracy_mean)))
    return [f"no error, but a grid of k that ends at {ends[nearest]:g} instead of {ends[-1]:g}: {best[nearest]:.2f}"]


def abalone_coded_alphabetically(plan: Plan, store: Store) -> Claim:
    """LS-SVM on abalone with the other coding of sex: whether it gives the paper's row."""
    statement = "(our finding) the paper coded abalone's sex by alphabetical rank (F, I, M), not as M, F, I"
    scores = split_scores(store, "abalone", "ls-svm", list(OUTER_SPLITS), kind="coding")
    paper = published("table2", "ls-svm", "abalone")
    if scores is None or paper is None:
        return Claim(statement, UNCHECKED, ())
    ours = paper_reading(scores)
    same = np.allclose(_figures(ours), _figures(paper), rtol=0.0, atol=0.01)
    evidence = (f"LS-SVM with that coding: {_words(ours)}", f"the paper: {_words(paper)}")
    return Claim(statement, HOLDS if same else FAILS, evidence)


def abalone_needs_a_larger_c2(plan: Plan, store: Store) -> Claim:
    """l1-QSVM on abalone with the next C2 after the grid: whether it is closer to the paper's row."""
    statement = "(our finding) the paper's row of l1-QSVM on abalone matches a C2 above the grid, which ends at 100"
    scores = [split_scores(store, "abalone", "l1-qsvm", list(OUTER_SPLITS), kind=kind) for kind in ("grid", "wider")]
    paper = published("table2", "l1-qsvm", "abalone")
    if scores[0] is None or scores[1] is None or paper is None:
        return Claim(statement, UNCHECKED, ())
    inside, beyond = paper_reading(scores[0]), paper_reading(scores[1])
    nearer = np.abs(np.subtract(_figures(beyond), _figures(paper))) < np.abs(np.subtract(_figures(inside), _figures(paper)))
    evidence = (
        f"C2 in the grid: {_words(inside)}",
        f"C2 = {WIDER_C2:g}: {_words(beyond)}",
        f"the paper: {_words(paper)}",
    )
    return Claim(statement, _verdict([bool(nearer[0]), bool(nearer[2])]), evidence)


def _figures(row: Reported | Published) -> tuple[float, float, float, float]:
    return row.accuracy_mean, row.accuracy_std, row.f1_mean, row.f1_std


def _words(row: Reported | Published) -> str:
    return "accuracy {:.2f} ± {:.2f}, F1 {:.2f} ± {:.2f}".format(*_figures(row))


def better_optimum_generalises(plan: Plan, store: Store) -> Claim:
    """Method "best" against "pd", nested where available."""
    evidence: list[str] = []
    differences: list[float] = []
    for table in ("table2", "table4"):
        rows = {row[0].model: row for row in table_cells(plan, store, table) if row}
        for model, variant in BEST_OF.items():
            pairs = list(zip(rows.get(model, []), rows.get(variant, []), strict=False))
            for plain, best in pairs:
                before, after = (cell.nested if plan.reading == "nested" else cell.ours for cell in (plain, best))
                if before is not None and after is not None:
                    differences.append(after.accuracy_mean - before.accuracy_mean)
                    evidence.append(f"{plain.dataset.paper_name}, {MODELS[model].label}: {differences[-1]:+.2f} points")
    statement = "(our question) a better optimum of the same problem generalises better"
    if len(differences) < 2:
        return Claim(statement, UNCHECKED, tuple(evidence))
    mean, error = float(np.mean(differences)), float(np.std(differences, ddof=1) / np.sqrt(len(differences)))
    counts = f"better in {sum(d > 0 for d in differences)}, worse in {sum(d < 0 for d in differences)} of {len(differences)}"
    clear = "clear" if abs(mean) > CLEAR * error else "no clear difference"
    summary = f"mean difference {mean:+.2f} ± {error:.2f} points (standard error), {clear}; {counts} ({plan.reading} protocol)"
    return Claim(statement, HOLDS if mean > CLEAR * error else FAILS, (summary, *evidence))
