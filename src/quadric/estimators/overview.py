"""What the short search of a cross-validation finds for every number of terms: on all rows, and scored on rows left out.

The rows are taken apart into folds, and summed where there are many, once for all parameters that are tried on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone

from quadric.estimators._foldwork import FoldRunner, FoldTask, SampledParts, SummedParts, TrainingPart
from quadric.estimators._scoring import Scoring
from quadric.estimators.classifier import SparseQuadraticSVC
from quadric.estimators.crossvalidation import SparseQuadraticSVCCV
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.losses import loss_named
from quadric.samples.capped import CappedStream
from quadric.samples.folds import Fold, folds_of
from quadric.samples.recoding import Coding
from quadric.samples.units import Units
from quadric.search.path import PathCell, QuadraticPath, certified
from quadric.search.quick import Dictionary, QuickSearch
from quadric.search.rules import SupportLimits
from quadric.types import FloatArray

# The dictionary of all terms, which is no kind of terms to choose
WIDEST = "all"


@dataclass(frozen=True, eq=False)
class Overview:
    """Rows on which cross-validations with one loss, one C and one kind of terms are looked at along k.

    Attributes
    ----------
    whole : TrainingPart
        All rows.
    parts : SampledParts or SummedParts
    folds : sequence of Fold
    """

    whole: TrainingPart
    parts: SampledParts | SummedParts
    folds: Sequence[Fold]
    _known: dict[str, list[TrainingPart]] = field(default_factory=dict)
    _searches: dict[str, QuickSearch] = field(default_factory=dict)

    @staticmethod
    def of(search: SparseQuadraticSVCCV, surveyed: CappedStream, coding: Coding | None) -> Overview:
        """Take rows apart as a cross-validation does.

        Parameters
        ----------
        search : SparseQuadraticSVCCV
            Whose folds and units these are.
        surveyed : CappedStream
        coding : Coding or None
            What folds learn of a coded table.
        """
        task = _task(search, len(surveyed.stream.columns), surveyed.stream.classes)
        if not surveyed.is_gathered:
            folds = surveyed.folds(int(search.cv))
            whole, summed = search._summed(surveyed, len(folds))
            return Overview(TrainingPart(whole.units, whole), summed, folds)
        samples = surveyed.samples(search.class_weight)
        everyone = np.ones(len(samples.target), dtype=bool)
        labels = samples.target.classes[samples.target.codes]
        sampled = SampledParts.coded(samples, coding)
        whole_part = SampledParts.of(samples).fitted_to(task, samples, np.arange(len(samples.target)))
        return Overview(whole_part, sampled, folds_of(search.cv, samples.X, labels, surveyed.groups, everyone))

    @property
    def units(self) -> Units:
        """Those of the paths."""
        return self.whole.units

    def path(self, search: SparseQuadraticSVCCV) -> QuadraticPath:
        """The surfaces of two classes for all numbers of terms that a search tries."""
        return self._quick(search).path(*self._cell(search), np.array(search.Cs, dtype=float), np.array(search.ks))

    def bounded(self, search: SparseQuadraticSVCCV, path: QuadraticPath, node_limit: int) -> QuadraticPath:
        """That path with lower bounds."""
        terms, loss, surface = self._cell(search)
        return certified(path, self._quick(search).digest(terms, loss), surface, node_limit=node_limit)

    def scores(self, search: SparseQuadraticSVCCV) -> FloatArray:
        """Scores of the folds along k, of shape (n_folds, n_ks)."""
        task = self._task(search)
        board = search._scoreboard(task, len(self.folds))
        scoring = Scoring.of(search.scoring, self.parts.samples.target.classes)
        runner = FoldRunner(task, self.parts, scoring, self.folds, 1)
        runner.prepare(self._training_parts(search, task))
        runner.score(board.coarse(first=True), board, "folds")
        (table,) = board.scores().values()
        return table[:, 0]

    def _training_parts(self, search: SparseQuadraticSVCCV, task: FoldTask) -> list[TrainingPart]:
        """What each fold fits to, which of all parameters only those terms change that must be used."""
        # a fold that learns levels keeps those that terms must use
        key = repr(search.include) if isinstance(self.parts, SampledParts) and self.parts.coding is not None else ""
        if key not in self._known:
            self._known.clear()
            self._known[key] = [self.parts.part(task, fold) for fold in self.folds]
        return self._known[key]

    def classifier(self, parameters: SparseQuadraticSVC, cell: PathCell) -> SparseQuadraticSVC:
        """A classifier with given parameters, fitted: its surface is that of a cell of a path."""
        z = np.zeros(term_count(self.whole.data.n_features))
        z[cell.terms] = cell.z
        model = clone(parameters)
        model.classes_, model.n_features_in_ = self.parts.samples.target.classes, self.whole.data.n_features
        model._set_surfaces([QuadraticSurface.from_coordinates(z, cell.c)])
        model._set_units(self.units)
        return model

    def _task(self, search: SparseQuadraticSVCCV) -> FoldTask:
        return _task(search, self.whole.data.n_features, self.parts.samples.target.classes)

    def _cell(self, search: SparseQuadraticSVCCV) -> tuple[str, str, int]:
        return str(search.terms), str(search.loss), self.whole.data.surfaces[0]

    def _quick(self, search: SparseQuadraticSVCCV) -> QuickSearch:
        task = self._task(search)
        key = repr(search.include)
        if key not in self._searches:
            everything = SupportLimits(include=task.limits.include, lean=task.limits.lean)
            self._searches.clear()
            self._searches[key] = QuickSearch(self.whole.data, {WIDEST: Dictionary(everything, np.array(search.ks))})
        chooser = loss_named(str(search.loss)).screen or str(search.loss)
        return self._searches[key].sharing(task.on(self.whole.data), chooser)


def _task(search: SparseQuadraticSVCCV, n_features: int, classes: np.ndarray) -> FoldTask:
    """What every fold does; a search that is not fitted does not know yet how many features there are."""
    search.n_features_in_ = n_features
    return search._task(n_features, classes)
