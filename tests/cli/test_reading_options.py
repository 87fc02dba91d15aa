"""How the commands read tables: marks of numbers, folders, labels, rows."""

import csv

import pytest

from quadric.tables import read_table


def fit(run, data, model, *more):
    return run("fit", data, "--target", "y", "--k", 1, "--loss", "least_squares", "--output", model, "--force", *more)


def n_scores(path):
    with path.open(newline="") as file:
        return len(list(csv.reader(file))) - 1


def test_marks_of_numbers_are_recorded_and_used_by_predict(run, tmp_path):
    data, model, out = tmp_path / "d.csv", tmp_path / "m.json", tmp_path / "out.csv"
    data.write_text("x;y\n" + "".join(f'"1.{100 + i},{i % 10}";{"ab"[i % 2]}\n' for i in range(40)))
    assert fit(run, data, model, "--decimal", ",", "--thousands", ".").code == 0
    assert run("predict", model, data, "--output", out).code == 0
    assert n_scores(out) == 40
    assert run("certify", model, data, "--time-limit", 0).code == 0
    wrong = fit(run, data, model, "--decimal", ",", "--thousands", ",")
    assert (wrong.code, "must differ" in wrong.errors[0]) == (2, True)


def test_every_row_of_one_column_gets_a_score(run, tmp_path):
    data, model, out = tmp_path / "d.csv", tmp_path / "m.json", tmp_path / "out.csv"
    data.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40)) + ",a\n")
    assert fit(run, data, model, "--missing", "impute").code == 0
    data.write_text("x\n1\n\n3\n\n\n")
    assert run("predict", model, data, "--output", out).code == 0
    assert n_scores(out) == 5


@pytest.mark.parametrize("labels", [["01", "1", "2"], [str(2**53), str(2**53 + 1)]])
def test_labels_keep_their_text(run, tmp_path, labels):
    data, model, out = tmp_path / "d.csv", tmp_path / "m.json", tmp_path / "out.csv"
    data.write_text("x,y\n" + "".join(f"{i % len(labels)}.{i},{labels[i % len(labels)]}\n" for i in range(42)))
    assert fit(run, data, model).code == 0
    assert run("predict", model, data, "--output", out).code == 0
    assert set(read_table(out, text=["label"])["label"]) == set(labels)
    assert run("certify", model, data, "--time-limit", 0).code == 0


def test_a_folder_of_parquet_files_is_a_table(run, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder, model, out = tmp_path / "parts", tmp_path / "m.json", tmp_path / "out.csv"
    folder.mkdir()
    empty = fit(run, folder, model)
    assert (empty.code, "folder without Parquet files" in empty.errors[0]) == (2, True)
    for part in range(3):
        values = range(20 * part, 20 * part + 20)
        pq.write_table(
            pa.table({"x": [float(i * 7 % 13) for i in values], "y": [i % 2 for i in values]}), folder / f"{part}.parquet"
        )
    assert fit(run, folder, model).code == 0
    assert run("predict", model, folder, "--output", out).code == 0
    assert n_scores(out) == 60
    (folder / "more").mkdir()
    (folder / "0.parquet").rename(folder / "more" / "0.parquet")
    deeper = fit(run, folder, tmp_path / "other.json")
    assert (deeper.code, "has Parquet files in subfolders, such as 'more'" in deeper.errors[0]) == (2, True)
