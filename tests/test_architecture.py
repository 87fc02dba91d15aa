"""Imports go one way: a room knows only the rooms above it."""

import ast
from pathlib import Path

import quadric

ROOT = Path(quadric.__file__).parent
ROOMS = [
    "_lazy",
    "errors",
    "defaults",
    "types",
    "blas",
    "progress",
    "extras",
    "files",
    "labels",
    "intercept",
    "losses",
    "geometry",
    "problem",
    "zstep",
    "search",
    "certificate",
    "estimators",
    "baselines",
    "tables",
    "credit",
    "explain",
    "export",
    "datasets",
    "__init__",
    "workflow",
    "paper",
    "summary",
    "report",
    "cli",
    "__main__",
]
APART = {("certificate", "search"), ("certificate", "zstep"), ("certificate", "problem")}
"""The judge shares nothing with those it judges."""


def imports():
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                if module and module.split(".")[0] == "quadric":
                    yield path.name, room, [*module.split("."), "__init__"][1]


def test_every_room_is_listed():
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert rooms == set(ROOMS)


def test_imports_go_one_way():
    wrong = [(file, room, target) for file, room, target in imports() if ROOMS.index(target) > ROOMS.index(room)]
    assert wrong == []
    assert [(file, room, target) for file, room, target in imports() if (room, target) in APART] == []
    assert len(list(imports())) > 30
