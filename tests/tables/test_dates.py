"""Columns of dates as days, and columns that cannot be used, all named at once."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from helpers.random_models import fitted_classifier
from quadric.errors import ParameterError, near_name, unknown_names
from quadric.explain import reason_codes, recourse
from quadric.export import equation, load_model, save_model, to_latex
from quadric.fitted import fitted_model
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import InputColumn, TableEncoder
from quadric.tables.inputs import is_missing_text

DAYS = ["2020-02-29", "2019-03-01 06:00", "2021-01-01T12:00:00.5"]


def model_of_dates(**parameters):
    encoder = TableEncoder(dates=["issued"], **parameters).fit({"issued": DAYS, "age": [30.0, 40.0, 50.0]})
    n = len(encoder.features_)
    surface = QuadraticSurface(np.zeros((n, n)), np.r_[-0.01, np.zeros(n - 2), 0.05], 0.0)
    return Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], ["no", "yes"]))])


def test_dates_are_days_since_the_earliest_day():
    encoder = TableEncoder(dates=["issued"]).fit({"issued": DAYS})
    assert encoder.inputs_ == (InputColumn("issued", "date", origin="2019-03-01"),)
    assert encoder.get_feature_names_out().tolist() == ["issued"]
    np.testing.assert_allclose(encoder.transform({"issued": DAYS})[:, 0], [365.0, 0.25, 672.5 + 0.5 / 86400], rtol=1e-15)
    later = ["2019-02-28", "1899-12-31", "2100-03-01 23:59"]
    expected = [-1.0, -43524.0, 29585.0 + 1439 / 1440]
    np.testing.assert_allclose(encoder.transform({"issued": later})[:, 0], expected, rtol=1e-15)


FORMS = [
    np.array(["2019-03-02", "2019-03-04"], dtype="datetime64[D]"),
    np.array(["2019-03-02", "2019-03-04"], dtype="datetime64[ns]"),
    [date(2019, 3, 2), date(2019, 3, 4)],
    [datetime(2019, 3, 2), datetime(2019, 3, 4)],
    [datetime(2019, 3, 2, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2019, 3, 4, tzinfo=UTC)],
    pd.Series(pd.to_datetime(["2019-03-02", "2019-03-04"])),
    pd.Series(["2019-03-02", " 2019-03-04 "], dtype="string"),
]


@pytest.mark.parametrize("values", FORMS)
def test_dates_come_in_many_forms(values):
    encoder = TableEncoder(dates=["issued"]).fit({"issued": DAYS})
    np.testing.assert_array_equal(encoder.transform({"issued": values}), [[1.0], [3.0]])


def test_missing_dates_follow_the_rule_for_missing_values():
    data = {"issued": ["2019-03-01", None, " ", "2019-03-03"]}
    with pytest.raises(ParameterError, match=r"column 'issued' is missing in 2 row\(s\), the first is row 2"):
        TableEncoder(dates=["issued"]).fit(data)
    encoder = TableEncoder(dates=["issued"], missing="indicator").fit(data)
    assert encoder.get_feature_names_out().tolist() == ["issued", "issued is missing"]
    np.testing.assert_array_equal(encoder.transform(data), [[0, 0], [1, 1], [1, 1], [2, 0]])
    assert clone(encoder).get_params()["dates"] == ["issued"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["2019-03-01", "2024-13-45"], "column 'issued', row 2: '2024-13-45' is no date; dates are written as 2024-01-31"),
        (["yesterday", "2019-02-29"], r"column 'issued', row 1: 'yesterday' is no date \(2 such rows\)"),
        ([20190301.0, 3.0], "row 1: '20190301' is no date"),
    ],
)
def test_what_is_no_date_is_refused_by_name_and_row(values, words):
    for call in (
        lambda: TableEncoder(dates=["issued"]).fit({"issued": values}),
        lambda: model_of_dates().predict(rows_of(values)),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


def rows_of(values):
    return {"issued": values, "age": [1.0] * len(values)}


def test_files_keep_the_origin(tmp_path):
    model = model_of_dates(missing="indicator")
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again[0].inputs_ == model[0].inputs_
    rows = rows_of([*DAYS, None])
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_equations_say_where_the_days_begin():
    assert equation(model_of_dates()).splitlines()[-1] == "issued: days since 2019-03-01"
    assert "% issued: days since 2019-03-01" in to_latex(model_of_dates())


def test_explanations_show_dates():
    model = model_of_dates()
    rows = {"issued": ["2020-03-01", "2019-03-01"], "age": [10.0, 50.0]}
    reasons = reason_codes(model, rows, background=rows, favourable="yes", template="{feature} {value} {reference}")
    assert reasons.texts[0][0] == "issued 2020-03-01 2019-08-31"
    found = recourse(model, {name: values[:1] for name, values in rows.items()}, target="yes", frozen=["age"])
    assert found.reached.all()
    view = fitted_model(model)
    before = view.rows({name: values[:1] for name, values in rows.items()})
    changed = view.changed(before, view.reported(before), found.x)
    assert changed["issued"].dtype == "datetime64[us]"
    assert model.predict(changed).tolist() == ["yes"]


def test_all_columns_that_cannot_be_used_are_named_at_once():
    m = 120
    data = {
        "amount": [f"{i},5" for i in range(m)],
        "price": [f"{i},000.50" for i in range(1, m + 1)],
        "issued": [str(date(2019, 3, 1) + timedelta(i)) for i in range(m)],
        "closed": pd.to_datetime(["2020-01-01"] * m),
        "id": [f"c{i}" for i in range(m)],
        "thing": [object()] * m,
        "age": [30.0] * m,
    }
    with pytest.raises(ParameterError, match="6 columns cannot be used: ") as caught:
        TableEncoder().fit(data)
    text, remedies = str(caught.value), caught.value.remedies
    assert "\n" not in text
    assert all(repr(name) in text for name in data if name != "age")
    assert "'age'" not in text
    assert remedies["dates"] == ("issued", "closed")
    assert "id" in remedies["ignore"]
    assert "decimal" in remedies
    many = {f"id{i}": [f"c{j}" for j in range(m)] for i in range(11)}
    with pytest.raises(ParameterError, match=r"11 columns cannot be used: .*'id7'.* and 3 more$"):
        TableEncoder().fit(many)


def test_columns_of_other_types_than_when_fitted_are_named_at_once():
    encoder = TableEncoder(dates=["issued"]).fit({"issued": DAYS, "age": [1.0, 2.0, 3.0], "home": ["a", "b", "a"]})
    wrong = {"issued": [1.0, 2.0], "age": ["1", "2"], "home": pd.to_datetime(["2020-01-01"] * 2)}
    with pytest.raises(ValueError, match="3 columns do not suit the model: ") as caught:
        encoder.transform(wrong)
    for words in (
        "'issued', row 1: '1' is no date",
        "'age' must hold numbers; row 1 has '1'",
        "'home' must hold texts, and it holds dates",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "near"),
    [("Outcome", "outcome"), ("OUTCOME ", "outcome"), ("outcom", "outcome"), ("incoem", "income"), ("shoe", None)],
)
def test_near_names_are_found(name, near):
    assert near_name(name, ["income", "outcome", "age"]) == near


def test_unknown_names_are_told_in_one_sentence():
    names = ["income", "age"]
    assert unknown_names(["Age"], names, "the table") == "the table has no column 'Age' (did you mean 'age'?)"
    several = unknown_names(["Age", "shoe"], names, "the model", "class")
    assert several == "the model has no classes 'Age' (did you mean 'age'?), 'shoe'; it has 'income', 'age'"


def test_one_definition_of_a_missing_text():
    for text in ("", " ", "\t\r\n"):
        assert is_missing_text(text)
    assert not is_missing_text("nan")
    assert is_missing_text(" nan ", ["NaN"])
    assert not is_missing_text("nano", ["NaN"])
    encoder = TableEncoder(missing="impute", missing_texts=["NA", "-999"]).fit(
        {"a": [1.0, -999.0, 3.0], "b": ["x", "na", " x "]}
    )
    assert encoder.inputs_[0].fill == 2.0
    assert encoder.inputs_[1].categories == ("x",)
    assert encoder.transform({"a": [-999.0], "b": ["Na"]}).tolist() == [[2.0]]


@pytest.mark.parametrize("parameters", [{"dates": "issued"}, {"dates": [1]}, {"missing_texts": "NA"}])
def test_sequences_of_texts_are_wanted(parameters):
    with pytest.raises(ValueError, match="must be a sequence of texts"):
        TableEncoder(**parameters).fit({"a": [1.0, 2.0]})
