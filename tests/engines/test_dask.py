"""Frames of Dask on a real cluster of two worker processes: the fits of all rows in memory."""

import os
import signal
import threading
from contextlib import contextmanager

import numpy as np
import pytest

import quadric
from helpers.clusters import FEATURES, cut, dask_cluster, features, part, slow_part, table, work_done
from helpers.small_tables import credit_columns
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, distributed
from quadric.errors import EngineError
from quadric.samples.moments import Moments
from quadric.workflow import TrainingOptions, train

pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
da = pytest.importorskip("dask.array")

LOSSES = ("least_squares", "hinge", "logistic")
THREE = ("a", "b", "c")


def frame_of(columns, *ends):
    return dd.from_map(part, cut(columns, *ends), meta=pd.DataFrame(columns)[:0])


def fitted(loss, frame, **roles):
    model = SparseQuadraticSVC(k=4, C=2.0, loss=loss)
    return distributed.fit(model, frame, target="y", sample_weight="weight", **roles)


def in_memory(loss, columns):
    return SparseQuadraticSVC(k=4, C=2.0, loss=loss).fit(features(columns), columns["y"], columns["weight"])


def assert_equal(one, two, tolerance=1e-10):
    assert np.abs(one.coef_ - two.coef_).max() <= tolerance
    assert np.abs(one.intercept_ - two.intercept_).max() <= tolerance


@pytest.mark.slow
@pytest.mark.parametrize("classes", [("no", "yes"), THREE], ids=len)
@pytest.mark.parametrize("loss", LOSSES)
def test_fits_are_those_of_all_rows(cluster, loss, classes):
    columns = table(classes=classes)
    whole = in_memory(loss, columns)
    fit = fitted(loss, frame_of(columns, 100, 101, 350))
    assert_equal(fit, whole)
    np.testing.assert_array_equal(fit.clip_low_, whole.clip_low_)
    assert fit.feature_names_in_.tolist() == FEATURES
    # other parts, one of them empty, and in another order
    parts = cut(columns, 50, 50, 480)
    assert_equal(fitted(loss, dd.from_map(part, parts[::-1])), whole)


def test_cross_validation_is_that_of_batches(cluster):
    columns = table(900)
    search = {"ks": [2, 4], "Cs": [1.0, 16.0], "loss": "least_squares"}
    roles = {"target": "y", "columns": FEATURES}
    one = distributed.fit(SparseQuadraticSVCCV(**search), frame_of(columns, 200, 500), **roles)
    two = quadric.fit_batches(SparseQuadraticSVCCV(**search), columns, **roles)
    np.testing.assert_allclose(one.cv_scores_, two.cv_scores_, rtol=1e-10)
    np.testing.assert_array_equal(one.oof_rows_, two.oof_rows_)
    assert_equal(one, two)


def test_joblib_sends_folds_to_the_cluster(cluster):
    import joblib

    columns = table(300)
    X, y = features(columns), columns["y"]
    search = SparseQuadraticSVCCV([1, 3], [1.0], loss="least_squares", n_jobs=2)
    alone = SparseQuadraticSVCCV([1, 3], [1.0], loss="least_squares").fit(X, y)
    before = cluster.run_on_scheduler(work_done)
    with joblib.parallel_config(backend="dask"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_scores_, alone.cv_scores_)
    assert search.coef_.tobytes() == alone.coef_.tobytes()
    assert cluster.run_on_scheduler(work_done) > before


