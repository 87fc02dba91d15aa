"""Reject inference: weights by numpy, weights as repetitions, and a simulation in which the truth about rejects is known."""

import csv
import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from helpers.scorecards import loans_with_gaps
from quadric.cli import main
from quadric.errors import ParameterError
from quadric.export import read_model
from quadric.review import acceptance_weights, band_weights, fuzzy_weights, infer_rejects
from quadric.tables import Table
from quadric.tables.table import text_column
from quadric.workflow import TableModel, TrainingOptions, train

FIXED = {"k": 2, "C": 4.0, "loss": "logistic", "terms": "linear", "favourable": "good", "positive": "bad"}


def test_weights_are_those_of_numpy_and_sum_to_the_rows():
    rng = np.random.default_rng(1)
    score, chances = rng.normal(size=997), rng.uniform(0.001, 0.999, 997)
    accepted = (rng.random(997) < chances) | (chances < 0.02)
    bad, good = fuzzy_weights(chances, 1.7)
    np.testing.assert_allclose(bad, [min(1.7 * p, 1.0) for p in chances], rtol=0, atol=1e-10)
    np.testing.assert_allclose(bad + good, 1.0, rtol=0, atol=1e-15)
    weight, alone = band_weights(score, accepted, 7)
    edges = np.sort(score)[[int(np.ceil(997 * i / 7)) - 1 for i in range(1, 7)]]
    expected = np.zeros(997)
    for band in range(7):
        low, high = [-np.inf, *edges][band], [*edges, np.inf][band]
        rows = (score > low) & (score <= high)
        expected[rows & accepted] = rows.sum() / (rows & accepted).sum()
    np.testing.assert_allclose(weight, expected, rtol=0, atol=1e-10)
    assert (weight.sum(), alone) == (pytest.approx(997, abs=1e-9), 0)
    weight, n_low = acceptance_weights(chances, accepted)
    expected = np.where(accepted, 1 / np.maximum(chances, 0.02), 0)
    np.testing.assert_allclose(weight, expected * 997 / expected.sum(), rtol=0, atol=1e-10)
    assert n_low == np.sum(accepted & (chances < 0.02))


def test_bands_without_an_accepted_applicant_join_the_nearest():
    score, accepted = np.arange(100.0), np.arange(100) >= 35
    weight, alone = band_weights(score, accepted, 10)
    assert alone == 30
    np.testing.assert_allclose(weight[35:40], 40 / 5)
    np.testing.assert_allclose(weight[40:], 1.0)
    assert weight.sum() == pytest.approx(100.0)


