"""Columns as features."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from quadric import SparseQuadraticSVC
from quadric.tables import InputColumn, Table, TableEncoder, read_table, structural_exclusions, target_labels

FRAME = pd.DataFrame(
    {
        "age": [30.0, 40.0, 50.0, 60.0, 35.0],
        "home": ["own", "rent", "own", "free", "rent"],
        "job": ["b", "a", "a", "b", "a"],
        "years": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)


def test_the_most_frequent_level_has_no_feature():
    encoder = TableEncoder().fit(FRAME)
    assert encoder.get_feature_names_out().tolist() == ["age", "home=free", "home=rent", "job=b", "years"]
    assert [column.dropped for column in encoder.inputs_] == [None, "own", "a", None]  # own and rent tie
    assert encoder.blocks_.tolist() == [0, 1, 1, 2, 3]
    assert encoder.input_names_ == tuple(FRAME.columns)
    assert encoder.text_names == ("home", "job")
    assert encoder.n_features_in_ == 4


@pytest.mark.parametrize("seed", range(10))
def test_codes_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"x": rng.normal(size=40), "a": rng.choice(list("pqrs"), 40), "b": rng.choice(["10", "9"], 40)})
    for coding in ("onehot", "ordinal"):
        encoder = TableEncoder(coding=coding).fit(data)
        if coding == "onehot":
            dropped = [data[name].value_counts().sort_index().idxmax() for name in ("a", "b")]
            reference = OneHotEncoder(drop=dropped, sparse_output=False)
        else:
            reference = OrdinalEncoder()
        expected = ColumnTransformer([("x", "passthrough", ["x"]), ("codes", reference, ["a", "b"])]).fit_transform(data)
        np.testing.assert_array_equal(encoder.transform(data), expected)


def test_all_forms_of_a_table_give_the_same_features(tmp_path):
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    expected = TableEncoder().fit_transform(FRAME)
    mapping = {name: FRAME[name].tolist() for name in FRAME}
    for data in (read_table(tmp_path / "data.csv"), mapping, FRAME.to_numpy(dtype=object)):
        np.testing.assert_array_equal(TableEncoder().fit_transform(data), expected)
    shuffled = FRAME[["years", "job", "home", "age"]].assign(other=1.0)
    encoder = TableEncoder().fit(FRAME)
    np.testing.assert_array_equal(encoder.transform(shuffled), expected)
    assert encoder.extra_columns(shuffled) == ["other"]
    assert encoder.extra_columns(FRAME) == []


def test_missing_values_are_filled_and_marked():
    data = {"age": [30.0, None, 50.0], "home": [None, "rent", "rent"], "years": [1.0, 2.0, 3.0]}
    filled = TableEncoder(missing="impute").fit(data)
    np.testing.assert_array_equal(filled.transform(data)[:, 0], [30.0, 40.0, 50.0])
    assert [column.fill for column in filled.inputs_] == [40.0, "rent", 2.0]
    marked = TableEncoder(missing="indicator", coding="ordinal").fit(data)
    assert marked.get_feature_names_out().tolist() == ["age", "age is missing", "home", "home is missing", "years"]
    np.testing.assert_array_equal(marked.transform(data), [[30, 0, 0, 1, 1], [40, 1, 0, 0, 2], [50, 0, 0, 0, 3]])
    later = {"age": [None], "home": [None], "years": [None]}
    np.testing.assert_array_equal(marked.transform(later), [[40, 1, 0, 1, 2]])
    np.testing.assert_array_equal(filled.transform(later), [[40, 2]])


def test_unseen_levels_can_count_as_the_dropped_one():
    encoder = TableEncoder(unseen="other").fit(FRAME)
    row = FRAME.iloc[:1].assign(home="boat")
    np.testing.assert_array_equal(encoder.transform(row), [[30, 0, 0, 1, 1]])


WRONG = [
    (
        FRAME.assign(home=["own", "boat", "own", "boat", "own"]),
        r"column 'home', row 2: 'boat' was not there when fitted \(2 such",
    ),
    (FRAME.drop(columns="age"), "no column 'age'; it has 'home', 'job', 'years'"),
    (FRAME.drop(columns=["age", "job"]), "no columns 'age', 'job'; it has 'home', 'years'"),
    (FRAME.assign(age=["1", "2", "x", "4", "y"]), "column 'age' must hold numbers; row 3 has 'x'"),
    (FRAME.assign(age=["1", "2e3", "3_000", "4", "y"]), "column 'age' must hold numbers; row 3 has '3_000'"),
    (FRAME.assign(age=["1", "2", "3", "4", "5"]), "column 'age' must hold numbers; row 1 has '1', a text: convert the column"),
    (FRAME.assign(age=[1.0, np.nan, 3.0, np.nan, 5.0]), r"column 'age' is missing in 2 row\(s\), the first is row 2"),
    (FRAME.assign(age=[1.0, 2.0, 3.0, np.inf, 5.0]), "column 'age' is infinite in row 4"),
    (FRAME.assign(age=pd.to_datetime(["2020-01-01"] * 5)), "column 'age' must hold numbers, and it holds dates"),
    (FRAME.assign(age=[object()] * 5), "column 'age' holds a object"),
    (FRAME.assign(job=None), "column 'job' is missing in 5"),
    (np.zeros((2, 3)), "X has 3 features, but TableEncoder is expecting 4"),
]


@pytest.mark.parametrize(("data", "words"), WRONG)
def test_bad_rows_give_one_clear_line(data, words):
    encoder = TableEncoder().fit(FRAME)
    with pytest.raises(ValueError, match=words) as caught:
        encoder.transform(data)
    assert "\n" not in str(caught.value)


def test_columns_of_any_type_are_ignored_where_they_are_not_needed():
    more = FRAME.assign(when=pd.to_datetime(["2020-01-01"] * 5), what=[object()] * 5)
    encoder = TableEncoder().fit(FRAME)
    np.testing.assert_array_equal(encoder.transform(more), encoder.transform(FRAME))
    assert encoder.extra_columns(more) == ["when", "what"]


def test_rows_of_a_piece_are_counted_in_its_file():
    encoder = TableEncoder().fit({"a": ["x", "y"]})
    piece = Table(("a",), (np.array(["x", "z"], dtype=object),), first_row=101)
    with pytest.raises(ValueError, match="row 102"):
        encoder.transform(piece)


@pytest.mark.parametrize(
    ("data", "parameters", "words"),
    [
        ({"a": [None, None]}, {}, "column 'a' has no values"),
        ({"a": [1.0, None]}, {}, "fit with missing='impute'"),
        ({"a": [1.0, np.inf]}, {}, "infinite in row 2"),
        ({"id": [f"c{i}" for i in range(200)]}, {}, "200 different texts such as 'c0', more than 100: leave it out"),
        ({"x": [f"{i},5" for i in range(200)]}, {}, "read the table with decimal=','"),
        ({"a": ["x", "y", "z"]}, {"max_levels": 2}, "3 different texts"),
        ({}, {}, "no columns"),
        ({"a": []}, {}, "no rows"),
        ({"a": ["x"]}, {"coding": "hash"}, "coding must be 'onehot' or 'ordinal'"),
        ({"a": ["x"]}, {"missing": "drop"}, "missing must be"),
    ],
)
def test_bad_tables_cannot_be_fitted(data, parameters, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(**parameters).fit(data)


def test_numbers_serve_as_categories_that_were_read_as_texts():
    encoder = TableEncoder().fit({"code": ["1", "2", "1"]})
    np.testing.assert_array_equal(encoder.transform({"code": [2, 1]}), [[1.0], [0.0]])


def test_names_of_features_are_never_equal():
    encoder = TableEncoder(missing="indicator").fit(
        {"home": ["own", None, "rent", "own"], "home=rent": [1.0, 2.0, 3.0, 4.0], "home is missing": [0.0, 1.0, 0.0, 1.0]}
    )
    names = encoder.get_feature_names_out().tolist()
    assert names == ["home=rent", "home is missing", "home=rent (2)", "home is missing (2)"]


def test_an_encoder_can_be_built_from_what_it_learned():
    encoder = TableEncoder(missing="indicator").fit({"a": ["x", None, "y"], "b": [1.0, 2.0, None]})
    again = TableEncoder.from_inputs(encoder.inputs_, missing="indicator")
    data = {"a": [None, "y"], "b": [None, 5.0]}
    np.testing.assert_array_equal(again.transform(data), encoder.transform(data))
    assert again.inputs_[0] == InputColumn("a", "category", ("x", "y"), "x", "x", True)


def test_it_is_a_scikit_learn_transformer():
    encoder = TableEncoder(coding="ordinal")
    assert clone(encoder).get_params() == encoder.get_params()
    with pytest.raises(NotFittedError):
        encoder.transform(FRAME)
    out = TableEncoder().set_output(transform="pandas").fit_transform(FRAME)
    assert list(out.columns) == ["age", "home=free", "home=rent", "job=b", "years"]


def redundant_products(X):
    """Pairs whose product is a linear function of the columns and 1, by least squares."""
    base = np.column_stack([np.ones(len(X)), X])
    found = set()
    for i in range(X.shape[1]):
        for j in range(i, X.shape[1]):
            product = X[:, i] * X[:, j]
            rest = product - base @ np.linalg.lstsq(base, product, rcond=None)[0]
            if np.abs(rest).max() < 1e-9:
                found.add((i, j))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_excluded_products_are_those_that_add_nothing(seed):
    rng = np.random.default_rng(seed)
    m = 400
    numbers = np.where(rng.random(m) < 0.2, np.nan, rng.normal(size=m))
    homes = [None if rng.random() < 0.2 else str(level) for level in rng.choice(["own", "rent", "free"], m)]
    data = {
        "x": numbers,
        "home": homes,
        "flag": rng.integers(0, 2, m),
        "job": rng.choice(["a", "b"], m),
        "y": rng.normal(size=m),
    }
    encoder = TableEncoder(missing="indicator").fit(data)
    X = encoder.transform(data)
    pairs = structural_exclusions(encoder, X)
    assert set(pairs) == redundant_products(X)
    assert len(pairs) == len(set(pairs))


def test_a_classifier_takes_the_exclusions():
    rng = np.random.default_rng(0)
    data = {"home": rng.choice(["own", "rent", "free"], 60), "x": rng.normal(size=60)}
    encoder = TableEncoder().fit(data)
    X = encoder.transform(data)
    y = (X[:, 0] - X[:, 1] + X[:, 2] > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseQuadraticSVC(k=9, method="pd", exclude=structural_exclusions(encoder, X)).fit(X, y)
    W = model.surfaces_[0].W
    assert W[0, 0] == W[1, 1] == W[0, 1] == 0.0
    assert np.count_nonzero(W[2]) > 0


@pytest.mark.parametrize(
    ("values", "positive", "codes", "names"),
    [
        (["good", "bad", "good"], None, [0, 1, 0], ("good", "bad")),
        (["bad", "good", "bad"], None, [1, 0, 1], ("good", "bad")),
        (["Yes", "No", "Yes"], None, [1, 0, 1], ("No", "Yes")),
        (["non-default", "DEFAULT", "DEFAULT"], None, [0, 1, 1], ("non-default", "DEFAULT")),
        (["1.0", "0", "1.0"], None, [1, 0, 1], ("0", "1.0")),
        (["b", "a", "b"], None, [0, 1, 0], ("b", "a")),
        (["b", "a"], None, [1, 0], ("a", "b")),
        (["good", "bad", "good"], "bad", [0, 1, 0], ("good", "bad")),
        ([1.0, 2.0, 1.0], None, [0, 1, 0], ("1", "2")),
        ([1.0, 2.0, 1.0], "1.0", [1, 0, 1], ("2", "1")),
        ([1.0, 2.0, 1.0], 1, [1, 0, 1], ("2", "1")),
        (["10", "9", "10"], None, [0, 1, 0], ("10", "9")),
        (["10", "9"], None, [1, 0], ("9", "10")),
        (["c", "a", "b"], None, [2, 0, 1], ("a", "b", "c")),
        ([True, False], None, [1, 0], ("False", "True")),
        ([0.5, -1.5], None, [1, 0], ("-1.5", "0.5")),
    ],
)
def test_targets_become_codes_with_the_positive_class_last(values, positive, codes, names):
    found, class_names = target_labels(np.array(values, dtype=object), positive)
    assert found.tolist() == codes
    assert class_names == names


@pytest.mark.parametrize(
    ("values", "positive", "words"),
    [
        (["a", None, "b", None], None, r"missing in 2 row\(s\), the first is row 2"),
        ([1.0, np.nan], None, "missing in 1"),
        (["a", "a"], None, "is 'a' in every row"),
        ([], None, "has no rows"),
        (np.linspace(0, 1, 30), None, "looks continuous"),
        (np.arange(60), None, "60 different values"),
        ([f"n{i}" for i in range(60)], None, "60 different values"),
        (["a", "b"], "c", "no value 'c'; it has 'a', 'b'"),
        (["a", "b", "c"], "a", "has 3 classes: leave it out"),
    ],
)
def test_targets_that_are_no_classes_are_refused(values, positive, words):
    with pytest.raises(ValueError, match=words) as caught:
        target_labels(values, positive)
    assert "\n" not in str(caught.value)
