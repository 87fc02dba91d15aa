"""The registry is complete, agrees with the paper's tables, and answers to every name the paper uses."""

import json
from pathlib import Path

import pytest

import quadric.datasets
from helpers.original_files import data_folder
from quadric.datasets import REGISTRY, resolve

DATA = data_folder()
IN_THE_PAPER = {
    "abalone": (2, (2854, 8)),
    "CTG": (2, (2126, 22)),
    "Ecoli": (2, (336, 7)),
    "glass": (2, (214, 9)),
    "haberman": (2, (306, 3)),
    "Immunotherapy": (2, (90, 7)),
    "iris": (2, (150, 4)),
    "AUS": (4, (690, 14)),
    "JAP": (4, (653, 15)),
    "GCD": (4, (1000, 20)),
    "CCC": (4, (106, 6)),
    "credit small": (4, (164, 7)),
}
"""Heads of the columns of Tables 2 and 4, with the dimensions of Tables 2 and 3."""
MANIFEST = json.loads((Path(quadric.datasets.__file__).parent / "manifest.json").read_text())


def test_the_twelve_data_sets_stand_in_the_order_of_the_papers_tables():
    assert {info.paper_name: (info.table, info.shape) for info in REGISTRY.values()} == IN_THE_PAPER
    assert [info.paper_name for info in REGISTRY.values()] == list(IN_THE_PAPER)
    assert all(info.name == name for name, info in REGISTRY.items())


@pytest.mark.parametrize("info", REGISTRY.values(), ids=list(REGISTRY))
def test_every_entry_is_complete(info):
    for text in ("source", "homepage", "licence", "kind", "label_rule", "coding"):
        assert getattr(info, text).strip(), text
    assert len(set(info.features)) == info.shape[1]
    assert info.kind == "benchmark" if info.table == 2 else info.kind in {"personal credit", "corporation loan"}
    if info.obtained == "private":
        assert (info.name, info.columns, info.class_names, info.recipe) == ("ccc", (), (), None)
        return
    assert len(set(info.columns)) == info.shape[1] + 1
    assert len(set(info.class_names)) == info.n_classes
    assert bool(info.positive) == (info.n_classes == 2)
    assert info.homepage.startswith("https://")


@pytest.mark.parametrize("info", [info for info in REGISTRY.values() if info.recipe], ids=lambda info: info.name)
def test_files_have_a_checksum_a_recipe_and_an_address(info):
    assert MANIFEST[info.name]["sha256"] == info.sha256
    assert MANIFEST[info.name]["columns"] == len(info.columns)
    assert info.left_out or MANIFEST[info.name]["rows"] == info.shape[0]
    if info.obtained == "fetched":
        number, _, slug = info.recipe.archive.removesuffix(".zip").partition("/")
        assert info.homepage == f"https://archive.ics.uci.edu/dataset/{number}/{slug}"
        assert info.source.startswith(f"UCI {number}, ")
    else:
        assert (info.name, info.obtained, info.recipe.archive) == ("credit_small", "by hand", None)


def test_every_checksum_of_the_manifest_belongs_to_an_entry():
    assert set(MANIFEST) == {info.name for info in REGISTRY.values() if info.sha256}


@pytest.mark.skipif(DATA is None, reason="needs the folder with the paper's data sets (QUADRIC_DATA)")
def test_the_manifest_in_the_package_is_that_of_the_data():
    assert json.loads((DATA / "manifest.json").read_text()) == MANIFEST


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        REGISTRY["iris"] = REGISTRY["ccc"]
    with pytest.raises(AttributeError):
        REGISTRY["iris"].sha256 = ""


def test_german_has_the_papers_names_with_its_spelling_mended():
    features = REGISTRY["german"].features
    assert (features[0], features[2], features[-1]) == (
        "Status of existing checking account",
        "Credit history",
        "Foreign worker indicator",
    )


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("GCD", "german"),
        ("gcd", "german"),
        ("German", "german"),
        ("AUS", "australian"),
        ("JAP", "japanese"),
        ("ctg", "ctg"),
        ("CCC", "ccc"),
        ("Ecoli", "ecoli"),
        ("IMMUNOTHERAPY", "immunotherapy"),
        ("credit small", "credit_small"),
        ("credit-small", "credit_small"),
        (" Credit_Small ", "credit_small"),
    ],
)
def test_names_of_the_paper_are_aliases(alias, name):
    assert resolve(alias).name == name


@pytest.mark.parametrize("wrong", ["wine", "", "credit", "german.csv"])
def test_an_unknown_name_is_answered_with_the_right_ones(wrong):
    with pytest.raises(ValueError, match="unknown data set") as caught:
        resolve(wrong)
    assert all(info.name in str(caught.value) for info in REGISTRY.values())
    assert "german (GCD)" in str(caught.value)


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="is text, not int"):
        resolve(144)
