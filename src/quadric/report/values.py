"""What a report shows, as frozen values of plain numbers and texts; nothing here computes.

Texts from data are printable: characters that would disturb a line of text are escaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from quadric.certificate import Certificate
from quadric.explain import Effects
from quadric.review.explaining import Explanation
from quadric.review.scorecard import Card
from quadric.workflow.cv_summary import Figure

# A row of a table, or the parts of a picture, by name
Parts: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Feature:
    """What the classifier sees: a number of the table, or a code of one of its columns.

    Attributes
    ----------
    name : str
        As people read it: "age", "housing = own", "rank of housing", "age is missing".
    column : str
        The input column that it comes from.
    kind : "number", "level", "rank" or "missing"
    center, scale : float
        The surfaces are polynomials in (value - center) / scale, of capped values.
    low, high : float
        Range in the data.
    levels : tuple of str
        The names of the ranks; empty for other kinds.
    caps : tuple of float
        Limits of the values; empty where there are none.
    """

    name: str
    column: str
    kind: str
    center: float
    scale: float
    low: float
    high: float
    levels: tuple[str, ...] = ()
    caps: tuple[float, ...] = ()


@dataclass(frozen=True)
class Coefficient:
    """A term with its coefficient.

    Attributes
    ----------
    term : int
        Position in ``coef_``.
    first : int
        Its feature, or its first factor.
    second : int or None
        The other factor; the same feature for a square, None for a linear term.
    value : float
        As in ``coef_``: W_ab of a product, W_aa of a square, b_a of a linear term.
    weight : float
        In the polynomial: half of ``value`` for a square.
    """

    term: int
    first: int
    second: int | None
    value: float
    weight: float


@dataclass(frozen=True)
class View:
    """One surface: what the slider shows for one number of terms.

    Attributes
    ----------
    k : int
        Number of terms allowed.
    coefficients : tuple of Coefficient
        The largest weights first.
    intercept : float
    equation : str
        In centred variables.
    expanded : str
        In raw units.
    certificate : Certificate
        On the data of the report.
    """

    k: int
    coefficients: tuple[Coefficient, ...]
    intercept: float
    equation: str
    expanded: str
    certificate: Certificate


@dataclass(frozen=True)
class CrossValidation:
    """Out-of-fold accuracy for each number of terms, by the model's own rule: at its cut-off, with its calibration.

    Attributes
    ----------
    ks : tuple of int
    mean : tuple of float
        Over all tested rows.
    error : tuple of float
        Standard error over the folds; zero with a single fold.
    folds : int
    best_k : int
        Largest mean; the smallest such k.
    simplest_k : int
        The smallest k within one standard error of the best mean (the 1-SE rule).
    threshold : float
        That mean less its standard error.
    """

    ks: tuple[int, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...]
    folds: int
    best_k: int
    simplest_k: int
    threshold: float


@dataclass(frozen=True)
class RivalFigures:
    """Another classifier.

    Attributes
    ----------
    name : str
    area : Figure
        AUC, with its standard error over the folds.
    difference : Figure
        How much higher it is than that of the model, paired over the folds.
    """

    name: str
    area: Figure
    difference: Figure


@dataclass(frozen=True)
class Complexity:
    """AUC out of fold by number of terms.

    Attributes
    ----------
    folds : int
    ks : tuple of int
    areas : tuple of Figure
        With standard errors over the folds.
    before : int or None
        The largest number of terms below the model's own; None if there is none.
    last : Figure or None
        What the model's own number of terms adds to the AUC of those before, paired over the folds.
    rivals : tuple of RivalFigures
    """

    folds: int
    ks: tuple[int, ...]
    areas: tuple[Figure, ...]
    before: int | None
    last: Figure | None
    rivals: tuple[RivalFigures, ...]


@dataclass(frozen=True)
class TermRow:
    """A term of the model, or one that bootstrap fits chose instead.

    Attributes
    ----------
    coefficient : Coefficient
        Of the model; for a term outside the model the median over the bootstrap fits that chose it.
    spread : float
        Standard deviation over the data of what it adds to the score.
    inclusion : float or None
        Share of the bootstrap fits that chose it; None without bootstrap.
    same_sign : float or None
        Share of those fits that gave it the same sign.
    low, high : float or None
        First and ninth decile of its weight over those fits.
    """

    coefficient: Coefficient
    spread: float
    inclusion: float | None = None
    same_sign: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class SurfaceSummary:
    """One equation of the model.

    Attributes
    ----------
    label : str
        The class that a high score means; the positive one of two.
    sides : pair of str
        What a positive and a negative part of the score count: "towards lost" and "towards paid", or "towards setosa" and
        "against setosa".
    view : View
    terms : tuple of TermRow
        In the order of the view's coefficients.
    rivals : tuple of TermRow
        Terms outside the model that bootstrap fits chose most often.
    effects : Effects
        Average effects of the columns that it uses, the most important first, and of its products; tuples in place of arrays.
    directions : tuple of mappings
        Whether f rises or falls over the whole box that the data span, for each ``feature`` that it uses, in their order. The
        ``verdict``, "increasing", "decreasing" or "changes sign"; ``lowest`` and ``highest``, ends of the derivative's range in
        units of f per raw unit of the feature; and ``rising``, the share of the rows at which f increases with the feature.
    kind : str
        Shape of the decision boundary, a quadric over the features that the surface uses.
    curvatures : tuple of float
        Non-zero eigenvalues of W, largest first; features in centred units.
    n_flat : int
        Directions without curvature.
    centre : tuple of pairs (feature, value)
        Where f is stationary, in raw units; empty unless there is exactly one such point.
    centre_value : float or None
        f there.
    """

    label: str
    sides: tuple[str, str]
    view: View
    terms: tuple[TermRow, ...]
    rivals: tuple[TermRow, ...]
    effects: Effects
    directions: tuple[Parts, ...]
    kind: str
    curvatures: tuple[float, ...]
    n_flat: int
    centre: tuple[tuple[int, float], ...]
    centre_value: float | None

    @property
    def importances(self) -> tuple[tuple[str, float], ...]:
        """Mean absolute Shapley value over the data, exact, of the columns that move the score; the largest first."""
        pairs = ((column.name, column.importance.value) for column in self.effects.columns)
        return tuple((name, value) for name, value in pairs if value > 0.0)


@dataclass(frozen=True)
class ReportSummary:
    """All that a report shows.

    Attributes
    ----------
    name, target : str
        Of the model and of the target column; may be empty.
    classes : tuple of str
        Names in the order of ``classes_``; of two, the second is the positive one.
    counts : tuple of int
        Rows per class.
    features : tuple of Feature
    n_columns, n_candidates : int
        Input columns, and terms that the search could choose from.
    k : int
        Of the model.
    has_probabilities : bool
        Whether the model is calibrated; its probabilities then decide, not its scores.
    surfaces : tuple of SurfaceSummary
        One for two classes, otherwise one per class.
    views : tuple of View
        Along the path over k, the model's own surface at its own k; empty for more than two classes.
    path_objective : float or None
        What the path reached at the model's own k.
    cross_validation : CrossValidation
    measures : tuple of mappings
        ``name`` and ``meaning``, and the value on the training data, ``fitted``, and ``out_of_fold``; None: it has none.
    confusion : tuple of tuples of int
        Out of fold: rows by actual class, columns by predicted class.
    complexity : Complexity or None
        AUC by number of terms, beside other classifiers; None if a fold has rows of one class only, and for more classes.
    performance : mapping or None
        How well a model separates two classes; as ``performance.performance`` describes it.
    slices : tuple of mappings
        f over two features, all others held; as ``slices.slices`` describes them.
    cases : tuple of Explanation
    n_boot : int
        Bootstrap fits behind the stability of terms.
    absent : tuple of pairs (chapter, reason)
        Chapters that this model or these data cannot have: "path", "performance", "slices", "cases", "stability".
    facts : tuple of pairs (title, facts)
        How model and report were made: data, model, report, versions, hashes and time; each as pairs of a name and a value.
    created : str
        When, in universal time.
    same_data : bool or None
        Whether the model has the same objective on these data as on those of the fit; None if the model does not know it.
    findings : tuple of str
        What a look at the table brought up before the fit.
    is_ruled : bool
        Whether rules on terms and features leave only some equations, of which proofs then speak.
    rules : tuple of str
        What these say.
    samples : mapping or None
        These rows beside other samples; as ``samples.side_by_side`` describes them.
    prices : tuple of tuples of str
        What they cost, as ``RulePrices.table`` puts it; empty where nobody measured it.
    card : Card or None
        Points of a scorecard, where the model has a scale.
    cutoffs : tuple of mappings
        What follows from a cut-off in points, out of fold: rows of :class:`quadric.credit.CutoffTable`.
    """

    name: str
    target: str
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    features: tuple[Feature, ...]
    n_columns: int
    n_candidates: int
    k: int
    has_probabilities: bool
    surfaces: tuple[SurfaceSummary, ...]
    views: tuple[View, ...]
    path_objective: float | None
    cross_validation: CrossValidation
    measures: tuple[Parts, ...]
    confusion: tuple[tuple[int, ...], ...]
    complexity: Complexity | None
    performance: Parts | None
    slices: tuple[Parts, ...]
    cases: tuple[Explanation, ...]
    n_boot: int
    absent: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    created: str
    same_data: bool | None
    findings: tuple[str, ...] = ()
    is_ruled: bool = False
    rules: tuple[str, ...] = ()
    samples: Parts | None = None
    prices: tuple[tuple[str, ...], ...] = ()
    card: Card | None = None
    cutoffs: tuple[Parts, ...] = ()
