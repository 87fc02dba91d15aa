"""Model files: the same bits back."""

import json
import stat

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

from helpers import random_samples, stored_model
from helpers.model_files import with_digest
from helpers.random_models import fitted_classifier, pipeline_of, random_model
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, baselines, certify
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.export import (
    DataOrigin,
    ModelFileError,
    export,
    load_model,
    read_model,
    save_model,
    scoring_model,
    to_python,
    to_sql,
)
from quadric.export._checks import Node
from quadric.export._steps import read_step
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table, TableEncoder

IRIS = load_iris(as_frame=True)
TOP_KEYS = [
    *("schema", "quadric_version", "task", "inputs", "steps", "features", "surfaces", "estimator", "params"),
    *("calibration", "certificates", "data", "metadata", "samples", "probes", "digest"),
]


def saved(model, tmp_path, **arguments):
    save_model(model, tmp_path / "model.json", **arguments)
    return load_model(tmp_path / "model.json")


def document(tmp_path):
    return json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))


def same_bits(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
    )


def assert_same_classifier(a, b):
    assert type(a) is type(b)
    assert same_bits(a.coef_, b.coef_)
    assert same_bits(a.intercept_, b.intercept_)
    assert same_bits(a.classes_, b.classes_)
    assert same_bits(a.n_iter_, b.n_iter_)
    assert a.surfaces_ == b.surfaces_
    assert a.certificates_ == b.certificates_
    assert a.status_ == b.status_
    assert a.n_features_in_ == b.n_features_in_
    assert a.term_names() == b.term_names()


@pytest.mark.parametrize("seed", range(40))
def test_a_model_comes_back_with_the_same_bits(tmp_path, seed):
    model, table = random_model(seed)
    loaded = saved(model, tmp_path)
    assert type(loaded) is type(model)
    assert same_bits(loaded.decision_function(table), model.decision_function(table))
    assert same_bits(loaded.predict(table), model.predict(table))
    if isinstance(model, CalibratedModel):
        assert same_bits(loaded.predict_proba(table), model.predict_proba(table))
        assert loaded.calibrators_ == model.calibrators_
    first, second = pipeline_of(model), pipeline_of(loaded)
    assert [name for name, _ in first.steps] == [name for name, _ in second.steps]
    assert first[0].inputs_ == second[0].inputs_
    assert first[0].features_ == second[0].features_
    assert repr(first.get_params()) == repr(second.get_params())
    assert_same_classifier(first[-1], second[-1])


def test_the_keys_of_the_file_are_those_of_the_schema(tmp_path):
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2, method="pd")).fit(
        IRIS.data.iloc[50:], IRIS.target.iloc[50:]
    )
    saved(model, tmp_path, class_names=["versicolor", "virginica"], target="species", metadata={"by": "me"})
    content = document(tmp_path)
    assert list(content) == TOP_KEYS
    assert content["schema"] == 4
    assert content["task"] == {
        "target": "species",
        "classes": ["versicolor", "virginica"],
        "positive": "virginica",
        "labels": [1, 2],
        "dtype": "<i8",
    }
    (scaler,) = content["steps"]
    assert (scaler["name"], scaler["class"]) == ("standardscaler", "StandardScaler")
    assert scaler["fitted"]["mean_"] == {"array": ["<f8", model[0].mean_.tolist()]}
    (surface,) = content["surfaces"]
    W, b = np.zeros((4, 4)), np.zeros(4)
    for i, j, value in surface["terms"]:
        if j is None:
            b[i] = value
        else:
            assert i <= j
            W[i, j] = W[j, i] = value
    assert QuadraticSurface(W, b, surface["c"]) == model[-1].surfaces_[0]
    assert content["params"]["k"] == 2
    assert content["metadata"] == {"by": "me"}


def test_a_bare_classifier_comes_back_bare(tmp_path):
    model = SparseQuadraticSVC(k=3, method="pd", C=2, include=["x0*x1"]).fit(IRIS.data.to_numpy(), IRIS.target)
    loaded = saved(model, tmp_path)
    assert_same_classifier(model, loaded)
    assert loaded.get_params() == model.get_params()
    assert same_bits(loaded.decision_function(IRIS.data.to_numpy()), model.decision_function(IRIS.data.to_numpy()))
    assert loaded.certificates_ == model.certificates_


