"""The same table as arrays, CSV file, folder of Parquet files, and frames of Dask and Spark gives the same model."""

from itertools import pairwise

import numpy as np
import pytest

import quadric
from helpers.clusters import FEATURES, features, table
from helpers.small_tables import credit_columns, csv_text
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, distributed
from quadric.tables import Table, TableStream, read_table
from quadric.workflow import TrainingOptions, train

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pytest.importorskip("dask.dataframe", reason="Dask is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

LOSSES = ["least_squares", "hinge", "logistic"]
ROLES = {
    "caps": {},
    "weights": {"sample_weight": "weight"},
    "three classes": {},
    "groups": {"groups": "who"},
}


def columns_of(case):
    classes = ("a", "b", "c") if case == "three classes" else ("no", "yes")
    return table(300, classes, seed=3) | {"who": np.array([f"p{i // 3}" for i in range(300)], object)}


@pytest.fixture
def doors(cluster, spark, tmp_path):
    """A table through every door but that of arrays."""
    import dask.dataframe as dd
    import pyarrow.parquet as parquet

    def opened(columns):
        (tmp_path / "table.csv").write_text(csv_text(columns))
        (tmp_path / "folder").mkdir()
        whole = pa.table(columns)
        for number, (first, last) in enumerate(pairwise([0, 90, 200, whole.num_rows])):
            parquet.write_table(whole.slice(first, last - first), tmp_path / "folder" / f"{number}.parquet")
        return {
            "csv": tmp_path / "table.csv",
            "folder": tmp_path / "folder",
            "dask": dd.from_pandas(pd.DataFrame(columns), npartitions=3, sort=False),
            "spark": spark.createDataFrame(whole),  # files would come in the order of their sizes
        }

    return opened


def fitted(model, data, **roles):
    fit = quadric.fit_batches if not hasattr(data, "columns") else distributed.fit
    return fit(model, data, target="y", columns=FEATURES, **roles)


def rounded(facts):
    """Facts for a model file, with numbers as far as doors agree."""
    if isinstance(facts, dict):
        return {name: rounded(fact) for name, fact in facts.items()}
    return round(facts, 9) if isinstance(facts, float) else facts


def assert_same_surfaces(one, two):
    np.testing.assert_array_equal(one.coef_ != 0.0, two.coef_ != 0.0)
    for mine, yours in zip(one.certificates_, two.certificates_, strict=True):
        assert mine.objective == pytest.approx(yours.objective, rel=1e-9)
        said = ("n_terms", "k", "basic_feasible", "local_minimum", "swap_optimal", "status")
        assert {name: getattr(mine, name) for name in said} == {name: getattr(yours, name) for name in said}


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", ROLES)
def test_choices_do_not_depend_on_where_the_rows_are(doors, case, loss):
    columns, roles = columns_of(case), ROLES[case]
    search = SparseQuadraticSVCCV([2, 4], [1.0, 16.0], loss=loss, clip=0.05, rule="best")
    weight, groups = (columns[roles[name]] if name in roles else None for name in ("sample_weight", "groups"))
    X = features(columns)
    whole = search.fit(X, columns["y"], sample_weight=weight, groups=groups)
    expected, chosen = whole.decision_function(X), (whole.best_loss_, whole.best_k_, whole.best_C_)
    for name, data in doors(columns).items():
        other = fitted(SparseQuadraticSVCCV(**whole.get_params()), data, **roles)
        assert (other.best_loss_, other.best_k_, other.best_C_) == chosen, name
        assert_same_surfaces(other, whole)
        np.testing.assert_allclose(other.decision_function(pd.DataFrame(X, columns=FEATURES)), expected, atol=1e-8)
        np.testing.assert_allclose(other.oof_decision_, whole.oof_decision_, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_passes_give_the_fit_of_all_rows_at_every_door(doors, loss, monkeypatch):
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 0)
    columns = columns_of("weights")
    how = {"k": 3, "C": 2.0, "loss": loss}
    whole = SparseQuadraticSVC(**how).fit(features(columns), columns["y"], columns["weight"])
    for data in doors(columns).values():
        assert_same_surfaces(fitted(SparseQuadraticSVC(**how), data, sample_weight="weight"), whole)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_passes_choose_the_same_at_every_door(doors, loss, monkeypatch):
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 0)
    columns = columns_of("caps")
    search = {"ks": [2, 4], "Cs": [1.0, 16.0], "loss": loss, "rule": "best"}
    found = [fitted(SparseQuadraticSVCCV(**search), data) for data in doors(columns).values()]
    found.append(SparseQuadraticSVCCV(**search).fit(features(columns), columns["y"]))
    assert not hasattr(found[-1], "feature_names_in_")
    for other in found[1:]:
        assert (other.best_k_, other.best_C_) == (found[0].best_k_, found[0].best_C_)
        assert_same_surfaces(other, found[0])
        np.testing.assert_allclose(other.cv_scores_, found[0].cv_scores_, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [("good", "bad"), ("a", "b", "c")])
def test_tables_with_texts_and_gaps_are_trained_alike(doors, loss, classes):
    columns = credit_columns(240, gaps=12, classes=classes)
    columns["home"][[3, 100, 210]] = ["NA", "?", "null"]  # missing values, as in a CSV file
    options = TrainingOptions(ks=(2, 3), Cs=(1.0, 16.0), loss=loss, missing="impute", rule="best")
    whole = train(Table(tuple(columns), tuple(columns.values())), "risk", options)
    for name, data in doors(columns).items():
        if name == "csv":
            other = train(read_table(data), "risk", options)
        elif name == "folder":
            other = train(TableStream(data, text=("risk",)), "risk", options)
        else:
            other = distributed.train(data, "risk", options)
        assert other.data.feature_names == whole.data.feature_names, name
        assert (other.data.missing, other.labelled) == (whole.data.missing, whole.labelled)
        assert_same_surfaces(other.classifier, whole.classifier)
        assert rounded(other.cross_validation.recorded()) == rounded(whole.cross_validation.recorded())
