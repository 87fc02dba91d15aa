"""Methods, constraints, bounds and near ties as users see them."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import LOSSES, PLAIN, make_problem, random_samples
from quadric import QuadraticSurface, SparseQuadraticSVC, alternatives, certify
from quadric.estimators.base import seed_of
from quadric.estimators.constraints import support_limits
from quadric.geometry.terms import term_names


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


def frame(seed=0, m=70):
    X, y = random_samples(seed, m=m, n=3)
    return pd.DataFrame(X, columns=["age", "income", "sex"]), y


def optimum(X, y, loss, C, k, allowed=lambda support: True):
    step = make_problem(loss, np.asarray(X), y, C=C).step()
    return min(step.refit(np.array(s)).value for s in combinations(range(9), k) if allowed(s))


def live_terms(model):
    return {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value}


def test_exact_is_optimal_and_says_so(loss):
    X, y = frame()
    model = SparseQuadraticSVC(k=3, C=16.0, loss=loss, method="exact", **PLAIN).fit(X, y)
    (certificate,) = model.certificates_
    assert certificate.status == "optimal"
    assert certificate.swap_optimal is True
    assert certificate.gap <= 1e-6
    assert certificate.objective == pytest.approx(optimum(X, y, loss, 16.0, 3), rel=1e-6)
    assert model.status_ == ["optimal"]


def test_exact_within_no_time_reports_the_first_bound(loss):
    X, y = frame()
    model = SparseQuadraticSVC(k=4, C=256.0, loss=loss, method="exact", time_limit=0.0, **PLAIN).fit(X, y)
    (certificate,) = model.certificates_
    assert certificate.lower_bound <= optimum(X, y, loss, 256.0, 4) * (1 + 1e-9)
    assert certificate.gap == pytest.approx(1 - certificate.lower_bound / certificate.objective)
    assert certificate.status in {"gap", "optimal"}


def test_best_is_never_worse_than_pd(loss):
    X, y = frame(1)
    pd_, best, exact = (
        SparseQuadraticSVC(k=3, C=64.0, loss=loss, method=method).fit(X, y).certificates_[0].objective
        for method in ("pd", "best", "exact")
    )
    assert exact <= best * (1 + 1e-9) <= pd_ * (1 + 2e-9)


def test_random_state_repeats(loss):
    X, y = frame(2)
    for make in (lambda: None, lambda: 5, lambda: np.random.RandomState(3)):
        a, b = (SparseQuadraticSVC(k=3, C=64.0, loss=loss, random_state=make()).fit(X, y) for _ in range(2))
        assert a.coef_.tobytes() == b.coef_.tobytes()


@pytest.mark.parametrize("method", ["pd", "best", "exact"])
@pytest.mark.parametrize(
    ("include", "exclude"),
    [
        (["income*age"], None),
        (["sex^2", 0], None),
        ([("sex", "age"), (1, 1)], None),
        (None, ["age*"]),
        (None, ["age*income", "age"]),
        (["sex"], ["sex*", "age^2"]),
    ],
    ids=["either order", "name and index", "pairs", "all products", "terms", "both"],
)
def test_constraints_are_honoured(method, include, exclude, loss):
    X, y = frame(3)
    model = SparseQuadraticSVC(k=3, C=16.0, loss=loss, method=method, include=include, exclude=exclude, **PLAIN).fit(X, y)
    names = model.term_names()
    wanted = {
        "income*age": "age*income",
        "sex^2": "sex^2",
        0: "age^2",
        ("sex", "age"): "age*sex",
        (1, 1): "income^2",
        "sex": "sex",
    }
    for item in include or []:
        assert wanted[item] in live_terms(model)
    banned = {"age*": ["age*income", "age*sex"], "sex*": ["age*sex", "income*sex"]}
    for item in exclude or []:
        assert not live_terms(model) & set(banned.get(item, [item]))
    if method == "exact":
        inside = {names.index(wanted[item]) for item in include or []}
        outside = {names.index(name) for item in exclude or [] for name in banned.get(item, [item])}
        best = optimum(X, y, loss, 16.0, 3, lambda s: inside <= set(s) and not outside & set(s))
        assert model.certificates_[0].objective == pytest.approx(best, rel=1e-6)


def test_fewer_allowed_terms_than_k(loss):
    """All allowed terms are in: the answer is a minimum, and the excluded ones do not count against it."""
    X, y = frame(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseQuadraticSVC(k=10, loss=loss, exclude=["age", "sex"]).fit(X, y)
    assert model.certificates_[0].k == 7
    assert model.certificates_[0].basic_feasible
    assert certify(model, X, y)[0].basic_feasible


def test_ambiguous_names_are_refused():
    X, y = random_samples(4, m=50, n=3)
    table = pd.DataFrame(X, columns=["a", "b", "a*b"])
    with pytest.raises(ValueError, match=r"exclude: 'a\*b' could be more than one term"):
        SparseQuadraticSVC(k=2, exclude=["a*b"]).fit(table, y)
    model = SparseQuadraticSVC(k=2, loss="least_squares", include=[("a", "b")]).fit(table, y)
    assert model.coef_[0, 1] != 0


@pytest.mark.parametrize(
    ("item", "term"),
    [
        ('"x"', "x"),
        ('"x^2"', "x^2"),
        ('"x"^2', ("x", "x")),
        ('"x"*"x^2"', ("x", "x^2")),
        ('"x*""y"""^2', ('x*"y"', 'x*"y"')),
        ("x*", [("x", "x^2"), ("x", 'x*"y"')]),
        ('"x*""y"""*', [("x", 'x*"y"'), ("x^2", 'x*"y"')]),
    ],
)
def test_quoted_names_have_one_meaning(item, term):
    names = ["x", "x^2", 'x*"y"']
    if isinstance(term, str):
        wanted = [6 + names.index(term)]  # linear terms come last
    else:
        wanted = support_limits(term if isinstance(term, list) else [term], None, names, 3, 9).include.tolist()
    assert support_limits([item], None, names, 3, 9).include.tolist() == wanted


