"""Fits on clusters of Dask and Spark beside fits in one process; the table of docs/many-machines.md.

    python benchmarks/engines.py [--parts equal work killed large rates] [--engines dask spark]
                                 [--output benchmarks/results/engines.json] [--page]

Clusters are two workers of this machine. Tasks note their processor time, which stands beside that of the passes of
``quadric.fit_batches``, measured in turns. ``--page`` writes what the stored rates mean for ten machines into
docs/many-machines.md; ``--parts`` without names measures nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import quadric.distributed
from engines_work import (
    CLUSTERS,
    NOTES,
    MixedPart,
    Passes,
    PlantedPart,
    classifier,
    dask_cluster,
    engine_frame,
    local_frames,
    mixed_rows,
    notes,
    peak_megabytes,
    watching,
)
from quadric.distributed import tasks
from quadric.distributed.frames import Estimator
from quadric.extras import require
from quadric.samples.quantiles import MOST_KEYS
from table import Row, environment, show, write_json

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "many-machines.md"
BEGIN, END = "<!-- engines: written by benchmarks/engines.py -->", "<!-- end of engines -->"
LOSSES = ("least_squares", "hinge", "logistic")
CLOSE = 1e-10
TURNS = 3
RATES = (("least_squares", 2_000_000, 20), ("hinge", 2_000_000, 20), ("least_squares", 16_384, 100))
"""Loss, rows and features."""
MACHINES, CORES, PARTITIONS = 10, 8, 500
COUNT_BYTES = 16
"""Of one count of the passes that find the caps."""
SIZES = (("least_squares", 1e9, 20), ("hinge", 1e9, 20), ("least_squares", 1e8, 100))
HINGE_WALL, HINGE_PASSES = 15 * 60.0, 10
"""The hinge fit of part "large" is left out where it would take longer than so many seconds."""


class Findings:
    """Rows with targets, and facts without."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.facts: dict[str, Any] = {}

    def row(self, what: str, measured: float, sense: str, target: float) -> None:
        self.rows.append(Row(what, measured, sense, target))
        print(show(self.rows[-1:]).splitlines()[-1], file=sys.stderr, flush=True)

    def fact(self, what: str, value: Any) -> None:
        self.facts[what] = value
        print(f"{what}: {json.dumps(value)}", file=sys.stderr, flush=True)

    def stored(self) -> dict[str, Any]:
        rows = [{**vars(row), "measured": float(row.measured), "holds": row.holds} for row in self.rows]
        return {"rows": rows, "facts": self.facts}


def distance(one: Estimator, other: Estimator) -> float:
    """Largest difference of coefficients and intercepts."""
    return float(max(np.abs(one.coef_ - other.coef_).max(), np.abs(one.intercept_ - other.intercept_).max()))


def equal(engines: Sequence[str], found: Findings) -> None:
    """Fits on clusters and in memory."""
    rows = mixed_rows()
    X, y, weight = rows.drop(columns=["y", "w"]).to_numpy(), rows["y"].to_numpy(), rows["w"].to_numpy()
    whole = {loss: classifier(loss, 6).fit(X, y, weight) for loss in LOSSES}
    for engine in engines:
        with CLUSTERS[engine]() as cluster:
            for n_parts, order, words in ((5, 1, "5 partitions"), (11, -1, "11 partitions in reverse order")):
                frame = engine_frame(engine, cluster, MixedPart(n_parts), range(n_parts)[::order], keeps=True)
                for loss in LOSSES:
                    fitted = quadric.distributed.fit(classifier(loss, 6), frame, target="y", sample_weight="w")
                    found.row(f"{engine}, {loss}, {words}: difference from memory", distance(fitted, whole[loss]), "<=", CLOSE)


def work(engines: Sequence[str], found: Findings) -> None:
    """Processor time of tasks, bytes that reach the driver, memory of the driver."""
    if "dask" in engines:
        with dask_cluster() as cluster:
            compare_work("dask", cluster, "least_squares", 2_000_000, found)
            compare_work("dask", cluster, "hinge", 200_000, found)
            moments_traffic("dask", cluster, found)
        as_it_comes = asked(work="defaults", loss="hinge", m=200_000)["seconds"]
        found.fact("dask as it comes, hinge, 2e+05 x 20: seconds in tasks", as_it_comes)
        small, large = (asked(work="memory", m=m)["megabytes"] for m in (1_000_000, 4_000_000))
        found.fact("dask, driver: MB at 1e6 and at 4e6 rows", [small, large])
        found.row("dask, driver: memory at 4e6 rows, of that at 1e6", large / small, "<=", 1.05)
    if "spark" in engines:
        with CLUSTERS["spark"]() as cluster:
            compare_work("spark", cluster, "least_squares", 2_000_000, found)
            moments_traffic("spark", cluster, found)


