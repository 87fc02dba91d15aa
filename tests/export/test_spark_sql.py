"""The expressions in Spark: scores, probabilities and labels of the model itself."""

from contextlib import contextmanager
from datetime import UTC, date, datetime

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from export import test_cells, test_exported_dates
from export.test_cells import case  # noqa: F401
from export.test_cutoffs import made
from export.test_exported_caps import model as capped_model  # noqa: F401
from export.test_exported_caps import rows as rows_around_caps
from export.test_exported_numbers import WRITTEN, model_of, written_rows
from export.test_sql import column, matrix, two_columns  # noqa: F401
from helpers.clusters import spark_session
from helpers.random_models import allowed_error, fitted_classifier, random_model, rows_of, scores_of
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.export import scoring_model
from quadric.export.spark import _SparkWriter, spark_columns
from quadric.geometry.surface import QuadraticSurface
from quadric.geometry.terms import term_count
from quadric.tables import TableEncoder
from quadric.tables.dates import FORMS
from quadric.workflow import TrainingOptions, train
from robustness import test_injection

types = pytest.importorskip("pyspark.sql.types", reason="pyspark is not installed")

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}
"""The other values of settings that change what an expression means."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    folder, zone = tmp_path_factory.mktemp("spark"), {"spark.sql.session.timeZone": "America/New_York"}
    with spark_session(folder, threads=1, **zone) as session:
        yield session


@contextmanager
def settings(spark, **values):
    before = {name: spark.conf.get(name) for name in values}
    try:
        for name, value in values.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def frame_of(spark, kinds, rows):
    """Columns of the types in ``kinds``, after one that keeps the order of the rows."""
    fields = [types.StructField(name, kind) for name, kind in {"row_number": types.IntegerType(), **kinds}.items()]
    return spark.createDataFrame([(i, *row) for i, row in enumerate(rows)], types.StructType(fields))


def frame_of_table(spark, table):
    kinds = [types.StringType() if values.dtype == object else types.DoubleType() for values in table.columns]
    return frame_of(spark, dict(zip(table.names, kinds, strict=True)), [tuple(row.values()) for row in rows_of(table)])


def texts(*names):
    return dict.fromkeys(names, types.StringType())


def scored(frame, model, **options):
    for step in spark_columns(model, **options):
        frame = frame.selectExpr("*", *step)
    return [row.asDict() for row in frame.collect()]


def assert_agrees(rows, model, table, prefix="quadric_"):
    scores, names = scores_of(model, table), scoring_model(model).outputs(prefix)
    found = matrix(rows, names.scores)
    assert (np.abs(found - scores) <= allowed_error(model, table, 1e-12)).all()
    assert column(rows, f"{prefix}label") == model.predict(table).tolist()
    if isinstance(model, CalibratedModel):
        chances = model.predict_proba(table)
        found = matrix(rows, names.probabilities)
        np.testing.assert_allclose(found, chances[:, 1:] if scores.shape[1] == 1 else chances, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_spark_agrees_with_the_model(spark):
    kinds = set()
    for seed in (0, 1, 4, 5, 6, 7, 13, 45):
        model, table = random_model(seed)
        assert_agrees(scored(frame_of_table(spark, table), model), model, table)
        kinds.add((scores_of(model, table).shape[1], *{type(curve) for curve in getattr(model, "calibrators_", ())}))
    assert len(kinds) == 6  # two or three classes, with a sigmoid, isotonic, or not calibrated


def test_steps_are_scores_probabilities_and_the_label(two_columns):  # noqa: F811
    calibrated = CalibratedModel.from_parts(two_columns, [SigmoidCalibration(-1.0, 0.0)])
    for model, names in ((two_columns, [["score"], [], ["label"]]), (calibrated, [["score"], ["probability"], ["label"]])):
        found = [[text.rpartition(" AS ")[2] for text in step] for step in spark_columns(model, prefix="a`b ")]
        assert found == [[f"`a``b {name}`" for name in step] for step in names]


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_session_do_not_matter(spark, name):
    with settings(spark, **{name: SETTINGS[name]}):
        for model, table in (random_model(4), test_injection.model_of(3)):
            assert_agrees(scored(frame_of_table(spark, table), model, prefix="new "), model, table, "new ")
        model = test_cells.model_of("impute", "onehot", "refuse", (), 2)
        days = ["2021-12-31 18:30:15.25", "2019-03-01"]
        found = scored(frame_of(spark, texts(*test_cells.NAMES), [("30", "rent", day) for day in days]), model)
        expected = [test_cells.scores_of(model, (30.0, "rent", day)) for day in days]
        np.testing.assert_allclose(test_cells.database_scores(found), expected, rtol=1e-12)


def test_cells_of_texts(spark, case):  # noqa: F811
    model, expected = case
    rows = [
        tuple(None if test_cells.is_absent(v) else v if isinstance(v, str) else repr(v) for v in row) for row in test_cells.ROWS
    ]
    found = scored(frame_of(spark, texts(*test_cells.NAMES), rows), model)
    test_cells.assert_same(test_cells.database_scores(found), expected)


DATES = {
    types.DateType: [date(2019, 3, 10), date(2021, 12, 31), date(1, 1, 1), None],
    types.TimestampNTZType: [datetime(2019, 3, 10, 2, 30), datetime(2021, 12, 31, 23, 59, 59, 250001), datetime(1, 1, 1), None],
    types.TimestampType: [
        datetime(2019, 3, 10, 2, 30, tzinfo=UTC), datetime(2021, 12, 31, 23, 59, 59, 250001, tzinfo=UTC),
        datetime(1890, 1, 1, tzinfo=UTC), None,
    ],
}  # fmt: skip
"""The clocks of New York skip 2:30 on the first day."""


@pytest.mark.parametrize("zone", ["America/New_York", "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("kind", DATES)
def test_columns_of_dates_in_all_time_zones(spark, kind, zone):
    model = test_cells.model_of("indicator", "onehot", "other", (), 2)
    days = DATES[kind]
    written = [None if day is None else day.isoformat().removesuffix("+00:00") for day in days]
    with settings(spark, **{"spark.sql.session.timeZone": zone}):
        kinds = {"age": types.DoubleType(), "home": types.StringType()}
        rows = scored(frame_of(spark, {**kinds, "issued": kind()}, [(30.0, "rent", day) for day in days]), model)
        again = scored(frame_of(spark, {**kinds, **texts("issued")}, [(30.0, "rent", day) for day in written]), model)
    expected = [test_cells.scores_of(model, (30.0, "rent", day)) for day in written]
    for found in (rows, again):
        np.testing.assert_allclose(test_cells.database_scores(found), expected, rtol=1e-12)


def test_only_dates_are_dates(spark):
    model = test_cells.model_of("refuse", "onehot", "refuse", (), 2)
    days = ["2019-03-01", "0000-01-01", "2019-03-01\u2028", "2019-03-01 23:59:60", "2019-03-01 23:59:59.1234567", "2019-03-01 12:30Z", "2019-03-01 UTC", "2019", "now", "٢٠١٩-03-01"]  # fmt: skip
    found = scored(frame_of(spark, texts(*test_cells.NAMES), [("30", "rent", day) for day in days]), model)
    assert [scores is None for scores in test_cells.database_scores(found)] == [False] + [True] * 9


@pytest.mark.parametrize("form", FORMS)
def test_dates_in_the_form_of_the_model(spark, form):
    model, written = test_exported_dates.model_of(form), test_exported_dates.TEXTS
    for values in ({}, SETTINGS):
        with settings(spark, **values):
            found = scored(frame_of(spark, texts("s"), [(text,) for text in written]), model)
            days = scored(frame_of(spark, {"s": types.DateType()}, [(date(2019, 3, 11),)]), model)
            numbers = [
                scored(frame_of(spark, {"s": kind}, [(number,)]), model)
                for kind, number in ((types.LongType(), 20190311), (types.DoubleType(), 20190311.0))
            ]
        test_exported_dates.assert_same(column(found, "quadric_score"), written, form)
        assert column(days, "quadric_score") == [10.0]
        assert [column(rows, "quadric_score") for rows in numbers] == [[10.0 if form == "eight digits" else None]] * 2


@pytest.mark.parametrize("kind", ["IntegerType", "LongType", "FloatType", "DoubleType", "BooleanType", "StringType"])
def test_columns_of_numbers(spark, kind):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0 / 3.0], 0.0)], ["no", "yes"])
    value = {"StringType": " 1e0\n", "BooleanType": True, "FloatType": 0.1, "DoubleType": 0.1}.get(kind, 1)
    number = {"FloatType": float(np.float32(0.1)), "DoubleType": 0.1}.get(kind, 1.0)
    found = scored(frame_of(spark, {"x0": getattr(types, kind)()}, [(value,)]), model)
    assert column(found, "quadric_score") == [number * (1.0 / 3.0)]


def model_of_age(b):
    """A model of a number and of the feature that says where it is missing."""
    encoder = TableEncoder(missing="indicator").fit({"age": [20.0, 30.0, np.nan]})
    surface = QuadraticSurface(np.zeros((2, 2)), b, 1.0)
    return Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], ["no", "yes"]))])


@pytest.mark.parametrize("b", [[1.0, 0.0], [0.0, 1.0]], ids=["number", "indicator"])
def test_nan_is_a_missing_value(spark, b):
    found = scored(frame_of(spark, {"age": types.DoubleType()}, [(20.0,), (float("nan"),), (None,)]), model_of_age(b))
    assert column(found, "quadric_score") == scores_of(model_of_age(b), {"age": [20.0, np.nan, np.nan]})[:, 0].tolist()


@pytest.mark.parametrize("b", [[1.0, 0.0], [0.0, 1.0]], ids=["number", "indicator"])
def test_texts_that_are_no_numbers_are_no_missing_values(spark, b):
    """Java would read some of them."""
    model = model_of_age(b)
    ages = ["20", " ", None, "NaN", "abc", "1d", "1.5f", "0x1p3", "1_0", "inf", "1e", "٣", "20\u00a0", "1 2"]
    found = scored(frame_of(spark, texts("age"), [(age,) for age in ages]), model)
    expected = [*scores_of(model, {"age": [20.0, np.nan]})[[0, 1, 1, 1], 0].tolist(), *[None] * 10]
    assert column(found, "quadric_score") == expected
    assert [label is None for label in column(found, "quadric_label")] == [score is None for score in expected]


def test_unknown_categories_and_missing_values_score_null(spark, two_columns):  # noqa: F811
    kinds = {"age": types.DoubleType(), "home": types.StringType()}
    rows = [(20.0, "own"), (20.0, "boat"), (None, "own"), (float("nan"), "own"), (20.0, None), (20.0, "OWN")]
    calibrated = CalibratedModel.from_parts(two_columns, [SigmoidCalibration(-1.0, 0.0)])
    found = scored(frame_of(spark, kinds, rows), calibrated)
    assert column(found, "quadric_score") == [11.0, *[None] * 5]
    assert column(found, "quadric_label") == ["1", *[None] * 5]
    assert column(found, "quadric_probability") == [pytest.approx(1.0 / (1.0 + np.exp(-11.0)), rel=1e-15), *[None] * 5]


def test_rows_beyond_caps(spark, capped_model):  # noqa: F811
    table = rows_around_caps(2_000, 6.0, seed=2)
    assert_agrees(scored(frame_of_table(spark, table), capped_model), capped_model, table)
    kinds = {"age": types.DoubleType(), "income": types.DoubleType(), "grade": types.StringType()}
    found = scored(frame_of(spark, kinds, [(age, 3000.0, "5") for age in (np.inf, -np.inf, 40.0)]), capped_model)
    assert [label is None for label in column(found, "quadric_label")] == [True, True, False]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_cut_offs(spark, method):
    model = train(made(600, 0), "risk", TrainingOptions(k=5, Cs=(8.0,), calibrate=method, cutoff="cost:4:1")).model
    table = made(2_000, 1, spread=3.0).drop(["risk"])
    assert np.mean((model.predict(table) == "yes") != (model.predict_proba(table)[:, 1] > 0.5)) > 0.03
    assert_agrees(scored(frame_of_table(spark, table), model), model, table)


def test_extreme_scores(spark):
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], ["no", "yes"])
    model = CalibratedModel.from_parts(model, [SigmoidCalibration(-2.0, 0.0)])
    found = scored(frame_of(spark, {"x0": types.DoubleType()}, [(-1e6,), (1e6,)]), model)
    np.testing.assert_allclose(column(found, "quadric_probability"), [0.0, 1.0], atol=1e-300)


def test_a_model_with_hundreds_of_terms_runs(spark):
    rng = np.random.default_rng(0)
    n = 20
    model = fitted_classifier([QuadraticSurface.from_coordinates(rng.normal(size=term_count(n)), 0.5)], ["no", "yes"])
    x = rng.normal(size=n)
    found = scored(frame_of(spark, {f"x{i}": types.DoubleType() for i in range(n)}, [tuple(x.tolist())]), model)
    np.testing.assert_allclose(column(found, "quadric_score"), model.decision_function(x[None]), rtol=0, atol=1e-10)


@pytest.mark.slow
def test_names_and_levels_that_look_like_sql_are_names_and_levels(spark):
    found = []
    for seed in range(12):
        model, table = test_injection.model_of(seed)
        if test_injection.refused(lambda model=model: spark_columns(model), found.append, "Spark"):
            assert_agrees(scored(frame_of_table(spark, table), model, prefix="new "), model, table, "new ")
    assert found.count("injection: Spark, same scores") >= 8


@pytest.mark.parametrize("text", ["${spark.master}", "${env:HOME}", "${system:user.name}", "$${x}", "a\\nb", "\\", "'", "''", "", "\\'", "`", '"', "$"])  # fmt: skip
def test_literals(spark, text):
    for escaped in ("false", "true"):
        with settings(spark, **{"spark.sql.parser.escapedStringLiterals": escaped}):
            assert spark.range(1).selectExpr(f"{_SparkWriter.literal(text)} AS found").collect()[0].found == text


@pytest.mark.parametrize(("name", "words"), [("a${env:HOME}", "the value of a variable"), ("a\0b", "null character")])
def test_names_that_cannot_be_written_are_refused(name, words):
    with pytest.raises(ValueError, match=words):
        _SparkWriter.identifier(name)


def test_names_that_differ_in_case_only_are_refused():
    encoder = TableEncoder().fit({"age": [20.0, 30.0], "AGE": [1.0, 2.0]})
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, 1.0], 0.0)
    with pytest.raises(ValueError, match="'age' and 'AGE' are one and the same"):
        spark_columns(Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], [0, 1]))]))


@pytest.mark.parametrize("form", WRITTEN)
def test_numbers_in_the_form_of_the_model(form, spark):
    table, values = written_rows(form)
    frame = spark.createDataFrame([(text,) for text in table["s"].tolist()], "s string").coalesce(1)
    (score,) = spark_columns(model_of(form))[0]
    assert [row[0] for row in frame.selectExpr(score).collect()] == values
