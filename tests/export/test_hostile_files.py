"""Files that are damaged, too new or made to do harm: one line, quickly, and nothing happens."""

import contextlib
import copy
import json
import pickle
import tracemalloc

import numpy as np
import pytest

from helpers.model_files import with_digest
from helpers.random_models import random_model
from quadric.export import ModelFileError, load_model, save_model


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """The document of a calibrated model with categories."""
    path = tmp_path_factory.mktemp("file") / "model.json"
    seed = next(s for s in range(1000) if _is_rich(random_model(s)[0]))
    save_model(random_model(seed)[0], path)
    return json.loads(path.read_text(encoding="utf-8"))


def _is_rich(model):
    return (
        getattr(model, "method_", "") == "sigmoid"
        and model.estimator_[0].coding == "onehot"
        and len(model.estimator_) == 3
        and len(model.classes_) == 2
        and {column.type for column in model.estimator_[0].inputs_} == {"number", "category"}
        and len(model.estimator_[-1].surfaces_[0].terms()) >= 2
        and any(column.type == "number" and column.indicator for column in model.estimator_[0].inputs_)
    )


def place(document, *keys):
    for key in keys[:-1]:
        document = document[key]
    return document, keys[-1]


def setting(value, *keys):
    def tamper(document):
        inner, key = place(document, *keys)
        inner[key] = value

    return tamper


def removing(*keys):
    def tamper(document):
        inner, key = place(document, *keys)
        del inner[key]

    return tamper


def repeating_a_term(document):
    terms = document["surfaces"][0]["terms"]
    terms.append(terms[0])


def swapping_a_term(document):
    document["surfaces"][0]["terms"][0] = [1, 0, 2.0]


def moving_a_coefficient(document):
    document["surfaces"][0]["terms"][0][2] += 1.0


def huge_scaler(document):
    document["steps"][1]["fitted"]["mean_"]["array"][1] = [0.0] * 100_000


def many_categories(document):
    column = next(column for column in document["steps"][0]["inner"] if column["type"] == "category")
    column["categories"] = [f"{i:06d}" for i in range(5_000)]


def many_classes(document):
    n = 2_000
    document["task"] = {
        "target": None,
        "classes": [f"{i:06d}" for i in range(n)],
        "positive": None,
        "labels": list(range(n)),
        "dtype": "<i8",
    }


def unsorted_categories(document):
    next(column for column in document["steps"][0]["inner"] if column["type"] == "category")["categories"] = ["b", "a"]


def filling_in_nothing_known(document):
    column = next(column for column in document["steps"][0]["inner"] if column["type"] == "category")
    column["fill"] = "no such level"


def filling_in_another_number(document):
    next(column for column in document["steps"][0]["inner"] if column["type"] == "number")["fill"] = 1.2345


def other_rule_for_unseen_levels(document):
    parameters = document["steps"][0]["params"]
    parameters["unseen"] = "refuse" if parameters["unseen"] == "other" else "other"


def huge_sample(document):
    kinds = [column["type"] for column in document["steps"][0]["inner"]]
    values = document["samples"][0]["values"]
    document["samples"][0]["values"] = [1e308 if k == "number" else v for k, v in zip(kinds, values, strict=True)]


