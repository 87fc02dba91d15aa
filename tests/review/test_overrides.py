"""Where people decided against a model: groups by counting, intervals by scipy, terms that sum to the difference."""

import csv
import json

import numpy as np
import pytest
from scipy.stats import beta

from helpers.scorecards import loans_with_gaps, points_model
from quadric.cli import main
from quadric.credit import jeffreys_interval
from quadric.errors import ParameterError
from quadric.export import save_model
from quadric.review import Decisions, overrides
from quadric.review.overriding import AGREED, CELLS, NO_REASON
from quadric.tables import Table


def decided_table():
    """Loans with decisions of people, some missing; no outcome where they declined; a reason in two of three rows."""
    table = loans_with_gaps()
    rng = np.random.default_rng(0)
    points = points_model().scores(table).points
    decision = np.where(points + rng.normal(0.0, 60.0, 800) > np.quantile(points, 0.25), "granted", "refused").astype(object)
    risk = np.asarray(table["risk"], dtype=object).copy()
    risk[decision == "refused"] = None
    decision[::50] = None
    code = np.array([["A1", "B2", None][i % 3] for i in range(800)], dtype=object)
    own = table.drop(["risk"])
    return Table((*own.names, "risk", "decision", "code"), (*own.columns, risk, decision, code))


@pytest.mark.parametrize("cutoff", [None, 0.15])
def test_groups_are_what_counting_says(cutoff):
    model, table = points_model(), decided_table()
    found = overrides(model, table, "decision", cutoff=cutoff)
    bad = model.class_names.index("bad")
    scores = model.scores(table)
    chances = scores.probabilities[:, bad]
    if cutoff is None:
        by_model = scores.codes != bad
    else:
        above = scores.probabilities[:, 1] > cutoff
        by_model = above if bad == 0 else ~above
    by_people, risk = np.asarray(table["decision"]), np.asarray(table["risk"])
    assert (found.n_rows, found.n_missing, found.n_other) == (800, 16, 0)
    total = np.sum(by_people != None)  # noqa: E711 - an array of objects
    for group, (first, second) in zip(found.groups, CELLS.values(), strict=True):
        rows = (by_model == first) & (by_people == ("granted" if second else "refused"))
        known = rows & (risk != None)  # noqa: E711
        n, d = known.sum(), (rows & (risk == "bad")).sum()
        assert (group.n_rows, group.n_known, group.n_bad) == (rows.sum(), n, d)
        assert group.share == pytest.approx(rows.sum() / total, rel=1e-14)
        assert group.predicted == pytest.approx(chances[rows].mean(), rel=1e-10)
        if n:
            assert group.bad_rate == pytest.approx(d / n, rel=1e-14)
            assert (group.low, group.high) == pytest.approx(tuple(beta.ppf([0.025, 0.975], d + 0.5, n - d + 0.5)), rel=1e-10)
            assert group.predicted_known == pytest.approx(chances[known].mean(), rel=1e-10)
        else:
            assert (group.bad_rate, group.low, group.high) == (None, None, None)
    assert found.groups[1].n_rows > 10
    assert found.groups[2].n_rows > 10
    rows = [group.n_rows for group in found.groups]
    sides = zip(AGREED, ((1, 0), (2, 3)), strict=True)
    assert found.rates == {side: rows[i] / (rows[i] + rows[j]) for side, (i, j) in sides}


def test_grades_divide_the_groups():
    model, table = points_model(), decided_table()
    found = overrides(model, table, "decision", grades=(0.05, 0.2, 0.5))
    assert [(grade.above, grade.upto) for grade in found.grades] == [(None, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, None)]
    chances = model.scores(table).probabilities[:, model.class_names.index("bad")]
    decided = np.array([each is not None for each in np.asarray(table["decision"])])
    for grade, low, high in zip(found.grades, (-1.0, 0.05, 0.2, 0.5), (0.05, 0.2, 0.5, 1.0), strict=True):
        assert sum(group.n_rows for group in grade.groups) == np.sum(decided & (chances > low) & (chances <= high))
        assert sum(group.share for group in grade.groups) == pytest.approx(1.0)
    for i, group in enumerate(found.groups):
        assert sum(grade.groups[i].n_rows for grade in found.grades) == group.n_rows
    assert len(overrides(model, table, "decision").grades) == 10


