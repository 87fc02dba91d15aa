"""The numbers of a summary are those of the model, its path and scikit-learn."""

import json
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest, ks_2samp
from sklearn.datasets import load_iris
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, slow_objective
from helpers.listening import heard
from helpers.small_models import KS, calibrated_pipeline, features_of, loans, scored_pipeline
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, certify, sparse_quadratic_path
from quadric.credit import CalibratedModel
from quadric.explain import shapley, stability
from quadric.export import equation
from quadric.geometry.surface import QuadraticSurface
from quadric.report import summarise

FOLDS, N_BOOT = 3, 6
EXCLUDED = [(0, 1), (3, 3), (3, 4), (4, 4)]
"""One term, and those that an estimator which standardises leaves out by itself: levels of one column."""


@pytest.fixture(scope="module")
def case():
    """A model by penalty decomposition: its folds can be repeated by scikit-learn alone."""
    table, y = loans()
    model = scored_pipeline(table, y, method="pd", exclude=EXCLUDED)
    with heard() as told:
        how = {"class_names": ("paid", "lost"), "favourable": "paid", "ks": KS, "cv": FOLDS}
        summary = summarise(model, table, y, n_boot=N_BOOT, random_state=3, **how)
    return model, table, y, summary, told


@pytest.fixture(scope="module")
def left_out(case):
    """Decision values by scikit-learn."""
    model, table, y, *_ = case
    V, _ = features_of(model, table)
    pipeline = make_pipeline(
        StandardScaler(), SparseQuadraticSVC(5, 16.0, loss="hinge", method="pd", exclude=EXCLUDED, **PLAIN)
    )
    return cross_val_predict(pipeline, V, y, cv=FOLDS, method="decision_function")


def as_coef(view, p):
    z = np.zeros(p)
    for coefficient in view.coefficients:
        z[coefficient.term] = coefficient.value
    return z


def own_view(summary):
    return next(view for view in summary.views if view.k == summary.k)


def test_a_summary_is_plain_enough_for_json(case):
    text = json.dumps(asdict(case[3]), allow_nan=False)
    assert json.loads(text)["k"] == 5


def test_the_view_at_the_models_k_is_the_model(case):
    model, table, y, summary, _ = case
    view = own_view(summary)
    assert np.array_equal(as_coef(view, model[-1].coef_.shape[1]), model[-1].coef_[0])
    assert view.intercept == model[-1].intercept_[0]
    assert view.equation == equation(model)
    assert view.expanded == equation(model, form="expanded").split("\n")[0]
    assert view == summary.surfaces[0].view
    (certificate,), (proof,) = (certify(model, table, y, time_limit=seconds) for seconds in (0.0, 60.0))
    assert replace(view.certificate, lower_bound=None, gap=None, status="local") == replace(
        certificate, lower_bound=None, gap=None, status="local"
    )
    assert certificate.lower_bound < view.certificate.lower_bound <= proof.lower_bound * (1 + 1e-9)


def test_other_views_are_the_path_in_the_units_of_the_model(case):
    model, table, y, summary, _ = case
    _, U = features_of(model, table)
    path = sparse_quadratic_path(U, y, ks=KS, Cs=(16.0,), loss="hinge", method="pd", exclude=EXCLUDED)
    assert tuple(view.k for view in summary.views) == KS
    for i, view in enumerate(summary.views):
        if view.k != summary.k:
            assert np.array_equal(as_coef(view, path.coef.shape[2]), path.coef[0, i])
            assert view.intercept == path.intercept[0, i]
    assert summary.path_objective == path.objective[0, KS.index(5)]


def test_certificates_of_all_views_are_about_the_surface_they_stand_beside(case):
    model, table, y, summary, _ = case
    _, U = features_of(model, table)
    for view in summary.views:
        surface = QuadraticSurface.from_coordinates(as_coef(view, model[-1].coef_.shape[1]), view.intercept)
        certificate = view.certificate
        assert_allclose(certificate.objective, slow_objective(surface, U, 2.0 * y - 1.0, "hinge", 16.0), rtol=1e-10)
        assert (certificate.k, certificate.n_terms) == (view.k, len(view.coefficients))
        assert certificate.lower_bound <= certificate.objective
        assert_allclose(certificate.gap, 1.0 - certificate.lower_bound / certificate.objective, atol=1e-12)


