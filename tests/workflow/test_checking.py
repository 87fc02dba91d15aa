"""The look at a table: identifiers and leaks are found, measurements are left alone."""

import json
import warnings

import numpy as np
import pytest

from quadric.tables import Table, TableStream
from quadric.workflow import TableWarning, TrainingOptions, look_over, looked_at, prepare, train
from quadric.workflow.checking import MOST_ROWS, left_out, recorded_findings
from quadric.workflow.profiles import ColumnProfile, column_auc, is_disguise, is_named_so

M = 400


def texts(values):
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def table(**columns):
    return Table(tuple(columns), tuple(np.asarray(values) for values in columns.values()))


def target(rng, m=M):
    return texts(rng.choice(["no", "yes"], m))


def found(data, **how):
    return {(finding.kind, finding.columns) for finding in look_over(data, "y", **how).findings}


def identifiers(data, **how):
    return [name for kind, names in sorted(found(data, **how)) if kind == "identifier" for name in names]


@pytest.mark.parametrize("seed", range(20))
def test_measurements_are_never_identifiers(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(30, 3000))
    income = rng.permutation(np.cumsum(rng.integers(1, 80 * m, m))).astype(float)  # distinct whole numbers, far apart
    columns = {
        "id": rng.normal(size=m),  # a name proves nothing of fractions
        "sorted": np.sort(rng.normal(size=m)),
        "uniform": rng.random(m),
        "step": np.arange(m) * 0.1,
        "income": income,
        "sorted_income": np.sort(income),
        "salary": np.round(rng.lognormal(10, 0.5, m)),
        "age": rng.integers(18, 90, m).astype(float),
        "year": 1900.0 + np.arange(m),
        "number_of_rooms": income,
        "rank": rng.permutation(m).astype(float),
        "home": texts(rng.choice(["own", "rent", "free"], m)),
    }
    assert identifiers(table(**columns, y=target(rng, m))) == []


@pytest.mark.parametrize("seed", range(20))
def test_permuted_and_counting_numbers_are_identifiers(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(30, 3000))
    large = rng.permutation(np.cumsum(rng.integers(1, 10**6, m))).astype(float)
    columns = {
        "id": large,
        "CustomerNo": rng.permutation(large),
        "rows": np.arange(m) + 1.0,
        "steps": 10.0 * np.arange(m)[::-1],
        "shuffled": rng.permutation(m) + 1000.0,
        "gaps": np.sort(rng.choice(3 * m, m, replace=False)).astype(float),
        "code": texts(f"{value:x}-{value % 7}" for value in large.astype(int)),
    }
    names = identifiers(table(**columns, x=rng.normal(size=m), y=target(rng, m)))
    assert sorted(names) == sorted(columns)


def test_several_columns_of_ranks_are_no_identifiers(rng):
    ranks = {name: rng.permutation(M) + 1.0 for name in ("wealth", "crime", "lottery")}
    assert identifiers(table(**ranks, y=target(rng))) == []


@pytest.mark.parametrize(
    "name", ["id", "ID", "PassengerId", "customer_id", "EmployeeNumber", "account no", "uuid", "Unnamed: 0", "pidnum", "uid"]
)
def test_names_of_identifiers(name):
    assert is_named_so(name)


@pytest.mark.parametrize(
    "name", ["idle", "paid", "grid", "no_of_children", "number_of_rooms", "price_index", "x", "notes", "kidnum", ""]
)
def test_names_of_other_columns(name):
    assert not is_named_so(name)


