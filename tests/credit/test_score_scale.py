"""Points: the scale's definition, the surface that gives them exactly, and what integers cost."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import random_samples, random_surface
from quadric import QuadraticSurface, SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.credit import (
    CalibratedModel,
    ScoreScale,
    SigmoidCalibration,
    auc,
    ks_statistic,
    rounding_loss,
    scaled_surface,
    score_points,
    term_points,
)
from quadric.fitted import fitted_model

NAMES = ["age", "income", "debt"]
PLAIN = SparseQuadraticSVC(k=4, loss="least_squares", method="pd", standardize=False, clip=None)
SCALES = [ScoreScale(), ScoreScale(pdo=50, base_score=0, base_odds=1), ScoreScale(pdo=3.5, base_score=-10.0, base_odds=0.2)]


def samples(seed=0, m=150):
    X, y = random_samples(seed, m=m, n=3, noise=1.0)
    return pd.DataFrame(X * [10.0, 3.0, 1.0] + [40.0, 5.0, 0.0], columns=NAMES), np.where(y > 0, "late", "good")


MODELS = {
    "pipeline inside": CalibratedModel(make_pipeline(StandardScaler(), PLAIN)),
    "pipeline outside": make_pipeline(StandardScaler(), CalibratedModel(PLAIN)),
    "both": make_pipeline(StandardScaler(), CalibratedModel(make_pipeline(StandardScaler(), PLAIN), cv=3)),
    "twice": CalibratedModel(CalibratedModel(make_pipeline(StandardScaler(), PLAIN), method="isotonic", cv=2), cv=3),
    "standardising": CalibratedModel(
        SparseQuadraticSVCCV([3], [4.0], standardize=True, loss="least_squares", method="pd", cv=2), cv=3
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = samples()
    return clone(MODELS[request.param]).fit(X, y), X, y


@pytest.mark.parametrize("scale", SCALES)
def test_doubling_the_odds_adds_the_points_to_double_them(scale):
    odds = np.array([0.01, 0.5, 1.0, 20.0, 5000.0])
    assert_allclose(scale.points_from_odds(2 * odds) - scale.points_from_odds(odds), scale.pdo, rtol=1e-10)
    assert scale.points_from_odds(scale.base_odds) == pytest.approx(scale.base_score, abs=1e-12)
    assert scale.points(0.0) == pytest.approx(scale.offset)


@pytest.mark.parametrize("scale", SCALES)
def test_probabilities_odds_and_points_go_there_and_back(scale):
    bad = np.array([1e-6, 0.02, 0.5, 0.9])
    points = scale.points_from_probability(bad)
    assert (np.diff(points) < 0).all()
    assert_allclose(points, scale.points_from_odds((1 - bad) / bad), rtol=1e-10)
    assert_allclose(scale.probability(points), bad, rtol=1e-10)
    assert_allclose(np.exp(scale.log_odds(points)), (1 - bad) / bad, rtol=1e-10)
    assert scale.points_from_probability([0.0, 1.0]).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pdo": 0}, "pdo must be a finite number above 0, got 0"),
        ({"pdo": -20}, "pdo must be a finite number above 0, got -20"),
        ({"base_odds": 0.0}, "base_odds must be a finite number above 0"),
        ({"base_odds": np.inf}, "base_odds must be a finite number above 0"),
        ({"base_score": np.nan}, "base_score must be a finite number, got nan"),
        ({"base_score": "600"}, "base_score must be a finite number, got '600'"),
    ],
)
def test_scales_that_make_no_sense_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        ScoreScale(**change)


@pytest.mark.parametrize("scale", SCALES)
def test_points_come_from_the_probability_of_bad(fitted, scale):
    model, X, _ = fitted
    first, second = model.predict_proba(X).T
    assert model.classes_.tolist() == ["good", "late"]
    assert_allclose(score_points(model, X, scale), scale.points_from_odds(first / second), rtol=1e-10)
    assert_allclose(score_points(model, X, scale, good="good"), scale.points_from_odds(first / second), rtol=1e-10)
    assert_allclose(score_points(model, X, scale, good="late"), scale.points_from_odds(second / first), rtol=1e-10)


@pytest.mark.parametrize("good", [None, "late"])
def test_the_points_are_an_exact_quadratic_of_the_model_s_features(fitted, good):
    model, X, _ = fitted
    features = fitted_model(model).fitted(X)
    expected = score_points(model, X, good=good)
    assert_allclose(scaled_surface(model, good=good)(features), expected, rtol=1e-10)
    assert scaled_surface(model).n_terms == fitted_model(model).surfaces[0].n_terms
    assert_allclose(features.std(axis=0), 1.0)  # the units in which k was counted


def values_of(term, X):
    """A term's values by its name, without the library's order of terms."""
    if term.endswith("^2"):
        return X[term[:-2]] ** 2
    return np.prod([X[name] for name in term.split("*")], axis=0)


@pytest.mark.parametrize("integer", [False, True])
def test_the_points_of_the_terms_add_up(fitted, integer):
    model, X, _ = fitted
    table = term_points(model, integer=integer)
    features = pd.DataFrame(fitted_model(model).fitted(X), columns=NAMES)
    total = table.constant + sum(
        points * values_of(term, features) for term, points in zip(table.terms, table.points, strict=True)
    )
    assert_allclose(total, score_points(model, X, integer=integer), rtol=1e-10)
    assert table.rows()[0] == ("constant", table.constant)
    assert [term for term, _ in table.rows()[1:]] == list(table.terms)
    if integer:
        assert_array_equal(table.points, np.rint(term_points(model).points))
        assert table.constant == np.rint(term_points(model).constant)
    else:
        assert (np.diff(np.abs(table.points)) <= 0).all()


def test_terms_that_round_to_nothing_stay_in_the_table():
    X, y = samples()
    model = clone(MODELS["pipeline inside"]).fit(X, y)
    tiny = ScoreScale(pdo=1e-3)
    assert term_points(model, tiny, integer=True).terms == term_points(model, tiny).terms
    assert not term_points(model, tiny, integer=True).points.any()


def test_names_fall_back_where_the_data_have_none():
    X, y = samples()
    model = CalibratedModel(make_pipeline(StandardScaler(), PLAIN)).fit(np.asarray(X), y)
    named = clone(MODELS["pipeline inside"]).fit(X, y)
    translated = [term.replace("age", "x0").replace("income", "x1").replace("debt", "x2") for term in term_points(named).terms]
    assert list(term_points(model).terms) == translated


@pytest.mark.parametrize("seed", range(30))
def test_rounding_never_exceeds_its_bound(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    X = rng.normal(rng.normal(size=n), rng.uniform(0.1, 5.0, size=n), size=(40, n))
    model = with_surface(random_surface(rng, n), X)
    loss = rounding_loss(model, X)
    low, high = X.min(axis=0), X.max(axis=0)
    inside = rng.uniform(low, high, size=(500, n))
    corners = np.array(list(product(*zip(low, high, strict=True))))
    everywhere = np.vstack([X, inside, corners])
    exact, rounded = scaled_surface(model), scaled_surface(model, integer=True)
    difference = np.abs(rounded(everywhere) - exact(everywhere))
    assert difference.max() <= loss.bound + 1e-10
    assert loss.largest == pytest.approx(difference[:40].max(), abs=1e-10)
    assert loss.mean == pytest.approx(difference[:40].mean(), abs=1e-10)
    assert loss.largest <= loss.bound + 1e-10
    before, after = exact(inside)[:, None] - exact(inside), rounded(inside)[:, None] - rounded(inside)
    assert (after[before > 2 * loss.bound + 1e-10] > 0).all()
    assert (loss.n_samples, loss.auc, loss.flips) == (40, None, None)


def with_surface(surface, X):
    """A calibrated model with a surface of one's own."""
    model = clone(PLAIN).set_params(standardize=False, clip=None).fit(X, np.arange(len(X)) % 2)
    model._set_surfaces([surface])
    return CalibratedModel.from_parts(model, [SigmoidCalibration(-1.3, 0.4)])


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_of_one_term_is_reached(seed):
    X = np.array([[-3.0], [2.0], [1.0], [0.0]])
    curvature, constant = np.random.default_rng(seed).normal(size=2)
    model = with_surface(QuadraticSurface([[curvature]], [0.0], constant), X)
    exact, rounded = scaled_surface(model), scaled_surface(model, integer=True)
    grid = np.linspace(-3.0, 2.0, 501)[:, None]
    assert rounding_loss(model, X).bound == pytest.approx(np.abs(rounded(grid) - exact(grid)).max())


