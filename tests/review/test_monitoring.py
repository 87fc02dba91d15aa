"""New rows beside the training rows: figures against loops and scikit-learn, parts against the whole, files that say nonsense."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multinomial
from sklearn.metrics import roc_auc_score

from quadric.credit import Distribution, Drift, population_stability_index
from quadric.explain import contributions
from quadric.review.alarms import Check, Limits, LimitsError, read_limits
from quadric.review.monitoring import mean_text, monitor
from quadric.tables import Table, TableStream, read_table
from quadric.workflow import TableModel, TrainingOptions, train
from quadric.workflow.reference import Reference, Values, _computed


@pytest.fixture(scope="module")
def loans():
    return read_table(Path(__file__).parents[2] / "data" / "loans.csv")


@pytest.fixture(scope="module")
def old(loans):
    return loans[np.arange(500)]


@pytest.fixture(scope="module")
def model(old):
    return TableModel(train(old, "risk", TrainingOptions(k=6, C=64.0, loss="least_squares", include=("housing=rent",))).saved())


@pytest.fixture(scope="module")
def new(loans):
    """Other rows: lower incomes, some gaps, a new level, and half of the outcomes."""
    rng, rows = np.random.default_rng(0), loans[np.arange(500, 800)]
    income = np.where(rng.random(300) < 0.1, np.nan, 0.7 * rows["income"])
    housing = np.where(rng.random(300) < 0.2, "boat", rows["housing"].astype(object))
    risk = np.where(rng.random(300) < 0.5, None, rows["risk"].astype(object))
    own = {"income": income, "housing": housing, "risk": risk}
    return Table(rows.names, tuple(own.get(name, rows[name]) for name in rows.names))


def pieces(table, n_rows):
    return TableStream([table[np.arange(i, min(i + n_rows, len(table)))] for i in range(0, len(table), n_rows)])


def test_figures_are_those_of_both_samples_at_hand(model, old, new):
    found = monitor(model, TableStream(new))
    scores = [model.scores(rows).decision for rows in (old, new)]
    assert found.scores[0].psi == pytest.approx(population_stability_index(*scores), abs=1e-10)
    assert found.scores[0].mean_now == pytest.approx(scores[1].mean(), abs=1e-10)
    values = [contributions(model.view, model.inputs(rows)) for rows in (old, new)]
    assert [each.name for each in found.terms] == values[0].names
    for each, *both in zip(found.terms, *(v.values.T for v in values), strict=True):
        assert each.psi == pytest.approx(population_stability_index(*both), abs=1e-10)
    moved = sum(each.mean_now - each.mean_before for each in found.terms)
    assert moved == pytest.approx(scores[1].mean() - scores[0].mean(), abs=1e-10)
    assert {each.name for each in found.columns} == model.view.needed
    (income,) = (each for each in found.columns if each.name == "income")
    assert income.missing_now == pytest.approx(np.isnan(new["income"]).mean())
    (housing,) = (check for check in found.checks if (check.kind, check.subject) == ("new_levels", "housing"))
    assert housing.value == pytest.approx(np.mean(new["housing"] == "boat"))


def test_outcomes_are_judged_where_they_are_known(model, new):
    found = monitor(model, TableStream(new))
    outcome, checks = found.outcome, {check.kind: check for check in found.checks}
    known = np.array([label is not None for label in new["risk"]])
    event, scores = (new["risk"] == model.class_names[1])[known], model.scores(new[known])
    p = scores.probabilities[:, 1]
    assert (outcome.n_known, outcome.n_unknown, outcome.n_events) == (known.sum(), (~known).sum(), event.sum())
    assert outcome.auc == pytest.approx(roc_auc_score(event, scores.decision), abs=1e-12)
    assert outcome.auc_before == model.development_auc
    assert outcome.expected == pytest.approx(p.sum(), abs=1e-10)
    assert checks["auc_drop"].value == pytest.approx(model.development_auc - outcome.auc, abs=1e-12)
    wins = scores.decision[event][:, None] > scores.decision[~event]
    error = np.sqrt(wins.mean(axis=1).var(ddof=1) / event.sum() + wins.mean(axis=0).var(ddof=1) / (~event).sum())
    assert checks["auc_drop"].chance == pytest.approx(1.6448536269514722 * error, abs=1e-12)
    assert checks["calibration"].value == pytest.approx(abs(event.sum() / p.sum() - 1.0), abs=1e-12)
    assert outcome.by_chance == pytest.approx(1.959963984540054 * np.sqrt(np.sum(p * (1 - p))), abs=1e-10)


def test_parts_say_what_the_whole_table_says(model, new):
    whole, parts = (json.dumps(vars(monitor(model, each)), default=vars) for each in (TableStream(new), pieces(new, 71)))
    rounded = [json.loads(text, parse_float=lambda number: f"{float(number):.9g}") for text in (whole, parts)]
    assert rounded[0] == rounded[1]


def test_the_training_rows_themselves_have_not_moved(model, old):
    found = monitor(model, TableStream(old))
    assert max(each.psi for each in (*found.scores, *found.columns, *found.terms)) < 1e-12
    assert found.alarms == ()
    assert found.absent == ()


def test_another_table_can_stand_for_the_training_rows(model, old, new):
    bare = TableModel(replace(model.saved, metadata={}))
    words = monitor(bare, TableStream(new)).absent
    assert any("--reference" in text for text in words)
    assert any("AUC" in text for text in words)
    again = monitor(bare, TableStream(new), reference=old)
    assert [each.psi for each in again.columns] == [each.psi for each in monitor(model, TableStream(new)).columns]


def test_what_a_file_says_is_not_believed(model, new):
    reference = Reference.of(model, new)
    assert Reference.from_record(json.loads(json.dumps(reference.recorded()))).recorded() == reference.recorded()
    nonsense = {
        "scores": {"score": {"edges": [1, 0], "counts": [1, 2, 3], "missing": 0, "total": 0}},
        "columns": [1],
        "terms": {"a": 7},
    }
    empty = Reference.from_record(nonsense)
    assert (empty.scores, empty.columns, empty.terms) == ({}, {}, {})
    foreign = {
        kind: {"nothing of ours": each}
        for kind, each in zip(("scores", "columns", "terms"), [reference.recorded()["columns"]["income"]] * 3, strict=True)
    }
    history = {**model.saved.metadata["training"], "reference": foreign}
    found = monitor(TableModel(replace(model.saved, metadata={"training": history})), TableStream(new))
    assert (found.scores, found.columns, found.terms) == ((), (), ())
    assert any("no stability index" in text for text in found.absent)


@pytest.mark.parametrize(("sizes", "repeats"), [((800, 500), 2000), ((488, 20), 300), ((150, 38), 300)])
def test_one_pair_of_samples_in_twenty_is_beyond_chance(sizes, repeats):
    shares = np.array([0.1, 0.2, 0.3, 0.4]) if min(sizes) > 100 else np.full(10, 0.1)
    draws = [multinomial.rvs(size, shares, repeats, random_state=i) for i, size in enumerate(sizes)]
    edges = np.arange(len(shares) - 1.0)
    samples = ([Distribution(edges, None, counts.astype(float), 0.0) for counts in each] for each in draws)
    drifts = [Drift.between("x", *pair) for pair in zip(*samples, strict=True)]
    assert 0.025 < np.mean([each.psi > each.psi_by_chance for each in drifts]) < 0.08


def test_rounding_moves_no_row_to_another_bin():
    values = np.repeat([0.1, 0.2, 0.30000000000000004], 50)
    for sample in (values, np.full(20, 0.7)):
        before = _computed(sample)
        for factor in (1.0 - 1e-15, 1.0, 1.0 + 1e-15):
            assert Drift.between("x", before, before.like(sample * factor)).psi == 0.0
        assert Drift.between("x", before, before.like(sample * 1.1)).psi > 1.0


def test_a_figure_within_chance_is_no_alarm():
    assert Check("score_psi", "score", 0.3, 0.25, 0.1).is_alarm
    assert not Check("score_psi", "score", 0.3, 0.25, 0.4).is_alarm
    assert not Check("score_psi", "score", 0.2, 0.25, 0.1).is_alarm
    assert not Check("score_psi", "score", 9.0, np.inf, 0.1).is_alarm


def test_columns_can_have_limits_of_their_own(model, new, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(
        'score_psi = 0\nmissing = 0.5\n[columns.income]\ncolumn_psi = inf\nmissing = 0.01\n[columns."housing"]\nnew_levels = 1\n'
    )
    limits = read_limits(path)
    assert (limits.score_psi, limits.term_psi) == (0.0, Limits().term_psi)
    alarms = {(check.kind, check.subject) for check in monitor(model, TableStream(new), limits).alarms}
    assert ("missing", "income") in alarms
    assert not alarms & {("column_psi", "income"), ("new_levels", "housing"), ("missing", "amount")}
    with pytest.raises(ValueError, match="no column 'incone'"):
        monitor(model, TableStream(new), Limits(columns={"incone": {}}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("score_psi 0.2", "limits.toml is not a TOML file"),
        ("score_psy = 0.2", "no limit 'score_psy' .did you mean 'score_psi'"),
        ("score_psi = 'much'", "score_psi must be a number"),
        ("score_psi = true", "score_psi must be a number"),
        ("score_psi = nan", "score_psi must be a number"),
        ("auc_drop = -1", "auc_drop must be a number"),
        ("columns = 3", "columns must be tables"),
        ("[columns]\nincome = 3", "must be a table of limits"),
        ("[columns.income]\nauc_drop = 3", "no limit 'auc_drop'"),
    ],
)
def test_limits_that_make_no_sense_are_refused_in_one_sentence(text, words, tmp_path):
    path = tmp_path / "limits.toml"
    path.write_text(text)
    with pytest.raises(LimitsError, match=words) as caught:
        read_limits(path)
    assert "\n" not in str(caught.value)


def test_more_than_two_classes_have_a_score_each(loans):
    months = np.array([f"c{int(m) % 3}" for m in loans["age"]], dtype=object)
    table = Table((*loans.names, "group"), (*loans.columns, months))
    model = TableModel(train(table, "group", TrainingOptions(k=3, C=1.0, loss="least_squares", calibrate=None)).saved())
    found = monitor(model, TableStream(table))
    assert [each.name for each in found.scores] == ["score_c0", "score_c1", "score_c2"]
    assert {each.name.partition(":")[0] for each in found.terms} == {"c0", "c1", "c2"}
    assert found.outcome is None
    assert max(each.psi for each in (*found.scores, *found.terms)) < 1e-12


@pytest.mark.filterwarnings("ignore:.*holds dates")
def test_means_of_dates_are_dates(loans):
    days = np.datetime64("2024-01-01") + np.arange(len(loans)) % 300
    dated = Table((*loans.names, "opened"), (*loans.columns, days.astype("datetime64[us]")))
    options = TrainingOptions(k=4, C=1.0, loss="least_squares", include=("opened",))
    found = monitor(TableModel(train(dated, "risk", options).saved()), TableStream(dated))
    (opened,) = (each for each in found.columns if each.name in found.dates)
    assert (opened.name, mean_text(opened.mean_now, True)) == (
        "opened",
        str(days.astype("M8[s]").astype(int).mean().astype("M8[s]").astype("M8[D]")),
    )
    assert mean_text(np.nan, False) == ""


def test_values_of_no_rows_with_outcomes(model, new):
    blank = Table(new.names, tuple(np.full(len(new), None) if name == "risk" else new[name] for name in new.names))
    found = monitor(model, TableStream(blank))
    assert (found.outcome.n_known, found.outcome.auc, found.outcome.expected) == (0, None, None)
    assert "no AUC: no row has an outcome" in found.absent
    without = monitor(model, TableStream(new.drop(["risk"])))
    assert without.outcome is None
    assert "no AUC and calibration: the table has no column risk" in without.absent
    assert len(Values.of(model, new).scores["score"]) == len(new)
