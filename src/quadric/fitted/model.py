"""One view of a fitted model, taken apart once: its columns, its decisions, and the model itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from quadric.certificate import Certificate
from quadric.errors import quoted
from quadric.estimators import SparseQuadraticSVC
from quadric.estimators.base import SparseSurfaceClassifier, SurfaceClassifier
from quadric.estimators.calibration import METHODS, CalibratedModel, Calibration, SigmoidCalibration, decided, probabilities
from quadric.estimators.constraints import QUADRATIC, support_limits
from quadric.estimators.cutoffs import EVEN
from quadric.estimators.feature_rules import by_number, rules_of
from quadric.estimators.shape_rules import ShapeDemands, shape_demands
from quadric.estimators.validation import SHARED
from quadric.extras import require
from quadric.fitted.columns import Columns
from quadric.fitted.steps import ColumnNotes, Variable, check_fitted, filled_in, read_step, without_name_warnings
from quadric.geometry.box import ShapeRules
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_count
from quadric.geometry.writing import shown
from quadric.labels import class_texts, positions_in, refuse_masked
from quadric.samples.target import codes_of_scores, surfaces_of
from quadric.samples.units import Units
from quadric.search.rules import SupportLimits
from quadric.slope_proofs import SlopeProof
from quadric.tables import CodedFeature, InputColumn, Table, TableEncoder
from quadric.tables.inputs import Level, missing_cells, with_unique_names
from quadric.types import FloatArray, IntArray

# What every door accepts; see :func:`quadric.fitted.fitted_model`
Model: TypeAlias = BaseEstimator | QuadraticSurface
# Scores that differ by less, where margins are 1, do not differ
ROUNDING = 1e-9
# No decision value is farther from zero
FAR = 1e100
# Decision values below, with margins of 1, are zero to people
ZERO_SCORE = 1e-12
# What a classifier knows of the search for its surfaces
OF_THE_SEARCH = ("certificates_", "status_", "traces_", "n_iter_")


def is_level(scores: FloatArray) -> bool:
    """Whether scores are all the same, but for rounding."""
    return bool(np.ptp(scores) <= ROUNDING * max(1.0, np.abs(scores).max()))


@dataclass(frozen=True)
class ScoreColumns:
    """Names of the columns that hold what a model makes of rows, the same wherever they are written.

    Attributes
    ----------
    scores : tuple of str
        "score" for two classes; otherwise "score_CLASS" for each class.
    probabilities : tuple of str
        The same with "probability", that of the second of two classes; none where the model is not calibrated.
    label : str
    points : tuple of str
        "points" where the model has a scale of points.
    """

    scores: tuple[str, ...]
    probabilities: tuple[str, ...]
    label: str
    points: tuple[str, ...] = ()

    @staticmethod
    def of(class_names: Sequence[str], has_probabilities: bool, prefix: str = "", has_points: bool = False) -> ScoreColumns:
        """For a model with these classes.

        Parameters
        ----------
        class_names : sequence of str
        has_probabilities : bool
        prefix : str
            What all names begin with.
        has_points : bool

        Returns
        -------
        ScoreColumns
        """
        ends = [""] if len(class_names) == 2 else [f"_{name}" for name in class_names]
        scores, chances = (tuple(f"{prefix}{kind}{end}" for end in ends) for kind in ("score", "probability"))
        points = (f"{prefix}points",) if has_points else ()
        return ScoreColumns(scores, chances if has_probabilities else (), f"{prefix}label", points)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in order."""
        return (*self.scores, *self.probabilities, *self.points, self.label)


