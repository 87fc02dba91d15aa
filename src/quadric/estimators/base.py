"""What all classifiers made of surfaces share: predicting, warning of poor fits, and forgetting a fit that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from quadric.certificate import TOLERANCE, Certificate
from quadric.errors import ParameterError, warn_user
from quadric.estimators.curves import LOG_ODDS, Calibration, probabilities
from quadric.estimators.shape_rules import RULED, SHAPES, ShapeDemands, shape_demands
from quadric.estimators.validation import OVR, SHARED, named_losses, numbers_only, warn_of_spread
from quadric.estimators.views import surface_views
from quadric.geometry.box import ShapeRules
from quadric.geometry.products import has_many_terms
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import default_names, term_count, term_names
from quadric.geometry.writing import Symbol, cap_lines, digits_of, equation_lines, form_note, shared_lines, shown
from quadric.labels import class_texts, refuse_masked
from quadric.losses import LOSS_NAMES, loss_named
from quadric.losses.footprint import fits
from quadric.notebook import Html, folded, view
from quadric.samples.capped import CappedStream, Stream
from quadric.samples.extent import is_small
from quadric.samples.folds import key_of
from quadric.samples.labelled import LabelledSamples, check_magnitude
from quadric.samples.source import SamplesInMemory
from quadric.samples.target import codes_of_scores
from quadric.samples.units import Units
from quadric.search.decomposition import Schedule, SearchResult, Status
from quadric.search.rules import SupportLimits
from quadric.search.streamed import StreamedResult
from quadric.slope_proofs import SlopeProof
from quadric.types import BoolArray, FloatArray, IntArray

RandomState: TypeAlias = int | np.random.RandomState | None
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
# Terms as people write them: names, positions in ``coef_``, pairs of features.
Terms: TypeAlias = Sequence[str | int | Sequence[str | int]] | None
# The parameter to raise after a search that stopped at a limit.
REMEDIES = {Status.ITERATION_LIMIT: "max_iter", Status.TIME_LIMIT: "time_limit"}


class Classifier(ClassifierMixin):
    """A classifier whose score is not taken of masked values, and which forgets a fit that failed."""

    @contextmanager
    def _or_forget(self) -> Iterator[None]:
        try:
            self._forget()
            yield
        except BaseException:  # an interrupted fit too: half of the old model and half of the new would be no model
            self._forget()
            raise

    def _forget(self) -> None:
        for attribute in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, attribute)

    def _views(self) -> list[Html]:
        """What notebooks show of the fitted classifier, above its parameters as scikit-learn shows them; computes nothing."""
        return []

    def _repr_html_inner(self) -> str:
        return self._viewed(super()._repr_html_inner())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return {kind: self._viewed(shown) if kind == "text/html" else shown for kind, shown in bundle.items()}

    def _viewed(self, diagram: str) -> str:
        parts = self._views() if self.__sklearn_is_fitted__() else []
        return view(type(self).__name__, [*parts, folded("Parameters", diagram)]) if parts else diagram

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the samples that are classified correctly.

        Parameters
        ----------
        X : array-like or frame of shape (m, n)
            Samples.
        y : array-like of shape (m,)
            Their labels.
        sample_weight : array-like of shape (m,), optional

        Returns
        -------
        float
        """
        refuse_masked(y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))


