"""A table on which one model after the other is tried: each choice has a draft at once, and a while later its fit.

A draft is the equation that forward selection and exchanges find, with figures of the rows that it was fitted to. The fit is
what ``quadric fit`` makes of the same options.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from quadric.credit import CalibratedModel
from quadric.defaults import DEFAULT_KS
from quadric.errors import printable
from quadric.estimators import SparseQuadraticSVCCV
from quadric.estimators.overview import Overview
from quadric.losses import loss_named
from quadric.losses.footprint import fits
from quadric.progress import part
from quadric.samples.extent import Extent
from quadric.samples.spool import Spooled
from quadric.search.path import QuadraticPath
from quadric.tables import Table
from quadric.tables.parts import TableParts, gathered
from quadric.types import FloatArray, IntArray
from quadric.workflow.drafts import Draft
from quadric.workflow.lately import Lately
from quadric.workflow.options import AUTO, OptionError, TrainingOptions
from quadric.workflow.scorers import measure_named
from quadric.workflow.stand_ins import OtherSets, Tie, near_ties_of, proved_sets_of
from quadric.workflow.term_texts import TermTexts
from quadric.workflow.training import Survey, Trained, new_classifier, survey, train_surveyed, with_coding, with_cutoff

# Stops of the slider over k, and how many results are kept for undo and redo
MOST_KS, MOST_KEPT = 25, 60
# Rows, about, that calibrate a draft and stand for the population of its curves
FEW = 10_000
# Nodes of branch and bound for each bound along k, where these are cheap
NODES = 0


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
        self.terms = TermTexts(data.encoder)
        if len(data.class_names) != 2:
            raise OptionError(f"the studio takes two classes, and the target has {len(data.class_names)}")
        # the rows in memory as they came, with the columns that models take; from here on the file may change
        self.raw = gathered(self.rows.parts, self.rows.stream.sample.ids - 1, data.encoder.input_names_)
        if isinstance(source := self.rows.stream.stream.source, Spooled):
            source.stand_alone()
        self._lately = Lately(MOST_KEPT)
        with part(0.2, 0.8):
            found = self.settled(self.spelled(options))
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

    def spelled(self, options: TrainingOptions) -> TrainingOptions:
        """The options with one text for each term, in whatever way it was written."""
        include, exclude = (tuple(map(self.terms.settled, own)) for own in (options.include, options.exclude))
        return replace(options, include=include, exclude=exclude)

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
        rules = key_of(options, "cutoff")
        return self._lately.once("rules", rules, lambda: replace(self.rows, data=self.rows.data.under(options)))

    def ks(self, options: TrainingOptions) -> tuple[int, ...]:
        """Numbers of terms that the slider stops at.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        tuple of int
        """
        return self._lately.once("ks", key_of(options, "cutoff"), lambda: self._stops(options))

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
        return self._lately.once("path", self._along(options), lambda: self._overview(options).path(self._search(options)))

    def bounded(self, options: TrainingOptions) -> QuadraticPath:
        """The path, with lower bounds where there is room for them: quick with sums over rows, else within seconds or minutes.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        QuadraticPath
        """
        return self._lately.once("bounded", self._along(options), lambda: self._bounded(options))

    def _bounded(self, options: TrainingOptions) -> QuadraticPath:
        path = self.path(options)
        if loss_named(options.loss).keeps_rows and not self._bounds_fit(options):
            return path
        return self._overview(options).bounded(self._search(options), path, NODES)

    def _bounds_fit(self, options: TrainingOptions) -> bool:
        """Whether there is room for all rows lifted on all terms."""
        data = self.under(options).data
        extent = Extent(data.X.shape, 2, len(data.limits.left_out), proves=True)
        return not data.is_sampled and fits(options.loss, extent)

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
        return self._lately.once(
            "scores", self._along(options), lambda: sign * self._overview(options).scores(self._search(options))
        )

    def known_scores(self, options: TrainingOptions) -> FloatArray | None:
        """The same, if they have been computed."""
        return self._lately.get("scores", self._along(options))

    def known_bounded(self, options: TrainingOptions) -> QuadraticPath | None:
        """The path with lower bounds, if they have been looked for."""
        found: QuadraticPath | None = self._lately.get("bounded", self._along(options))
        return found

    def known_bounds(self, options: TrainingOptions) -> FloatArray | None:
        """Lower bounds along k, if there are any yet."""
        path = self.known_bounded(options)
        return None if path is None or path.lower_bound is None else path.lower_bound[0]

    def draft(self, options: TrainingOptions) -> Draft:
        """The fit where it is known, else the equation of the path.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        Draft
        """
        trained = self._lately.get("trained", key_of(options, "cutoff"))
        if trained is not None:
            return self._of_trained(self.trained(options))
        return self._lately.once("draft", key_of(options), lambda: self._drafted(options))

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
        found = self._lately.once("trained", key_of(options, "cutoff"), lambda: train_surveyed(rows, options))
        if found.options.cutoff == options.cutoff:
            return found
        return self._lately.once("cut", key_of(options), lambda: with_cutoff(found, rows, options.cutoff))

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
        """Exchanges of one term that cost little, the cheapest first.

        Parameters
        ----------
        options : TrainingOptions
            Whose fit is known.

        Returns
        -------
        list of Tie
        """
        return self._lately.once(
            "ties", key_of(options, "cutoff"), lambda: near_ties_of(self.trained(options), self.under(options).data)
        )

    def known_ties(self, options: TrainingOptions) -> list[Tie] | None:
        """The same, if they have been computed."""
        found: list[Tie] | None = self._lately.get("ties", key_of(options, "cutoff"))
        return found

    def proved_sets(self, options: TrainingOptions) -> OtherSets:
        """Sets of terms that cost little, and how far branch and bound knows that these are all.

        Parameters
        ----------
        options : TrainingOptions
            Whose fit is known.

        Returns
        -------
        OtherSets
        """
        if self.rows.data.is_sampled:
            raise OptionError("a proof needs all rows in memory, and there are too many for that")
        return self._lately.once(
            "sets", key_of(options, "cutoff"), lambda: proved_sets_of(self.trained(options), self.under(options).data)
        )

    def known_sets(self, options: TrainingOptions) -> OtherSets | None:
        """The same, if they have been computed."""
        found: OtherSets | None = self._lately.get("sets", key_of(options, "cutoff"))
        return found

    def drafted_objective(self, options: TrainingOptions) -> float:
        """Of the equation of the path, whether there is a fit or not."""
        path = self.path(options)
        return float(path.objective[0, path.ks.tolist().index(options.k)])

    def fitted_objective(self, options: TrainingOptions) -> float | None:
        """Of the fit; None: not known yet."""
        found: Trained | None = self._lately.get("trained", key_of(options, "cutoff"))
        return None if found is None else float(found.classifier.certificates_[0].objective)

    def score(self, options: TrainingOptions) -> float | None:
        """The mean out-of-fold score of equations with as many terms, which each fold chooses; None: not known yet."""
        scores = self.known_scores(options)
        return None if scores is None else float(scores[:, self.ks(options).index(options.k or 0)].mean())

    def is_trained(self, options: TrainingOptions) -> bool:
        """Whether the fit and the scores along k are known.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        bool
        """
        return self.fitted_objective(options) is not None and self.known_scores(options) is not None

    def _overview(self, options: TrainingOptions) -> Overview:
        """The rows taken apart into folds; under rules on slopes all columns have limits."""
        of = self.rows.stream, self.rows.data.coding
        return self._lately.once(
            "overview", str(options.monotonic_cst is not None), lambda: Overview.of(self._search(options), *of)
        )

    def _search(self, options: TrainingOptions) -> SparseQuadraticSVCCV:
        return self.under(options).search(replace(options, k=None, ks=self.ks(options)))

    def _along(self, options: TrainingOptions) -> str:
        return f"{key_of(options, 'cutoff', 'k')} {self.ks(options)}"


def key_of(options: TrainingOptions, *without: str) -> str:
    """A text for options that are the same but for some.

    Parameters
    ----------
    options : TrainingOptions
    *without : str
        Names of options that do not matter.

    Returns
    -------
    str
    """
    recorded = {name: value for name, value in options.recorded().items() if name not in without}
    return json.dumps(recorded, default=str, sort_keys=True)
