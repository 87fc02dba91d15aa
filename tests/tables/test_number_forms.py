"""Texts that are numbers with marks or units: one form for the whole column."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from quadric.tables import Table, TableStream
from quadric.tables.forms import find_forms, with_forms
from quadric.tables.numbers import is_number_form, number_forms, number_in
from quadric.tables.table import text_column

READ = {
    "thousands": (["6,495", "1,200", "7", "1,234,567.5"], "1,234.5", [6495, 1200, 7, 1234567.5]),
    "decimal commas": (["1,5", "-2", "0,75"], "1.234,5", [1.5, -2, 0.75]),
    "both": (["1.234,5", "12"], "1.234,5", [1234.5, 12]),
    "spaces": (["1 000", "22"], "1 234.5", [1000, 22]),
    "percent": (["4 %", "5.5 %", "0"], "1,234.5 %", [4, 5.5, 0]),
    "percent without a blank": (["4%", "5%"], "1,234.5%", [4, 5]),
    "dollars": (["$1,200", "-$3.5", "$7"], "$1,234.5", [1200, -3.5, 7]),
    "euros": (["1.200,50 €", "3 €"], "1.234,5 €", [1200.5, 3]),
    "many in a currency": ([f"USD {i},000" for i in range(1, 30)], "USD 1,234.5", [1000 * i for i in range(1, 30)]),
    "many texts": ([f"{i}" for i in range(40)], "1234.5", list(range(40))),
}
NONE = [
    ["own", "rent"],
    ["1", "2"],
    ["1,3,5", "2"],
    ["5 %", "5 €"],
    ["6,495", "unknown"],
    ["1,5", "1.5"],
    ["BMW 320", "BMW 520"],
    [f"0{i}" for i in range(40)],
    [f"{i}.271" for i in range(1, 40)],
    ["A1,5"],
]


@pytest.mark.parametrize("case", READ)
def test_columns_of_numbers_are_read_in_the_likeliest_form(case):
    texts, form, numbers = READ[case]
    assert number_forms(texts)[0] == form
    assert [number_in(text, form) for text in texts] == numbers
    assert is_number_form(form)


@pytest.mark.parametrize("texts", NONE)
def test_other_texts_have_no_form(texts):
    assert number_forms(texts) == ()


@pytest.mark.parametrize("text", ["1,234,5", "eight digits", "", "1234", "12,345.6"])
def test_what_is_no_form_of_a_number(text):
    assert not is_number_form(text)


def table(*texts):
    return Table(("x", "n"), (text_column(list(texts)), np.arange(len(texts), dtype=float)))


def test_all_rows_decide_and_missing_values_have_no_say():
    first, second = table("1,5", "NA", None, "2,25"), table("1.000,5", "3")
    assert find_forms(first, TableStream([first, second]), ["x", "n"]) == {"x": "1.234,5"}
    assert find_forms(first, TableStream([first, table("much")]), ["x", "n"]) == {}
    assert find_forms(first, TableStream([first]), ["n"]) == {}
    assert_array_equal(with_forms(first, {"x": "1.234,5"})["x"], [1.5, np.nan, np.nan, 2.25])


def test_a_text_that_does_not_suit_the_form_stays_one():
    read = with_forms(table("1,5", "much", None), {"x": "1.234,5", "absent": "1,234.5"})["x"]
    assert read.tolist() == ["1.5", "much", None]