class SurfaceClassifier(Classifier, BaseEstimator):
    """Predicts with ``surfaces_``; subclasses write ``_fit``."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit one surface, or one per class.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples; finite, and dense unless the class says otherwise.
        y : array-like of shape (m,)
            Labels of two or more classes.
        sample_weight : array-like of shape (m,), optional
            Repetitions: a sample of weight 2 counts as two samples, in the loss and in the regulariser.

        Returns
        -------
        self
        """
        return self._fit_or_forget(X, y, sample_weight)

    def _fit_or_forget(self, X: Any, y: Any, *others: Any) -> Self:
        with self._or_forget():
            refuse_masked(X=X, y=y)
            self._fit(X, y, *others)
        return self

    def _fit(self, *arguments: Any) -> None:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "surfaces_")

    def _views(self) -> list[Html]:
        names = self._feature_names()
        return surface_views(self, self._symbols(self._units), names, class_texts(self.classes_))

    @property
    def _units(self) -> Units:
        """From X to the units of the surfaces."""
        return Units.plain(self.n_features_in_)

    def _symbols(self, units: Units) -> list[Symbol]:
        """The features in these units, as equations write them."""
        columns = zip(units.center, units.scale, units.low, units.high, strict=True)
        return [Symbol.of(shown(name), *own) for name, own in zip(self._feature_names(), columns, strict=True)]

    def _set_surfaces(self, surfaces: Sequence[QuadraticSurface]) -> None:
        self.surfaces_ = list(surfaces)
        self.coef_ = np.array([surface.coordinates() for surface in surfaces])
        self.intercept_ = np.array([surface.c for surface in surfaces])

    def _prepared(self, X: FloatArray) -> FloatArray:
        return X

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """f(x) of each sample.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,) for two classes, (m, n_classes) otherwise
        """
        check_is_fitted(self)
        refuse_masked(X=X)
        X = self._prepared(self._validated(X, reset=False))
        scores = [surface(X) for surface in self.surfaces_]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def _validated(self, X: Any, *labels: Any, **checks: Any) -> Any:
        """Samples as arrays, with their labels where a fit brings them; ``checks`` are those of scikit-learn."""
        with numbers_only(X):
            return validate_data(self, X, *labels, dtype=np.float64, order="C", **checks)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each sample: by the sign of f, or the class with the largest f.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,)
            A sample whose f overflows has no class: it is an error that names the row.
        """
        codes = codes_of_scores(finite_scores(self, X))  # refuses an unfitted model, which has no classes_ yet
        return np.asarray(self.classes_[codes])

    def term_names(self) -> list[str]:
        """Names of the terms, aligned with the columns of ``coef_``.

        Returns
        -------
        list of str
            "age^2", "age*income", "age"; x0, x1, ... stand for features without a name.
        """
        check_is_fitted(self)
        return term_names(self._feature_names())

    def _feature_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return default_names(self.n_features_in_) if names is None else [str(name) for name in names]


def finite_scores(model: Any, X: Any) -> FloatArray:
    """Decision values that classes follow from; an error where one overflows, whose class would be arbitrary."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores: FloatArray = model.decision_function(X)
    row = first_overflow(scores)
    if row is not None:
        raise ValueError(f"row {row} of X, counted from 0, has no finite score: its values are too large for the model")
    return scores


def first_overflow(scores: FloatArray) -> int | None:
    """Position of the first row without a finite score, if there is one."""
    rows = np.flatnonzero(~np.isfinite(scores.reshape(len(scores), -1)).all(axis=1))
    return int(rows[0]) if len(rows) else None


def seed_of(random_state: RandomState) -> int:
    """A seed for numpy's generators: an integer is its own seed, None is fresh entropy, as in scikit-learn."""
    return int(random_state) if isinstance(random_state, Integral) else drawn_seed(random_state)


def drawn_seed(random_state: RandomState) -> int:
    """A seed drawn by scikit-learn's generator, for an integer too: bootstrap samples and reports have always begun there."""
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(frozen=True)
class SurfaceFit:
    """One surface, how it was found and how good it is.

    Attributes
    ----------
    surface : QuadraticSurface
    search : SearchResult
    certificate : Certificate
    shape : ShapeRules or None
        Rules that its coefficients obey.
    """

    surface: QuadraticSurface
    search: SearchResult
    certificate: Certificate
    shape: ShapeRules | None = None

    @staticmethod
    def of_passes(found: StreamedResult, n_features: int) -> SurfaceFit:
        """What passes over rows ended with; their own proof on its terms is the certificate."""
        z = np.zeros(term_count(n_features))
        z[found.terms] = found.z
        return SurfaceFit(QuadraticSurface.from_coordinates(z, found.c), found, found.certificate)

    @property
    def status(self) -> Status:
        """How the search ended; "optimal" if and only if the certificate says so."""
        if self.certificate.status == "optimal":
            return Status.OPTIMAL
        return Status.CONVERGED if self.search.status is Status.OPTIMAL else self.search.status