def test_names_that_look_like_terms():
    """Feature names may hold the signs that terms are written with."""
    X, y = random_samples(4, m=50, n=3)
    table = pd.DataFrame(X, columns=["a*b", "c^2", "d"])
    model = SparseQuadraticSVC(k=2, include=["a*b*d"], loss="least_squares").fit(table, y)
    assert "a*b*d" in live_terms(model)


def test_include_a_term_that_does_not_vary():
    X, y = random_samples(4, m=50, n=3)
    X[:, 1] = 1.0
    with pytest.raises(ValueError, match="include names terms that do not vary"):
        SparseQuadraticSVC(k=3, include=["x1"]).fit(X, y)


def test_certify_bounds_any_model(loss):
    """Also one that was not found here: a surface with made-up terms."""
    X, y = frame(5)
    best = optimum(X, y, loss, 16.0, 2)
    step = make_problem(loss, np.asarray(X), y, C=16.0).step()
    poor = step.refit(np.array([2, 8]))
    surface = QuadraticSurface.from_coordinates(poor.z, poor.c)
    (root,) = certify(surface, X, y, loss=loss, C=16.0, k=2)
    (proved,) = certify(surface, X, y, loss=loss, C=16.0, k=2, time_limit=60.0)
    assert root.lower_bound <= proved.lower_bound * (1 + 1e-9)
    assert proved.lower_bound == pytest.approx(best, rel=1e-6)
    assert proved.gap == pytest.approx(1 - best / poor.value, abs=1e-6)
    assert proved.status == "gap"
    if loss == "least_squares":
        assert proved.swap_optimal is False


def test_certify_a_surface_with_too_many_terms(loss):
    X, y = frame(5)
    step = make_problem(loss, np.asarray(X), y, C=16.0).step()
    rich = step.refit(np.arange(9))
    (certificate,) = certify(QuadraticSurface.from_coordinates(rich.z, rich.c), X, y, loss=loss, C=16.0, k=2)
    assert certificate.n_terms == 9 > certificate.k
    assert not certificate.local_minimum
    assert certificate.lower_bound <= optimum(X, y, loss, 16.0, 2)
    assert certificate.status == "gap"


