"""multiclass="shared": one list of terms for all classes, through the estimators and everything that judges them."""

import re
import runpy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from helpers import LOSSES, PLAIN, slow_objective
from quadric import (
    SparseQuadraticSVC,
    SparseQuadraticSVCCV,
    TableClassifier,
    alternatives,
    certify,
    load_model,
    save_model,
)
from quadric.batches import moments
from quadric.export import ModelFileError

X, Y = load_iris(return_X_y=True)
SHARED = {"k": 3, "C": 4.0, "multiclass": "shared"}


def live(model):
    return [np.flatnonzero(row).tolist() for row in model.coef_]


@pytest.mark.parametrize("loss", LOSSES)
def test_all_classes_have_the_terms_that_the_certificate_counts(loss):
    model = SparseQuadraticSVC(**SHARED, loss=loss, method="exact", **PLAIN).fit(X, Y)
    first, *others = live(model)
    assert others == [first, first]
    (certificate,) = set(model.certificates_)
    objectives = [slow_objective(s, X, np.where(c == Y, 1, -1), loss, 4.0) for c, s in enumerate(model.surfaces_)]
    assert certificate.objective == pytest.approx(sum(objectives), rel=1e-9)
    assert (certificate.n_terms, certificate.k, certificate.n_surfaces) == (3, 3, 3)
    assert certificate.status == "optimal"
    assert certificate.local_minimum
    assert certificate.swap_optimal
    assert certificate.stationarity < 1e-7
    # each alone is better off with terms of its own, and all together are not
    alone = SparseQuadraticSVC(k=3, C=4.0, loss=loss, **PLAIN).fit(X, Y)
    assert sum(c.objective for c in alone.certificates_) < certificate.objective
    assert len(set(map(str, live(alone)))) > 1


@pytest.mark.parametrize("loss", LOSSES)
def test_certify_speaks_of_the_sum(loss):
    model = SparseQuadraticSVC(**SHARED, loss=loss).fit(X, Y)
    (again,) = set(certify(model, X, Y, time_limit=None))
    (own,) = set(model.certificates_)
    assert again.objective == pytest.approx(own.objective, rel=1e-12)
    assert (again.n_surfaces, again.status, again.swap_optimal) == (3, "optimal", True)
    worse = SparseQuadraticSVC(**SHARED, loss=loss, include=["x1^2", "x0*x1", "x0"]).fit(X, Y)
    judged = certify(worse.set_params(include=None), X, Y)[0]
    assert judged.swap_optimal is False
    assert judged.gap > 0.1


def test_two_classes_have_one_list_anyway():
    rows = Y > 0
    one, other = (SparseQuadraticSVC(k=3, C=4.0, multiclass=how).fit(X[rows], Y[rows]) for how in ("ovr", "shared"))
    assert np.array_equal(one.coef_, other.coef_)
    assert other.certificates_[0].n_surfaces == 1


def test_sums_are_enough_for_the_squared_loss():
    model = SparseQuadraticSVC(**SHARED, clip=None, method="exact").fit(X, Y)
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    found = moments({**columns, "y": Y}, target="y")
    summed = SparseQuadraticSVC(**SHARED, clip=None, method="exact").fit_moments(found)
    assert_allclose(summed.coef_, model.coef_, rtol=1e-8, atol=1e-10)
    assert summed.certificates_[0].status == "optimal"


def test_near_ties_are_lists_for_all_classes():
    model = SparseQuadraticSVC(**SHARED).fit(X, Y)
    ties = alternatives(model, X, Y, within=0.2, prove=True)
    (surface,) = ties
    assert len(surface.supports) > 2
    for other, support in zip(ties.models_, surface.supports, strict=True):
        assert live(other)[0] == live(other)[1] == live(other)[2]
        assert other.certificates_[2].objective == pytest.approx(support.objective, rel=1e-7)


def test_model_files_keep_the_list(tmp_path):
    model = SparseQuadraticSVC(**SHARED).fit(X, Y)
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.multiclass == "shared"
    assert loaded.certificates_ == model.certificates_
    model.certificates_ = SparseQuadraticSVC(k=3, C=4.0).fit(X, Y).certificates_
    with pytest.raises((ValueError, ModelFileError), match=r"n_surfaces|n_terms"):
        save_model(model, tmp_path / "other.json")


