"""The validation table says what scikit-learn's measures say, sample by sample."""

import csv
import io

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import random_samples
from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, SigmoidCalibration, ks_statistic, population_stability_index, validation_table

NAMES = ("development", "test", "out of time")
CALIBRATED = CalibratedModel(make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3, loss="least_squares", method="pd")))


def drifting():
    """Three samples, the last from another population."""
    parts = {}
    for seed, name in enumerate(NAMES):
        X, y = random_samples(seed, m=120, n=3, noise=1.5)
        parts[name] = (X + 0.8 * (name == "out of time"), np.where(y > 0, "bad", "a good one"))
    return parts


@pytest.fixture(scope="module")
def case():
    parts = drifting()
    return clone(CALIBRATED).fit(*parts["development"]), parts


def test_every_measure_is_that_of_its_sample(case):
    model, parts = case
    table = validation_table(model, parts)
    assert table.samples == NAMES
    assert table.event == "bad"
    assert table.values.shape == (12, 3)
    development = model.predict_proba(parts["development"][0])[:, 1]
    for name, (X, y) in parts.items():
        p, event = model.predict_proba(X)[:, 1], y == "bad"
        expected = {
            "samples": 120,
            "event rate": event.mean(),
            "mean probability": p.mean(),
            "accuracy": accuracy_score(y, model.predict(X)),
            "AUC": roc_auc_score(event, p),
            "Gini": 2 * roc_auc_score(event, p) - 1,
            "KS": ks_statistic(event, p),
            "Brier score": brier_score_loss(event, p),
            "log loss": log_loss(event, p),
            "PSI": population_stability_index(development, p),
        }
        assert {measure: table.value(measure, name) for measure in expected} == pytest.approx(expected, abs=1e-12)
    assert table.value("PSI", "development") == 0.0
    assert table.value("PSI", "out of time") > 2 * table.value("PSI", "test") > 0


def test_the_calibration_line_maximises_the_likelihood(case):
    model, parts = case
    table = validation_table(model, parts)
    for name, (X, y) in parts.items():
        x, event = logit(model.predict_proba(X)[:, 1]), y == "bad"

        def loss(line, x=x, event=event):
            t = line[0] + line[1] * x
            return np.sum(np.logaddexp(0, t) - event * t)

        best = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
        found = [table.value("calibration intercept", name), table.value("calibration slope", name)]
        assert found == pytest.approx(best, abs=1e-5)


def test_a_perfect_calibration_has_intercept_zero_and_slope_one():
    class Known(CalibratedModel):
        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, size=(50_000, 1))
    y = (rng.uniform(size=50_000) < p[:, 0]).astype(int)
    fitted = SparseQuadraticSVC(k=1, loss="least_squares", method="pd").fit(p[:50], y[:50])
    table = validation_table(Known.from_parts(fitted, [SigmoidCalibration(-1, 0)]), {"all": (p, y)})
    assert table.value("calibration intercept", "all") == pytest.approx(0.0, abs=0.05)
    assert table.value("calibration slope", "all") == pytest.approx(1.0, abs=0.05)
    assert table.value("mean probability", "all") == pytest.approx(table.value("event rate", "all"), abs=0.01)


def test_calibration_lines_that_do_not_exist_are_blank(case):
    model, parts = case
    X, _ = parts["development"]
    separated = np.where(model.predict_proba(X)[:, 1] > 0.4, "bad", "a good one")
    sure = clone(CALIBRATED).set_params(method="isotonic").fit(*parts["development"])
    assert sure.predict_proba(X).min() == 0.0
    for table in (validation_table(model, {"s": (X, separated)}), validation_table(sure, {"s": parts["development"]})):
        assert np.isnan(table.value("calibration slope", "s"))
        assert np.isnan(table.value("calibration intercept", "s"))
        assert np.isfinite(table.value("log loss", "s"))


def test_a_model_without_probabilities_leaves_their_measures_blank(case):
    model, parts = case
    inner = model.estimator_
    table = validation_table(inner, parts)
    for name, (X, y) in parts.items():
        assert table.value("accuracy", name) == accuracy_score(y, inner.predict(X))
        assert table.value("AUC", name) == pytest.approx(roc_auc_score(y == "bad", inner.decision_function(X)))
        for measure in ("mean probability", "Brier score", "log loss", "calibration intercept", "calibration slope"):
            assert np.isnan(table.value(measure, name))
    assert table.cutoff == 0.0


@pytest.mark.parametrize("calibrated", [True, False])
def test_the_event_may_be_the_first_class(case, calibrated):
    model, parts = case
    model = model if calibrated else model.estimator_
    usual, turned = validation_table(model, parts), validation_table(model, parts, event="a good one")
    assert turned.event == "a good one"
    for name in NAMES:
        for measure in ("AUC", "KS", "accuracy"):
            assert turned.value(measure, name) == pytest.approx(usual.value(measure, name), abs=1e-12)
        assert turned.value("event rate", name) == pytest.approx(1 - usual.value("event rate", name))
        if calibrated:
            assert turned.value("calibration slope", name) == pytest.approx(usual.value("calibration slope", name), rel=1e-6)