TAMPERED = {
    "newer schema": (setting(5, "schema"), r"newer quadric \(schema 5\); this one reads up to 4: upgrade"),
    "absurd schema": (setting(10**300, "schema"), "newer quadric"),
    "schema zero": (setting(0, "schema"), "schema must be an integer from 1 to 4"),
    "early schema": (setting(1, "schema"), r"early version of quadric \(schema 1\): fit the model again"),
    "schema true": (setting(True, "schema"), "schema must be an integer"),
    "schema text": (setting("1", "schema"), "schema must be an integer"),
    "no surfaces": (removing("surfaces"), "file: it lacks the key 'surfaces'"),
    "extra key": (setting(1, "__reduce__"), "unknown key '__reduce__'"),
    "two surfaces": (lambda d: d["surfaces"].append(d["surfaces"][0]), "must have 1 items"),
    "term out of range": (setting([0, 10**6, 1.0], "surfaces", 0, "terms", 0), "integer from 0 to"),
    "negative feature": (setting([-1, 0, 1.0], "surfaces", 0, "terms", 0), "integer from 0"),
    "lower triangle": (swapping_a_term, "integer from 1 to"),
    "term twice": (repeating_a_term, "comes twice"),
    "short term": (setting([0, 1], "surfaces", 0, "terms", 0), "must have 3 items"),
    "text coefficient": (setting([0, 0, "1"], "surfaces", 0, "terms", 0), "must be a number"),
    "overflowing intercept": (setting(10**400, "surfaces", 0, "c"), "finite|digits"),
    "changed coefficient": (moving_a_coefficient, r"probes\[0\]\.scores does not agree with the model"),
    "million features": (setting(10**6, "features", "count"), "integer from 1 to 2000"),
    "other feature count": (setting(2000, "features", "count"), "estimator.clip_low must have 2000 items"),
    "huge scaler": (huge_scaler, "steps cannot be used"),
    "zero scale": (lambda d: d["steps"][1]["fitted"]["scale_"]["array"][1].__setitem__(0, 0.0), "not positive"),
    "many categories": (many_categories, "has 5000 items, more than 2000"),
    "many classes": (many_classes, "has 2000 items, more than 1000"),
    "unsorted categories": (unsorted_categories, "sorted"),
    "unknown fill": (filling_in_nothing_known, "not there"),
    "two equal inputs": (lambda d: d["steps"][0]["inner"].append(d["steps"][0]["inner"][0]), "different names"),
    "no inputs": (setting([], "steps", 0, "inner"), "at least one"),
    "unknown coding": (setting("hash", "steps", 0, "params", "coding"), "coding must be"),
    "other step": (setting("os.system", "steps", 0, "class"), "class must be one of ColumnTransformer"),
    "dropping step": (setting("drop", "steps", 1, "class"), "must be transformers"),
    "unknown attribute": (setting(1, "steps", 1, "fitted", "__class__"), "must be an object with some of the keys mean_"),
    "missing attribute": (removing("steps", 1, "fitted", "scale_"), "steps cannot be used"),
    "other attribute": (setting("x", "steps", 1, "fitted", "mean_"), "steps cannot be used"),
    "billions of columns": (
        setting(2**53, "steps", 1, "fitted", "n_features_in_"),
        r"n_features_in_ must be an integer from 0",
    ),
    "unknown step parameter": (setting(1, "steps", 1, "params", "copy"), "unknown key 'copy'"),
    "array type": (setting("|V8", "steps", 1, "fitted", "mean_", "array", 0), "not a type of numbers"),
    "other class": (setting("os.system", "estimator", "class"), "estimator.class must be one of L0LeastSquaresSVC"),
    "unknown parameter": (setting(1, "params", "__class__"), "unknown key"),
    "parameter object": (setting({"py/object": "os.system"}, "params", "C"), "is not a parameter"),
    "parameter range": (setting({"range": [0, 10**12, 1]}, "params", "k"), "must be an integer from"),
    "range without a step": (setting({"range": [0, 1, 0]}, "params", "k"), r"params\.k cannot be used"),
    "key of a mapping": (setting({"dict": [[[1], 2]]}, "params", "class_weight"), r"params\.class_weight cannot be used"),
    "array of texts as a label": (setting({"array": ["<i8", ["x"]]}, "task", "labels", 0), r"task\.labels\[0\] cannot be used"),
    "output": (setting("__import__('os')", "steps", 1, "output"), "output must be"),
    "label types": (setting("|V8", "task", "dtype"), "do not fit their type"),
    "label bytes": (setting("<U999999999", "task", "dtype"), "do not fit their type"),
    "labels in disorder": (lambda d: d["task"]["labels"].reverse(), "increasing order"),
    "one class": (lambda d: [d["task"][key].pop() for key in ("classes", "labels")], "two classes"),
    "wrong positive": (setting("x", "task", "positive"), "second of two"),
    "calibration method": (setting("magic", "calibration", "method"), "must be one of isotonic, sigmoid"),
    "calibration curves": (setting([], "calibration", "curves"), "calibrat"),
    "certificate status": (setting("perfect", "certificates", 0, "status"), "must be one of gap, local, optimal"),
    "certificate number": (setting("x", "certificates", 0, "objective"), "must be a number"),
    "sample label": (setting("nobody", "samples", 0, "label"), r"samples\[0\]\.label does not agree"),
    "sample prediction": (setting("nobody", "samples", 0, "prediction"), r"samples\[0\]\.prediction does not agree"),
    "sample probabilities": (setting([0.5, 0.5], "samples", 0, "probabilities"), r"samples\[0\]\.probabilities does not agree"),
    "no samples": (setting([], "samples"), "samples is empty"),
    "no probes": (setting([], "probes"), "probes is empty"),
    "no key of samples": (removing("samples"), "lacks the key 'samples'"),
    "no digest": (removing("digest"), "lacks the key 'digest'"),
    "no digest of a member": (removing("digest", "calibration"), "digest lacks the key 'calibration'"),
    "calibration slope": (
        setting(-9.0, "calibration", "curves", 0, "a"),
        r"calibration\.probes\[0\] does not agree with the curve",
    ),
    "class name": (setting("another", "task", "classes", 0), r"\]\.label does not agree with the model"),
    "label": (setting("", "task", "labels", 0), r"\]\.prediction does not agree with the model"),
    "fill value": (filling_in_another_number, r"probes\[\d+\]\.scores does not agree with the model"),
    "unseen levels": (other_rule_for_unseen_levels, r"inputs\[\d\]\.unseen does not agree with the steps"),
    "input name": (setting("other", "inputs", 0, "name"), r"inputs\[0\]\.name does not agree with the steps"),
    "terms of a certificate": (
        setting(1, "certificates", 0, "n_terms"),
        r"certificates\[0\]\.n_terms is not that of the surface",
    ),
    "k of a certificate": (setting(10**6, "certificates", 0, "k"), r"certificates\[0\]\.k must be from n_terms to"),
    "k": (setting(1, "params", "k"), r"certificates\[0\]\.k must be from n_terms to 1"),
    "negative k": (setting(-1, "params", "k"), "params cannot be used: k must be an integer from 1 to"),
    "negative objective": (setting(-1.0, "certificates", 0, "objective"), r"certificates\[0\]\.objective must not be negative"),
    "infinite objective": (setting("inf", "certificates", 0, "objective"), r"certificates\[0\]\.objective must be a number"),
    "gap without a bound": (setting(0.1, "certificates", 0, "gap"), r"certificates\[0\]\.gap does not agree"),
    "bound without a gap": (setting(1.0, "certificates", 0, "lower_bound"), r"certificates\[0\]\.gap does not agree"),
    "bound above": (setting(9.0, "certificates", 0, "lower_bound"), r"lower_bound is above the objective"),
    "optimal without a bound": (setting("optimal", "certificates", 0, "status"), r"certificates\[0\]\.status does not agree"),
    "checksum of the data": (setting({"rows": 1, "sha256": "zz"}, "data"), "64 hexadecimal digits"),
    "sample values": (setting([], "samples", 0, "values"), "must have"),
    "sample scores": (setting([1e308], "samples", 0, "scores"), r"samples\[0\]\.scores does not agree"),
    "huge sample": (huge_sample, r"samples\[0\]\.scores does not agree"),
    "lone surrogate": (setting("\ud800", "task", "target"), "not a valid text"),
    "long text": (setting("x" * 20_000, "task", "target"), "at most 10000 characters"),
    "rows below zero": (setting({"rows": -1, "sha256": None}, "data"), "integer from 0"),
    "metadata list": (setting([], "metadata"), "must be an object"),
    "steps": (setting("scaler", "steps", 0, "name"), "unique"),
}


