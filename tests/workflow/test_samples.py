"""Samples that are set aside: how they are drawn, that no fit looks at them, and what is measured on them."""

import json
import re
import warnings
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from helpers.small_tables import credit_columns, csv_text
from quadric import TableClassifier
from quadric.credit import auc_interval, column_drifts, contribution_drifts, population_stability_index
from quadric.export import read_model, save_model
from quadric.review import certify_stream, certify_table
from quadric.tables import Table, TableStream, as_table, read_table
from quadric.workflow import OptionError, TableModel, TrainingOptions, train
from quadric.workflow.drawing import Drawing
from quadric.workflow.fit_summary import sample_facts, sample_table

FAST = {"loss": "least_squares", "k": 3, "C": 1.0}


def dated(m=300, seed=0):
    """Raw columns with customers of three rows each, and a date for each row, of which two are missing."""
    columns = credit_columns(m, seed)
    days = np.datetime64("2025-01-01") + np.arange(m)
    return columns | {
        "customer": [f"c{i // 3}" for i in range(m)],
        "opened": [None if i in (5, 280) else str(day) for i, day in enumerate(days)],
    }


def drawn(**options):
    return Drawing.of("risk", TrainingOptions(**options))


def test_a_share_of_every_class_is_drawn_whatever_way_a_table_is_read(tmp_path):
    columns = credit_columns(400)
    columns["risk"] = ["good" if i % 4 else "bad" for i in range(400)]
    (tmp_path / "data.csv").write_text(csv_text(columns))
    for share, seed in ((0.25, 0), (0.1, 3)):
        found = drawn(holdout=share, seed=seed).split(as_table(columns))
        assert list(found) == ["development", "test"]
        assert_apart(found, 400)
        risk = np.array(columns["risk"])
        assert [int((found["test"] & (risk == name)).sum()) for name in ("good", "bad")] == [300 * share, 100 * share]
        again = drawn(holdout=share, seed=seed).split(TableStream(tmp_path / "data.csv", rows=64, text=["risk"]))
        assert again["test"].tolist() == found["test"].tolist()
    assert (
        drawn(holdout=0.25, seed=1).split(as_table(columns))["test"] != drawn(holdout=0.25).split(as_table(columns))["test"]
    ).any()


def assert_apart(found, n_rows):
    assert sum(rows.astype(int) for rows in found.values()).tolist() == [1] * n_rows


