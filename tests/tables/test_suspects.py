"""Texts that are numbers or dates in another notation are told apart from other texts."""

from collections import Counter

import pytest

from quadric.tables.suspects import suspect_texts

NUMBERS = {
    "decimal commas": (["1,5", "2", "-0,75", None], {"decimal": ","}),
    "three decimals": (["0,125", "1,250"], {"decimal": ","}),
    "thousands": (["1,000", "2,345,678.5", "7"], {"thousands": ","}),
    "both": (["1.234,5", "12", "1.234.567"], {"decimal": ",", "thousands": "."}),
    "spaces": (["1 000", "22"], {"thousands": " "}),
    "apostrophes": (["1'000,5", "22"], {"decimal": ",", "thousands": "'"}),
    "a mark for missing": ([*map(str, range(50)), "-"], {"na": ",NA,NaN,null,?,-"}),
    "percent": ([f"{i} %" for i in range(30)], {}),
    "units": ([f"{i}.50 EUR" for i in range(30)], {}),
    "read with other marks": ([f"{i}.271" for i in range(1, 30)], {"thousands": "."}),
    "read with a wrong mark": ([f"{i}.5" for i in range(30)], {"decimal": "."}),
    "underscores": (["1_000", "22", "-3_456_789.5"], {"thousands": "_"}),
    "base 16": (["0x1F", "0x20", "0XA"], {}),
    "base 8 and 2": (["0o17", "0b101", "-0b11", "7", "2e3"], {}),
    "digits of another script": (["\u0661\u0662", "\u0663", "7", "-\u0661\u066c\u0660\u0660\u0660\u066b\u0665"], {}),
    "a minus sign of typography": (["\u22125", "7", "\u22122.5"], {}),
    "exponents": (["62,88", "9,271E+00"], {"decimal": ","}),
}
DATES = {
    "iso": (["2020-01-31", "2021-12-01"], {"dates": "x", "ignore": "x"}),
    "moments": (["2020-01-31 10:00:00", "2021-12-01T09:30"], {"dates": "x", "ignore": "x"}),
    "zones": (["2020-01-31T10:00:00+02:00", "2021-12-01T09:30Z"], {"ignore": "x"}),
    "single digits": (["2020-1-3", "4/9/2022"], {"ignore": "x"}),
    "months": (["2022-09", "2021-12"], {"ignore": "x"}),
    "points": (["31.1.2020", "1.12.2021"], {"ignore": "x"}),
    "short": (["01/31/20", "12/01/21"], {"ignore": "x"}),
    "month names": (["Jan 5, 2020", "March 12, 2021"], {"ignore": "x"}),
}
TEXTS = [
    ["own", "rent"],
    ["1", "2"],
    ["1,3,5", "2", "4,1,1"],
    ["10%", "20%"],
    ["1-2", "3-4"],
    ["A1,5"],
    ["1", "2", "other"],
    ["1_2", "10_11"],
    ["x1F", "0xyz"],
    [f"10.0.0.{i}" for i in range(40)],
    [f"{i}.0.2" for i in range(40)],
    [f"ABC{i}" for i in range(40)],
    [None],
]


def suspicion(column):
    return suspect_texts("x", Counter(text for text in column if text is not None))


@pytest.mark.parametrize(("cases", "what"), [(NUMBERS, "numbers"), (DATES, "dates")])
def test_numbers_and_dates_are_found_with_what_mends_them(cases, what):
    for column, remedies in cases.values():
        error = suspicion(column)
        assert str(error).startswith(f"column 'x' holds {what} ")
        assert error.remedies == {**remedies, "texts": "x"}
        assert suspicion([*column, *["text"] * len(column)]) is None


def test_other_texts_are_left_alone():
    assert [suspicion(column) for column in TEXTS] == [None] * len(TEXTS)


def test_what_no_marks_make_a_number_is_shown():
    error = suspicion(["1,211.5"] * 20 + ["1,00"])
    assert "such as '1,211.5', but also '1,00'" in str(error)
