"""Frames of a real local Spark: the fits of all rows in memory, scores without Python on the executors."""

import os

import numpy as np
import pytest

import quadric
from helpers.clusters import FEATURES, cut, features, spark_session, table
from helpers.small_tables import credit_columns
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, distributed
from quadric.errors import EngineError
from quadric.workflow import TrainingOptions, train

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyspark", reason="pyspark is not installed")


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    with spark_session(tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def frame_of(spark, tmp_path):
    """Parts of a table as Parquet files, which Spark reads as a partition each."""
    import pyarrow.parquet as parquet

    spark.conf.set("spark.sql.files.openCostInBytes", 128 << 20)

    def make(parts):
        for number, columns in enumerate(parts):
            parquet.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
        return spark.read.parquet(str(tmp_path))

    return make


def assert_equal(one, two):
    assert np.abs(one.coef_ - two.coef_).max() <= 1e-10
    assert np.abs(one.intercept_ - two.intercept_).max() <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "classes"), [("least_squares", ("a", "b", "c")), ("hinge", ("no", "yes")), ("logistic", ("no", "yes"))]
)
def test_fits_are_those_of_all_rows(frame_of, loss, classes):
    columns = table(400, classes)
    frame = frame_of(cut(columns, 60, 60, 250))  # one part is empty
    how = {"k": 3, "C": 2.0, "loss": loss}
    fit = distributed.fit(SparseQuadraticSVC(**how), frame, target="y", sample_weight="weight")
    whole = SparseQuadraticSVC(**how).fit(features(columns), columns["y"], columns["weight"])
    assert_equal(fit, whole)
    np.testing.assert_array_equal(fit.clip_high_, whole.clip_high_)


def test_many_partitions_are_merged_before_they_reach_the_driver(spark):
    columns = table(300, ("a", "b", "c"))
    frame = spark.createDataFrame(pa.table(columns)).repartition(12).cache()
    found = distributed.moments(frame, target="y", sample_weight="weight")
    whole = quadric.moments(columns, target="y", sample_weight="weight")
    how = SparseQuadraticSVC(k=3, loss="least_squares")
    assert (found.n_rows, found.classes) == (300, ("a", "b", "c"))
    np.testing.assert_allclose(how.fit_moments(found).coef_, how.fit_moments(whole).coef_, atol=1e-12)


@pytest.mark.slow
def test_partitions_without_rows(spark):
    columns = table(200)
    frame = spark.createDataFrame(pa.table(columns | {"row": np.arange(200)})).repartitionByRange(8, "row")
    frame = frame.filter("row < 60 or row >= 150").drop("row")
    kept = {name: np.concatenate([values[:60], values[150:]]) for name, values in columns.items()}
    fit = distributed.fit(SparseQuadraticSVC(2, loss="least_squares"), frame, target="y", sample_weight="weight")
    assert_equal(fit, SparseQuadraticSVC(2, loss="least_squares").fit(features(kept), kept["y"], kept["weight"]))


def test_cross_validation_and_groups(spark):
    columns = table(400) | {"who": np.array([f"p{i // 3}" for i in range(400)], object)}
    frame = spark.createDataFrame(pa.table(columns)).coalesce(1)
    search = {"ks": [2, 4], "Cs": [1.0, 16.0], "loss": "least_squares"}
    roles = {"target": "y", "columns": FEATURES, "groups": "who"}
    one = distributed.fit(SparseQuadraticSVCCV(**search), frame, **roles)
    two = quadric.fit_batches(SparseQuadraticSVCCV(**search), columns, **roles)
    np.testing.assert_allclose(one.cv_scores_, two.cv_scores_, rtol=1e-10)
    assert_equal(one, two)


@pytest.mark.slow
def test_training_then_scores_as_expressions(spark):
    columns = credit_columns(400, gaps=20)
    options = TrainingOptions(k=3, C=1.0, loss="least_squares", missing="impute")
    frame = spark.createDataFrame(pa.table(columns))
    trained = distributed.train(frame, "risk", options)
    whole = train(quadric.tables.TableStream(columns), "risk", options)
    assert_equal(trained.classifier, whole.classifier)
    model = trained.saved()
    scored = distributed.predict(model, frame)
    assert "Python" not in scored._jdf.queryExecution().toString()
    found = scored.toPandas()
    mine = quadric.workflow.TableModel(model).scores(quadric.tables.as_table(columns))
    np.testing.assert_allclose(found["quadric_score"], mine.decision, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["quadric_probability"], mine.probabilities[:, 1], rtol=1e-12)
    assert found["quadric_label"].tolist() == [trained.data.class_names[code] for code in mine.codes]


