"""``quadric fit``."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.small_tables import credit_columns, csv_text
from quadric.export import read_model
from quadric.tables import read_table
from quadric.workflow import TableModel, TrainingOptions, train
from quadric.workflow.cv_summary import Figure, cross_validated

FAST = ["--target", "risk", "--loss", "least_squares"]
ALONE = [*FAST, "--C", 1, "--no-calibrate"]
"""With --k, there is nothing to choose and nothing to calibrate."""


def test_the_model_is_that_of_the_library(made, run, tmp_path):
    assert run("fit", made.data_csv, *FAST, "--k", 4, "--C", 2, "--output", tmp_path / "m.json").code == 0
    table = read_table(made.data_csv)
    direct = train(table, "risk", TrainingOptions(k=4, C=2.0, loss="least_squares"))
    saved = read_model(tmp_path / "m.json")
    np.testing.assert_array_equal(saved.model.decision_function(table), direct.model.decision_function(table))
    assert saved.target == "risk"
    assert saved.data.sha256 == table.sha256
    assert saved.metadata["file"] == "data.csv"
    assert saved.metadata["training"]["options"]["k"] == 4


def test_a_fit_is_told_at_a_glance(made, run, tmp_path):
    result = run("fit", made.data_csv, *FAST, "--k", 6, "--C", 2, "--output", tmp_path / "m.json")
    lines = result.out.splitlines()
    assert [line.startswith("written to:") for line in lines].index(True) < 14  # a path is as long as it is
    assert max(len(line) for line in lines if "m.json" not in line) <= 80
    text = " ".join(result.out.split())
    found = json.loads(run("fit", made.data_csv, *FAST, "--k", 6, "--C", 2, "--output", tmp_path / "n.json", "--json").out)
    plain = found["cross_validation"]["plain"]
    own, other = "chosen on these folds: expect less on new rows", "chosen on these folds, too"
    assert f"logistic regression, {other}: AUC {plain['auc']:.3f}, log-loss {plain['log_loss']:.3f}" in text
    assert "always good: accuracy 50.0 %" in text or "always bad: accuracy 50.0 %" in text
    assert f"out of fold (5 folds; {own})" in text
    assert "smaller terms and the constant: --verbose)" in text


def test_dates_take_no_terms_from_a_short_equation(made, run, tmp_path):
    """Beside the equation there is a line that says what days are counted from."""
    columns = credit_columns() | {"opened": [f"2024-01-{1 + i % 28:02}" for i in range(120)]}
    (tmp_path / "dates.csv").write_text(csv_text(columns))
    fit = ["fit", tmp_path / "dates.csv", *ALONE, "--k", 3, "--include", "opened", "--output", tmp_path / "m.json"]
    lines = run(*fit).out.splitlines()
    end = lines.index("opened: days since 2024-01-01")
    assert "smaller term" not in "".join(lines[:end])
    assert len(re.findall(r"[(\[]\w+( = \w+\])? - ", " ".join(lines[1:end]))) >= 3


def test_one_fold_has_no_standard_error(made, run, tmp_path, monkeypatch):
    def one_fold(*arguments):
        found = cross_validated(*arguments)
        accuracy, auc, log_loss = (replace(each, error=None) for each in (found.accuracy, found.auc, found.log_loss))
        return replace(found, folds=1, accuracy=accuracy, auc=auc, log_loss=log_loss, products=Figure(-0.1, None))

    monkeypatch.setattr("quadric.workflow.training.cross_validated", one_fold)
    fit = ["fit", made.data_csv, *FAST, "--C", 2, "--output", tmp_path / "m.json", "--force"]
    text = " ".join(run(*fit, "--k", 3).out.split())
    assert "±" not in text
    assert re.search(r"how good: AUC 0\.\d{3}, log-loss 0\.\d{3}, accuracy \d+\.\d % out of fold \(1 fold; chosen", text)
    assert re.search(r"products (helped|did not help): -0\.1000 \(1 fold\)", text)
    text = " ".join(run(*fit, "--k", 3, "--verbose").out.split())
    assert re.search(r"accuracy: \d+\.\d % out of fold \(of one fold: the time ran out\)", text)


def test_a_proof_is_told_at_a_glance(made, run, tmp_path):
    fit = ["fit", made.data_csv, *ALONE, "--k", 2, "--output", tmp_path / "m.json", "--force"]
    assert "proof: proved best with at most 2 terms" in run(*fit, "--method", "exact").out.splitlines()
    assert "proof: " not in run(*fit).out


def test_what_is_said_can_be_read_on_a_narrow_terminal(made, run, tmp_path):
    result = run("fit", made.data_csv, "--verbose", *ALONE, "--k", 4, "--output", tmp_path / "m.json")
    lines = result.out.splitlines()
    assert max(len(line) for line in lines if "m.json" not in line) <= 80  # a path is as long as it is
    assert lines[0] == "f is the score of risk = bad (50.0 % of 120 rows)"
    assert lines[1].startswith("f = ")
    text = " ".join(result.out.split())
    assert "f > 0 means risk = bad, otherwise good" in text
    assert "4 of 16 (4 columns, 5 features, 120 rows); k = 4, C = 1" in text
    assert "3 squares of two-valued features and 1 product within one column: redundant with linear terms" in text
    assert "missing values: none" in text
    assert "no bound yet: run quadric certify" in text
    assert f"written to: {tmp_path / 'm.json'}" in text
    assert result.errors == []


def test_json_says_the_same(made, run, tmp_path):
    result = run("fit", made.data_csv, *ALONE, "--k", 4, "--positive", "bad", "--json", "--output", tmp_path / "m.json")
    facts = json.loads(result.out)
    assert facts["classes"] == ["good", "bad"]
    assert facts["positive"] == "bad"
    assert facts["n_terms"] == [4]
    assert len(facts["surfaces"][0]["terms"]) == 4
    assert facts["excluded"] == {"squares": 3, "products": 1, "copies": 0, "rare": 0, "terms": 4}
    assert facts["cross_validation"] is None
    assert facts["certificates"][0]["status"] == "local"
    model = TableModel(read_model(tmp_path / "m.json"))
    table = read_table(made.data_csv)
    assert facts["accuracy"] == np.mean(np.array(model.class_names)[model.scores(table).codes] == table["risk"])


BY_ACCURACY = ["--scoring", "accuracy", "--terms", "quadratic"]


def test_the_output_says_whether_products_helped(made, run, tmp_path):
    words = [*FAST, "--ks", "1:4", "--Cs", "1,16", "--folds", 3, "--output", tmp_path / "m.json"]
    text = " ".join(run("fit", made.data_csv, *words, "--verbose").out.split())
    found = re.search(
        r"chosen: (linear|quadratic) terms, k and C by cross-validated log-loss; products (.*?): log-loss ([+-])", text
    )
    assert found is not None
    change = json.loads((tmp_path / "m.json").read_text())["metadata"]["training"]["cross_validation"]["products"]
    helped = "did not help" if found[1] == "linear" else "helped"
    is_clear = abs(change["mean"]) > 2 * change["error"]
    assert found[2] == (helped if is_clear else "make no difference beyond noise")
    assert found[3] == ("+" if found[1] == "linear" else "-")
    assert re.search(r"log-loss: 0\.\d+ ± 0\.\d+ out of fold", text)
    facts = json.loads(run("fit", made.data_csv, *words, "--force", "--json").out)["cross_validation"]
    assert facts["chosen"]["terms"] == found[1]
    assert f"log-loss: {facts['log_loss']['mean']:.3f} ± " in text
    linear = run("fit", made.data_csv, *words, "--force", "--terms", "linear").out
    assert "products" not in linear.split("chosen: ")[1].split("runner-up")[0]
    n_features = len(json.loads(run("fit", made.data_csv, *words, "--force", "--json").out)["features"])
    assert f" of {n_features} linear terms, " in linear  # products were no candidates
    fewer = run("fit", made.data_csv, *words, "--force", "--terms", "linear", "--exclude", "age").out
    assert f" of {n_features - 1} linear terms, " in fewer


def test_target_is_the_only_option_that_is_needed(made, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loans.v2.csv").write_bytes(Path(made.data_csv).read_bytes())
    fit = ["fit", "loans.v2.csv", "--target", "risk"]
    assert "next: quadric report loans.model.json loans.v2.csv" in run(*fit).out
    assert run(*fit).errors == ["quadric: loans.model.json exists; give --force to overwrite it, or another --output"]
    assert "row 0: score" in run("explain", "loans.model.json", "loans.v2.csv").out
    assert run("export", "loans.model.json").out.startswith("-- Scores of a sparse quadratic model")
    assert run("report", "loans.model.json", "loans.v2.csv", "--bootstrap", 0, "--ks", "1:2").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"loans.v2.csv", "loans.model.json", "loans.report.html"}


def test_without_k_cross_validation_chooses_the_fewest_terms_near_the_best(made, run, tmp_path):
    words = [*FAST, *BY_ACCURACY, "--ks", "1:4", "--Cs", "1,16", "--folds", 3, "--output", tmp_path / "m.json"]
    result = run("fit", made.data_csv, *words, "--json")
    facts = json.loads(result.out)
    found = facts["cross_validation"]
    grid = found["grids"]["least_squares"]
    mean = np.array(grid["mean"], dtype=float)
    assert grid["ks"] == [1, 2, 3, 4]
    assert found["chosen"]["score"]["mean"] == pytest.approx(mean[[1.0, 16.0].index(facts["C"]), facts["k"] - 1])
    assert facts["k"] == 1 + int(np.argmax(np.nanmax(mean, axis=0) >= np.nanmax(mean) - 0.005 - 1e-12))
    assert found["runner_up"]["score"]["mean"] <= np.nanmax(mean)
    assert 0.5 < found["auc"]["mean"] <= 1.0
    assert facts["base_rates"]["good"] + facts["base_rates"]["bad"] == 1.0
    plain = run("fit", "--verbose", made.data_csv, *words, "--force")
    text = " ".join(plain.out.split())
    assert "chosen: k and C by cross-validated accuracy, the fewest terms within 0.005 of the best; scored" in text
    assert "% out of fold (3 folds, mean ± standard error)," in text
    assert "AUC: 0." in text
    assert "base rate: " in text
    assert "runner-up: loss least_squares, k = " in text
    assert max(len(line) for line in plain.out.splitlines() if "m.json" not in line) <= 80


PLATT = ["--calibrate", "sigmoid"]
"""A sigmoid that is hardly ever one half at f = 0."""


@pytest.mark.parametrize(
    ("data", "words", "accuracy", "choice"),
    [
        ("data_csv", [], " on the training rows", " %"),
        ("data_csv", PLATT, " on the training rows, with labels by probability", " %, with labels by the sign of f"),
        ("three_csv", [], " on the training rows, with labels by probability", " %, with labels by the largest f"),
        ("data_csv", [*PLATT, "--scoring", "roc_auc"], " on the training rows, with labels by probability", ""),
        ("data_csv", ["--no-calibrate"], " on the training rows", " %"),
    ],
)
def test_two_accuracies_say_what_they_are(made, run, tmp_path, data, words, accuracy, choice):
    fit = [*FAST, *BY_ACCURACY, "--ks", "1,2", "--Cs", "1", "--folds", 3, *words, "--output", tmp_path / "m.json"]
    told = dict(
        line.split(": ", 1)
        for line in run("fit", getattr(made, data), *fit, "--verbose").out.replace("\n  ", " ").splitlines()[1:]
        if ": " in line
    )
    assert told["accuracy"].endswith(accuracy)
    assert re.search(r"; scored [0-9.]+ ± [0-9.]+(.*)", told["chosen"])[1] == choice


def test_with_k_cross_validation_chooses_C(made, run, tmp_path):
    result = run("fit", made.data_csv, *FAST, "--k", 2, "--Cs", "1,16", "--folds", 3, "--json", "--output", tmp_path / "m.json")
    facts = json.loads(result.out)
    assert facts["k"] == 2
    assert facts["C"] in (1.0, 16.0)
    assert facts["cross_validation"]["grids"]["least_squares"]["ks"] == [2]


def test_a_proof_is_told(made, run, tmp_path):
    result = run("fit", made.data_csv, "--verbose", *ALONE, "--k", 2, "--method", "exact", "--output", tmp_path / "m.json")
    assert "proved best with at most 2 terms" in " ".join(result.out.split())
    assert read_model(tmp_path / "m.json").model[-1].time_limit == 60.0
    run("fit", made.data_csv, *ALONE, "--k", 2, "--time-limit", 7, "--output", tmp_path / "n.json")
    assert read_model(tmp_path / "n.json").model[-1].time_limit == 7.0


@pytest.mark.parametrize(
    ("how", "says"),
    [("drop", "28 rows dropped"), ("impute", "imputed by the mean"), ("indicator", "with missing-value flags for age, home")],
)
def test_missing_values_are_handled_as_asked_and_recorded(how, says, run, csv_file, tmp_path):
    data = csv_file(credit_columns(gaps=14))
    result = run("fit", "--verbose", data, *FAST, "--k", 3, "--missing", how, "--output", tmp_path / "m.json")
    text = " ".join(result.out.split())
    assert "14 in age, 14 in home" in text
    assert says in text
    assert read_model(tmp_path / "m.json").metadata["training"]["options"]["missing"] == how


def test_codes_for_missing_values_are_remembered(run, csv_file, tmp_path):
    columns = credit_columns(gaps=4)
    columns["age"] = np.where(np.isnan(columns["age"]), -1.0, columns["age"])
    data = csv_file(csv_text(columns))
    model = tmp_path / "m.json"
    assert run("fit", data, *FAST, "--k", 3, "--missing", "impute", "--na", ",-1.0", "--output", model).code == 0
    assert read_model(model).metadata["training"]["missing"] == {"age": 4, "home": 4}
    predicted = json.loads(run("predict", model, data, "--json").out)["predictions"]
    columns["age"] = np.where(columns["age"] == -1.0, np.nan, columns["age"])
    again = json.loads(run("predict", model, csv_file(columns, "gaps.csv"), "--json").out)["predictions"]
    assert predicted == again


def test_options_reach_the_model(made, run, tmp_path):
    options = ["--ignore", "phone", "--coding", "ordinal", "--include", "age", "--exclude", "income*", "--no-standardize"]
    weights = ["--class-weight", "bad=1.5", "--class-weight", "good=2", "--seed", 7]
    result = run("fit", made.data_csv, *ALONE, "--k", 3, "--C", 512, *options, *weights, "--output", tmp_path / "m.json")
    assert (result.code, result.errors) == (0, [])
    saved = read_model(tmp_path / "m.json")
    assert saved.model.named_steps["coding"].coding == "ordinal"
    assert saved.model.named_steps["coding"].input_names_ == ("age", "income", "home")
    assert "scaler" not in saved.model.named_steps
    classifier = saved.model[-1]
    assert saved.class_names == ("good", "bad")
    assert classifier.class_weight == {0: 2.0, 1: 1.5}
    assert classifier.random_state == 7
    assert classifier.coef_[0, 6] != 0.0  # age
    assert not classifier.coef_[0, [1, 4]].any()  # products of income


def test_a_warning_is_one_line(run, csv_file, tmp_path):
    columns = credit_columns()
    columns["income"] *= 1e5
    result = run("fit", csv_file(columns), *ALONE, "--k", 2, "--no-standardize", "--output", tmp_path / "m.json")
    assert result.code == 0
    assert len(result.errors) == 1
    assert "far from standardised: 'income' has" in result.errors[0]
    assert result.errors[0].endswith("standardise them (--standardize)")


def test_a_model_that_gives_all_rows_one_label_is_remarked_upon(run, csv_file, tmp_path):
    columns = credit_columns()
    columns["risk"] = np.where(np.arange(120) % 10 == 0, "bad", "good")
    result = run("fit", csv_file(columns), *FAST, "--k", 1, "--C", 0.01, "--json", "--output", tmp_path / "m.json")
    assert json.loads(result.out)["labelled"] == {"bad": 0, "good": 120}
    words = "quadric: the model labels every row good (base rate: 10.0 % bad, 90.0 % good): set --cutoff"
    assert [error for error in result.errors if error.startswith(words) and "--class-weight" in error]


def test_class_weights_and_calibration_that_pull_against_each_other_are_remarked_upon(run, csv_file, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 900))
    columns = {"a": a, "b": b, "t": np.where(a + a * b + 1.5 * rng.logistic(size=900) > 5.0, "yes", "no")}
    data = csv_file(columns)
    fit = ["fit", data, "--target", "t", "--k", 2, "--Cs", 8, "--loss", "least_squares", "--json", "--force"]
    result = run(*fit, "--class-weight", "balanced", "--output", tmp_path / "m.json")
    facts = json.loads(result.out)
    labelled, by_surface = facts["labelled"]["yes"], facts["labelled_by_surface"]["yes"]
    assert labelled < by_surface / 3
    words = f"probabilities follow the base rate: {labelled} of 900 rows are labelled yes, {by_surface} by the sign of f"
    assert [error for error in result.errors if words in error and "--cutoff" in error]
    cut = run(*fit, "--cutoff", "balanced", "--output", tmp_path / "m.json")
    assert json.loads(cut.out)["labelled"]["yes"] > 3 * labelled
    assert cut.errors == []


def test_a_cut_off_is_told_and_used(made, run, tmp_path):
    model = tmp_path / "m.json"
    result = run(
        "fit",
        made.data_csv,
        "--verbose",
        *FAST,
        "--k",
        3,
        "--C",
        8,
        "--positive",
        "bad",
        "--cutoff",
        "cost:5:1",
        "--output",
        model,
    )
    fitted = read_model(model).model
    found, text = fitted.cutoff_, " ".join(result.out.split())
    border = float(re.search(rf"label bad where f > (\S+) \(probability above {found:.4g}\), chosen by cost:5:1", text)[1])
    assert fitted.calibrators_[0](np.array([border]))[0] == pytest.approx(found, rel=1e-3)
    rows = json.loads(run("predict", model, made.data_csv, "--json").out)["predictions"]
    assert {row["label"] for row in rows} == {"good", "bad"}
    assert all((row["probability"] > found) == (row["label"] == "bad") for row in rows)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cutoff", "cost:-5:1"], "the costs of a cutoff must not be negative, nor both zero, got 'cost:-5:1' (--cutoff)"),
        (["--cutoff", "1.5"], "cutoff must be a number between 0 and 1"),
        (
            ["--cutoff", "0.3", "--no-calibrate"],
            "a cut-off is one on probabilities: calibrate the scores (--calibrate auto)",
        ),
        (["--clip", "0.5"], "clip must be a number from 0 to less than 0.5, got 0.5 (--clip)"),
        (["--rule", "-0.1"], "rule must be 'best', '1se' or a finite number of at least 0, got -0.1 (--rule)"),
        (["--scoring", "auc"], "scoring must be one of log_loss, accuracy, roc_auc"),
        (["--scoring", "r2"], "or another scorer of classes of scikit-learn, got 'r2', which is for numbers (--scoring)"),
        (["--scoring", "v_measure_score"], "got 'v_measure_score', which is for clusters, whose names do not matter"),
        (["--scoring", "f1_samples"], "got 'f1_samples', which is for several labels per row"),
        (["--groups", "Age"], "the table has no column 'Age' (did you mean 'age'?)"),
        (["--groups", "home"], "the column 'home' has 3 groups, fewer than the 5 folds (--groups, --folds)"),
        (["--no-cv"], "without cross-validation k and C must be given (--k, --C)"),
        (["--clip", "0.01", "--no-clip"], "--clip and --no-clip contradict each other: give one of them"),
        (["--calibrate", "sigmoid", "--no-calibrate"], "--calibrate and --no-calibrate contradict each other"),
        (["--class-weight", "bad=-1"], "or the weight of each class, a finite number from 1e-60"),
        (["--class-weight", "balanced", "--class-weight", "bad=2"], "write balanced alone, or CLASS=WEIGHT"),
        (["--jobs", "0"], "n_jobs must be an integer from -1,000 to 1,000, not 0, got 0 (--jobs)"),
        (["--ignore", "zz", "--dates", "yy"], "'income', 'home', 'phone', 'risk' (--ignore, --dates)"),
        (["--positive", "zz"], "the target has no value 'zz'; it has 'bad', 'good' (--positive)"),
    ],
)
def test_options_that_make_no_sense_are_one_sentence(made, run, tmp_path, words, says):
    result = run("fit", made.data_csv, *FAST, *words, "--output", tmp_path / "m.json")
    assert result.code == 2
    assert len(result.errors) == 1
    assert says in result.errors[0]


def test_parquet_is_read(made, run, tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pd.read_csv(made.data_csv).to_parquet(tmp_path / "data.parquet")
    for name, data in (("a.json", made.data_csv), ("b.json", tmp_path / "data.parquet")):
        assert run("fit", data, *ALONE, "--k", 3, "--output", tmp_path / name).code == 0
    first, second = (read_model(tmp_path / name).model[-1].coef_ for name in ("a.json", "b.json"))
    np.testing.assert_array_equal(first, second)


def test_ignored_columns_can_hold_anything(made, run, csv_file, tmp_path):
    columns = {**credit_columns(), "rate": np.r_[np.inf, np.ones(119)]}
    fit = [*FAST, "--k", 3, "--ignore", "rate", "--json", "--output", tmp_path / "m.json", "--force"]
    expected = json.loads(run("fit", made.data_csv, *FAST, "--k", 3, "--json", "--output", tmp_path / "e.json").out)["equation"]
    assert json.loads(run("fit", csv_file(columns), *fit).out)["equation"] == expected
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    path = tmp_path / "data.parquet"
    pd.read_csv(made.data_csv).assign(rate=pd.Timestamp("2020-01-01")).to_parquet(path)
    assert json.loads(run("fit", path, *fit).out)["equation"] == expected
    used = run("fit", path, *FAST, "--k", 3, "--output", tmp_path / "n.json")
    assert used.code == 0
    assert "column 'rate' holds dates, which count as days since the first one" in used.errors[0]


def test_the_same_seed_writes_the_same_bytes(made, run, tmp_path):
    for name in ("a.json", "b.json"):
        assert run("fit", made.data_csv, *FAST, "--k", 3, "--calibrate", "isotonic", "--output", tmp_path / name).code == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_with_probabilities_the_label_is_the_likeliest_class(made, run, tmp_path):
    result = run("fit", made.data_csv, "--verbose", *FAST, "--k", 2, "--output", tmp_path / "m.json")
    text = " ".join(result.out.split())
    assert "higher f means risk = bad is likelier; label bad where f > 0 (probability above 0.5)" in text
    assert "probabilities: sigmoid" in result.out


def test_three_classes_have_an_equation_each(made, run, tmp_path):
    result = run("fit", made.three_csv, "--verbose", *ALONE, "--k", 2, "--output", tmp_path / "m.json")
    assert [line.split(" = ")[0] for line in result.out.splitlines() if line.startswith("f[")] == ["f[a]", "f[b]", "f[c]"]
    assert "risk is whichever of a, b, c has the largest f" in result.out
    assert "certificate, b: objective" in result.out


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_no_time_at_all_still_gives_a_model(made, run, tmp_path, seconds):
    model = tmp_path / "m.json"
    result = run("fit", made.data_csv, "--target", "risk", "--fit-time-limit", seconds, "--output", model, "--json")
    assert result.code == 0
    figures = json.loads(result.out)["cross_validation"]
    assert 0.0 < figures["chosen"]["score"]["mean"] < 1.0
    assert 0.0 < figures["log_loss"]["mean"] < 1.0
    assert run("predict", model, made.data_csv).code == 0


def test_three_classes_can_share_one_list(made, run, tmp_path):
    shared = ["--multiclass", "shared", "--k", 2, "--output", tmp_path / "m.json"]
    told = " ".join(run("fit", made.three_csv, *ALONE, *shared, "--method", "exact").out.split())
    assert re.search(
        r"proof: proved best with at most 2 terms .* chosen: 2 of \d+ quadratic terms, the same for all classes, loss", told
    )
    told = " ".join(run("fit", made.three_csv, *ALONE, *shared, "--force", "--verbose").out.split())
    assert re.search(r"terms: 2 \(for all classes\) of .* certificate, all classes: objective", told)
    model = read_model(tmp_path / "m.json").model
    live = (model[-1].coef_ != 0).tolist()
    assert live[0] == live[1] == live[2]
    judged = run("certify", tmp_path / "m.json", made.three_csv).out
    assert judged.startswith("all classes together: 2 terms of 2 allowed; objective")
    assert "proved best with at most 2 terms" in " ".join(judged.split())
    assert len(json.loads(run("certify", tmp_path / "m.json", made.three_csv, "--json").out)["certificates"]) == 3


def test_one_list_needs_all_rows_with_some_losses(made, run, tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 10)
    shared = ["--target", "risk", "--multiclass", "shared", "--k", 2, "--C", 1, "--no-calibrate"]
    shared += ["--output", tmp_path / "m.json"]
    refused = run("fit", made.three_csv, *shared, "--loss", "hinge")
    assert refused.code == 1
    assert "needs all rows in memory with the loss hinge" in refused.errors[0]
    assert not (tmp_path / "m.json").exists()
