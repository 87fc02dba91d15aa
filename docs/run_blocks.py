"""Run the code of the guide and compare what it prints with what the pages show.

    python docs/run_blocks.py [--write] [page.md ...]

The ``python`` blocks of a page share one namespace; they and its ``bash`` blocks share a new folder with the guide's data.
A ``text`` block right after one of them is what it prints ("..." stands for anything); ``--write`` puts it there. Blocks that
need an extra which is not installed are passed over, and blocks of any other kind, such as ``shell``, are not run.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
FREEDOM = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def pages() -> list[Path]:
    """Pages that have code to run."""
    return [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def run_page(page: Path, *, write: bool = False) -> list[str]:
    """Run a page; returns what is wrong with it.

    Parameters
    ----------
    page : Path
    write : bool
        Replace what the page shows by what was printed.
    """
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    problems, pieces, end = [], [], 0
    with _work_folder():
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            try:
                printed = _run_python(block["code"], names) if block["kind"] == "python" else _run_bash(block["code"])
            except Exception as error:
                if "pip install 'quadric[" in str(error):
                    continue
                return [*problems, f"{page.name}:{line}: {type(error).__name__}: {error}"]
            shown = block["shown"]
            if shown is not None and not doctest.OutputChecker().check_output(shown, printed, FREEDOM):
                problems.append(f"{page.name}:{line}: shows\n{shown}but prints\n{printed}")
                pieces += [text[end : block.start("shown")], printed]
                end = block.end("shown")
    if write and problems:
        page.write_text("".join(pieces) + text[end:], encoding="utf-8")
    return problems


@contextlib.contextmanager
def _work_folder() -> Iterator[None]:
    """A new current folder with the data of the guide."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            subprocess.run([sys.executable, str(DOCS / "make_applications.py")], check=True)
            yield
        finally:
            os.chdir(before)


def _run_python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, "<page>", "exec"), names)
    return printed.getvalue()


def _run_bash(code: str) -> str:
    prelude = (
        f'set -eo pipefail\nquadric() {{ "{sys.executable}" -m quadric "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    )
    done = subprocess.run(["bash", "-c", prelude + code], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    """Run pages and say which of them are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages; none: all that have code")
    parser.add_argument("--write", action="store_true", help="put what is printed into the pages")
    given = parser.parse_args()
    problems = [problem for page in given.pages or pages() for problem in run_page(page, write=given.write)]
    sys.stdout.write("\n".join(problems or ["every block runs and prints what its page shows"]) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
