"""What a report shows, as frozen values of plain numbers and texts; nothing here computes.

Texts from data are printable: whatever could disturb a line of text has been written as an escape.
"""

from __future__ import annotations

from dataclasses import dataclass

from quadric.certificate import Certificate


@dataclass(frozen=True)
class Feature:
    """What the classifier takes: a number of the table or a code of one of its columns.

    Attributes
    ----------
    name : str
        As people read it: "age", "housing = own", "rank of housing", "age is missing".
    column : str
        The input column that it comes from.
    kind : "number", "level", "rank" or "missing"
    center, scale : float
        The surfaces are polynomials in (value - center) / scale.
    low, high : float
        Range in the data.
    levels : tuple of str
        What the ranks stand for; empty for other kinds.
    """

    name: str
    column: str
    kind: str
    center: float
    scale: float
    low: float
    high: float
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coefficient:
    """A live term.

    Attributes
    ----------
    term : int
        Position in ``coef_``.
    first : int
        Its feature.
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
    """One surface: what the slider shows at one number of terms.

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
    """Accuracy on samples left out, for each number of terms.

    Attributes
    ----------
    ks : tuple of int
    mean : tuple of float
        Over the folds.
    error : tuple of float
        Standard error of the mean; zero with a single fold.
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
class TermRow:
    """A term of the model, or one that could have been.

    Attributes
    ----------
    coefficient : Coefficient
        Value and weight are 0.0 for a term that the model does not have.
    words : str
        What it says.
    spread : float
        Standard deviation of what it adds over the data.
    inclusion : float or None
        Share of the bootstrap fits that chose it; None without bootstrap.
    same_sign : float or None
        Share of positive coefficients among those fits for a positive term, of negative ones for a negative term.
    low, high : float or None
        First and ninth decile of its weight among those fits.
    """

    coefficient: Coefficient
    words: str
    spread: float
    inclusion: float | None = None
    same_sign: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Direction:
    """Which way f goes with a feature, over all of the box that the data span.

    Attributes
    ----------
    feature : int
    verdict : "increasing", "decreasing" or "changes sign"
    lowest, highest : float
        Ends of the derivative's range over the box, in units of f a raw unit of the feature.
    rising : float
        Share of the data at which f increases with the feature.
    """

    feature: int
    verdict: str
    lowest: float
    highest: float
    rising: float


@dataclass(frozen=True)
class Geometry:
    """The shape of the decision boundary.

    Attributes
    ----------
    kind : str
        Of the quadric in the space of all features.
    curvatures : tuple of float
        Eigenvalues of W that are not zero, largest first; features in centred units.
    n_flat : int
        Directions without curvature.
    centre : tuple of pairs (feature, value)
        Where f is stationary, in raw units; empty where there is no such point or no single one.
    centre_value : float or None
        f there.
    """

    kind: str
    curvatures: tuple[float, ...]
    n_flat: int
    centre: tuple[tuple[int, float], ...]
    centre_value: float | None


@dataclass(frozen=True)
class Importance:
    """How much an input column moves the score.

    Attributes
    ----------
    column : str
    value : float
        Mean absolute Shapley value over the data, exact.
    """

    column: str
    value: float


@dataclass(frozen=True)
class SurfaceSummary:
    """One equation of the model.

    Attributes
    ----------
    label : str
        The class that it speaks for; the positive one of two.
    sides : pair of str
        What a positive and a negative part of the score say: "for lost" and "for paid", or "for setosa" and "against setosa".
    view : View
    terms : tuple of TermRow
        In the order of the view's coefficients.
    rivals : tuple of TermRow
        Terms outside the model that bootstrap fits chose most often.
    importances : tuple of Importance
        Of the columns that it uses, the largest first.
    directions : tuple of Direction
        Of the features that it uses, in the order of features.
    geometry : Geometry
    """

    label: str
    sides: tuple[str, str]
    view: View
    terms: tuple[TermRow, ...]
    rivals: tuple[TermRow, ...]
    importances: tuple[Importance, ...]
    directions: tuple[Direction, ...]
    geometry: Geometry


@dataclass(frozen=True)
class Measure:
    """A measure on the data as fitted, and on samples left out in turn.

    Attributes
    ----------
    name, meaning : str
    fitted, left_out : float or None
    """

    name: str
    meaning: str
    fitted: float | None
    left_out: float | None


@dataclass(frozen=True)
class Curve:
    """A line.

    Attributes
    ----------
    name : str
    x, y : tuples of float
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Separation:
    """Shares of both classes up to each score; their largest distance is the KS statistic.

    Attributes
    ----------
    score, events, others : tuples of float
    at : float
        Score of the largest distance.
    distance : float
    """

    score: tuple[float, ...]
    events: tuple[float, ...]
    others: tuple[float, ...]
    at: float
    distance: float


@dataclass(frozen=True)
class Bin:
    """Samples of similar score.

    Attributes
    ----------
    predicted : float
        Their mean probability or score.
    observed : float
        Share of events.
    low, high : float
        95 % interval of that share (Wilson).
    count : int
    """

    predicted: float
    observed: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Calibration:
    """What became of samples, by what was said of them.

    Attributes
    ----------
    has_probabilities : bool
        False: bins are of scores, for the model has no probabilities.
    bins : tuple of Bin
        From low scores to high.
    """

    has_probabilities: bool
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class GainsRow:
    """A tenth of the samples, the highest scores first; attributes as in ``quadric.credit.GainsTable``."""

    lowest: float
    highest: float
    count: int
    events: int
    event_rate: float
    lift: float
    population: float
    capture: float
    ks: float


