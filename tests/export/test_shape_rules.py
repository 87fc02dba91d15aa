"""Rules on slopes and coefficients in model files and exports: kept, proved again, told, and refused where they are broken."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import quadric
from quadric import SparseQuadraticSVC
from quadric.export import ModelFileError, to_python, to_sql
from quadric.export._schema import MEMBERS, digest
from quadric.export.excel import to_excel
from quadric.tables import TableEncoder


def table(seed=0, n=300):
    rng = np.random.default_rng(seed)
    columns = {
        "income": rng.normal(30.0, 8.0, n),
        'debt";\n--': rng.normal(5.0, 2.0, n),
        "home": rng.choice(["own", "rent", "free"], n),
    }
    score = -(columns["income"] - 30.0) / 8.0 + 0.02 * (columns["income"] - 30.0) ** 2 + (columns["home"] == "rent")
    return columns, np.where(score + 0.5 * rng.normal(size=n) > 0.0, "bad", "good")


def fitted(**rules):
    columns, y = table()
    own = SparseQuadraticSVC(k=5, C=64.0)
    rules = rules or {"monotonic_cst": {0: 1, 1: -1}, "coef_bounds": {"x0": (None, 2.0)}, "feature_groups": [[2, 3]]}
    return make_pipeline(TableEncoder(), own.set_params(**rules)).fit(columns, y), columns, y


def changed(path, *edits):
    document = json.loads(path.read_text())
    for edit in edits:
        edit(document)
    document["digest"] = {name: digest(document[name]) for name in MEMBERS}
    path.write_text(json.dumps(document))
    return path


def test_a_file_keeps_rules_and_proves_them_again(tmp_path):
    model, columns, _ = fitted()
    quadric.save_model(model, tmp_path / "model.json")
    loaded = quadric.load_model(tmp_path / "model.json")
    assert loaded[-1].get_params() == model[-1].get_params()
    (before,), (after,) = model[-1].certificates_, loaded[-1].certificates_
    assert [proof.words() for proof in after.monotone] == [
        "proved: never falls with income, for any row",
        'proved: never rises with debt";\n--, for any row',
    ]
    assert [proof.slope for proof in after.monotone] == [proof.slope for proof in before.monotone]
    np.testing.assert_array_equal(loaded.decision_function(columns), model.decision_function(columns))
    quadric.save_model(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def parameter(name, value):
    return lambda document: document["params"].update({name: value})


def box(**parts):
    return lambda document: document["estimator"]["box"].update(parts)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (parameter("monotonic_cst", {"dict": [[0, -1]]}), "break the rules among the parameters: the score rises with income"),
        (parameter("coef_bounds", {"dict": [["x0", {"tuple": [None, 1e-3]}]]}), "coefficient of income is beyond its limits"),
        (lambda document: document["estimator"].update(box=None), "without their box"),
        (box(low=[0.0] * 4, high=[0.0] * 4), "smaller than the caps"),
        (box(low=[1.0] * 4, high=[0.0] * 4), "must not be below low"),
        (box(levels=[[0, 2]]), "must be features of two values"),
        (box(levels=[[2, 3], [3, 2]]), "must not share features"),
        (box(two_valued=[9]), "must be an integer from 0 to 3"),
    ],
)
def test_a_file_that_breaks_its_own_rules_is_refused(tmp_path, edit, says):
    model, _, _ = fitted()
    quadric.save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match=says):
        quadric.load_model(changed(tmp_path / "model.json", edit))


@pytest.mark.parametrize(
    "rules", [{"monotonic_cst": {0: 0}}, {"monotonic_cst": np.zeros(4)}, {"coef_bounds": {"x0": (0, None)}}]
)
def test_rules_that_ask_nothing_of_slopes_are_kept(tmp_path, rules):
    model, _, _ = fitted(**rules)
    quadric.save_model(model, tmp_path / "model.json")
    assert quadric.load_model(tmp_path / "model.json")[-1].certificates_[0].monotone == ()


def test_a_model_that_breaks_its_own_rules_is_not_written(tmp_path):
    model, _, _ = fitted()
    model[-1].set_params(monotonic_cst={0: -1})
    with pytest.raises(ValueError, match="the score rises with income"):
        quadric.save_model(model, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_exports_say_what_is_proved(tmp_path):
    model, _, _ = fitted()
    low, high = model[-1].clip_low_, model[-1].clip_high_
    sql, script = to_sql(model), to_python(model)
    line = f"Rule, proved: never falls with income, for any row (income from {low[0]:.6g} to {high[0]:.6g}"
    for text, mark in ((sql, "-- "), (script, "# ")):
        assert any(row.startswith(f"{mark}{line}") for row in text.splitlines())
        heads = (
            text.splitlines()[: text.splitlines().index(f"{mark}Runs on SQLite, DuckDB and PostgreSQL.")]
            if mark == "-- "
            else []
        )
        assert all(row.startswith(mark) for row in heads)  # the name of a column ends no comment
    space = {}
    exec(compile(script, "model", "exec"), space)
    space["check"]()
    to_excel(model, tmp_path / "model.xlsx")
    with zipfile.ZipFile(tmp_path / "model.xlsx") as book:
        assert f"<t>{line}" in book.read("xl/sharedStrings.xml").decode()


def test_more_classes_name_theirs(tmp_path):
    columns, y = table()
    y = np.where(columns["home"] == "own", "fine", y)
    rules = {"monotonic_cst": {"bad": {0: 1}}, "feature_groups": [[2, 3]]}
    model = make_pipeline(TableEncoder(), SparseQuadraticSVC(k=4, C=64.0, **rules)).fit(columns, y)
    assert "-- Rule, score of bad, proved: never falls with income, for any row" in to_sql(model)
    quadric.save_model(model, tmp_path / "model.json")
    proofs = [certificate.monotone for certificate in quadric.load_model(tmp_path / "model.json")[-1].certificates_]
    assert [len(each) for each in proofs] == [1, 0, 0]
