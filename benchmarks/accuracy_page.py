"""What the rows of accuracy.py say: figures with standard errors, targets, the page docs/accuracy.md and its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paper_data import FloatArray
from quadric import datasets
from table import Row, environment, write_json

DEFAULT, BEST, BASELINE = "default", "default, best", "least squares uncapped, best"
SURFACES = {DEFAULT: "equation", BEST: "equation, best", BASELINE: "least squares, uncapped, best"}
FIGURES = {"accuracy": 100.0, "accuracy_of_probabilities": 100.0, "auc": 100.0, "log_loss": 1.0, "terms": 1.0, "seconds": 1.0}
"""Names with scales."""
PICTURE = "accuracy-by-terms.svg"


@dataclass(frozen=True, eq=False)
class Measured:
    """One model on all sets.

    Attributes
    ----------
    figures : dict
        Arrays of shape (n_sets, n_seeds, n_folds) by name; accuracy and AUC in per cent.
    seeds : tuple of int
    """

    figures: dict[str, FloatArray]
    seeds: tuple[int, ...]

    def by_set(self, figure: str) -> FloatArray:
        """Means over folds and seeds."""
        return self.figures[figure].mean(axis=(1, 2))

    def errors(self, figure: str) -> FloatArray:
        """Standard errors for each set: over the folds of a seed, on average over the seeds."""
        values = self.figures[figure]
        return (values.std(axis=2, ddof=1) / np.sqrt(values.shape[2])).mean(axis=1)

    def of_seeds(self, seeds: Iterable[int]) -> Measured:
        """The same for some of the seeds."""
        places = [self.seeds.index(seed) for seed in seeds]
        return Measured({name: values[:, places] for name, values in self.figures.items()}, tuple(seeds))


@dataclass(frozen=True, eq=False)
class Summary:
    """All models that were measured on all sets.

    Attributes
    ----------
    sets : list of str
    models : dict of Measured
    rivals : list of str
        Those of the models that are no surfaces.
    """

    sets: list[str]
    models: dict[str, Measured]
    rivals: list[str]

    def differences(self, name: str, other: str, figure: str) -> FloatArray:
        """One model minus another for each set, on the seeds that both have."""
        seeds = [seed for seed in self.models[name].seeds if seed in self.models[other].seeds]
        first, second = (self.models[each].of_seeds(seeds).by_set(figure) for each in (name, other))
        return first - second

    def best_rival(self, place: int) -> str:
        """The rival with the best mean accuracy on a set."""
        return max(self.rivals, key=lambda name: float(self.models[name].by_set("accuracy")[place]))


def summary_of(rows: Sequence[Mapping[str, Any]], sets: Sequence[str], surfaces: Iterable[str]) -> Summary:
    """Of the models that have all folds of one seed or more on every set."""
    surfaces, found = set(surfaces), {}
    cells = {(row["model"], row["set"], row["seed"], row["fold"]): row for row in rows}
    folds = sorted({row["fold"] for row in rows})
    seeds_of = {name: sorted({row["seed"] for row in rows if row["model"] == name}) for name in {row["model"] for row in rows}}
    for name, seeds in seeds_of.items():
        complete = [seed for seed in seeds if all((name, each, seed, fold) in cells for each in sets for fold in folds)]
        if complete:
            figures = {
                figure: scale
                * np.array([[[cells[name, each, seed, fold][figure] for fold in folds] for seed in complete] for each in sets])
                for figure, scale in FIGURES.items()
            }
            found[name] = Measured(figures, tuple(complete))
    return Summary(list(sets), found, [name for name in found if name not in surfaces])


def spread(values: FloatArray) -> tuple[float, float]:
    """Mean over sets, and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def targets(summary: Summary) -> list[Row]:
    """The goals of the defaults."""
    gain = spread(summary.differences(BEST, BASELINE, "accuracy"))[0]
    loss = spread(summary.differences(BEST, BASELINE, "log_loss"))[0]
    cost = -spread(summary.differences(DEFAULT, BEST, "accuracy"))[0]
    rivals = f"sets within one standard error of the best of {len(summary.rivals)} rivals"
    return [
        Row("rule best: accuracy above least squares uncapped with rule best, points", gain, ">=", 0.5),
        Row("rule best: log-loss above that", loss, "<=", 0.0),
        Row("default rule: accuracy below rule best, points", cost, "<=", 0.3),
        Row("default rule: terms, mean over sets", spread(summary.models[DEFAULT].by_set("terms"))[0], "<=", 10.0),
        Row(f"default: {rivals}", int(sum(within_reach(summary, DEFAULT))), ">=", 6),
        Row(f"rule best: {rivals}", int(sum(within_reach(summary, BEST))), ">=", 6),
    ]


