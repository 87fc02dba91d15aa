"""Reject inference by weights: fits that make up for applicants without an outcome, and how far they depend on the assumption.

A model that learns from accepted applicants alone has seen a selected part of those whom it will judge. Weights make up for the
others in two ways. *Reweighting*: each accepted applicant stands for 1 / P(accepted) applicants, by bands of a score or by a
model of acceptance; right where acceptance depends on nothing but that score, or those columns. *Fuzzy augmentation*: each
reject enters twice, as bad with weight factor * p and as good with weight 1 - factor * p, where p is what the model of the
accepted says. No data tell the factor, so that the fit is made for several of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from quadric.credit.intervals import AreaEstimate
from quadric.errors import quoted, refuse_unknown
from quadric.export import SavedModel
from quadric.fitted import FittedModel
from quadric.geometry.terms import LINEAR, term_factors
from quadric.progress import part
from quadric.review.decisions import Decisions
from quadric.review.reject_figures import RejectFit, RejectInference
from quadric.review.reject_weights import BANDS, SMALLEST_CHANCE, acceptance_weights, band_weights, fuzzy_weights
from quadric.samples.random_rows import drawn_rows, sample_size
from quadric.tables import Table
from quadric.tables.inputs import truth_numbers
from quadric.tables.table import text_column
from quadric.types import BoolArray, FloatArray, IntArray
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.reference import Reference
from quadric.workflow.scoring import TableModel
from quadric.workflow.training import Trained, train

METHODS = ("fuzzy", "bands", "acceptance")
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
ACCEPTED_ONLY = "accepted only"
# Both copies of a reject stay in one fold; so many groups of rows divide more quickly than as many as there are rows
MOST_GROUPS = 997
# Options of a model of acceptance: how columns are read, not which terms the model of the outcome may have
READING = (
    *("standardize", "clip", "coding", "missing", "unseen", "rare", "max_levels", "ignore", "keep", "texts", "dates"),
    *("missing_texts", "forms", "folds", "seed", "n_jobs"),
)


def infer_rejects(
    table: Table,
    target: str,
    options: TrainingOptions | None = None,
    *,
    by: Literal["fuzzy", "bands", "acceptance"] = "fuzzy",
    factor: float = 1.0,
    factors: Sequence[float] = FACTORS,
    decision: str | None = None,
    approved: Sequence[str] = (),
    declined: Sequence[str] = (),
    score: str | None = None,
    bands: int = BANDS,
) -> tuple[RejectInference, SavedModel]:
    """Fit a model for all applicants where only those who were accepted have an outcome.

    Loss, kind of terms, k and C are chosen on the accepted; all other fits take these, so that only weights differ.

    Parameters
    ----------
    table : Table
        All applicants.
    target : str
        Column with the outcome, which rejects do not have.
    options : TrainingOptions, optional
        For two classes; rows cannot be set aside.
    by : {"fuzzy", "bands", "acceptance"}
        Of the model that is kept: two weighted copies of each reject, or accepted applicants reweighted by bands of a score, or
        by a model of acceptance that is fitted to all columns.
    factor : float
        Of "fuzzy": rejects are bad so many times as often as the model of the accepted says.
    factors : sequence of float
        Others that are tried.
    decision : str, optional
        Column of decisions: applicants without an outcome are rejects only where they were declined, and others are left out.
        By default all applicants without an outcome are rejects.
    approved, declined : sequences of str
        Its values, as in ``Decisions.of``.
    score : str, optional
        Column of the score that decided before, for "bands"; by default that of the model of the accepted.
    bands : int

    Returns
    -------
    RejectInference and SavedModel
        The model file says under ``reject_inference`` how it was made.

    Examples
    --------
    >>> import numpy as np
    >>> from quadric.review import infer_rejects
    >>> from quadric.tables import Table
    >>> from quadric.workflow import TrainingOptions
    >>> income = np.linspace(0.0, 1.0, 400)
    >>> risk = np.where((income < 0.5) ^ (np.arange(400) % 5 == 0), "bad", "good").astype(object)
    >>> risk[:120] = None
    >>> options = TrainingOptions(k=1, C=1.0, loss="logistic", terms="linear")
    >>> found, saved = infer_rejects(Table(("income", "risk"), (income, risk)), "risk", options, factors=(1.0, 2.0))
    >>> found.n_accepted, found.n_rejected, [fit.name for fit in found.fits]
    (280, 120, ['accepted only', 'factor 1', 'factor 2'])
    >>> saved.metadata["reject_inference"]["method"]
    'fuzzy'
    """
    options = TrainingOptions() if options is None else options
    _check(table, target, options, by, (factor, *factors), decision, score, bands)
    kinds = _Applicants.of(table, target, decision, approved, declined)
    unused = dict.fromkeys([*options.ignore, *filter(None, (decision, score))])
    options = replace(options, ignore=tuple(unused))
    rows = table[kinds.rows]
    accepted = kinds.accepted
    with part(0.0, 0.3):
        base = train(rows[accepted], target, options)
    fixed = _with_choice(base, options)
    wanted = sorted({float(each) for each in ((factor, *factors) if by == "fuzzy" else factors)})
    study = _Study(rows, target, accepted, fixed, base)
    fits, remarks = [study.measured(ACCEPTED_ONLY, base)], [*kinds.remarks]
    models: dict[str, Trained] = {}
    if by != "fuzzy":
        with part(0.3, 0.5):
            weight, words = study.reweighted(by, score, bands)
            remarks += words
            models[by] = study.trained(rows[accepted], weight[accepted], np.flatnonzero(accepted))
        fits.append(study.measured(by, models[by], weight=weight[accepted]))
    for number, each in enumerate(wanted):
        with part(*(0.5 + 0.5 * (number + done) / len(wanted) for done in (0, 1))):
            doubled, weight, places, bad = study.doubled(each)
            models[f"factor {each:g}"] = study.trained(doubled, weight, places)
        fits.append(study.measured(f"factor {each:g}", models[f"factor {each:g}"], each, bad))
    found = RejectInference(
        method=by,
        factor=float(factor) if by == "fuzzy" else None,
        good=study.names[study.good],
        bad=study.names[1 - study.good],
        n_accepted=int(accepted.sum()),
        n_rejected=int((~accepted).sum()),
        n_left_out=len(table) - len(kinds.rows),
        fits=tuple(fits),
        remarks=(*remarks, *study.remarks(wanted)),
    )
    return found, study.saved(models[found.kept.name], found, {"score": score, "bands": bands if by == "bands" else None})


@dataclass(frozen=True, eq=False)
class _Applicants:
    """Positions of the rows that are used, and which of these have an outcome."""

    rows: IntArray
    accepted: BoolArray
    remarks: tuple[str, ...]

    @staticmethod
    def of(table: Table, target: str, decision: str | None, approved: Sequence[str], declined: Sequence[str]) -> _Applicants:
        labels, places = table.distinct_labels(target)
        known = np.array([label is not None for label in labels], dtype=bool)[places]
        used, remarks = np.ones(len(table), dtype=bool), []
        if decision is not None:
            found = Decisions.of(table, decision, approved, declined)
            used = known | found.declined
            if (n := int((known & found.declined).sum())) > 0:
                remarks.append(f"{n:,} rows were declined and have an outcome in {quoted(target)}: it is used")
            if (n := int((~used).sum())) > 0:
                remarks.append(f"{n:,} rows without an outcome were not declined, and are left out")
        rejected = int((used & ~known).sum())
        if not rejected:
            raise ValueError(
                f"no row is a reject: every one has a value in {quoted(target)}"
                + ("" if decision is None else " or was not declined")
                + "; quadric fit needs no reject inference"
            )
        if not known.any():
            raise ValueError(f"no row has a value in {quoted(target)}: there are no accepted applicants to learn from")
        return _Applicants(np.flatnonzero(used), known[used], tuple(remarks))


def _check(
    table: Table,
    target: str,
    options: TrainingOptions,
    by: str,
    factors: Sequence[float],
    decision: str | None,
    score: str | None,
    bands: int,
) -> None:
    if by not in METHODS:
        raise OptionError(f"by must be one of {', '.join(METHODS)}, got {quoted(by)}", by=None)
    if not all(isinstance(each, int | float) and 0.0 < each < np.inf for each in factors):
        raise OptionError(f"factors must be positive numbers, got {quoted(tuple(factors))}", factor=None, factors=None)
    if isinstance(bands, bool) or not isinstance(bands, int) or bands < 2:
        raise OptionError(f"bands must be an integer from 2, got {quoted(bands)}", bands=None)
    refuse_unknown([target], table.names, "the table", error=partial(OptionError, target=None))
    for name, wrong in ((decision, partial(OptionError, decision=None)), (score, partial(OptionError, score=None))):
        if name == target:
            raise wrong(f"the column {quoted(target)} is the target: it cannot be the decision or the score")
        if name is not None:
            refuse_unknown([name], table.names, "the table", error=wrong)
    if score is not None and by != "bands":
        raise OptionError('a score divides applicants into bands: choose the method "bands"', by="bands")
    if options.holdout is not None or options.time_column is not None:
        raise OptionError("rows cannot be set aside with reject inference: divide the file before", holdout=None, after=None)
    if options.calibrate is None:
        raise OptionError("reject inference needs probabilities: calibrate the scores", calibrate="auto")


def _with_choice(base: Trained, options: TrainingOptions) -> TrainingOptions:
    """The options with what was chosen on the accepted."""
    if len(base.data.class_names) != 2:
        raise ValueError(f"reject inference needs two classes, and the target has {len(base.data.class_names)}")
    chosen = base.classifier
    return replace(
        options,
        k=chosen.k,
        C=chosen.C,
        loss=chosen.loss,
        terms=chosen.terms,
        ks=None,
        Cs=None,
        positive=base.data.class_names[-1],
        forms=base.data.forms,
    )


@dataclass(frozen=True, eq=False)
class _Study:
    """All applicants, and the model of the accepted among them."""

    rows: Table
    target: str
    accepted: BoolArray
    options: TrainingOptions
    base: Trained

    @property
    def names(self) -> tuple[str, ...]:
        return self.base.data.class_names

    @property
    def good(self) -> int:
        return self.names.index(TableModel(self.base.saved()).favourable or self.names[0])

    @property
    def chances(self) -> FloatArray:
        """What the model of the accepted says of all applicants."""
        return self._bad_chances(self.base)

    def _bad_chances(self, trained: Trained) -> FloatArray:
        chances = TableModel(trained.saved()).scores(self.rows).probabilities
        assert chances is not None
        return chances[:, 1 - self.good]

    def reweighted(self, method: str, score: str | None, bands: int) -> tuple[FloatArray, list[str]]:
        """Weights of all applicants, and what is to be said of them."""
        if method == "bands":
            values = self.chances if score is None else _numbers(self.rows, score)
            weight, n_alone = band_weights(values, self.accepted, bands)
            alone = f"{n_alone:,} rejects are in bands of the score where nobody was accepted: the nearest band stands for them"
            return weight, [alone] if n_alone else []
        same = {each.name: getattr(self.options, each.name) for each in fields(self.options) if each.name in READING}
        column = _free_name("accepted", self.rows)
        flags = text_column(np.where(self.accepted, "accepted", "rejected").tolist())
        table = _with_columns(self.rows.drop([self.target]), {column: flags})
        if same["missing"] == "drop":
            same["missing"] = "indicator"
        trained = train(table, column, TrainingOptions(positive="accepted", **same))
        chances = TableModel(trained.saved()).scores(table).probabilities
        assert chances is not None
        weight, n_low = acceptance_weights(chances[:, 1], self.accepted)
        low = f"{n_low:,} accepted rows had a chance below {SMALLEST_CHANCE:g} of being accepted, which counts as that"
        return weight, [low] if n_low else []

    def doubled(self, factor: float) -> tuple[Table, FloatArray, IntArray, FloatArray]:
        """Accepted applicants and two copies of each reject, their weights and places, and the chance of bad of rejects."""
        ours, others = np.flatnonzero(self.accepted), np.flatnonzero(~self.accepted)
        bad, good = fuzzy_weights(self.chances[others], factor)
        places, weight = np.concatenate([ours, others, others]), np.concatenate([np.ones(len(ours)), bad, good])
        labels = self.rows.labels(self.target)[places]
        labels[len(ours) :] = np.repeat([self.names[1 - self.good], self.names[self.good]], len(others))
        kept = weight > 0.0
        table = self.rows[places[kept]]
        at = table.names.index(self.target)
        columns = (*table.columns[:at], text_column(labels[kept].tolist()), *table.columns[at + 1 :])
        return Table(table.names, columns), weight[kept], places[kept], bad

    def trained(self, table: Table, weight: FloatArray, places: IntArray) -> Trained:
        """A fit of weighted rows; those of one applicant stay in one fold."""
        weights, groups = _free_name("weight", table), _free_name("applicant", table)
        options, more = self.options, {weights: weight}
        if options.groups is None:
            more[groups] = (places % MOST_GROUPS).astype(float)
            options = replace(options, groups=groups)
        found = train(_with_columns(table, more), self.target, options, weights=weights)
        return replace(found, options=replace(found.options, groups=self.options.groups))

    def measured(
        self,
        name: str,
        trained: Trained,
        factor: float | None = None,
        bad: FloatArray | None = None,
        weight: FloatArray | None = None,
    ) -> RejectFit:
        """Figures of a fit on all applicants."""
        model = TableModel(trained.saved())
        scores = model.scores(self.rows)
        is_approved = scores.codes == self.good
        labels = self.rows.labels(self.target)
        expected = np.where(labels == self.names[1 - self.good], 1.0, 0.0)
        expected[~self.accepted] = self._bad_chances(trained)[~self.accepted] if bad is None else bad
        area = _area(trained, int(self.accepted.sum()))
        return RejectFit(
            name=name,
            factor=factor,
            terms=_coefficients(trained.view, self.base.view),
            auc=None if area is None else area.value,
            auc_error=None if area is None or not np.isfinite(area.variance) else area.variance**0.5,
            approved=float(is_approved.mean()),
            bad_rate=float(expected[is_approved].mean()) if is_approved.any() else None,
            bad_among_rejects=float(expected[~self.accepted].mean()),
            effective_rows=None if weight is None else float(weight.sum() ** 2 / (weight @ weight)),
        )

    def remarks(self, factors: Sequence[float]) -> Iterator[str]:
        """What is to be said of the largest factors."""
        chances = self.chances[~self.accepted]
        for factor in factors:
            if (share := float((factor * chances > 1.0).mean())) > 0.0:
                yield f"factor {factor:g}: {100 * share:.1f} % of the rejects are {self.names[1 - self.good]} for certain"
                break

    def saved(self, trained: Trained, found: RejectInference, how: dict[str, Any]) -> SavedModel:
        """The model, which later rows are compared with all applicants for, and which says how it was made."""
        model = TableModel(trained.saved())
        names = sorted(trained.view.needed) or list(trained.view.input_names[:1])
        drawn = drawn_rows(np.arange(1, len(self.rows) + 1), sample_size(len(names)), trained.options.seed)
        trained = replace(trained, reference=Reference.of(model, self.rows[drawn]))
        record = {
            **{name: getattr(found, name) for name in ("method", "factor", "n_accepted", "n_rejected", "n_left_out")},
            **{name: value for name, value in how.items() if value is not None},
            "fit": asdict(found.kept),
        }
        return trained.saved(reject_inference=record)


def _coefficients(view: FittedModel, base: FittedModel) -> dict[str, float]:
    """Of the terms of a model, if its columns were scaled as those of another one."""
    scales = dict(zip(base.names, base.units.scale.tolist(), strict=True))
    own = zip(view.names, view.units.scale.tolist(), strict=True)
    ratio = np.array([*(scales.get(name, scale) / scale for name, scale in own), 1.0])
    left, right = term_factors(view.n_features)
    coordinates = view.surfaces[0].coordinates() * ratio[left] * ratio[np.where(right == LINEAR, view.n_features, right)]
    return {view.term_names[term]: float(coordinates[term]) for term in np.flatnonzero(coordinates)}


def inference_words(record: Any) -> str:
    """How the model of a file was made, if it was made with reject inference: one sentence.

    Parameters
    ----------
    record : any
        What the model file says under ``reject_inference``.

    Returns
    -------
    str
    """
    if record is None:
        return ""
    known = record if isinstance(record, dict) else {}
    counts = [known.get(name) for name in ("n_accepted", "n_rejected")]
    rows = "; what a report fits again, and its certificate, take rows without these weights"
    if not all(isinstance(count, int) for count in counts):
        return f"the model was fitted to weighted rows{rows}"
    return f"the model was fitted to {counts[0]:,} rows with an outcome and {counts[1]:,} without one, by weights{rows}"


def _area(trained: Trained, n_accepted: int) -> AreaEstimate | None:
    """On accepted applicants, which are the first rows of a fit, out of fold."""
    search = trained.search
    if search is None:
        return None
    first = search.oof_rows_ <= n_accepted
    decision, folds, codes = (each[first] for each in (search.oof_decision_, search.oof_folds_, trained.data.codes))
    parts = []
    for fold in np.unique(folds[folds >= 0]):
        rows = (folds == fold) & np.isfinite(decision)
        if len(np.unique(codes[rows])) == 2:
            parts.append(AreaEstimate.of(codes[rows] == 1, decision[rows], np.ones(int(rows.sum()))))
    return AreaEstimate.mean(parts) if parts else None


def _numbers(table: Table, column: str) -> FloatArray:
    values = truth_numbers(np.asarray(table[column]))
    if values.dtype.kind != "f" or not np.isfinite(values).all():
        raise ValueError(f"the score {quoted(column)} must be a finite number in every row")
    return values


def _with_columns(table: Table, more: dict[str, Any]) -> Table:
    return Table((*table.names, *more), (*table.columns, *more.values()))


def _free_name(name: str, table: Table) -> str:
    while name in table.names:
        name += " "
        name += "*"
    return name
