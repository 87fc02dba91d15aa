"""Tables that change between passes are refused, never mixed."""

import os

import numpy as np
import pytest

import quadric
from helpers.clusters import FEATURES, table
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.samples.spool import Spooled

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(folder, columns):
    folder.mkdir(exist_ok=True)
    whole = pa.table(columns)
    for number in range(3):
        parquet.write_table(whole.slice(100 * number, 100), folder / f"{number}.parquet")


def other_values(folder, columns):
    written(folder, columns | {"age": columns["age"] + 1.0})


def flipped(folder, columns):
    written(folder, columns | {"y": columns["y"][::-1]})


def swapped(folder, columns):
    written(folder, columns | {"age": columns["load"], "load": columns["age"]})


def shorter(folder, columns):
    parquet.write_table(pa.table(columns).slice(0, 40), folder / "1.parquet")


def longer(folder, columns):
    parquet.write_table(pa.table(columns), folder / "1.parquet")


def added(folder, columns):
    parquet.write_table(pa.table(columns), folder / "3.parquet")


def removed(folder, columns):
    os.remove(folder / "2.parquet")


CHANGES = [other_values, flipped, swapped, shorter, longer, added, removed]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before_pass", [2, 3, 4])
@pytest.mark.parametrize(
    "model", [SparseQuadraticSVC(3, loss="hinge"), SparseQuadraticSVCCV([2, 3], [1.0], loss="least_squares")]
)
def test_a_folder_that_changes_between_passes_is_refused(tmp_path, monkeypatch, change, before_pass, model):
    columns = table(300)
    written(tmp_path / "rows", columns)
    whole, count = Spooled.total, [1]

    def total(self, of):
        count[0] += 1
        if count[0] == before_pass:
            change(tmp_path / "rows", columns)
        return whole(self, of)

    monkeypatch.setattr(Spooled, "total", total)  # every pass but the first, which learns the columns
    with pytest.raises(ValueError, match="changed while it was read"):
        quadric.fit_batches(model, tmp_path / "rows", target="y", columns=FEATURES)
    assert count[0] == before_pass


def test_batches_that_change_between_passes_are_refused():
    columns, passes = table(300), [0]

    def batches():
        passes[0] += 1
        later = columns | {"age": columns["age"] + (passes[0] > 1)}
        return iter(pa.table(later).to_batches(max_chunksize=100))

    with pytest.raises(ValueError, match="not those of the pass before"):
        quadric.fit_batches(SparseQuadraticSVC(3, loss="hinge"), batches, target="y", columns=FEATURES)


def test_batches_that_stay_the_same_are_fitted():
    columns = table(300)
    model = quadric.fit_batches(
        SparseQuadraticSVC(3, loss="hinge"), lambda: iter(pa.table(columns).to_batches()), target="y", columns=FEATURES
    )
    assert np.count_nonzero(model.coef_) == 3
