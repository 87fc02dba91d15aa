"""What is on the page, as plain values: finished texts, numbers as people read them, and pictures as lists of shapes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from quadric.errors import printable, quoted
from quadric.explain import effects
from quadric.export import SavedModel, equation
from quadric.geometry.terms import term_count, term_factors, term_names
from quadric.losses import LOSS_NAMES
from quadric.report.along_k import objective_along, score_along
from quadric.report.effect_figures import effect_charts
from quadric.report.numbers import MINUS, number, percent
from quadric.report.rendering import line
from quadric.report.story import VERDICTS, exchanges, number_of, proved, term_symbol, term_words
from quadric.report.subject import Subject
from quadric.report.surfaces import coefficients, directions
from quadric.report.values import Coefficient
from quadric.review.explaining import REFERENCES, ExplainingOptions, explain_rows
from quadric.studio.choices import SIGNS, ChoiceError, words_of_sign
from quadric.tables.inputs import cell_text
from quadric.workflow.bench import MOST_TIES, WITHIN, Bench, Draft
from quadric.workflow.cv_summary import Figure
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scorers import measure_named
from quadric.workflow.scoring import TableModel

ESTIMATE = "Estimate: all figures are of the rows that the equation was fitted to. The folds are running."
SETTLED = "The folds have caught up: figures out of fold are of rows left out."
# Terms that are listed to be forced
MOST_TERMS = 3000


class Showing:
    """From options to what the page shows.

    Parameters
    ----------
    bench : Bench
    """

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        data = bench.rows.data
        model = bench.trained(bench.start).model
        self._names, self._target = data.class_names, bench.rows.target
        self._subject = Subject(self._tabular(model), bench.raw, data.codes, data.X)
        self._features = self._subject.features
        self._term_names = term_names(data.feature_names)

    def _tabular(self, model: Any) -> TableModel:
        options = self._bench.start.recorded()
        own = {name: options[name] for name in ("favourable", "frozen", "actionable")}
        return TableModel(SavedModel(model, self._names, self._target, {"training": {"options": own}}))

    def symbol(self, coefficient: Coefficient) -> str:
        """A term as people read it."""
        return term_symbol(coefficient, self._features)

    def explained(self, options: TrainingOptions, row: Any) -> dict[str, Any]:
        """One row: its score, what speaks for and against it, and what would change the decision.

        Parameters
        ----------
        options : TrainingOptions
        row : int
            Its position among the rows in memory, from 0.

        Returns
        -------
        dict
        """
        raw = self._bench.raw
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < len(raw):
            raise ChoiceError(f"the rows are 0 to {len(raw) - 1}")
        model = self._tabular(self._bench.draft(options).model)
        (found,) = explain_rows(model, raw, [row], raw, ExplainingOptions())
        return {
            "row": row,
            "lines": [printable(text) for text in found.lines(REFERENCES["mean"])],
            "actual": printable(self._names[self._bench.codes[row]]),
            "values": [[printable(name), printable(cell_text(raw[name].tolist()[row]))] for name in raw.names],
        }

    def constant(self) -> dict[str, Any]:
        """What does not change: names, and what can be chosen."""
        data = self._bench.rows.data
        return {
            "target": printable(self._target),
            "classes": list(map(printable, self._names)),
            "rows": f"{data.n_rows:,}",
            "columns": list(data.encoder.input_names_),
            "numbers": [column.name for column in data.encoder.inputs_ if column.type == "number"],
            "signs": list(SIGNS),
            "losses": list(LOSS_NAMES),
            "terms": self._candidates,
        }

    @cached_property
    def _candidates(self) -> list[str]:
        left_out = {*self._bench.rows.data.thin, *self._redundant}
        return [name for term, name in enumerate(self._term_names) if term not in left_out][:MOST_TERMS]

    @cached_property
    def _all_of(self) -> dict[str, set[str]]:
        """The names of what must be excluded to leave a column out."""
        return {name: {*self.of_column(name)["names"]} for name in self._bench.rows.data.encoder.input_names_}

    @cached_property
    def _redundant(self) -> list[int]:
        return sorted(set(self._bench.under(TrainingOptions()).data.limits.exclude))

    def of_column(self, column: Any) -> dict[str, tuple[str, ...]]:
        """All terms with a column, and the names that rules have for all of these together."""
        encoder, n = self._bench.rows.data.encoder, len(self._features)
        own = {i for i, each in enumerate(encoder.features_) if encoder.input_names_[each.input] == column}
        left, right = term_factors(n)
        terms = tuple(self._term_names[t] for t in range(term_count(n)) if {int(left[t]), int(right[t])} & own)
        if not terms:
            raise ChoiceError(f"there is no column {quoted(column)}")
        names = [self._bench.rows.data.feature_names[i] for i in sorted(own)]
        squares = [f"{name}^2" for name in names if f"{name}^2" in self._candidates]
        return {"terms": terms, "names": (*names, *squares, *([f"{name}*" for name in names] if n > 1 else []))}

    def state(self, options: TrainingOptions) -> dict[str, Any]:
        """Everything about the model of some options.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        dict
        """
        draft, ks = self._bench.draft(options), self._bench.ks(options)
        is_settled = self._bench.is_trained(options)
        return {
            "k": options.k,
            "ks": list(ks),
            "settled": is_settled,
            "status": SETTLED if is_settled else ESTIMATE,
            "equation": self._equation(options, draft),
            "figures": self._figures(options, ks),
            "measures": self._measures(options, draft),
            "labels": self._labels(draft),
            "proof": self._proof(options),
            "effects": self._effects(draft),
            "ties": self._ties(options),
            "sets": self._sets(options),
            "rules": {
                "loss": options.loss,
                "C": options.C,
                "terms": options.terms,
                "hierarchy": options.hierarchy or "no",
                "signs": {name: words_of_sign(own) for name, own in (options.monotonic_cst or {}).items()},
                "include": list(options.include),
                "exclude": list(options.exclude),
                "left_out": [name for name, own in self._all_of.items() if own <= {*options.exclude}],
                "cutoff": options.cutoff if isinstance(options.cutoff, float) else draft.view.threshold,
                "has_cutoff": options.calibrate is not None,
            },
        }

    def price(self, before: TrainingOptions, after: TrainingOptions) -> str:
        """What a step changed, in words; nothing where objectives cannot be compared and folds have not run."""
        parts = []
        if (before.loss, before.C, before.class_weight) == (after.loss, after.C, after.class_weight):
            old, new = self._objective(before), self._objective(after)
            if old and abs(new - old) > 5e-6 * abs(old):
                parts.append(f"objective {_signed(100 * (new / old - 1), 2)} %")
        measure = measure_named(after.scoring)
        scores = [self._score(options) for options in (before, after)]
        if scores[0] is not None and scores[1] is not None:
            factor, unit = (100, " percentage points") if measure.is_share else (1, "")
            parts.append(f"{measure.words} {_signed(factor * (scores[1] - scores[0]), 4)}{unit} out of fold")
        return ", ".join(parts)

    def _objective(self, options: TrainingOptions) -> float:
        if self._bench.is_trained(options):
            return float(self._bench.trained(options).classifier.certificates_[0].objective)
        path = self._bench.path(options)
        return float(path.objective[0, path.ks.tolist().index(options.k)])

    def _score(self, options: TrainingOptions) -> float | None:
        scores = self._bench.known_scores(options)
        return None if scores is None else float(scores[:, self._bench.ks(options).index(options.k or 0)].mean())

    def _equation(self, options: TrainingOptions, draft: Draft) -> dict[str, Any]:
        features, sides = self._features, (f"towards {self._names[1]}", f"towards {self._names[0]}")
        lines = []
        for each in coefficients(draft.surface):
            own = line(each.weight, term_symbol(each, features), term_words(each, features, sides))
            name = self._term_names[each.term]
            lines.append({**own, "term": name, "forced": name in options.include})
        texts = [equation(draft.model, form=form).split("\n")[0] for form in ("centred", "expanded")]
        return {
            "heading": number_of(len(lines), "term"),
            "lines": lines,
            "constant": line(draft.surface.c, "", "The constant."),
            "centred": texts[0],
            "expanded": texts[1],
        }

    def _figures(self, options: TrainingOptions, ks: tuple[int, ...]) -> list[dict[str, Any]]:
        path, own = self._bench.path(options), options.k or 0
        figures = [objective_along(ks, path.objective[0], self._bench.known_bounds(options), own)]
        scores = self._bench.known_scores(options)
        if scores is not None:
            figures.append(score_along(ks, scores, own, measure_named(options.scoring).words))
        return figures

    def _effects(self, draft: Draft) -> list[dict[str, Any]]:
        """The average effect of each column, and whether f rises or falls with its numbers."""
        found = {}
        for own in directions(self._subject, draft.surface):
            feature = self._features[own["feature"]]
            if feature.kind == "number":
                found[feature.column] = f"f {VERDICTS[own['verdict']]} with {printable(feature.name)}."
        of_columns = effects(draft.model, self._bench.population)
        charts = zip(of_columns.columns, effect_charts("effect", of_columns), strict=True)
        return [{"chart": chart, "words": found.get(column.name, "")} for column, chart in charts]

    def _ties(self, options: TrainingOptions) -> list[dict[str, str]] | None:
        ties = self._bench.known_ties(options)
        if ties is None:
            return None
        measure = measure_named(options.scoring)
        factor, unit = (100, " percentage points") if measure.is_share else (1, "")
        return [
            {
                "out": tie.out,
                "into": tie.into,
                "price": f"objective {_signed(100 * tie.cost, 3)} %",
                "score": f"{measure.words} {_signed(factor * tie.score, 4)}{unit}",
            }
            for tie in ties
        ]

    def _sets(self, options: TrainingOptions) -> dict[str, Any] | None:
        """Sets of terms that cost little, where a proof says how far these are all."""
        ties = self._bench.known_proved_ties(options)
        if ties is None:
            return None
        found = number_of(len(ties.supports), "other set")
        return {
            "words": f"{found} of terms at a price of at most {100 * WITHIN:g} % of the objective: {ties.completeness()}.",
            "best": [
                [printable(", ".join(each.terms)), f"objective {_signed(100 * each.cost, 3)} %"]
                for each in ties.supports[:MOST_TIES]
            ],
        }

    def _measures(self, options: TrainingOptions, draft: Draft) -> list[dict[str, str]]:
        found = draft.measures(self._bench.codes)
        return [
            {
                "name": measure_named(name).words,
                "fitted": _figure(fitted, measure_named(name).is_share),
                "out_of_fold": "" if left_out is None else _figure(left_out, measure_named(name).is_share),
            }
            for name, (fitted, left_out) in found.items()
        ]

    def _labels(self, draft: Draft) -> dict[str, Any]:
        """How the rows are labelled at the cut-off."""
        table = draft.confusion(self._bench.codes)
        approved, total = int(table[:, 0].sum()), int(table.sum())
        bad = float(table[1, 0] / approved) if approved else np.nan
        other, event = map(printable, self._names)
        return {
            "table": table.tolist(),
            "where": "rows of the fit" if draft.left_out is None else "out of fold",
            "words": f"{percent(approved / total)} of the rows are labelled {other}; of these, {percent(bad)} are {event}.",
        }

    def _proof(self, options: TrainingOptions) -> list[str]:
        if not self._bench.is_trained(options):
            return []
        certificate, bounds = self._bench.trained(options).classifier.certificates_[0], self._bench.known_bounds(options)
        if bounds is not None and certificate.gap is None:
            bound = float(bounds[self._bench.ks(options).index(options.k or 0)])
            certificate = certificate.bounded(bound if np.isfinite(bound) else None)
        is_ruled = self._bench.draft(options).view.is_ruled
        said = [] if certificate.gap is None else [proved(certificate, is_ruled)]
        return [*said, exchanges(certificate, is_ruled), *(f"{proof.words()}." for proof in certificate.monotone)]


def _figure(figure: Figure, is_share: bool) -> str:
    """A measure with its standard error."""
    if is_share:
        return percent(figure.mean) + ("" if figure.error is None else f" ± {percent(figure.error)}")
    return number(figure.mean, 3) + ("" if figure.error is None else f" ± {number(figure.error, 2)}")


def _signed(value: float, decimals: int) -> str:
    return f"{value:+.{decimals}f}".replace("-", MINUS)
