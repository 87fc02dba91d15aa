"""Fetching from a home on loopback: the right file or nothing at all."""

import os
import sys

import pytest

from helpers.original_files import CONVERTED, ORIGINAL, xlsx, zip_of
from quadric.datasets import DatasetError, add, archives, fetch, fetching, load, status
from quadric.extras import MissingExtraError

pooch = pytest.importorskip("pooch", reason="fetching needs pooch")

ARCHIVE = "/public/43/haberman+s+survival.zip"


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Where temporary files would go, to see that none are left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failing(home, tmp_path, expected, **options):
    """The one-line error of a fetch that fails, which leaves nothing behind."""
    before = files_below(tmp_path)
    with pytest.raises(DatasetError, match=expected) as caught:
        fetch("haberman", base_urls=[home.address], **options)
    message = str(caught.value)
    assert "\n" not in message
    assert files_below(tmp_path) == before
    return message


def test_a_fetched_file_is_converted_checked_and_found_again(small, home, cache):
    lines = []
    path = fetch("Haberman", report=lines.append, base_urls=[home.address])
    assert path == cache / "haberman.csv"
    assert path.read_bytes() == CONVERTED
    assert files_below(cache) == ["haberman.csv"]
    assert home.asked == [ARCHIVE]
    assert load("haberman").X.tolist() == [[30, 64, 3], [41, 60, 23], [34, 66, 9], [83, 58, 4]]
    assert status("haberman").place == str(path)


def test_progress_counts_the_bytes(small, home):
    padding = os.urandom(300_000)
    home.files[ARCHIVE] = zip_of({"padding": padding, "haberman.data": ORIGINAL})
    lines = []
    fetch("haberman", report=lines.append, base_urls=[home.address])
    assert len(lines) > 3
    total = f"{len(home.files[ARCHIVE]) / 1e6:.2f}"
    assert lines[0].startswith("haberman: 0.0")
    assert lines[-1] == f"haberman: {total} of {total} MB"


def test_a_given_folder_is_made_and_used_instead_of_the_cache(small, home, cache, tmp_path):
    path = fetch("haberman", folder=tmp_path / "a" / "b", base_urls=[home.address])
    assert path == tmp_path / "a" / "b" / "haberman.csv"
    assert not cache.exists()


def test_a_right_file_is_not_downloaded_again(small, home):
    first = fetch("haberman", base_urls=[home.address])
    lines = []
    assert fetch("haberman", report=lines.append, base_urls=[home.address]) == first
    assert len(home.asked) == 1
    assert lines == [f"haberman: {first} exists already"]


def test_a_wrong_file_in_the_way_is_not_overwritten(small, home, cache):
    cache.mkdir()
    (cache / "haberman.csv").write_bytes(b"mine")
    with pytest.raises(DatasetError, match=r"haberman\.csv has sha256 .* remove it"):
        fetch("haberman", base_urls=[home.address])
    assert (cache / "haberman.csv").read_bytes() == b"mine"
    assert home.asked == []


def test_loading_fetches_what_is_nowhere(small, home, monkeypatch, tmp_path):
    monkeypatch.setattr(fetching, "PUBLIC_HOME", home.address)
    lines = []
    dataset = load("haberman", folder=tmp_path / "mine", report=lines.append)
    assert dataset.y.tolist() == [0, 1, 1, 1]
    assert lines
    assert (tmp_path / "mine" / "haberman.csv").is_file()


def test_another_original_fails_the_checksum(small, home, cache, tmp_path):
    home.files[ARCHIVE] = zip_of({"haberman.data": ORIGINAL.replace(b"64", b"65")})
    message = failing(home, tmp_path, "haberman.csv, as converted, has sha256")
    assert small.sha256 in message
    assert small.homepage in message
    assert str(cache / "haberman.csv") in message


def test_a_file_that_the_home_does_not_have_is_asked_for_once(small, home, cache, tmp_path):
    home.files = {}
    message = failing(home, tmp_path, "answered 404")
    assert "haberman.data" in message
    assert small.homepage in message
    assert str(cache / "haberman.csv") in message
    assert len(home.asked) == 1


def test_a_connection_that_breaks_off_is_tried_again_then_given_up(small, home, tmp_path):
    home.cut_at = 100
    failing(home, tmp_path, "broke off")
    assert len(home.asked) == fetching.ATTEMPTS


def test_a_server_that_stumbles_is_asked_again(small, home):
    home.failures = fetching.ATTEMPTS - 1
    lines = []
    assert fetch("haberman", report=lines.append, base_urls=[home.address]).read_bytes() == CONVERTED
    assert any("answered 503, trying again" in line for line in lines)