def test_even_the_sign_of_zero_comes_back(tmp_path):
    model = fitted_classifier([QuadraticSurface([[-0.0, 0.0], [0.0, 2.0]], [0.0, -0.0], -0.0)], [0, 1])
    loaded = saved(model, tmp_path)
    assert_same_classifier(model, loaded)
    assert loaded.surfaces_[0].n_terms == 1


def test_two_standardisations_are_taken_together(tmp_path):
    cv = SparseQuadraticSVCCV(ks=[2], Cs=(1.0,), cv=2, standardize=True, method="pd")
    X, y = IRIS.data.to_numpy()[50:], IRIS.target[50:]
    model = Pipeline([("scaler", StandardScaler().fit(X[:20] * 3)), ("classifier", cv)])
    model[-1].fit(model[0].transform(X), y)
    namespace = {}
    exec(to_python(saved(model, tmp_path)), namespace)
    found = [namespace["predict"]({f"x{i}": value for i, value in enumerate(row)})["scores"][0] for row in X.tolist()]
    np.testing.assert_allclose(found, model.decision_function(X), rtol=0, atol=1e-9)


def test_names_of_a_frame_come_back(tmp_path):
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), SparseQuadraticSVC(k=2, method="pd"))
    model = pipeline.fit(IRIS.data, IRIS.target)
    loaded = saved(model, tmp_path)
    assert loaded[-1].term_names()[0] == "sepal length (cm)^2"
    assert loaded[0].feature_names_in_.tolist() == list(IRIS.data.columns)
    assert same_bits(loaded.decision_function(IRIS.data), model.decision_function(IRIS.data))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(IRIS.data.rename(columns={"sepal length (cm)": "other"}))


def test_a_cross_validated_model_comes_back_without_its_paths(tmp_path):
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    model = SparseQuadraticSVCCV(ks=range(1, 4), Cs=(1.0, 4.0), cv=cv, standardize=True, method="pd")
    model.fit(IRIS.data.to_numpy()[50:], IRIS.target[50:])
    loaded = saved(model, tmp_path)
    assert_same_classifier(model, loaded)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.ks == range(1, 4)
    assert loaded.Cs == (1.0, 4.0)
    assert (loaded.best_loss_, loaded.best_k_, loaded.best_C_) == (model.best_loss_, model.best_k_, model.best_C_)
    rows, labels = IRIS.data.to_numpy()[50:], IRIS.target[50:]
    assert certify(loaded, rows, labels)[0].objective == certify(model, rows, labels)[0].objective
    assert loaded.raw_surfaces_ == model.raw_surfaces_
    assert same_bits(loaded.decision_function(IRIS.data.to_numpy()), model.decision_function(IRIS.data.to_numpy()))
    assert not hasattr(loaded, "paths_")
    rows = IRIS.data.to_numpy()[40:60]
    namespace = {}
    exec(to_python(loaded), namespace)
    found = [namespace["predict"]({f"x{i}": value for i, value in enumerate(row)})["scores"][0] for row in rows.tolist()]
    np.testing.assert_allclose(found, model.decision_function(rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", baselines.__all__)
def test_baselines_come_back(tmp_path, name):
    X = StandardScaler().fit_transform(IRIS.data)
    model = getattr(baselines, name)().fit(X, IRIS.target)
    loaded = saved(model, tmp_path)
    assert type(loaded) is type(model)
    assert same_bits(loaded.coef_, model.coef_)
    assert same_bits(loaded.decision_function(X), model.decision_function(X))
    assert {key for key in vars(model) if key.endswith("_")} == {key for key in vars(loaded) if key.endswith("_")}


def test_a_calibrated_model_fitted_on_a_table_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    table = Table(("age", "home"), (rng.normal(40, 10, 90), rng.choice(["own", "rent"], 90).astype(object)))
    y = (table["age"] + 5 * rng.normal(size=90) + 8 * (table["home"] == "own") > 44).astype(int)
    pipeline = Pipeline(
        [("coding", TableEncoder()), ("scaler", StandardScaler()), ("classifier", SparseQuadraticSVC(k=2, method="pd"))]
    )
    model = CalibratedModel(pipeline, cv=3).fit(table, y)
    loaded = saved(model, tmp_path, class_names=["good", "bad"], data=Table(table.names, table.columns, "ab" * 32))
    assert same_bits(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.get_params(deep=False)["cv"] == 3
    content = read_model(tmp_path / "model.json")
    assert content.class_names == ("good", "bad")
    assert content.data == DataOrigin(90, "ab" * 32)
    assert scoring_model(content).classes == ("good", "bad")


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1]),
        np.array([-1, 1], dtype=np.int8),
        np.array(["a", "b"]),
        np.array(["a", "bc"], dtype=object),
        np.array([False, True]),
        np.array([0.5, 1.5]),
        np.array(["a", "b"], dtype="<U9"),
    ],
)
def test_labels_keep_their_type(tmp_path, labels):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], labels)
    loaded = saved(model, tmp_path)
    assert same_bits(loaded.classes_, labels)
    assert same_bits(loaded.predict([[1.0], [-1.0]]), model.predict([[1.0], [-1.0]]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("class_weight", {0: 1.0, 1: 2.5}),
        ("exclude", [(0, 1), "x0^2", 3]),
        ("include", ("x0",)),
        ("random_state", 7),
        ("k", np.int64(3)),
        ("rho", None),
        ("exclude", np.array([1, 2])),
    ],
)
def test_parameters_keep_their_types(tmp_path, name, value):
    model = fitted_classifier([QuadraticSurface(np.zeros((2, 2)), [1.0, 0.0], 0.0)], [0, 1], **{name: value})
    loaded = saved(model, tmp_path).get_params()[name]
    assert np.array_equal(loaded, value) if isinstance(value, np.ndarray) else loaded == value
    assert isinstance(loaded, int) if isinstance(value, np.int64) else type(loaded) is type(value)


