"""What is written about the code agrees with the code."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import pandas as pd
import pytest

import quadric
import readme_commands
from helpers import random_samples

ROOT = Path(__file__).resolve().parents[1]
MODULES = [module.name for module in pkgutil.walk_packages(quadric.__path__, "quadric.")]


def public_callables():
    for name in quadric.__all__:
        thing = getattr(quadric, name)
        if inspect.isclass(thing) and issubclass(thing, Warning):
            continue
        yield pytest.param(thing, id=name)
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, inspect.isfunction):
                if not method.startswith("_") and function.__module__.startswith("quadric"):
                    yield pytest.param(function, id=f"{name}.{method}")


def documented(docstring, section):
    match = re.search(rf"{section}\n\s*-+\n(.*?)(?:\n\s*\w+\n\s*-{{3,}}|\Z)", inspect.cleandoc(docstring), re.DOTALL)
    lines = match.group(1).splitlines() if match else []
    heads = [line.split(" :")[0] for line in lines if line and not line.startswith(" ")]
    return [name.strip() for head in heads for name in head.split(",")]


@pytest.mark.parametrize("thing", list(public_callables()))
def test_every_parameter_is_documented_in_order(thing):
    docstring = thing.__doc__
    assert docstring
    parameters = [name for name in inspect.signature(thing).parameters if name not in {"self", "args", "kwargs"}]
    section = "Attributes" if hasattr(thing, "__dataclass_fields__") else "Parameters"
    if len(parameters) > 1 or section == "Attributes":
        assert documented(docstring, section) == parameters


@pytest.mark.parametrize("name", ["quadric.estimators.classifier"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is_for(name):
    assert importlib.import_module(name).__doc__


def test_readme_and_ci_run_the_same_test_command():
    readme, script = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    (command,) = [line for line in script.splitlines() if line.endswith("/pytest")]
    assert f"\n{command}\n" in readme


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = random_samples(0, m=60, n=3)
    names = ["age", "income", "sex"]
    given = {"X": pd.DataFrame(X, columns=names), "Z": X, "y": y, "names": names}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(block, given)
    assert given["cv"].best_k_ >= 1


def _blocks():
    spec = importlib.util.spec_from_file_location("run_blocks", ROOT / "docs" / "run_blocks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", _blocks().pages(), ids=lambda page: page.name)
def test_the_guides_code_runs_and_prints_what_it_shows(page):
    assert _blocks().run_page(page) == []


def test_the_readmes_commands_print_what_it_shows():
    pairs = readme_commands.shown((ROOT / "README.md").read_text())
    assert [command.split()[0] for command, _ in pairs] == ["fit", "certify", "explain", "predict", "export"]
    for (command, expected), output in zip(pairs, readme_commands.actual([command for command, _ in pairs]), strict=True):
        assert max(len(line) for line in output.splitlines()) <= 80
        assert output == expected, command