def test_terms_sum_to_the_difference_of_the_mean_scores():
    model, table = points_model(), decided_table()
    found = overrides(model, table, "decision")
    scores, decision = model.scores(table), np.asarray(table["decision"])
    by_model = scores.codes == model.class_names.index("good")
    for gaps, does, own, other in (
        (found.high_side, by_model, "refused", "granted"),
        (found.low_side, ~by_model, "granted", "refused"),
    ):
        means = [scores.decision[does & (decision == each)].mean() for each in (own, other)]
        assert sum(gap.difference for gap in gaps) == pytest.approx(means[0] - means[1], abs=1e-10)
        assert all(gap.by_chance > 0.0 for gap in gaps)
        assert [abs(gap.difference) for gap in gaps] == sorted((abs(gap.difference) for gap in gaps), reverse=True)


def test_reasons_are_counted_on_either_side():
    table = decided_table()
    declined = points_model().scores(table).codes == points_model().class_names.index("bad")
    code = np.asarray(table["code"]).copy()
    code[np.flatnonzero(declined & (np.asarray(table["decision"]) == "granted"))[0]] = "only once"
    code[np.flatnonzero(declined & (np.asarray(table["decision"]) == "refused"))[0]] = "no override"
    table = Table(table.names, (*table.columns[:-1], code))
    found = overrides(points_model(), table, "decision", reason="code")
    assert {each.code for each in found.reasons} == {"A1", "B2", NO_REASON, "only once"}
    assert (found.reasons[-1].high_side, found.reasons[-1].low_side) == (0, 1)
    assert sum(each.high_side for each in found.reasons) == found.groups[1].n_rows
    assert sum(each.low_side for each in found.reasons) == found.groups[2].n_rows


@pytest.mark.parametrize(
    ("outcome", "verdict"), [("good", "people knew something"), ("bad", "cost money"), ("as expected", "no clear difference")]
)
def test_words_say_what_the_outcomes_allow(outcome, verdict):
    model, table = points_model(), loans_with_gaps()
    declined = model.scores(table).codes == model.class_names.index("bad")
    chances = model.scores(table).probabilities[:, model.class_names.index("bad")]
    risk, decision = np.full(800, None, dtype=object), np.where(declined, "no", "yes").astype(object)
    some = np.flatnonzero(declined)[:60]
    decision[some] = "yes"
    if outcome == "bad":  # all of them must be more than expected: the safest of the declined
        some = np.flatnonzero(declined)[np.argsort(chances[declined])[:60]]
        decision[declined] = "no"
        decision[some] = "yes"
    is_bad = np.arange(60) < round(chances[some].sum()) if outcome == "as expected" else np.full(60, outcome == "bad")
    risk[some] = np.where(is_bad, "bad", "good")
    rows = Table((*table.names[:-1], "risk", "decision"), (*table.columns[:-1], risk, decision))
    (words,) = overrides(model, rows, "decision").words()  # nobody overrode on the high side
    assert verdict in words
    without = overrides(model, rows.drop(["risk"]), "decision")
    assert "nothing shows yet" in next(without.words())


def test_jeffreys_interval():
    assert (jeffreys_interval(0, 9).low, jeffreys_interval(9, 9).high) == (0.0, 1.0)
    assert jeffreys_interval(0, 9).high == pytest.approx(beta.ppf(0.975, 0.5, 9.5))
    assert np.isnan(jeffreys_interval(0, 0).value)
    for events, count in ((3, 2), (0.5, 2), (-1, 2)):
        with pytest.raises(ValueError, match="whole numbers"):
            jeffreys_interval(events, count)


def table_of(*values):
    return Table(("decision",), (np.array(values, dtype=object),))


