"""Files as tables, and what is said of files that are not."""

import hashlib
import io

import numpy as np
import pandas as pd
import pytest

from quadric.tables import Table, TableEncoder, UnusableColumn, as_table, read_chunks, read_table, target_labels
from quadric.tables.reading import BLOCK_ROWS
from quadric.tables.table import as_column


@pytest.fixture
def written(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def values(column):
    return [None if v is None or v != v else v for v in column.tolist()]


def test_numbers_and_texts_are_told_apart(written):
    table = read_table(written("age,home,code\n31,own,007\n-4.5e1, rent ,8\n 7 ,own,9\n"))
    assert table.names == ("age", "home", "code")
    assert table["age"].dtype == np.float64
    assert values(table["age"]) == [31.0, -45.0, 7.0]
    assert values(table["home"]) == ["own", "rent", "own"]
    assert values(table["code"]) == [7.0, 8.0, 9.0]
    assert table.shape == (3, 3)
    assert len(table) == table.n_rows == 3


def test_columns_can_be_kept_as_texts(written):
    table = read_table(written("code,age\n007,1\n8,2\n"), text=["code", "absent"])
    assert values(table["code"]) == ["007", "8"]


def test_the_hash_is_that_of_the_file(written):
    path = written("a,b\n1,2\n")
    assert read_table(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_missing_values_are_nan_and_none(written):
    table = read_table(written("a,b\n1,x\nNA,?\n ,null\nNaN,y\nnan, NA \n"))
    assert values(table["a"]) == [1.0, None, None, None, None]
    assert values(table["b"]) == ["x", None, None, "y", None]
    codes = read_table(written("a,b\n-999,x\n3,-999\n"), missing=["-999"])
    assert values(codes["a"]) == [None, 3.0]
    assert values(codes["b"]) == ["x", None]


@pytest.mark.parametrize("text", ["1_000", "1,5", "0x10", "1 2", "--1"])
def test_what_is_not_quite_a_number_is_text(written, text):
    assert read_table(written(f"a;b\n1;2\n{text};3\n"))["a"].dtype == object


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(written, delimiter):
    rows = ["name,with;all|of\tthem", "3", "4"]
    head = delimiter.join(["a", "b", "c"])
    body = delimiter.join([f'"{rows[0]}"', *rows[1:]])
    table = read_table(written(f"{head}\n{body}\n"))
    assert table.names == ("a", "b", "c")
    assert values(table["a"]) == [rows[0]]


def test_decimal_commas_do_not_hide_a_semicolon(written):
    assert read_table(written("a;b\n1,5;2,5\n3,5;4,5\n")).names == ("a", "b")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_blank_lines_and_quotes_are_no_harm(written, ending):
    lines = ["a,b", '1,"x, ""y"""', "", '2,"two', 'lines"', ""]
    table = read_table(written(ending.join(lines)))
    assert values(table["a"]) == [1.0, 2.0]
    assert table["b"][0] == 'x, "y"'


def test_a_byte_order_mark_is_not_part_of_a_name(written):
    assert read_table(written(b"\xef\xbb\xbfa,b\n1,2\n")).names == ("a", "b")


def test_encodings_can_be_named(written):
    path = written("näme,b\nGrün,2\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1")["näme"].tolist() == ["Grün"]
    sixteen = written("a,b\nx,2\n".encode("utf-16"))
    assert read_table(sixteen, encoding="utf-16")["a"].tolist() == ["x"]


def frame(m, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=m), "n": rng.integers(0, 9, m), "home": rng.choice(["own", "rent", "a,b"], m)})


def test_a_file_agrees_with_pandas(written):
    data = frame(500)
    text = data.to_csv(index=False)
    table, reference = read_table(written(text)), pd.read_csv(io.StringIO(text))
    for name in data:
        assert table[name].tolist() == reference[name].tolist()


def test_a_column_that_turns_to_text_late_keeps_its_first_texts(written):
    n = BLOCK_ROWS + 10
    table = read_table(written("a,b,c\n" + "01,2,x\n" * n + "end,3,y\n"))
    assert table["a"][0] == "01"
    assert table["a"][-1] == "end"
    assert table["b"].dtype == np.float64
    assert table.n_rows == n + 1


def test_equal_texts_are_stored_once(written):
    column = read_table(written("a,b\n" + "long text,1\n" * 1000))["a"]
    assert len({id(value) for value in column}) == 1


def test_progress_is_reported(written):
    lines = []
    read_table(written("a,b\n" + "1,2\n" * (BLOCK_ROWS + 1)), report=lines.append)
    assert lines == [f"data.csv: {BLOCK_ROWS} rows read", f"data.csv: {BLOCK_ROWS + 1} rows read"]


