"""What is on the page, as plain values: finished texts, numbers as people read them, and pictures as lists of shapes."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from quadric.errors import printable, quoted
from quadric.explain import effects
from quadric.export import SavedModel, equation
from quadric.geometry.terms import term_count, term_factors
from quadric.losses import LOSS_NAMES
from quadric.report.along_k import objective_along, score_along
from quadric.report.effect_figures import effect_charts
from quadric.report.numbers import number, percent
from quadric.report.rendering import line
from quadric.report.story import VERDICTS, exchanges, number_of, proved, term_symbol, term_words
from quadric.report.subject import Subject
from quadric.report.surfaces import coefficients, directions
from quadric.report.values import Coefficient
from quadric.review.explaining import REFERENCES, ExplainingOptions, explain_rows
from quadric.studio.choices import SIGNS, ChoiceError, swapped, words_of_sign
from quadric.studio.prices import objective_price, score_price, signed
from quadric.tables.inputs import cell_text
from quadric.workflow.bench import Bench
from quadric.workflow.cv_summary import Figure
from quadric.workflow.drafts import Draft
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scorers import measure_named
from quadric.workflow.scoring import TableModel
from quadric.workflow.stand_ins import MOST_TIES, WITHIN, Tie

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
        terms = (term for term in range(term_count(len(self._features))) if term not in left_out)
        return [self._bench.terms.text(term) for term in islice(terms, MOST_TERMS)]

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
        texts = self._bench.terms
        terms = tuple(texts.text(t) for t in range(term_count(n)) if {int(left[t]), int(right[t])} & own)
        if not terms:
            raise ChoiceError(f"there is no column {quoted(column)}")
        squares = [square for square in map(texts.square, sorted(own)) if square in self._candidates]
        alone = (texts.alone(feature) for feature in sorted(own))
        return {"terms": terms, "names": (*alone, *squares, *(map(texts.products, sorted(own)) if n > 1 else []))}

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
            "ties_words": self._sample_words(),
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

    def _equation(self, options: TrainingOptions, draft: Draft) -> dict[str, Any]:
        features, sides = self._features, (f"towards {self._names[1]}", f"towards {self._names[0]}")
        lines = []
        for each in coefficients(draft.surface):
            own = line(each.weight, term_symbol(each, features), term_words(each, features, sides))
            name = self._bench.terms.text(each.term)
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

    def stand_ins(self, options: TrainingOptions) -> list[tuple[Tie, TrainingOptions]]:
        """Near ties that the rules allow to be taken, if they are known, each with the options that take it.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        list of Tie with TrainingOptions
        """
        texts, found = self._bench.terms, []
        for tie in self._bench.known_ties(options) or []:
            taken = swapped(options, texts.text(tie.out), texts.text(tie.into))
            with suppress(ValueError):  # a rule may ask for more terms than this one
                self._bench.under(taken)
                found.append((tie, taken))
        return found

    def _ties(self, options: TrainingOptions) -> list[dict[str, str]] | None:
        if self._bench.known_ties(options) is None:
            return None
        texts, now = self._bench.terms, self._bench.score(options)
        found = []
        for tie, taken in self.stand_ins(options):
            score = self._bench.score(taken)
            price = objective_price(tie.cost, 3) or "objective the same"
            beyond = "" if now is None or score is None else score_price(options.scoring, score - now)
            found.append({"out": texts.text(tie.out), "into": texts.text(tie.into), "price": price, "score": beyond})
        return found

    def _sample_words(self) -> str:
        """Of what the prices of near ties in the objective are, where that is not all rows."""
        data = self._bench.rows.data
        if not data.is_sampled:
            return ""
        return f"Prices in the objective are those of a random sample: {len(data.X):,} of the {data.n_rows:,} rows."

    def _sets(self, options: TrainingOptions) -> dict[str, Any] | None:
        """Sets of terms that cost little, where a proof says how far these are all."""
        others = self._bench.known_sets(options)
        if others is None:
            return None
        found = number_of(len(others.sets), "other set")
        return {
            "words": f"{found} of terms at a price of at most {100 * WITHIN:g} % of the objective: {others.completeness}.",
            "best": [
                [printable(", ".join(map(self._bench.terms.text, each.terms))), f"objective {signed(100 * each.cost, 3)} %"]
                for each in others.sets[:MOST_TIES]
            ],
        }

    def _measures(self, options: TrainingOptions, draft: Draft) -> list[dict[str, str]]:
        found = draft.measures(self._bench.codes)
        return [
            {
                "name": measure_named(name).words,
                "fitted": figure_text(fitted, measure_named(name).is_share),
                "out_of_fold": "" if left_out is None else figure_text(left_out, measure_named(name).is_share),
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


def figure_text(figure: Figure, is_share: bool) -> str:
    """A measure with its standard error.

    Parameters
    ----------
    figure : Figure
    is_share : bool
        Whether it is shown in per cent.

    Returns
    -------
    str
    """
    if is_share:
        return percent(figure.mean) + ("" if figure.error is None else f" ± {percent(figure.error)}")
    return number(figure.mean, 3) + ("" if figure.error is None else f" ± {number(figure.error, 2)}")