def test_certify_time_limit_is_checked():
    X, y = frame(5)
    model = SparseQuadraticSVC(k=2).fit(X, y)
    with pytest.raises(ValueError, match="time_limit must be a finite number of at least 0"):
        certify(model, X, y, time_limit=-1.0)


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"gap_limit": 1.0}, "gap_limit must be a finite number of at least 0 and below 1"),
        ({"gap_limit": -0.1}, "gap_limit must be"),
        ({"gap_limit": 10**400}, "gap_limit must be"),
        ({"gap_limit": float("nan")}, "gap_limit must be"),
        ({"gap_limit": None}, "gap_limit must be"),
        ({"node_limit": -1}, "node_limit must be None or an integer"),
        ({"node_limit": 1.5}, "node_limit must be None or an integer"),
    ],
)
def test_limits_of_proofs_are_checked(limits, says):
    X, y = frame(5)
    model = SparseQuadraticSVC(k=2).fit(X, y)
    with pytest.raises(ValueError, match=says):
        certify(model, X, y, **limits)
    if "gap_limit" in limits:
        with pytest.raises(ValueError, match=says):
            SparseQuadraticSVC(k=2, method="exact", **limits).fit(X, y)
    else:
        with pytest.raises(ValueError, match=says):
            alternatives(model, X, y, prove=True, **limits)


def test_a_number_of_nodes_repeats_and_zero_is_the_first_bound():
    X, y = frame(5)
    model = SparseQuadraticSVC(k=4, C=256.0, loss="least_squares", method="pd", **PLAIN).fit(X, y)
    first, nothing, few, again, end = (
        certify(model, X, y, time_limit=seconds, node_limit=nodes, gap_limit=0.0)[0].lower_bound
        for seconds, nodes in ((0.0, None), (None, 0), (None, 20), (None, 20), (None, None))
    )
    assert first == nothing
    assert few == again
    assert nothing <= few <= end


def test_a_gap_that_is_small_enough_ends_a_fit_without_a_warning(monkeypatch):
    monkeypatch.setattr("quadric.losses.least_squares.bounds.LeastSquaresBounds.cheap_nodes", 0)
    X, y = frame(5)
    rough, fine = (
        SparseQuadraticSVC(k=4, C=256.0, loss="least_squares", method="exact", gap_limit=gap, **PLAIN).fit(X, y)
        for gap in (0.9, 0.0)
    )
    assert fine.status_ == ["optimal"]
    assert rough.status_ == ["converged"]
    assert rough.certificates_[0].status == "gap"
    assert 1e-6 < rough.certificates_[0].gap <= 0.9


@pytest.mark.parametrize("loss", LOSSES)
def test_near_ties_with_proof(loss):
    X, y = frame(5)
    model = SparseQuadraticSVC(k=3, C=16.0, loss=loss, method="exact", **PLAIN).fit(X, y)
    (found,), (proved,) = (alternatives(model, X, y, within=0.4, prove=prove) for prove in (False, True))
    assert found.complete_within is None
    assert "others may exist" in found.completeness()
    assert proved.complete_within == 0.4
    assert "all that cost at most 40.00 %" in proved.completeness()
    assert len(proved.supports) > 3
    assert {other.terms for other in found.supports} <= {other.terms for other in proved.supports}
    assert [other.cost for other in proved.supports] == sorted(other.cost for other in proved.supports)
    assert all(other.cost <= 0.4 for other in proved.supports)
    assert proved.terms not in {other.terms for other in proved.supports}
    (stopped,) = alternatives(model, X, y, within=0.4, prove=True, node_limit=0)
    assert stopped.complete_within < 0.4
    assert ("better ones may exist" in stopped.completeness()) == (stopped.complete_within < 0)