def test_weights_of_a_training_run_are_repetitions():
    table = loans_with_gaps().drop(["income", "housing"])  # imputed values and levels are learned from unweighted rows
    times = np.random.default_rng(2).integers(1, 4, 800)
    weighted = Table((*table.names, "w"), (*table.columns, times.astype(float)))
    repeated = table[np.repeat(np.arange(800), times)]
    options = TrainingOptions(k=4, C=1.0, loss="logistic", cross_validate=False, calibrate=None)
    one, two = train(weighted, "risk", options, weights="w"), train(repeated, "risk", options)
    assert one.data.feature_names == two.data.feature_names
    np.testing.assert_allclose(one.classifier.coef_, two.classifier.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(one.classifier.certificates_[0].objective, two.classifier.certificates_[0].objective, rtol=1e-9)
    plain = train(table, "risk", options)
    assert abs(one.classifier.certificates_[0].objective / plain.classifier.certificates_[0].objective - 1.0) > 0.5


def test_out_of_fold_figures_and_calibration_are_weighted():
    table = loans_with_gaps()
    weight = np.random.default_rng(3).uniform(0.2, 5.0, 800)
    weighted = Table((*table.names, "w"), (*table.columns, weight))
    trained = train(weighted, "risk", TrainingOptions(**FIXED, calibrate="sigmoid"), weights="w")
    search, codes = trained.search, trained.data.codes
    labels = trained.view.decided(search.oof_decision_)[0]
    rows = [search.oof_folds_ == fold for fold in range(5)]
    expected = np.mean([np.sum(weight[own] * (labels == codes)[own]) / weight[own].sum() for own in rows])
    assert trained.cross_validation.accuracy.mean == pytest.approx(expected, abs=1e-12)
    chances = trained.model.calibrators_[0](search.oof_decision_)
    assert np.sum(weight * (chances - codes)) == pytest.approx(0.0, abs=0.05 * weight.sum() ** 0.5)
    assert "w" not in trained.view.input_names


def applicants(seed=0, m=6000):
    """What banks know of applicants: two columns, an old score with something else in it, and whom it accepted by chance."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(m, 2)), rng.normal(size=m)
    bad = rng.random(m) < 1 / (1 + np.exp(1.0 - 1.2 * x[:, 0] - 0.5 * x[:, 1] - 1.5 * z))
    old = x[:, 0] + 1.5 * z + rng.normal(0.0, 0.3, m)
    accepted = rng.random(m) < 1 / (1 + np.exp(0.9 * old - 0.3))
    risk = np.where(bad, "bad", "good").astype(object)
    everything = Table(("a", "b", "old", "risk"), (x[:, 0], x[:, 1], old, text_column(risk.tolist())))
    seen = text_column([label if own else None for label, own in zip(risk, accepted, strict=True)])
    return everything, Table(everything.names, (*everything.columns[:3], seen)), accepted, bad


def test_reweighting_recovers_the_coefficients_of_all_applicants_where_the_score_decided():
    everything, seen, accepted, _ = applicants(m=20_000)
    own = {**FIXED, "C": 1000.0, "standardize": False, "clip": None, "ignore": ("old",)}
    truth = train(everything, "risk", TrainingOptions(**own)).classifier
    truth = dict(zip(("a", "b"), truth.coef_[0][-2:], strict=True))
    by_hand = LogisticRegression(C=1e6).fit(np.column_stack([everything["a"], everything["b"]]), everything["risk"] == "bad")
    np.testing.assert_allclose([truth["a"], truth["b"]], by_hand.coef_[0], rtol=1e-2)
    found, saved = infer_rejects(seen, "risk", TrainingOptions(**own), by="bands", score="old", bands=20, factors=(1.0,))
    gaps = {fit.name: max(abs(fit.terms[name] - truth[name]) for name in truth) for fit in found.fits}
    assert gaps["bands"] < 0.5 * gaps["accepted only"]
    assert found.kept.name == "bands"
    # an independent computation of the weighted fit
    weight, _ = band_weights(np.asarray(seen["old"]), accepted, 20)
    X, y = np.column_stack([seen["a"], seen["b"]])[accepted], (np.asarray(seen["risk"]) == "bad")[accepted]
    own_fit = LogisticRegression(C=1e6, max_iter=1000, tol=1e-10).fit(X, y, sample_weight=weight[accepted])
    np.testing.assert_allclose([found.kept.terms["a"], found.kept.terms["b"]], own_fit.coef_[0], rtol=1e-2)
    assert found.kept.effective_rows == pytest.approx(20_000.0**2 / np.sum(weight**2), rel=1e-10)
    assert TableModel(saved).scores(everything).probabilities.shape == (20_000, 2)


def test_a_factor_of_one_changes_little_and_the_right_factor_finds_the_bad_rate_of_rejects():
    _, seen, accepted, bad = applicants(seed=5)
    own = {**FIXED, "C": 1000.0, "standardize": False, "clip": None, "ignore": ("old",)}
    found, saved = infer_rejects(seen, "risk", TrainingOptions(**own), factors=(1.0, 1.5, 2.0, 3.0))
    base, first = found.fits[:2]
    # where p is the model's own probability, the copies pull neither way
    for name in ("a", "b"):
        assert first.terms[name] == pytest.approx(base.terms[name], rel=0.1)
    rates = [fit.bad_among_rejects for fit in found.fits[1:]]
    assert rates == sorted(rates)
    assert rates[0] < bad[~accepted].mean() < rates[-1]  # accepted applicants look too good
    approved = [fit.approved for fit in found.fits[1:]]
    assert approved == sorted(approved, reverse=True)
    assert (found.n_accepted, found.n_rejected) == (accepted.sum(), (~accepted).sum())
    record = saved.metadata["reject_inference"]
    assert (record["method"], record["factor"], record["n_rejected"]) == ("fuzzy", 1.0, found.n_rejected)
    assert saved.metadata["training"]["options"]["groups"] is None
    assert saved.data.sha256 is None  # no table has these weighted rows


def test_figures_of_a_fit_are_those_of_all_applicants():
    everything, seen, accepted, _ = applicants(seed=7, m=800)
    found, saved = infer_rejects(seen, "risk", TrainingOptions(**FIXED, ignore=("old",)), factor=1.5, factors=(1.0,))
    assert [fit.name for fit in found.fits] == ["accepted only", "factor 1", "factor 1.5"]
    model = TableModel(saved)
    approved = np.array(model.class_names)[model.scores(everything).codes] == "good"
    assert found.kept.approved == pytest.approx(approved.mean(), abs=1e-14)
    base = train(seen[accepted], "risk", TrainingOptions(**FIXED, ignore=("old",)))
    p = TableModel(base.saved()).scores(everything).probabilities[:, 1]
    expected = np.where(accepted, np.asarray(seen["risk"]) == "bad", np.minimum(1.5 * p, 1.0)).astype(float)
    assert found.kept.bad_rate == pytest.approx(expected[approved].mean(), rel=1e-10)
    assert found.kept.bad_among_rejects == pytest.approx(expected[~accepted].mean(), rel=1e-10)
    assert found.fits[0].auc == pytest.approx(base.cross_validation.auc.mean, abs=1e-12)
    (counts,) = (own["counts"] for own in saved.metadata["training"]["reference"]["scores"].values())
    assert sum(counts) == 800  # all applicants, each once


def test_acceptance_is_modelled_on_all_columns():
    _, seen, accepted, _ = applicants(seed=3, m=600)
    found, _ = infer_rejects(seen, "risk", TrainingOptions(**FIXED), by="acceptance", factors=(1.0,))
    assert [fit.name for fit in found.fits] == ["accepted only", "acceptance", "factor 1"]
    assert 1.0 < found.kept.effective_rows < accepted.sum()
    assert any("information of" in words for words in found.words())


def test_decisions_tell_rejects_from_loans_that_are_too_young():
    _, seen, accepted, _ = applicants(m=500)
    status = np.where(accepted, "granted", "refused").astype(object)
    young = np.flatnonzero(accepted)[:40]
    risk = np.asarray(seen["risk"]).copy()
    risk[young] = None
    rows = Table((*seen.names[:3], "risk", "status"), (*seen.columns[:3], text_column(risk.tolist()), status))
    options = TrainingOptions(**FIXED)
    found, saved = infer_rejects(rows, "risk", options, decision="status", factors=(1.0,))
    assert (found.n_accepted, found.n_rejected, found.n_left_out) == (accepted.sum() - 40, (~accepted).sum(), 40)
    assert any("40 rows without an outcome were not declined" in words for words in found.remarks)
    assert "status" not in TableModel(saved).view.input_names
    assert infer_rejects(rows.drop(["status"]), "risk", options, factors=(1.0,))[0].n_rejected == (~accepted).sum() + 40


def test_what_cannot_be_inferred_is_refused():
    everything, seen, _, _ = applicants(m=300)
    options = TrainingOptions(**FIXED)
    for table, how, words in (
        (everything, {}, "no row is a reject"),
        (Table(seen.names, (*seen.columns[:3], text_column([None] * 300))), {}, "no accepted applicants"),
        (seen, {"by": "magic"}, "by must be one of"),
        (seen, {"factor": 0.0}, "positive numbers"),
        (seen, {"factors": (1.0, np.inf)}, "positive numbers"),
        (seen, {"bands": 1}, "bands must be"),
        (seen, {"score": "old"}, "divides applicants into bands"),
        (seen, {"by": "bands", "score": "olt"}, "did you mean 'old'"),
        (seen, {"decision": "risk"}, "is the target"),
        (seen, {"options": TrainingOptions(**FIXED, holdout=0.2)}, "set aside"),
        (seen, {"options": TrainingOptions(k=2, C=1.0, loss="logistic", calibrate=None)}, "needs probabilities"),
    ):
        own = {"options": options, **how}
        with pytest.raises((ValueError, ParameterError), match=words):
            infer_rejects(table, "risk", **own)
    gaps = np.asarray(seen["old"]).copy()
    gaps[3] = np.nan
    holed = Table(seen.names, (*seen.columns[:2], gaps, seen.columns[3]))
    with pytest.raises(ValueError, match="must be a finite number"):
        infer_rejects(holed, "risk", options, by="bands", score="old")


def test_coefficients_of_all_fits_are_in_the_same_units():
    _, seen, accepted, _ = applicants(m=900)
    found, saved = infer_rejects(seen, "risk", TrainingOptions(**FIXED | {"k": 3, "terms": "quadratic"}), factors=(1.0,))
    view = TableModel(saved).view
    values = {
        name: np.clip(np.asarray(seen[name]), *np.quantile(np.asarray(seen[name])[accepted], [0.01, 0.99])) for name in "ab"
    }
    spread = {name: own[accepted].std() for name, own in values.items()}
    assert any("*" in term or "^2" in term for term in found.kept.terms)
    raw = {term: value for term, value in zip(view.term_names, view.surfaces[0].coordinates(), strict=True) if value}
    scale = dict(zip(view.names, view.units.scale, strict=True))
    for term, value in raw.items():
        factors = [term[:-2]] * 2 if term.endswith("^2") else term.split("*")
        if set(factors) <= set(spread):
            expected = value * np.prod([spread[name] / scale[name] for name in factors])
            assert found.kept.terms[term] == pytest.approx(expected, rel=2e-3)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, seen, _, _ = applicants(m=400)
    rows = zip(*(np.asarray(seen[name]).tolist() for name in seen.names), strict=True)
    with open("data.csv", "w", newline="") as file:
        names = ["=a+1", *seen.names[1:]]
        csv.writer(file).writerows([names, *(["" if v is None else v for v in row] for row in rows)])
    own = ["--k", "2", "--C", "4", "--loss", "logistic", "--terms", "linear", "--positive", "bad", "--favourable", "good"]
    return ["rejects", "data.csv", "--target", "risk", *own, "--ignore", "old", "--factors", "1,4"]


def test_the_command_writes_a_model_that_can_be_used_and_says_how_it_was_made(files, tmp_path, capsys):
    assert main([*files, "--sensitivity", "factors.csv"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "factor 1 *" in printed
    assert "the equation keeps its 2 terms" in printed.replace("\n", " ")
    with open("factors.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["fit"] for row in written] == ["accepted only", "factor 1", "factor 4"]
    record = read_model("data.model.json").metadata
    assert record["reject_inference"]["fit"]["name"] == "factor 1"
    assert record["file"] == "data.csv"
    for command in (["predict", "--output", "scores.csv"], ["monitor"], ["report", "--output", "report.html"]):
        assert main([command[0], "data.model.json", "data.csv", *command[1:]]) == 0, command
    counts = "{n_accepted} rows with an outcome and {n_rejected} without one, by weights".format(**record["reject_inference"])
    assert f"the model was fitted to {counts}" in (tmp_path / "report.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["certify", "data.model.json", "data.csv"]) == 0
    assert "fitted to weighted rows" in capsys.readouterr().err
    assert main(["fairness", "data.model.json", "data.csv", "--group", "b", "--refit"]) == 2
    assert "fitted with reject inference" in capsys.readouterr().err
    assert main([*files, "--force", "--json", "--by", "bands"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [fit["name"] for fit in found["fits"]] == ["accepted only", "bands", "factor 1", "factor 4"]
    assert found["method"] == "bands"


def test_the_command_overwrites_nothing_and_says_what_is_wrong_on_one_line(files, tmp_path, capsys):
    (tmp_path / "data.model.json").write_text("mine")
    for arguments, words in (
        (files, "--force"),
        ([*files, "--output", "new.json", "--factor", "-1"], "(--factor, --factors)"),
        ([*files, "--output", "new.json", "--factors", "x"], "--factors"),
        ([*files, "--output", "new.json", "--score", "old"], "(--by bands)"),
        ([*files, "--output", "new.json", "--no-calibrate"], "(--calibrate auto)"),
        ([*files, "--output", "new.json", "--sensitivity", "new.json"], "same file"),
    ):
        assert main(arguments) != 0
        captured = capsys.readouterr()
        assert captured.out == ""
        line = captured.err.splitlines()[-1]
        assert words in line, line
    assert (tmp_path / "data.model.json").read_text() == "mine"
    assert not (tmp_path / "new.json").exists()