def test_decisions_are_read_as_people_write_them():
    for yes, no in (("Approved", "Declined"), ("1", "0"), ("yes", "no"), ("True", "False"), ("ACCEPT", "reject")):
        found = Decisions.of(table_of(yes, no, None, yes), "decision")
        assert found.approved.tolist() == [True, False, False, True]
        assert found.declined.tolist() == [False, True, False, False]
        assert (found.n_missing, found.n_other) == (1, 0)
    found = Decisions.of(table_of("a", "b", "w", "b"), "decision", ["a"], ["b"])
    assert (found.approved.sum(), found.declined.sum(), found.n_other) == (1, 2, 1)
    assert Decisions.of(table_of("a", "b", "w", "b"), "decision", ["a", "w"]).declined.sum() == 2
    assert Decisions.of(table_of("approved", "approved"), "decision").approved.all()
    assert Decisions.of(Table(("d",), (np.array([1.0, 0.0, np.nan]),)), "d", ["1"]).approved.tolist() == [True, False, False]
    assert Decisions.of(table_of("1.0", "0.0", None), "decision").approved.tolist() == [True, False, False]
    assert Decisions.of(table_of("APPROVED", "declined", " approved"), "decision").approved.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("values", "how", "words"),
    [
        (("approved", "declined", "withdrawn"), {}, "say which mean approved"),
        (("approved", "declined", "rejected"), {}, "say which mean approved"),
        (("in", "out"), {}, "say which mean approved"),
        (("yes", "approved"), {}, "say which mean approved"),
        ((None, None), {}, "no decision in any row"),
        (("a", "b"), {"approved": ["c"]}, "no value 'c'"),
        (("a", "b"), {"approved": ["a"], "declined": ["a"]}, "cannot mean both"),
    ],
)
def test_decisions_that_leave_doubt_are_refused(values, how, words):
    with pytest.raises((ValueError, ParameterError), match=words):
        Decisions.of(table_of(*values), "decision", **how)


def test_columns_that_hold_no_decisions_are_refused():
    model, table = points_model(), decided_table()
    for column, words in (
        ("risk", "is the target"),
        ("income", "is used by the model"),
        ("decission", "did you mean 'decision'"),
    ):
        with pytest.raises(ValueError, match=words):
            overrides(model, table, column)
    with pytest.raises(ValueError, match="no column 'reason'"):
        overrides(model, table, "decision", reason="reason")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        overrides(model, table, "decision", cutoff=1.5)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(points_model().saved, "model.json")
    table = decided_table()
    code = [f"=1+1 {each}\n" if each else each for each in np.asarray(table["code"])]
    rows = zip(*(np.asarray(table[name]).tolist() for name in table.names[:-1]), code, strict=True)
    with open("data.csv", "w", newline="") as file:
        csv.writer(file).writerows([table.names, *(["" if v is None or v != v else v for v in row] for row in rows)])
    return ["overrides", "model.json", "data.csv", "--decision", "decision", "--approved", "granted"]


def test_the_command_prints_writes_and_gives_all_to_programs(files, tmp_path, capsys):
    assert main([*files, "--reason", "code", "--output", "out.csv"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "rows: 800, 16 without a decision" in printed
    assert "=1+1 A1" in printed  # on one line
    assert main([*files, "--reason", "code", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    with open("out.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 4 * 11
    assert [int(row["rows"]) for row in written[:4]] == [group["n_rows"] for group in found["groups"]]
    assert float(written[0]["bad_rate"]) == found["groups"][0]["bad_rate"]
    assert set(found["rates"]) == set(AGREED)
    assert len(found["conclusions"]) == 2


def test_the_command_overwrites_nothing_and_says_what_is_wrong_on_one_line(files, tmp_path, capsys):
    (tmp_path / "out.csv").write_text("mine")
    for arguments, words in (
        ([*files, "--output", "out.csv"], "--force"),
        ([*files[:4], "nothing", *files[5:]], "no column 'nothing'"),
        ([*files[:5], "--approved", "yes"], "no value 'yes'"),
        ([*files[:4], "code"], "(--approved)"),
        ([*files, "--output", "model.json", "--force"], "is read by this command"),
        ([*files, "--cutoff", "7"], "(--cutoff)"),
        ([*files, "--grades", "x"], "--grades"),
    ):
        assert main(arguments) != 0
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        assert words in line
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert main([*files, "--output", "out.csv", "--force"]) == 0