def test_weights_are_those_of_the_polynomial(case):
    model, table, _, summary, _ = case
    _, U = features_of(model, table)
    view = own_view(summary)
    total = np.full(len(U), view.intercept)
    for c in view.coefficients:
        total += c.weight * U[:, c.first] * (1.0 if c.second is None else U[:, c.second])
    assert_allclose(total, model.decision_function(table), rtol=1e-10, atol=1e-12)
    weights = [abs(c.weight) for c in view.coefficients]
    assert weights == sorted(weights, reverse=True)


def test_cross_validation_is_that_of_the_estimator(case):
    model, table, y, summary, _ = case
    V, _ = features_of(model, table)
    parameters = {
        "ks": KS,
        "Cs": (16.0,),
        "loss": "hinge",
        "cv": FOLDS,
        "clip": None,
        "method": "pd",
        "exclude": EXCLUDED,
        "rule": "best",
        "scoring": "accuracy",
        "terms": "quadratic",
    }
    estimator = SparseQuadraticSVCCV(**parameters).fit(V, y)
    scores, cv = estimator.cv_scores_[:, 0, :], summary.cross_validation
    assert cv.ks == KS
    assert_allclose(cv.mean, scores.mean(axis=0), rtol=1e-14)
    assert_allclose(cv.error, scores.std(axis=0, ddof=1) / np.sqrt(FOLDS), rtol=1e-12)
    assert cv.best_k == estimator.best_k_
    at = KS.index(cv.best_k)
    assert_allclose(cv.threshold, cv.mean[at] - cv.error[at], rtol=1e-14)
    assert cv.simplest_k == min(k for k, mean in zip(cv.ks, cv.mean, strict=True) if mean >= cv.threshold)


def test_measures_left_out_are_those_of_scikit_learns_folds(case, left_out):
    _, _, y, summary, _ = case
    values = {measure["name"]: measure["out_of_fold"] for measure in summary.measures}
    decided = left_out > 0
    assert_allclose(values["Accuracy"], np.mean(decided == (y == 1)), rtol=1e-14)
    assert_allclose(values["AUC"], roc_auc_score(y, left_out), rtol=1e-12)
    assert_allclose(values["Gini"], 2 * roc_auc_score(y, left_out) - 1, rtol=1e-12)
    assert_allclose(values["KS"], ks_2samp(left_out[y == 1], left_out[y == 0]).statistic, rtol=1e-12)
    assert_allclose(values["Sensitivity"], decided[y == 1].mean(), rtol=1e-14)
    assert_allclose(values["Specificity"], 1 - decided[y == 0].mean(), rtol=1e-14)
    assert np.array_equal(summary.confusion, confusion_matrix(y, decided))
    assert "Brier score" not in values


def test_measures_as_fitted_are_those_of_the_model(case):
    model, table, y, summary, _ = case
    values = {measure["name"]: measure["fitted"] for measure in summary.measures}
    assert_allclose(values["Accuracy"], model.score(table, y), rtol=1e-14)
    assert_allclose(values["AUC"], roc_auc_score(y, model.decision_function(table)), rtol=1e-12)


def test_curves_agree_with_their_measures(case, left_out):
    _, _, y, summary, _ = case
    measures = {measure["name"]: measure for measure in summary.measures}
    curves = summary.performance["fitted_roc"], summary.performance["roc"]
    for curve, area in zip(curves, (measures["AUC"]["fitted"], measures["AUC"]["out_of_fold"]), strict=True):
        x, y_values = np.transpose(curve)
        assert_allclose(np.trapezoid(y_values, x), area, rtol=1e-12)
    parts = summary.performance
    assert_allclose(parts["ks"], measures["KS"]["out_of_fold"], rtol=1e-12)
    at = parts["levels"].index(parts["ks_score"])
    assert_allclose(parts["event_shares"][at], np.mean(left_out[y == 1] <= parts["ks_score"] + 1e-9), atol=1e-14)
    assert_allclose(parts["other_shares"][at], np.mean(left_out[y == 0] <= parts["ks_score"] + 1e-9), atol=1e-14)
    assert parts["ks"] == abs(parts["event_shares"][at] - parts["other_shares"][at])


