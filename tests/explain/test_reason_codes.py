"""Reason codes: exact split, order, references, texts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import PLAIN, random_samples, random_surface
from helpers.coalitions import level_coder, mixed_rows, shapley_by_definition
from quadric import QuadraticSurface, SparseQuadraticSVC
from quadric.credit import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.explain import reason_codes, recourse
from quadric.tables import TableEncoder


@pytest.fixture(scope="module")
def credit():
    X, y = random_samples(1, m=120, n=4)
    X = pd.DataFrame(50 + 10 * X, columns=["age", "income", "debt", "limit"])
    labels = np.where(y > 0, "default", "paid")  # classes_[0] is "default"
    return make_pipeline(StandardScaler(), SparseQuadraticSVC(k=6, C=5, **PLAIN)).fit(X, labels), X


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_is_split_by_shapley_values_against_one_point(seed):
    rng = np.random.default_rng(seed)
    surface, X, reference = random_surface(rng, 5), rng.normal(size=(3, 5)), rng.normal(size=(1, 5))
    found = reason_codes(surface, X, reference=reference, favourable=1)
    for x, values in zip(X, found.contributions, strict=True):
        assert_allclose(values, shapley_by_definition(surface, x, reference)[0], rtol=1e-9, atol=1e-9)
    assert_allclose(found.contributions.sum(axis=1), surface(X) - surface(reference), rtol=1e-9)
    assert_allclose(found.reference_decision, np.repeat(surface(reference), 3))


def test_the_worst_columns_come_first_and_only_those_that_hurt():
    surface = QuadraticSurface(np.zeros((5, 5)), [1.0, -2.0, 3.0, 0.0, -0.5], 0.0)
    found = reason_codes(
        surface, [[-1.0, -1.0, -1.0, -1.0, -1.0], [1.0, -1.0, 1.0, 0.0, -1.0]], reference=np.zeros((1, 5)), favourable=1
    )
    assert found.columns == [["x2", "x0"], []]
    assert_array_equal(found.points, [[3.0, 1.0, np.nan, np.nan], [np.nan] * 4])
    assert [len(texts) for texts in found.texts] == [2, 0]
    first = reason_codes(surface, [[-1.0] * 5], n=1, reference=np.zeros((1, 5)), favourable=1)
    assert first.columns == [["x2"]]
    assert first.points.shape == (1, 1)


def test_the_first_class_is_favourable_unless_named(credit):
    model, X = credit
    default, named = reason_codes(model, X, background=X), reason_codes(model, X, background=X, favourable="default")
    other = reason_codes(model, X, background=X, favourable="paid")
    assert_array_equal(default.contributions, named.contributions)
    assert_allclose(other.contributions, -default.contributions)
    assert_allclose(other.decision, model.decision_function(X))
    assert_allclose(default.decision, -model.decision_function(X))


def test_the_mean_of_the_population(credit):
    model, X = credit
    found = reason_codes(model, X, background=X.iloc[:50], favourable="paid")
    centre = X.iloc[:50].mean().to_frame().T
    assert_allclose(found.reference_decision, np.repeat(model.decision_function(centre), len(X)), rtol=1e-9)
    part = X.iloc[:50].to_numpy()
    moments = (part.mean(axis=0), part.T @ part / 50)
    assert_allclose(reason_codes(model, X, background=moments, favourable="paid").contributions, found.contributions, atol=1e-9)


def test_the_best_approved_are_the_top_tenth_of_those_with_the_favourable_decision(credit):
    model, X = credit
    found = reason_codes(model, X, reference="approved", background=X, favourable="paid")
    scores = model.decision_function(X)
    approved = np.flatnonzero(model.predict(X) == "paid")
    top = approved[np.argsort(-scores[approved])][: int(np.ceil(len(approved) / 10))]
    assert len(top) >= 3
    centre = X.iloc[top].mean().to_frame().T
    assert_allclose(found.reference_decision, np.repeat(model.decision_function(centre), len(X)), rtol=1e-9)
    strict = reason_codes(model, X, reference="approved", background=X, favourable="paid", cutoff=float(np.sort(scores)[-3]))
    assert_allclose(strict.reference_decision[0], scores.max(), rtol=1e-9)  # two are above, and the best one is the tenth
    with pytest.raises(ValueError, match="no row of the background has the favourable decision 'paid'"):
        reason_codes(model, X, reference="approved", background=X, favourable="paid", cutoff=1e6)


@pytest.mark.parametrize(("favourable", "cutoff"), [("paid", None), ("default", None), ("paid", 0.3), ("default", 0.3)])
def test_the_nearest_point_at_the_cut_off(credit, favourable, cutoff):
    model, X = credit
    found = reason_codes(model, X, reference="cutoff", favourable=favourable, cutoff=cutoff)
    sign = 1 if favourable == "paid" else -1
    assert_allclose(sign * found.reference_decision, 0.0 if cutoff is None else 0.3, atol=1e-9)
    assert_allclose(found.contributions.sum(axis=1), found.decision - found.reference_decision, atol=1e-9)
    declined = found.decision < sign * (cutoff or 0.0)
    assert 0 < declined.sum() < len(X)
    moved = recourse(model, X[declined], target=favourable, cutoff=cutoff)
    changed = np.abs(moved.change) > 1e-6 * np.abs(X[declined])
    named = [set(row) for row in np.array(found.columns, dtype=object)[declined]]
    allowed = [set(X.columns[row]) for row in changed.to_numpy()]
    assert all(mine <= theirs for mine, theirs in zip(named, allowed, strict=True))


def test_no_reasons_where_no_point_is_at_the_cut_off():
    bowl = QuadraticSurface(np.eye(2), [0.0, 0.0], 1.0)
    found = reason_codes(bowl, [[1.0, 1.0]], reference="cutoff")
    assert found.columns == [[]]
    assert np.isnan(found.contributions).all()


def test_a_reference_a_case(credit):
    model, X = credit
    found = reason_codes(model, X, reference=X.iloc[::-1], favourable="paid")
    assert_allclose(found.reference_decision, model.decision_function(X)[::-1])
    with pytest.raises(ValueError, match="reference has 3 rows: give one for all cases or one for each of the 120"):
        reason_codes(model, X, reference=X.iloc[:3])


def test_texts_are_in_raw_units():
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, -1.0], 0.0)
    rows = pd.DataFrame({"age": [20.0, 60.0, 35.0, 45.0], "debt": [1.5, 0.5, 2.5, 3.5]})
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=1, **PLAIN)).fit(rows, [0, 1, 0, 1])
    model[-1].surfaces_ = [surface]
    found = reason_codes(model, rows[:1], reference=pd.DataFrame({"age": [30.0], "debt": [1.0]}), favourable=1)
    points = f"{10.0 / model[0].scale_[0]:.3g}"
    assert found.texts[0][0] == f"age is 20, against 30 in the reference: takes {points} off f"
    own = reason_codes(
        model,
        rows[:1],
        reference=pd.DataFrame({"age": [30.0], "debt": [1.0]}),
        favourable=1,
        template="{feature}!",
        templates={"age": "{value} years instead of {reference} cost {points}"},
    )
    assert own.texts == [[f"20 years instead of 30 cost {points}", "debt!"]]
    for wrong, message in (
        ({"template": "{typo}"}, "unknown placeholder: 'typo'"),
        ({"templates": {"ago": "x"}}, r"\['ago'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            reason_codes(model, rows[:1], reference=rows[1:2], favourable=1, **wrong)


@pytest.mark.parametrize("coder", [level_coder((2, 3)), TableEncoder()], ids=["any coder", "TableEncoder"])
def test_categories_count_together_and_show_what_came_in(coder):
    rows, y = mixed_rows(2)
    X = pd.DataFrame(rows, columns=["age", "income", "home", "job"]).astype({"age": float, "income": float})
    model = make_pipeline(coder, StandardScaler(), SparseQuadraticSVC(k=8)).fit(X, y)
    found = reason_codes(model, X, background=X, favourable="good", template="{feature}: {value} / {reference}")
    assert found.names == ["age", "income", "home", "job"]
    assert found.contributions.shape == (80, 4)
    assert_allclose(found.contributions.sum(axis=1), found.decision - found.reference_decision, atol=1e-9)
    texts = {(i, text.split(":")[0]): text for i, row in enumerate(found.texts) for text in row}
    homes = [(i, text) for (i, column), text in texts.items() if column == "home"]
    assert homes
    assert all(text == f"home: {X.home[i]} / a mixture" for i, text in homes)
    ages = [(i, text) for (i, column), text in texts.items() if column == "age"]
    assert all(text == f"age: {X.age[i]:g} / {X.age.mean():.6g}" for i, text in ages)
    best = int(found.contributions[:, 2].argmax())
    against = reason_codes(model, X, reference=X.iloc[[best]], favourable="good", template="{feature}: {value} / {reference}")
    shown = [text for row in against.texts for text in row if text.startswith("home")]
    assert shown
    assert all(text.endswith(f"/ {X.home[best]}") for text in shown)


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(k=3).fit(X, y)
    found = reason_codes(model, X, background=X, reference="approved", favourable=2)
    assert_allclose(found.decision, model.decision_function(X)[:, 2])
    assert (found.reference_decision[0] > found.decision[:100]).mean() > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reference": "median"}, "reference must be 'mean', 'approved', 'cutoff' or rows"),
        ({}, "reference='mean' needs the population: give it as background"),
        ({"n": 0, "reference": "cutoff"}, "n must be an integer of at least 1"),
        ({"favourable": 5, "reference": "cutoff"}, "favourable must be one of the classes"),
    ],
)
def test_wrong_requests_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        reason_codes(random_surface(np.random.default_rng(0), 2), np.zeros((1, 2)), **change)


def table_model(missing, k):
    rng = np.random.default_rng(3)
    age, income = rng.normal(40, 10, 90), rng.normal(30, 5, 90)
    y = np.where((age - 40) / 10 + (income - 30) / 5 + 0.3 * rng.normal(size=90) > 0, "good", "bad")
    age[::9] = np.nan
    rows = {"age": age, "income": income}
    steps = [TableEncoder(missing=missing), StandardScaler(), SparseQuadraticSVC(k=k, loss="least_squares")]
    return make_pipeline(*steps).fit(rows, y), rows


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_no_reason(seed):
    rng = np.random.default_rng(seed)
    surface, reference = random_surface(rng, 4), rng.normal(size=(1, 4))
    beside = np.vstack([np.nextafter(reference, np.inf), np.nextafter(reference, -np.inf)])
    assert reason_codes(surface, beside, reference=reference, favourable=1).texts == [[], []]
    assert reason_codes(surface, reference + 1e-6, reference=reference, favourable=1).texts != [[]]


def test_missing_values_are_called_missing():
    model, rows = table_model("indicator", k=9)
    reasons = reason_codes(model, rows, reference="mean", background=rows, favourable="bad", n=2)
    texts = [text for row in reasons.texts[::9] for text in row if text.startswith("age")]
    assert texts
    mean = np.nanmean(rows["age"])
    assert all(text.startswith(f"age is missing, against {mean:.6g} in the reference") for text in texts)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_the_best_approved_are_those_that_the_calibrated_model_approves(kind):
    X, y = load_iris(return_X_y=True)
    inner = SparseQuadraticSVC(k=4, loss="least_squares", **PLAIN).fit(X, y)
    unlikely = {"sigmoid": SigmoidCalibration(-1.0, 9.0), "isotonic": IsotonicCalibration([-9.0, 9.0], [0.0, 0.1])}
    likely = {"sigmoid": SigmoidCalibration(-1.0, 0.0), "isotonic": IsotonicCalibration([-9.0, 9.0], [0.0, 1.0])}
    model = CalibratedModel.from_parts(inner, [unlikely[kind], likely[kind], likely[kind]])
    asked = {"reference": "approved", "background": X}
    assert (inner.predict(X) == 0).sum() == 50
    with pytest.raises(ValueError, match="no row of the background has the favourable decision 0"):
        reason_codes(model, X[:3], favourable=0, **asked)
    approved = X[model.predict(X) == 1]
    best = approved[np.argsort(-inner.decision_function(approved)[:, 1], kind="stable")[: int(np.ceil(len(approved) / 10))]]
    f = inner.surfaces_[1](best.mean(axis=0)[None])[0]
    assert_allclose(reason_codes(model, X[:3], favourable=1, **asked).reference_decision, f)