def test_numbers_written_as_texts_are_no_identifiers(rng):
    amounts = texts(f"{value:,}" for value in rng.integers(10_000, 10**7, M))
    assert found(table(amount=amounts, x=rng.normal(size=M), y=target(rng))) == {("notation", ("amount",))}


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_column_that_separates_the_classes_is_a_leak(rng):
    y = target(rng)
    is_yes = y == "yes"
    columns = {
        "near": is_yes * 6.0 + rng.normal(size=M),
        "far": is_yes * 1.0 + rng.normal(size=M),
        "both_ends": np.where(is_yes, rng.choice([-1.0, 1.0], M), 0.0) + 0.01 * rng.normal(size=M),
        "levels": texts(np.where(is_yes, rng.choice(["a", "b"], M), rng.choice(["c", "d"], M))),
        "disguise": texts(np.where(is_yes, "ja", "nein")),
        "present": np.where(is_yes, rng.normal(size=M), np.nan),
    }
    kinds = {names[0]: kind for kind, names in found(table(**columns, y=y)) if kind in ("leak", "disguise")}
    assert kinds == {"near": "leak", "both_ends": "leak", "levels": "leak", "disguise": "disguise", "present": "leak"}


@pytest.mark.parametrize("seed", range(10))
def test_texts_with_many_levels_do_not_fake_a_leak(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, M)
    for n_levels in (2, 50, 300):
        levels = texts(f"n{value}" for value in rng.integers(0, n_levels, M))
        profile = ColumnProfile.of("home", table(home=levels))
        assert column_auc(profile, y, 2) < 0.7


def test_one_class_of_three_that_stands_apart_is_no_leak(rng):
    y = texts(rng.choice(["a", "b", "c"], M))
    apart = (y == "a") * 9.0 + rng.normal(size=M)
    all_apart = (y == "a") * 9.0 + (y == "b") * 18.0 + rng.normal(size=M)
    assert {names for kind, names in found(table(one=apart, all=all_apart, y=y)) if kind == "leak"} == {("all",)}