def test_alternatives(loss):
    X, y = frame(6)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), SparseQuadraticSVC(k=3, C=16.0, loss=loss)).fit(
        X, y
    )
    (found,) = alternatives(pipeline, X, y, within=0.2)
    assert set(found.terms) == live_terms(pipeline[-1])
    assert found.exchanges
    costs = [exchange.cost for exchange in found.exchanges]
    assert costs == sorted(costs)
    assert max(costs) <= 0.2
    Z, names = pipeline[0].transform(X).to_numpy(), pipeline[-1].term_names()
    step = make_problem(loss, Z, y, C=16.0).step()
    for exchange in found.exchanges[:3]:
        support = [names.index(t) for t in found.terms if t != exchange.out] + [names.index(exchange.into)]
        assert step.refit(np.sort(support)).value == pytest.approx(found.objective * (1 + exchange.cost), rel=1e-6)
    for other in found.supports[:3]:
        support = np.sort([names.index(t) for t in other.terms])
        assert step.refit(support).value == pytest.approx(other.objective, rel=1e-6)
        assert other.cost == pytest.approx(other.objective / found.objective - 1, abs=1e-9)


def test_alternatives_of_a_surface_with_fewer_terms_than_k():
    """With few positives and k = 1 the best hinge surface can be a constant: it has no terms to name."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(np.arange(60) < 6, 1.0, -1.0)
    model = SparseQuadraticSVC(k=1, C=1.0).fit(X, y)
    (found,) = alternatives(model, X, y)
    assert len(found.terms) == model.surfaces_[0].n_terms
    with pytest.raises(TypeError, match="not a bare surface"):
        alternatives(model.surfaces_[0], X, y)


def test_alternatives_within_nothing():
    X, y = frame(6)
    model = SparseQuadraticSVC(k=3, C=16.0, loss="least_squares").fit(X, y)
    (found,) = alternatives(model, X, y, within=0.0)
    assert found.exchanges == []
    assert found.supports == []
    with pytest.raises(ValueError, match="within must be"):
        alternatives(model, X, y, within=-0.1)


def test_alternatives_of_a_pipeline_use_the_names_that_its_steps_know():
    X, y = frame()
    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2, loss="least_squares")).fit(X, y)
    (answer,) = alternatives(model, X, y, within=10.0)
    assert answer.exchanges
    assert {name for exchange in answer.exchanges for name in (exchange.out, exchange.into)} <= set(term_names(list(X)))


def test_random_state_zero_is_the_default_and_none_draws_anew():
    assert seed_of(0) == 0
    assert seed_of(7) == 7
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    np.random.seed(1)  # noqa: NPY002  (None means numpy's global state, as in scikit-learn)
    first, second = seed_of(None), seed_of(None)
    assert first != second
    assert SparseQuadraticSVC().random_state == 0


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_repetitions_for_the_hinge_search_too(seed):
    rng = np.random.default_rng(seed)
    X, y, counts = rng.random((14, 8)), rng.integers(0, 2, size=14), rng.integers(1, 5, size=14)
    weighted = SparseQuadraticSVC(k=6, C=4.0).fit(X, y, sample_weight=counts)
    repeated = SparseQuadraticSVC(k=6, C=4.0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-8)


def test_standardize_is_a_scaler_in_front():
    X, y = random_samples(2, m=60, n=3)
    X = X * [1.0, 1e4, 1e-3] + [0.0, 5e4, 1.0]
    inside = SparseQuadraticSVC(k=3, C=4.0, loss="least_squares", clip=None).fit(X, y)
    outside = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=3, C=4.0, loss="least_squares", **PLAIN)).fit(X, y)
    assert_allclose(inside.decision_function(X), outside.decision_function(X), rtol=1e-9)
    assert_allclose(inside.raw_surfaces_[0](X), inside.decision_function(X), rtol=1e-6, atol=1e-9)
    assert_allclose(inside.center_, X.mean(axis=0))
    assert inside.surfaces_[0].n_terms <= 3
    before = inside.decision_function(X)
    assert_array_equal(inside.set_params(standardize=False).decision_function(X), before)  # a parameter is for the next fit
    weight = np.arange(1, 61)
    weighted = SparseQuadraticSVC(k=3, clip=None).fit(X, y, sample_weight=weight)
    assert_allclose(weighted.center_, np.average(X, axis=0, weights=weight))