@pytest.mark.parametrize("method", ["best", "pd"])
def test_cross_validation_chooses_one_list_per_fold(method):
    model = SparseQuadraticSVCCV(ks=[1, 2, 4], Cs=[1.0, 16.0], cv=3, multiclass="shared", method=method).fit(X, Y)
    assert live(model)[0] == live(model)[1] == live(model)[2]
    assert model.certificates_[0].n_surfaces == 3
    for row in range(2):
        for column in range(3):
            terms = {tuple(path.cells[row][column].terms) for path in model.paths_}
            assert len(terms) == 1
    free = SparseQuadraticSVCCV(ks=[1, 2, 4], Cs=[1.0, 16.0], cv=3, method=method).fit(X, Y)
    # of four terms each can have its own: one list for all is the harder task in training, as folds say too
    assert model.cv_scores_["least_squares"].mean() < free.cv_scores_["least_squares"].mean() < 0.0


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ValueError, match="multiclass must be 'ovr' or 'shared'"):
        SparseQuadraticSVC(multiclass="one").fit(X, Y)
    with pytest.raises(ValueError, match='certify=True bounds the paths of single classes, but multiclass="shared"'):
        SparseQuadraticSVCCV(multiclass="shared", certify=True).fit(X, Y)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match='each class needs a list of its own: set multiclass="ovr"'):
        SparseQuadraticSVC(multiclass="shared").fit(rng.normal(size=(30, 60)), np.arange(30) % 3)
    with pytest.raises(ValueError, match='need surfaces with terms of their own: use multiclass="ovr"'):
        SparseQuadraticSVC(**SHARED, coef_bounds={0: {"x0": (0, None)}}).fit(X, Y)


def test_tables_with_several_classes():
    table = {f"x{i}": column for i, column in enumerate(X.T)}
    model = TableClassifier(k=2, C=4.0, loss="hinge", multiclass="shared", calibrate=None, method="exact").fit(table, Y)
    certificate = model.certificates_[0]
    assert (certificate.n_surfaces, certificate.n_terms, certificate.status) == (3, 2, "optimal")
    assert certify(model, table, Y)[0].swap_optimal


@pytest.mark.parametrize("form", ["centred", "expanded"])
def test_equations_have_one_row_per_term_and_one_column_per_class(form):
    model = SparseQuadraticSVC(**SHARED).fit(X, Y)
    lines = model.equation(form=form, precision=17).splitlines()
    assert lines[0].split() == ["f[0]", "f[1]", "f[2]"]
    capped = np.clip(X, model.clip_low_, model.clip_high_)
    total, columns = np.zeros((len(X), 3)), {f"x{i}": column for i, column in enumerate(capped.T)}
    rows = [line for line in lines[1:] if not line.startswith(("Capped", "(expanded"))]
    for row in rows:
        numbers, _, term = row.partition(" * ")
        value = eval(term.replace("^", "**"), {}, columns) if term else 1.0
        total += np.outer(np.ones(len(X)) * value, [float(number) for number in numbers.split()])
    assert_allclose(total, model.decision_function(X), rtol=1e-9)
    if form == "centred":
        assert len(rows) == 4
    else:
        assert lines[-1].startswith(f"(expanded to raw units: {len(rows) - 1} terms for the model's 3,")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A model of a table, in a folder with its exports."""
    frame = {f"x{i}": column for i, column in enumerate(X.T)}
    model = TableClassifier(k=2, C=4.0, loss="least_squares", multiclass="shared", calibrate=None).fit(frame, Y)
    folder = tmp_path_factory.mktemp("exported")
    for name in ("m.sql", "m.py", "m.tex"):
        model.export(None, folder / name)
    return model, folder


def test_exports_carry_the_list(exported):
    model, folder = exported
    for name in ("m.sql", "m.py"):
        text = (folder / name).read_text(encoding="utf-8")
        assert all(line in text for line in model.equation().splitlines())
    latex = (folder / "m.tex").read_text(encoding="utf-8")
    table = latex[latex.index(r"\[\begin{array}{rrrl}") : latex.index(r"\end{array}\]")]
    assert table.count(r"\\") == 3
    assert [row.count("&") for row in table.splitlines()[1:]] == [3] * 4


def test_python_has_one_list_and_the_same_scores(exported):
    model, folder = exported
    module = runpy.run_path(str(folder / "m.py"))
    module["check"]()
    rows = [dict(zip(("x0", "x1", "x2", "x3"), row, strict=True)) for row in X[::15].tolist()]
    assert_allclose(
        [module["predict"](row)["scores"] for row in rows], model.model_.model.decision_function(X[::15]), rtol=1e-9
    )
    assert {len(parts) for row in rows for parts in module["terms"](row)} == {3}
    assert len(re.findall(r"\[-?\d\S*, -?\d\S*, -?\d\S*\]\),$", (folder / "m.py").read_text(), re.MULTILINE)) == 3


def test_many_rows_in_memory_stay_there(monkeypatch):
    """Passes over them would be quicker, but cannot choose one list by these losses."""
    monkeypatch.setattr("quadric.samples.extent.PASSES_FROM", 10)
    for loss in ("logistic", "least_squares"):
        model = SparseQuadraticSVCCV(ks=[2], Cs=[4.0], cv=2, multiclass="shared", loss=loss).fit(X, Y)
        assert model.certificates_[0].n_surfaces == 3
        assert live(model)[0] == live(model)[1] == live(model)[2]
