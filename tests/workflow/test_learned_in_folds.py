"""What folds learn of columns comes from their training rows alone."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from quadric.credit import CalibratedModel
from quadric.estimators import _foldwork
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count, term_names
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.workflow import TrainingOptions, train
from quadric.workflow.preparation import prepare
from quadric.workflow.training import choose, folds_of

OPTIONS = TrainingOptions(terms="quadratic", loss="least_squares", ks=(4,), Cs=(16.0,), folds=3)


def raw_table(m=180):
    """Numbers with gaps, and homes with 13 tents, 9 of which are in the training part of the first fold; all of these good."""
    rng = np.random.default_rng(0)
    risk = np.where(rng.random(m) < 0.5, "bad", "good")
    age = rng.normal(40.0, 10.0, m) + 8.0 * (risk == "bad")
    age[rng.random(m) < 0.2] = np.nan
    home = rng.choice(["own", "rent", "boat"], size=m, p=[0.5, 0.3, 0.2]).astype(object)
    table = as_table(age, home, rng.normal(size=m), risk)
    _, train_rows, left_out = split(table)
    for rows, count in ((train_rows, 9), (left_out, 4)):
        home[rows[risk[rows] == "good"][:count]] = "tent"
    return as_table(age, home, table["debt"], risk)


def as_table(age, home, debt, risk):
    return Table(("age", "home", "debt", "risk"), (age, text_column(home.tolist()), debt, text_column(risk.tolist())))


def first_fold(data, monkeypatch, options=OPTIONS):
    """What the first fold fitted: terms by name, and decision values of the training rows."""
    found, original = {}, _foldwork.fit_fold

    def spy(task, parts, fold, prepared, plan, alone):
        result, (part, search) = original(task, parts, fold, prepared, plan, alone)
        if fold.number == 0:
            (cell,) = result.cells.values()
            (own,) = cell.surfaces
            z = np.zeros(term_count(parts.samples.n_features))
            z[own.terms] = own.z
            surface = QuadraticSurface.from_coordinates(z, own.c)
            found["decision"] = surface(part.units(parts.samples.X[fold.train]))
            found["terms"] = {term_names(data.feature_names)[term] for term in own.terms}
            found["recoding"], found["thin"] = part.units.recoding, part.thin
        return result, (part, search)

    with monkeypatch.context() as patch:
        patch.setattr(_foldwork, "fit_fold", spy)
        choose(data, options)
    return found


def split(table):
    data = prepare(table, "risk", OPTIONS)
    train_rows, left_out = next(folds_of(data, OPTIONS).split(data.X, data.y))
    return data, train_rows, left_out


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_a_fold_does_not_see_values_of_the_rows_that_it_leaves_out(missing, monkeypatch):
    table, asked = raw_table(), replace(OPTIONS, missing=missing)
    _, _, left_out = split(table)
    age, home = table["age"].copy(), table["home"].copy()
    age[left_out] += 1_000.0
    home[left_out[home[left_out] == "tent"]] = "own"
    changed = as_table(age, home, table["debt"], table["risk"])
    before, after = (first_fold(prepare(each, "risk", asked), monkeypatch, asked) for each in (table, changed))
    np.testing.assert_allclose(after["decision"], before["decision"], atol=1e-9)
    assert after["terms"] == before["terms"]


def test_imputed_values_are_means_of_the_training_rows(monkeypatch):
    table = raw_table()
    data, train_rows, _ = split(table)
    found = first_fold(data, monkeypatch)
    age = data.feature_names.index("age")
    assert found["recoding"].fill[age] == pytest.approx(np.nanmean(table["age"][train_rows]))
    assert data.encoder.inputs_[0].fill == pytest.approx(np.nanmean(table["age"]))
    assert found["recoding"].fill[age] != pytest.approx(np.nanmean(table["age"]))


def test_a_level_that_is_rare_in_the_training_part_is_no_term_there(monkeypatch):
    table = raw_table()
    data = prepare(table, "risk", OPTIONS)
    assert "home=tent" in data.feature_names
    found = first_fold(data, monkeypatch)
    names = term_names(data.feature_names)
    thin = {names[term] for term in found["thin"]}
    assert {"home=tent", "age*home=tent", "home=tent*debt"} <= thin
    assert not found["terms"] & thin


def test_terms_that_must_be_used_stay_however_rare_they_are(monkeypatch):
    table = raw_table()
    asked = replace(OPTIONS, include=("home=tent",))
    data = prepare(table, "risk", asked)
    assert "home=tent" in first_fold(data, monkeypatch, asked)["terms"]


def test_the_model_itself_has_what_all_rows_say():
    table = raw_table()
    trained = train(table, "risk", OPTIONS)
    new = as_table(
        np.array([np.nan, np.nanmean(table["age"])]), np.array(["own", "own"], dtype=object), np.zeros(2), table["risk"][:2]
    )
    X = trained.model.estimator_[0].transform(new) if hasattr(trained.model, "estimator_") else trained.model[0].transform(new)
    age, flag = (trained.data.feature_names.index(name) for name in ("age", "age is missing"))
    assert X[0, age] == pytest.approx(X[1, age])
    assert X[:, flag].tolist() == [1.0, 0.0]
    assert trained.classifier.n_features_in_ == len(trained.data.feature_names)


def test_calibration_without_a_choice_learns_in_folds_too():
    table = raw_table()
    asked = replace(OPTIONS, ks=None, Cs=None, k=4, C=16.0, cross_validate=False, missing="impute")
    trained = train(table, "risk", asked)
    data, folds = trained.data, folds_of(trained.data, asked)
    decision = np.full(len(data.y), np.nan)
    for rows, left_out in folds.split(data.X, data.y):
        age = np.where(np.isnan(table["age"]), np.nanmean(table["age"][rows]), table["age"])
        tents = data.feature_names.index("home=tent")
        X = np.column_stack([age, data.X[:, 1:]])
        if np.sum(X[rows, tents]) < 10:
            X[:, tents] = 0.0
        thin = data.coding.thin_terms(X[rows]).tolist()
        own = clone(trained.classifier).set_params(exclude=sorted({*data.limits.exclude, *thin}))
        decision[left_out] = own.fit(X[rows], data.y[rows]).decision_function(X[left_out])
    expected = CalibratedModel.around(trained.classifier, data.X, data.y, method="auto", cv=folds, out_of_fold=decision)
    grid = np.linspace(-2.0, 2.0, 9)
    np.testing.assert_allclose(trained.model.calibrators_[0](grid), expected.calibrators_[0](grid), atol=1e-9)
    shared = CalibratedModel.around(trained.classifier, data.X, data.y, method="auto", cv=folds)
    assert np.abs(trained.model.calibrators_[0](grid) - shared.calibrators_[0](grid)).max() > 1e-6
