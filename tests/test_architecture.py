"""Imports go one way: a room knows only the rooms above it."""

import ast
import re
from pathlib import Path

import quadric
from quadric.losses import LOSS_NAMES

ROOT = Path(quadric.__file__).parent
ROOMS = [
    "_lazy",
    "errors",
    "defaults",
    "types",
    "blas",
    "resources",
    "workers",
    "progress",
    "extras",
    "files",
    "safe_csv",
    "notebook",
    "labels",
    "_sklearn",
    "geometry",
    "samples",
    "losses",
    "slope_proofs",
    "certificate",
    "search",
    "estimators",
    "baselines",
    "tables",
    "batches",
    "fitted",
    "examine",
    "near_ties",
    "explain",
    "export",
    "credit",
    "datasets",
    "workflow",
    "review",
    "distributed",
    "report",
    "plot",
    "table_classifier",
    "studio",
    "__init__",
    "paper",
    "cli",
    "__main__",
]
LOSS_BLIND = [room for room in ROOMS if room not in ("losses", "paper", "baselines")]
"""Rooms that ask the loss, and never which loss it is."""


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
    assert len(list(imports())) > 30


def test_tables_know_nothing_of_losses():
    assert not [file for file, room, target in imports() if room == "tables" and target == "losses"]


def test_underscore_modules_of_estimators_stay_at_home():
    elsewhere = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "estimators"]
    wrong = [path.name for path in elsewhere if re.search(r"quadric\.estimators(\._| import _)", path.read_text())]
    assert wrong == []
    assert len(elsewhere) > 100


def test_judges_share_only_geometry_with_what_they_judge():
    """That, and for smooth losses the formulas: what a loss is must be said once."""
    judges = sorted((ROOT / "losses").glob("*/judge.py"))
    assert [judge.parent.name for judge in judges] == ["hinge", "least_squares", "smooth"]
    for judge in judges:
        modules = {node.module for node in ast.walk(ast.parse(judge.read_text())) if isinstance(node, ast.ImportFrom)}
        ours = {module for module in modules if module.split(".")[0] == "quadric"} - {"quadric.losses.smooth.formulas"}
        assert all(module.startswith("quadric.geometry.") for module in ours)
    formulas = ast.parse((ROOT / "losses" / "smooth" / "formulas.py").read_text())
    modules = {node.module for node in ast.walk(formulas) if isinstance(node, ast.ImportFrom)}
    assert {module for module in modules if module.startswith("quadric.")} == {"quadric.types"}


def loss_classes():
    """Names of the classes and functions of the losses, each in its own folder."""
    paths = [*(ROOT / "losses").glob("*/*.py"), *(ROOT / "losses" / f"{name}.py" for name in LOSS_NAMES)]
    for path in filter(Path.exists, paths):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                yield node.name


def mentions_of_losses(tree, names):
    """Strings, names and imports that single out a loss; defaults of parameters and class-level fields, and docstrings, may."""
    allowed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            defaults = [default for default in [*node.args.defaults, *node.args.kw_defaults] if default is not None]
            allowed |= {id(part) for default in defaults for part in ast.walk(default)}  # also the items of a tuple
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            allowed.add(id(node.value))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node) is not None:
            allowed.add(id(node.body[0].value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in allowed:
            text = node.value.lower().replace("logistic regression", "")  # a model of others, not the loss
            words = set(re.findall(r"[a-z]+(?:_[a-z]+)*", text))
            if words & set(LOSS_NAMES):
                yield node.lineno, node.value
        named = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        if named in names:
            yield node.lineno, named
        if isinstance(node, ast.ImportFrom) and any(f"losses.{name}" in (node.module or "") for name in LOSS_NAMES):
            yield node.lineno, node.module


def test_nobody_else_names_a_loss():
    names = set(loss_classes())
    assert {"HingeProblem", "LeastSquaresProblem", "LogisticProblem"} <= names
    found = [
        (str(path.relative_to(ROOT)), *mention)
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0].removesuffix(".py") in LOSS_BLIND
        for mention in mentions_of_losses(ast.parse(path.read_text()), names)
    ]
    assert found == []


def test_that_test_sees_a_loss():
    code = "def fit(loss='hinge'):\n    if loss == 'hinge':\n        return LeastSquaresProblem\n"
    assert len(list(mentions_of_losses(ast.parse(code), {"LeastSquaresProblem"}))) == 2