def test_rows_are_set_aside_as_on_one_machine(spark):
    columns = credit_columns(300)
    options = TrainingOptions(k=2, C=1.0, loss="least_squares", holdout=0.3, cross_validate=False, calibrate=None)
    trained = distributed.train(spark.createDataFrame(pa.table(columns)), "risk", options)
    whole = train(quadric.tables.TableStream(columns), "risk", options)
    assert trained.samples.sources[1].rows == whole.samples.sources[1].rows == 90
    np.testing.assert_allclose(trained.samples.table.values, whole.samples.table.values, rtol=1e-9, equal_nan=True)
    assert_equal(trained.classifier, whole.classifier)


UNSCORED = {
    "text": ({"age": ["30", "old' `x`"] + ["40"] * 398}, r"column 'age' must hold numbers; a row has old' `x`"),
    "level": ({"home": ["castle"] * 400}, "a row has no score: a value is missing, unknown, or too large for the model"),
    "missing": ({"income": [None] * 400}, "a row has no score"),
    "overflow": ({"income": np.full(400, 1e300)}, "a row has no score"),
}


@pytest.mark.parametrize("calibrate", [None, "sigmoid"])
@pytest.mark.parametrize("name", UNSCORED)
def test_rows_that_the_library_refuses_are_errors_of_the_job(spark, name, calibrate):
    columns = credit_columns(400)
    table = quadric.tables.Table(tuple(columns), tuple(columns.values()))
    how = {"k": 4, "C": 1.0, "loss": "least_squares", "clip": None, "missing": "refuse", "unseen": "refuse"}
    options = TrainingOptions(**how, include=("age", "income^2", "home"), calibrate=calibrate)
    model = quadric.workflow.train(table, "risk", options).saved()
    changed, words = UNSCORED[name]
    strange = {**columns, **changed}
    with pytest.raises(ValueError, match=r"must hold numbers|not there when fitted|is missing|no finite score"):
        quadric.workflow.TableModel(model).scores(quadric.tables.as_table(strange))
    arrays = {key: pa.array(list(values)) for key, values in strange.items()}
    with pytest.raises(Exception, match=words):
        distributed.predict(model, spark.createDataFrame(pa.table(arrays))).toArrow()


BAD = {
    "texts": ({"age": np.full(50, "old", object)}, "'age' holds texts: encode it first"),
    "no label": (
        {"y": np.array([None, *["no"] * 49], object)},
        r"the target is missing in 1 row\(s\), the first is row \d+: drop them or fill them in",
    ),
    "infinite": ({"age": np.full(50, np.inf)}, "'age' is infinite in row"),
    "one class": ({"y": np.full(50, "no", object)}, "class"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_told_in_a_sentence(spark, name):
    change, words = BAD[name]
    frame = spark.createDataFrame(pa.table(table(50) | change))
    with pytest.raises(ValueError, match=words) as raised:
        distributed.fit(SparseQuadraticSVC(loss="least_squares"), frame, target="y", sample_weight="weight")
    assert "\n" not in str(raised.value)


def test_names_with_dots_and_backticks(spark):
    columns = table(100)
    odd = {"a.b": columns["age"], "c`d": columns["load"], "y": columns["y"]}
    fit = distributed.fit(SparseQuadraticSVC(2, loss="least_squares"), spark.createDataFrame(pa.table(odd)), target="y")
    whole = SparseQuadraticSVC(2, loss="least_squares").fit(np.column_stack([odd["a.b"], odd["c`d"]]), odd["y"])
    assert_equal(fit, whole)
    assert fit.feature_names_in_.tolist() == ["a.b", "c`d"]


def test_a_worker_that_dies_is_told_with_its_cause(spark):
    def dies(batches):
        os._exit(3)
        yield from batches

    frame = spark.createDataFrame([(float(i), "no" if i % 2 else "yes") for i in range(8)], "a double, y string")
    with pytest.raises(EngineError, match=r"^Spark failed: .*worker exited unexpectedly") as raised:
        distributed.fit(SparseQuadraticSVC(1), frame.mapInArrow(dies, frame.schema), target="y")
    assert "\n" not in str(raised.value)