def assert_same_sums(one, two):
    one, two = (each.standardized(True) for each in (one, two))
    np.testing.assert_allclose(one.parts[0].scatter, two.parts[0].scatter, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(one.class_means, two.class_means, rtol=1e-10, atol=1e-10)


def test_moments_of_frames_and_arrays(cluster):
    columns = table(classes=THREE)
    whole = quadric.moments(columns, target="y", sample_weight="weight")
    found = distributed.moments(frame_of(columns, 7, 300), target="y", sample_weight="weight")
    assert isinstance(found, Moments)
    assert (found.n_rows, found.columns, found.classes) == (whole.n_rows, whole.columns, whole.classes)
    assert_same_sums(found, whole)
    X = da.from_array(features(columns), chunks=(250, 2))
    codes, weight = ((columns["y"] == "c") * 1, columns["weight"])
    y, w = da.from_array(codes, chunks=250), da.from_array(weight, chunks=250)
    of_array = distributed.moments(X, target=y, sample_weight=w)
    named = {**{f"x{j}": values for j, values in enumerate(features(columns).T)}, "target": codes, "sample_weight": weight}
    of_table = quadric.moments(named, target="target", sample_weight="sample_weight")
    assert (of_array.columns, of_array.classes, of_array.n_rows) == (of_table.columns, ("0", "1"), 600)
    assert_same_sums(of_array, of_table)
    for other in (y.rechunk(100), y.rechunk((200, 300, 100)), y.astype(str), codes):
        with pytest.raises(ValueError, match="a Dask Array of numbers, of one dimension, in the same chunks"):
            distributed.moments(X, target=other)
    with pytest.raises(ValueError, match="two dimensions"):
        distributed.moments(y, target=y)


def test_training_codes_texts_and_fills_gaps(cluster):
    columns = credit_columns(400, gaps=20)
    options = TrainingOptions(k=3, C=1.0, loss="least_squares", missing="impute", cross_validate=False, calibrate=None)
    frame = dd.from_pandas(pd.DataFrame(columns), npartitions=4)
    trained = distributed.train(frame, "risk", options)
    whole = train(quadric.tables.TableStream(columns), "risk", options)
    assert trained.data.feature_names == whole.data.feature_names
    assert trained.data.missing == whole.data.missing
    assert trained.labelled == whole.labelled
    assert_equal(trained.classifier, whole.classifier)


def test_scores_are_added_lazily(cluster):
    columns = table(classes=THREE)
    model = in_memory("logistic", columns)
    named = SparseQuadraticSVC(k=4, C=2.0, loss="logistic").fit(pd.DataFrame(columns)[FEATURES], columns["y"])
    frame = frame_of(columns, 100, 100, 350)
    lazy = distributed.predict(named, frame, prefix="q_")
    found = lazy.compute()
    assert list(lazy.columns) == [
        *columns,
        *(f"q_score_{name}" for name in THREE),
        *(f"q_probability_{name}" for name in THREE),
        "q_label",
    ]
    assert lazy.dtypes.tolist() == found.dtypes.tolist()
    np.testing.assert_allclose(
        found[[f"q_score_{name}" for name in THREE]], named.decision_function(pd.DataFrame(columns)[FEATURES])
    )
    assert found["q_label"].tolist() == named.predict(pd.DataFrame(columns)[FEATURES]).tolist()
    with pytest.raises(ValueError, match="has a column 'q_score_a' already"):
        distributed.predict(named, lazy, prefix="q_")
    with pytest.raises(ValueError, match="has a column 'Q_LABEL' already"):  # the same column, for Spark
        distributed.predict(named, frame.assign(Q_LABEL=1.0), prefix="q_")
    with pytest.raises(ValueError, match="x0"):
        distributed.predict(model, frame)


def without(columns, name):
    return {key: values for key, values in columns.items() if key != name}


PARTS = cut(table(), 200, 400)
BAD = {
    "other columns": ([PARTS[0], without(PARTS[1], "age")], {}, "lacks columns that others have.*age"),
    "other types": ([PARTS[0], {**PARTS[1], "age": np.full(200, "old", object)}], {}, "'age' holds numbers in one part"),
    "texts": ([{**each, "age": np.full(200, "old", object)} for each in PARTS], {}, "'age' holds texts: encode it first"),
    "one class": ([{**each, "y": np.full(200, "no", object)} for each in PARTS], {}, "class"),
    "no label": (
        [{**each, "y": np.array(["yes", None, *["no"] * 197, None], object)} for each in PARTS],
        {},
        r"the target is missing in 6 row\(s\), the first is row 2: drop them or fill them in",
    ),
    "infinite": ([PARTS[0], {**PARTS[1], "age": np.full(200, np.inf)}], {}, "'age' is infinite in row 201"),
    "weights": ([{**each, "weight": np.full(200, -1.0)} for each in PARTS], {}, "weights 'weight' must be finite"),
    "no rows": ([{name: values[:0] for name, values in PARTS[0].items()}] * 2, {}, "the table has no rows"),
    "unknown": (PARTS, {"columns": ["age", "agee"]}, "agee"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_data_are_told_in_a_sentence(cluster, name):
    parts, roles, words = BAD[name]
    frame = dd.from_map(part, parts, meta=part(PARTS[0])[:0])
    with pytest.raises(ValueError, match=words) as raised:
        fitted("least_squares", frame, **roles)
    assert "\n" not in str(raised.value)


def test_a_class_may_be_missing_from_a_part(cluster):
    columns = table()
    order = np.argsort(columns["y"] == "yes", kind="stable")
    sorted_columns = {name: values[order] for name, values in columns.items()}
    assert_equal(fitted("least_squares", frame_of(sorted_columns, 100, 200)), in_memory("least_squares", columns))


def test_a_partition_that_cannot_be_computed_is_named_with_the_cause():
    def failing(frame, error, partition_info=None):
        if partition_info is not None and partition_info["number"] == 1:
            raise error
        return frame

    frame = frame_of(table(), 100, 300)
    for error in (FileNotFoundError("gone.parquet"), KeyError("mine"), ZeroDivisionError("by zero"), ValueError("odd")):
        bad = frame.map_partitions(failing, error, meta=frame._meta)
        words = f"Dask failed on partition 2 of 3: {type(error).__name__}: {error}"
        with _no_client(), pytest.raises(EngineError, match=f"^{words}$"):
            fitted("least_squares", bad)
    with pytest.raises(TypeError, match="column names must be texts"):
        fitted("least_squares", frame.rename(columns={"age": 7}))


@pytest.mark.parametrize("thing", [pd.DataFrame(PARTS[0]), PARTS[0], "file.csv", None])
def test_other_tables_are_sent_to_other_functions(thing):
    with pytest.raises(TypeError, match="a DataFrame of Dask or Spark is needed"):
        fitted("least_squares", thing)


def test_without_a_cluster_threads_do_the_work():
    columns = table()
    with _no_client():
        assert_equal(fitted("hinge", frame_of(columns, 100, 101, 350)), in_memory("hinge", columns))


@contextmanager
def _no_client():
    """A block in which this process has no cluster."""
    from distributed import client

    before = client._get_global_client()
    client._set_global_client(None)
    try:
        yield
    finally:
        client._set_global_client(before)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_a_worker_that_dies_changes_nothing(loss):
    columns = table()
    with _no_client(), dask_cluster() as client:
        frame = dd.from_map(slow_part, cut(columns, *range(120, 600, 120)), meta=pd.DataFrame(columns)[:0])
        (pid, *_) = client.run(os.getpid).values()
        killer = threading.Timer(0.7, os.kill, (pid, signal.SIGKILL))
        killer.start()
        fit = fitted(loss, frame)
        assert not killer.is_alive()
        assert pid not in client.run(os.getpid).values()
    assert_equal(fit, in_memory(loss, columns))


# closed at once, the client complains in a thread of its own that it was given no time
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_cluster_that_goes_away_is_told_in_a_sentence():
    import distributed as engine

    local = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with _no_client(), engine.LocalCluster(**local) as cluster, engine.Client(cluster) as client:
        frame = dd.from_map(slow_part, cut(table(), *range(30, 600, 30)), meta=pd.DataFrame(table())[:0])
        threading.Timer(1.0, client.close, (0,)).start()
        with pytest.raises(EngineError, match="the cluster of Dask went away") as raised:
            fitted("least_squares", frame)
        assert "\n" not in str(raised.value)