@pytest.mark.parametrize("value", [np.random.RandomState(0), float("inf"), lambda: 0])
def test_parameters_that_are_not_plain_are_refused(tmp_path, value):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], [0, 1], random_state=value)
    with pytest.raises(ValueError, match="cannot save the parameter random_state"):
        save_model(model, tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_file_of_this_schema_stays_readable():
    content = read_model(stored_model.PATH)
    stored = json.loads(stored_model.PATH.read_text(encoding="utf-8"))
    assert content.class_names == ("good", "bad")
    assert content.target == "risk"
    assert content.data == DataOrigin(120, "0" * 64)
    assert content.metadata == {"n": [1, 2.5]}
    assert content.model.estimator_[-1].get_params()["exclude"] == [(1, 1)]
    np.testing.assert_allclose(
        content.model.predict_proba(content.samples), [sample["probabilities"] for sample in stored["samples"]], rtol=1e-12
    )
    codes = content.model.predict(content.samples)
    assert [content.class_names[code] for code in codes] == [sample["label"] for sample in stored["samples"]]


def test_the_stored_file_is_what_is_written_today(tmp_path):
    """Otherwise the schema has changed, and needs another number: then run tests/helpers/stored_model.py."""
    stored_model.write(tmp_path / "model.json")
    stored = json.loads(stored_model.PATH.read_text(encoding="utf-8"))
    assert nearly(document(tmp_path), {**stored, "quadric_version": document(tmp_path)["quadric_version"]})


def nearly(a, b):
    """Equal but for the last digits of answers, which depend on the processor, and for digests of them."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(nearly(a[key], b[key]) for key in a if key != "digest")
    if isinstance(a, list):
        return len(a) == len(b) and all(map(nearly, a, b))
    return a == pytest.approx(b, rel=1e-12) if isinstance(a, float) else a == b and type(a) is type(b)


def test_files_without_parameters_that_came_later_have_the_defaults():
    first = stored_model.PATH.with_name("model_schema_4_first.json")
    stored = json.loads(first.read_text(encoding="utf-8"))
    assert "gap_limit" not in stored["params"]
    assert read_model(first).model.estimator_[-1].gap_limit == 0.0
    assert "rare" not in stored["steps"][0]["params"]
    encoder = read_model(first).model.estimator_[0]
    assert encoder.rare == "keep"
    assert [(column.other, column.grouped) for column in encoder.inputs_] == [(None, ())] * 3


def test_an_old_word_for_levels_that_only_new_data_have_is_understood():
    step = json.loads(stored_model.PATH.read_text(encoding="utf-8"))["steps"][0]
    step["params"]["unseen"] = "as_dropped"
    _, encoder = read_step(Node(step, "steps"))
    assert encoder.unseen == "other"
    assert {feature.unseen for feature in encoder.features_ if feature.kind == "level"} == {0.0}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"other": "own"}, "called like the rare ones"),
        ({"grouped": ["boat"]}, "groups categories that are not there"),
        ({"grouped": ["own"]}, "groups categories that are not there"),
        ({"fill": "other"}, "fills in a category that is not there"),
    ],
)
def test_groups_of_levels_are_checked(changes, says):
    step = json.loads(stored_model.PATH.read_text(encoding="utf-8"))["steps"][0]
    step["inner"][2] |= changes
    with pytest.raises(ModelFileError, match=says):
        read_step(Node(step, "steps"))


def test_files_of_an_earlier_schema_are_refused_in_one_sentence(tmp_path):
    (tmp_path / "model.json").write_text('{"schema": 3}')
    with pytest.raises(ModelFileError, match=r"^made by an early version of quadric \(schema 3\): fit the model again"):
        read_model(tmp_path / "model.json")


def test_saving_again_keeps_names_and_samples(tmp_path):
    model, table = random_model(3)
    save_model(model, tmp_path / "a.json", target="t", metadata={"n": 1}, data=DataOrigin(9), samples=table[np.arange(3)])
    export(read_model(tmp_path / "a.json"), "json", tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert len(read_model(tmp_path / "b.json").samples) == 3


def test_exports_of_a_file_carry_its_samples_and_names(tmp_path):
    model, table = random_model(7, hostile=False)
    names = [f"class {i}" for i in range(len(pipeline_of(model).classes_))]
    save_model(model, tmp_path / "a.json", class_names=names, target="risk", samples=table[np.arange(2)])
    text = to_sql(read_model(tmp_path / "a.json"))
    assert text.count("-- Sample:") == 2
    assert "'class 0'" in text
    assert "-- Target: risk" in text


def test_a_file_is_not_replaced_against_ones_will(tmp_path):
    model, _ = random_model(0)
    path = tmp_path / "model.json"
    save_model(model, path, force=False)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="exists already"):
        save_model(random_model(1)[0], path, force=False)
    assert path.read_bytes() == before
    save_model(random_model(1)[0], path)
    assert path.read_bytes() != before
    assert not path.stat().st_mode & stat.S_IXUSR


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"class_names": ["only one"]}, "class_names must be 2"),
        ({"class_names": ["same", "same"]}, "different names"),
        ({"metadata": {"x": float("nan")}}, "metadata"),
        ({"metadata": {"x": object()}}, "metadata"),
        ({"samples": {"other": [1.0]}}, "no column 'x0'"),
    ],
)
def test_wrong_arguments_write_nothing(tmp_path, arguments, words):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], [0, 1])
    with pytest.raises(ValueError, match=words):
        save_model(model, tmp_path / "model.json", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_models_without_a_formula_are_refused(tmp_path):
    classifier = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], [0, 1])
    scaled = Pipeline([("squeeze", PowerTransformer().fit([[0.0], [1.0], [3.0]])), ("classifier", classifier)])
    with pytest.raises(TypeError, match=r"step 'squeeze' \(PowerTransformer\) is not understood: transform the data first"):
        save_model(scaled, tmp_path / "model.json")
    with pytest.raises(TypeError, match="need a fitted quadric model"):
        save_model(object(), tmp_path / "model.json")
    with pytest.raises(NotFittedError):
        save_model(SparseQuadraticSVC(), tmp_path / "model.json")


def test_formats_are_told_by_their_endings(tmp_path):
    model, _ = random_model(2, hostile=False)
    for ending, start in [("json", b"{"), ("sql", b"-- "), ("py", b"# "), ("tex", b"% "), ("xlsx", b"PK"), ("onnx", b"\x08")]:
        if ending in ("xlsx", "onnx"):
            pytest.importorskip({"xlsx": "xlsxwriter", "onnx": "onnx"}[ending])
        export(model, None, tmp_path / f"model.{ending}")
        assert (tmp_path / f"model.{ending}").read_bytes().startswith(start)
    export(model, "latex", tmp_path / "other.txt", form="expanded")
    assert "expanded to raw units" in (tmp_path / "other.txt").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="cannot tell a format"):
        export(model, None, tmp_path / "model.doc")
    with pytest.raises(ValueError, match="no format 'pmml'"):
        export(model, "pmml", tmp_path / "model.xml")


def test_made_up_rows_try_everything():
    data = {"age": [30.0, None, 50.0], "home": ["own", "rent", None]}
    surface = QuadraticSurface(np.zeros((4, 4)), np.ones(4), 0.0)
    for missing, expected in (("indicator", 6), ("refuse", 5)):
        encoder = TableEncoder(missing=missing).fit(
            data if missing != "refuse" else {"age": [30.0, 50.0], "home": ["own", "rent"]}
        )
        n = len(encoder.features_)
        classifier = fitted_classifier([QuadraticSurface(surface.W[:n, :n], surface.b[:n], 0.0)], [0, 1])
        samples = scoring_model(Pipeline([("coding", encoder), ("classifier", classifier)])).samples
        assert len(samples) == expected
        assert {sample.values[1] for sample in samples} >= {"own", "rent"}
        assert len({sample.values[0] for sample in samples}) >= 4
        assert (samples[-1].values[0] is None) == (missing == "indicator")


def test_frames_of_samples_are_taken_by_name(tmp_path):
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2, method="pd")).fit(IRIS.data, IRIS.target)
    rows = IRIS.data.iloc[[3, 60]][IRIS.data.columns[::-1]]
    scoring = scoring_model(model, samples=rows)
    expected = model.decision_function(IRIS.data.iloc[[3, 60]])
    np.testing.assert_array_equal([sample.scores for sample in scoring.samples], expected)
    assert isinstance(rows, pd.DataFrame)


@pytest.mark.parametrize(
    ("levels", "names", "says"),
    [
        (["own", "x" * 10_001], ("no", "yes"), r"categories\[1\] must be a text of at most 10000 characters"),
        (["own", "rent"], ("no", "y" * 10_001), "must be a text of at most 10000 characters"),
    ],
)
def test_what_could_not_be_read_again_is_not_written(levels, names, says, tmp_path):
    table = Table(("home",), (np.array(levels * 5, dtype=object),))
    model = make_pipeline(TableEncoder(), SparseQuadraticSVC(k=1, loss="least_squares")).fit(table, [0, 1] * 5)
    with pytest.raises(ValueError, match=f"^the model cannot be saved, as it could not be read again: .*{says}"):
        save_model(model, tmp_path / "model.json", class_names=names)
    assert list(tmp_path.iterdir()) == []


def test_limits_of_features_and_size_hold_for_writing_too(tmp_path, monkeypatch):
    n = 2_001
    many = fitted_classifier([QuadraticSurface(np.zeros((n, n)), np.ones(n), 0.0)], ("a", "b"))
    with pytest.raises(ValueError, match=r"features\.count must be an integer from 1 to 2000"):
        save_model(many, tmp_path / "model.json")
    monkeypatch.setattr("quadric.export.model_file.MAX_BYTES", 1 << 10)
    with pytest.raises(ValueError, match="too large to be saved"):
        save_model(random_model(0)[0], tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_a_link_is_followed_and_a_device_is_left_alone(tmp_path):
    model = random_model(0)[0]
    (tmp_path / "link.json").symlink_to(tmp_path / "model.json")
    save_model(model, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    load_model(tmp_path / "model.json")
    with pytest.raises(OSError, match="is no regular file"):
        save_model(model, "/dev/null")
    with pytest.raises(OSError, match="is a folder"):
        save_model(model, tmp_path)


@pytest.mark.parametrize("change", [0.5, 0.2, 0.0, 1.0, -0.3, "0.3", None])
def test_a_cut_off_that_was_changed_is_noticed(change, tmp_path):
    X, y = random_samples(3, m=120, n=2)
    fitted = SparseQuadraticSVC(k=3, loss="least_squares").fit(X, y)
    model = CalibratedModel.from_parts(fitted, [SigmoidCalibration(-2.0, 0.1)], 0.35).set_params(cutoff="cost:3:1")
    save_model(model, path := tmp_path / "model.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["calibration"]["cutoff"] = change
    path.write_text(json.dumps(with_digest(document)), encoding="utf-8")
    with pytest.raises(ModelFileError, match=r"damaged model file: (calibration\.cutoff|probes|samples)"):
        load_model(path)