@dataclass(frozen=True)
class Histogram:
    """Scores of both classes; the outer bins hold what lies beyond them too.

    Attributes
    ----------
    edges : tuple of float
    events, others : tuples of int
    """

    edges: tuple[float, ...]
    events: tuple[int, ...]
    others: tuple[int, ...]


@dataclass(frozen=True)
class Performance:
    """How well a model of two classes tells them apart, on samples left out.

    Attributes
    ----------
    cutoff : float or None
        Score above which the positive class is decided; None where the model has none.
    roc : tuple of Curve
        As fitted, and left out.
    separation : Separation
    calibration : Calibration
    gains : tuple of GainsRow
    histogram : Histogram
    """

    cutoff: float | None
    roc: tuple[Curve, ...]
    separation: Separation
    calibration: Calibration
    gains: tuple[GainsRow, ...]
    histogram: Histogram


@dataclass(frozen=True)
class Slice:
    """f over two features, all others held.

    Attributes
    ----------
    first, second : int
        Features of the two axes.
    x, y : tuples of float
        Grid, in raw units.
    values : tuple of tuples of float
        f less the cut-off; ``values[i][j]`` at ``y[i]``, ``x[j]``.
    boundary : tuple of tuples (x, y, x, y)
        Short straight pieces of the line where the decision turns.
    events, others : tuples of pairs (x, y)
        Samples of the data, whatever their other features.
    held : tuple of pairs (column, text)
        What the other columns of the model are held at.
    """

    first: int
    second: int
    x: tuple[float, ...]
    y: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]
    boundary: tuple[tuple[float, float, float, float], ...]
    events: tuple[tuple[float, float], ...]
    others: tuple[tuple[float, float], ...]
    held: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Reason:
    """What a column cost a case.

    Attributes
    ----------
    column, text : str
    points : float
        On the scale of the score.
    """

    column: str
    text: str
    points: float


@dataclass(frozen=True)
class Change:
    """What would have to change.

    Attributes
    ----------
    feature : int
    before, after : float
        In raw units.
    """

    feature: int
    before: float
    after: float


@dataclass(frozen=True)
class Case:
    """A row of the data explained.

    Attributes
    ----------
    row : int
        Position in the data, from 0.
    actual, decided : str
        Classes.
    score : float
        f.
    probability : float or None
        Of the positive class.
    values : tuple of pairs (column, text)
        Of the columns that the model uses.
    contributions : tuple of pairs (column, points)
        Towards the favourable class, against the mean of the data; worst first. They sum to the difference in score.
    reasons : tuple of Reason
    changes : tuple of Change
        The smallest change that reaches the favourable decision.
    distance : float or None
        Its length in centred units; None where there is none.
    proved : bool
        Whether no smaller one would do, or that there is none.
    message : str
        What the search for it came to.
    """

    row: int
    actual: str
    decided: str
    score: float
    probability: float | None
    values: tuple[tuple[str, str], ...]
    contributions: tuple[tuple[str, float], ...]
    reasons: tuple[Reason, ...]
    changes: tuple[Change, ...]
    distance: float | None
    proved: bool
    message: str


@dataclass(frozen=True)
class Making:
    """How model and report were made; every pair is a name and what it was.

    Attributes
    ----------
    data, model, settings, versions, hashes : tuples of pairs of str
        Of the settings, those of the report itself.
    seconds : tuple of pairs (str, float)
        Time spent on each part of the summary.
    created : str
        When, in universal time.
    same_data : bool or None
        Whether the data give the objective of the fit; None where the model does not know it.
    """

    data: tuple[tuple[str, str], ...]
    model: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    hashes: tuple[tuple[str, str], ...]
    seconds: tuple[tuple[str, float], ...]
    created: str
    same_data: bool | None


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
        Samples of each class.
    features : tuple of Feature
    n_columns, n_candidates : int
        Input columns, and terms that the search could choose from.
    k : int
        Of the model.
    surfaces : tuple of SurfaceSummary
        One for two classes, one a class otherwise.
    views : tuple of View
        Along the path over k, the model's own surface at its own k; empty for more than two classes.
    path_objective : float or None
        What the path reached at the model's own k.
    cross_validation : CrossValidation
    measures : tuple of Measure
    confusion : tuple of tuples of int
        Samples left out: rows by actual class, columns by decision.
    performance : Performance or None
    slices : tuple of Slice
    cases : tuple of Case
    n_boot : int
        Bootstrap fits behind the stability of terms.
    absent : tuple of pairs (chapter, reason)
        Chapters that this model or these data cannot have: "path", "performance", "slices", "cases", "recourse", "stability".
    making : Making
    """

    name: str
    target: str
    classes: tuple[str, ...]
    counts: tuple[int, ...]
    features: tuple[Feature, ...]
    n_columns: int
    n_candidates: int
    k: int
    surfaces: tuple[SurfaceSummary, ...]
    views: tuple[View, ...]
    path_objective: float | None
    cross_validation: CrossValidation
    measures: tuple[Measure, ...]
    confusion: tuple[tuple[int, ...], ...]
    performance: Performance | None
    slices: tuple[Slice, ...]
    cases: tuple[Case, ...]
    n_boot: int
    absent: tuple[tuple[str, str], ...]
    making: Making
