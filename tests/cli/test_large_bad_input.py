"""Tables that are read in passes and are wrong: one line that names the file and the column, no model, nothing left behind."""

import errno
import os
import re
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.large_tables import arrow_table, table_files
from helpers.small_tables import credit_columns, csv_text
from quadric.tables import parts as table_parts

N_ROWS = 400
GIVEN = ["--target", "risk", "--no-cv", "--k", "3", "--C", "1", "--loss", "least_squares", "--no-calibrate"]


@pytest.fixture
def fit(run, refused, streamed, tmp_path):
    """Fit in passes; with a code, the one line of a fit that is refused."""
    streamed()

    def call(data, *options, code=0):
        command = ["fit", data, *GIVEN, *options, "--output", tmp_path / "model.json"]
        if code:
            return refused(*command, code=code)
        result = run(*command, "--force")
        assert result.code == 0, result.errors
        return (tmp_path / "model.json").read_text().partition('"data"')[0]

    return call


@pytest.fixture
def parts(tmp_path):
    """A folder of three Parquet files, and a way to change the second of them."""
    folder = table_files(tmp_path, credit_columns(N_ROWS))["folder"]

    def change(*, by=lambda table: table, name="1.parquet"):
        pq.write_table(by(pq.read_table(folder / "1.parquet")), folder / name)
        return folder

    return change


def replaced(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, pa.array(values(table)))


def test_a_folder_with_other_columns_in_a_file(fit, parts):
    folder = parts(by=lambda table: table.drop_columns(["income"]))
    assert fit(folder, code=1) == "quadric: 1.parquet: its columns are not those of 0.parquet: only one of them has 'income'"


def test_missing_labels_are_counted_over_all_files(fit, parts, run, tmp_path):
    blank = replaced("risk", lambda table: [None, *table["risk"].to_pylist()[1:]])
    folder = parts(by=blank)
    parts(by=blank, name="2.parquet")
    line = fit(folder, "--missing", "refuse", code=1)
    assert re.fullmatch(r"quadric: the target is missing in 2 row\(s\), the first is row \d+: drop them or fill them in", line)
    remarks = run("fit", folder, *GIVEN, "--output", tmp_path / "again.json").errors
    assert "quadric: the target 'risk' is missing in 2 rows, which are left out" in remarks
    assert run("certify", tmp_path / "again.json", folder).code == 0


def test_a_number_in_one_file_that_is_a_text_in_another(fit, parts):
    folder = parts(by=replaced("income", lambda table: [f"{value} EUR" for value in table["income"].to_pylist()]))
    line = fit(folder, code=1)
    assert line.startswith("quadric: 1.parquet: its columns are not those of 0.parquet: ")
    assert line.endswith("'income' is of type string instead of double")


def test_whole_numbers_in_one_file_are_numbers_in_another(fit, parts):
    fit(parts(by=replaced("age", lambda table: [int(age) for age in table["age"].to_pylist()])))


def test_a_file_without_rows_among_others_is_fine(fit, parts, tmp_path):
    whole = fit(parts())
    assert fit(parts(by=lambda table: table.slice(0, 0), name="00.parquet")) == whole


def test_a_folder_of_files_without_rows(fit, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(2):
        pq.write_table(arrow_table(credit_columns(N_ROWS)).slice(0, 0), folder / f"{number}.parquet")
    assert fit(folder, code=1) == "quadric: parts: the files have columns but no rows"


def test_an_empty_file_in_a_folder(fit, parts):
    folder = parts()
    (folder / "1.parquet").write_bytes(b"")
    assert fit(folder, code=1) == "quadric: 1.parquet: the file is empty"


def test_a_class_may_be_missing_from_a_file(fit, parts):
    fit(parts(by=lambda table: table.filter(pa.compute.equal(table["risk"], "bad"))))


def test_a_class_that_is_missing_from_all_files(fit, tmp_path):
    columns = {**credit_columns(N_ROWS), "risk": ["good"] * N_ROWS}
    line = fit(table_files(tmp_path, columns)["folder"], code=1)
    assert line == "quadric: the target is 'good' in every row: at least two classes are needed"


def test_a_class_that_is_missing_from_a_fold(fit, tmp_path):
    columns = credit_columns(N_ROWS)
    groups = np.where(columns["risk"] == "bad", 1, np.arange(N_ROWS) + 2)
    data = table_files(tmp_path, {**columns, "who": groups})["folder"]
    line = fit(data, "--cv", "--folds", "3", "--groups", "who", code=2)
    assert "class 'bad'" in line
    assert "fold" in line


def damaged(path, group):
    """Overwrite the pages of a row group."""
    metadata = pq.ParquetFile(path).metadata.row_group(group)
    content = bytearray(path.read_bytes())
    for i in range(metadata.num_columns):
        column = metadata.column(i)
        first = column.dictionary_page_offset or column.data_page_offset
        content[first : first + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


def spooled():
    return [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("quadric-")]


@pytest.mark.parametrize("form", ["parquet", "folder"])
def test_a_damaged_row_group_is_named_and_gives_no_model(form, fit, refused, made, tmp_path):
    data = table_files(tmp_path, credit_columns(N_ROWS))[form]
    path, group = (data, 5) if form == "parquet" else (data / "1.parquet", 1)
    n_groups = pq.ParquetFile(path).num_row_groups
    damaged(path, group)
    before = spooled()
    words = f"quadric: {path.name}: row group {group + 1} of {n_groups} cannot be read ("
    assert fit(data, code=1).startswith(words)
    for command in (["certify", made.model, data], ["predict", made.model, data, "--output", tmp_path / "scores.csv"]):
        assert refused(*command, code=1).startswith(words)
    assert spooled() == before


def test_a_csv_file_that_breaks_off_gives_no_model(fit, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text(csv_text(credit_columns(N_ROWS)) + "1,2\n")
    assert fit(data, code=1) == "quadric: data.csv: line 402 has 2 values, the header has 5 columns"


def full(*arguments, **options):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("place", ["opening", "writing", "flushing"])
def test_a_full_disk_only_costs_time(place, fit, tmp_path, monkeypatch):
    data = tmp_path / "data.csv"
    data.write_text(csv_text(credit_columns(N_ROWS)))
    whole = fit(data)
    passes = []
    read = table_parts.Spool.__iter__
    monkeypatch.setattr(table_parts.Spool, "__iter__", lambda self: passes.append(self) or read(self))
    fit(data)
    assert passes
    passes.clear()

    class FullFile:
        """A file on a disk that is full from some moment on."""

        def __init__(self):
            self.closed = False

        def write(self, content):
            return full() if place == "writing" else len(content)

        flush = full

        def close(self):
            self.closed = True

    monkeypatch.setattr(tempfile, "TemporaryFile", full if place == "opening" else lambda **options: FullFile())
    assert fit(data) == whole
    assert not passes