def test_the_loss_is_stated_in_order_and_in_decisions(fitted):
    model, X, y = fitted
    scale, cutoff = ScoreScale(pdo=2.0), float(np.median(score_points(model, X, ScoreScale(pdo=2.0))))
    loss = rounding_loss(model, X, y, scale=scale, cutoff=cutoff)
    exact, rounded = score_points(model, X, scale), score_points(model, X, scale, integer=True)
    assert loss.auc == pytest.approx(auc(y == "late", -exact), abs=1e-12)
    assert loss.integer_auc == pytest.approx(auc(y == "late", -rounded), abs=1e-12)
    assert loss.ks == pytest.approx(ks_statistic(y == "late", -exact), abs=1e-12)
    assert loss.integer_ks == pytest.approx(ks_statistic(y == "late", -rounded), abs=1e-12)
    assert loss.flips == np.sum((exact >= cutoff) != (rounded >= cutoff))
    assert loss.auc > 0.6
    turned = rounding_loss(model, X, y, scale=scale, good="late")
    assert turned.auc == pytest.approx(loss.auc, abs=1e-12)
    assert f"AUC {loss.auc:.4f} becomes {loss.integer_auc:.4f}" in loss.statement()
    assert f"{loss.flips} decisions change at the cut-off of {cutoff:g}" in loss.statement()
    assert "AUC" not in rounding_loss(model, X).statement()


