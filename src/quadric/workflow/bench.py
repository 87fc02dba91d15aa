"""A table on which one model after the other is tried: each choice has a draft at once, and a while later its fit.

A draft is the equation that forward selection and exchanges find, with figures of the rows that it was fitted to. The fit is
what ``quadric fit`` makes of the same options.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from quadric.credit import CalibratedModel, auc, ks_statistic
from quadric.defaults import DEFAULT_KS
from quadric.errors import printable
from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.overview import Overview
from quadric.fitted import FittedModel, fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_names
from quadric.losses import loss_named
from quadric.near_ties import alternatives
from quadric.progress import part
from quadric.samples.spool import Spooled
from quadric.search.path import QuadraticPath
from quadric.tables import Table
from quadric.tables.parts import TableParts, gathered
from quadric.types import FloatArray, IntArray
from quadric.workflow.cv_summary import Figure
from quadric.workflow.options import AUTO, OptionError, TrainingOptions
from quadric.workflow.scorers import measure_named
from quadric.workflow.training import Survey, Trained, new_classifier, survey, train_surveyed, with_coding, with_cutoff

Value = TypeVar("Value")
# Stops of the slider over k, and how many results are kept for undo and redo
MOST_KS, MOST_KEPT = 25, 60
# Near ties: their number, and the largest relative price of one
MOST_TIES, WITHIN = 8, 0.1
# Rows, about, that calibrate a draft and stand for the population of its curves
FEW = 10_000
# Nodes of branch and bound for each bound along k, where these are cheap
NODES = 0


@dataclass(frozen=True)
class Tie:
    """One term for another at a small price.

    Attributes
    ----------
    out, into : str
        Names of the terms.
    cost : float
        Relative change of the objective, the refit included.
    score : float
        Change of the out-of-fold score, in the sign of the measure.
    """

    out: str
    into: str
    cost: float
    score: float


@dataclass(frozen=True, eq=False)
class Draft:
    """An equation, and what it makes of the rows.

    Attributes
    ----------
    options : TrainingOptions
        Which it is an answer to.
    model : Pipeline of coding and classifier, or CalibratedModel of it
    decision : array of shape (m,)
        f of the rows in memory.
    left_out : array of shape (m,) or None
        f of the same rows by folds that leave them out; None: not known yet.
    folds : array of shape (m,) or None
        The fold of each of them.
    """

    options: TrainingOptions
    model: Any
    decision: FloatArray
    left_out: FloatArray | None = None
    folds: IntArray | None = None

    @cached_property
    def view(self) -> FittedModel:
        """The model, taken apart."""
        return fitted_model(self.model)

    @property
    def surface(self) -> QuadraticSurface:
        """In fitted units."""
        return self.view.surfaces[0]

    def measures(self, codes: IntArray) -> dict[str, tuple[Figure, Figure | None]]:
        """Measures by name, on the rows of the fit and out of fold.

        Parameters
        ----------
        codes : array of shape (m,)
            Positions of the rows' classes.

        Returns
        -------
        dict
        """
        fitted = self._measured(codes, self.decision, [np.arange(len(codes))])
        if self.left_out is None or self.folds is None:
            return {name: (figure, None) for name, figure in fitted.items()}
        own = [np.flatnonzero(self.folds == fold) for fold in np.unique(self.folds)]
        beyond = self._measured(codes, self.left_out, [rows for rows in own if len(np.unique(codes[rows])) == 2])
        return {name: (figure, beyond[name]) for name, figure in fitted.items()}

    def _measured(self, codes: IntArray, decision: FloatArray, parts: Sequence[IntArray]) -> dict[str, Figure]:
        labels, chances = self.view.decided(decision)
        found = {
            "accuracy": [float(np.mean(labels[rows] == codes[rows])) for rows in parts],
            "roc_auc": [auc(codes[rows], decision[rows]) for rows in parts],
            "ks": [ks_statistic(codes[rows], decision[rows]) for rows in parts],
        }
        if chances is not None:
            own = -np.log(np.maximum(chances[np.arange(len(codes)), codes], np.finfo(float).eps))
            found["log_loss"] = [float(own[rows].mean()) for rows in parts]
        return {name: Figure.of(np.array(values)) for name, values in found.items()}

    def confusion(self, codes: IntArray) -> IntArray:
        """Rows by class and by label, (2, 2): out of fold where that is known.

        Parameters
        ----------
        codes : array of shape (m,)

        Returns
        -------
        array of shape (2, 2)
        """
        labels, _ = self.view.decided(self.decision if self.left_out is None else self.left_out)
        return np.bincount(2 * codes + labels, minlength=4).reshape(2, 2)


class Bench:
    """A coded table of two classes, and what has been tried on it.

    Parameters
    ----------
    table : Table or TableParts
    target : str
    options : TrainingOptions
        What is not given is chosen by cross-validation; ``start`` then has it all.
    """

    def __init__(self, table: Table | TableParts, target: str, options: TrainingOptions) -> None:
        with part(0.0, 0.2):
            rows = survey(table, target, options)
            self.rows = replace(rows, stream=replace(rows.stream, kept={}))
        data = self.rows.data
        if len(data.class_names) != 2:
            raise OptionError(f"the studio takes two classes, and the target has {len(data.class_names)}")
        # the rows in memory as they came, with the columns that models take; from here on the file may change
        self.raw = gathered(self.rows.parts, self.rows.stream.sample.ids - 1, data.encoder.input_names_)
        if isinstance(source := self.rows.stream.stream.source, Spooled):
            source.stand_alone()
        self._known: dict[tuple[str, str], Any] = {}
        with part(0.2, 0.8):
            found = self.settled(options)
            stops, k = self.ks(found), found.k or 1
            self.start = replace(found, k=min(max(k, stops[0]), stops[-1]))  # there may be fewer terms than were asked for
        with part(0.8, 0.9):
            self._overview(self.start)
        with part(0.9, 1.0):
            self.trained(self.start)

    @property
    def codes(self) -> IntArray:
        """Positions of the classes of the rows in memory."""
        return self.rows.data.codes

    def settled(self, options: TrainingOptions) -> TrainingOptions:
        """The options with everything that they leave to cross-validation chosen by it.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        TrainingOptions
        """
        options = replace(options, cross_validate=True)
        if None in (options.k, options.C) or AUTO in (options.loss, options.terms):
            own = train_surveyed(self.under(options), options).classifier
            options = replace(
                options, k=int(own.k), C=float(own.C), loss=own.loss, terms=own.terms, rule=None, ks=None, Cs=None
            )
        return options

    def under(self, options: TrainingOptions) -> Survey:
        """The rows under the rules of these options; refused where the rules contradict each other.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        Survey
        """
        rules = self._key(options, "cutoff")
        return self._once("rules", rules, lambda: replace(self.rows, data=self.rows.data.under(options)))

    def ks(self, options: TrainingOptions) -> tuple[int, ...]:
        """Numbers of terms that the slider stops at.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        tuple of int
        """
        return self._once("ks", self._key(options, "cutoff"), lambda: self._stops(options))

    def _stops(self, options: TrainingOptions) -> tuple[int, ...]:
        assert options.k is not None
        data = self.under(options).data
        first, last = max(1, len(data.limits.include)), data.n_candidates_of(options.terms)
        if last < first:
            raise OptionError("the rules leave no term")
        last = max(first, min(last, max(DEFAULT_KS[-1], options.k)))
        grid = np.rint(np.linspace(first, last, min(last - first + 1, MOST_KS))).astype(int).tolist()
        return tuple(sorted({*grid, min(max(options.k, first), last)}))

    def path(self, options: TrainingOptions) -> QuadraticPath:
        """The equations of drafts along k.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        QuadraticPath
        """
        return self._once("path", self._along(options), lambda: self._overview(options).path(self._search(options)))

    def bounded(self, options: TrainingOptions) -> QuadraticPath | None:
        """The path with lower bounds, where these are cheap; else None.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        QuadraticPath or None
        """
        if not loss_named(options.loss).cheap_exchanges:
            return None
        path = self.path(options)
        return self._once(
            "bounded", self._along(options), lambda: self._overview(options).bounded(self._search(options), path, NODES)
        )

    def scores(self, options: TrainingOptions) -> FloatArray:
        """Out-of-fold scores along k, of shape (n_folds, n_ks), in the sign of the measure.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        array
        """
        sign = measure_named(options.scoring).sign
        return self._once("scores", self._along(options), lambda: sign * self._overview(options).scores(self._search(options)))

    def known_scores(self, options: TrainingOptions) -> FloatArray | None:
        """The same, if they have been computed."""
        return self._known.get(("scores", self._along(options)))

    def known_bounds(self, options: TrainingOptions) -> FloatArray | None:
        """Lower bounds along k, if they have been computed."""
        path = self._known.get(("bounded", self._along(options)))
        return None if path is None else path.lower_bound[0]

    def draft(self, options: TrainingOptions) -> Draft:
        """The fit where it is known, else the equation of the path.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        Draft
        """
        trained = self._known.get(("trained", self._key(options, "cutoff")))
        if trained is not None:
            return self._of_trained(self.trained(options))
        return self._once("draft", self._key(options), lambda: self._drafted(options))

    def _drafted(self, options: TrainingOptions) -> Draft:
        data, path = self.under(options).data, self.path(options)
        cell = path.cells[0][path.ks.tolist().index(options.k)]
        classifier = self._overview(options).classifier(new_classifier(data, options), cell)
        decision = classifier.decision_function(data.X)
        model: Any = classifier
        if options.calibrate is not None:
            few = np.full(len(decision), np.nan)
            few[self._few] = decision[self._few]
            how: dict[str, Any] = {"method": options.calibrate, "cutoff": options.cutoff, "out_of_fold": few}
            model = CalibratedModel.around(classifier, data.X, data.y, **how)
        return Draft(options, with_coding(model, data), decision)

    def _of_trained(self, trained: Trained) -> Draft:
        search, decision = trained.search, trained.classifier.decision_function(trained.data.X)
        assert search is not None
        return Draft(trained.options, trained.model, decision, search.oof_decision_, search.oof_folds_)

    def trained(self, options: TrainingOptions) -> Trained:
        """The fit of the options, as ``quadric fit`` makes it.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        Trained
        """
        rows = self.under(options)
        found = self._once("trained", self._key(options, "cutoff"), lambda: train_surveyed(rows, options))
        if found.options.cutoff == options.cutoff:
            return found
        return self._once("cut", self._key(options), lambda: with_cutoff(found, rows, options.cutoff))

    def news_of_source(self) -> str:
        """What has become of the file since it was read, in a sentence; empty where nothing has.

        Returns
        -------
        str
        """
        parts = self.rows.parts
        if parts.path is None:
            return ""
        try:
            parts.check_unchanged()
        except (ValueError, OSError) as error:
            what = "has changed" if isinstance(error, ValueError) else "cannot be found any more"
            return f"{printable(parts.path.name)} {what}: all that you do and save here stands on the rows as they were read."
        return ""

    @cached_property
    def population(self) -> Table:
        """As many of them as curves of average effects need."""
        return self.raw[self._few]

    @cached_property
    def _few(self) -> IntArray:
        """Every so many rows: enough for curves, and quick."""
        return np.arange(0, len(self.codes), -(-len(self.codes) // FEW))

    def ties(self, options: TrainingOptions) -> list[Tie]:
        """Exchanges of one term that cost little, the cheapest first, each with its price on the folds.

        Parameters
        ----------
        options : TrainingOptions
            Whose fit is known.

        Returns
        -------
        list of Tie
        """
        return self._once("ties", self._key(options, "cutoff"), lambda: self._tied(options))

    def known_ties(self, options: TrainingOptions) -> list[Tie] | None:
        """The same, if they have been computed.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        list of Tie, or None
        """
        return self._known.get(("ties", self._key(options, "cutoff")))

    def _tied(self, options: TrainingOptions) -> list[Tie]:
        data, classifier = self.under(options).data, self.trained(options).classifier
        # the classifier knows its features by number
        names = term_names(data.feature_names)
        own = {name: names[term] for term, name in enumerate(classifier.term_names())}
        (ties,) = alternatives(classifier, data.X, data.y, within=WITHIN)
        terms = [own[name] for name in ties.terms]
        now = self._score_of(options, terms)
        return [
            Tie(out, into, each.cost, self._score_of(options, [*({*terms} - {out}), into]) - now)
            for each in ties.exchanges[:MOST_TIES]
            for out, into in [(own[each.out], own[each.into])]
        ]

    def _score_of(self, options: TrainingOptions, terms: Sequence[str]) -> float:
        """The out-of-fold score of an equation with exactly these terms."""
        only = replace(options, include=tuple(terms), k=len(terms))
        search = self.under(only).search(replace(only, k=None, ks=(len(terms),)))
        return measure_named(options.scoring).sign * float(self._overview(options).scores(search).mean())

    def is_trained(self, options: TrainingOptions) -> bool:
        """Whether the fit and the scores along k are known.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        bool
        """
        return ("trained", self._key(options, "cutoff")) in self._known and self.known_scores(options) is not None

    def _overview(self, options: TrainingOptions) -> Overview:
        """The rows taken apart into folds; under rules on slopes all columns have limits."""
        of = self.rows.stream, self.rows.data.coding
        return self._once("overview", str(options.monotonic_cst is not None), lambda: Overview.of(self._search(options), *of))

    def _search(self, options: TrainingOptions) -> SparseQuadraticSVCCV:
        return self.under(options).search(replace(options, k=None, ks=self.ks(options)))

    def _once(self, kind: str, key: str, make: Callable[[], Value]) -> Value:
        """What is known, or made now; whatever another thread forgets meanwhile."""
        found: Value | None = self._known.get((kind, key))
        if found is None:
            found = make()
            self._known[kind, key] = found
            for old in [known for known in list(self._known) if known[0] == kind][:-MOST_KEPT]:
                self._known.pop(old, None)
        return found

    def _along(self, options: TrainingOptions) -> str:
        return f"{self._key(options, 'cutoff', 'k')} {self.ks(options)}"

    @staticmethod
    def _key(options: TrainingOptions, *without: str) -> str:
        recorded = {name: value for name, value in options.recorded().items() if name not in without}
        return json.dumps(recorded, default=str, sort_keys=True)
