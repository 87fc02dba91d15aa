"""Results on disk: one JSON line per finished task, in a file that can be interrupted anywhere.

The first line identifies the rows, so that rows of other code, another protocol or another seed never get into the same file.
The times are in a second file, so that an interrupted run ends with the same bytes as an uninterrupted one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from quadric.errors import ParameterError
from quadric.files import locked, replaceable, write_atomically
from quadric.progress import Report, silent

Row: TypeAlias = Mapping[str, Any]
Judge: TypeAlias = Callable[[Row], str | None]
ROWS, TIMES = "rows.jsonl", "times.jsonl"
SCHEMA = 1
# Increased when the stored numbers may change, so that rows of different code are not mixed.
RESULTS = 2
# Prefix of the keys of whole runs in the file of times.
RUN = "run/"
KEPT = "; finished rows are kept, run again to go on"
LOST = {ROWS: "its task will run again", TIMES: "only the time of one task is lost"}


class StoreError(ParameterError):
    """A store that cannot be used or written."""


class Store:
    """Finished rows by their key.

    Parameters
    ----------
    folder : path
        Folder of the files; created if it is missing.
    identity : mapping
        What all rows depend on; a store with another identity is an error.
    report : callable
        Called when a damaged end was repaired.
    problem : callable
        What is wrong with a row, or None; a wrong row is an error that names its line.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        identity: Mapping[str, Any],
        report: Report = silent,
        problem: Judge = lambda row: None,
    ) -> None:
        self.folder = Path(folder)
        self.header = {"store": "quadric paper", "schema": SCHEMA, "results": RESULTS, **identity}
        with _told(f"cannot make the folder {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.rows: dict[str, Row] = {row["key"]: row for row in self._opened(ROWS, report, problem)}
        times = {row["key"]: row for row in self._opened(TIMES, report, _time_problem)}
        self.times: dict[str, Row] = {key: row for key, row in times.items() if key in self.rows}
        self.runs = [row for key, row in times.items() if key.startswith(RUN)]

    @classmethod
    @contextmanager
    def locked(cls, folder: str | os.PathLike[str], *arguments: Any, **more: Any) -> Iterator[Store]:
        """A store that no other process adds to meanwhile; its folder is locked.

        Parameters
        ----------
        folder : path
        *arguments, **more :
            As for the class.
        """
        with ExitStack() as stack:
            with _told(f"cannot make the folder {folder}"):
                Path(folder).mkdir(parents=True, exist_ok=True)
            with _told(f"cannot write to {folder}"):
                stack.enter_context(locked(folder))
            yield cls(folder, *arguments, **more)

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __getitem__(self, key: str) -> Row:
        return self.rows[key]

    def add(self, row: Row, clock: float, work: float) -> None:
        """Append a finished row; it is on disk when this method returns.

        Its elapsed time and its processor time, in seconds, differ on a busy machine.
        """
        time = {"key": row["key"], "clock": round(clock, 3), "work": round(work, 3)}
        self._append(TIMES, time)
        self._append(ROWS, row)
        self.rows[row["key"]] = row
        self.times[row["key"]] = time

    def add_run(self, pieces: int, elapsed: float, n_jobs: int) -> None:
        """Append the number of tasks of one complete run, its elapsed time in seconds, and its processes."""
        run = {"key": f"{RUN}{len(self.runs)}", "pieces": pieces, "elapsed": elapsed, "n_jobs": n_jobs}
        self._append(TIMES, run)
        self.runs.append(run)

    def arrange(self, order: Callable[[str], Any]) -> None:
        """Sort the rows."""
        keys = sorted(self.rows, key=order)
        if keys != list(self.rows):
            self.rows = {key: self.rows[key] for key in keys}
            write_whole(self.folder / ROWS, _text([self.header, *self.rows.values()]))

    def _opened(self, name: str, report: Report, problem: Judge) -> list[Row]:
        path = self.folder / name
        with _told(f"cannot write to {self.folder}"):
            if not path.exists():
                write_atomically(path, _text([self.header]))
            content = replaceable(path).read_bytes()
        whole, _, rest = content.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        rows = [_parsed(line) for line in lines]
        if rest or (rows and rows[-1] is None):
            rows = rows if rest else rows[:-1]
            write_whole(path, b"".join(line + b"\n" for line in lines[: len(rows)]))
            report(f"{path}: the last line was damaged and has been dropped; {LOST[name]}")
        self._check_header(path, rows[0] if rows else None)
        for number, row in enumerate(rows[1:], start=2):
            no_key = row is not None and not isinstance(row.get("key"), str)
            if wrong := "is damaged" if row is None else "has no key" if no_key else problem(row):
                raise StoreError(f"{path}: line {number} {wrong}; move the file away, or delete that line")
        return [row for row in rows[1:] if row is not None]

    def _check_header(self, path: Path, header: Row | None) -> None:
        if header is None or header.get("store") != self.header["store"]:
            raise StoreError(f"{path} is not a store of these experiments; choose another folder", folder=None)
        for name, mine in self.header.items():
            if header.get(name) != mine:
                raise StoreError(
                    f"{path} was made with {name} {header.get(name)!r}, this run has {mine!r}; rows of both must not be mixed: "
                    "choose another folder, or delete this one",
                    folder=None,
                )

    def _append(self, name: str, row: Row) -> None:
        """Append a line in one write. If that fails half way, cut the file back to its former length."""
        path, line = self.folder / name, _text([row]).encode()
        with _told(f"cannot write {path}", KEPT), path.open("ab", buffering=0) as file:
            size = file.tell()
            try:
                if file.write(line) != len(line):
                    raise OSError(28, "No space left on device")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file of a run atomically; an error says that finished rows are kept."""
    with _told(f"cannot write {path}", KEPT):
        write_atomically(path, content)


@contextmanager
def _told(failure: str, ending: str = "") -> Iterator[None]:
    """Errors of the file system as those of a store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{failure}: {error.strerror or error}{ending}") from error


def _text(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n" for row in rows)


def _parsed(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _time_problem(row: Row) -> str | None:
    for name in ("pieces", "elapsed", "n_jobs") if row["key"].startswith(RUN) else ("clock", "work"):
        if type(row.get(name)) not in (int, float):
            return f"has no number {name!r}"
    return None
