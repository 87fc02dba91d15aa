"""What people read of rules on slopes and coefficients: words, certificates, explanations, reports; and fits that keep them."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import quadric
from quadric import SparseQuadraticSVC, certify
from quadric.cli import main
from quadric.credit import CalibratedModel
from quadric.estimators.calibration import SigmoidCalibration
from quadric.explain import stability
from quadric.fitted import fitted_model
from quadric.report import render, summarise
from quadric.safe_csv import CsvWriter
from quadric.tables import TableEncoder, read_table
from quadric.workflow.rule_words import listed_rules, listed_shapes

RULES = {"monotonic_cst": {0: 1, 1: -1}, "coef_bounds": {"x0": (None, 2.0)}, "feature_groups": [[2, 3]]}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("ruled"), np.random.default_rng(0)
    income, debt, home = rng.normal(30.0, 8.0, 150), rng.normal(5.0, 2.0, 150), rng.choice(["own", "rent", "free"], 150)
    score = -(income - 30.0) / 8.0 + 0.02 * (income - 30.0) ** 2 + (home == "rent")
    risk = np.where(score + 0.5 * rng.normal(size=150) > 0.0, "bad", "good")
    with (folder / "data.csv").open("w", newline="") as file:
        CsvWriter(file).writerows([("income", "debt", "home", "risk"), *zip(income, debt, home, risk, strict=True)])
    table = read_table(folder / "data.csv")
    X = {name: table[name] for name in ("income", "debt", "home")}
    model = make_pipeline(TableEncoder(), SparseQuadraticSVC(k=5, C=64.0, **RULES)).fit(X, table["risk"])
    quadric.save_model(model, folder / "model.json", target="risk", class_names=["bad", "good"], data=table)
    return folder, model, X, table["risk"]


def test_rules_in_words_and_what_lifts_each():
    sets = [{"a", "b"}], [{"a", "b"}, {"c"}]
    assert [[*listed_rules(SparseQuadraticSVC(interaction_cst=own))] for own in sets] == [
        ["products within one set of columns and among the others"],
        ["products within 2 sets of columns and among the others"],
    ]
    nested = SparseQuadraticSVC(monotonic_cst={"bad": {0: 1, 2: 0}, "good": {0: -1, 1: "decreasing"}})
    assert listed_shapes(nested, ["a", "b", "c"]) == {
        "score of bad: never falls with a": {"monotonic_cst": {"bad": {2: 0}, "good": {0: -1, 1: "decreasing"}}},
        "score of good: never rises with a": {"monotonic_cst": {"bad": {0: 1, 2: 0}, "good": {1: "decreasing"}}},
        "score of good: never rises with b": {"monotonic_cst": {"bad": {0: 1, 2: 0}, "good": {0: -1}}},
    }
    alone = SparseQuadraticSVC(monotonic_cst={"bad": {0: 1}})
    assert listed_shapes(alone, ["a"]) == {"score of bad: never falls with a": {"monotonic_cst": None}}
    limits = SparseQuadraticSVC(monotonic_cst=[0, -1], coef_bounds={"a*b": (0.0, None), 3: (-1.0, np.inf), "b": (-1, 1)})
    assert listed_shapes(limits, ["a", "b"], ["a^2", "a*b", "b^2", "a", "b"]) == {
        "never rises with b": {"monotonic_cst": {0: 0}},
        "coefficient of a*b at least 0": {"coef_bounds": {3: (-1.0, np.inf), "b": (-1, 1)}},
        "coefficient of a at least -1": {"coef_bounds": {"a*b": (0.0, None), "b": (-1, 1)}},
        "coefficient of b at least -1 and at most 1": {"coef_bounds": {"a*b": (0.0, None), 3: (-1.0, np.inf)}},
    }


def test_refits_keep_the_rules(made):
    _, model, X, y = made
    view = fitted_model(model)
    assert view.is_ruled
    again = view.procedure()
    assert again.monotonic_cst == {1: {0: 1, 1: -1}}
    assert again.coef_bounds == {1: {view.term_names.index("income"): (-np.inf, 2.0)}}
    drawn = stability(model, X, y, n_boot=5)
    names = view.term_names
    assert (drawn.coef[:, :, names.index("income")] >= 0.0).all()
    (certificate,) = certify(model, X, y)
    assert [proof.feature for proof in certificate.monotone] == ["income", "debt"]
    assert certificate.swap_optimal


def test_commands_and_reports_repeat_the_proofs(made, tmp_path, capsys):
    folder, model, X, y = made
    words = "proved: never falls with income, for any row"
    assert main(["certify", str(folder / "model.json"), str(folder / "data.csv"), "--time-limit", "0"]) == 0
    assert words in " ".join(capsys.readouterr().out.split())
    assert main(["certify", str(folder / "model.json"), str(folder / "data.csv"), "--time-limit", "0", "--json"]) == 0
    proofs = json.loads(capsys.readouterr().out)["certificates"][0]["monotone"]
    assert [(proof["feature"], proof["sign"], proof["proved"]) for proof in proofs] == [("income", 1, True), ("debt", -1, True)]
    explain = ["explain", str(folder / "model.json"), str(folder / "data.csv"), "--rows", "0"]
    assert main(explain) == 0
    text = capsys.readouterr().out
    assert f"rule: {words} (income from" in text
    assert max(map(len, text.splitlines())) <= 80
    assert main([*explain, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0].startswith(f"{words} (income from")
    page = render(summarise(model, X, y, n_boot=0, cv=2, ks=(3, 5), bounds=False))
    assert f"<li>P{words[1:]} (income from" in page
    assert "<li>Coefficient of income at most 2.</li>" in page


def test_a_calibration_that_falls_is_refused_beside_a_rule(made):
    _, model, _, _ = made
    with pytest.raises(ValueError, match="would turn the rules of monotonic_cst round"):
        CalibratedModel.from_parts(model, [SigmoidCalibration(1.0, 0.0)])
    assert CalibratedModel.from_parts(model, [SigmoidCalibration(-1.0, 0.0)]).method_ == "sigmoid"