def warn_unless_converged(fit: SurfaceFit, schedule: Schedule, subject: str) -> None:
    """Say which residual is too large, its value, its tolerance and the parameter to change."""
    proving = fit.certificate.lower_bound is not None  # a proof that ran out of time reports its gap instead
    if fit.search.status in REMEDIES and not proving:
        parameter = REMEDIES[fit.search.status]
        warn_user(
            f"{subject}: the search stopped at its {fit.search.status} ({parameter}={getattr(schedule, parameter)}) with "
            f"max|z - u| = {fit.search.distance:.2g}, outer_tol = {schedule.outer_tol:g}; raise {parameter}",
            ConvergenceWarning,
        )
    elif fit.search.status == Status.PRECISION_LIMIT:
        warn_user(
            f"{subject}: the search stopped where penalties leave the range of floating point, with max|z - u| = "
            f"{fit.search.distance:.2g}, outer_tol = {schedule.outer_tol:g}; standardise X",
            ConvergenceWarning,
        )
    if not fit.certificate.converged and fit.search.status is not Status.TIME_LIMIT:
        decrease = fit.certificate.decrease
        warn_user(
            f"{subject}: for all that is known, the same terms could lower the objective by decrease = {decrease:.2g} of it, "
            f"above {TOLERANCE:g}; standardise X or lower C",
            ConvergenceWarning,
        )


def _gives_probabilities(model: SparseSurfaceClassifier) -> bool:
    """Whether the decision values of a model are log-odds; an answer to ``hasattr(model, "predict_proba")``."""
    if not model._gives_log_odds:
        raise AttributeError(
            f"loss={getattr(model, 'best_loss_', model.loss)!r} gives no probabilities: calibrate the model (CalibratedModel)"
        )
    return True