def within_reach(summary: Summary, name: str) -> list[bool]:
    """For each set, whether a model is less than one standard error of the best rival below it."""
    reached = []
    for place in range(len(summary.sets)):
        rival = summary.best_rival(place)
        error = summary.models[rival].errors("accuracy")[place]
        reached.append(bool(summary.differences(name, rival, "accuracy")[place] >= -error))
    return reached


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows)]


MEANS = {
    "accuracy": ("accuracy", 1),
    "accuracy_of_probabilities": ("accuracy of probabilities", 1),
    "auc": ("AUC", 1),
    "log_loss": ("log-loss", 3),
    "terms": ("size", 1),
    "seconds": ("seconds", 1),
}
"""What rows of means are called, and their digits."""


def accuracy_table(summary: Summary) -> list[str]:
    """Accuracy with standard errors for each set; the best in bold."""
    shown = [*(name for name in SURFACES if name in summary.models), *summary.rivals]
    rows = []
    for place, name in enumerate(summary.sets):
        means = [float(summary.models[each].by_set("accuracy")[place]) for each in shown]
        errors = [float(summary.models[each].errors("accuracy")[place]) for each in shown]
        cells = [f"{mean:.1f} ± {error:.1f}" for mean, error in zip(means, errors, strict=True)]
        cells[int(np.argmax(means))] = f"**{cells[int(np.argmax(means))]}**"
        rows.append([datasets.REGISTRY[name].paper_name, *cells])
    for figure, (words, digits) in MEANS.items():
        values = (spread(summary.models[each].by_set(figure))[0] for each in shown)
        rows.append([f"mean {words}", *(f"{value:.{digits}f}" for value in values)])
    return markdown(["", *(SURFACES.get(name, name) for name in shown)], rows)


def variants_table(summary: Summary, names: Iterable[str]) -> list[str]:
    """Differences of the variants from the default with rule "best"."""
    rows = []
    for name in names:
        accuracy = summary.differences(name, BEST, "accuracy")
        (mean, error), wins, losses = spread(accuracy), int((accuracy > 0).sum()), int((accuracy < 0).sum())
        others = [spread(summary.differences(name, BEST, figure))[0] for figure in ("auc", "log_loss")]
        size, time = (spread(summary.models[name].by_set(figure))[0] for figure in ("terms", "seconds"))
        others_words = [f"{others[0]:+.2f}", f"{others[1]:+.3f}"]
        rows.append([name, f"{mean:+.2f} ± {error:.2f}", f"{wins}/{losses}", *others_words, f"{size:.1f}", f"{time:.1f}"])
    return markdown(["variant", "accuracy", "wins/losses", "AUC", "log-loss", "terms", "seconds"], rows)


def disappointments(summary: Summary) -> list[str]:
    """Targets that were missed, and sets on which a rival is clearly ahead."""
    lines = [
        f"- missed: {row.what}: {row.measured:.3g}, the target is {row.sense} {row.target:g}"
        for row in targets(summary)
        if not row.holds
    ]
    for place, name in enumerate(summary.sets):
        rival = summary.best_rival(place)
        behind = -float(summary.differences(DEFAULT, rival, "accuracy")[place])
        error = float(summary.models[rival].errors("accuracy")[place])
        if behind > error:
            paper_name = datasets.REGISTRY[name].paper_name
            lines.append(f"- {paper_name}: {rival} is {behind:.1f} points ahead of the default (standard error {error:.1f})")
    return lines or ["- Nothing on these sets."]


