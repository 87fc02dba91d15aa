"""Files as tables, and what is said of files that are not."""

import codecs
import hashlib
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather
from pyarrow import parquet as arrow_parquet

from helpers.listening import heard
from quadric.tables import Table, TableEncoder, as_table, read_chunks, read_table, target_labels
from quadric.tables import _csv as csv_module


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
    table = read_table(written("a,b\n1,x\nNA,?\n ,null\nNaN,y\nnan, NA \n Na,nUll\n"))
    assert values(table["a"]) == [1.0, None, None, None, None, None]
    assert values(table["b"]) == ["x", None, None, "y", None, None]
    codes = read_table(written("a,b\n-999,x\n3,-999\n"), missing=["-999"])
    assert values(codes["a"]) == [None, 3.0]
    assert values(codes["b"]) == ["x", None]
    assert values(read_table(written("a,b\n-999 ,x\n+3,\n"), missing=["-999"])["a"]) == [None, 3.0]


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


@pytest.mark.filterwarnings("ignore:The 'float_precision' argument is deprecated")  # pandas before 3 needs it
def test_a_file_agrees_with_pandas(written):
    data = frame(500)
    text = data.to_csv(index=False)
    table, reference = read_table(written(text)), pd.read_csv(io.StringIO(text), float_precision="round_trip")
    for name in data:
        assert table[name].tolist() == reference[name].tolist()


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of some hundred bytes, so that short files have many."""
    monkeypatch.setattr(csv_module, "BLOCK", 256)
    monkeypatch.setattr(csv_module, "LONGEST", 1 << 16)


@pytest.mark.usefixtures("small_blocks")
def test_a_column_that_turns_to_text_late_keeps_its_first_texts(written):
    table = read_table(written("a,b,c\n" + "01,2,x\n" * 500 + "end,3,y\n"))
    assert table["a"].tolist() == ["01"] * 500 + ["end"]
    assert table["b"].dtype == np.float64
    assert table["c"].tolist() == ["x"] * 500 + ["y"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_end_in_one_of_many_quoted_values_is_part_of_it(written, end):
    rows = [f'{row}.00000000,"own"' for row in range(3000)]
    rows[2500] = f'2500.00000000,"a{end}b"'
    table = read_table(written(end.join(["number,home", *rows, ""])))
    assert table["number"].tolist() == list(range(3000))
    assert table["home"][2500] == f"a{end}b"


@pytest.mark.usefixtures("small_blocks")
def test_rows_longer_than_a_block_are_read(written):
    path = written("a,b\n" + "1,x\n" * 200 + f'2,"{"y" * 3000}\n"\n' + "3,z\n" * 200 + f"4,{'w' * 30_000}\n")
    table = read_table(path)
    assert table["a"].tolist() == [1.0] * 200 + [2.0] + [3.0] * 200 + [4.0]
    assert [len(text) for text in table["b"]] == [1] * 200 + [3000] + [1] * 200 + [30_000]
    assert [len(chunk) for chunk in read_chunks(path, rows=150)] == [150, 150, 102]
    with pytest.raises(ValueError, match=r"field larger than field limit .*, in the row that begins on line 2"):
        read_table(written("a,b\n" + f"1,{'w' * 200_000}\n" * 2))


@pytest.mark.usefixtures("small_blocks")
def test_a_single_quote_in_a_value_of_a_long_file_is_read(written):
    table = read_table(written("a,b\n" + "1,x\n" * 100 + '2,5" pipe\n' + "3,y\n" * 40_000))
    assert table["a"].tolist() == [1.0] * 100 + [2.0] + [3.0] * 40_000
    assert table["b"][100] == '5" pipe'


@pytest.mark.usefixtures("small_blocks")
def test_line_ends_in_quotes_leave_the_fast_way_open(written, monkeypatch):
    monkeypatch.setattr(csv_module.CsvFile, "_slow_tables", None)
    table = read_table(written("a,b\n" + '"x\nyz",1\n' * 300))
    assert table["a"].tolist() == ["x\nyz"] * 300


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_line_of_one_column_is_a_row(written, ending):
    lines = ["1", "", "3", "", '""', "", " ", "8"] * 100
    for last in ("", ending):
        path = written(ending.join(["a", *lines]) + last)
        column = read_table(path)["a"]
        assert values(column) == [float(line) if line.strip('" ') else None for line in lines]
        assert sum(map(len, read_chunks(path, rows=7))) == len(lines)
    assert len(read_table(written("a\n1\n\n"))) == 2
    assert len(read_table(written("a\n1\n"))) == len(read_table(written("a\n1"))) == 1


def test_rows_are_counted_the_same_wherever_blocks_end(written, monkeypatch):
    for ending in ("\n", "\r\n", "\r"):
        one, two = (
            written(ending.join(lines), name)
            for lines, name in ((["a", *["1", ""] * 15], "1"), (["a,b", *['1,"x"', ""] * 15], "2"))
        )
        for size in range(1, 30):
            monkeypatch.setattr(csv_module, "BLOCK", size)
            assert len(read_table(one)) == 29
            assert read_table(two)["b"].tolist() == ["x"] * 15


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_rows_begin_after_the_header_wherever_characters_end(written, monkeypatch, ending, mark):
    lines = ['"Größe', 'in €",näme', *["1,ä"] * 20, '2,"Œ', '\ufeffß"']  # names and values of several bytes and lines
    path = written(mark + ending.join(lines).encode())
    monkeypatch.setattr(csv_module.CsvFile, "_slow_tables", None)  # it knows better where rows begin
    for size in (*range(1, 12), 1000):
        monkeypatch.setattr(csv_module, "BLOCK", size)
        table = read_table(path)
        assert table.names == (f"Größe{ending}in €", "näme")
        assert table.columns[0].to_pylist() == [1.0] * 20 + [2.0]
        assert table["näme"].tolist() == ["ä"] * 20 + [f"Œ{ending}\ufeffß"]


def test_equal_texts_are_stored_once(written):
    column = read_table(written("a,b\n" + "long text,1\n" * 1000))["a"]
    assert len({id(value) for value in column}) == 1


@pytest.mark.usefixtures("small_blocks")
def test_progress_is_reported(written):
    with heard() as told:
        read_table(written("a,b\n" + "1,2\n" * 500))
    assert len(told) > 3
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert told[-1] == (1.0, "data.csv: 500 rows")


def test_progress_of_rows_that_only_the_csv_module_knows(written, monkeypatch):
    monkeypatch.setattr("quadric.tables._csv.SLOW_ROWS", 10)
    with heard() as told:
        read_table(written("a,b\n" + 'x"y",2\n' * 500))
    assert len(told) > 3
    assert told[-1][0] == 1.0


def test_progress_of_parquet_files(tmp_path):
    table = pa.table({"a": [1.0] * 30})
    for name in ("one", "two"):
        arrow_parquet.write_table(table, tmp_path / f"{name}.parquet")
    with heard() as told:
        list(read_chunks(tmp_path, rows=10))
    assert [share for share, _ in told] == pytest.approx([(i + 1) / 6 for i in range(6)])
    feather.write_feather(table, tmp_path / "three.feather", chunksize=15)
    with heard() as told:
        read_table(tmp_path / "three.feather")
    assert told == [(0.5, "three.feather: 15 rows"), (1.0, "three.feather: 30 rows")]


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
    "long delimiter": (b"a;b\n1;2\n", {"delimiter": ";;"}, "one ASCII character"),
    "two marks": (b"a;b\n1;2\n", {"decimal": ",", "thousands": ","}, "must differ"),
    "odd mark": (b"a;b\n1;2\n", {"thousands": "0"}, "the thousands mark must be one character"),
    "not UTF-8": (b"a,b\n1,2\nx,Gr\xfcn\n", {}, r"byte 12 \(line 3\) is not utf-8; try latin-1"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), {}, "the file is UTF-16: read it with that encoding"),
    "UTF-32": ("a,b\n1,2\n".encode("utf-32"), {}, "the file is UTF-32: read it with that encoding"),
    "UTF-32 as UTF-16": ("a,b\n1,2\n".encode("utf-32"), {"encoding": "utf-16"}, "the file is UTF-32: read it"),
    "unknown encoding": (b"a,b\n1,2\n", {"encoding": "klingon"}, "no encoding 'klingon'"),
    "cut off character": (b"a,b\n1,2\xc3", {}, "try latin-1"),
    "name twice": (b"a,b,a\n1,2,3\n", {}, r"column name 'a' appears 2 times \(columns 1, 3\)"),
    "no name": (b"a,,c\n1,2,3\n", {}, "column 2 has no name"),
    "delimiters at the ends of lines": (b"a;b;\n1;2;\n", {}, "column 3 has no name; do all lines end with a delimiter"),
    "hint for Excel": (b"sep=;\na;b\n1;2\n", {}, "the first line, 'sep=;', is a hint for Excel: remove it"),
    "quoted hint for Excel": (b'"sep=,"\na,b\n1,2\n', {}, "the first line, 'sep=,', is a hint for Excel: remove it"),
    "old Feather": (b"FEA1\0\0\0\0\xff", {}, "a Feather file of version 1: write it again"),
    "index": (b",a\n3,2\n3,5\n", {}, "column 1 has no name; is it an index"),
    "ragged": (b'a,b\n1,"x\ny"\n\n1,2,3\n4,5\n', {}, "line 5 has 3 values, the header has 2 columns"),
    "short row": (b"a,b\n1,2\n3\n", {"delimiter": ","}, "line 3 has 1 values"),
    "open quote": (b'a,b\n1,"2\n3,4\n', {}, "in the row that begins on line 2.*quote that is not closed"),
    "open quote, closed by the next": (b'a,b\n0,0\n1,"2\n3,4\n5,"6"\n7,8\n', {}, "in the row that begins on line 3"),
    "text after quote": (b'a,b\n1,"2"x\n', {}, "not a well-formed CSV"),
    "text before quote": (b'a,b\n1,x"2,3"\n', {}, "line 2 has 3 values"),
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
    assert str(caught.value).startswith("data.csv: ") or "data.csv" not in str(caught.value)
    with pytest.raises(ValueError, match=words):
        list(read_chunks(path, **arguments))


def test_quotes_inside_values_are_no_quotes(written):
    table = read_table(written('a,b\n1,5" pipe\n2, "x"\n"3","y ""z"""\n'))
    assert table["b"].tolist() == ['5" pipe', '"x"', 'y "z"']
    assert table["a"].tolist() == [1.0, 2.0, 3.0]


