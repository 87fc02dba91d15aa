"""Originals become the CSV files byte for byte."""

import hashlib
import io

import pytest

from helpers import original_files as originals
from helpers.original_files import data_folder, rows_of, xls, xlsx, zip_of
from quadric.datasets import REGISTRY, Recipe, archives
from quadric.datasets.conversion import convert, xlsx_rows

DATA = data_folder()
needs_data = pytest.mark.skipif(DATA is None, reason="needs the folder with the paper's data sets (QUADRIC_DATA)")


def original_of(name, rows):
    """What the public home has, as far as the CSV tells."""
    info = REGISTRY[name]
    if name == "ctg":
        return ctg_workbook(info.columns, rows)
    if name == "immunotherapy":
        return xlsx(
            [["sex", "age", "Time", "Number_of_Warts", "Type", "Area", "induration_diameter", "Result_of_Treatment"], *rows]
        )
    if name == "german":
        return originals.german(rows, info.recipe.last_rows)
    return getattr(originals, name)(rows)


def ctg_workbook(columns, rows):
    """Like CTG.xls: other sheets, a line above the names, counts under the names of rates, columns in between, sums below."""
    doubled = ("AC", "FM", "UC", "DL", "DS", "DP")
    names = ["b", "e", *doubled, "", *columns[:-2], "A", "B", columns[-2], "", columns[-1]]
    table = [["240", "357", *"123456", "", *row[:-2], "-1", "1", row[-2], "", row[-1]] for row in rows]
    sums = [*[""] * 9, "564", *[""] * 8]
    return xls({"Description": [["about"]], "Data": [["", "Exam data"], names, *table, [], sums], "Raw Data": [names]})


@needs_data
@pytest.mark.parametrize("name", [name for name, info in REGISTRY.items() if info.recipe])
def test_the_original_becomes_the_file_of_the_manifest(name):
    if name == "ctg":
        pytest.importorskip("xlrd", reason="reading .xls needs xlrd")
    info = REGISTRY[name]
    content = (DATA / info.file_name).read_bytes()
    original = original_of(name, rows_of(content))
    assert hashlib.sha256(convert(original, info.recipe, info.columns)).hexdigest() == info.sha256


@needs_data
def test_german_goes_back_to_the_file_of_uci():
    """Checked against a copy of UCI's german.data."""
    original = originals.german(rows_of((DATA / "german.csv").read_bytes()), REGISTRY["german"].recipe.last_rows)
    assert hashlib.sha256(original).hexdigest() == "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"


def test_text_with_commas_loses_padding_and_spaces_and_rows_with_missing_values():
    recipe = Recipe("crx.data", None, "commas", missing="?")
    original = b"\xef\xbb\xbfb, 30.83 ,00202, +\r\na,7,00043,-\r\n?,1,2,+\r\nb,24.50,0,-\r\n\r\n"
    expected = b"A1,A2,A3,A4\nb,30.83,202,+\na,7.0,43,-\nb,24.5,0,-\n"
    assert convert(original, recipe, ("A1", "A2", "A3", "A4")) == expected


def test_text_with_spaces_loses_its_leading_columns():
    recipe = Recipe("ecoli.data", None, "spaces", leading=1)
    original = b"AAT_ECOLI   0.49  1.00   cp\nACEA_ECOLI  0.07  0.40   pp\n\n"
    assert convert(original, recipe, ("mcg", "gvh", "site")) == b"mcg,gvh,site\n0.49,1.0,cp\n0.07,0.4,pp\n"


def test_replacements_happen_at_once_and_in_their_column_only():
    recipe = Recipe("a", None, "commas", replaced=(("x", "1", "2"), ("x", "2", "1")))
    assert convert(b"1,1\n2,2\n01,3\n", recipe, ("x", "y")) == b"x,y\n2,1\n1,2\n2,3\n"


def test_last_rows_keep_their_order():
    recipe = Recipe("a", None, "commas", last_rows=(0, 2))
    assert convert(b"a\nb\nc\nd\n", recipe, ("x",)) == b"x\nb\nd\na\nc\n"


def test_the_header_of_the_original_gives_way_to_ours():
    recipe = Recipe("a.csv", None, "commas", header="first row")
    assert (
        convert(b'\xef\xbb\xbfMarital Status,Age\n"Single, alone",25\n', recipe, ("status", "age"))
        == b'status,age\n"Single, alone",25\n'
    )


