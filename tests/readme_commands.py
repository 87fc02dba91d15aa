"""Runs the commands that README.md shows; ``python tests/readme_commands.py`` writes their output into it.

A line of a ``console`` block that begins with ``$ quadric`` is a command, what follows is its output. The first command stands in a
``bash`` block, with its output in the ``text`` block after it.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
FIRST = re.compile(r"```bash\n.*?\.venv/bin/quadric (?P<command>fit .*?)\n```\n\n```text\n(?P<output>.*?)```", re.DOTALL)
SLOW = ("report", "paper")
"""Commands whose output is not compared: their own tests run them."""


def shown(text):
    """Pairs of a command and the output shown, in the order of the page."""
    first = FIRST.search(text)
    pairs = [(first["command"], first["output"])]
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ quadric ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return [(command, output) for command, output in pairs if command.split()[0] not in SLOW]


def actual(commands):
    """What the commands print, run one after another in a fresh folder with the project's data."""
    from quadric.cli import main

    outputs, before = [], os.getcwd()
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, COLUMNS="80"):
        (Path(folder) / "data").symlink_to(ROOT / "data")
        os.chdir(folder)
        try:
            for command in commands:
                out = io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                    code = main(shlex.split(command))
                outputs.append(out.getvalue() if code == 0 else f"exit code {code}\n")
        finally:
            os.chdir(before)
    return outputs


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    page = (ROOT / "README.md").read_text()
    pairs = shown(page)
    for (command, old), new in zip(pairs, actual([command for command, _ in pairs]), strict=True):
        start = page.index(command) + len(command)
        place = page.index(old, start) if old else start + 1
        page = page[:place] + new + page[place + len(old) :]
    (ROOT / "README.md").write_text(page)
