"""``quadric explain`` on tables that are read in chunks."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from helpers.large_tables import arrow_table, table_files
from helpers.small_tables import credit_columns
from quadric.export import read_model
from quadric.review import row_samples
from quadric.tables import TableStream, as_table
from quadric.workflow import TableModel

N_ROWS = 400
ROWS = ["0:3", "7", "399", "150,3,150,299", "-2:", ":4", "::150", "398:1000", "5:0:-2"]


@pytest.mark.parametrize("form", ["csv", "parquet", "folder"])
def test_rows_are_explained_as_in_memory(form, made, run, streamed, tmp_path):
    data = table_files(tmp_path, credit_columns(N_ROWS))[form]
    chosen = ROWS if form == "csv" else ROWS[3:5]
    commands = [("explain", made.calibrated, data, "--rows", rows, "--json") for rows in chosen]
    commands += [(*command, "--reference", "approved", "--background", made.data_csv) for command in commands]
    whole = [run(*command) for command in commands]
    streamed()
    for command, expected in zip(commands, whole, strict=True):
        found = run(*command)
        assert (found.code, found.out, found.errors) == (0, expected.out, expected.errors), command


@pytest.mark.parametrize("rows", ["400", "3,400", "400:500", "-401", "5:2", "x"])
@pytest.mark.parametrize("background", [True, False])
def test_rows_that_do_not_exist_are_refused_in_the_same_words(rows, background, made, refused, streamed, tmp_path):
    data = table_files(tmp_path, credit_columns(N_ROWS))["folder"]
    command = ["explain", made.model, data, "--rows", rows, *(["--background", made.data_csv] if background else [])]
    expected = refused(*command, code=2)
    streamed()
    assert refused(*command, code=2) == expected


def test_nothing_is_read_after_the_last_row_that_is_wanted(made, run, streamed, tmp_path):
    data = tmp_path / "parts"
    data.mkdir()
    for number in range(3):
        pq.write_table(arrow_table(credit_columns(N_ROWS)), data / f"{number}.parquet")
    commands = [("explain", made.model, data, "--background", made.data_csv, "--rows", rows) for rows in ("0:3", "401")]
    streamed()
    whole = [run(*command).out for command in commands]
    content = (data / "2.parquet").read_bytes()
    (data / "2.parquet").write_bytes(b"PAR1" + b"\xff" * (len(content) // 2) + content[4 + len(content) // 2 :])
    assert [run(*command).out for command in commands] == whole
    assert run("explain", made.model, data, "--background", made.data_csv, "--rows", "801").code == 1


def test_a_large_population_is_a_random_sample_and_that_is_told(made, run, streamed, csv_file, monkeypatch):
    data = csv_file(credit_columns(N_ROWS))
    command = ["explain", made.model, data, "--rows", "0", "--json"]
    expected = json.loads(run(*command).out)["rows"][0]
    streamed()
    monkeypatch.setattr(row_samples, "sample_size", lambda n_columns: 100)
    result = run(*command)
    assert "quadric: rows are compared with a random sample: 100 of 400 rows" in result.errors
    found = json.loads(result.out)["rows"][0]
    assert (found["score"], found["label"]) == (expected["score"], expected["label"])
    assert [each["column"] for each in found["contributions"]] != []


@pytest.mark.parametrize("rows", [17, 400])
def test_a_sample_does_not_depend_on_the_chunks(rows, made):
    model, columns = TableModel(read_model(made.model)), credit_columns(N_ROWS)
    whole = as_table({**columns, "income": np.arange(N_ROWS)})
    parts = [whole[first : first + rows] for first in range(0, N_ROWS, rows)]
    picked, n_read = row_samples.random_rows(model, TableStream(parts), 50)
    assert n_read == N_ROWS
    numbers = picked["income"]
    assert len(set(numbers)) == 50
    assert np.array_equal(numbers, row_samples.random_rows(model, TableStream([whole]), 50)[0]["income"])
    assert not np.array_equal(numbers, row_samples.random_rows(model, TableStream([whole]), 50, seed=1)[0]["income"])
    assert 100 < numbers.mean() < 300
    assert len(row_samples.random_rows(model, TableStream(parts), 1000)[0]) == N_ROWS
