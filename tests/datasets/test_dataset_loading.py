"""Loading: the right arrays from the right file, and a clear refusal of anything else."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from helpers.original_files import CONVERTED, data_folder
from quadric.datasets import REGISTRY, DatasetError, add, cache_folder, load, status

DATA = data_folder()
needs_data = pytest.mark.skipif(DATA is None, reason="needs the folder with the paper's data sets (QUADRIC_DATA)")
POSITIVES = {
    "abalone": 1447,
    "ctg": 1655,
    "ecoli": 143,
    "glass": 51,
    "haberman": 81,
    "immunotherapy": 71,
    "australian": 383,
    "japanese": 296,
    "german": 300,
}
IN_FILES = [*POSITIVES, "credit_small"]


def ccc(rows=106, label=lambda i: "good" if i % 3 else "bad", feature=lambda i, j: i * j):
    header = "deliveries,integrity,delivery,quality,positive,blacklist,status\n"
    return (
        header + "".join(",".join([*(str(feature(i, j)) for j in range(6)), label(i)]) + "\n" for i in range(rows))
    ).encode()


@needs_data
@pytest.mark.parametrize("name", IN_FILES)
def test_arrays_have_the_shape_and_classes_of_the_paper(name):
    dataset = load(name, folder=DATA)
    info = dataset.info
    assert dataset.X.shape == info.shape
    assert dataset.X.dtype == np.float64
    assert np.isfinite(dataset.X).all()
    assert dataset.y.shape == info.shape[:1]
    assert np.issubdtype(dataset.y.dtype, np.integer)
    assert np.unique(dataset.y).tolist() == list(range(info.n_classes))
    assert dataset.feature_names == info.columns[:-1]
    assert dataset.class_names == info.class_names
    assert dataset.sha256 == info.sha256
    if name in POSITIVES:
        assert dataset.y.sum() == POSITIVES[name]


@needs_data
@pytest.mark.parametrize("name", IN_FILES)
def test_values_and_codes_are_those_of_pandas(name):
    dataset = load(name, folder=DATA)
    frame = pd.read_csv(DATA / f"{name}.csv")
    if name == "abalone":
        frame = frame[(frame.rings <= 8) | (frame.rings >= 11)].reset_index(drop=True)
        frame["sex"] = frame.sex.map({"M": 0, "F": 1, "I": 2})
    for j, column in enumerate(frame.columns[:-1]):
        values = frame[column]
        if not pd.api.types.is_numeric_dtype(values):
            codes = pd.Categorical(values)
            assert dataset.categories[column] == tuple(codes.categories)
            values = codes.codes
        np.testing.assert_array_equal(dataset.X[:, j], np.asarray(values, dtype=float))


@needs_data
def test_positive_rows_are_those_of_the_label_rule():
    rules = {
        "abalone": lambda frame: frame.rings[(frame.rings <= 8) | (frame.rings >= 11)] >= 11,
        "ctg": lambda frame: frame.NSP == 1,
        "ecoli": lambda frame: frame.site == "cp",
        "glass": lambda frame: frame.type >= 5,
        "haberman": lambda frame: frame.survival == 2,
        "immunotherapy": lambda frame: frame.result == 1,
        "australian": lambda frame: frame["class"] == 0,
        "japanese": lambda frame: frame.A16 == "+",
        "german": lambda frame: frame.risk == 2,
    }
    for name, rule in rules.items():
        expected = rule(pd.read_csv(DATA / f"{name}.csv"))
        np.testing.assert_array_equal(load(name, folder=DATA).y, expected.astype(int), err_msg=name)


@needs_data
def test_credit_small_has_three_classes_in_alphabetical_order():
    dataset = load("credit small", folder=DATA)
    labels = pd.read_csv(DATA / "credit_small.csv").Credit_Score
    assert dataset.class_names == ("Average", "High", "Low")
    assert [dataset.class_names[code] for code in dataset.y] == labels.tolist()


@needs_data
def test_a_model_reads_the_arrays_as_they_are():
    from sklearn.svm import SVC

    dataset = load("immunotherapy", folder=DATA)
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 1.0
    assert SVC().fit(dataset.X, dataset.y).score(dataset.X, dataset.y) > 0.7


def test_iris_comes_with_scikit_learn():
    dataset = load("Iris")
    expected = load_iris()
    np.testing.assert_array_equal(dataset.X, expected.data)
    np.testing.assert_array_equal(dataset.y, expected.target)
    assert dataset.class_names == ("setosa", "versicolor", "virginica")
    assert dataset.feature_names == dataset.info.features == tuple(expected.feature_names)
    assert (dataset.sha256, dict(dataset.categories)) == (None, {})
    assert status("iris").place == "scikit-learn"


@needs_data
@pytest.mark.parametrize("name", IN_FILES)
def test_one_wrong_byte_is_refused(name, tmp_path):
    content = bytearray((DATA / f"{name}.csv").read_bytes())
    content[len(content) // 2] ^= 1
    path = tmp_path / f"{name}.csv"
    path.write_bytes(content)
    with pytest.raises(DatasetError) as caught:
        load(name, folder=tmp_path)
    message = str(caught.value)
    info = REGISTRY[name]
    for part in (str(path), info.sha256, hashlib.sha256(content).hexdigest(), info.homepage, info.recipe.original):
        assert part in message
    assert "\n" not in message
    assert status(name, folder=tmp_path).problem in message


def folder_with(path, content=CONVERTED):
    path.mkdir(parents=True)
    (path / "haberman.csv").write_bytes(content)
    return path


def test_the_given_folder_comes_before_quadric_data_and_that_before_the_cache(small, tmp_path, cache, monkeypatch):
    def place(folder=None):
        return status("haberman", folder=folder).place

    assert place() is None
    folder_with(cache)
    assert place() == str(cache / "haberman.csv")
    monkeypatch.setenv("QUADRIC_DATA", str(folder_with(tmp_path / "data")))
    assert place() == str(tmp_path / "data" / "haberman.csv")
    folder_with(tmp_path / "mine")
    assert place(tmp_path / "mine") == str(tmp_path / "mine" / "haberman.csv")
    (tmp_path / "empty").mkdir()
    assert place(tmp_path / "empty") == str(tmp_path / "data" / "haberman.csv")


def test_a_wrong_file_is_refused_even_when_a_right_one_follows(small, tmp_path, cache, monkeypatch):
    folder_with(cache)
    assert load("haberman").y.tolist() == [0, 1, 1, 1]
    monkeypatch.setenv("QUADRIC_DATA", str(folder_with(tmp_path / "data", CONVERTED + b"\n")))
    with pytest.raises(DatasetError, match=r"data.haberman\.csv has sha256"):
        load("haberman")
    assert not status("haberman").available


def test_quadric_data_must_be_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("QUADRIC_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match=r"QUADRIC_DATA names .*nowhere, which is not a folder"):
        load("german")


def test_an_empty_quadric_data_counts_as_unset(monkeypatch, tmp_path):
    monkeypatch.chdir(folder_with(tmp_path / "here"))
    monkeypatch.setenv("QUADRIC_DATA", "")
    assert status("haberman").place is None


def test_status_of_a_missing_file_says_how_to_get_it(cache):
    missing = status("GCD")
    assert (missing.place, missing.problem, missing.available) == (None, None, False)
    assert "quadric.datasets.fetch('german')" in missing.advice
    assert str(cache / "german.csv") in missing.advice
    assert "folder='/elsewhere'" in status("GCD", folder="/elsewhere").advice
    assert "private" in status("ccc").advice


def test_credit_small_is_never_fetched(cache):
    with pytest.raises(DatasetError, match=r"credit_small\.csv is not in .*kaggle\.com.*login") as caught:
        load("credit small")
    assert str(cache / "credit_small.csv") in str(caught.value)


def test_ccc_is_private(cache):
    with pytest.raises(DatasetError, match=r"ccc\.csv is not in .*private") as caught:
        load("CCC")
    assert str(cache / "ccc.csv") in str(caught.value)


def test_ccc_is_accepted_from_those_who_have_it(tmp_path):
    (tmp_path / "ccc.csv").write_bytes(ccc())
    dataset = load("ccc", folder=tmp_path)
    assert dataset.X.shape == (106, 6)
    assert dataset.class_names == ("bad", "good")
    assert dataset.y[:4].tolist() == [0, 1, 1, 0]
    assert dataset.X[5].tolist() == [0, 5, 10, 15, 20, 25]
    assert dataset.feature_names[0] == "deliveries"
    assert dataset.sha256 == hashlib.sha256(ccc()).hexdigest()
    assert status("ccc", folder=tmp_path).available
    assert add("ccc", tmp_path / "ccc.csv").read_bytes() == ccc()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x89PNG\xff\xff",
        ccc(rows=105),
        ccc(rows=107),
        ccc(label=lambda i: "good"),
        ccc(label=lambda i: str(i % 3)),
        ccc(label=lambda i: ["1", "3,2"][i % 2]),
        ccc(feature=lambda i, j: "many" if (i, j) == (50, 3) else 1),
        ccc(feature=lambda i, j: "nan" if (i, j) == (50, 3) else 1),
        ccc(feature=lambda i, j: "" if (i, j) == (50, 3) else 1),
        ccc().replace(b"integrity", b"quality"),
    ],
    ids=["empty", "binary", "short", "long", "one label", "three labels", "wide", "text", "nan", "blank", "equal names"],
)
def test_another_table_is_not_ccc(tmp_path, cache, content):
    (tmp_path / "ccc.csv").write_bytes(content)
    wanted = "does not have a header, then 106 rows of 6 numbers and a label, 2 labels in all"
    with pytest.raises(DatasetError, match=wanted):
        load("ccc", folder=tmp_path)
    with pytest.raises(DatasetError, match=wanted):
        add("ccc", tmp_path / "ccc.csv")
    assert not cache.exists()
    assert status("ccc", folder=tmp_path).problem == wanted


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.cache/quadric"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/quadric"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "HOME/Library/Caches/quadric"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/quadric"),
        ("win32", {}, "HOME/AppData/Local/quadric"),
        ("linux", {"QUADRIC_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ("win32", {"QUADRIC_CACHE": "~/own"}, "HOME/own"),
    ],
)
def test_the_cache_is_where_the_platform_has_its_caches(platform, variables, expected, monkeypatch):
    for name in ("QUADRIC_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder() == Path(expected.replace("HOME", str(Path.home())))


def test_reading_needs_none_of_the_optional_packages(small, cache, monkeypatch):
    folder_with(cache)
    for module in ("pooch", "requests", "xlrd", "python_calamine", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    assert load("haberman").info.name == "haberman"
