"""One declaration of training options, and flags that only the command line names."""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import quadric
from quadric.cli.compare import OPTIONS as OF_COMPARE
from quadric.cli.console import flag, with_flags
from quadric.cli.options import FLAGS, training
from quadric.cli.path import OPTIONS as OF_PATH
from quadric.errors import ParameterError
from quadric.workflow import TrainingOptions

NAMES = [
    field.name for field in fields(TrainingOptions) if field.name not in ("missing_texts", "forms")
]  # which reading the table decides


def by_default(make, **values):
    return make(**{option.name: option.default for option in inspect.signature(make).parameters.values()} | values)


def test_every_option_has_a_flag_and_its_default():
    assert list(FLAGS) == NAMES
    switches = {f"no_{name}": f"--no-{name}" for name, own in FLAGS.items() if own.off is not None}
    assert switches == {"no_clip": "--no-clip", "no_calibrate": "--no-calibrate"}
    assert [name for name in inspect.signature(training()).parameters if name not in switches] == NAMES
    assert by_default(training()) == TrainingOptions()
    assert by_default(OF_PATH) == TrainingOptions(terms="quadratic")
    assert by_default(OF_COMPARE) == TrainingOptions(n_jobs=1)


def test_what_is_typed_becomes_values():
    typed = {"ks": "1:3,8", "Cs": "0.5,2", "ignore": ["id"], "class_weight": ["bad=2"], "method": "exact"}
    options = by_default(training(), **typed)
    assert (options.ks, options.Cs, options.ignore) == ((1, 2, 3, 8), (0.5, 2.0), ("id",))
    assert options.class_weight == {"bad": 2.0}
    assert options.time_limit == 60.0
    assert by_default(training(), method="exact", time_limit=7.0).time_limit == 7.0
    assert (by_default(training(), rule="best").rule, by_default(training(), rule="0.01").rule) == ("best", 0.01)
    assert (by_default(training(), cutoff="ks").cutoff, by_default(training(), cutoff="0.3").cutoff) == ("ks", 0.3)
    assert by_default(training(), no_clip=True).clip is None
    assert by_default(training(), no_calibrate=True).calibrate is by_default(training(), calibrate="none").calibrate is None


def test_commands_differ_where_they_say_so():
    assert set(NAMES).difference(inspect.signature(OF_PATH).parameters) >= {"k", "method", "calibrate"}
    assert "k" in inspect.signature(OF_COMPARE).parameters


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("wrong"), "wrong"),
        (ParameterError("too few: choose fewer", folds=None, k=None), "too few: choose fewer (--folds, --k)"),
        (
            ParameterError("choose", n_jobs=None, max_levels="200", ignore="my id"),
            "choose (--jobs, --max-levels 200, --ignore 'my id')",
        ),
    ],
)
def test_errors_are_told_with_the_flags_that_help(error, says):
    assert with_flags(error) == says
    assert flag("cross_validate") == "--cv"


def texts(tree):
    """Strings that are no docstrings."""
    documented = ast.Module, ast.ClassDef, ast.FunctionDef
    docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)}
    return [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docstrings
    ]


def test_no_text_of_the_library_names_a_flag():
    root, flags = (
        Path(quadric.__file__).parent,
        re.compile(r"(?<![\w-])--(?:" + "|".join(flag(n)[2:] for n in [*NAMES, "encoding", "output", "from"]) + r")\b"),
    )
    assert flags.search("try --encoding utf-16")
    assert flags.search("(--max-levels)")
    sources = [path for path in root.rglob("*.py") if "cli" not in path.relative_to(root).parts]
    assert len(sources) > 100
    found = [(path.name, text) for path in sources for text in texts(ast.parse(path.read_text())) if flags.search(text)]
    assert found == []
