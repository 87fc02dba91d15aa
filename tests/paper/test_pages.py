"""Tables, figures, claims and pages are what the rows say."""

import csv
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from quadric.datasets import resolve
from quadric.paper.claims import (
    FAILS,
    HOLDS,
    PARTLY,
    UNCHECKED,
    abalone_coded_alphabetically,
    abalone_needs_a_larger_c2,
    better_optimum_generalises,
    claims,
    flat_beyond_some_k,
    l0_models_win,
    l1_misses_counts,
    l1_turns_linear,
)
from quadric.paper.experiments import Plan, pattern_tasks
from quadric.paper.figures import FIGURES, coefficients
from quadric.paper.page import DOCUMENTATION, gather, rendered, write_everything
from quadric.paper.protocol import OUTER_SPLITS, splits_of
from quadric.paper.results import is_within, outliers, published, table_cells, trend
from quadric.paper.store import Store, StoreError
from quadric.paper.tables import TextTable, latex_escaped, result_table
from quadric.paper.tasks import Task, grid_cells

IDENTITY = {"version": "1", "protocol": "nested", "seed": 0}
MODELS = ("ls-svm", "l0-qsvm", "ls-l0-qsvm")


def row(task, accuracy, f1=None):
    f1 = [value / 2 for value in accuracy] if f1 is None else f1
    return {"key": task.key, "accuracy": list(map(float, accuracy)), "f1": list(map(float, f1))}


def add_constant_cells(store, model, dataset, accuracy, f1):
    """The same scores in every cell and outer fold."""
    n_cells = len(grid_cells(model, dataset))
    for split in OUTER_SPLITS:
        store.add(row(Task("grid", dataset, model, split), [accuracy] * n_cells, [f1] * n_cells), 3.0, 2.0)


@pytest.fixture
def store(tmp_path):
    """Iris with made-up scores: cell i of a grid scores level + i in outer folds, and the first cell wins in inner ones."""
    store = Store(tmp_path, IDENTITY)
    for model, level in zip(MODELS, (10.0, 5.0, 3.0), strict=True):
        n_cells = len(grid_cells(model, "iris"))
        for split in splits_of("nested"):
            scores = level + np.arange(n_cells) + split.outer if split.inner is None else -np.arange(n_cells)
            store.add(row(Task("grid", "iris", model, split), scores), 3.0, 2.0)
    return store


@pytest.fixture
def plan():
    return Plan.of(["table2", "claims"], MODELS, ["iris"], reading="nested")


def test_cells_hold_both_readings_and_the_papers_figures(plan, store):
    cell = table_cells(plan, store, "table2")[0][0]
    assert cell.ours.accuracy_mean == pytest.approx(10 + 12 + 2)
    assert cell.ours.accuracy_std == pytest.approx(np.std(range(5), ddof=1))
    assert cell.ours.f1_mean == pytest.approx(12.0)
    assert cell.nested.accuracy_mean == pytest.approx(10 + 2)
    assert cell.chosen == {"C": 0.25}  # the last of LS-SVM's cells: ties go to the larger C, so it stands last
    assert cell.deviations["accuracy"] == pytest.approx((24 - 83.33) / 8.50)


def test_a_missing_row_leaves_its_cell_empty(plan, tmp_path):
    cell = table_cells(plan, Store(tmp_path / "empty", IDENTITY), "table2")[0][0]
    assert (cell.ours, cell.nested, cell.deviations) == (None, None, {})
    assert result_table(plan, Store(tmp_path / "empty", IDENTITY), "table2").rows[0][2] == "not computed"


def test_private_data_say_so():
    plan = Plan.of(["table4"], ["ls-svm"], ["ccc"])
    assert plan.tasks() == [] or resolve("ccc").obtained != "private"
    assert [info.name for info in plan.missing_data()] == ["ccc"]


def test_the_best_of_a_data_set_is_bold_and_only_it(plan, store):
    table = result_table(plan, store, "table2")
    best = 3 + len(grid_cells("ls-l0-qsvm", "iris")) - 1 + 2
    bold = [line for line in table.rows if line[2].startswith("**")]
    assert [line[1] for line in bold] == ["l0-QSVM"]
    assert bold[0][2].startswith(f"**{best + 2:.2f}")


