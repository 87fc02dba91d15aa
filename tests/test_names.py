"""Names that must not meet: private ones of scikit-learn outside their module, helpers of the tests and rooms."""

import ast
from pathlib import Path

import quadric

ROOT = Path(quadric.__file__).parent
DOOR = ROOT / "_sklearn.py"
TESTS = Path(__file__).parent


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_imports(tree):
    """Names with an underscore, or modules with one, imported from scikit-learn."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names if alias.name.split(".")[0] == "sklearn"]
        else:
            continue
        yield from (path for path in paths if any(map(is_private, path.split("."))))


def private_mentions(tree):
    """Attributes with an underscore, written as such or in quotes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and is_private(node.value):
            yield node.value


def test_private_names_of_scikit_learn_stand_in_one_module():
    at_the_door = ast.parse(DOOR.read_text())
    assert list(private_imports(at_the_door))
    attributes = set(private_mentions(at_the_door))
    assert attributes
    elsewhere = {path: ast.parse(path.read_text()) for path in ROOT.rglob("*.py") if path != DOOR}
    found = [(path.name, name) for path, tree in elsewhere.items() for name in private_imports(tree)]
    found += [(path.name, name) for path, tree in elsewhere.items() for name in private_mentions(tree) if name in attributes]
    assert found == []


def test_helpers_share_names_with_no_room_and_with_no_other_helper():
    """tests/ and benchmarks/ are both on the path of imports: equal names would hide each other."""
    rooms = {path.stem for path in ROOT.rglob("*") if path.is_dir() or path.suffix == ".py"} - {"__init__"}
    ours = [path for path in TESTS.rglob("*.py") if not path.stem.startswith("test_")]
    helpers = [path.parent.name if path.stem == "__init__" else path.stem for path in ours if path.stem != "conftest"]
    benchmarks = [path.stem for path in (TESTS.parent / "benchmarks").glob("*.py")]
    assert len(helpers) > 5
    assert rooms.isdisjoint(helpers)
    assert len({*helpers, *benchmarks}) == len(helpers) + len(benchmarks)
    assert not [path for path in TESTS.rglob("__init__.py") if path.parent.name in rooms]
