"""Dates in other forms than 2024-01-31: one decision for the whole column, however the file is read."""

import numpy as np
import pytest

from quadric.tables import Table, TableStream, read_chunks, read_table
from quadric.tables.dates import (
    AMBIGUOUS,
    FORMS,
    chosen_form,
    iso_text,
    possible_forms,
)
from quadric.tables.forms import find_forms, with_forms


@pytest.mark.parametrize(
    ("text", "form", "date"),
    [
        ("2012/01/02", "year first", "2012-01-02"),
        ("2012.1.2", "year first", "2012-01-02"),
        ("2012-1-2 9:30", "year first", "2012-01-02 09:30"),
        ("2012/01/02 12:30:15", "year first", "2012-01-02 12:30:15"),
        ("2012-01-02T06:16:41Z", "UTC", "2012-01-02T06:16:41"),
        ("2012-01-02 06:16:41.5+00:00", "UTC", "2012-01-02 06:16:41.5"),
        ("31/12/2012", "day first", "2012-12-31"),
        ("1.2.2012", "day first", "2012-02-01"),
        ("31-12-2012 18:30", "day first", "2012-12-31 18:30"),
        ("12/31/2012", "month first", "2012-12-31"),
        ("20121231", "eight digits", "2012-12-31"),
        ("31/12/2012", "month first", None),
        ("30/02/2012", "day first", None),
        ("31/12.2012", "day first", None),
        ("31/12/12", "day first", None),
        ("2012/01/02 25:00", "year first", None),
        ("20121331", "eight digits", None),
        ("١/٢/٢٠١٢", "day first", None),
    ],
)
def test_texts_of_a_form(text, form, date):
    assert iso_text(text, form) == date


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["2012/01/01", "2012/01/02"], "year first"),
        (["2012-01-01T06:16:41Z", "2012-01-01T07:03:59Z"], "UTC"),
        (["2012-01-01T06:16:41Z", "2012-01-01T07:03:59+01:00"], None),
        (["01/02/2012", "31/12/2012"], "day first"),
        (["01/02/2012", "12/31/2012"], "month first"),
        (["01.02.2012", "11.12.2012"], AMBIGUOUS),
        (["01/02/2012", "31/12/2012", "12/31/2012"], None),
        (["2012-01-01", "2012-01-02 12:30"], None),
        (["2012-01-01", "31/12/2012"], "day first"),
        (["01/02/2012", "n/a"], None),
        (["20120101"], None),
        (["a", "b"], None),
        ([], None),
    ],
)
def test_the_form_of_a_column(texts, form):
    assert chosen_form(possible_forms(texts)) == form


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("form", ["year first", "day first", "month first"])
def test_whole_files_and_chunks_are_decided_alike(seed, form, tmp_path):
    rng = np.random.default_rng(seed)
    pattern = {"year first": "{y}/{m:02}/{d:02}", "day first": "{d:02}/{m:02}/{y}", "month first": "{m}/{d}/{y}"}[form]
    days = rng.integers(1, 13, 300)  # ambiguous, but for one row near the end
    days[290] = 25
    dates = [pattern.format(y=2012, m=m, d=d) for m, d in zip(rng.integers(1, 13, 300), days, strict=True)]
    path = tmp_path / "data.csv"
    path.write_text("when,x\n" + "".join(f"{date if i % 9 else ''},{i}\n" for i, date in enumerate(dates)))
    whole = read_table(path)
    stream = TableStream(path, rows=40)
    forms = find_forms(stream.head(), stream, ["when", "x"])
    assert forms == find_forms(whole, TableStream(whole), ["when", "x"]) == {"when": form}
    expected = with_forms(whole, forms)["when"].tolist()
    chunks = [with_forms(chunk, forms) for chunk in read_chunks(path, 40)]
    assert [text for chunk in chunks for text in chunk["when"].tolist()] == expected
    assert expected[290] == iso_text(dates[290], form)
    assert expected[0] is None


def test_numbers_are_dates_only_where_somebody_says_so():
    table = Table(("when", "x"), (np.array([20120101.0, np.nan, 20121231.0]), np.array([1.0, 2.0, 3.0])))
    assert find_forms(table, TableStream(table), ["when", "x"]) == {}
    forms = find_forms(table, TableStream(table), ["when", "x"], dates=["when"])
    assert forms == {"when": "eight digits"}
    assert with_forms(table, forms)["when"].tolist() == ["2012-01-01", None, "2012-12-31"]


def test_what_has_another_form_stays_as_it_is():
    table = Table(("when",), (np.array(["31/12/2012", "2012-01-01", "soon", None], dtype=object),))
    assert with_forms(table, {"when": "day first", "other": "day first"})["when"].tolist() == [
        "2012-12-31",
        "2012-01-01",
        "soon",
        None,
    ]
    assert set(FORMS) == {"year first", "day first", "month first", "UTC", "eight digits"}
