"""Hierarchies, budgets and sets of features as parameters: what they leave, what they refuse, and who keeps to them."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

import quadric
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, sparse_quadratic_path
from quadric.estimators.constraints import support_limits
from quadric.fitted import fitted_model

NAMES = ["age", "income", "amount", "months"]


def named(n=120, seed=0):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1.0 + 0.5 * rng.normal(size=n) > 0, 1, 0)
    return pd.DataFrame(X, columns=NAMES), y


def terms_of(model):
    names = model.term_names()
    return [[names[i] for i in np.flatnonzero(row)] for row in model.coef_]


def features_of(terms):
    return {factor.removesuffix("^2") for term in terms for factor in term.split("*")}


def refused(**parameters):
    wanted = {"include": None, "exclude": None, "k": 20} | parameters
    own = {name: wanted.pop(name) for name in ("include", "exclude", "k")}
    with pytest.raises(ValueError) as error:
        support_limits(own["include"], own["exclude"], NAMES, 4, own["k"], rules=wanted)
    return str(error.value)


def left(**parameters):
    """Names of the terms that are not excluded."""
    limits = support_limits(None, None, NAMES, 4, 20, rules=parameters)
    from quadric.geometry.terms import term_names

    return {name for i, name in enumerate(term_names(NAMES)) if i not in limits.exclude}


SQUARES_AND_LINEAR = {*NAMES, *(f"{name}^2" for name in NAMES)}


def test_interactions_are_read_as_in_scikit_learn():
    pairs = {"*".join(pair) for pair in combinations(NAMES, 2)}
    assert left(interaction_cst="pairwise") == left() == SQUARES_AND_LINEAR | pairs
    assert left(interaction_cst="no_interactions") == SQUARES_AND_LINEAR
    # features in no set are one more set
    assert left(interaction_cst=[{"age", 1}]) == SQUARES_AND_LINEAR | {"age*income", "amount*months"}
    sets = [["age", "income"], ["income", "amount"], ["months"]]
    assert left(interaction_cst=sets) == SQUARES_AND_LINEAR | {"age*income", "income*amount"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"interaction_cst": [{"agee"}]}, ["interaction_cst", "'agee'", "did you mean 'age'"]),
        ({"interaction_cst": "some"}, ["interaction_cst", "'no_interactions'", "'some'"]),
        ({"interaction_cst": [{7}]}, ["interaction_cst", "7", "0 to 3"]),
        ({"hierarchy": "both"}, ["hierarchy", "'weak'", "'both'"]),
        ({"max_features": 0}, ["max_features", "at least 1|from 1"]),
        ({"max_cost": 2.0}, ["max_cost", "feature_cost"]),
        ({"feature_cost": {"age": 1.0}}, ["feature_cost", "max_cost"]),
        ({"feature_cost": {"age": -1.0}, "max_cost": 1.0}, ["feature_cost", "'age'", "-1"]),
        ({"feature_cost": {"agee": 1.0}, "max_cost": 1.0}, ["feature_cost", "did you mean 'age'"]),
        ({"feature_cost": dict.fromkeys(NAMES, 3.0), "max_cost": 2.0}, ["max_cost = 2", "feature_cost", "3"]),
        ({"feature_groups": [["age", "income"], ["age"]], "max_features": 1}, ["feature_groups", "'age'", "two"]),
        ({"include": ["age*income"], "interaction_cst": "no_interactions"}, ["include", "interaction_cst", "age*income"]),
        ({"include": ["age", "income"], "max_features": 1}, ["include", "max_features = 1"]),
        (
            {"include": ["age"], "feature_cost": {"age": 3.0}, "max_cost": 2.0},
            ["include", "max_cost = 2", "cost 3", "age"],
        ),
        ({"include": ["age*income"], "hierarchy": "strong", "k": 2}, ["include", "hierarchy='strong'", "k = 2"]),
        ({"include": ["age^2"], "exclude": ["age"], "hierarchy": "weak"}, ["include", "exclude", "hierarchy='weak'", "age^2"]),
        ({"include": ["age*income"], "hierarchy": "weak"}, ["include", "hierarchy='weak'", "age*income"]),
        ({"exclude": NAMES, "hierarchy": "strong"}, ["exclude", "rules", "no term"]),
    ],
)
def test_contradictions_are_one_error_that_names_both(parameters, words):
    text = refused(**parameters)
    assert "\n" not in text
    for word in words:
        assert any(each in text for each in word.split("|")), text


def test_what_included_terms_need_is_included():
    limits = support_limits(["age*income"], None, NAMES, 4, 3, rules={"hierarchy": "strong"})
    assert limits.include.tolist() == [1, 10, 11]
    limits = support_limits(["age*income", "age"], None, NAMES, 4, 3, rules={"hierarchy": "weak"})
    assert limits.include.tolist() == [1, 10]
    impossible = support_limits(None, ["age"], NAMES, 4, 3, rules={"hierarchy": "strong"})
    assert {0, 1, 2, 3, 10} <= set(impossible.exclude.tolist())


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_surfaces_keep_to_the_rules(loss):
    X, y = named()
    for terms in terms_of(SparseQuadraticSVC(k=4, loss=loss, hierarchy="strong").fit(X, y)):
        for term in terms:
            assert features_of([term]) <= set(terms)
    for terms in terms_of(SparseQuadraticSVC(k=4, loss=loss, max_features=2).fit(X, y)):
        assert len(features_of(terms)) <= 2
    costs = {"age": 1.0, "income": 2.0, "amount": 2.0}
    for terms in terms_of(SparseQuadraticSVC(k=6, loss=loss, feature_cost=costs, max_cost=3.0).fit(X, y)):
        assert sum(costs.get(name, 0.0) for name in features_of(terms)) <= 3.0
    groups = [["age", "income"], ["amount", "months"]]
    for terms in terms_of(SparseQuadraticSVC(k=4, loss=loss, feature_groups=groups, max_features=1).fit(X, y)):
        assert any(features_of(terms) <= set(group) for group in groups)


def test_paths_and_cross_validation_keep_to_the_rules():
    X, y = named()
    rules = {"hierarchy": "strong", "max_features": 3}
    path = sparse_quadratic_path(X, y, ks=[1, 2, 3, 5, 8], **rules)
    search = SparseQuadraticSVCCV(ks=[2, 4, 6], Cs=[4.0, 64.0], loss="least_squares", cv=3, **rules).fit(X, y)
    names = np.array(search.term_names())
    for chosen in (*path.support.reshape(-1, len(names)), *search.paths_[0].support.reshape(-1, len(names)), search.coef_[0]):
        terms = names[np.flatnonzero(chosen)]
        assert len(features_of(terms)) <= 3
        for term in terms:
            assert features_of([term]) <= set(terms)
    assert (np.diff(path.objective, axis=1) <= 1e-9 * path.objective[:, :-1]).all()


def test_a_constant_linear_term_leaves_its_products_out():
    X, y = named()
    X["age"] = 1.0
    (terms,) = terms_of(SparseQuadraticSVC(k=9, hierarchy="strong").fit(X, y))
    assert "age" not in features_of(terms)


def test_refits_of_a_fitted_model_have_its_rules(tmp_path):
    X, y = named()
    rules = {"hierarchy": "weak", "feature_cost": {"age": 1.0, "income": 1.0}, "max_cost": 1.0, "max_features": 3}
    model = SparseQuadraticSVC(k=4, interaction_cst=[["age", "amount"]], **rules).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    quadric.save_model(model, tmp_path / "model.json")
    loaded = quadric.load_model(tmp_path / "model.json")
    assert {name: loaded.get_params()[name] for name in rules} == rules
    again = fitted_model(loaded).procedure().fit(X.to_numpy(), y)
    np.testing.assert_array_equal(again.coef_ != 0.0, model.coef_ != 0.0)
    (certificate,) = quadric.certify(loaded, X, y)
    assert certificate.swap_optimal
    for other in quadric.alternatives(loaded, X, y, within=0.5).supports:
        assert len(features_of(other.terms)) <= 3


def test_levels_of_one_column_are_one_column():
    rng = np.random.default_rng(0)
    home = rng.choice(["own", "rent", "free"], 300)
    table = {"home": home, "age": rng.normal(size=300), "debt": rng.normal(size=300)}
    score = (home == "own") * 1.0 - (home == "free") + table["age"] + 0.3 * table["debt"]
    y = np.where(score + 0.3 * rng.normal(size=300) > 0.5, "good", "bad")
    model = quadric.TableClassifier(k=4, C=64.0, loss="least_squares", max_features=2).fit(table, y)
    classifier = model.trained_.classifier
    columns = model.trained_.data.encoder.features_
    used_features = np.flatnonzero(classifier.surfaces_[0].live_features)
    used = {columns[i].input for i in used_features}
    assert len(used) <= 2
    assert len(used_features) > 2  # levels of home and age
    with pytest.raises(ValueError, match="did you mean 'home'"):
        quadric.TableClassifier(k=2, C=1.0, interaction_cst=[{"hom", "age"}]).fit(table, y)


def test_a_model_file_that_breaks_its_own_rules_is_refused(tmp_path):
    X, y = named()
    model = SparseQuadraticSVC(k=4, interaction_cst=[{"age", "amount"}], hierarchy="strong").fit(X, y)
    quadric.save_model(model, tmp_path / "model.json")
    assert quadric.load_model(tmp_path / "model.json").interaction_cst == [{"age", "amount"}]
    model.set_params(max_features=1)  # not what it was fitted with
    with pytest.raises(ValueError, match="break the rules on supports"):
        quadric.save_model(model, tmp_path / "other.json")
