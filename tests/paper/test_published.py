"""The paper's figures are those of its source."""

import importlib.util
import json
import os
from pathlib import Path

import pytest

from quadric.paper.results import published

ROOT = Path(__file__).parents[2]
SOURCE = Path(os.environ.get("QUADRIC_PAPER", ROOT.parent / "shared" / "paper" / "l0-qsvm.tex"))


def reader():
    spec = importlib.util.spec_from_file_location("read_tex", Path(__file__).with_name("read_tex.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stored_figures_are_those_of_the_source():
    if not SOURCE.exists():
        pytest.skip(f"the paper's source is not at {SOURCE}")
    stored = json.loads((ROOT / "src" / "quadric" / "paper" / "published.json").read_text())
    assert stored == reader().read_tables(SOURCE)


def test_figures_by_name():
    cell = published("table2", "l0-qsvm", "iris")
    assert (cell.accuracy_mean, cell.accuracy_std, cell.f1_mean, cell.f1_std) == (97.33, 3.65, 97.56, 3.37)
    assert published("table2", "l0-qsvm-best", "iris") == cell
    assert published("table4", "l0-qsvm", "german") is None
