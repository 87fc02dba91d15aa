"""Each term of a table has a text that rules read as this term alone, however columns are called."""

import numpy as np
import pytest

from quadric.geometry.terms import term_count, term_names
from quadric.tables import as_table
from quadric.workflow import TrainingOptions
from quadric.workflow.preparation import prepare
from quadric.workflow.term_texts import TermTexts

OPTIONS = TrainingOptions(k=2, C=1.0, loss="least_squares", terms="quadratic")


def prepared(names):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=120) for name in names}
    table["home"] = rng.choice(["own", "rent", "a*b"], size=120)
    table["y"] = np.tile(["no", "yes"], 60)
    return prepare(as_table(table), "y", OPTIONS)


@pytest.mark.parametrize(
    "names", [("age", "income"), ("x", "x^2", "y", "x*y", "y*x"), ("x", '"x"', '"x"^2'), ("x", "x^2", "x^2^2", "x*", "home*x")]
)
def test_every_term_has_a_text_of_its_own(names):
    data = prepared(names)
    texts, n = TermTexts(data.encoder), len(data.feature_names)
    plain = term_names(data.feature_names)
    for term in range(term_count(n)):
        text = texts.text(term)
        one = TrainingOptions(k=2, C=1.0, include=(text,))
        assert data.under(one).limits.include == [term]
        assert texts.settled(text) == text
        if plain.count(plain[term]) == 1 and names == ("age", "income"):
            assert text == plain[term]
    for feature in range(n):
        rest = data.under(TrainingOptions(k=2, C=1.0, exclude=(texts.products(feature),))).limits.exclude
        own = {term for term, name in enumerate(term_names(list(map(str, range(n))))) if str(feature) in name.split("*")}
        assert {*rest} >= own - {term_count(n) - n + feature}
        assert texts.square(feature) == texts.text(square_of(feature, n))


def square_of(feature, n):
    return term_names(list(map(str, range(n)))).index(f"{feature}^2")


def test_terms_are_called_by_one_of_several_texts():
    texts = TermTexts(prepared(("age", "income")).encoder)
    assert texts.settled("income*age") == "age*income"
    assert texts.settled("home") == "home"  # each of its levels
    assert texts.settled("nobody") == "nobody"