def test_a_server_that_stays_broken_is_given_up(small, home, tmp_path):
    home.status = 500
    failing(home, tmp_path, "answered 500")
    assert len(home.asked) == fetching.ATTEMPTS


def test_a_server_that_says_nothing_is_given_up(small, home, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.05)
    home.silent = True
    failing(home, tmp_path, "gave no answer for 0.05 seconds")


def test_without_a_server_the_error_says_where_to_get_the_file_and_where_to_put_it(small, cache, tmp_path):
    before = files_below(tmp_path)
    with pytest.raises(DatasetError, match="cannot be reached") as caught:
        load("haberman")
    assert small.homepage in str(caught.value)
    assert str(cache / "haberman.csv") in str(caught.value)
    assert files_below(tmp_path) == before


def test_the_next_mirror_is_asked_when_one_fails_or_lies(small, home):
    home.files["/liar/43/haberman+s+survival.zip"] = zip_of({"haberman.data": b"1,2,3,1\n"})
    bases = ["http://127.0.0.1:9", home.address.replace("public", "liar"), home.address + "/"]
    assert fetch("haberman", base_urls=bases).read_bytes() == CONVERTED


def test_too_large_a_download_is_cut_short(small, home, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "LARGEST", 100)
    failing(home, tmp_path, "more than 100 bytes")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!doctype html>",
        b"PK\x03\x04 broken",
        zip_of({"other": b"x"}),
        zip_of({"haberman.data": b"\xff\xfe"}),
        zip_of({}),
    ],
)
def test_an_answer_that_is_no_archive_with_the_original_is_refused(small, home, tmp_path, content):
    home.files[ARCHIVE] = content
    failing(home, tmp_path, r"haberman\.data cannot be converted")


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_download(small, home, tmp_path):
    (tmp_path / "file").write_text("in the way")
    message = failing(home, tmp_path, "cannot write", folder=tmp_path / "file" / "folder")
    assert str(tmp_path / "file" / "folder" / "haberman.csv") in message
    assert home.asked == []


def test_a_disk_that_is_full_leaves_nothing(small, home, cache, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DatasetError, match=r"cannot write .*haberman\.csv \(No space left on device\)"):
        fetch("haberman", base_urls=[home.address])
    assert files_below(cache) == []


def test_an_interrupted_download_leaves_nothing(small, home, tmp_path):
    def interrupt(line):
        raise KeyboardInterrupt

    before = files_below(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        fetch("haberman", report=interrupt, base_urls=[home.address])
    assert files_below(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "expected"),
    [("iris", "comes with scikit-learn"), ("CCC", "private"), ("credit small", r"kaggle\.com.*wants a login")],
)
def test_what_has_no_public_address_is_not_fetched(name, expected, home):
    with pytest.raises(DatasetError, match=expected):
        fetch(name, base_urls=[home.address])
    assert home.asked == []


def test_without_pooch_the_error_names_the_extra(small, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"quadric\[data\]"):
        fetch("haberman", base_urls=[home.address])


def test_without_a_reader_of_workbooks_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "CTG.xls").write_bytes(b"a workbook")
    with pytest.raises(MissingExtraError, match=r"python_calamine is not installed.*quadric\[data\]"):
        add("ctg", tmp_path / "CTG.xls")


@pytest.mark.parametrize(
    "content", [zip_of({"haberman.data": ORIGINAL}), ORIGINAL, CONVERTED], ids=["archive", "original", "csv"]
)
def test_a_file_from_the_users_own_download_is_taken_in(small, cache, tmp_path, content):
    (tmp_path / "downloaded").write_bytes(content)
    assert add("haberman", tmp_path / "downloaded") == cache / "haberman.csv"
    assert (cache / "haberman.csv").read_bytes() == CONVERTED


@pytest.mark.parametrize("content", [b"", ORIGINAL + b"1,2,3,1\n", xlsx([["1"]])], ids=["empty", "another", "workbook"])
def test_another_file_is_not_taken_in(small, cache, tmp_path, content):
    (tmp_path / "downloaded").write_bytes(content)
    with pytest.raises(DatasetError, match=r"downloaded does not give haberman\.csv"):
        add("haberman", tmp_path / "downloaded")
    assert not cache.exists()


def test_there_is_nothing_to_add_to_iris(tmp_path):
    with pytest.raises(DatasetError, match="comes with scikit-learn"):
        add("iris", tmp_path / "iris.csv")