def test_groups_stay_together_and_times_come_after():
    columns = dated()
    found = drawn(holdout=0.25, groups="customer").split(as_table(columns))
    customers = np.array(columns["customer"])
    assert not set(customers[found["test"]]) & set(customers[found["development"]])
    assert found["test"].sum() == 75
    with pytest.warns(UserWarning, match="2 rows have no date in 'opened' and are in no sample"):
        found = drawn(holdout=0.2, time_column="opened", after="2025-08-08").split(as_table(columns))
    dates = np.array([text or "" for text in columns["opened"]])
    assert found["later"].tolist() == (dates > "2025-08-08").tolist()
    assert not (found["test"] & found["later"]).any()
    assert found["test"].sum() == pytest.approx(0.2 * 219, abs=1)
    assert sum(rows.sum() for rows in found.values()) == 298
    slashed = columns | {"opened": [text and text.replace("-", "/") for text in columns["opened"]]}
    moments = columns | {"opened": [f"{text or '2025-01-01'} 18:30" for text in columns["opened"]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = drawn(time_column="opened", after="2025-08-08").split(as_table(slashed))
    assert again["later"].tolist() == found["later"].tolist()
    later = drawn(time_column="opened", after="2025-08-08").split(as_table(moments))["later"]
    assert (later == found["later"])[np.array(columns["opened"]) != None].all()  # noqa: E711
    later = drawn(time_column="opened", after="2025-08-08 12:00").split(as_table(moments))["later"]
    assert np.flatnonzero(later)[0] == 219  # the day itself, after noon


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"holdout": 1.0}, "holdout must be a number between 0 and 1, got 1.0"),
        ({"holdout": 1e-9}, "no row is left for the test sample: choose another share"),
        ({"time_column": "opened"}, "a later sample needs both a column of dates and a day"),
        ({"after": "2025-01-01"}, "a later sample needs both"),
        ({"time_column": "opened", "after": "soon"}, "after must be a date such as 2024-01-31"),
        ({"time_column": "opened", "after": "2030-01-01"}, "later sample: the dates are from 2025-01-01 to 2025-10-27"),
        ({"time_column": "opened", "after": "2020-01-01"}, "no row is left for the development sample: the dates are"),
        ({"time_column": "age", "after": "2025-01-01"}, "column 'age', row 1: .* is no date"),
        ({"time_column": "risk", "after": "2025-01-01"}, "the column 'risk' cannot be the time as well"),
        ({"time_column": "openend", "after": "2025-01-01"}, r"no column 'openend' \(did you mean 'opened'\?\)"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_drawn_is_told_in_one_line(options, message):
    with pytest.raises(OptionError, match=message) as caught:
        train(as_table(dated()), "risk", TrainingOptions(**FAST, **options))
    assert "\n" not in str(caught.value)
    assert caught.value.remedies


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_nothing_looks_at_the_rows_that_are_set_aside(tmp_path):
    columns = dated()
    options = TrainingOptions(holdout=0.2, time_column="opened", after="2025-08-08", loss="least_squares", ks=(1, 2, 3))
    rows = Drawing.of("risk", options).split(as_table(columns))
    spoilt = {name: list(values) for name, values in columns.items()}
    for number, i in enumerate(np.flatnonzero(~rows["development"])):
        spoilt["age"][i], spoilt["income"][i] = 1e6 * (number % 2), None
        spoilt["home"][i] = f"level {number}"
    models = []
    for name, table in {"plain": columns, "spoilt": spoilt}.items():
        (tmp_path / f"{name}.csv").write_text(csv_text(table))
        trained = train(TableStream(tmp_path / f"{name}.csv", rows=50, text=["risk"]), "risk", options)
        models.append(trained)
    plain, other = models
    assert [surface.terms() for surface in plain.classifier.surfaces_] == [s.terms() for s in other.classifier.surfaces_]
    assert plain.model.calibrators_ == other.model.calibrators_
    assert plain.cross_validation == other.cross_validation
    assert plain.data.check.recorded() == other.data.check.recorded()
    assert [asdict(each) for each in plain.data.encoder.inputs_] == [asdict(each) for each in other.data.encoder.inputs_]
    assert plain.samples.table.values[:, 0].tolist() == pytest.approx(other.samples.table.values[:, 0].tolist(), nan_ok=True)
    assert plain.samples.table.value("AUC", "test") > other.samples.table.value("AUC", "test")


def test_rows_that_are_set_aside_do_not_decide_on_the_types_of_columns(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,a\nunknown,b\n2,a\n3,b\n")
    kept = np.array([True, False, True, True])
    for rows in (2, 100):
        (parts,) = [list(TableStream(tmp_path / "data.csv", rows=rows).only(kept))]
        assert np.concatenate([part["x"] for part in parts]).tolist() == [1.0, 2.0, 3.0]
    assert TableStream(tmp_path / "data.csv").only(kept).count_rows() == 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_all_samples_are_measured_as_anybody_would(tmp_path):
    columns = dated()
    (tmp_path / "data.csv").write_text(csv_text(columns))
    options = TrainingOptions(**FAST, holdout=0.2, time_column="opened", after="2025-08-08")
    trained = train(TableStream(tmp_path / "data.csv", text=["risk"]), "risk", options)
    save_model(trained.saved(), tmp_path / "m.json")
    model, table, whole = TableModel(read_model(tmp_path / "m.json")), trained.samples.table, read_table(tmp_path / "data.csv")
    parts = model.samples(whole)
    assert list(parts) == list(table.samples) == ["development", "test", "later"]
    for name in ("test", "later"):
        rows, event = parts[name], parts[name].labels("risk") == model.class_names[1]
        scores = model.scores(rows)
        assert table.value("AUC", name) == pytest.approx(roc_auc_score(event, scores.decision), abs=1e-12)
        interval = auc_interval(event, scores.decision)
        at = table.measures.index("AUC")
        assert (table.low[at, 1:].tolist()[name == "later"], interval.value) == pytest.approx(
            (interval.low, table.value("AUC", name))
        )
        assert table.value("log loss", name) == pytest.approx(log_loss(event, scores.probabilities[:, 1]), abs=1e-12)
        assert table.value("accuracy", name) == accuracy_score(event, scores.codes)
        own = model.scores(parts["development"]).decision
        assert table.value("PSI", name) == pytest.approx(population_stability_index(own, scores.decision), abs=1e-12)
        before, now = model.inputs(parts["development"]), model.inputs(rows)
        assert table.columns[name] == column_drifts(before, now, model.input_names)
        assert table.terms[name] == contribution_drifts(model.saved.model, before, now)
    found = trained.cross_validation
    own = [table.value(name, "development") for name in ("AUC", "accuracy", "log loss")]
    assert own == pytest.approx([found.auc.mean, found.accuracy.mean, found.log_loss.mean], abs=1e-12)
    # the file keeps how the samples were drawn, and one digest of the file
    record = model.saved.metadata["training"]
    assert {name: record["options"][name] for name in ("holdout", "time_column", "after")} == {
        "holdout": 0.2,
        "time_column": "opened",
        "after": "2025-08-08",
    }
    assert [source["rows"] for source in record["samples"]["sources"]] == [len(rows) for rows in parts.values()]
    assert {source["sha256"] for source in record["samples"]["sources"]} == {whole.sha256}
    assert json.dumps(record["samples"]).count(whole.sha256) == 3
    # whoever judges the model on this file judges it on the rows that it was fitted to
    assert len(model.labelled(whole)[0]) == trained.data.n_rows == len(parts["development"])
    for judged in (certify_table(model, whole), certify_stream(model, TableStream(tmp_path / "data.csv", text=["risk"]))):
        assert judged.n_rows == trained.data.n_rows
        assert judged.certificates[0].objective == pytest.approx(trained.classifier.certificates_[0].objective, rel=1e-9)
    assert len(model.labelled(Table(whole.names, whole.columns))[0]) == 300  # another file


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_samples_of_a_table_that_is_read_in_passes_are_the_same(tmp_path, monkeypatch):
    (tmp_path / "data.csv").write_text(csv_text(dated()))
    options = TrainingOptions(**FAST, holdout=0.2, time_column="opened", after="2025-08-08")
    found = []
    for is_gathered in (True, False):
        monkeypatch.setattr("quadric.samples.capped.is_better_in_memory", lambda *_, answer=is_gathered: answer)
        trained = train(TableStream(tmp_path / "data.csv", rows=64, text=["risk"]), "risk", options)
        assert trained.data.is_sampled is not is_gathered
        found.append(trained.samples)
    one, two = found
    assert one.sources == two.sources
    assert one.table.value("event rate", "later") == two.table.value("event rate", "later")
    assert one.table.columns == two.table.columns
    assert one.table.value("AUC", "later") == pytest.approx(two.table.value("AUC", "later"), abs=0.02)  # other folds


@pytest.mark.filterwarnings("ignore:sample 'new.csv'. the target:UserWarning")
def test_other_tables_are_measured_too_and_what_is_wrong_with_them_is_told():
    columns = credit_columns(200)
    new = {name: list(values[:40]) for name, values in credit_columns(200, 7).items()}
    new["risk"][3] = new["risk"][4] = None
    new = {name: [*values, *columns[name][:5]] for name, values in new.items()}
    with pytest.warns(UserWarning, match="sample 'new.csv'") as caught:
        trained = train(as_table(columns), "risk", TrainingOptions(**FAST), tests={"new.csv": TableStream(as_table(new))})
    messages = [str(each.message) for each in caught]
    assert any(text.startswith("sample 'new.csv': the target 'risk' is missing in 2 rows") for text in messages)
    assert any("sample 'new.csv': 5 of 43 rows equal rows that the model was fitted to" in text for text in messages)
    assert trained.samples.table.value("samples", "new.csv") == 43
    assert trained.samples.sources[1].unlabelled == 2

    def refused(table, message):
        with pytest.raises(ValueError, match=message):
            train(as_table(columns), "risk", TrainingOptions(**FAST), tests={"new.csv": TableStream(as_table(table))})

    refused(new | {"risk": ["ugly"] * 45}, "the development sample has no class 'ugly', which the sample 'new.csv' has")
    refused({name: values for name, values in new.items() if name != "age"}, "the sample 'new.csv' has no column 'age'")
    refused(new | {"risk": [None] * 45}, "the sample 'new.csv' has no row with a value in 'risk'")
    with pytest.raises(ValueError, match=r"the table has no rows|no record batches"):
        train(
            as_table(columns),
            "risk",
            TrainingOptions(**FAST),
            tests={"new.csv": TableStream(Table(tuple(new), tuple(np.empty(0) for _ in new)))},
        )


def test_more_classes_and_a_classifier_have_samples_too(tmp_path):
    columns = credit_columns(240, classes=("a", "b", "c"))
    y = columns.pop("risk")
    model = TableClassifier(**FAST, holdout=0.25).fit(columns, y)
    table = model.trained_.samples.table
    assert np.isnan(table.value("AUC", "test"))
    assert np.isfinite([table.value(name, "test") for name in ("accuracy", "log loss")]).all()
    assert len(model._rows) == model.trained_.data.n_rows == table.value("samples", "development")
    assert [source.unlabelled for source in model.trained_.samples.sources] == [0, 0]
    model.report(tmp_path / "r.html", n_boot=0, bounds=False)
    page = (tmp_path / "r.html").read_text()
    row = page[page.index('<h3 id="samples">') :].partition('<th scope="row">Log loss</th>')[2].partition("</tr>")[0]
    assert re.findall(r'num">([\d.]+)', row) == [f"{table.value('log loss', name):.3f}" for name in table.samples]


def test_the_interval_of_the_auc_is_told_where_there_is_one():
    for classes, has_auc in ((("good", "bad"), True), (("a", "b", "c"), False)):
        columns = credit_columns(300, classes=classes)
        trained = train(as_table(columns), "risk", TrainingOptions(holdout=0.25, cross_validate=False, **FAST))
        assert ("AUC" in sample_table(trained)) == has_auc
        assert ("DeLong" in sample_facts(trained)["figures"]) == has_auc
