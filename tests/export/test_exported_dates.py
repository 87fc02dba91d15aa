"""Dates in the form that the training data had: exports read what ``quadric predict`` reads, and refuse what it refuses."""

import zipfile
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

from export.test_python import module_of
from export.test_sql import column, database, in_postgres  # noqa: F401
from helpers.databases import in_sqlite, table_sql
from helpers.random_models import fitted_classifier
from helpers.workbooks import recalculated
from quadric.distributed import predict
from quadric.export import SavedModel, scoring_model, to_excel, to_sql
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table, TableEncoder
from quadric.tables.dates import FORMS, TEXT_FORMS

ORIGIN = "2019-03-01"
TEXTS = [
    "2019/08/29", "2019.08.29", "2019-08-29", "29.08.2019", "29/08/2019", "29-08-2019", "08/29/2019", "20190829", " 29.08.2019 ", "1.2.2020",
    "1/12/2020", "11/2/2020", "2020/1/2", "2020/11/2", "2020-1-22", "2020-11-2 7:30", "29.2.2020 18:30", "29/2/2020 8:30:15.25",
    "2/29/2020T18:30", "2020/2/29T8:30:15", "2020-02-29 8:30", "2020-02-29 18:30", "29.02.2019", "31.13.2020", "2019/02/29", "0.1.2020",
    "29/08.2019", "2019/08-29", "29/08/19", "29 08 2019", "2019/08/", "2019/8/2x", "29.08.2019x", "29.08.20191", "1 .02.2020", "/.02.2020",
    "2019/08/29  18:30", "29.08.2019 25:00", "29.08.2019 :30", "20191329", "2019-8-2", "201908290", "2019082", "", "soon", "٢٩.08.2019",
    "2020-02-29T18:30:15Z", "2020-02-29 18:30Z", "2020-02-29T18:30:15.25+00:00", "2020-02-29T18:30:15+01:00", "2020-02-30T18:30:15Z",
    "2020-02-29Z", "2020-02-29T18Z", "2020-02-29T8:30Z", "2020-02-29T18:30ZZ", "2020-02-29T18:30Z+00:00", "2020-02-29T18:30z",
    "2020-02-29T18:30+00:00Z", "2020-02-29T18:30 Z", "2020/02/29 18:30Z",
]  # fmt: skip


def model_of(form):
    """A model whose score is the number of days, and which knows the form of the dates."""
    encoder = TableEncoder(dates=["s"], forms=form and {"s": form}).fit({"s": [ORIGIN, "2020-01-01", "2021-01-01"]})
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], ["no", "yes"])
    return SavedModel(Pipeline([("coding", encoder), ("classifier", model)]))


def table_of(texts):
    return Table(("s",), (np.array(texts, dtype=object),))


def predicted(form, values):
    """What ``quadric predict`` makes of each value; None where it refuses it."""
    return [_score(model_of(form).model, table_of([value])) for value in values]


def _score(model, table):
    try:
        return float(model.decision_function(table)[0])
    except ValueError:
        return None


def assert_same(found, values, form):
    for value, own, wanted in zip(values, found, predicted(form, values), strict=True):
        assert (own is None) == (wanted is None), (value, own, wanted)
        assert own is None or own == pytest.approx(wanted, abs=1e-9), value


@pytest.mark.parametrize(
    ("text", "form"), [("2019/08/29", "year first"), ("29.08.2019", "day first"), ("2019-08-29T00:00:00Z", "UTC")]
)
def test_rows_like_the_training_data_are_scored(text, form):
    model, days = model_of(form), float((date(2019, 8, 29) - date.fromisoformat(ORIGIN)).days)
    assert predicted(form, [text]) == [module_score(module_of(model), text)] == [days]
    assert column(in_sqlite(table_sql(table_of([text])), to_sql(model)), "quadric_score") == [days]


@pytest.mark.parametrize("form", FORMS)
def test_databases_read_the_form_of_the_model(form, database):  # noqa: F811
    rows = database(table_sql(table_of(TEXTS)), to_sql(model_of(form)))
    assert_same(column(rows, "quadric_score"), TEXTS, form)


@pytest.mark.parametrize("form", FORMS)
def test_databases_still_take_columns_of_dates(form, database):  # noqa: F811
    setup = "CREATE TABLE data (row_number INTEGER, s DATE); INSERT INTO data VALUES (0, '2019-03-11'), (1, '2020-02-29');"
    assert column(database(setup, to_sql(model_of(form))), "quadric_score") == [10.0, 365.0]


@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE PRECISION"])
def test_databases_read_eight_digits_as_numbers(kind, database):  # noqa: F811
    setup = f"CREATE TABLE data (row_number INTEGER, s {kind}); INSERT INTO data VALUES (0, 20190311), (1, 20191311);"
    assert column(database(setup, to_sql(model_of("eight digits"))), "quadric_score") == [10.0, None]


def module_score(module, value):
    try:
        return module["predict"]({"s": value})["scores"][0]
    except ValueError:
        return None


@pytest.mark.parametrize("form", FORMS)
def test_the_module_reads_the_form_of_the_model(form):
    module = module_of(model_of(form))
    assert_same([module_score(module, text) for text in TEXTS], TEXTS, form)
    assert module_score(module, date(2019, 3, 11)) == 10.0
    assert [module_score(module, number) for number in (20190311, 20190311.0)] == [10.0 if form == "eight digits" else None] * 2
    assert module_score(module, ["2019-03-11"]) is None
    module["check"]()


@pytest.mark.parametrize("form", FORMS)
def test_frames_of_dask_are_read_like_files(form):
    dask = pytest.importorskip("dask.dataframe")
    texts = [text for text, score in zip(TEXTS, predicted(form, TEXTS), strict=True) if score is not None]
    frame = dask.from_pandas(pd.DataFrame({"s": texts}), npartitions=1)
    assert_same(predict(model_of(form), frame).compute(scheduler="synchronous")["quadric_score"].tolist(), texts, form)


def test_workbooks_read_eight_digits(tmp_path):
    scoring = scoring_model(model_of("eight digits"))
    day = float((np.datetime64("2019-03-11") - np.datetime64("1899-12-30")).astype(int))  # what a date cell holds
    samples = [
        replace(scoring.samples[0], values=(value,)) for value in (20190311.0, "20190311", "2019-03-11", day, 20191311.0)
    ]
    to_excel(replace(scoring, samples=tuple(samples)), tmp_path / "book.xlsx", spare_rows=0)
    head, *rows = recalculated(tmp_path)["book"]
    assert [row[head.index("score")] for row in rows] == ["10", "10", "10", "10", "#N/A"]


@pytest.mark.parametrize("form", FORMS)
def test_workbooks_say_which_texts_they_read(form, tmp_path):
    to_excel(model_of(form), tmp_path / "book.xlsx", spare_rows=0)
    with zipfile.ZipFile(tmp_path / "book.xlsx") as book:
        assert (b"dates in other forms give #N/A" in book.read("xl/sharedStrings.xml")) == (form in TEXT_FORMS)
