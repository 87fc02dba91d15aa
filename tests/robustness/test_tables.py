"""Tables of every kind, well formed and damaged: the right rows, or one clear line."""

import csv
import io
import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from quadric.cli import main
from quadric.tables import _csv as csv_module
from quadric.tables import as_table, read_chunks, read_table
from quadric.tables.table import BLANKS

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MISSING = {"", "na", "nan", "null", "?"}
POOL = pa.proxy_memory_pool(pa.default_memory_pool())
"""Counts what Arrow allocates for the tables here; buffers may outlive a test, and the pool must outlive them."""
MOST_BYTES = 64 << 20
NUMBERS = [
    "0",
    "1",
    "-2",
    "+3",
    "4.5",
    "-.5",
    "5.",
    "6e3",
    "-7E-2",
    " 8 ",
    "007",
    "1e400",
    "-0",
    "12345678901234567890",
    "9007199254740993",
]
TEXTS = [
    "own",
    "rent",
    " free ",
    "a b",
    "Größe",
    "日本",
    "x_1",
    "1_000",
    "1,5",
    "2;5",
    "0x10",
    "=1+1",
    "it's",
    "inf",
    "5\t6",
    "p|q",
    "1 2",
]
QUOTED = ['say "x"', "two\nlines", "two\r\nlines", "a,b;c|d\te", '"', '""', "\n", " \n "]
GAPS = ["", "NA", "nan", "NaN", " na ", "null", "?", "  "]
NAMES = ["age", "income", "home", "näme", "two words", "a,b", 'q"q', "x\ny", "=cmd", "1"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7"]
ENDINGS = ["\n", "\r\n", "\r"]


@dataclass(frozen=True)
class Written:
    """A CSV file before anything happens to it."""

    content: bytes
    encoding: str
    delimiter: str


def pick(rng, values):
    return values[rng.integers(len(values))]


def column(rng, n_rows):
    """Texts of one column: numbers, texts, both, or nothing."""
    pool = pick(rng, [NUMBERS, TEXTS, TEXTS + QUOTED, NUMBERS * 5 + TEXTS, [""]])
    values = [pick(rng, pool) for _ in range(n_rows)]
    share = pick(rng, [0.0, 0.1, 0.5])
    return [pick(rng, GAPS) if rng.random() < share else value for value in values]


def written(rng):
    """A well-formed file in some dialect."""
    n_columns, n_rows = int(rng.integers(1, 6)), int(pick(rng, [1, 2, 5, 30, 120]))
    names = [NAMES[i] for i in rng.permutation(len(NAMES))[:n_columns]]
    rows = list(zip(*(column(rng, n_rows) for _ in names), strict=True))
    delimiter, ending = pick(rng, [",", ";", "\t", "|", ":"]), pick(rng, ENDINGS)
    out = io.StringIO(newline="")
    style = pick(rng, [csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ending, quoting=style)
    writer.writerow(names)
    for row in rows:
        if n_columns == 1 and row == ("",) and rng.random() < 0.7:
            out.write(ending)  # what other programs write for a missing value
        else:
            writer.writerow(row)
        if n_columns > 1 and rng.random() < 0.03:
            out.write(ending)
    text = out.getvalue()
    if rng.random() < 0.3:
        text = text.removesuffix(ending)
    encoding = pick(rng, ENCODINGS) if rng.random() < 0.5 else "utf-8"
    return Written(text.encode(encoding, "replace"), encoding, delimiter)


def spliced(rng, content, piece, n=1):
    for _ in range(n):
        at = int(rng.integers(len(content) + 1))
        content = content[:at] + piece + content[at:]
    return content


def flipped(rng, content):
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        data[rng.integers(len(data))] = rng.integers(256)
    return bytes(data)


MUTATORS = {
    "as it is": lambda rng, content: content,
    "as it is, again": lambda rng, content: content,
    "cut off": lambda rng, content: content[: int(rng.integers(len(content) + 1))],
    "stray quote": lambda rng, content: spliced(rng, content, b'"'),
    "two quotes": lambda rng, content: spliced(rng, content, b'"', 2),
    "stray delimiter": lambda rng, content: spliced(rng, content, pick(rng, [b",", b";", b"\t", b"|", b":"])),
    "stray line end": lambda rng, content: spliced(rng, content, pick(rng, [b"\n", b"\r", b"\r\n", b"\n\n"])),
    "mixed line ends": lambda rng, content: content.replace(b"\n", pick(rng, [b"\r", b"\r\n", b"\n\r"]), int(rng.integers(5))),
    "null bytes": lambda rng, content: spliced(rng, content, b"\0", 3),
    "other bytes": flipped,
    "a second mark": lambda rng, content: b"\xef\xbb\xbf" + content,
    "no line end": lambda rng, content: content.rstrip(b"\r\n"),
    "long": lambda rng, content: spliced(rng, content, b"x" * int(rng.integers(1, 5000))),
    "many blank lines": lambda rng, content: content + b"\n" * int(rng.integers(1, 9)),
    "two files": lambda rng, content: content + content,
    "other format": lambda rng, content: (
        pick(rng, [b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"ARROW1", b"\xff\xfe", b""]) + content[4:]
    ),
}


_OF_MARK = {b"\xff\xfe\x00\x00": ("utf-32",)}
"""Encodings of files that begin with a byte order mark; others with one of UTF-16 are UTF-16."""


def reference(content, encoding, delimiter):
    """Names and rows as Python's strict csv module sees them; None if the file is not well formed."""
    try:
        text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig" if encoding == "utf-8" else encoding, newline="").read()
        header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except (UnicodeError, csv.Error, ValueError):
        return None
    names = [name.strip() for name in header]
    if content.startswith((b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"ARROW1")) or (
        content[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding not in _OF_MARK.get(content[:4], ("utf-16", "utf-16-le"))
    ):
        return None
    rows = [row or [""] for row in rows if row or len(names) == 1]
    is_one_of_several = len(names) == 1 and set(names[0]).intersection(csv_module.DELIMITERS) - {delimiter}
    if (
        not rows
        or not all(names)
        or len(set(names)) < len(names)
        or is_one_of_several
        or any(len(row) != len(names) for row in rows)
    ):
        return None
    return names, rows


def cleaned(text):
    return None if text.strip(BLANKS).lower() in MISSING else text.strip(BLANKS)


def number(text):
    return math.nan if text is None else float(text) if "_" not in text else float("x")


def same(found, expected):
    """Whether a column read without being told its type is the numbers that the texts are, or else the texts."""
    try:
        numbers = np.array([number(text) for text in expected])
    except ValueError:
        return found.dtype == object and found.tolist() == expected
    return found.dtype == np.float64 and np.array_equal(found, numbers, equal_nan=True)


def check_csv(path, encoding, delimiter, expected):
    """Read a file in all ways; returns what happened."""
    how = {"encoding": encoding, "delimiter": delimiter}
    if expected is None:
        with pytest.raises(ValueError) as caught:
            read_table(path, **how)
        assert "\n" not in str(caught.value)
        with pytest.raises(ValueError, match=re.escape(str(caught.value))):
            list(read_chunks(path, 7, **how))
        return "refused"
    names, rows = expected
    texts = {name: [cleaned(row[i]) for row in rows] for i, name in enumerate(names)}
    table = read_table(path, text=names, **how)
    assert table.names == tuple(names)
    assert {name: table[name].tolist() for name in table} == texts
    guessed = read_table(path, **how)
    assert all(same(guessed[name], texts[name]) for name in names)
    chunks = list(read_chunks(path, 7, text=names, **how))
    assert [row for chunk in chunks for row in zip(*(chunk[name] for name in names), strict=True)] == list(
        zip(*texts.values(), strict=True)
    )
    assert chunks[-1].first_row + len(chunks[-1]) - 1 == len(rows)
    return "read"


@pytest.fixture
def _counted_memory():
    usual = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    yield
    pa.set_memory_pool(usual)


@pytest.mark.slow
@pytest.mark.usefixtures("_counted_memory")
def test_csv_files(size, tally, tmp_path, monkeypatch):
    for seed in range(size(150, 4200)):
        rng = np.random.default_rng([12, seed])
        monkeypatch.setattr(csv_module, "BLOCK", pick(rng, [7, 64, 300, 1 << 20]))
        file, name = written(rng), pick(rng, list(MUTATORS))
        content = MUTATORS[name](rng, file.content)
        path = tmp_path / "table.csv"
        path.write_bytes(content)
        expected = reference(content, file.encoding, file.delimiter)
        try:
            outcome = check_csv(path, file.encoding, file.delimiter, expected)
        except BaseException:
            print(f"seed {seed}, {name}, {file.encoding}, {file.delimiter!r}, {content[:500]!r}")
            raise
        tally(f"CSV {outcome}")
    assert 0 < POOL.max_memory() < MOST_BYTES


ARROW = {
    "number": lambda rng, n: pa.array(rng.normal(size=n), mask=rng.random(n) < 0.2),
    "whole": lambda rng, n: pa.array(rng.integers(-(2**60), 2**60, n), mask=rng.random(n) < 0.2),
    "small": lambda rng, n: pa.array(rng.integers(0, 200, n).astype(np.uint8)),
    "flag": lambda rng, n: pa.array(rng.random(n) < 0.5),
    "text": lambda rng, n: pa.array(
        [pick(rng, [*TEXTS, "", None]) for _ in range(n)], pick(rng, [pa.string(), pa.large_string()])
    ),
    "coded": lambda rng, n: pa.array([pick(rng, ["a", "b", None]) for _ in range(n)], pa.string()).dictionary_encode(),
    "day": lambda rng, n: pa.array(rng.integers(0, 20_000, n).astype("M8[D]")),
    "nothing": lambda rng, n: pa.nulls(n),
    "list": lambda rng, n: pa.array([[1]] * n),
}


def check_arrow(path, expected):
    """The numbers and texts of a file are those of the table that was written, whole and in chunks."""
    table, chunks = read_table(path), list(read_chunks(path, 7))
    assert sum(map(len, chunks)) == len(table) == len(expected)
    for name in expected:
        if name == "list":
            continue
        np.testing.assert_array_equal(table[name], expected[name])
        np.testing.assert_array_equal(np.concatenate([chunk[name] for chunk in chunks]), expected[name])


def test_parquet_and_feather_files(size, tally, tmp_path):
    for seed in range(size(50, 600)):
        rng = np.random.default_rng([13, seed])
        n_rows = int(pick(rng, [0, 1, 5, 60]))
        names = [name for name in ARROW if rng.random() < 0.6] or ["number"]
        table = pa.table({name: ARROW[name](rng, n_rows) for name in names})
        path = tmp_path / "table"
        if rng.random() < 0.7:
            pq.write_table(table, path, row_group_size=20, compression=pick(rng, ["none", "snappy", "zstd"]))
        else:
            pytest.importorskip("pyarrow.feather").write_feather(table, path, compression="uncompressed", chunksize=20)
        damage = pick(rng, ["none", "none", "cut", "bytes", "end"])
        content = path.read_bytes()
        if damage != "none":
            keep = content[: int(rng.integers(8, len(content)))] if damage == "cut" else content
            path.write_bytes(flipped(rng, keep) if damage == "bytes" else keep[:-4] + b"PAR1" * (damage == "end"))
        try:
            if damage == "none" and n_rows:
                check_arrow(path, as_table(table))
                tally("Parquet or Feather read")
                continue
            problem = None
            try:
                read_table(path)
            except ValueError as error:
                problem = str(error)
            assert problem is None or "\n" not in problem
            tally("Parquet or Feather refused" if problem else "Parquet or Feather read although damaged")
        except BaseException:
            print(f"seed {seed}, {damage}, {names}")
            raise


def command(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    shown = capsys.readouterr()
    errors = [line for line in shown.err.splitlines() if line.startswith("quadric: ")]
    assert code in (0, 1, 2)
    assert code == 0 or len(errors) == 1, shown.err  # what succeeds may come with remarks
    assert code == 0 or shown.err.splitlines()[-1] == errors[0], shown.err
    assert not re.search(r"unexpected \w+Error|Traceback", shown.err)
    return code


def labelled(rng, content, file):
    """The table with a target whose classes follow from nothing."""
    expected = reference(content, file.encoding, file.delimiter)
    if expected is None or len(expected[1]) < 4:
        return content
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=file.delimiter)
    classes = pick(rng, [["good", "bad"], ["0", "1"], ["01", "1", "2"], [str(2**53), str(2**53 + 1)]])
    names, rows = expected
    writer.writerow([*names, "risk"])
    writer.writerows([*row, classes[i % len(classes)]] for i, row in enumerate(rows))
    return out.getvalue().encode(file.encoding, "replace")


def test_fit_and_predict(size, tally, tmp_path, capsys):
    for seed in range(size(14, 200)):
        rng = np.random.default_rng([14, seed])
        file = written(rng)
        content = labelled(rng, file.content, file)
        how = ["--encoding", file.encoding, "--delimiter", file.delimiter]
        data, model, out = (tmp_path / f"{seed}.{suffix}" for suffix in ("csv", "json", "out.csv"))
        data.write_bytes(content)
        options = ["--target", "risk", "--k", 2, "--loss", "least_squares", "--missing", "impute", "--unseen", "other"]
        code = command(capsys, "fit", data, *options, "--output", model, *how)
        tally(f"fit ends with {code}")
        if code:
            continue
        name = pick(rng, list(MUTATORS))
        content = MUTATORS[name](rng, content)
        data.write_bytes(content)
        code = command(capsys, "predict", model, data, "--output", out, *how)
        tally(f"predict ends with {code}")
        if code == 0:
            _, rows = reference(content, file.encoding, file.delimiter)
            with out.open(newline="") as scored:
                assert len(list(csv.reader(scored))) == len(rows) + 1, f"seed {seed}, {name}"