def test_coarse_points_flip_decisions_and_fine_ones_do_not():
    X, y = samples()
    model = clone(MODELS["pipeline inside"]).fit(X, y)

    def flips(pdo):
        scale = ScoreScale(pdo=pdo)
        return rounding_loss(model, X, scale=scale, cutoff=float(np.median(score_points(model, X, scale)))).flips

    assert flips(0.5) > 0
    assert flips(1e6) == 0


def test_weights_of_the_loss_are_repetitions():
    X, y = samples()
    model = clone(MODELS["pipeline inside"]).fit(X, y)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = rounding_loss(model, X, y, sample_weight=weight), rounding_loss(model, X.iloc[rows], y[rows])
    for name in ("mean", "largest", "bound", "auc", "integer_auc", "ks", "integer_ks"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), abs=1e-12)


def test_points_of_other_models_with_probabilities():
    X, y = samples()
    logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    f = logistic.decision_function(X)
    assert_allclose(score_points(logistic, X), ScoreScale().points(-f), rtol=1e-10)
    ridge = CalibratedModel(make_pipeline(StandardScaler(), RidgeClassifier())).fit(X, y)
    assert_allclose(score_points(ridge, X), ScoreScale().points_from_probability(ridge.predict_proba(X)[:, 1]), rtol=1e-10)
    isotonic = clone(MODELS["pipeline inside"]).set_params(method="isotonic").fit(X, y)
    with np.errstate(divide="ignore"):
        assert_allclose(score_points(isotonic, X), ScoreScale().points_from_probability(isotonic.predict_proba(X)[:, 1]))


def test_sure_models_keep_their_order():
    X, y = samples()
    inner = clone(MODELS["pipeline inside"]).fit(X, y).estimator_
    sure = CalibratedModel.from_parts(inner, [SigmoidCalibration(-500.0, 0.0)])
    assert (sure.predict_proba(X)[:, 1] == 1.0).sum() > 5
    assert len(np.unique(score_points(sure, X))) == len(X)
    assert np.isfinite(score_points(sure, X)).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda X, y: clone(PLAIN).fit(X, y),
            TypeError,
            "need a CalibratedModel of a quadric classifier, got SparseQuadraticSVC",
        ),
        (
            lambda X, y: CalibratedModel(RidgeClassifier()).fit(X, y),
            TypeError,
            "need a fitted quadric model, a Pipeline or a QuadraticSurface, not RidgeClassifier",
        ),
        (
            lambda X, y: clone(PLAIN).fit(X, y),
            TypeError,
            "need a CalibratedModel of a quadric classifier",
        ),
        (
            lambda X, y: CalibratedModel(PLAIN, method="isotonic").fit(X, y),
            ValueError,
            "only after a calibration with method='sigmoid'",
        ),
        (
            lambda X, y: CalibratedModel(PLAIN).fit(X, np.arange(len(y)) % 3),
            ValueError,
            "points need two classes, but the model has 3",
        ),
    ],
)
def test_models_without_such_points_are_refused(make, error, message):
    X, y = random_samples(0, m=60)
    model = make(X, y)
    for use in (scaled_surface, term_points, lambda model: rounding_loss(model, X)):
        with pytest.raises(error, match=message):
            use(model)


def test_wrong_questions_are_named():
    X, y = samples()
    model = clone(MODELS["pipeline inside"]).fit(X, y)
    with pytest.raises(ValueError, match=r"good must be one of \['good', 'late'\], got 'fine'"):
        score_points(model, X, good="fine")
    with pytest.raises(ValueError, match="cutoff must be None or a finite number, got nan"):
        rounding_loss(model, X, cutoff=np.nan)
    with pytest.raises(TypeError, match="Pipeline has no probabilities: wrap it in a CalibratedModel"):
        score_points(model.estimator_, X)