@dataclass(frozen=True, eq=False)
class FittedModel(Columns):
    """What is known of a fitted model: its columns, from decision values to classes, and the model itself.

    Attributes
    ----------
    inputs : tuple of InputColumn
        Columns of raw data, in the order in which the model takes them.
    variables : tuple of Variable
        What the surfaces are functions of: features of the inputs, capped, centred and scaled.
    has_names : bool
        Whether the model was fitted to named columns.
    surfaces : list of QuadraticSurface
        In fitted units: one for two classes, positive for the second; otherwise one per class.
    classes : array
    calibrators : tuple of SigmoidCalibration or IsotonicCalibration
        One per surface, or none.
    threshold : float
        The score or, where the model is calibrated, the probability above which the second of two classes is decided.
    model : fitted estimator or QuadraticSurface
        As it came.
    steps : tuple of (name, transformer)
        In the order in which raw rows pass them.
    classifier : SurfaceClassifier or QuadraticSurface
        What decides in the end.
    blank : dict
        Positions of the inputs in which None, not NaN, stands for a missing value.
    """

    surfaces: list[QuadraticSurface]
    classes: np.ndarray
    calibrators: tuple[Calibration, ...]
    threshold: float
    model: Any
    steps: tuple[tuple[str, Any], ...]
    classifier: Any
    blank: dict[int, None]

    @property
    def class_texts(self) -> tuple[str, ...]:
        """The labels as texts."""
        return class_texts(self.classes)

    def decided(self, decision: FloatArray) -> tuple[IntArray, FloatArray | None]:
        """Positions of the predicted classes, and probabilities where the model is calibrated.

        Parameters
        ----------
        decision : array of shape (m,) for two classes, (m, n_classes) otherwise

        Returns
        -------
        tuple of two arrays
            Of shapes (m,) and (m, n_classes); the second is None without a calibration.
        """
        if not self.calibrators:
            return codes_of_scores(decision), None
        chances = probabilities(decision, self.calibrators)
        return decided(chances, self.threshold), chances

    @property
    def calibration(self) -> str | None:
        """The method, "sigmoid" or "isotonic", where the model is calibrated."""
        return next((name for name, kind in METHODS.items() for curve in self.calibrators if isinstance(curve, kind)), None)

    @property
    def probability(self) -> Calibration | None:
        """Probability of the second of two classes by decision value, where the model is calibrated: it then decides."""
        return self.calibrators[0] if len(self.calibrators) == 1 else None

    @property
    def _log_odds(self) -> list[SigmoidCalibration]:
        """Of several classes, where log-odds, which are quadratic too, tell which is the likeliest; else none."""
        sigmoids = [calibrator for calibrator in self.calibrators if isinstance(calibrator, SigmoidCalibration)]
        return sigmoids if len(sigmoids) == len(self.calibrators) > 1 else []

    def rivals(self) -> list[QuadraticSurface]:
        """One surface per class, in fitted units; the largest wins: the decision values, or their log-odds.

        Returns
        -------
        list of QuadraticSurface
        """
        if not self._log_odds:
            return self.surfaces
        return [surface * -sigmoid.a - sigmoid.b for surface, sigmoid in zip(self.surfaces, self._log_odds, strict=True)]

    def compared(self, scores: FloatArray) -> FloatArray:
        """What the classes are compared by, from decision values of shape (m, n_classes).

        Parameters
        ----------
        scores : array of shape (m, n_classes)
            Decision values.

        Returns
        -------
        array of shape (m, n_classes)
        """
        if not self._log_odds:
            return scores
        return np.column_stack([sigmoid.log_odds(column) for sigmoid, column in zip(self._log_odds, scores.T, strict=True)])

    def class_code(self, label: Any, what: str = "target") -> int:
        """Position of a class.

        Parameters
        ----------
        label : class label
        what : str
            Name of the parameter, for the message.

        Returns
        -------
        int
        """
        found = [code for code, own in enumerate(self.classes.tolist()) if own == label]
        if len(found) != 1:
            raise ValueError(f"{what} must be one of the classes {self.classes.tolist()}, got {quoted(label)}")
        return found[0]

    def surface_towards(self, target: Any) -> QuadraticSurface:
        """The surface that grows towards a class; None is the positive one of two.

        Parameters
        ----------
        target : class label or None
            Required for more than two classes.

        Returns
        -------
        QuadraticSurface
        """
        if len(self.surfaces) == 1:
            surface = self.surfaces[0]
            return surface if target is None or self.class_code(target) == 1 else -surface
        if target is None:
            raise ValueError(f"target must name the class to explain: one of {self.classes.tolist()}")
        return self.surfaces[self.class_code(target)]

    def cutoff(self, value: float | None) -> float:
        """The decision value above which the second of two classes is decided: the user's, or the model's own.

        Parameters
        ----------
        value : float or None
            The user's; None: the model's own.

        Returns
        -------
        float
        """
        if value is None:
            return self.threshold if self.probability is None else self._crossing(self.probability)
        if len(self.surfaces) > 1:
            raise ValueError("cutoff needs a model of two classes: with more, the largest decision value wins")
        if not np.isfinite(value):
            raise ValueError(f"cutoff must be finite, got {value}")
        return float(value)

    @property
    def border(self) -> float | None:
        """The decision value above which people say that the second of two classes is decided.

        None where a calibration always decides the same class; 0 where the exact value is that but for its last bits.
        """
        try:
            exact = self.cutoff(None)
        except ValueError:
            return None
        return 0.0 if abs(exact) < ZERO_SCORE else exact

    def _crossing(self, probability: Calibration) -> float:
        """The largest decision value whose probability is not above the threshold, to the last bit."""

        def is_above(value: float) -> bool:
            return bool(probability(np.array([value]))[0] > self.threshold)

        low, high = -FAR, FAR
        if is_above(low) or not is_above(high):
            only = f"the model gives every row the class {quoted(self.classes.tolist()[int(is_above(low))])}"
            words = only if is_above(high) == is_above(low) else "the sigmoid falls"
            raise ValueError(
                f"{words}: the calibrated probability does not rise through {self.threshold:g}: "
                "give a cutoff on the decision function"
            )
        while low < (middle := 0.5 * (low + high)) < high:
            low, high = (low, middle) if is_above(middle) else (middle, high)
        return low

    @property
    def is_surface(self) -> bool:
        """Whether the model is a bare surface."""
        return isinstance(self.classifier, QuadraticSurface)

    @cached_property
    def needed(self) -> frozenset[str]:
        """Names of the inputs that some term of a surface depends on."""
        live = np.logical_or.reduce([surface.live_features for surface in self.surfaces])
        return frozenset(self.input_names[i] for i in self.blocks[live].tolist())

    def question(self, name: str) -> Any:
        """What the classifier was fitted with (best_C_, best_k_) or is set to: loss, C, k, class_weight, ...; else None.

        Parameters
        ----------
        name : str

        Returns
        -------
        Any
        """
        return getattr(self.classifier, f"best_{name}_", getattr(self.classifier, name, None))

    @property
    def shares_terms(self) -> bool:
        """Whether several classes have one list of terms."""
        return len(self.surfaces) > 1 and self.question("multiclass") == SHARED

    @property
    def is_ruled(self) -> bool:
        """Whether rules leave only some surfaces: on terms and features together, on slopes, or on coefficients."""
        return bool(self.shapes) or any(value is not None for value in rules_of(self.classifier).values())

    @cached_property
    def shapes(self) -> dict[int, ShapeRules]:
        """Rules on slopes and coefficients that the model was fitted under, by the position of their surface."""
        box = getattr(self.classifier, "box_", None)
        demands = None if box is None else self.demands(int(self.question("k")))
        if box is None or demands is None:
            return {}
        numbers = surfaces_of(len(self.classes))
        own = {numbers.index(number): (demands.slopes.get(number, ()), demands.bounds.get(number, ())) for number in numbers}
        return {place: ShapeRules(*rules, box) for place, rules in own.items() if any(rules)}

    def slope_proofs(self, names: Sequence[str] | None = None) -> list[tuple[SlopeProof, ...]]:
        """What is true of each surface for each rule on a slope, in reported units.

        Parameters
        ----------
        names : sequence of str, optional
            What the features are called.

        Returns
        -------
        list of tuple of SlopeProof
        """
        names = self.names if names is None else names
        return [SlopeProof.all_of(each, self.shapes.get(i), names, self.units) for i, each in enumerate(self.surfaces)]

    def broken_shape(self) -> str | None:
        """The first rule on a slope or coefficient that the coefficients break, in words.

        Returns
        -------
        str or None
            None where they keep all of them.
        """
        for proof in chain.from_iterable(self.slope_proofs()):
            if not proof.proved:
                return f"the score {'falls' if proof.sign > 0 else 'rises'} with {proof.feature}"
        for place, shape in self.shapes.items():
            z = self.surfaces[place].coordinates()
            for bound in shape.bounds:
                if not bound.low <= z[bound.term] <= bound.high:
                    return f"the coefficient of {self.term_names[bound.term]} is beyond its limits"
        return None

    def proof_lines(self, class_names: Sequence[str]) -> list[str]:
        """The rules on slopes with their proofs as sentences, each with the values that it speaks of.

        Parameters
        ----------
        class_names : sequence of str

        Returns
        -------
        list of str
        """
        subjects, lines = class_names if len(self.surfaces) > 1 else ("",), list[str]()
        for name, proofs in zip(subjects, self.slope_proofs([*map(shown, self.names)]), strict=True):
            for proof in proofs:
                ends = "; ".join(f"{own} from {low:.6g} to {high:.6g}" for own, (low, high) in proof.box.items())
                beyond = ", and values beyond count as these" if proof.is_capped else ""
                lines.append(f"{f'score of {shown(name)}, ' if name else ''}{proof.words()} ({ends}{beyond})")
        return lines

    def keeps_rules(self, surface: QuadraticSurface) -> bool:
        """Whether some support that the model may have holds all terms of a surface.

        Parameters
        ----------
        surface : QuadraticSurface

        Returns
        -------
        bool
        """
        k, none = int(self.question("k")), np.zeros(term_count(self.n_features), dtype=bool)
        found, terms = self.limits(k).candidates(none, lambda: none), np.flatnonzero(surface.coordinates())
        inside = np.isin(found.terms, terms)  # a term of the support may have the coefficient zero
        implied = found.rule.completions(inside, np.ones_like(inside))
        return inside.sum() == len(terms) and implied.possible and bool(implied.fixed.sum() <= k)

    def limits(self, k: int, terms: str | None = None) -> SupportLimits:
        """Terms that must and must not be used.

        Parameters
        ----------
        k : int
        terms : {"quadratic", "linear"}, optional
            By default those of the model.

        Returns
        -------
        SupportLimits
        """
        names, terms = getattr(self.classifier, "feature_names_in_", None), terms or self.question("terms") or QUADRATIC
        lean = bool(getattr(self.classifier, "_is_lean", False))  # a bare surface has no say in it
        own: dict[str, Any] = {"lean": lean, "rules": rules_of(self.classifier)}
        return support_limits(self.question("include"), self.question("exclude"), names, self.n_features, k, terms, **own)

    def demands(self, k: int) -> ShapeDemands | None:
        """Rules on slopes and coefficients that the model was fitted under.

        Parameters
        ----------
        k : int

        Returns
        -------
        ShapeDemands or None
        """
        names = getattr(self.classifier, "feature_names_in_", None)
        return shape_demands(self.classifier, names, self.n_features, self.classes, self.limits(k))

    def procedure(self) -> SparseQuadraticSVC:
        """How the classifier was fitted, as an estimator that is not: all its parameters, k and C as chosen, terms by position.

        It is for positions of classes as labels: classes of a model file need not be in sorted order.

        Returns
        -------
        SparseQuadraticSVC
        """
        own = self.classifier.get_params() | {name: self.question(name) for name in ("terms", "loss", "k", "C")}
        names = [str(name) for name in getattr(self.classifier, "feature_names_in_", default_names(self.n_features))]
        # linear terms and rules are parameters of their own
        limits = support_limits(self.question("include"), self.question("exclude"), names, self.n_features, int(own["k"]))
        own |= by_number(rules_of(self.classifier), names)
        own |= {"include": limits.include.tolist(), "exclude": limits.exclude.tolist()}
        if (demands := self.demands(int(own["k"]))) is not None:
            own |= demands.parameters
        if isinstance(weights := own["class_weight"], Mapping):
            own["class_weight"] = {i: weights[label] for i, label in enumerate(self.classes.tolist()) if label in weights}
        return SparseQuadraticSVC(**{name: own[name] for name in SparseQuadraticSVC().get_params() if name in own})

    def with_surfaces(self, surfaces: Sequence[QuadraticSurface], certificates: Mapping[int, Certificate] | None = None) -> Any:
        """The model, without calibration, as it would be with other surfaces.

        Parameters
        ----------
        surfaces : sequence of QuadraticSurface
            As many as the model has, in fitted units.
        certificates : mapping of int to Certificate, optional
            Of surfaces that are new; the others keep theirs. Without them nothing is known of any.

        Returns
        -------
        fitted estimator
            SparseQuadraticSVC in the place of a cross-validation, whose scores are those of other surfaces.
        """
        classifier = copy.copy(getattr(self.classifier, "best_estimator_", self.classifier))
        own = list(getattr(classifier, "certificates_", ()))
        for name in OF_THE_SEARCH:
            vars(classifier).pop(name, None)
        if certificates is not None and own:
            classifier.certificates_ = [certificates.get(i, each) for i, each in enumerate(own)]
        classifier._set_surfaces(surfaces)
        if isinstance(classifier, SparseSurfaceClassifier):
            classifier._set_units(classifier._units)
        return Pipeline([*self.steps, ("classifier", classifier)]) if self.steps else classifier

    @property
    def is_calibrated(self) -> bool:
        """Whether the probabilities are those of a CalibratedModel rather than of the loss."""
        return self.calibrators != tuple(getattr(self.classifier, "calibrators_", ()))

    def with_calibration(self, model: Any) -> Any:
        """Another model with the calibration of this one, if it has one.

        Parameters
        ----------
        model : fitted estimator

        Returns
        -------
        fitted estimator
        """
        return CalibratedModel.from_parts(model, self.calibrators, self.threshold) if self.is_calibrated else model

    def native(self, X: Any) -> Any:
        """A Table in the form that the model itself takes; anything else as it is.

        Parameters
        ----------
        X : Table, or rows as the model takes them

        Returns
        -------
        Table, frame or array
        """
        refuse_masked(X=X)
        first = self.steps[0][1] if self.steps else None
        if not isinstance(X, Table) or isinstance(first, TableEncoder):
            return X
        columns = [self._cells(i, column) for i, column in enumerate(self.rows(X).columns)]
        if isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_"):  # finds columns by name, in frames
            pandas = require("pandas", "dev")  # with types of their own: texts would turn None into NaN
            series = (pandas.Series(cells, dtype=cells.dtype) for cells in columns)
            return pandas.DataFrame(dict(zip(self.input_names, series, strict=True)))
        return np.column_stack(columns)

    def _cells(self, position: int, column: np.ndarray) -> np.ndarray:
        if column.dtype != object and position not in self.blank:
            return column
        out = column.astype(object)
        out[missing_cells(column)] = self.blank.get(position, np.nan)
        return out

    def coded(self, X: Any) -> Any:
        """Rows as they reach the classifier, before its own caps and units.

        Parameters
        ----------
        X : Table, or rows as the model takes them

        Returns
        -------
        array of shape (m, n)
        """
        with without_name_warnings() if isinstance(X, Table) else nullcontext():
            Z = self.native(X)
            for _, step in self.steps:
                Z = step.transform(Z)
            if not self.is_surface:
                return self.classifier._validated(Z, reset=False)
        Z = check_array(Z, dtype=np.float64, order="C")
        if Z.shape[1] != self.n_features:
            raise ValueError(f"X has {Z.shape[1]} features, but the surface has {self.n_features}")
        return Z

    def fitted(self, X: Any) -> FloatArray:
        """Rows in fitted units, by the model's own steps.

        Parameters
        ----------
        X : Table, or rows as the model takes them

        Returns
        -------
        array of shape (m, n)
        """
        rows = self.coded(X)
        return rows if self.is_surface else self.classifier._prepared(rows)

    def decision(self, X: Any) -> FloatArray:
        """The model's own decision function: (m,) for two classes, (m, n_classes) otherwise.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array
        """
        if self.is_surface:
            return self.classifier(self.fitted(X))
        with without_name_warnings():
            return np.asarray(self.model.decision_function(self.native(X)))

    def is_constant(self, X: Any) -> list[bool]:
        """Whether each surface has the same value for all rows, but for rounding: it then tells nothing of them.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        list of bool
        """
        rows = self.fitted(X)
        return [is_level(surface(rows)) for surface in self.surfaces]

    def predicted(self, X: Any) -> IntArray:
        """Positions of the classes that the model's own ``predict`` gives.

        Parameters
        ----------
        X : rows as the model takes them, or Table

        Returns
        -------
        array of shape (m,)
        """
        if self.is_surface:
            return codes_of_scores(self.decision(X))
        with without_name_warnings():
            return positions_in(self.classes, self.model.predict(self.native(X)))


