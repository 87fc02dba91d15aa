"""Rare levels, new levels and missing values: what an encoder makes of them, and what a model file keeps."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from quadric import SparseQuadraticSVC
from quadric.fitted import fitted_model
from quadric.samples.recoding import NOWHERE, is_rare
from quadric.tables import TableEncoder, as_table
from quadric.tables.encoder import coding_of

RARE = {"missing": "indicator", "unseen": "other", "rare": "other"}


def texts(**counts):
    return np.array([level for level, count in counts.items() for _ in range(count)], dtype=object)


def coded(encoder, *cells):
    return dict(zip(cells, encoder.transform({"home": np.array(cells, dtype=object)}).tolist(), strict=True))


@pytest.mark.parametrize(
    ("count", "rows", "answer"),
    [(9, 20, True), (10, 20, False), (10, 1_000, False), (10, 1_001, True), (99, 10_000, True), (100, 10**6, False)],
)
def test_few_rows_are_fewer_than_ten_or_fewer_than_a_hundred_and_one_percent(count, rows, answer):
    assert bool(is_rare(count, rows)) is answer


def test_rare_levels_are_one_level_that_takes_new_ones():
    encoder = TableEncoder(**RARE).fit({"home": texts(own=40, rent=30, boat=6, tent=5)})
    assert encoder.get_feature_names_out().tolist() == ["home=rent", "home=other"]
    assert coded(encoder, "own", "rent", "boat", "castle", None) == {
        "own": [0, 0],
        "rent": [1, 0],
        "boat": [0, 1],
        "castle": [0, 1],
        None: [0, 1],
    }
    assert encoder.inputs_[0].categories == ("own", "rent")


def test_a_group_that_is_rare_itself_counts_as_the_most_frequent_level():
    encoder = TableEncoder(**RARE).fit({"home": texts(own=40, rent=30, boat=6)})
    assert encoder.get_feature_names_out().tolist() == ["home=rent"]
    assert coded(encoder, "boat", "castle", None) == {"boat": [0], "castle": [0], None: [0]}


def test_rare_and_new_levels_are_apart_from_one_that_is_called_other():
    encoder = TableEncoder(**RARE).fit({"home": texts(own=40, Other=30, boat=6, tent=6)})
    assert encoder.get_feature_names_out().tolist() == ["home=Other", "home=rare or new"]
    assert coded(encoder, "Other", "boat", "castle") == {"Other": [1, 0], "boat": [0, 1], "castle": [0, 1]}
    levels = texts(**{"own": 40, "other": 30, "rare or new": 20, "boat": 6, "tent": 6})
    assert TableEncoder(**RARE).fit({"home": levels}).inputs_[0].other == "rare or new (2)"


def test_the_group_is_dropped_where_it_is_the_most_frequent():
    encoder = TableEncoder(**RARE).fit({"home": texts(own=20, **{f"h{i}": 9 for i in range(9)})})
    assert encoder.get_feature_names_out().tolist() == ["home=own"]
    assert coded(encoder, "own", "h3", "castle") == {"own": [1], "h3": [0], "castle": [0]}


def test_missing_texts_are_a_level_of_their_own():
    column = np.concatenate([texts(own=40, rent=30, boat=12), np.array([None] * 15, dtype=object)])
    encoder = TableEncoder(**RARE).fit({"home": column})
    assert encoder.get_feature_names_out().tolist() == ["home=boat", "home=rent", "home is missing"]
    assert coded(encoder, None, "castle") == {None: [0, 0, 1], "castle": [0, 0, 0]}


def test_a_few_missing_values_get_no_flag():
    number = np.concatenate([np.arange(40.0), [np.nan] * 9])
    text = np.concatenate([texts(own=25, rent=15), np.array([None] * 9, dtype=object)])
    encoder = TableEncoder(**RARE).fit({"age": number, "home": text})
    assert encoder.get_feature_names_out().tolist() == ["age", "home=rent"]
    assert encoder.transform({"age": [np.nan], "home": [None]}).tolist() == [[19.5, 0.0]]


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_every_column_stores_a_value_also_where_nothing_was_missing(missing):
    encoder = TableEncoder(**RARE | {"missing": missing}).fit({"age": np.arange(30.0), "home": texts(own=18, rent=12)})
    assert [column.fill for column in encoder.inputs_] == [14.5, "own"]
    assert encoder.transform({"age": [np.nan], "home": [None]}).tolist() == [[14.5, 0.0]]


def test_where_new_levels_are_refused_rare_ones_are_still_known():
    encoder = TableEncoder(rare="other").fit({"home": texts(own=40, rent=30, boat=6, tent=5)})
    assert coded(encoder, "own", "boat", "tent") == {"own": [0, 0], "boat": [0, 1], "tent": [0, 1]}
    with pytest.raises(ValueError, match="'castle' was not there when fitted"):
        coded(encoder, "castle")


def test_more_levels_than_allowed_are_grouped():
    encoder = TableEncoder(**RARE, max_levels=2).fit({"home": texts(own=40, rent=30, boat=20, tent=15)})
    assert encoder.get_feature_names_out().tolist() == ["home=other", "home=rent"][::-1]
    names = TableEncoder(**RARE).fit({"name": np.array([f"n{i}" for i in range(300)], dtype=object), "age": np.arange(300.0)})
    assert names.get_feature_names_out().tolist() == ["age"]


def test_new_levels_have_the_rank_of_the_most_frequent():
    encoder = TableEncoder(coding="ordinal", unseen="other", missing="impute").fit({"home": texts(a=2, b=5, c=3)})
    assert coded(encoder, "a", "castle", None) == {"a": [0], "castle": [1], None: [1]}


def test_the_coding_tells_folds_what_to_learn():
    home = np.concatenate([texts(own=40, rent=30, boat=6, tent=6), np.array([None] * 18, dtype=object)])
    age = np.concatenate([np.arange(80.0), [np.nan] * 20])
    table = TableEncoder(**RARE).cleaned(as_table({"age": age, "home": home}))
    encoder = TableEncoder(**RARE).fit(table)
    coding = coding_of(encoder, encoder.transform(table), ["age", "home"])
    assert encoder.get_feature_names_out().tolist() == ["age", "age is missing", "home=rent", "home=other", "home is missing"]
    assert coding.is_flag.tolist() == [False, True, True, True, True]
    assert coding.other.tolist() == [NOWHERE, NOWHERE, 3, 3, 3]
    X = coding.with_gaps(encoder.transform(table))
    assert np.isnan(X).sum() == 20
    everything = coding.learned(X, np.ones(100), np.empty(0, dtype=np.intp))
    np.testing.assert_allclose(everything(X), encoder.transform(table))
    rows = np.r_[0:45, 70:82, 82:100]  # five rows of rent
    fold = coding.learned(X[rows], np.ones(len(rows)), np.empty(0, dtype=np.intp))
    assert fold.into.tolist() == [0, 1, 3, 3, 4]
    np.testing.assert_allclose(fold(X)[:, 3], encoder.transform(table)[:, 2:4].sum(axis=1))
    demanded = coding.learned(X[rows], np.ones(len(rows)), np.array([2]))
    assert demanded.into.tolist() == [0, 1, 2, 3, 4]
    few = coding.learned(X[:72], np.ones(72), np.empty(0, dtype=np.intp))  # two rows of boat, none is missing
    assert few.into.tolist() == [0, NOWHERE, 2, NOWHERE, NOWHERE]


def test_products_of_few_rows_are_found_and_only_those_of_levels_and_flags():
    rng = np.random.default_rng(0)
    columns = {
        "a": texts(x=50, y=50),
        "b": texts(u=41, v=59),
        "zeros": np.r_[np.ones(5), np.zeros(95)],
        "n": rng.normal(size=100),
    }
    encoder = TableEncoder(**RARE).fit(columns)
    assert encoder.get_feature_names_out().tolist() == ["a=y", "b=u", "zeros", "n"]
    X = encoder.transform(columns)
    coding = coding_of(encoder, X, [])
    assert coding.thin_products(X) == [(0, 1), (0, 2), (1, 2)]
    assert coding.thin_products(X, share=0.5) == [(0, 1), (0, 2)]
    assert coding_of(TableEncoder(unseen="other").fit(columns), X, []).thin_products(X) == []
    assert len(coding.thin_terms(X)) == 3


def test_the_view_of_a_model_knows_the_group():
    columns = {"home": texts(own=40, rent=30, boat=6, tent=5), "age": np.arange(81.0)}
    y = np.arange(81) % 2
    model = make_pipeline(TableEncoder(**RARE), SparseQuadraticSVC(k=3, C=1.0, loss="least_squares")).fit(columns, y)
    feature = fitted_model(model).features[1]
    assert (feature.name, feature.kind, feature.level, feature.unseen) == ("home=other", "level", None, 1.0)
