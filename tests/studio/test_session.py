"""What an analyst does, without a server: choices, their prices, the way back, and the file that is saved."""

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from threading import Event

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.studios import LOANS, bench_of, loans, session_of
from quadric import load_model
from quadric.estimators.overview import Overview
from quadric.geometry.terms import term_factors, term_names
from quadric.progress import advance
from quadric.studio.choices import ChoiceError
from quadric.tables import TableStream, as_table
from quadric.workflow import TrainingOptions, train
from quadric.workflow.bench import Bench

FIXED = TrainingOptions(k=4, C=16.0, loss="least_squares", terms="quadratic")


@pytest.fixture(scope="module")
def bench():
    return bench_of(FIXED)


@pytest.fixture
def session(bench, tmp_path):
    session = session_of(bench, tmp_path)
    yield session
    session.close()


def settled(session, seconds=60.0):
    """The state when the folds have caught up."""
    end = time.monotonic() + seconds
    while not session.state()["settled"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    return session.state()


def terms_of(state):
    return {line["term"] for line in state["equation"]["lines"]}


def test_rules_hold_and_every_step_can_be_undone(session):
    first = session.state()
    forbidden = sorted(terms_of(first))[0]
    state = session.do({"do": "forbid", "term": forbidden})
    assert forbidden not in terms_of(state)
    forced = next(term for term in session.start()["terms"] if term not in terms_of(state) | {forbidden})
    state = session.do({"do": "force", "term": forced})
    assert forced in terms_of(state)
    state = session.do({"do": "k", "k": 6})
    assert (state["k"], len(state["equation"]["lines"])) == (6, 6)
    assert forced in terms_of(state)
    assert forbidden not in terms_of(settled(session))
    assert [step["words"] for step in state["steps"][1:]] == [f"forbid {forbidden}", f"force {forced}", "6 terms"]
    assert session.state()["told"] < session.state()["told"]
    assert session.do({"do": "go", "step": 0})["equation"] == settled(session)["equation"]
    assert terms_of(session.state()) == terms_of(first)
    assert session.do({"do": "go", "step": 3})["k"] == 6
    assert len(session.do({"do": "release", "term": forced})["steps"]) == 5
    session.do({"do": "go", "step": 1})
    assert len(session.do({"do": "C", "C": 4.0})["steps"]) == 3  # what was undone is given up


def test_a_column_that_is_left_out_is_in_no_term(session):
    for column, name in (("age", "age"), ("housing", "housing=")):
        state = session.do({"do": "column", "column": column, "out": True})
        assert not [term for term in terms_of(state) if name in term]
        assert column in state["rules"]["left_out"]
    state = session.do({"do": "column", "column": "age", "out": False})
    assert state["rules"]["left_out"] == ["housing"]


def test_the_way_along_k_is_told_with_bounds_below(session):
    settled(session)
    deadline = time.monotonic() + 60
    while session.bench.known_bounds(session.options) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    objective = session.bench.path(session.options).objective[0]
    bounds = session.bench.known_bounds(session.options)
    assert (np.diff(objective) <= 1e-9 * objective[0]).all()
    assert (bounds <= objective * (1 + 1e-9)).all()


def test_rules_on_slopes_are_proved_and_saved(session, tmp_path):
    state = session.do({"do": "monotone", "column": "income", "sign": "never rises"})
    state = session.do({"do": "monotone", "column": "age", "sign": "never rises"})
    assert state["rules"]["signs"] == {"income": "never rises", "age": "never rises"}
    state = settled(session)
    assert [words for words in state["proof"] if words.startswith("proved: never rises with income")]
    rises = session.bench.draft(session.options)
    raw = {name: session.bench.raw[name].copy() for name in session.bench.raw.names}
    higher = as_table({**raw, "income": raw["income"] + 500.0})
    assert (rises.view.decision(higher) <= rises.view.decision(session.bench.raw) + 1e-12).all()
    session.save("ruled")
    assert load_model(tmp_path / "ruled.model.json").estimator_[-1].certificates_[0].monotone[0].proved
    state = session.do({"do": "monotone", "column": "age", "sign": "may rise or fall"})
    assert state["rules"]["signs"] == {"income": "never rises"}
    with pytest.raises(ValueError, match="incom"):
        session.do({"do": "monotone", "column": "incom", "sign": "never rises"})


def test_loss_and_C_are_chosen_by_the_folds(session):
    told = []
    stop = session.listen(told.append)
    session.choose()
    deadline = time.monotonic() + 60
    while len(session.state()["steps"]) == 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stop()
    state = settled(session)
    chosen = session.options
    assert state["steps"][1]["words"] == f"loss {chosen.loss} and C = {chosen.C:g}, chosen by the folds"
    again = train(session.table, "risk", replace(FIXED, loss="auto", C=None)).classifier
    assert (again.loss, again.C, again.k) == (chosen.loss, chosen.C, 4)


def test_a_report_is_written_beside_the_page(session, tmp_path):
    told = []
    session.listen(told.append)
    path = tmp_path / "mine.report.html"
    assert session.report("mine")["saved"] == f"Writing {path}"
    deadline = time.monotonic() + 60
    while {"saved": f"Saved: {path}"} not in told:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "<title>mine" in path.read_text()
    with pytest.raises(ChoiceError, match="exists"):
        session.report("mine")
    with pytest.raises(ChoiceError, match="without a folder"):
        session.report("../mine")


def until(found, seconds=60.0):
    """What a function finds, as soon as that is something."""
    end = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return answer


@pytest.mark.parametrize("sign", ["may rise or fall", "never rises"])
def test_near_ties_have_the_prices_of_fits_with_other_terms(session, sign):
    """The objective is that of a fit that is left no choice of terms, under the same rules."""
    session.do({"do": "monotone", "column": "income", "sign": sign})
    ties = until(lambda: session.bench.known_ties(session.options))
    bench, options = session.bench, session.options
    own = bench.trained(options)
    objective = own.classifier.certificates_[0].objective
    names = term_names(own.data.feature_names)
    terms = {names[term] for term in np.flatnonzero(own.classifier.coef_[0])}
    assert 3 <= len(ties) <= 8
    for tie in ties[:3]:
        others = {*terms} - {names[tie.out]} | {names[tie.into]}
        fitted = train(session.table, "risk", replace(options, include=tuple(others), loss="least_squares"))
        np.testing.assert_allclose(fitted.classifier.certificates_[0].objective, objective * (1 + tie.cost), rtol=1e-8)
        assert tie.cost >= 0
    state = session.do({"do": "swap", "out": names[ties[0].out], "into": names[ties[0].into]})
    assert names[ties[0].into] in terms_of(state)
    assert names[ties[0].out] not in terms_of(state)


def test_a_near_tie_has_the_price_out_of_fold_that_the_history_then_gives_it(session):
    tie = until(lambda: [tie for tie in session.state()["ties"] or [] if tie["score"]])[0]
    session.do({"do": "swap", "out": tie["out"], "into": tie["into"]})
    price = until(lambda: session.state()["steps"][-1]["price"])
    assert tie["score"].endswith(" out of fold")
    assert price.split(", ")[-1] == tie["score"]


def test_objectives_of_drafts_are_compared_with_drafts_and_called_estimates(session):
    """Forbidding a term never lowers an objective: a fit is not compared with a short search."""
    settled(session)
    for term in sorted(terms_of(session.state())):
        session.do({"do": "go", "step": 0})
        state = session.do({"do": "forbid", "term": term})
        if not state["settled"]:
            assert "% (estimate)" in state["steps"][-1]["price"]
    until(lambda: "estimate" not in session.state()["steps"][-1]["price"])
    before, after = (step.options for step in session._history.steps)
    fits = [train(session.table, "risk", own).classifier.certificates_[0].objective for own in (before, after)]
    change = 100 * (fits[1] / fits[0] - 1)
    assert change > 0
    assert session.state()["steps"][-1]["price"].startswith(f"objective {change:+.2f} %, log-loss ")


def test_steps_that_are_passed_quickly_get_their_prices_too(session):
    for C in (2.0, 3.0, 5.0):
        session.do({"do": "C", "C": C})
        session.do({"do": "k", "k": 6 if session.options.k == 4 else 4})
    assert not all("out of fold" in step["price"] for step in session.state()["steps"][1:])
    until(lambda: all("out of fold" in step["price"] for step in session.state()["steps"][1:]))
    state = until(lambda: (state := session.state())["steps"][-1]["price"].startswith("objective") and state)
    bench, steps = session.bench, session._history.steps
    for before, after, told in zip(steps[:-1], steps[1:], state["steps"][1:], strict=True):
        change = bench.scores(after.options)[:, bench.ks(after.options).index(after.options.k)].mean()
        change -= bench.scores(before.options)[:, bench.ks(before.options).index(before.options.k)].mean()
        assert told["price"].split(", ")[-1] == f"log-loss {change:+.4f} out of fold".replace(" -", " \u2212")


def test_prices_stay_with_the_steps_when_the_bench_forgets(tmp_path, monkeypatch):
    """A choice costs the same work, however many came before it."""
    monkeypatch.setattr("quadric.workflow.bench.MOST_KEPT", 3)
    made = []
    of_path = Overview.path
    monkeypatch.setattr(Overview, "path", lambda self, search: made.append(search.Cs) or of_path(self, search))
    session = session_of(bench_of(FIXED), tmp_path)
    session._worker.do = lambda work: None  # only what a choice itself does
    prices = []
    for C in range(1, 9):
        made.clear()
        state = session.do({"do": "C", "C": float(C)})
        assert len(made) <= 1
        state = session.do({"do": "forbid", "term": sorted(terms_of(state))[0]})
        assert len(made) <= 2
        assert [step["price"] for step in state["steps"]][: len(prices)] == prices
        prices = [step["price"] for step in state["steps"]]
    assert all("objective" in price for price in prices[2::2])
    session.close()


def test_the_model_on_the_page_is_not_forgotten_while_older_steps_are_fitted(tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.workflow.bench.MOST_KEPT", 3)
    session = session_of(bench_of(FIXED), tmp_path)
    for C in range(1, 8):
        session.do({"do": "C", "C": float(C)})
    until(lambda: not session._history.unfitted)
    assert session.state()["settled"]
    session.close()


def test_columns_that_are_called_like_terms(tmp_path):
    """Ties, rules and the saved options of a table whose names of terms could mean two things."""
    rng = np.random.default_rng(5)
    table = {name: rng.normal(size=400) for name in ("x", "x^2", "y", "x*y")}
    f = table["x"] + table["x"] ** 2 - table["x^2"] + table["x*y"] + table["x"] * table["y"] + rng.normal(size=400)
    table["risk"] = np.where(f > 1, "bad", "good")
    session = session_of(bench_of(replace(FIXED, k=5), table), tmp_path)
    ties = until(lambda: session.state()["ties"])
    state = settled(session)
    assert {'"x"^2', '"x^2"', '"x*y"', '"x"*"y"'} <= terms_of(state)
    for term in sorted(terms_of(state)):
        session.do({"do": "go", "step": 0})
        assert term not in terms_of(session.do({"do": "forbid", "term": term}))
        state = session.do({"do": "force", "term": term})
        assert [line["forced"] for line in state["equation"]["lines"] if line["term"] == term] == [True]
    session.do({"do": "go", "step": 0})
    state = session.do({"do": "swap", "out": ties[0]["out"], "into": ties[0]["into"]})
    assert ties[0]["into"] in terms_of(state)
    again = train(as_table(table), "risk", session.options).classifier
    assert again.coef_.tolist() == session.bench.trained(session.options).classifier.coef_.tolist()
    for column in ("x^2", "x*y"):
        session.do({"do": "go", "step": 0})
        state = session.do({"do": "column", "column": column, "out": True})
        assert state["rules"]["left_out"] == [column]
        own = session.bench.rows.data.feature_names.index(column)
        left, right = term_factors(4)
        drafted = np.flatnonzero(session.bench.draft(session.options).surface.coordinates())
        assert own not in {*left[drafted], *right[drafted]}
    session.compare(None, None)
    assert len(session.state()["compared"]["terms"]) == 5
    session.close()


def test_terms_that_were_written_in_another_order_are_the_same_terms(tmp_path):
    session = session_of(bench_of(replace(FIXED, include=("income*age",))), tmp_path)
    assert [line["forced"] for line in session.state()["equation"]["lines"] if line["term"] == "age*income"] == [True]
    state = session.do({"do": "forbid", "term": "income*age"})
    assert (state["rules"]["include"], state["rules"]["exclude"]) == ([], ["age*income"])
    session.close()


def test_a_comparison_follows_later_choices(session):
    session.keep("four")
    assert session.state()["compared"] is None
    compared = session.compare(0, None)["compared"]
    state = session.do({"do": "k", "k": 7})
    assert len([row for row in state["compared"]["terms"] if row[2]]) == 7
    assert state["compared"] != compared
    assert settled(session)["compared"]["differ"].endswith("out of fold.")
    session.keep("seven")
    session.compare(1, 0)
    assert session.drop(1)["compared"] is None


def test_only_a_choice_that_is_accepted_ends_work(session, monkeypatch):
    until(lambda: session.bench.known_ties(session.options))
    going, ended = Event(), []

    def proof(options):
        for _ in range(3000):
            advance(0.5, "a proof")
            if going.wait(0.01):
                ended.append("proved")
                return

    monkeypatch.setattr(session.bench, "proved_sets", proof)
    session.prove()
    refused = {"do": "force", "term": "agee"}, {"do": "go", "step": 99}, {"do": "C", "C": -1}
    for choice in (*refused, {"do": "k", "k": 4}, {"do": "undo"}, {"do": "redo"}, {"do": "go", "step": 0}):
        with suppress(ValueError):
            session.do(choice)
    assert ended == []
    going.set()
    until(lambda: ended)
    going.clear()
    ended.clear()
    session.prove()
    session.do({"do": "k", "k": 6})
    going.set()
    settled(session)
    assert ended == []


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_bounds_along_k_come_with_every_loss(session, loss):
    session.do({"do": "loss", "loss": loss})
    bounds = until(lambda: session.bench.known_bounded(session.options)).lower_bound[0]
    objective = session.bench.path(session.options).objective[0]
    assert (bounds > 0.7 * objective).all()
    assert (bounds <= objective * (1 + 1e-9)).all()
    fitted = [train(session.table, "risk", replace(session.options, k=k)) for k in (2, 4)]
    ks = session.bench.ks(session.options)
    for one in fitted:
        assert bounds[ks.index(one.options.k)] <= one.classifier.certificates_[0].objective * (1 + 1e-9)


def test_prices_of_a_random_sample_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr("quadric.samples.capped.is_better_in_memory", lambda *_: False)
    file, table = tmp_path / "loans.parquet", loans()
    pq.write_table(pa.table({name: table[name] for name in table.names}), file)
    session = session_of(Bench(TableStream(file, text=["risk"]), "risk", FIXED), tmp_path, file.name)
    words = session.state()["ties_words"]
    assert words == "Prices in the objective are those of a random sample: 800 of the 800 rows."
    session.close()


def test_a_proof_says_how_far_near_ties_are_all(session):
    """Against all sets of two terms, each fitted by itself."""
    session.do({"do": "terms", "kind": "linear"})
    session.do({"do": "k", "k": 2})
    settled(session)
    assert session.state()["sets"] is None
    session.prove()
    deadline = time.monotonic() + 60
    while session.state()["sets"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    names = session.bench.under(session.options).data.feature_names
    own = {term["term"] for term in session.state()["equation"]["lines"] if "term" in term}
    best = session.bench.trained(session.options).classifier.certificates_[0].objective
    costs = {}
    for pair in map(set, combinations(names, 2)):
        fitted = train(session.table, "risk", replace(session.options, include=tuple(pair), cross_validate=False))
        costs[frozenset(pair)] = fitted.classifier.certificates_[0].objective / best - 1
    low = {pair: cost for pair, cost in costs.items() if cost <= 0.1 and pair != own}
    others, texts = session.bench.known_sets(session.options).sets, session.bench.terms
    assert {frozenset(map(texts.text, each.terms)) for each in others} == {*low}
    np.testing.assert_allclose([each.cost for each in others], sorted(low.values()), rtol=1e-8, atol=1e-10)
    sets = session.state()["sets"]
    found = f"{len(low)} other set{'s' * (len(low) != 1)}"
    assert sets["words"] == f"{found} of terms at a price of at most 10 % of the objective: all that cost at most 10.00 %."
    assert len(sets["best"]) == min(8, len(low)) > 0


def test_a_row_is_explained_by_the_equation_on_the_page(session):
    answer = session.explain(7)
    assert answer["lines"][0].startswith("row 7: score ")
    assert dict(answer["values"])["age"] == "{:g}".format(session.table["age"][7])
    before = answer["lines"]
    session.do({"do": "forbid", "term": "income"})
    assert session.explain(7)["lines"] != before
    for row in (-1, 800, 1.5, None, True, "7"):
        with pytest.raises(ChoiceError, match="the rows are 0 to 799"):
            session.explain(row)


def test_candidates_are_compared_by_terms_and_by_the_rows_that_change_side(session):
    session.keep("four", "the first one")
    session.do({"do": "k", "k": 7})
    answer = session.compare(0, None)["compared"]
    drafts = [session.bench.draft(options) for options in (FIXED, replace(FIXED, k=7, cross_validate=True))]
    assert answer["names"] == ["four", "now"]
    assert len([row for row in answer["terms"] if row[2]]) == 7
    labels = [draft.view.decided(draft.decision)[0] for draft in drafts]
    if "out of fold" not in answer["differ"]:
        assert sum(int(row[2]) for row in answer["groups"]) == int((labels[0] != labels[1]).sum())
    settled(session)
    session.do({"do": "go", "step": 0})
    settled(session)
    answer = session.compare(0, 0)["compared"]
    assert answer["differ"] == "The two label 0 of 800 rows differently, out of fold."
    assert answer["groups"] == [["good", "bad", "0", "0", "0"], ["bad", "good", "0", "0", "0"]]
    assert session.drop(0)["candidates"] == []
    for numbers in ((0, None), ("0", None), (-1, None)):
        with pytest.raises(ChoiceError, match="no such candidate"):
            session.compare(*numbers)
    for name in ("", "  ", None, 3):
        with pytest.raises(ChoiceError, match="give the candidate a name"):
            session.keep(name)


def test_drafts_are_as_good_as_fits_or_nearly(bench):
    """The draft is a short search of the same problem: with the same terms, the same equation."""
    for k in (2, 3, 5):
        options = replace(FIXED, k=k)
        cell = bench.path(options).cells[0][bench.ks(options).index(k)]
        fitted = bench.trained(options).classifier
        objective = fitted.certificates_[0].objective
        assert objective <= cell.objective * (1 + 1e-9)
        if np.array_equal(np.flatnonzero(fitted.coef_[0]), np.sort(cell.terms)):
            np.testing.assert_allclose(fitted.coef_[0][cell.terms], cell.z, rtol=1e-8)


def test_what_is_saved_is_what_a_fit_with_the_same_options_gives(session, tmp_path):
    session.do({"do": "forbid", "term": sorted(terms_of(session.state()))[0]})
    session.do({"do": "cutoff", "cutoff": 0.3})
    answer = session.save("tried", "the committee asked")
    saved = json.loads((tmp_path / "tried.model.json").read_text())
    assert answer["saved"].startswith(f"Saved: {tmp_path / 'tried.model.json'}; it stands on loans.csv with SHA-256 ")
    assert saved["metadata"]["studio"]["notes"] == "the committee asked"
    assert [step["words"] for step in saved["metadata"]["studio"]["steps"]][2] == "the cut-off 0.3"
    again = train(session.table, "risk", session.options).saved()
    alone = Bench(session.table, "risk", session.options).trained(session.options).saved()
    for other in (again, alone):
        loaded = load_model(tmp_path / "tried.model.json")
        one, two = loaded.estimator_, other.model.estimator_
        assert loaded.cutoff_ == other.model.cutoff_ == 0.3
        assert [surface.coordinates().tolist() for surface in one[-1].surfaces_] == [
            surface.coordinates().tolist() for surface in two[-1].surfaces_
        ]
        assert loaded.calibrators_ == other.model.calibrators_
    with pytest.raises(ChoiceError, match="exists"):
        session.save("tried", "")


@pytest.mark.parametrize(("ending", "is_gathered"), [("csv", True), ("parquet", True), ("parquet", False)])
def test_a_file_that_changes_or_goes_away_takes_nothing_with_it(tmp_path, monkeypatch, ending, is_gathered):
    monkeypatch.setattr("quadric.samples.capped.is_better_in_memory", lambda *_: is_gathered)
    file = tmp_path / f"loans.{ending}"
    if ending == "csv":
        file.write_bytes(LOANS.read_bytes())
    else:
        table = loans()
        pq.write_table(pa.table({name: table[name] for name in table.names}), file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    session = session_of(Bench(TableStream(file, text=["risk"]), "risk", FIXED), tmp_path, file.name)
    assert session.state()["source"] == session.source()["source"] == ""
    file.write_bytes(file.read_bytes() + b"\n")
    where = "all that you do and save here stands on the rows as they were read."
    assert session.source() == {"source": f"{file.name} has changed: {where}"}
    assert session.do({"do": "k", "k": 5})["k"] == 5
    file.unlink()
    state = session.do({"do": "forbid", "term": "age"})
    assert state["source"] == f"{file.name} cannot be found any more: {where}"
    settled(session)
    said = session.save("kept")["saved"]
    session.close()
    assert said.endswith(f"kept.model.json; it stands on {file.name} with SHA-256 {digest}.")
    saved = load_model(tmp_path / "kept.model.json").estimator_[-1].surfaces_[0].coordinates()
    again = train(loans(), "risk", session.options).classifier.surfaces_[0].coordinates()
    assert saved.tolist() == again.tolist()


@pytest.mark.parametrize("name", ["", ".", "..", "../out", "/tmp/out", "a/b", ".hidden", "a\\b", "a\nb", 7, None, "x" * 300])
def test_files_are_written_to_the_folder_alone(session, tmp_path, name):
    with pytest.raises(ChoiceError, match="without a folder"):
        session.save(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({}, "do must be one of"),
        ({"do": "k", "k": "4"}, "k must be a whole number, got '4'"),
        ({"do": "k", "k": 4000}, "there is no equation with 4000 terms"),
        ({"do": "force", "term": "agee"}, "did you mean 'age'"),
        ({"do": "forbid", "term": ["age"]}, "term must be a text"),
        ({"do": "column", "column": "nobody", "out": True}, "there is no column 'nobody'"),
        ({"do": "loss", "loss": "l2"}, "loss must be one of"),
        ({"do": "C", "C": -1}, "C must be"),
        ({"do": "C", "C": float("nan")}, "C must be"),
        ({"do": "cutoff", "cutoff": 1.5}, "between 0 and 1"),
        ({"do": "hierarchy", "rule": "any"}, "rule must be one of no, weak, strong, got 'any'"),
        ({"do": "terms", "kind": "cubic"}, "kind must be one of linear, quadratic"),
        ({"do": "go", "step": 99}, "no such step"),
        ({"do": "swap", "out": "age"}, "into must be a text"),
    ],
)
def test_choices_that_make_no_sense_change_nothing(session, choice, words):
    before = session.state()
    with pytest.raises(ValueError, match=words):
        session.do(choice)
    assert session.state()["steps"] == before["steps"]


def test_all_columns_left_out_is_refused(session):
    columns = session.start()["columns"]
    for column in columns[:-1]:
        session.do({"do": "column", "column": column, "out": True})
    with pytest.raises(ValueError, match=r"the rules leave no term|contradict"):
        session.do({"do": "column", "column": columns[-1], "out": True})
    assert len(session.state()["steps"]) == len(columns)


def test_newer_choices_make_older_work_void(session):
    """Whatever is chosen while folds run: in the end the page shows the fit of the last choice."""
    for k in (2, 3, 5, 7):
        session.do({"do": "k", "k": k})
    state = settled(session)
    assert state["k"] == 7
    assert state["measures"][0]["out_of_fold"]
    assert [step["words"] for step in state["steps"]] == ["the model to begin with", "7 terms"]


def test_more_terms_than_there_are_mean_all_of_them(tmp_path):
    table = {"x": np.random.default_rng(0).normal(size=90)}
    table["risk"] = np.where(table["x"] + np.random.default_rng(1).normal(size=90) > 0, "bad", "good")
    session = session_of(bench_of(replace(FIXED, k=50), table), tmp_path)
    assert (session.state()["k"], session.state()["ks"]) == (2, [1, 2])
    session.close()


def test_three_classes_are_refused():
    with pytest.raises(ValueError, match="two classes, and the target has 3"):
        bench_of(replace(FIXED, k=1), {"x": np.random.default_rng(0).normal(size=60), "risk": np.tile(list("abc"), 20)})


def test_the_slider_takes_the_place_of_its_own_last_step_only(session):
    forbidden = sorted(terms_of(session.state()))[0]
    session.do({"do": "forbid", "term": forbidden})
    steps = session._history.steps
    steps[-1] = replace(steps[-1], words="forbid loan terms")  # as the column may be called
    session.do({"do": "k", "k": 6})
    session.do({"do": "k", "k": 5})
    words = [step["words"] for step in session.state()["steps"]]
    assert words == ["the model to begin with", "forbid loan terms", "5 terms"]