class SparseSurfaceClassifier(SurfaceClassifier):
    """What both sparse estimators share: capped and standardised units, probabilities, and the results of their surfaces."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.standardize and self.clip is None
        return tags

    def _validated(self, X: Any, *labels: Any, **checks: Any) -> Any:
        """The same for sparse samples, too, which stay as they are: centring would fill them up."""
        if not issparse(X):
            return super()._validated(X, *labels, **checks)
        if (self.standardize or self.clip is not None) if labels else self._units.changes:
            raise TypeError(
                "sparse X is not centred or capped, dense data is required: fit with standardize=False, clip=None, or take "
                "X.toarray()"
            )
        checked = validate_data(self, X, *labels, dtype=np.float64, accept_sparse="csr", **checks)
        return (csr_array(checked[0]), *checked[1:]) if labels else csr_array(checked)

    @property
    def _gives_log_odds(self) -> bool:
        loss = getattr(self, "best_loss_", self.loss)  # the chosen one where there were several
        return isinstance(loss, str) and loss in LOSS_NAMES and loss_named(loss).has_probabilities

    @property
    def calibrators_(self) -> tuple[Calibration, ...]:
        """The curves from decision values to probabilities, where the loss gives any."""
        return (LOG_ODDS,) * len(self.surfaces_) if self._gives_log_odds else ()

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the classes: 1 / (1 + exp(-f)), with several classes divided by their sum.

        Only for losses that give probabilities. Where C was chosen by accuracy they tend to be too near to 0 and 1;
        ``CalibratedModel`` mends that.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m, n_classes)
            Columns follow ``classes_``.
        """
        return probabilities(finite_scores(self, X), self.calibrators_)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each sample: the likeliest where the loss gives probabilities, else by f as in ``decision_function``.

        Parameters
        ----------
        X : array-like of shape (m, n)
            Samples.

        Returns
        -------
        array of shape (m,)
            The sign of f, or the largest f, decides.
        """
        if not self._gives_log_odds:
            return super().predict(X)
        likeliest = self.predict_proba(X).argmax(axis=1)  # refuses an unfitted model, which has no classes_ yet
        return np.asarray(self.classes_[likeliest])

    @property
    def _is_lean(self) -> bool:
        """Whether products that the data make redundant are left out: not in the paper's problem on the data as they are."""
        return bool(self.standardize) or self.clip is not None

    def _surveyed(self, stream: Stream) -> CappedStream:
        closed = self._unit_options()["closed"]
        has_room = lambda size: all(fits(loss, size) for loss in named_losses(self.loss))  # noqa: E731
        return CappedStream.of(stream, self.clip, has_room, closed=closed)

    def _as_stream(self, samples: LabelledSamples, present: BoolArray, groups: Any = None) -> Stream | None:
        """Samples as a stream where there are enough of them for passes to be quicker, otherwise None.

        It is the rule for files and frames: the same rows give the same model wherever they are.
        """
        m, n = samples.X.shape
        if issparse(samples.X) or is_small(m, n) or has_many_terms(samples.X):
            return None
        is_shared = self.multiclass == SHARED and samples.target.n_classes > 2
        if (self._is_ruled or is_shared) and any(loss_named(loss).keeps_rows for loss in named_losses(self.loss)):
            return None  # passes can keep neither rules on coefficients nor one list of terms for all classes
        keys = None if groups is None else _keys_of(np.asarray(groups)[present])
        plain = replace(samples, target=samples.target.with_factors(np.ones(samples.target.n_classes)))
        source = SamplesInMemory(plain, ids=np.flatnonzero(present) + 1, keys=keys)
        names = tuple(map(str, getattr(self, "feature_names_in_", default_names(n))))
        return Stream(source, names, "y", samples.target.classes, has_groups=keys is not None)

    def _check_passes(self, n_classes: int) -> None:
        """Refuse what cannot be fitted by passes over rows that are not in memory."""
        needy = [loss for loss in named_losses(self.loss) if loss_named(loss).keeps_rows]
        if self.multiclass == SHARED and n_classes > 2 and needy:
            able = next(loss for loss in LOSS_NAMES if not loss_named(loss).keeps_rows)
            raise ParameterError(
                f'multiclass="shared" needs all rows in memory with the loss {needy[0]}; use "ovr", or the loss {able}',
                multiclass=OVR,
                loss=able,
            )
        if self.method == "exact" and needy:
            raise ParameterError(f'method="exact" needs all rows in memory with the loss {needy[0]}; use "best"', method="best")

    def _in_units(self, samples: LabelledSamples) -> tuple[LabelledSamples, Units]:
        check_magnitude(samples.X)
        units = Units.of(samples.X, samples.sample_weight, **self._unit_options())
        X = units(samples.X)
        if not self.standardize:
            remedy = "standardize=True and clip=0.01, the defaults, take care of that"
            warn_of_spread(X, getattr(self, "feature_names_in_", None), remedy)
        return replace(samples, X=X), units

    def _demands(self, names: Sequence[str] | None, classes: np.ndarray, limits: SupportLimits) -> ShapeDemands | None:
        """Rules on coefficients, if there are any."""
        n_features = self.n_features_in_ if names is None else len(names)
        demands = shape_demands(self, names, n_features, classes, limits)
        if demands is not None and self.multiclass == SHARED and len(classes) > 2:
            raise ParameterError(f'{RULED} need surfaces with terms of their own: use multiclass="{OVR}"', multiclass=OVR)
        return demands

    def _refuse_ruled_passes(self) -> None:
        """Refuse rules on coefficients where a loss goes over the rows again and again."""
        needy = [loss for loss in named_losses(self.loss) if loss_named(loss).keeps_rows]
        if needy and self._is_ruled:
            able = next(name for name in LOSS_NAMES if not loss_named(name).keeps_rows)
            raise ParameterError(f"{RULED} need all rows in memory with the loss {needy[0]}; use the loss {able}", loss=able)

    @property
    def _is_ruled(self) -> bool:
        return any(getattr(self, name, None) is not None for name in SHAPES)

    def _unit_options(self) -> dict[str, Any]:
        """Parameters of ``Units.of``: under rules on slopes every feature has limits, so that they hold for any row."""
        closed = getattr(self, "monotonic_cst", None) is not None
        return {"standardize": bool(self.standardize), "clip": self.clip, "closed": closed}

    def _set_fits(self, groups: Sequence[Sequence[SurfaceFit]], classes: np.ndarray, units: Units) -> None:
        """The results of all surfaces; those that share their terms are a group."""
        self.classes_, fits = classes, [fit for group in groups for fit in group]
        self._set_surfaces([fit.surface for fit in fits])
        self._set_units(units)
        boxes = [fit.shape.box for fit in fits if fit.shape is not None]
        if boxes:
            self.box_ = boxes[0]
        names = self._feature_names()
        self.certificates_ = [
            replace(fit.certificate, monotone=SlopeProof.all_of(fit.surface, fit.shape, names, units)) for fit in fits
        ]
        self.status_ = [str(fit.status) for fit in fits]
        self.traces_ = [fit.search.trace for fit in fits]
        self.n_iter_ = np.array([fit.search.n_iter for fit in fits])

    def _set_columns(self, columns: Sequence[str]) -> None:
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(columns, dtype=object)

    def _set_units(self, units: Units) -> None:
        self.clip_low_, self.clip_high_ = units.low, units.high
        self.center_, self.scale_ = units.center, units.scale
        self.surfaces_ = [replace(surface, standardized=units.is_standardized) for surface in self.surfaces_]
        self.raw_surfaces_ = [surface.unscale(units.center, units.scale) for surface in self.surfaces_]

    def equation(self, *, form: Literal["centred", "expanded"] = "centred", precision: int | None = None) -> str:
        """The fitted model as an equation in the units of X.

        Parameters
        ----------
        form : {"centred", "expanded"}
            "centred": the k terms in variables such as (age - 35.5)/11.4. "expanded": powers and products of the features
            themselves; there may be more linear terms, and a last line says so.
        precision : int, optional
            Significant digits, 17 for all; by default 4 in centred and 9 in expanded form.

        Returns
        -------
        str
            One line per surface, then what the features are capped at. Where classes share their terms: one line per term with
            the coefficients of all classes.
        """
        check_is_fitted(self)
        digits, units, surfaces = digits_of(form, precision), self._units, self.surfaces_
        if form == "expanded":
            plain = Units.plain(self.n_features_in_)
            units, surfaces = replace(plain, low=units.low, high=units.high), self.raw_surfaces_
        symbols = self._symbols(units)
        live = np.logical_or.reduce([surface.live_features for surface in surfaces])
        caps = cap_lines([symbol for symbol, is_used in zip(symbols, live, strict=True) if is_used], digits)
        is_shared = self.multiclass == SHARED and len(surfaces) > 1
        lines = (shared_lines if is_shared else equation_lines)(surfaces, symbols, class_texts(self.classes_), digits)
        return "\n".join([*lines, *caps, *form_note(form, self.surfaces_, surfaces, is_shared=is_shared)])

    @property
    def _units(self) -> Units:
        """What the fit learned: the parameters may have been set anew since."""
        return Units(self.clip_low_, self.clip_high_, self.center_, self.scale_)

    def _prepared(self, X: FloatArray) -> FloatArray:
        return self._units(X)


def _keys_of(groups: np.ndarray) -> IntArray:
    values, places = np.unique(groups, return_inverse=True)
    texts = (str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values.tolist())
    return np.array([key_of(text) for text in texts], dtype=np.int64)[places]
