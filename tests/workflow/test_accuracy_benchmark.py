"""The benchmark of accuracy: measurements that go on where they were, and the page that is made of them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import accuracy
import accuracy_page

FAMILIES = ["k = 1", "logistic regression"]


@pytest.fixture
def _two_sets(monkeypatch):
    def tiny(name):
        rng = np.random.default_rng(len(name))
        X = rng.normal(size=(80, 2))
        return SimpleNamespace(X=X, y=(X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int))

    monkeypatch.setattr(accuracy, "data_of", tiny)


def measure(store):
    tasks = accuracy.open_tasks(store, ["glass", "ecoli"], [11], FAMILIES)
    return list(accuracy.run(store, tasks, n_jobs=1))


@pytest.mark.usefixtures("_two_sets")
def test_an_interrupted_run_goes_on_where_it_was(tmp_path):
    store = tmp_path / "rows.jsonl"
    assert len(measure(store)) == 2 * 5 * 2
    whole, lines = accuracy.stored(store), store.read_text().splitlines(keepends=True)
    store.write_text("".join(lines[:-3]) + lines[-3][:40])  # two rows lost, one cut
    assert len(accuracy.stored(store)) == 17
    assert len(measure(store)) == 3
    assert measure(store) == []
    key = ("set", "seed", "fold", "model", "accuracy", "auc", "log_loss", "terms")
    assert [[row[name] for name in key] for row in accuracy.stored(store)] == [[row[name] for name in key] for row in whole]
    assert {row["terms"] for row in whole if row["model"] == "k = 1"} == {1}


def test_training_parts_are_capped_and_disjoint_from_the_test_rows(monkeypatch):
    X = np.arange(3000.0)[:, None]
    monkeypatch.setattr(accuracy, "data_of", lambda name: SimpleNamespace(X=X, y=np.arange(3000) % 2))
    part = accuracy.part_of(accuracy.Task("abalone", 11, 0, "default"))
    assert len(part.y) == 2000
    assert part.y.mean() == 0.5
    assert not set(part.X.ravel()) & set(part.X_test.ravel())


def rows_of(model, gain=0.0, terms=5, seeds=(11, 12), noise=0.0):
    for place, name in enumerate(accuracy.NAMES):
        for seed in seeds:
            rng = np.random.default_rng((place, seed))  # the same folds for all models
            for fold in range(5):
                share = 0.8 + gain + noise * rng.normal()
                figures = {"auc": share, "log_loss": 0.4 - gain, "terms": terms, "seconds": 1.0}
                labels = {"accuracy": share, "accuracy_of_probabilities": share - 0.1}
                yield {"set": name, "seed": seed, "fold": fold, "model": model, **labels, **figures}


def summary_with(**gains):
    models = {accuracy_page.BASELINE: -0.01, accuracy_page.BEST: 0.0, accuracy_page.DEFAULT: -0.002} | gains
    rows = [row for name, gain in models.items() for row in rows_of(name, gain, noise=0.01)]
    rows += rows_of("EBM", 0.01, seeds=(11,), noise=0.01)
    return accuracy_page.summary_of(rows, accuracy.NAMES, accuracy.VARIANTS)


def test_differences_and_errors_are_those_of_the_protocol():
    summary = summary_with()
    assert summary.rivals == ["EBM"]
    np.testing.assert_allclose(summary.differences(accuracy_page.BEST, accuracy_page.BASELINE, "accuracy"), 1.0)
    values = summary.models[accuracy_page.BEST].figures["accuracy"][0]
    assert values.shape == (2, 5)
    by_hand = np.mean([np.std(seed, ddof=1) / np.sqrt(5) for seed in values])
    assert summary.models[accuracy_page.BEST].errors("accuracy")[0] == pytest.approx(by_hand)
    np.testing.assert_allclose(summary.differences(accuracy_page.BEST, "EBM", "accuracy"), -1.0)  # on the seed of both


def test_targets_are_held_against_the_figures():
    gain, loss, cost, terms, reached, _ = accuracy_page.targets(summary_with())
    assert [gain.measured, loss.measured, cost.measured] == pytest.approx([1.0, -0.01, 0.2])
    assert terms.measured == 5.0
    assert all(row.holds for row in (gain, loss, cost, terms))
    assert reached.measured == sum(accuracy_page.within_reach(summary_with(), accuracy_page.DEFAULT)) < 6
    assert not reached.holds


def test_incomplete_models_are_left_out():
    rows = [*rows_of("EBM"), *list(rows_of("logistic regression"))[1:]]
    summary = accuracy_page.summary_of(rows, accuracy.NAMES, accuracy.VARIANTS)
    assert summary.models["EBM"].seeds == (11, 12)
    assert summary.models["logistic regression"].seeds == (12,)


def test_page_picture_and_figures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "_static").mkdir()
    summary = summary_with(**{"k = 1": -0.1, "logistic": 0.001})
    accuracy_page.write_all(summary, list(accuracy.VARIANTS), ["EBM", "SVC"], tmp_path / "accuracy.json", tmp_path)
    text = (tmp_path / "accuracy.md").read_text()
    assert "| logistic | +0.10 ± 0.00 | 9/0 |" in text
    assert "EBM (1 of 3 seeds)" in text
    assert "**Not measured yet: SVC; " in text
    assert "- missed: default: sets within one standard error of the best of 1 rivals" in text
    assert b"equation, k fixed" in (tmp_path / "_static" / accuracy_page.PICTURE).read_bytes()
    assert json.loads((tmp_path / "accuracy.json").read_text())["models"]["k = 1"]["accuracy"]["glass"] == pytest.approx(
        70, abs=2
    )