def test_infinite_values_are_an_error_for_who_looks_at_them(written):
    path = written(b"a,b\n1,2\n\ninf,3\n1e999,6\n")
    for table in (read_table(path), *read_chunks(path)):
        assert TableEncoder().fit(table.drop(["a"])).transform(table).ravel().tolist() == [2.0, 3.0, 6.0]
        with pytest.raises(ValueError, match="column 'a' is infinite in row 2"):
            TableEncoder().fit(table)


def test_a_column_of_another_type_goes_through_all_but_a_look_at_it():
    for when in (np.arange(4).astype("m8[s]"), np.array([object()] * 4), [[1]] * 4):
        columns = {"when": when, "x": np.arange(4.0)}
        if isinstance(when, list):
            pa = pytest.importorskip("pyarrow")
            columns = pa.table(columns)
        table = as_table(columns)
        assert table[[0, 2]].n_rows == table[table["x"] > 1.5].n_rows == table[1:3].n_rows == 2
        assert table.drop(["when"])["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
        for look in (lambda table: table["when"], lambda table: table.labels("when"), TableEncoder().fit):
            with pytest.raises(ValueError, match=r"'when' (is of type|holds a) \w+.*: convert it to numbers, texts or dates"):
                look(table)


@pytest.mark.parametrize(
    ("texts", "arguments", "expected"),
    [
        (["1,5", "-0,25", "3"], {"decimal": ","}, [1.5, -0.25, 3.0]),
        (["1.234,5", "12", "1.234.567"], {"decimal": ",", "thousands": "."}, [1234.5, 12.0, 1234567.0]),
        (["1,000", " 2,345,678.5 ", "?"], {"thousands": ","}, [1000.0, 2345678.5, None]),
        (["1 000", "5e3", "nan"], {"thousands": " "}, [1000.0, 5000.0, None]),
        (["1,5", "2"], {"thousands": ","}, ["1,5", "2"]),
        (["1.5", "2,5"], {"decimal": ","}, ["1.5", "2,5"]),
        (["1,00", "2,5", "0,125"], {"thousands": ","}, ["1,00", "2,5", "0,125"]),
    ],
)
def test_marks_of_numbers_can_be_named(written, texts, arguments, expected):
    path = written("a;b\n" + "".join(f"{text};1\n" for text in texts))
    assert values(read_table(path, **arguments)["a"]) == expected
    assert [v for chunk in read_chunks(path, 2, **arguments) for v in values(chunk["b"])] == [1.0] * len(texts)


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
    assert values(table["flag"]) == ["True", "False", None, "True", "True"]
    assert values(table["home"]) == ["own", None, "rent", "own", "own"]
    assert values(table["level"]) == ["a", "b", None, "a", "b"]
    assert table.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    chunks = list(read_chunks(path, rows=2))
    assert [v for chunk in chunks for v in values(chunk["home"])] == values(table["home"])
    assert chunks[-1].first_row == 5


def test_all_types_of_numbers_texts_and_dates_are_understood(parquet):
    pa = pytest.importorskip("pyarrow")
    from datetime import UTC, date, datetime
    from decimal import Decimal

    columns = {
        "large": pa.array(["a", " "], pa.large_string()),
        "view": pa.array(["a", None], pa.string_view()),
        "coded": pa.array([7, None]).dictionary_encode(),
        "decimal": pa.array([Decimal("1.50"), None]),
        "whole": pa.array([2**53 + 1, 2**53]),
        "nothing": pa.nulls(2),
        "day": pa.array([date(2020, 1, 31), None]),
        "moment": pa.array([datetime(2020, 1, 31, 12), None], pa.timestamp("ns")),
        "there": pa.array([datetime(2020, 1, 31, 12, tzinfo=UTC), None], pa.timestamp("ms", "Europe/Berlin")),
    }
    expected = {
        "large": ["a", None],
        "view": ["a", None],
        "coded": [7.0, None],
        "decimal": [1.5, None],
        "nothing": [None, None],
    }
    path = parquet({**columns, "view": columns["view"].cast(pa.string())})  # older versions write no views to Parquet
    feather = path.with_suffix(".feather")
    pytest.importorskip("pyarrow.feather").write_feather(pa.table(columns), feather)
    for table in (
        read_table(path),
        read_table(feather),
        as_table(pa.table(columns)),
        *read_chunks(path),
        *read_chunks(feather),
    ):
        assert {name: values(table[name]) for name in expected} == expected
        assert table.labels("whole").tolist() == ["9007199254740993", "9007199254740992"]
        assert table.labels("coded").tolist() == ["7", None]
        assert table.labels("decimal").tolist() == ["1.5", None]
        for name in ("moment", "there"):
            assert table[name].dtype == np.dtype("M8[us]")
            assert np.isnat(table[name]).tolist() == [False, True]
            assert table[name][0] == np.datetime64("2020-01-31T12:00")
        assert table["day"][0] == np.datetime64("2020-01-31")
        with pytest.raises(ValueError, match="holds dates: a classifier needs classes"):
            table.labels("day")


def test_parts_of_a_parquet_column_without_texts_stay_texts(parquet, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr("quadric.tables.reading.BLOCK_ROWS", 2)
    path = parquet({"home": pa.array([None, None, "own", "", None, None], pa.string())})
    assert read_table(path)["home"].tolist() == [None, None, "own", None, None, None]


def test_bad_parquet_gives_one_clear_line(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    cases = {
        "is of type duration": pa.array([1], pa.duration("s")),
        "is of type list": pa.array([[1]]),
        "is of type binary": pa.array([b"x"]),
    }
    for words, column in cases.items():
        path = parquet({"t": column, "x": pa.array([1.5])})
        for table in (read_table(path), *read_chunks(path)):
            assert table["x"].tolist() == [1.5]
            with pytest.raises(ValueError, match=words):
                table["t"]
    with pytest.raises(ValueError, match="no rows"):
        read_table(parquet({"t": pa.array([], pa.float64())}))
    path = parquet({"a": pa.array([1.0])})
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(ValueError, match="not a readable Parquet file") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    for content in (b"abcd", b"a,b\n1,2\n"):
        path.write_bytes(content)
        for read in (read_table, lambda file: next(read_chunks(file))):
            with pytest.raises(ValueError, match=r"^data\.parquet: not a readable Parquet file \(.*\)$"):
                read(path)


def test_a_folder_of_parquet_files_is_one_table(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    folder.mkdir()
    with pytest.raises(ValueError, match="parts is a folder without Parquet files"):
        read_table(folder)
    for name, start in (("b.parquet", 3), ("a.parquet", 0), ("_c.parquet", 9)):
        parquet({"x": pa.array([start, start + 1, start + 2]), "home": pa.array(["own", "rent", None])}, f"parts/{name}")
    table = read_table(folder, text=["x"])
    assert table["x"].tolist() == list("012345")
    assert values(table["home"]) == ["own", "rent", None] * 2
    digests = [hashlib.sha256((folder / name).read_bytes()).digest() for name in ("a.parquet", "b.parquet")]
    assert table.sha256 == hashlib.sha256(b"".join(digests)).hexdigest()
    assert [(len(chunk), chunk.first_row) for chunk in read_chunks(folder, rows=4)] == [(4, 1), (2, 5)]
    parquet({"home": pa.nulls(1), "x": pa.array([1.5])}, "parts/c.parquet")  # another order, and types that can be joined
    assert read_table(folder)["x"].tolist() == [0, 1, 2, 3, 4, 5, 1.5]
    assert values(read_table(folder)["home"])[-1] is None
    parquet({"x": pa.array(["a"]), "home": pa.array(["own"])}, "parts/d.parquet")
    with pytest.raises(
        ValueError, match=r"d\.parquet: its columns are not those of a\.parquet: 'x' is of type string instead of"
    ):
        read_table(folder)
    parquet({"x": pa.array([1.5]), "house": pa.array(["own"])}, "parts/d.parquet")
    with pytest.raises(ValueError, match=r"d\.parquet: its columns are not those of a\.parquet: only one of them has 'home'"):
        read_table(folder)


JOINED_TEXTS = {
    "dictionary": lambda pa, texts: pa.array(texts).dictionary_encode(),
    "large dictionary": lambda pa, texts: pa.array(texts, pa.large_string()).dictionary_encode(),
    "string": lambda pa, texts: pa.array(texts),
    "large string": lambda pa, texts: pa.array(texts, pa.large_string()),
    "view": lambda pa, texts: pa.array(texts, pa.string_view()),
    "nothing": lambda pa, texts: pa.nulls(len(texts)),
}


@pytest.mark.parametrize("first", JOINED_TEXTS)
@pytest.mark.parametrize("second", JOINED_TEXTS)
def test_texts_are_texts_whatever_their_type_in_a_file(first, second, parquet, tmp_path):
    pa, texts = pytest.importorskip("pyarrow"), ["own", None, "rent"]
    (tmp_path / "parts").mkdir()
    for number, kind in enumerate((first, second)):
        parquet({"home": JOINED_TEXTS[kind](pa, texts)}, f"parts/{number}.parquet")
    expected = [each for kind in (first, second) for each in ([None] * 3 if kind == "nothing" else texts)]
    assert values(read_table(tmp_path / "parts")["home"]) == expected
    assert [each for chunk in read_chunks(tmp_path / "parts", 2) for each in values(chunk["home"])] == expected


def test_numbers_are_numbers_whatever_their_type_in_a_file(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    (tmp_path / "parts").mkdir()
    folder, large = tmp_path / "parts", 2**53 + 1
    others = {
        "double": pa.array([0.5]),
        "uint64": pa.array([2**64 - 1], pa.uint64()),
        "decimal": pa.array(["0.25"]).cast(pa.decimal128(38, 2)),
        "int8": pa.array([7], pa.int8()),
    }
    parquet({"x": pa.array([large]), "t": pa.array([1])}, "parts/0.parquet")
    for other in others.values():
        parquet({"x": other, "t": pa.array([1.0])}, "parts/1.parquet")
        assert read_table(folder)["x"].tolist() == [float(large), float(other[0].as_py())]
    parquet({"x": pa.array([1.0]), "t": others["uint64"]}, "parts/1.parquet")
    assert read_table(folder, text=["t"])["t"].tolist() == ["1", str(2**64 - 1)]
    with pytest.raises(ValueError, match=r"0\.parquet: column 'x' holds whole numbers that double cannot hold, .* one type"):
        read_table(folder, text=["x"])
    days = {"d": pa.array([0]).cast(pa.int32()).cast(pa.date32())}, {"d": pa.array([86_400_000_000_000], pa.timestamp("ns"))}
    for number, columns in enumerate(days):
        parquet(columns, f"parts/{number}.parquet")
    assert read_table(folder)["d"].astype(int).tolist() == [0, 86_400_000_000]


@pytest.mark.parametrize("name", ["year=2020", "more.parquet"])
def test_parquet_files_in_subfolders_are_not_left_out_silently(name, parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    (tmp_path / "parts" / name / "deeper").mkdir(parents=True)
    parquet({"x": pa.array([1.0])}, "parts/0.parquet")
    assert read_table(tmp_path / "parts")["x"].tolist() == [1.0]
    parquet({"x": pa.array([1.0])}, f"parts/{name}/deeper/1.parquet")
    with pytest.raises(ValueError, match=f"parts has Parquet files in subfolders, such as '{name}', which are not read: put"):
        read_table(tmp_path / "parts")
    (tmp_path / "parts" / name).rename(tmp_path / "parts" / "_hidden")
    assert len(read_table(tmp_path / "parts")) == 1


def test_lazy_frames_are_collected(tmp_path):
    frame = pytest.importorskip("polars").DataFrame({"age": [30, 40], "home": ["own", None]})
    for table in (as_table(frame.lazy()), read_table(frame.lazy()), *read_chunks(frame.lazy())):
        assert values(table["age"]) == [30.0, 40.0]
        assert values(table["home"]) == ["own", None]


def test_columns_of_the_same_name_are_not_read_as_one(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    path = tmp_path / "twice.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    for source in (table, path, tmp_path):
        with pytest.raises(ValueError, match=r"column name 'a' appears 2 times \(columns 1, 2\)"):
            read_table(source)


def test_arrow_objects_are_read_whole_and_in_chunks(parquet, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pl, duckdb, dataset = map(pytest.importorskip, ("polars", "duckdb", "pyarrow.dataset"))
    columns = {"x": [float(i) for i in range(10)], "home": ["own", None] * 5}
    table = pa.table(columns)
    path = parquet(columns)
    objects = {
        "table": lambda: table,
        "reader": lambda: table.to_reader(3),
        "dataset": lambda: dataset.dataset(path),
        "polars": lambda: pl.DataFrame(columns),
        "duckdb": lambda: duckdb.connect().sql(f"select * from '{path}'"),
    }
    for make in objects.values():
        for found in (as_table(make()), read_table(make())):
            assert found.names == ("x", "home")
            assert found["x"].tolist() == columns["x"]
            assert found["home"].tolist() == columns["home"]
        chunks = list(read_chunks(make(), rows=4, text=["x"]))
        assert [(len(chunk), chunk.first_row) for chunk in chunks] == [(4, 1), (4, 5), (2, 9)]
        assert chunks[2]["x"].tolist() == ["8", "9"]


def test_masked_values_are_missing():
    numbers = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    table = as_table({"a": numbers, "n": numbers.astype(int), "t": np.ma.array(["x", "y", "z"], mask=[True, False, False])})
    assert values(table["a"]) == values(table["n"]) == [1.0, None, 3.0]
    assert values(table["t"]) == [None, "y", "z"]
    assert table.labels("n").tolist() == ["1", None, "3"]
    for kind in (float, int, object):
        array = as_table(np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]], dtype=kind))
        assert values(array["x1"]) == [None, 4.0]
        assert values(array[[0]]["x1"]) == [None]


def test_labels_keep_their_text(written):
    table = read_table(written("y,x\n01,1\n1,2\n2,3\n1.0,4\n"), text=["y"])
    assert target_labels(table.labels("y"))[1] == ("01", "1", "1.0", "2")
    for whole in ([2**53, 2**53 + 1], np.array([2**53, 2**53 + 1]), np.array([2**53, 2**53 + 1, None], dtype=object)[:2]):
        assert target_labels(whole)[1] == ("9007199254740992", "9007199254740993")
    assert target_labels([True, False])[1] == ("False", "True")
    assert target_labels([1.0, 0.0])[1] == ("0", "1")


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
    assert values(table["b"]) == ["True", "False"]
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


def test_blank_labels_are_missing_ones():
    assert as_table({"y": np.array(["a", " \t", "", "b"], dtype=object)}).labels("y").tolist() == ["a", None, None, "b"]


NAN = float("nan")
LABELS = [
    (np.array(["b", "a", "b", " "], dtype=object), ["b", "a", "b", None]),
    (np.array([1, True, 1.0, "1", None, NAN, float("nan")], dtype=object), ["1", "True", "1", "1", None, None, None]),
    (np.array([2.5, NAN, 2.5, 3.0]), ["2.5", None, "2.5", "3"]),
    (np.array([2**53 + 1, 2**53, -1]), ["9007199254740993", "9007199254740992", "-1"]),
    (np.ma.array([1.0, 2.0, 1.0], mask=[False, True, False]), ["1", None, "1"]),
    (np.array(["b", "a", ""]), ["b", "a", None]),
    (np.array([], dtype=object), []),
    (pa.chunked_array([["a", None], ["b", "a"]]), ["a", None, "b", "a"]),
    (pa.chunked_array([["a"], ["b"]]).dictionary_encode(), ["a", "b"]),
    (pa.chunked_array([[1.5, None], [NAN, 2.0]]), ["1.5", None, None, "2"]),
    (pa.chunked_array([[True, None, False]]), ["True", None, "False"]),
    (pa.chunked_array([], pa.string()), []),
    (pa.chunked_array([[None, None]]), [None, None]),
]


@pytest.mark.parametrize("where", range(len(LABELS)))
def test_different_labels_and_their_places_are_the_labels(where):
    column, expected = LABELS[where]
    table = Table(("y",), (column,))
    names, places = table.distinct_labels("y")
    assert [names[place] for place in places] == expected == table.labels("y").tolist()
    assert len(set(names)) == len(names)


def test_texts_of_pandas_are_the_same_whoever_holds_them():
    texts = ["own", None, "rent ", "", "own"]
    for kind in (None, "string[python]", "string[pyarrow]", "object", "category"):
        table = as_table(pd.DataFrame({"home": pd.Series(texts, dtype=kind)}))
        assert table["home"].tolist() == ["own", None, "rent ", None, "own"]
        assert table.labels("home").tolist() == table["home"].tolist()
        assert table[[2, 0]]["home"].tolist() == ["rent ", "own"]


@pytest.mark.parametrize("index", [range(3000), range(1, 3001), range(0, 6000, 2), range(2990, -10, -1)])
def test_an_index_of_pandas_is_left_out_with_a_warning(written, index):
    path = written(b",a,b\n" + b"".join(f"{number},{i * i},x\n".encode() for i, number in enumerate(index)))
    with pytest.warns(UserWarning, match="column 1 has no name and numbers the rows"):
        table = read_table(path)
    assert table.names == ("a", "b")
    with pytest.warns(UserWarning, match="column 1 has no name and numbers the rows"):
        chunks = list(read_chunks(path, 700))
    assert [chunk.names for chunk in chunks] == [("a", "b")] * 5
    assert_array_equal(np.concatenate([chunk["a"] for chunk in chunks]), table["a"])


@pytest.mark.parametrize("text", [",a\n2,5\n2,6\n", ",a\nx,5\ny,6\n", ",a\n0,5\n,6\n", "a,\n0,5\n", ",a\n0.0,5\n1.0,6\n"])
def test_other_columns_without_a_name_are_left_out_on_demand(written, text):
    path = written(text.encode())
    with pytest.raises(ValueError, match=r"column . has no name") as caught:
        read_table(path)
    assert caught.value.remedies == {"ignore": ""}
    assert read_table(path, drop_unnamed=True).names == ("a",)
    assert [chunk.names for chunk in read_chunks(path, drop_unnamed=True)] == [("a",)]


def test_an_index_in_a_parquet_file_is_left_out_with_a_warning(tmp_path):
    pd = pytest.importorskip("pandas")
    path = tmp_path / "data.parquet"
    pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[4, 1, 7]).to_parquet(path)
    with pytest.warns(UserWarning, match="'__index_level_0__' is an index of pandas"):
        assert read_table(path).names == ("a",)
