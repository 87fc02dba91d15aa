"""Requests to a child process that runs the source of one checkout: both ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TREE = HERE.parent
SOURCE = "source"


class Checkout:
    """A child process that answers requests with the source of one checkout, on one core."""

    def __init__(self, root: Path, script: str) -> None:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, HERE / script],
            env={**os.environ, **threads, "PYTHONPATH": str(root / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        source = Path(self.ask(SOURCE))
        if not source.is_relative_to(root.resolve()):
            raise SystemExit(f"quadric was imported from {source}, not from {root}")

    def ask(self, request: str, *arguments: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([request, *arguments]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{request} {arguments} failed")
        return json.loads(answer)


def serve(requests: Mapping[str, Callable[..., Any]]) -> None:
    """The child's end: one JSON request per line of the input, one line of JSON as its answer."""
    import quadric

    known = {SOURCE: lambda: quadric.__file__, **requests}
    for line in sys.stdin:
        request, *arguments = json.loads(line)
        print(json.dumps(known[request](*arguments)), flush=True)