# Classes of a bare surface: its negative and its positive side
SIDES = np.array([-1, 1])


def fitted_model(model: Model | FittedModel) -> FittedModel:
    """Take a model apart.

    Parameters
    ----------
    model : fitted estimator with surfaces, CalibratedModel, Pipeline ending in either, QuadraticSurface or FittedModel
        Or TableClassifier, whose classes are then texts. The other steps of a Pipeline (nested ones too) may be StandardScaler,
        RobustScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, TableEncoder, and
        ColumnTransformer of these.

    Returns
    -------
    FittedModel
    """
    if isinstance(model, FittedModel):
        return model
    if hasattr(model, "trained_"):  # a TableClassifier
        model = model.trained_.model
    steps, calibrated, classifier = _unwrapped(model)
    calibrators = tuple(getattr(calibrated or classifier, "calibrators_", ()))  # some losses give probabilities themselves
    first = steps[0][1] if steps else classifier
    if not isinstance(first, QuadraticSurface):
        check_fitted(first)
    n_inputs = classifier.n_features if isinstance(first, QuadraticSurface) else first.n_features_in_
    names = [str(name) for name in getattr(first, "feature_names_in_", default_names(n_inputs))]
    notes = ColumnNotes()
    absent = np.nan if steps else None  # which the classifier itself refuses
    variables = [Variable(CodedFeature(name, i, "number", missing=absent)) for i, name in enumerate(names)]
    for name, step in steps:
        variables = read_step(name, step, variables, notes)
    if isinstance(classifier, SparseSurfaceClassifier):
        variables = _in_units(variables, classifier._units)
    is_surface, used = isinstance(classifier, QuadraticSurface), {variable.feature.input for variable in variables}
    return FittedModel(
        model=model,
        steps=steps,
        classifier=classifier,
        calibrators=calibrators,
        threshold=getattr(calibrated, "cutoff_", EVEN) if calibrators else 0.0,
        inputs=tuple(notes.encoded.get(i) or _input(name, i in used, notes.levels.get(i)) for i, name in enumerate(names)),
        variables=_finished(variables),
        has_names=hasattr(first, "feature_names_in_"),
        blank=notes.blank,
        surfaces=[classifier] if is_surface else list(classifier.surfaces_),
        classes=SIDES if is_surface else np.asarray(classifier.classes_),
    )


