"""Rows that someone changed are refused before a table is made of them."""

import json

import numpy as np
import pytest

from quadric.cli import main
from quadric.paper.experiments import Plan
from quadric.paper.tasks import KINDS, execute, row_problem

PLAN = Plan.of(reading="nested", method="both")
TASKS = {task.kind: task for part in PLAN.parts for task in PLAN._tasks_of(part)}


def row_of(task):
    """A row of the right shapes."""
    shapes = {name: [max(length, 0) for length in shape] for name, shape in KINDS[task.kind].shapes(task).items()}
    return {"key": task.key, **{name: np.ones(shape).tolist() for name, shape in shapes.items()}}


def test_every_kind_has_a_task():
    assert set(TASKS) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_right_shapes_are_accepted_and_others_are_not(kind):
    row = row_of(TASKS[kind])
    assert row_problem(row) is None
    for name in KINDS[kind].shapes(TASKS[kind]):
        for wrong in (None, "text", {}, True, [], [[1.0]], [[1.0], [1.0, 2.0]], float("nan"), [None], 10**400):
            assert f"{name!r}" in (row_problem({**row, name: wrong}) or "") or (wrong == [] and name == "terms"), (name, wrong)
        missing = {key: value for key, value in row.items() if key != name}
        assert f"has no {name!r}" in row_problem(missing)


def test_terms_must_be_there():
    row = row_of(TASKS["pattern"])
    assert row_problem({**row, "terms": [[0, 1.5], [3, -1.0]]}) is None
    for term in (-1, 0.5, 10**6):
        assert "'terms' that are not in" in row_problem({**row, "terms": [[term, 1.5]]})


@pytest.mark.parametrize(
    "key", ["", "grid", "grid/iris/no/0", "grid/no/ls-svm/0", "no/iris/ls-svm/0", "grid/iris/ls-svm/x", "grid/iris/ls-svm/0/1"]
)
def test_unknown_keys_are_refused(key):
    assert "unknown task" in row_problem({**row_of(TASKS["grid"]), "key": key})


def test_computed_rows_are_accepted():
    (task,) = [task for task in Plan.of(["table2"], ["ls-svm"], ["iris"]).tasks() if task.key.endswith("/0")]
    assert row_problem(execute(task, 0)) is None


@pytest.mark.parametrize("change", [{"accuracy": 3}, {"f1": None}, {"key": "grid/iris/nobody/2"}, {"accuracy": ["x"] * 10}])
def test_the_command_names_file_and_line(change, tmp_path, capsys):
    command = ["paper", "table2", "--models", "ls-svm", "--datasets", "iris", "--jobs", "1", "--output", str(tmp_path)]
    assert main(command) == 0
    path = tmp_path / "rows.jsonl"
    lines = path.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), **change})
    path.write_text("\n".join([*lines, ""]))
    capsys.readouterr()
    assert main(command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"quadric: {path}: line 4 ")
    assert "unexpected" not in line