def test_bins_hold_every_sample_once_with_wilsons_interval(case, left_out):
    _, _, y, summary, _ = case
    bins = summary.performance["bins"]
    order = np.sort(left_out)
    assert sum(bin_["count"] for bin_ in bins) == len(y)
    start = 0
    for bin_ in bins:
        inside = (left_out >= order[start]) & (left_out <= order[start + bin_["count"] - 1])
        start += bin_["count"]
        assert_allclose(bin_["predicted"], left_out[inside].mean(), rtol=1e-12)
        assert_allclose(bin_["observed"], y[inside].mean(), rtol=1e-12)
        interval = binomtest(int(y[inside].sum()), bin_["count"]).proportion_ci(method="wilson")
        assert_allclose([bin_["low"], bin_["high"]], [interval.low, interval.high], atol=1e-12)
    assert not summary.has_probabilities
    assert sum(row["count"] for row in summary.performance["gains"]) == len(y)
    assert sum(row["events"] for row in summary.performance["gains"]) == y.sum()
    assert summary.performance["gains"][-1]["capture"] == 1.0
    assert (sum(summary.performance["event_counts"]), sum(summary.performance["other_counts"])) == (y.sum(), (1 - y).sum())


def test_stability_stands_beside_its_term(case):
    model, table, y, summary, _ = case
    drawn = stability(model, table, y, n_boot=N_BOOT, random_state=_seed(3))
    rows = summary.surfaces[0].terms
    assert [row.coefficient for row in rows] == list(own_view(summary).coefficients)
    for row in rows:
        term = row.coefficient.term
        assert row.inclusion == drawn.inclusion[0, term]
        chosen = drawn.coef[:, 0, term][drawn.coef[:, 0, term] != 0]
        if len(chosen):
            assert_allclose(row.same_sign, np.mean(np.sign(chosen) == np.sign(row.coefficient.value)), atol=1e-12)
            halved = 0.5 if row.coefficient.first == row.coefficient.second else 1.0
            assert_allclose([row.low, row.high], halved * np.quantile(chosen, [0.1, 0.9]), rtol=1e-12)
    own = {row.coefficient.term for row in rows}
    for rival in summary.surfaces[0].rivals:
        assert rival.coefficient.term not in own
        assert rival.coefficient.value == drawn.deciles[0, 4, rival.coefficient.term]
        assert rival.inclusion == drawn.inclusion[0, rival.coefficient.term]


def _seed(random_state):
    from quadric.estimators.base import drawn_seed

    return drawn_seed(random_state)


def test_spread_is_that_of_what_the_term_adds(case):
    model, table, _, summary, _ = case
    _, U = features_of(model, table)
    for row in summary.surfaces[0].terms:
        c = row.coefficient
        added = c.weight * U[:, c.first] * (1.0 if c.second is None else U[:, c.second])
        assert_allclose(row.spread, added.std(), rtol=1e-10)


def test_importance_is_the_mean_size_of_shapley_values(case):
    model, table, _, summary, _ = case
    values = shapley(model, table, background=table)
    expected = dict(zip(values.names, np.abs(values.values).mean(axis=0), strict=True))
    for column, value in summary.surfaces[0].importances:
        assert_allclose(value, expected[column], rtol=1e-12)
    sizes = [value for _, value in summary.surfaces[0].importances]
    assert sizes == sorted(sizes, reverse=True)


def test_directions_are_the_extremes_of_the_derivative_over_the_corners_of_the_box(case):
    model, table, _, summary, _ = case
    V, U = features_of(model, table)
    surface = model[-1].surfaces_[0]
    corners = np.array(list(product(*zip(U.min(axis=0), U.max(axis=0), strict=True))))
    slopes = surface.gradient(corners) / model[1].scale_
    assert summary.surfaces[0].directions
    for direction in summary.surfaces[0].directions:
        j = direction["feature"]
        assert_allclose(
            [direction["lowest"], direction["highest"]], [slopes[:, j].min(), slopes[:, j].max()], rtol=1e-10, atol=1e-14
        )
        expected = "increasing" if slopes[:, j].min() >= 0 else "decreasing" if slopes[:, j].max() <= 0 else "changes sign"
        assert direction["verdict"] == expected
        assert_allclose(direction["rising"], np.mean(surface.gradient(U)[:, j] > 0))
        step = np.zeros(V.shape[1])
        step[j] = 1e-5 * model[1].scale_[j]
        rise = surface(model[1].transform(V + step)) - surface(model[1].transform(V - step))
        assert (rise / (2 * step[j]) >= direction["lowest"] - 1e-6).all()
        assert (rise / (2 * step[j]) <= direction["highest"] + 1e-6).all()