def as_judged(model: Any, X: Any, y: Any) -> tuple[FittedModel, Any, Any]:
    """A model taken apart, and rows and labels as it takes them; a TableClassifier has a raw table and labels of its own.

    Parameters
    ----------
    model : fitted model
    X, y : rows and labels as the model takes them

    Returns
    -------
    FittedModel
    rows
    labels
    """
    if hasattr(model, "_as_judged"):
        model, X, y = model._as_judged(X, y)
    return fitted_model(model), X, y


def _unwrapped(model: Any) -> tuple[tuple[tuple[str, Any], ...], CalibratedModel | None, Any]:
    """All transformers on the way, the outermost calibration, and the classifier at the end."""
    steps: list[tuple[str, Any]] = []
    calibrated: CalibratedModel | None = None
    while isinstance(model, Pipeline | CalibratedModel):
        check_fitted(model)
        if isinstance(model, Pipeline):
            steps += model.steps[:-1]
            model = model.steps[-1][1]
        else:  # of two calibrations the outer one counts: both were fitted on decision values of the same classifier
            calibrated, model = calibrated or model, model.estimator_
    if not isinstance(model, SurfaceClassifier | QuadraticSurface):
        raise TypeError(f"need a fitted quadric model, a Pipeline or a QuadraticSurface, not {type(model).__name__}")
    steps = list(_flat(steps))
    names = [name for name, _ in steps]
    unique = tuple((f"{name}-{i}" if name in names[:i] else name, step) for i, (name, step) in enumerate(steps))
    return unique, calibrated, model


def _flat(steps: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, step in steps:
        if isinstance(step, Pipeline):
            check_fitted(step)
            yield from _flat(step.steps)
        elif step is not None and step != "passthrough":
            yield name, step


def _input(name: str, is_used: bool, levels: set[Level] | None) -> InputColumn:
    if levels is None:
        return InputColumn(name, "number" if is_used else "unused", missing_texts=None)
    kind = "category" if any(isinstance(level, str) for level in levels) else "number"
    return InputColumn(name, kind, tuple(sorted(levels)), missing_texts=None)


def _in_units(variables: Sequence[Variable], units: Units) -> list[Variable]:
    limits = zip(variables, units.low, units.high, units.center, units.scale, strict=True)
    return [variable.capped(low, high).scaled(center, scale) for variable, low, high, center, scale in limits]


def _finished(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """With names that differ, and None for values that are refused because NaN reaches the classifier."""
    features = with_unique_names(variable.feature for variable in variables)
    return tuple(replace(v, feature=filled_in(feature, None)) for v, feature in zip(variables, features, strict=True))