@pytest.mark.parametrize("original", [b"", b"1,2\n3\n", b"1,2,3\n", b"<!doctype html>\n"])
def test_a_table_of_another_width_is_refused(original):
    with pytest.raises(ValueError, match="not every row has the 2 columns x, y"):
        convert(original, Recipe("a", None, "commas"), ("x", "y"))


def test_xls_takes_the_last_column_of_each_name_and_complete_rows():
    pytest.importorskip("xlrd", reason="reading .xls needs xlrd")
    rows = [
        ["", "", "per second"],
        ["AC", "ac", "mSTV", "NSP"],
        ["4", "0.25", "1", "2"],
        ["5", "0.5", "2.5", ""],
        ["6", "0", "3", "1"],
    ]
    recipe = Recipe("a.xls", None, "xls", sheet="Data", header="matched by name")
    content = xls({"First": [["x"]], "Data": rows})
    assert convert(content, recipe, ("NSP", "AC", "MSTV")) == b"NSP,AC,MSTV\n2,0.25,1\n1,0.0,3\n"
    with pytest.raises(ValueError, match="no row names the columns AC, DR"):
        convert(content, recipe, ("AC", "DR"))


def test_xlsx_cells_are_found_by_their_place_not_their_number():
    recipe = Recipe("a.xlsx", None, "xlsx", header="matched by name")
    content = xlsx([["A", "gap", "B"], ["1.5", "", "2"], ["2", "", "4.0"]])
    assert convert(content, recipe, ("A", "B")) == b"A,B\n1.5,2\n2.0,4\n"


def test_blank_rows_and_columns_of_workbooks_are_left_out():
    recipe = Recipe("a.xlsx", None, "xlsx")
    content = xlsx([["1", "a", None], [], [None, None], ["2", "", None], ["3", "c"]])
    assert convert(content, recipe, ("n", "t")) == b"n,t\n1,a\n2,\n3,c\n"


def test_xlsx_of_an_independent_writer():
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="writes the workbook of this test")
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream) as book:
        book.add_worksheet("other").write(0, 0, "x")
        sheet = book.add_worksheet("wanted")
        for i, row in enumerate([["sex", "time"], [1, 2.25], [2, 0.1], ["a & b", 12]]):
            sheet.write_row(i, 0, row)
    recipe = Recipe("a.xlsx", None, "xlsx", sheet="wanted", header="first row")
    assert convert(stream.getvalue(), recipe, ("sex", "time")) == b"sex,time\n1,2.25\n2,0.1\na & b,12.0\n"
    with pytest.raises(ValueError, match="no sheet missing"):
        convert(stream.getvalue(), Recipe("a.xlsx", None, "xlsx", sheet="missing"), ("sex", "time"))


def test_columns_of_workbooks_go_beyond_z():
    names = ["", *(f"c{j}" for j in range(1, 60))]
    content = xlsx([names, ["", *map(str, range(1, 60))]])
    assert convert(content, Recipe("a.xlsx", None, "xlsx", header="matched by name"), ("c1", "c26", "c45", "c52")) == (
        b"c1,c26,c45,c52\n1,26,45,52\n"
    )
    assert xlsx_rows(content, None) == [names, ["", *map(str, range(1, 60))]]


def test_only_the_named_file_is_read_from_an_archive():
    archive = zip_of({"../../evil.py": b"bad", "folder/German.DATA": b"A11 6\n", "german.doc": b"text"})
    assert archives.original_in(archive, "german.data") == b"A11 6\n"
    with pytest.raises(ValueError, match=r"there is no crx\.data in the archive"):
        archives.original_in(archive, "crx.data")


def test_a_file_that_is_no_archive_is_the_original_itself():
    assert archives.original_in(b"A11 6\n", "german.data") == b"A11 6\n"
    workbook = xlsx([["1"]])
    assert archives.original_in(workbook, "Immunotherapy.xlsx") == workbook
    assert archives.original_in(zip_of({"Immunotherapy.xlsx": workbook}), "Immunotherapy.xlsx") == workbook


def test_a_file_that_swells_when_unpacked_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 1000)
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        xlsx_rows(xlsx([["x" * 1001]]), None)
    archive = zip_of({"german.data": b"0" * 1001})
    assert len(archive) < 1000
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        archives.original_in(archive, "german.data")
    assert archives.original_in(zip_of({"german.data": b"0" * 1000}), "german.data") == b"0" * 1000
