"""Run the code of the guide and compare its output with the output on the pages.

    python docs/run_blocks.py [--write] [page.md ...]

The ``python`` blocks of a page share one namespace. They run with its ``bash`` blocks in a new folder that contains ``data/``.
A ``text`` block right after a block is its output ("..." stands for anything); ``--write`` updates it. Blocks that need an
extra or Java that is not installed are skipped. Blocks of any other kind, such as ``shell``, are not run.
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
DATA = DOCS.parent / "data"
BLOCK = re.compile(
    r"^```(?P<kind>python|bash)\n(?P<code>.*?)^```\n(?:\n*^```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
FREEDOM = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DECIMAL = re.compile(r"-?\d+\.(\d+)")
MISSING = ("pip install 'quadric[", "No module named 'pyspark", "No module named 'distributed", "JAVA_GATEWAY_EXITED")
"""What errors say where something optional is not installed."""
FEWEST_DIGITS = 9
"""Decimals from which on processors differ in what they compute."""


def pages() -> list[Path]:
    """Pages that have code to run."""
    return [page for page in sorted(DOCS.glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def run_page(page: Path, *, write: bool = False) -> list[str]:
    """Run the blocks of a page and return its problems.

    Parameters
    ----------
    page : Path
    write : bool
        Replace the output on the page by the actual output.
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
                if any(words in f"{type(error).__name__}: {error}" for words in MISSING):
                    continue
                return [*problems, f"{page.name}:{line}: {type(error).__name__}: {error}"]
            expected = block["output"]
            if expected is not None and not agrees(expected, printed):
                problems.append(f"{page.name}:{line}: shows\n{expected}but prints\n{printed}")
                pieces += [text[end : block.start("output")], printed]
                end = block.end("output")
    if write and problems:
        page.write_text("".join(pieces) + text[end:], encoding="utf-8")
    return problems


def agrees(expected: str, printed: str) -> bool:
    """Whether an output is the one shown; decimal numbers may differ as those of two processors do, in the last place.

    Parameters
    ----------
    expected, printed : str
    """
    shown, found = list(DECIMAL.finditer(expected)), list(DECIMAL.finditer(printed))
    if len(shown) == len(found):
        pairs = zip(shown, found, strict=True)
        same = iter([one[0] if _are_close(one, other) else other[0] for one, other in pairs])
        printed = DECIMAL.sub(lambda _: next(same), printed)
    return doctest.OutputChecker().check_output(expected, printed, FREEDOM)


def _are_close(shown: re.Match[str], found: re.Match[str]) -> bool:
    last_place = 10.0 ** -min(len(shown[1]), FEWEST_DIGITS)
    return abs(float(shown[0]) - float(found[0])) <= 1.001 * last_place


@contextlib.contextmanager
def _work_folder() -> Iterator[None]:
    """A new current folder that contains the data of the guide."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("data").symlink_to(DATA)
            yield
        finally:
            os.chdir(before)


def _run_python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        exec(compile(code, "<page>", "exec"), names)
    return printed.getvalue()


def _run_bash(code: str) -> str:
    prelude = "set -eo pipefail\nunset COLUMNS\n"  # at which remarks would be wrapped
    prelude += f'quadric() {{ "{sys.executable}" -m quadric "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    done = subprocess.run(["bash", "-c", prelude + code], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    """Run pages and print their problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages to run (default: all pages with code)")
    parser.add_argument("--write", action="store_true", help="update the output on the pages")
    arguments = parser.parse_args()
    problems = [problem for page in arguments.pages or pages() for problem in run_page(page, write=arguments.write)]
    sys.stdout.write("\n".join(problems or ["all blocks run and print what their pages show"]) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
