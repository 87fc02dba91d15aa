"""Tables that are read in chunks, as often as it takes."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from helpers.large_tables import arrow_table, table_files
from helpers.listening import heard
from helpers.small_tables import credit_columns, csv_text
from quadric.progress import RowsRead
from quadric.tables import TableStream, _csv

N_ROWS = 400


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_csv, "BLOCK", 2_000)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", ["csv", "parquet", "folder", "feather"])
def test_every_pass_gives_the_same_rows_and_tells_how_many(form, tmp_path):
    columns = credit_columns(N_ROWS, gaps=20)
    files = table_files(tmp_path, columns)
    pa.feather.write_feather(arrow_table(columns), tmp_path / "data.feather", chunksize=90)
    stream = TableStream(files.get(form, tmp_path / "data.feather"), rows=67)
    for _ in range(3):
        with heard() as told:
            tables = list(stream)
        assert [table.first_row for table in tables] == [1 + 67 * i for i in range(len(tables))]
        np.testing.assert_array_equal(np.concatenate([table["income"] for table in tables]), columns["income"])
        assert np.concatenate([table["home"] for table in tables]).tolist() == columns["home"].tolist()
        assert all(isinstance(what, RowsRead) for _, what in told)
        assert (told[-1][0], told[-1][1].n_rows) == (1.0, N_ROWS)
        assert [share for share, _ in told] == sorted(share for share, _ in told)
    assert stream.count_rows() == N_ROWS


@pytest.mark.usefixtures("small_blocks")
def test_a_csv_file_is_parsed_once_unless_that_is_not_wanted(tmp_path, monkeypatch):
    path, parsed = tmp_path / "data.csv", []
    path.write_text(csv_text(credit_columns(N_ROWS)))
    read = _csv.CsvFile.tables
    monkeypatch.setattr(_csv.CsvFile, "tables", lambda file, *how: parsed.append(file) or read(file, *how))
    for keeps, expected in ((True, 1), (False, 2)):
        parsed.clear()
        stream = TableStream(path, keeps=keeps)
        assert sum(map(len, stream)) == sum(map(len, stream)) == N_ROWS
        assert len(parsed) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "there are no record batches"),
        ([arrow_table(credit_columns(5)).slice(0, 0)], "the table has no rows"),
        (
            [arrow_table(credit_columns(5)), arrow_table(credit_columns(5)).drop_columns(["age"])],
            "the parts of the table have different columns: only some of them have 'age'",
        ),
    ],
)
def test_parts_that_make_no_table(data, words):
    with pytest.raises(ValueError, match=words):
        list(TableStream(iter(data)))


def test_empty_parts_are_passed_over():
    table = arrow_table(credit_columns(5))
    parts = list(TableStream([table.slice(0, 0), table, table.slice(0, 0), table]))
    assert [(part.first_row, part.n_rows) for part in parts] == [(1, 5), (6, 5)]


def test_an_iterator_is_read_once():
    stream = TableStream(iter([arrow_table(credit_columns(5))]))
    assert sum(map(len, stream)) == 5
    with pytest.raises(ValueError, match="can be read only once"):
        list(stream)


def test_a_checksum_that_fails_is_an_error_and_not_a_wait(tmp_path, monkeypatch):
    (tmp_path / "data.csv").write_text("x,y\n1,a\n2,b\n")
    stream = TableStream(tmp_path / "data.csv")

    def fails(path):
        raise ValueError("no checksum")

    monkeypatch.setattr("quadric.tables.parts.digest_of", fails)
    with pytest.raises(ValueError, match="no checksum"):
        stream.digest()


def _numbered_rows(table):
    return [(table.first_row + place, value) for place, value in enumerate(table["x"].tolist())]


def test_chosen_rows_of_any_parts_are_a_table_of_their_own():
    from quadric.tables.parts import ChosenParts, gathered

    rng = np.random.default_rng(0)
    stream = TableStream({"x": np.arange(100.0), "name": np.array([f"n{i}" for i in range(100)], dtype=object)}, rows=7)
    for rows in (rng.random(100) < 0.4, np.arange(100) >= 60, np.arange(100) == 99):
        chosen = ChosenParts(stream, rows)
        expected = np.flatnonzero(rows)
        assert chosen.count_rows() == len(expected)
        assert chosen.total(_numbered_rows) == [*enumerate(expected.astype(float).tolist(), start=1)]
        assert gathered(chosen)["name"].tolist() == [f"n{i}" for i in expected]
        assert gathered(chosen)["x"].tolist() == gathered(stream.only(rows))["x"].tolist()
        again = chosen.only(np.arange(len(expected)) % 2 == 0)
        assert gathered(again)["x"].tolist() == expected[::2].tolist()
    assert ChosenParts(stream, np.zeros(100, dtype=bool)).total(_numbered_rows) is None
