"""What is written about the code agrees with the code."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
from dataclasses import is_dataclass
from pathlib import Path

import pandas as pd
import pytest

import quadric
import readme_commands
from helpers import random_samples

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(quadric.__file__).parent
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.stem != "__main__"
}


def public_names():
    """What each room offers in its ``__all__``, read from the source: nothing is imported before a test runs."""
    yield from (pytest.param("quadric", name, id=name) for name in quadric.__all__)
    for path in sorted(SOURCE.rglob("__init__.py")):
        room = ".".join(path.parent.relative_to(SOURCE).parts)
        for node in ast.parse(path.read_text()).body if room else []:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                yield from (pytest.param(f"quadric.{room}", name, id=f"{room}.{name}") for name in ast.literal_eval(node.value))


def section(docstring, title):
    """The names that a numpydoc section lists; None where there is no such section."""
    match = re.search(
        rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-{{3,}}$|\Z)", inspect.cleandoc(docstring or ""), re.DOTALL | re.MULTILINE
    )
    if match is None:
        return None
    heads = [line.split(" :")[0] for line in match.group(1).splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def faults_of_a_function(function):
    parameters = [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]
    if not function.__doc__:
        yield "has no docstring"
    elif (section(function.__doc__, "Parameters") or []) != parameters:
        yield f"documents the parameters {section(function.__doc__, 'Parameters')}, but has {parameters}"
    if inspect.get_annotations(function).get("return") != "None" and not re.search(
        r"^(Returns|Yields)\n-+\n\S", inspect.cleandoc(function.__doc__ or ""), re.MULTILINE
    ):
        yield "does not say what it returns"


def faults_of_a_class(cls):
    if not cls.__doc__:
        yield "has no docstring"
    if issubclass(cls, Exception):
        return
    title = "Attributes" if is_dataclass(cls) else "Parameters"
    parameters = [name for name in inspect.signature(cls).parameters if name not in {"args", "kwargs"}]
    listed = section(cls.__doc__, title) or []
    if listed[: len(parameters)] != parameters:  # a dataclass may go on with what it derives
        yield f"documents {title.lower()} {listed}, but has {parameters}"
    for name, member in inspect.getmembers(cls):
        function = inspect.unwrap(member.fget if isinstance(member, property) else member)
        if name.startswith("_") or not getattr(function, "__module__", "").startswith("quadric"):
            continue
        if isinstance(member, property):
            faults = [] if function.__doc__ else ["has no docstring"]
        elif inspect.isroutine(function):
            faults = faults_of_a_function(function)
        else:
            continue
        yield from (f"{name} {fault}" for fault in faults)


@pytest.mark.parametrize(("room", "name"), list(public_names()))
def test_what_is_public_is_documented_as_numpydoc_has_it(room, name):
    thing = getattr(importlib.import_module(room), name)
    faults = faults_of_a_class(thing) if inspect.isclass(thing) else faults_of_a_function(thing) if callable(thing) else []
    assert list(faults) == []


@pytest.mark.parametrize("name", [name for name, path in MODULES.items() if ">>>" in path.read_text()])
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
    (tmp_path / "data").symlink_to(ROOT / "data")
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


@pytest.mark.slow
@pytest.mark.parametrize("page", _blocks().pages(), ids=lambda page: page.name)
def test_the_guides_code_runs_and_prints_what_it_shows(page):
    assert _blocks().run_page(page) == []


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("a 0.428 b 12", True),  # the last place depends on the processor
        ("a 0.429 b 12", False),
        ("a 0.4275 b 12", True),
        ("a 0.427 b 13", False),
        ("a 0.427 c 12", False),
        ("a 0.427 b 12 0.5", False),
    ],
)
def test_outputs_may_differ_in_the_last_place_only(printed, same):
    assert _blocks().agrees("a 0.427 b 12\n", f"{printed}\n") == same


def test_the_readmes_commands_print_what_it_shows():
    pairs = readme_commands.shown((ROOT / "README.md").read_text())
    assert [command.split()[0] for command, _ in pairs] == ["fit", "certify", "explain", "predict", "export", "fit"]
    for (command, expected), output in zip(pairs, readme_commands.actual([command for command, _ in pairs]), strict=True):
        assert max(len(line) for line in output.splitlines()) <= 80
        assert output == expected, command


def test_every_promise_names_tests_that_are_there():
    promises = (ROOT / "docs/promises.md").read_text().split("\n- ")[1:]
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", promise)
        assert named or "same tests" in promise, promise
        for file, test in named:
            source = (ROOT / file).read_text()
            assert (f"def {test}(" if test else "def test_") in source, f"{file}: {test}"


def test_a_dozen_raw_tables_are_fitted_with_their_target_as_the_only_option():
    page = (ROOT / "docs" / "first-model.md").read_text()
    commands = re.findall(r"```shell\n(.*)\n```", page)
    assert len(commands) == 4 * 12
    for name, target in re.findall(r"quadric fit (\w+)\.csv --target (\S+)", page):
        model = f"{name}.model.json"
        for command in (
            f"fit {name}.csv --target {target}",
            f"explain {model} {name}.csv",
            f"export {model}",
            f"report {model} {name}.csv",
        ):
            assert f"quadric {command}" in commands
    assert "Traceback" not in page