def test_chunks_together_are_the_table(written):
    path = written("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(25)))
    chunks = list(read_chunks(path, rows=10, text=["b"]))
    assert [chunk.n_rows for chunk in chunks] == [10, 10, 5]
    assert [chunk.first_row for chunk in chunks] == [1, 11, 21]
    whole = read_table(path, text=["b"])
    for name in whole:
        assert [v for chunk in chunks for v in chunk[name].tolist()] == whole[name].tolist()
    with pytest.raises(ValueError, match="rows must be at least 1"):
        next(read_chunks(path, rows=0))


WRONG = {
    "empty": (b"", {}, "the file is empty"),
    "only a header": (b"a,b\n", {}, "no rows"),
    "blank first line": (b"\na,b\n1,2\n", {}, "first line is blank"),
    "wrong delimiter": (b"a;b\n1;2\n", {"delimiter": ","}, r"only one column, 'a;b': wrong delimiter\? the header has ';'"),
    "long delimiter": (b"a;b\n1;2\n", {"delimiter": ";;"}, "one character"),
    "not UTF-8": (b"a,b\n1,2\nx,Gr\xfcn\n", {}, r"byte 12 \(line 3\) is not utf-8; try latin-1"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), {}, "the file is UTF-16: read it with that encoding"),
    "unknown encoding": (b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding 'klingon'"),
    "cut off character": (b"a,b\n1,2\xc3", {}, "try latin-1"),
    "name twice": (b"a,b,a\n1,2,3\n", {}, r"column name 'a' appears 2 times \(columns 1, 3\)"),
    "no name": (b"a,,c\n1,2,3\n", {}, "column 2 has no name"),
    "index": (b",a\n0,2\n", {}, "column 1 has no name; is it an index"),
    "ragged": (b'a,b\n1,"x\ny"\n\n1,2,3\n4,5\n', {}, "line 5 has 3 values, the header has 2 columns"),
    "short row": (b"a,b\n1,2\n3\n", {"delimiter": ","}, "line 3 has 1 values"),
    "open quote": (b'a,b\n1,"2\n3,4\n', {}, "quote that is not closed"),
    "text after quote": (b'a,b\n1,"2"x\n', {}, "not a well-formed CSV"),
    "zip": (b"PK\x03\x04....", {}, "Excel file: save it as CSV"),
    "gzip": (b"\x1f\x8b....", {}, "unpack it first"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_files_give_one_clear_line(written, case):
    content, arguments, words = WRONG[case]
    path = written(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_table(path, **arguments)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("data.csv: ") or case == "unknown encoding"
    with pytest.raises(ValueError, match=words):
        list(read_chunks(path, **arguments))


@pytest.mark.parametrize(
    ("content", "row", "words"),
    [
        (b"a,b\n1,2\n\ninf,3\n5,6\n", 1, "data.csv: column 'a' is infinite on line 4"),
        (b"a,b\n1e999,2\n", 0, "data.csv: column 'a' is infinite on line 2"),
    ],
)
def test_infinite_values_are_an_error_for_who_looks_at_them(written, content, row, words):
    path = written(content)
    for table in (read_table(path), *read_chunks(path), list(read_chunks(path, rows=1))[row]):
        assert np.isfinite(table["b"]).all()
        with pytest.raises(ValueError, match=words):
            as_column("a", table["a"])


def test_an_unusable_column_goes_through_all_but_a_look_at_it():
    table = Table(("when", "x"), (UnusableColumn(4, "no dates"), np.arange(4.0)))
    assert len(table[[0, 2]]["when"]) == len(table[table["x"] > 1.5]["when"]) == len(table[1:3]["when"]) == 2
    assert table.drop(["when"])["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    for look in (np.asarray, lambda column: column.tolist(), lambda column: column.dtype, target_labels):
        with pytest.raises(ValueError, match="no dates"):
            look(table["when"])
    with pytest.raises(ValueError, match="no dates"):
        TableEncoder().fit(table)


def test_the_place_of_a_bad_byte_is_right_far_into_the_file(written):
    start = b"abc,def\n" + b"1,\xc3\xbc\n" * 300_000  # a character lies across the end of the first megabyte
    path = written(start + b"\xff,2\n")
    with pytest.raises(ValueError, match=rf"byte {len(start)} \(line 300002\)"):
        read_table(path)


def test_infinite_texts_in_a_text_column_are_texts(written):
    assert read_table(written("a,b\ninf,1\nformal,2\n"))["a"].tolist() == ["inf", "formal"]


def test_a_column_named_like_nothing_is_a_table_of_one_column(written):
    assert read_table(written("a\n1\n2\n")).names == ("a",)


@pytest.fixture
def parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def write(columns, name="data.parquet"):
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=4)
        return tmp_path / name

    return write


def test_parquet_gives_the_same_table(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = parquet(
        {
            "x": pa.array([1.5, None, 3.0, 4.0, 5.0]),
            "n": pa.array([1, 2, 3, 4, None]),
            "flag": pa.array([True, False, None, True, True]),
            "home": pa.array(["own", None, "rent", "own", "own"]),
            "level": pa.array(["a", "b", None, "a", "b"]).dictionary_encode(),
        }
    )
    table = read_table(path, text=["n"])
    assert values(table["x"]) == [1.5, None, 3.0, 4.0, 5.0]
    assert values(table["n"]) == ["1", "2", "3", "4", None]
    assert values(table["flag"]) == [1.0, 0.0, None, 1.0, 1.0]
    assert values(table["home"]) == ["own", None, "rent", "own", "own"]
    assert values(table["level"]) == ["a", "b", None, "a", "b"]
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    chunks = list(read_chunks(path, rows=2))
    assert [v for chunk in chunks for v in values(chunk["home"])] == values(table["home"])
    assert chunks[-1].first_row == 5


def test_parts_of_a_parquet_column_without_texts_stay_texts(parquet, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr("quadric.tables.reading.BLOCK_ROWS", 2)
    path = parquet({"home": pa.array([None, None, "own", "", None, None], pa.string())})
    assert read_table(path)["home"].tolist() == [None, None, "own", None, None, None]


def test_bad_parquet_gives_one_clear_line(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import datetime

    cases = {
        "is of type timestamp": pa.array([datetime.datetime(2020, 1, 1)]),
        "is of type list": pa.array([[1]]),
        "infinite": pa.array([float("inf")]),
    }
    for words, column in cases.items():
        path = parquet({"t": column, "x": pa.array([1.5])})
        for table in (read_table(path), *read_chunks(path)):
            assert table["x"].tolist() == [1.5]
            with pytest.raises(ValueError, match=words):
                table["t"].tolist()
    with pytest.raises(ValueError, match="no rows"):
        read_table(parquet({"t": pa.array([], pa.float64())}))
    path = parquet({"a": pa.array([1.0])})
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(ValueError, match="not a readable Parquet file") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_frames_mappings_and_arrays_are_tables():
    pl = pytest.importorskip("polars")
    columns = {"x": [1.0, None, 3.0], "home": ["own", None, "rent"]}
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), columns):
        table = as_table(data)
        assert table.names == ("x", "home")
        assert values(table["x"]) == columns["x"]
        assert values(table["home"]) == columns["home"]
    array = as_table(np.array([[1, "own"], [2.5, ""]], dtype=object), ["x", "home"])
    assert values(array["x"]) == [1.0, 2.5]
    assert values(array["home"]) == ["own", None]
    assert as_table([[1, "a"], [2, "b"]]).names == ("x0", "x1")
    assert as_table([[1, "a"], [2, "b"]])["x0"].dtype == np.float64


def test_pandas_types_are_understood():
    data = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "s": pd.array(["a", None], dtype="string"),
            "c": pd.Categorical(["low", None]),
            "b": [True, False],
            "mixed": ["a", 2],
        }
    )
    table = as_table(data)
    assert values(table["n"]) == [1.0, None]
    assert values(table["s"]) == ["a", None]
    assert values(table["c"]) == ["low", None]
    assert values(table["b"]) == [1.0, 0.0]
    assert values(table["mixed"]) == ["a", "2"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": [[1], [2]]}, "column 'a' must have one dimension"),
        ({"a": [1, 2], "b": [1]}, "all of the same length"),
        (np.zeros(3), "two dimensions"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "appears 2 times"),
    ],
)
def test_what_is_no_table_is_refused(data, words):
    with pytest.raises((ValueError, TypeError), match=words):
        as_table(data)


def test_rows_columns_and_parts_of_a_table():
    table = Table(("a", "b"), (np.arange(4.0), np.array(["x", "y", "x", "y"], dtype=object)), "hash")
    assert table[np.array([True, False, False, True])]["a"].tolist() == [0.0, 3.0]
    assert table[[2, 1], ...]["b"].tolist() == ["x", "y"]
    assert table[1:3].n_rows == 2
    assert table.drop(["b", "c"]).names == ("a",)
    assert table.drop(["b"]).sha256 == "hash"
    assert table[1:].sha256 is None
    assert list(table) == ["a", "b"]
    with pytest.raises(KeyError):
        table["c"]


def test_scikit_learn_splits_a_table():
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    from quadric.tables import TableEncoder

    data = frame(90)
    table = as_table(data)
    y = (data["x"] + (data["home"] == "own") > 0.3).astype(int).to_numpy()
    model = make_pipeline(TableEncoder(), DecisionTreeClassifier(random_state=0))
    np.testing.assert_array_equal(cross_val_score(model, table, y, cv=3), cross_val_score(model, data, y, cv=3))
