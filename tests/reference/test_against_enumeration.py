"""Stored optima of small problems (make_optima.py tried every support)."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers import make_problem
from quadric.search.decomposition import decompose

CASES = json.loads(Path(__file__).with_name("optima.json").read_text())


def problem_of(case):
    return make_problem(case["loss"], np.array(case["X"]), np.array(case["y"]), C=case["C"], k=case["k"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_refit_on_the_best_support_is_the_optimum(case):
    refit = problem_of(case).step().refit(np.array(case["support"]))
    assert refit.value == pytest.approx(case["optimum"], rel=1e-8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_no_decomposition_beats_the_optimum(case):
    result = decompose(problem_of(case))
    assert result.objective >= case["optimum"] * (1 - 1e-8)
    assert len(result.support) == case["k"]


def test_decomposition_finds_most_of_the_optima():
    """Not a promise of the method, but a wrong search would find none."""
    found = [decompose(problem_of(case)).objective <= case["optimum"] * (1 + 1e-6) for case in CASES]
    assert np.mean(found) >= 0.75
