"""The graph, run by onnxruntime."""

import json

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from helpers.random_models import allowed_error, fitted_classifier, pipeline_of, random_model, scores_of
from quadric.credit import CalibratedModel
from quadric.export import to_onnx
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table, TableEncoder

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


class Scorer:
    """A session that takes a table."""

    def __init__(self, model, path, dtype="float32"):
        to_onnx(model, path, dtype=dtype)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.metadata = {key: json.loads(text) for key, text in self.session.get_modelmeta().custom_metadata_map.items()}
        self.dtype = np.dtype(dtype)

    def __call__(self, table):
        feed = {}
        if self.metadata["numbers"]:
            feed["numbers"] = np.column_stack([table[name] for name in self.metadata["numbers"]]).astype(self.dtype)
        if self.metadata["categories"]:
            texts = [["" if t is None else t for t in table[name]] for name in self.metadata["categories"]]
            feed["categories"] = np.array(texts, dtype=object).T
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(None, feed), strict=True))


def as_matrix(values):
    return values[:, None] if values.ndim == 1 else values


def single(table):
    """The table with numbers as float32 holds them: what goes into the graph."""
    columns = [c if c.dtype == object else c.astype(np.float32).astype(float) for c in table.columns]
    return Table(table.names, tuple(columns))


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-5)])
@pytest.mark.parametrize("seed", range(24))
def test_onnxruntime_agrees_with_the_model(tmp_path, seed, dtype, tolerance):
    model, table = random_model(seed)
    table = table if dtype == "float64" else single(table)
    found = Scorer(model, tmp_path / "model.onnx", dtype)(table)
    scores = scores_of(model, table)
    assert (np.abs(as_matrix(found["score"]) - scores) <= allowed_error(model, table, tolerance)).all()
    assert found["label"].tolist() == model.predict(table).tolist()
    assert found["score"].dtype == dtype
    assert ("probability" in found) == isinstance(model, CalibratedModel)
    if "probability" in found:
        chances = model.predict_proba(table)
        expected = chances[:, 1:] if scores.shape[1] == 1 else chances
        np.testing.assert_allclose(as_matrix(found["probability"]), expected, rtol=0, atol=tolerance)


def test_single_precision_survives_means_far_from_zero(tmp_path):
    """(2021 - 2020.5)/0.01 in float32 arithmetic would be wrong in the third digit."""
    from sklearn.preprocessing import StandardScaler

    X = np.array([[2020.49], [2020.51]])
    model = Pipeline(
        [
            ("scaler", StandardScaler().fit(X)),
            ("classifier", fitted_classifier([QuadraticSurface([[2.0]], [1.0], 0.0)], ["no", "yes"])),
        ]
    )
    table = single(Table(("x0",), (np.array([2020.5, 2020.52, 2021.0]),)))
    found = Scorer(model, tmp_path / "model.onnx")(table)["score"]
    np.testing.assert_allclose(found, model.decision_function(table["x0"][:, None]), rtol=1e-6)


def test_samples_in_the_metadata_give_their_scores(tmp_path):
    for seed in range(8):
        model, _ = random_model(seed)
        scorer = Scorer(model, tmp_path / "model.onnx", "float64")
        samples = scorer.metadata["samples"]
        columns = {}
        for kind, absent in (("numbers", np.nan), ("categories", None)):
            for i, name in enumerate(scorer.metadata[kind]):
                values = [sample[kind][i] for sample in samples]
                columns[name] = np.array(
                    [absent if v is None else v for v in values], dtype=object if kind == "categories" else float
                )
        found = scorer(Table(tuple(columns), tuple(columns.values())))
        np.testing.assert_allclose(as_matrix(found["score"]), [s["scores"] for s in samples], rtol=1e-9, atol=1e-9)
        assert found["label"].tolist() == [s["label"] for s in samples]
        assert scorer.metadata["classes"] == pipeline_of(model).classes_.tolist()


def test_unknown_categories_and_missing_values_are_nan(tmp_path):
    encoder = TableEncoder().fit({"age": [20.0, 30.0], "home": ["own", "rent"]})
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, 1.0], 0.0)
    model = Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], ["no", "yes"]))])
    table = Table(
        ("age", "home"), (np.array([25.0, np.nan, 25.0, 25.0]), np.array(["rent", "own", "boat", None], dtype=object))
    )
    found = Scorer(model, tmp_path / "model.onnx")(table)
    np.testing.assert_array_equal(found["score"], np.array([26.0, np.nan, np.nan, np.nan], dtype=np.float32))
    assert found["label"].tolist() == ["yes", "", "", ""]


@pytest.mark.parametrize("column", [np.array([1.0, 2.0]), np.array(["a", "b"], dtype=object)])
def test_a_model_without_terms_gives_its_constant(tmp_path, column):
    encoder = TableEncoder().fit({"x": column})
    surface = QuadraticSurface(np.zeros((1, 1)), [0.0], -0.25)
    model = Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], ["no", "yes"]))])
    found = Scorer(model, tmp_path / "model.onnx")(Table(("x",), (column,)))
    assert found["score"].tolist() == [-0.25, -0.25]
    assert found["label"].tolist() == ["no", "no"]


def test_other_types_are_refused(tmp_path):
    with pytest.raises(ValueError, match="dtype"):
        to_onnx(random_model(0)[0], tmp_path / "model.onnx", dtype="float16")


def test_a_code_for_missing_numbers_is_no_number_of_days(tmp_path):
    days = np.datetime64("2020-01-01") + np.array([-999, 0, 10, 20])
    encoder = TableEncoder(dates=["day"], missing="impute", missing_texts=("-999",)).fit({"day": days[1:]})
    model = Pipeline([("coding", encoder), ("classifier", fitted_classifier([QuadraticSurface([[0.0]], [1.0], 0.0)], [0, 1]))])
    scorer = Scorer(model, tmp_path / "model.onnx", "float64")
    since = (days - np.datetime64(scorer.metadata["dates"]["day"])).astype(float)
    np.testing.assert_allclose(scorer({"day": since})["score"], model.decision_function({"day": days}))