def test_the_cut_off_decides_what_is_accurate(case):
    model, parts = case
    X, y = parts["test"]
    table = validation_table(model, {"test": (X, y)}, cutoff=0.2)
    assert table.cutoff == 0.2
    assert table.value("accuracy", "test") == np.mean((model.predict_proba(X)[:, 1] > 0.2) == (y == "bad"))
    assert validation_table(model, parts).cutoff == 0.5


def test_weights_are_repetitions(case):
    model, parts = case
    rng = np.random.default_rng(0)
    weights = {name: rng.integers(0, 4, size=120) for name in NAMES}
    rows = {name: np.repeat(np.arange(120), weights[name]) for name in NAMES}
    weighted = validation_table(model, {name: (X, y, weights[name]) for name, (X, y) in parts.items()})
    repeated = validation_table(model, {name: (X[rows[name]], y[rows[name]]) for name, (X, y) in parts.items()})
    assert weighted.values == pytest.approx(repeated.values, rel=1e-6, abs=1e-9)


def test_renderings_carry_the_numbers(case):
    model, parts = case
    table = validation_table(model.estimator_, {"development": parts["development"], "a|b, c": parts["test"]})
    auc = table.values[table.measures.index("AUC")]
    lines = table.to_text().splitlines()
    assert lines[0].split() == ["development", "a|b,", "c"]
    assert lines[1].split() == ["samples", "120", "120"]
    assert next(line for line in lines if line.startswith("AUC")).split() == ["AUC", f"{auc[0]:.4f}", f"{auc[1]:.4f}"]
    assert "Brier score" in lines
    assert len({len(line) for line in lines if not line.startswith(("mean", "Brier", "log", "calibration"))}) == 1
    low, high = (ends[table.measures.index("AUC")] for ends in (table.low, table.high))
    interval = " | ".join(f"{a:.3f} to {b:.3f}" for a, b in zip(low, high, strict=True))
    markdown = table.to_markdown().splitlines()
    assert markdown[:2] == ["|  | development | a\\|b, c |", "| --- | ---: | ---: |"]
    assert f"| AUC | {auc[0]:.4f} | {auc[1]:.4f} |" in markdown
    assert markdown[markdown.index(f"| AUC | {auc[0]:.4f} | {auc[1]:.4f} |") + 1] == f"|   95 % | {interval} |"
    read = list(csv.reader(io.StringIO(table.to_csv())))
    assert read[0] == ["measure", "development", "a|b, c"]
    assert [float(cell) for cell in read[5][1:]] == auc.tolist()
    assert read[3] == ["mean probability", "", ""]
    assert [row[0] for row in table.rows()] == list(table.measures)
    more = {row[0]: row[1:] for row in read[13:]}
    assert [float(cell) for cell in more["AUC, 95 % to"]] == high.tolist()
    terms = {drift.name: drift for drift in table.terms["a|b, c"]}
    assert more["PSI of column x0"] == ["", repr(table.columns["a|b, c"][0].psi)]
    assert {name for name in more if name.startswith("PSI of term")} == {f"PSI of term {name}" for name in terms}
    moved = [float(more[f"mean change by term {name}"][1]) for name in terms]
    score = [model.estimator_.decision_function(parts[name][0]).mean() for name in ("development", "test")]
    assert sum(moved) == pytest.approx(score[1] - score[0], abs=1e-12)


def test_cells_that_are_not_there_are_named(case):
    model, parts = case
    table = validation_table(model, parts)
    with pytest.raises(KeyError, match="no 'auc', only samples, event rate"):
        table.value("auc", "test")
    with pytest.raises(KeyError, match="no 'train', only development"):
        table.value("AUC", "train")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda X, y: {}, {}, "samples must map at least one name"),
        (lambda X, y: [(X, y)], {}, "samples must map at least one name"),
        (lambda X, y: {"test": (X,)}, {}, r"sample 'test' must be \(X, y\) or \(X, y, sample_weight\), got 1 parts"),
        (lambda X, y: {"test": (X, y == "bad")}, {}, r"sample 'test' has labels that the model does not know: \[False, True\]"),
        (lambda X, y: {"test": (X, np.full(len(y), "bad"))}, {}, r"sample 'test': y must have samples of exactly two classes"),
        (lambda X, y: {"test": (X, y[:-1])}, {}, "sample 'test': .* inconsistent numbers of samples"),
        (lambda X, y: {"test": (X, y)}, {"event": 1}, r"event must be one of \['a good one', 'bad'\], got 1"),
        (lambda X, y: {"test": (X, y)}, {"cutoff": np.nan}, "cutoff must be a finite number, got nan"),
        (lambda X, y: {"test": (X, y)}, {"bins": 1}, "bins must be an integer from 2 to 10,000"),
    ],
)
def test_mistakes_are_named_in_one_line(case, change, options, message):
    model, parts = case
    with pytest.raises(ValueError, match=message) as caught:
        validation_table(model, change(*parts["test"]), **options)
    assert "\n" not in str(caught.value)


def test_models_that_cannot_be_judged_are_refused(case):
    _, parts = case
    X, _ = parts["test"]
    with pytest.raises(NotFittedError):
        validation_table(clone(CALIBRATED), parts)
    three = SparseQuadraticSVC(k=2, loss="least_squares", method="pd").fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="two classes, and this one has 3"):
        validation_table(three, parts)