def page(summary: Summary, variants: Sequence[str], rivals: Sequence[str]) -> str:
    """The page of the guide; ``variants`` and ``rivals`` are all that belong on it."""
    named = [name for name in variants if name in summary.models and name != BEST and not name.startswith("k = ")]
    verdicts = [
        [row.what, f"{row.measured:.3g}", f"{row.sense} {row.target:g}", "holds" if row.holds else "missed"]
        for row in targets(summary)
    ]
    few = [f"{name} ({len(each.seeds)} of 3 seeds)" for name, each in summary.models.items() if len(each.seeds) < 3]
    absent = [name for name in (*rivals, *variants) if name not in summary.models]
    return PAGE.format(
        picture=PICTURE,
        few=f"\nMeasured in part: {'; '.join(few)}.\n" if few else "",
        absent=f"\n**Not measured yet: {'; '.join(absent)}.**\n" if absent else "",
        accuracy="\n".join(accuracy_table(summary)),
        targets="\n".join(markdown(["", "measured", "target", ""], verdicts)),
        disappointments="\n".join(disappointments(summary)),
        variants="\n".join(variants_table(summary, named)),
    )


PAGE = """# How accurate?

The paper's nine two-class data sets, five stratified folds for each of three seeds. All choices are made by five folds inside
the training part, which has at most 2,000 rows: loss, k and C of the equation, and the parameters of its rivals in the grids of
[`quadric compare`](command-line.md). EBM runs with its defaults. Figures with ± are means and standard errors: for a set over
the five folds of each seed, averaged over the seeds; for means over the nine sets. Times are processor seconds of one fit,
choices included. `python benchmarks/accuracy.py` measures all of this, and with `--page` it writes this page.
{few}{absent}
![Accuracy against the number of terms](_static/{picture})

## Next to its rivals

Accuracy in per cent. "equation" is the default of `quadric fit`; "equation, best" has the rule `best` in place of the fewest
terms within half a point of the best mean. Labels are those of `predict`: for the equation and the SVM the sign of the decision
value. "Accuracy of probabilities" has labels by a probability above one half, of a sigmoid fitted on out-of-fold scores for
these two. The size counts terms, coefficients, support vectors or leaves.

{accuracy}

## Targets

{targets}

## What disappoints

{disappointments}

## Variants

Differences from the default with the rule `best`, paired by set: accuracy and AUC in points.

{variants}
"""


def draw(summary: Summary, variants: Sequence[str], path: Path) -> None:
    """Mean accuracy for each number of terms, with the rivals as lines."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "quadric", "svg.fonttype": "none"})
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7.0, 4.2))
    by_k = [summary.models[name] for name in variants if name.startswith("k = ") and name in summary.models]
    points = np.array([(spread(each.by_set("terms"))[0], spread(each.by_set("accuracy"))[0]) for each in by_k])
    if len(points):
        ax.plot(*points.T, "o-", color="tab:blue", label="equation, k fixed")
    for name, mark in ((DEFAULT, "D"), (BEST, "s"), (BASELINE, "v")):
        values = (spread(summary.models[name].by_set(figure))[0] for figure in ("terms", "accuracy"))
        ax.plot(*([value] for value in values), mark, markersize=9, label=SURFACES[name])
    for name, style in zip(summary.rivals, ("-", "--", "-.", ":", (0, (5, 1))), strict=False):
        mean = spread(summary.models[name].by_set("accuracy"))[0]
        ax.axhline(mean, linestyle=style, color="0.45", linewidth=1.2, label=name)
    ax.set(xlabel="number of terms", ylabel="accuracy, %, mean over nine data sets")
    ax.legend(fontsize=8, loc="lower right")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)


def write_all(summary: Summary, variants: Sequence[str], rivals: Sequence[str], results: Path, docs: Path) -> None:
    """The figures as JSON, the page and the picture."""
    models = {
        name: {"seeds": each.seeds}
        | {figure: dict(zip(summary.sets, np.round(each.by_set(figure), 5).tolist(), strict=True)) for figure in FIGURES}
        | {"standard_error": dict(zip(summary.sets, np.round(each.errors("accuracy"), 5).tolist(), strict=True))}
        for name, each in summary.models.items()
    }
    goals = [{**vars(row), "measured": float(row.measured), "holds": row.holds} for row in targets(summary)]
    write_json({"targets": goals, "models": models, **environment()}, results)
    (docs / "accuracy.md").write_text(page(summary, variants, rivals))
    draw(summary, variants, docs / "_static" / PICTURE)