def refused(path, words):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=words) as caught:
            load_model(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert peak < 250e6
    return str(caught.value)


@pytest.mark.parametrize("case", TAMPERED)
def test_tampered_documents_are_refused_in_one_line(tmp_path, original, case):
    tamper, words = TAMPERED[case]
    document = copy.deepcopy(original)
    tamper(document)
    (tmp_path / "model.json").write_text(json.dumps(with_digest(document)), encoding="utf-8")
    refused(tmp_path / "model.json", words)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("quadric_version",), "9.9"),
        (("params", "C"), 3.5),
        (("params", "k"), 11),
        (("estimator", "status"), ["solved"]),
        (("certificates", 0, "stationarity"), 0.0),
        (("metadata", "note"), "new"),
        (("calibration", "params", "cv"), 7),
        (("data",), {"rows": 5, "sha256": None}),
    ],
)
def test_what_no_answer_depends_on_is_held_by_the_digest(tmp_path, original, keys, value):
    document = copy.deepcopy(original)
    setting(value, *keys)(document)
    (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
    refused(tmp_path / "model.json", f"{keys[0]} does not agree with its digest: the file was damaged or changed")
    (tmp_path / "model.json").write_text(json.dumps(with_digest(document)), encoding="utf-8")
    load_model(tmp_path / "model.json")


BROKEN = {
    "cut off": (lambda text: text[: len(text) // 2], r"damaged or not a model file: .* at line \d+, column \d+"),
    "empty": (lambda text: "", "at line 1, column 1"),
    "a number": (lambda text: "7", "no schema"),
    "a list": (lambda text: "[]", "no schema"),
    "other JSON": (lambda text: '{"a": 1}', "no schema"),
    "NaN": (lambda text: text.replace('"c": ', '"c": NaN, "d": ', 1), "NaN is not a number"),
    "Infinity": (lambda text: text.replace('"c": ', '"c": -Infinity, "d": ', 1), "Infinity is not a number"),
    "large exponent": (
        lambda text: text.replace('"c": ', '"c": 1e999, "d": ', 1).replace(', "d": ', "1, ", 0),
        "unknown key|finite",
    ),
    "many digits": (lambda text: text.replace('"schema": 4', '"schema": ' + "9" * 10_000), "damaged or not a model file"),
    "a key twice": (lambda text: text.replace('"schema": 4', '"schema": 4, "schema": 4'), "a key comes twice"),
    "deep nesting": (lambda text: "[" * 200_000, "nested too deeply|damaged"),
    "HTML": (lambda text: "<html><script>alert(1)</script></html>", "line 1, column 1"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_text_is_refused_in_one_line(tmp_path, original, case):
    breaking, words = BROKEN[case]
    (tmp_path / "model.json").write_text(breaking(json.dumps(original)), encoding="utf-8")
    refused(tmp_path / "model.json", words)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "model.json").write_bytes(b'{"schema": 1, "x": "\xff"}')
    refused(tmp_path / "model.json", "byte 20 is not UTF-8")


def test_a_file_of_many_megabytes_is_not_read(tmp_path):
    with (tmp_path / "model.json").open("wb") as file:
        file.truncate(200 << 20)
    refused(tmp_path / "model.json", "larger than 32 MB")


class Bomb:
    exploded = False

    def __reduce__(self):
        return setattr, (Bomb, "exploded", True)


def test_pickles_are_not_loaded(tmp_path):
    (tmp_path / "model.json").write_bytes(pickle.dumps(Bomb(), protocol=0))
    refused(tmp_path / "model.json", "damaged or not a model file")
    assert not Bomb.exploded


def test_random_damage_never_raises_anything_else(tmp_path, original):
    """Replace one value anywhere in the file by something else, many times."""
    rng = np.random.default_rng(0)
    poison = [None, True, -1, 2**70, 1e308, "x", "", [], {}, [[[]]], {"tuple": 3}]
    accepted = 0
    for _ in range(300):
        document = copy.deepcopy(original)
        spots = list(_spots(document))
        inner, key = spots[rng.integers(len(spots))]
        inner[key] = poison[rng.integers(len(poison))]
        (tmp_path / "model.json").write_text(json.dumps(document), encoding="utf-8")
        with contextlib.suppress(ModelFileError):
            load_model(tmp_path / "model.json")
            accepted += 1
    assert accepted < 100


def _spots(value):
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(members):
        yield value, key
        if isinstance(member, dict | list):
            yield from _spots(member)
