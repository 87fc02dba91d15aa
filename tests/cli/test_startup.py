"""A quick start: nothing heavy before it is needed, and Ctrl-C is one line from the first moment on."""

import os
import subprocess
import sys

import pytest

import quadric
from quadric import review, workflow

COMMANDS = ["fit", "path", "predict", "explain", "report", "export", "certify", "compare", "paper", "data"]
HEAVY = ("numpy", "scipy", "sklearn", "joblib", "pyarrow", "matplotlib", "rich.console")


def python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=120)


def loaded_after(code, *arguments):
    """Which of the heavy packages a fresh interpreter has imported after some code."""
    done = python(f"import sys\n{code}\nprint([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)", *arguments)
    return done.stderr


def test_the_import_of_the_package_is_light():
    assert loaded_after("import quadric") == "[]\n"
    assert loaded_after("import quadric.workflow.options") == "[]\n"
    assert "'numpy'" in loaded_after("import quadric; quadric.certify")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_imports_nothing_heavy(command):
    code = "from quadric.cli import main; assert main([*sys.argv[1:], '--help']) == 0"
    assert loaded_after(code, *command.split()) == "[]\n"


def test_files_are_looked_for_before_anything_heavy_is_imported(tmp_path):
    data, output = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text("a,b\n1,x\n")
    code = "from quadric.cli import main; assert main(['fit', sys.argv[1], '--target', 'b', '--output', sys.argv[2]]) == 2"
    for words in ((tmp_path / "no.csv", output), (data, data)):
        told = loaded_after(code, *map(str, words))
        assert told.splitlines()[-1] == "[]"
        assert "there is no file" in told or "exists" in told


def test_garbage_is_collected_after_the_imports(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,x\n")
    for options in ("C='shoe'", "C='1'"):
        code = f"""
import gc, typer
from typing import Annotated
from pathlib import Path
from quadric.cli.options import expanded

def made(*, C: Annotated[str, typer.Option()]) -> float:
    print(gc.isenabled(), file=sys.stderr)
    return float(C)

@expanded(options=made)
def command(*, options: float) -> None:
    pass

try:
    command({options})
except ValueError:
    pass
print(gc.isenabled(), file=sys.stderr)
"""
        assert loaded_after(code).splitlines()[:2] == ["False", "True"]


@pytest.mark.parametrize("package", [quadric, workflow, review])
def test_lazy_names_are_there(package):
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'shoe'"):
        package.shoe  # noqa: B018


def test_rooms_need_no_import_of_their_own():
    done = python("import quadric; print(quadric.export.to_sql.__name__, quadric.baselines.QuadraticSVC.__name__)")
    assert done.stdout == "to_sql QuadraticSVC\n"


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):  # Python handles signals between its instructions
        pass

class Dropping:
    def __del__(self):
        interrupt()

def turn_into_an_error():
    try:
        interrupt()
    except KeyboardInterrupt:
        raise ImportError("cannot import")

def print_it():
    try:
        interrupt()
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())  # as PyErr_Print does
        raise ImportError("cannot import")

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            {"raise": interrupt, "drop": Dropping, "turn": turn_into_an_error, "print": print_it}[how]()

_, how, module, *arguments = sys.argv
sys.argv = ["quadric", *arguments]
sys.meta_path.insert(0, Finder())
from quadric.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize("how", ["raise", "drop", "turn", "print"])
@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_an_interrupt_during_imports_is_one_line(how, module, made, tmp_path):
    fit = ["fit", made.data_csv, "--target", "risk", "--output", str(tmp_path / "m.json")]
    done = python(INTERRUPTED, how, module, *fit)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "quadric: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_process_ends_is_one_line():
    code = """
import atexit, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))
sys.argv = ["quadric", "--version"]
from quadric.cli import main
sys.exit(main())
"""
    done = python(code)
    assert (done.returncode, done.stderr) == (130, "quadric: interrupted\n")


GENERATED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            exec("os.kill(os.getpid(), signal.SIGINT)\\nfor _ in range(1000): pass", {"os": os, "signal": signal})
sys.meta_path.insert(0, Finder())
"""


def test_an_interrupt_inside_generated_code_has_the_same_exit_code(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(GENERATED)
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-m", "quadric", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (130, "quadric: interrupted\n")


def test_handlers_and_hooks_of_a_program_are_as_before():
    code = """
import signal, sys
from quadric.cli import main
before = [*map(signal.getsignal, (signal.SIGINT, signal.SIGTERM)), sys.excepthook, sys.unraisablehook]
assert main(["--version"]) == 0
assert [*map(signal.getsignal, (signal.SIGINT, signal.SIGTERM)), sys.excepthook, sys.unraisablehook] == before
signal.signal(signal.SIGTERM, own := lambda *_: None)
assert main(["--version"]) == 0
assert signal.getsignal(signal.SIGTERM) is own
"""
    assert python(code).stderr == ""


def test_the_module_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "quadric", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"quadric {quadric.__version__}\n"