def test_the_centre_is_where_the_gradient_vanishes():
    rng = np.random.default_rng(0)
    X = rng.normal([5.0, -2.0, 9.0], [2.0, 0.5, 1.0], size=(90, 3))
    y = ((X[:, 0] - 5.0) ** 2 + 9.0 * (X[:, 1] + 1.8) ** 2 + 2.0 * (X[:, 0] - 5.0) * (X[:, 1] + 2.0) > 4.0).astype(int)
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(5, 64.0, loss="hinge", exclude=[2, 4, 5, 8], **PLAIN)).fit(X, y)
    summary = summarise(model, X, y, ks=(5,), cv=2, n_boot=0)
    geometry, surface = summary.surfaces[0], model[-1].surfaces_[0]
    assert_allclose(sorted(geometry.curvatures), sorted(v for v in np.linalg.eigvalsh(surface.W) if abs(v) > 1e-12))
    assert geometry.n_flat == 0  # over the two features that it uses
    assert geometry.kind == QuadraticSurface(surface.W[:2, :2], surface.b[:2], surface.c).kind() != surface.kind()
    assert [feature for feature, _ in geometry.centre] == [0, 1]
    point = np.array([[value for _, value in geometry.centre] + [9.0]])
    for j in (0, 1):
        step = 1e-4 * np.eye(3)[j]
        rise = model.decision_function(point + step) - model.decision_function(point - step)
        assert_allclose(rise / 2e-4, 0.0, atol=1e-6)
    assert_allclose(geometry.centre_value, model.decision_function(point)[0], rtol=1e-9)


def test_slices_are_the_models_scores_with_all_else_held(case):
    model, table, y, summary, _ = case
    V, _ = features_of(model, table)
    assert summary.slices
    for picture in summary.slices:
        names = [summary.features[j].column for j in (picture["first"], picture["second"])]
        held = dict(picture["held"])
        assert held.get("home", "own") == "own"
        for i, j in ((0, 0), (7, 33), (40, 40)):
            row = {name: [float(value) if name != "home" else value] for name, value in held.items()}
            row |= {names[0]: [picture["x"][j]], names[1]: [picture["y"][i]]}
            row = {name: row.get(name, [table[name][0]]) for name in table.names}  # columns that the model does not use
            assert_allclose(picture["values"][i][j], model.decision_function(row)[0], rtol=1e-5, atol=1e-5)
        drawn = {*picture["events"], *picture["others"]}
        assert drawn <= set(map(tuple, V[:, [picture["first"], picture["second"]]].tolist()))
        chosen = V[y == 1][:, [picture["first"], picture["second"]]].tolist()
        assert set(picture["events"]) <= set(map(tuple, chosen))


def test_boundary_pieces_lie_where_the_score_is_zero(case):
    summary = case[3]
    picture = next(picture for picture in summary.slices if picture["boundary"])
    values = np.array(picture["values"])
    fine = np.abs(values).max() / 200
    x, y = np.array(picture["x"]), np.array(picture["y"])
    for x0, y0, x1, y1 in picture["boundary"]:
        for px, py in ((x0, y0), (x1, y1)):
            i, j = np.searchsorted(y, py) - 1, np.searchsorted(x, px) - 1
            block = values[max(i, 0) : i + 2, max(j, 0) : j + 2]
            assert block.min() - fine <= 0 <= block.max() + fine