def test_the_best_accuracy_and_the_best_f1_are_bold_each_for_itself(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    for model, accuracy, f1 in (("ls-svm", 90.0, 50.0), ("l0-qsvm", 80.0, 70.0), ("ls-l0-qsvm", 90.0, 60.0)):
        add_constant_cells(store, model, "iris", accuracy, f1)
    table = result_table(plan, store, "table2")
    places = [table.header.index(name) for name in ("acc ours", "F1 ours")]
    bold = [[line[1] for line in table.rows if line[place].startswith("**")] for place in places]
    assert bold == [["LS-SVM", "LS-l0-QSVM"], ["l0-QSVM"]]
    assert sum(text.startswith("**") for line in table.rows for text in line) == 3
    assert "the best accuracy and the best F1" in table.caption


@pytest.mark.parametrize("reading", ["paper", "nested"])
def test_every_column_has_a_name_of_its_own_and_nested_stands_after_ours(plan, store, reading):
    header = result_table(replace(plan, reading=reading), store, "table2").header
    assert len(set(header)) == len(header)
    for figure in ("acc", "F1"):
        start = header.index(f"{figure} ours")
        names = ["ours", "nested", "paper", "diff"] if reading == "nested" else ["ours", "paper", "diff"]
        assert list(header[start : start + len(names)]) == [f"{figure} {name}" for name in names]


def test_outliers_are_outside_in_accuracy_or_f1_and_say_which(tmp_path):
    paper = {model: published("table2", model, "haberman") for model in MODELS}
    store = Store(tmp_path, IDENTITY)
    add_constant_cells(store, "ls-svm", "haberman", paper["ls-svm"].accuracy_mean, paper["ls-svm"].f1_mean)
    add_constant_cells(store, "l0-qsvm", "haberman", paper["l0-qsvm"].accuracy_mean, 0.0)
    add_constant_cells(store, "ls-l0-qsvm", "haberman", 99.0, 99.0)
    plan = Plan.of(["table2"], MODELS, ["haberman"])
    found = outliers(plan, store)
    assert [(cell.model, figures) for cell, figures, _ in found] == [("l0-qsvm", ("F1",)), ("ls-l0-qsvm", ("accuracy", "F1"))]
    assert "predicts everything negative" in found[0][2]
    text = rendered(DOCUMENTATION, gather(plan, store, "quadric paper"))
    assert "- l0-QSVM on haberman: F1 0.00 against 19.11 ± 13.18 (-1.45 deviations): cells are chosen by accuracy" in text
    assert "- LS-l0-QSVM on haberman: accuracy 99.00 against" in text


def test_a_whole_number_of_deviations_is_within_whatever_the_last_bits_say():
    assert is_within((77.40 - 76.30) / 0.55, 2.0)
    assert (77.40 - 76.30) / 0.55 > 2.0
    assert not is_within(-1.0001, 1.0)
    paper = published("table2", "ls-svm", "iris")
    assert is_within((paper.accuracy_mean - paper.accuracy_std - paper.accuracy_mean) / paper.accuracy_std, 1.0)


def test_a_table_is_the_same_in_every_format(plan, store):
    table = TextTable("t", "a caption", ("a|b", "x_y"), [("<3>", "**1 & 2**")])
    assert list(csv.reader(io.StringIO(table.csv()))) == [["a|b", "x_y"], ["<3>", "1 & 2"]]
    assert table.markdown() == "| a\\|b | x_y |\n| --- | --- |\n| <3> | **1 & 2** |\n"
    assert r"<3> & \textbf{1 \& 2} \\" in table.latex()
    page = rendered("index.html", gather(plan, store, "quadric paper") | {"tables": [table]})
    assert '<tr><th scope="row">&lt;3&gt;</th><td><strong>1 &amp; 2</strong></td></tr>' in page
    assert latex_escaped("50% of a_b ± c") == r"50\% of a\_b $\pm$ c"


def test_trends_follow_one_parameter(store):
    x, accuracy = trend(store, "iris", "l0-qsvm", along="k", C=1024.0)
    cells = grid_cells("l0-qsvm", "iris")
    assert x.tolist() == [2, 4, 6, 8, 10, 12, 14]
    assert accuracy.tolist() == [5.0 + cells.index({"k": k, "C": 1024.0}) + 2 for k in x]


def test_winners_are_counted_among_the_papers_own_rows(plan, store):
    claim = l0_models_win(plan, store)
    assert claim.verdict == HOLDS
    assert claim.evidence[0] == "iris: best accuracy 76.00 (l0-QSVM), l0-QSVM 76.00; best F1 38.00 (l0-QSVM), l0-QSVM 38.00"


def test_winners_have_both_the_highest_accuracy_and_the_highest_f1(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    for model, accuracy, f1 in (("ls-svm", 80.0, 70.0), ("l0-qsvm", 90.0, 60.0), ("ls-l0-qsvm", 85.0, 65.0)):
        add_constant_cells(store, model, "iris", accuracy, f1)
    claim = l0_models_win(plan, store)
    assert claim.verdict == PARTLY
    assert "best F1 70.00 (LS-SVM), LS-l0-QSVM 65.00" in claim.evidence[0]


def test_a_curve_is_flat_if_it_moves_by_less_than_two_samples(tmp_path):
    """One of immunotherapy's 90 samples is 1.11 points."""
    store, plan = Store(tmp_path, IDENTITY), Plan.of(["claims"], MODELS, ["immunotherapy"])
    cells = grid_cells("l0-qsvm", "immunotherapy")
    scores = [60.0 if cell["k"] < 8 else 80.0 + (100 / 90) * (cell["k"] % 4 == 0) for cell in cells]
    for split in OUTER_SPLITS:
        store.add(row(Task("grid", "immunotherapy", "l0-qsvm", split), scores), 0.1, 0.1)
    claim = flat_beyond_some_k(plan, store)
    assert claim.verdict == HOLDS
    assert "within 1.67 points of its best (81.11 at k = 8) from k = 8 on" in claim.evidence[0]


@pytest.mark.parametrize(
    ("gains", "verdict", "says"),
    [((2.0, 1.0, 1.5), HOLDS, "clear"), ((3.0, -2.0, 0.5), FAILS, "no clear difference"), ((-2.0, -1.0, -1.5), FAILS, "clear")],
)
def test_a_better_optimum_generalises_better_only_beyond_two_standard_errors(tmp_path, gains, verdict, says):
    names = ["haberman", "immunotherapy", "iris"]
    store, plan = Store(tmp_path, IDENTITY), Plan.of(["table2"], ["l0-qsvm"], names, method="both")
    for name, gain in zip(names, gains, strict=True):
        add_constant_cells(store, "l0-qsvm", name, 70.0, 50.0)
        add_constant_cells(store, "l0-qsvm-best", name, 70.0 + gain, 50.0)
    claim = better_optimum_generalises(plan, store)
    error = np.std(gains, ddof=1) / np.sqrt(3)
    assert claim.verdict == verdict
    assert claim.evidence[0].startswith(
        f"mean difference {np.mean(gains):+.2f} ± {error:.2f} points (standard error), {says}; "
    )


@pytest.mark.parametrize(
    ("kind", "model", "claim"),
    [("coding", "ls-svm", abalone_coded_alphabetically), ("wider", "l1-qsvm", abalone_needs_a_larger_c2)],
)
def test_findings_on_abalone_compare_with_the_papers_row(tmp_path, kind, model, claim):
    paper, plan = published("table2", model, "abalone"), Plan.of(["claims"], [model], ["abalone"])
    spread = paper.accuracy_std * np.array([-1.0, -1.0, 0.0, 1.0, 1.0]), paper.f1_std * np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    for off, verdict in [(0.0, HOLDS), (5.0, FAILS)]:
        store = Store(tmp_path / verdict, IDENTITY)
        add_constant_cells(store, model, "abalone", paper.accuracy_mean - 3.0, paper.f1_mean - 3.0)
        for split, accuracy, f1 in zip(OUTER_SPLITS, *spread, strict=True):
            scores = [paper.accuracy_mean + accuracy + off], [paper.f1_mean + f1 + off]
            store.add(row(Task(kind, "abalone", model, split), *scores), 0.1, 0.1)
        found = claim(plan, store)
        assert found.verdict == verdict
        assert any(line.startswith("the paper: accuracy ") for line in found.evidence)


def test_the_reasons_on_abalone_name_the_findings(tmp_path):
    store = Store(tmp_path, IDENTITY)
    for model in ("lsvm", "l1-qsvm"):
        add_constant_cells(store, model, "abalone", 50.0, 50.0)
    reasons = [reason for _, _, reason in outliers(Plan.of(["table2"], ["lsvm", "l1-qsvm"], ["abalone"]), store)]
    assert "codes sex differently" in reasons[0]
    assert "C2" in reasons[1]


def test_what_cannot_be_checked_says_so(plan, tmp_path):
    assert {claim.verdict for claim in claims(plan, Store(tmp_path / "empty", IDENTITY))} == {UNCHECKED}


def test_l1_claims_read_the_counts(plan, tmp_path):
    store = Store(tmp_path, IDENTITY)
    counts = {"C1": [1.0, 2.0, 4.0], "C2": [1.0, 10.0], "in_W": [[5, 1, 0], [5, 4, 2]], "in_b": [[2, 2, 2], [2, 2, 2]]}
    store.add({"key": Task("l1-counts", "immunotherapy", "l1-qsvm").key, **counts}, 0.1, 0.1)
    linear = l1_turns_linear(plan, store)
    assert linear.verdict == "holds in part"
    assert linear.evidence == ("C2 = 1: W is zero from C1 = 4 on", "C2 = 10: W is zero not up to C1 = 4")
    missed = l1_misses_counts(plan, store)
    assert "[2, 3, 7]; never [4, 5, 6]" in missed.evidence[0]
    assert missed.verdict != FAILS


def test_figures_are_drawn_from_their_rows_and_repeat(tmp_path):
    store = Store(tmp_path, IDENTITY)
    assert [draw(store) for _, draw in FIGURES.values()] == [None] * 4
    for i, task in enumerate(pattern_tasks("figure1")):
        store.add({"key": task.key, "terms": [[0, 1.5], [3, -2.0], [34, 1.0]][: i + 1], "c": 0.5}, 0.1, 0.1)
    drawn = FIGURES["figure1"][1](store)
    assert drawn == FIGURES["figure1"][1](store)
    assert "3 terms" in drawn
    W, b = coefficients(store[pattern_tasks("figure1")[2].key], 7)
    assert (W[0, 0], W[0, 3], W[3, 0], b[6]) == (1.5, -2.0, -2.0, 1.0)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.scripts = [], 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.links += [value for name, value in attrs if name in ("src", "href") and value and not value.startswith("#")]


def test_the_page_is_whole_and_fetches_nothing(plan, store, tmp_path):
    findings = gather(plan, store, "quadric paper")
    text = rendered("index.html", findings)
    tags = Tags()
    tags.feed(text)
    assert tags.scripts == 0
    assert [link for link in tags.links if "w3.org" not in link] == []
    assert "default-src 'none'" in text
    assert "LS-l0-QSVM" in text


def test_the_setting_says_how_ties_are_decided_and_where_a_grid_is_shorter(store):
    both = gather(Plan.of(["table2"], [], [], method="both"), store, "quadric paper")
    for text in (rendered(DOCUMENTATION, both), rendered("index.html", both)):
        assert "equal means go to the smaller k" in text
        assert "LS-SVM and l1-SVM to the larger C" in text
        assert "only up to k = 62 on CTG" in text
    assert "only up to k" not in rendered(DOCUMENTATION, gather(Plan.of(["table2"]), store, "quadric paper"))


def test_times_are_summed_by_protocol_and_method(store, tmp_path, plan):
    """20 s a model and 5 outer folds of 2 s; 25 inner ones are apart, and so are the best terms."""
    store.add(row(Task("grid", "iris", "l0-qsvm-best", OUTER_SPLITS[0]), [1.0]), 9.0, 600.0)
    store.add_run(pieces=91, elapsed=330.0, n_jobs=2)
    text = rendered(DOCUMENTATION, gather(plan, Store(tmp_path, IDENTITY), "quadric paper"))
    lines = text[text.index("## Time") :].splitlines()
    detail = "(LS-SVM {0} s, l0-QSVM {0} s, LS-l0-QSVM {0} s)"
    assert f"- the paper's protocol, method pd: 30 s, about 0.2 min on two free cores {detail.format('10.0')}" in lines
    assert "- the paper's protocol, method best: 600 s, about 5.0 min on two free cores (l0-QSVM, best terms 600.0 s)" in lines
    inner = "- inner folds of the nested protocol, method pd: 150 s, about 1.2 min on two free cores"
    assert f"{inner} {detail.format('50.0')}" in lines
    assert "- elapsed: 91 tasks in 330 s (5.5 min) with n_jobs = 2" in lines


def test_figures_on_one_page_share_no_ids(store, plan):
    svg = '<?xml version="1.0"?><svg><defs><path id="a"/></defs><use xlink:href="#a" clip-path="url(#a)"/></svg>'
    figures = {"One": ("figure1", svg), "Two": ("figure2", svg)}
    text = rendered("index.html", gather(plan, store, "quadric paper") | {"figures": figures})
    assert Counter(re.findall(r'\bid="([^"]+)"', text)).most_common(1)[0][1] == 1
    for name in ("figure1", "figure2"):
        assert f'<path id="{name}-a"/></defs><use xlink:href="#{name}-a" clip-path="url(#{name}-a)"/>' in text


def test_a_folder_that_cannot_be_written_to_is_one_clear_line(plan, store, tmp_path):
    with pytest.raises(StoreError, match=r"cannot write .*gone.table2.csv: No such file.*finished rows are kept, run again"):
        write_everything(gather(plan, store, "quadric paper"), tmp_path / "gone")


def test_everything_is_written_and_repeats(plan, store, tmp_path):
    findings = gather(plan, store, "quadric paper")
    folder = tmp_path / "out"
    folder.mkdir()
    names = {path.name for path in write_everything(findings, folder)}
    assert {"table2.csv", "table2.md", "table2.tex", "cells.csv", "index.html", "reproduction.md"} <= names
    assert (folder / "reproduction.md").read_text() == rendered(DOCUMENTATION, findings)
    rows = list(csv.DictReader(io.StringIO((folder / "cells.csv").read_text())))
    assert {line["model"] for line in rows} == set(MODELS)
    assert float(rows[0]["nested_accuracy_mean"]) == pytest.approx(12.0)


def test_outer_splits_are_enough_for_the_papers_reading():
    tasks = Plan.of(["table2"], ["ls-svm"], ["iris"]).tasks()
    assert [task.split for task in tasks] == list(OUTER_SPLITS)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"parts": ["table9"]}, "table1"),
        ({"models": ["svm"]}, "ls-l0-qsvm"),
        ({"datasets": ["mnist"]}, "german"),
        ({"reading": "both"}, "nested"),
        ({"method": "fast"}, "best"),
    ],
)
def test_unknown_names_list_the_right_ones(arguments, names):
    with pytest.raises(ValueError, match=names):
        Plan.of(**arguments)


def test_the_best_terms_stand_after_the_model_they_vary():
    plan = Plan.of(["table2"], ["ls-svm", "ls-l0-qsvm"], ["iris"], method="both")
    assert plan.rows_of_tables() == ["ls-svm", "ls-l0-qsvm", "ls-l0-qsvm-best"]
    assert Plan.of(models=["ls-l0-qsvm"], method="best").rows_of_tables() == ["ls-l0-qsvm-best"]