def test_other_findings(rng):
    y = texts(np.sort(rng.random(M) < 0.03))
    age = np.round(rng.normal(50, 9, M), 1)
    gaps = np.full(M, np.nan)
    gaps[:5] = [1.0, 2.0, 1.0, 3.0, 2.0]
    columns = {
        "age": age,
        "months": 12.0 * age - 3.0,
        "negative": -age,
        "empty": np.full(M, np.nan),
        "gaps": gaps,
        "const": texts(["k"] * M),
        "when": texts(np.datetime64("2012-01-01") + np.arange(M)),
        "home": texts(["own", "rent", *["free"] * 3, *["own", "rent"] * ((M - 5) // 2), "own"][:M]),
        "haus": texts(["eigen", "miete", *["frei"] * 3, *["eigen", "miete"] * ((M - 5) // 2), "eigen"][:M]),
    }
    assert found(table(**columns, y=y)) == {
        ("equal", ("age", "months")),
        ("equal", ("age", "negative")),
        ("equal", ("home", "haus")),
        ("empty", ("empty",)),
        ("nearly empty", ("gaps",)),
        ("constant", ("const",)),
        ("date", ("when",)),
        ("order", ("when",)),
        ("order", ("y",)),
        ("imbalance", ("y",)),
        ("rare levels", ("home", "haus")),
    }


@pytest.mark.parametrize("seed", range(5))
def test_copies_among_many_columns_name_the_first(seed):
    rng = np.random.default_rng(seed)
    firsts = {f"x{j}": rng.normal(size=M) for j in range(30)}
    sources = {f"z{i}": (f"x{rng.integers(30)}", rng.normal(size=2)) for i in range(20)}
    copies = {name: slope * firsts[source] + shift for name, (source, (slope, shift)) in sources.items()}
    order = rng.permutation([*firsts, *copies]).tolist()
    columns = {name: (firsts | copies)[name] for name in order}
    origin = {name: sources[name][0] if name in sources else name for name in order}
    first_of = {}
    expected = {(first_of.setdefault(origin[name], name), name) for name in order} - {(name, name) for name in order}
    findings = found(table(**columns, y=target(rng)))
    assert {columns for kind, columns in findings if kind == "equal"} == expected


def test_a_clean_table_has_no_findings(rng):
    assert look_over(table(x=rng.normal(size=M), home=texts(["own", "rent"] * (M // 2)), y=target(rng)), "y").findings == ()


def test_every_finding_is_one_short_sentence_whatever_the_names(rng):
    y, odd = target(rng), "a\n\x1b[31m{}%" + "x" * 500
    home = texts([*["rare {}"] * 3, *["own", "rent"] * M][:M])
    check = look_over(Table((odd, "{}", "y"), (np.arange(M) * 1.0, home, y)), "y")
    assert {finding.kind for finding in check.findings} == {"identifier", "rare levels"}
    for finding in check.findings:
        assert finding.words.isprintable()
        assert len(finding.words) < 250
    assert json.loads(json.dumps(check.recorded())) == check.recorded()


@pytest.mark.parametrize(
    ("y", "words"), [(["a"] * 30, "in every row"), (["a", "b", None] * 10, "is missing in 10 rows, which are left out")]
)
def test_targets_that_need_a_look(y, words):
    check = look_over(table(x=np.arange(30) % 7 * 1.0, y=texts(y)), "y")
    assert words in check.findings[0].words


def test_large_tables_are_looked_at_by_a_sample(rng):
    m = MOST_ROWS + 10_000
    data = table(rows=np.arange(m) + 1.0, x=rng.normal(size=m), home=texts(["own", "rent"] * (m // 2)), y=target(rng, m))
    check, _ = looked_at(data, "y", TrainingOptions())
    assert (check.n_rows, check.n_seen) == (m, MOST_ROWS)
    assert [finding.columns for finding in check.findings] == [("rows",)]
    batches = [data[start : start + 7_000] for start in range(0, m, 7_000)]
    assert looked_at(TableStream(batches), "y", TrainingOptions())[0] == check


def credit(rng):
    age = rng.normal(45, 10, M)
    return {"id": np.arange(M) + 1.0, "age": age, "y": texts(np.where(age + rng.normal(0, 8, M) > 45, "bad", "good"))}


FAST = {"k": 2, "C": 1.0, "loss": "least_squares", "calibrate": None, "cross_validate": False}


def test_fit_leaves_identifiers_out_and_says_so(rng):
    data = table(**credit(rng))
    with pytest.warns(TableWarning, match="left out: column 'id'") as caught:
        trained = train(data, "y", TrainingOptions(**FAST))
    assert trained.data.encoder.input_names_ == ("age",)
    assert caught[0].message.remedies == {"keep": "id"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = prepare(data, "y", TrainingOptions(**FAST, keep=("id",)))
    assert kept.encoder.input_names_ == ("id", "age")
    assert left_out(kept.check, TrainingOptions()) == ("id",)


def test_fit_warns_of_leaks_and_keeps_them(rng):
    columns = credit(rng)
    data = table(**columns, late=(columns["y"] == "bad") * 5.0 + rng.normal(size=M) * 0.5)
    with pytest.warns(TableWarning) as caught:
        prepared = prepare(data, "y", TrainingOptions(**FAST))
    assert prepared.encoder.input_names_ == ("age", "late")
    assert any("'late' alone predicts the target almost perfectly" in str(each.message) for each in caught)
    with pytest.warns(TableWarning) as caught:
        prepare(data.drop(["age"]), "y", TrainingOptions(**FAST))
    assert any("no other column is left: add columns that are known before" in str(each.message) for each in caught)


def test_a_column_that_is_kept_and_ignored_is_refused(rng):
    with pytest.raises(ValueError, match="'id' is the target, ignored or named twice"):
        prepare(table(**credit(rng)), "y", TrainingOptions(keep=("id",), ignore=("id",)))


def test_model_files_keep_the_findings(rng, tmp_path):
    import quadric
    from quadric.workflow import TableModel

    with pytest.warns(TableWarning):
        trained = train(table(**credit(rng)), "y", TrainingOptions(**FAST))
    quadric.save_model(trained.saved(), tmp_path / "m.json")
    assert "'id'" in TableModel(quadric.export.read_model(tmp_path / "m.json")).findings[0]


@pytest.mark.parametrize(
    "history", [None, {}, {"check": 3}, {"check": {"findings": "x"}}, {"check": {"findings": [1, {"words": 2}]}}]
)
def test_histories_without_findings(history):
    assert recorded_findings(history) == ()


@pytest.mark.filterwarnings("ignore:.*which are left out")
def test_only_rows_with_a_class_are_looked_at():
    """What is true of the others, which no fit uses, is no leak and no value."""
    rng = np.random.default_rng(5)
    y = target(rng)
    y[:40] = None
    device = np.where(np.arange(M) < 40, "tablet", "desktop")  # two values and two classes
    reason = texts([None] * M)
    reason[:40] = "moved away"
    data = table(device=texts(device), reason=reason, x=rng.normal(size=M), y=y)
    assert found(data) == {("target", ("y",)), ("constant", ("device",)), ("empty", ("reason",))}
    with pytest.warns(UserWarning, match="'reason' has no values"):
        assert prepare(data, "y", TrainingOptions()).encoder.input_names_ == ("device", "x")


def test_a_class_without_values_is_no_sign_of_a_disguise():
    y = np.array([0] * 380 + [1] * 20)
    column = ColumnProfile("x", "text", ["a", "b"], np.array([0, 1] * 190 + [-1] * 20))
    assert not is_disguise(column, y, 2)


@pytest.mark.parametrize("name", ["id", "patient_id", "custid", "job_ad_id"])
def test_numbers_of_persons_with_several_rows_are_told(name):
    rng = np.random.default_rng(6)
    y = target(rng)
    columns = {name: rng.integers(1000, 1100, M).astype(float), "hours": rng.integers(0, 99, M).astype(float), "y": y}
    kind = ("repeated identifier", (name,))
    assert found(table(**columns)) == {kind}
    for own in ({"keep": (name,)}, {"texts": (name,)}):
        assert kind not in found(table(**columns), options=TrainingOptions(**own))
    with pytest.warns(TableWarning, match="is named like an identifier, and its values repeat") as caught:
        prepare(table(**columns), "y", TrainingOptions())
    assert caught[0].message.remedies == {"groups": name, "ignore": name}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare(table(**columns), "y", TrainingOptions(groups=name))


def test_few_codes_and_measurements_are_no_numbers_of_persons():
    rng = np.random.default_rng(7)
    columns = {
        "region_id": rng.integers(1, 9, M).astype(float),
        "humidity": rng.integers(0, 99, M).astype(float),
        "room_number": rng.integers(0, 99, M).astype(float),
        "fluid": rng.integers(0, 99, M).astype(float),
        "id_share": rng.random(M).round(2),
    }
    assert found(table(**columns, y=target(rng))) == set()


def test_gaps_that_tell_the_same_class_are_told_in_one_sentence():
    rng = np.random.default_rng(8)
    y = target(rng)
    weeks = {f"week{i}": np.where(y == "yes", np.nan, rng.normal(size=M)) for i in range(12)}
    (finding,) = look_over(table(**weeks, x=rng.normal(size=M), y=y), "y").findings
    assert finding.kind == "leak"
    assert finding.columns == tuple(weeks)
    assert str(finding).startswith("columns 'week0', 'week1', ")
    assert "and 4 more are missing almost only where 'y' is 'yes': are they filled in before 'y' is known?" in str(finding)
    assert len(finding.remedies["ignore"]) == 8


def test_numbers_that_are_equal_but_for_rounding_are_told():
    rng = np.random.default_rng(9)
    minutes = np.where(rng.random(M) < 0.1, np.nan, rng.gamma(9.0, 20.0, M))
    minutes[7] = 90_000.0  # an outlier makes no two columns equal
    noisy = minutes + rng.normal(size=M) * 20
    columns = {"minutes": minutes, "charge": np.round(-0.17 * minutes, 2), "noisy": noisy, "y": target(rng)}
    (finding,) = look_over(table(**columns), "y").findings
    assert (finding.kind, finding.columns) == ("nearly equal", ("minutes", "charge"))
    assert str(finding) == "columns 'minutes' and 'charge' say almost the same: leave one of them out"