def compare_work(engine: str, cluster: Any, loss: str, m: int, found: Findings) -> None:
    """Tasks of a fit beside the passes of a fit in one process."""
    make, what = PlantedPart(m // 16, 20), f"{engine}, {loss}, {m:.0e} x 20"
    frame, frames = engine_frame(engine, cluster, make, range(16), keeps=True), local_frames(make, 16, engine)
    in_tasks, in_workers, in_passes = [], [], []
    with watching() as passes:
        for _ in range(TURNS):
            before = len(notes())
            there = quadric.distributed.fit(classifier(loss, 6), frame, target="y")
            mine = notes_since(before)
            in_tasks.append(sum(each["seconds"] for each in mine))
            in_workers.append(sum(each["process"] for each in mine))
            distributed_passes = last_passes(passes)
            here = quadric.fit_batches(classifier(loss, 6), frames, target="y")
            in_passes.append(sum(each["seconds"] for each in last_passes(passes)))
    found.fact(
        f"{what}: seconds in tasks, in all threads of their processes, in passes of one process",
        [in_tasks, in_workers, in_passes],
    )
    found.fact(f"{what}: passes", distributed_passes)
    found.row(f"{what}: processor time in tasks, of that in one process", min(in_tasks) / min(in_passes), "<=", 1.3)
    found.row(f"{what}: difference from one process", distance(there, here), "<=", CLOSE)


def notes_since(before: int) -> list[dict[str, Any]]:
    """Notes of the last fit; a fit begins when all tasks of the one before have ended."""
    everything = sorted(notes(), key=lambda each: each["at"])
    return everything[before:]


def last_passes(passes: Passes) -> list[dict[str, Any]]:
    """The passes since the last call."""
    columns = (passes.names, passes.seconds, passes.wall, passes.received, passes.state_bytes)
    keys = ("name", "seconds", "wall", "received", "bytes")
    found = [dict(zip(keys, each, strict=True)) for each in zip(*columns, strict=True)]
    for column in columns:
        column.clear()
    return found


def moments_traffic(engine: str, cluster: Any, found: Findings) -> None:
    """What reaches the driver in a pass for moments of 16 partitions, beside the size of one state."""
    frame = engine_frame(engine, cluster, PlantedPart(20_000, 20), range(16), keeps=True)
    with watching() as passes, bytes_read() as everything:
        quadric.distributed.moments(frame, target="y")
    (one,) = last_passes(passes)
    found.fact(
        f"{engine}, moments of 16 partitions: bytes of a state, of states that reach the driver",
        [one["bytes"], one["received"]],
    )
    received = one["received"]
    if engine == "dask":
        received = everything[0]
        found.fact("dask, moments of 16 partitions: all bytes that client and scheduler read", received)
    found.row(f"{engine}, moments: bytes to the driver per partition, in states", received / 16 / one["bytes"], "<=", 2)


@contextmanager
def bytes_read() -> Iterator[list[int]]:
    """What this process, with the client and the scheduler of Dask, reads from sockets."""
    tcp: Any = require("distributed.comm.tcp", "dask")
    read, count = tcp.read_bytes_rw, [0]

    async def counting(stream: Any, n: int) -> Any:
        count[0] += n
        return await read(stream, n)

    tcp.read_bytes_rw = counting
    try:
        yield count
    finally:
        tcp.read_bytes_rw = read


def asked(**request: Any) -> dict[str, Any]:
    """One piece of work in a process of its own."""
    command = [sys.executable, str(HERE / "engines_work.py"), json.dumps(request)]
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}  # clusters leave them behind
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=ours)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def killed(engines: Sequence[str], found: Findings) -> None:
    """A worker of Dask dies in the middle of a fit."""
    if "dask" not in engines:
        return
    with dask_cluster() as cluster, watching():
        frame = engine_frame("dask", cluster, PlantedPart(25_000, 20), range(12))
        for loss in ("least_squares", "hinge"):
            before = len(notes())
            whole = quadric.distributed.fit(classifier(loss, 6), frame, target="y")
            n_tasks = len(notes()) - before
            workers = set(cluster.run(os.getpid).values())
            killer = threading.Thread(target=kill_one, args=(min(workers), len(notes()) + n_tasks // 2))
            killer.start()
            again = quadric.distributed.fit(classifier(loss, 6), frame, target="y")
            killer.join()
            lost = len(workers - set(cluster.run(os.getpid).values()))
            found.fact(
                f"dask, {loss}: tasks of the unbroken fit, of that with a killed worker",
                [n_tasks, len(notes()) - before - n_tasks],
            )
            found.row(f"dask, {loss}: workers killed in the middle of the fit", lost, ">=", 1)
            found.row(f"dask, {loss}, a worker killed: difference from the unbroken fit", distance(again, whole), "<=", CLOSE)


def kill_one(process: int, n_notes: int) -> None:
    """Kills a process as soon as there are so many notes."""
    while len(notes()) < n_notes:
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)


def large(engines: Sequence[str], found: Findings) -> None:
    """Twenty million rows, which the workers make anew in each pass."""
    if "dask" not in engines:
        return
    m, n_parts = 20_000_000, 40
    expected = 0.0
    for loss, k in (("least_squares", 10), ("hinge", 6)):
        if expected > HINGE_WALL:
            found.fact(f"dask, {loss}, 2e7 x 20: left out, as it would take about this many seconds", expected)
            continue
        with dask_cluster() as cluster, watching() as passes:
            frame = engine_frame("dask", cluster, PlantedPart(m // n_parts, 20), range(n_parts))
            before, began = len(notes()), time.perf_counter()
            quadric.distributed.fit(classifier(loss, k), frame, target="y")
            wall, each = time.perf_counter() - began, last_passes(passes)
            found.fact(
                f"dask, {loss}, 2e7 x 20",
                {
                    "wall": wall,
                    "processor seconds in tasks": sum(note["seconds"] for note in notes_since(before)),
                    "passes": len(each),
                    "rows per second and pass": m * len(each) / wall,
                    "MB of the driver": peak_megabytes(),
                    "MB of the workers": sorted(cluster.run(peak_megabytes).values()),
                    "each pass": each,
                },
            )
            expected = wall / len(each) * HINGE_PASSES


def rates(engines: Sequence[str], found: Findings) -> None:
    """What passes take in one process."""
    for loss, m, n in RATES:
        use = asked(work="rates", loss=loss, m=m, n=n)
        found.fact(f"{loss}, n = {n}", use)
        moments = [each["seconds"] / m * 1e6 for each in use["passes"] if each["name"] == "BatchMoments"]
        if moments:
            found.fact(f"n = {n}: processor seconds of a moments pass per million rows", moments[0])
    hinge = found.facts["hinge, n = 20"]
    splits = [each["seconds"] / hinge["rows"] * 1e6 for each in hinge["passes"] if each["name"] == "SplitAt"]
    found.fact("n = 20: processor seconds of a hinge pass per million rows", float(np.mean(splits)))


def page(facts: dict[str, Any]) -> str:
    """Time, memory and bytes moved on many machines, by the rates of one process."""
    lines = [
        f"Estimates for {MACHINES} machines of {CORES} cores each and {PARTITIONS} partitions, with caps, k and C given. They",
        "follow from rates that `benchmarks/engines.py` measured in one process, and count passes and merges. Reading",
        "the data, the network and the work of the driver between passes come on top. The last column is of Dask; with",
        "Spark the driver receives several states per pass.",
        "",
        "| fit | passes | processor time | on all cores | GB per process | GB between processes | MB to the driver |",
        "|---|---|---|---|---|---|---|",
    ]
    for loss, m, n in SIZES:
        use = facts[f"{loss}, n = {n}"]
        passes = with_all_counts(use["passes"])
        in_merges = PARTITIONS / tasks.GROUP * sum(each["merge"] for each in passes)
        seconds = m / use["rows"] * sum(each["seconds"] for each in passes) + in_merges
        state = sum(each["bytes"] for each in passes)
        counts = COUNT_BYTES * MOST_KEYS
        cells = [
            f"`{loss}`, {m:.0e} x {n}".replace("e+0", "e"),
            str(len(passes)),
            f"{seconds / 3600:.1f} h",
            f"{seconds / MACHINES / CORES / 60:.0f} min",
            f"{use['megabytes'] / 1e3:.1f}",
            f"{PARTITIONS * state / 1e9:.1f}",
            f"{(state + counts) / 1e6:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_all_counts(passes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Passes of a fit to so many rows that the caps take two passes after the first; few rows take one."""
    counting = [each for each in passes if each["name"] == "CountedKeys"]
    return passes + counting if len(counting) == 1 else passes


def write_page(facts: dict[str, Any]) -> None:
    """Replace what is between the markers."""
    text = PAGE.read_text()
    if BEGIN not in text:
        text = f"{text.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{page(facts)}\n\n{END}{rest.split(END)[1]}")


PARTS: dict[str, Callable[[Sequence[str], Findings], None]] = {
    "equal": equal,
    "work": work,
    "killed": killed,
    "large": large,
    "rates": rates,
}


def with_others(found: dict[str, Any], before: dict[str, Any], engines: tuple[str, ...]) -> dict[str, Any]:
    """What was found, with what was stored of engines that were not measured now."""
    rows = [row for row in before.get("rows", []) if row["what"].startswith(engines)] if engines else []
    facts = {what: fact for what, fact in before.get("facts", {}).items() if engines and what.startswith(engines)}
    return {"rows": rows + found["rows"], "facts": {**facts, **found["facts"]}}


def stored_in(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--engines", nargs="+", choices=list(CLUSTERS), default=list(CLUSTERS))
    parser.add_argument("--output", type=Path, default=HERE / "results" / "engines.json")
    parser.add_argument("--page", action="store_true", help="write the table of docs/many-machines.md from the stored rates")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ[NOTES] = folder
        os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])  # of the workers
        for part in arguments.parts:
            print(f"{part} ...", file=sys.stderr, flush=True)
            found = Findings()
            PARTS[part](arguments.engines, found)
            rows += found.rows
            stored = stored_in(arguments.output)
            others = tuple(set(CLUSTERS) - set(arguments.engines))
            stored[part] = with_others(found.stored(), stored.get(part, {}), others)
            write_json({**stored, **environment()}, arguments.output)
    if arguments.page:
        write_page(stored_in(arguments.output)["rates"]["facts"])
    if rows:
        print(show(rows))
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
