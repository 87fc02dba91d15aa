"""Who changes side between two models, by counting, and which terms drive it: they sum to the change of the points."""

import json
from dataclasses import replace

import numpy as np
import pytest

from helpers.scorecards import loans_with_gaps, points_model
from quadric.cli import main
from quadric.export import save_model
from quadric.review.swaps import SWAPPED, swap_set
from quadric.tables import Table
from quadric.workflow import TableModel, TrainingOptions, train


@pytest.fixture(scope="module")
def champion():
    options = TrainingOptions(k=4, C=4.0, loss="logistic", terms="linear", points="600:20:50", favourable="good")
    return TableModel(train(loans_with_gaps(), "risk", options).saved())


@pytest.mark.parametrize("approval", [None, 0.6])
def test_groups_are_what_counting_says_and_terms_sum(champion, approval):
    challenger, table = points_model(), loans_with_gaps()
    found = swap_set(champion, challenger, table, approval)
    points = [model.scores(table).points for model in (champion, challenger)]
    cuts = [0.0, 0.0]
    for i, model in enumerate((champion, challenger)):
        good = np.array(model.class_names)[model.scores(table).codes] == "good"
        cuts[i] = points[i][good].min() if approval is None else np.sort(points[i])[::-1][int(np.ceil(800 * approval)) - 1]
    first, second = (own >= cut for own, cut in zip(points, cuts, strict=True))
    bad = np.asarray(table["risk"]) == "bad"
    expected = (first & second, ~first & second, first & ~second, ~first & ~second)
    assert [group.n_rows for group in found.groups] == [rows.sum() for rows in expected]
    change = points[1] - points[0]
    for group, rows in zip(found.groups, expected, strict=True):
        assert group.n_bad == bad[rows].sum()
        assert group.points == pytest.approx(change[rows].mean() - change.mean(), abs=1e-10)
        assert (len(group.terms) > 0) == (group.name in SWAPPED)
        if group.terms:
            assert sum(value for _, value in group.terms) == pytest.approx(group.points, abs=1e-10)
    assert sum(group.n_rows for group in found.groups) == 800


def test_outcomes_that_nobody_knows_are_counted(champion):
    table = loans_with_gaps()
    risk = np.where(np.arange(800) % 4 == 0, None, np.asarray(table["risk"], dtype=object))
    half = Table(table.names, (*table.columns[:-1], risk))
    found = swap_set(champion, points_model(), half)
    assert sum(group.n_known for group in found.groups) == 600
    assert sum(group.n_bad for group in found.groups) == np.sum(risk == "bad")
    assert sum(group.n_known for group in swap_set(champion, points_model(), table.drop(["risk"])).groups) == 0


def test_models_that_cannot_be_compared_are_refused(champion):
    with pytest.raises(ValueError, match="approval"):
        swap_set(champion, points_model(), loans_with_gaps(), 1.0)
    other = TableModel(replace(champion.saved, class_names=("yes", "no")))
    with pytest.raises(ValueError, match="the same two classes"):
        swap_set(champion, other, loans_with_gaps())


def test_the_command_prints_and_gives_all_terms_to_programs(champion, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(champion.saved, "old.json")
    save_model(points_model().saved, "new.json")
    table = loans_with_gaps()
    rows = zip(*(np.asarray(table[name]).tolist() for name in table.names), strict=True)
    lines = [",".join(table.names), *(",".join("" if v is None or v != v else str(v) for v in row) for row in rows)]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    assert main(["swap", "old.json", "new.json", "data.csv"]) == 0
    printed = capsys.readouterr().out
    assert "swapped in, points beyond the mean change" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert main(["swap", "old.json", "new.json", "data.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [group["name"] for group in found["groups"]][1:3] == list(SWAPPED)
    assert main(["swap", "old.json", "new.json", "data.csv", "--approval", "7"]) != 0