def test_cases_split_the_score_and_end_on_the_other_side(case):
    model, table, y, summary, _ = case
    V, _ = features_of(model, table)
    decision = model.decision_function(table)
    mean = model[-1].surfaces_[0](model[1].transform(V.mean(axis=0)[None]))[0]
    assert len(summary.cases) == 3
    reached = 0
    for explained in summary.cases:
        assert (explained.label, explained.actual) == ("lost", ("paid", "lost")[y[explained.row]])
        assert explained.score == decision[explained.row]
        total = sum(part.points for part in explained.contributions)
        assert_allclose(total, mean - explained.score, rtol=1e-8)
        assert [reason.points for reason in explained.reasons] == sorted([r.points for r in explained.reasons], reverse=True)
        worst = {part.column: -part.points for part in explained.contributions}
        for reason in explained.reasons:
            assert_allclose(reason.points, worst[reason.column], rtol=1e-12)
        moved = V[explained.row].copy()
        for change in explained.changes:
            j = [feature.name for feature in summary.features].index(change.feature)
            assert change.before == moved[j]
            moved[j] = change.after
        if explained.changes:
            reached += 1
            assert model[1:].decision_function(moved[None])[0] <= 0
            assert (moved >= V.min(axis=0) - 1e-9).all()
            assert (moved <= V.max(axis=0) + 1e-9).all()
    assert reached


def test_progress_goes_through_all_stages(case):
    shares, stages = zip(*case[4], strict=True)
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1.0
    named = ["cross-validation", "branch and bound", "bounds along the path", "bootstrap fits", "explanations and charts"]
    assert [stage for stage in dict.fromkeys(stages) if stage in named and stage != named[1]] == [*named[:1], *named[2:]]
    assert stages.count("bootstrap fits") == N_BOOT + 1


def test_a_calibrated_model_is_judged_by_its_probabilities():
    table, y = loans(4)
    model = calibrated_pipeline(table, y, method="pd")
    summary = summarise(model, table, y, ks=(5,), cv=FOLDS, n_boot=0, rows=(5,))
    V, _ = features_of(model.estimator_, table)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(5, 16.0, loss="hinge", method="pd", **PLAIN))
    scores = cross_val_predict(pipeline, V, y, cv=StratifiedKFold(FOLDS), method="decision_function")
    probability = model.calibrators_[0](scores)
    values = {measure["name"]: measure for measure in summary.measures}
    assert_allclose(values["Brier score"]["out_of_fold"], brier_score_loss(y, probability), rtol=1e-10)
    assert_allclose(values["Accuracy"]["out_of_fold"], np.mean((probability > 0.5) == y), rtol=1e-14)
    assert_allclose(summary.cross_validation.mean, [values["Accuracy"]["out_of_fold"]], rtol=1e-14)
    assert np.mean((scores > 0.0) == y) != values["Accuracy"]["out_of_fold"]
    assert_allclose(values["Accuracy"]["fitted"], model.score(table, y), rtol=1e-14)
    assert summary.has_probabilities
    assert_allclose(model.calibrators_[0](np.array([summary.performance["cutoff"]]))[0], 0.5, atol=1e-9)
    assert_allclose(summary.cases[0].probability, model.predict_proba(table)[5, 1], rtol=1e-12)
    assert [explained.row for explained in summary.cases] == [5]


def test_out_of_fold_predictions_of_more_classes_follow_the_calibration():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(1, 0.05, loss="hinge", method="pd", **PLAIN))
    model = CalibratedModel(pipeline).fit(X, y)
    summary = summarise(model, X, y, cv=FOLDS, n_boot=0)
    scores = cross_val_predict(pipeline, X, y, cv=FOLDS, method="decision_function")
    chances = [calibrator(column) for calibrator, column in zip(model.calibrators_, scores.T, strict=True)]
    decided = np.argmax(chances, axis=0)
    assert (decided != scores.argmax(axis=1)).any()
    assert np.array_equal(summary.confusion, confusion_matrix(y, decided))
    assert_allclose(summary.measures[0]["out_of_fold"], np.mean(decided == y), rtol=1e-14)


def test_equal_seeds_give_equal_summaries_but_for_time(case):
    model, table, y, *_ = case
    first, again = (summarise(model, table, y, ks=(2,), cv=2, n_boot=2, random_state=3) for _ in range(2))
    other = summarise(model, table, y, ks=(2,), cv=2, n_boot=2, random_state=4)
    *facts, (title, _) = again.facts
    assert title == "Time"
    assert replace(again, facts=(*facts, first.facts[-1]), created=first.created) == first
    assert other.surfaces[0].terms != first.surfaces[0].terms
