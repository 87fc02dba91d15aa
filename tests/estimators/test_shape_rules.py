"""Rules on slopes and coefficients: what estimators take and refuse, and that they hold for every row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, alternatives, certify, moments, sparse_quadratic_path
from quadric.fitted import fitted_model
from quadric.geometry.box import Box, SlopeRule, lowest_slope, slope_form
from quadric.geometry.terms import term_index

NAMES = ["income", "age", "debt", "owner", "car=new", "car=used"]


def applicants(seed, m=300):
    """Rows with a numeric, a two-valued and a text column, whose labels break every rule now and then."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 6)) * [900.0, 9.0, 5000.0, 1.0, 1.0, 1.0] + [2500.0, 40.0, 9000.0, 0.0, 0.0, 0.0]
    X[:, 3] = rng.random(m) < 0.4
    car = rng.integers(0, 3, m)
    X[:, 4], X[:, 5] = car == 1, car == 2
    unit = (X - X.mean(axis=0)) / X.std(axis=0)
    score = -0.5 * unit[:, 0] + unit[:, 0] * unit[:, 1] + 0.6 * unit[:, 2] * unit[:, 3] - 0.5 * unit[:, 4] * unit[:, 0]
    y = np.where(score + rng.normal(size=m) > 0.0, "bad", "good")
    return X, np.where(y == "bad", 1, 0)


def with_names(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=NAMES)


RULES = {"income": -1, "debt": "increasing", "owner": -1, "car=new": 1}
GROUPS = [["car=new", "car=used"]]


def assert_obeys(model, seed):
    """10,000 random pairs of rows that differ in a ruled column only, values far beyond the caps, one-hot groups included."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2, 10_000, 6)) * [9e4, 900.0, 5e5, 1.0, 1.0, 1.0] * 10.0 ** rng.integers(-3, 2, size=(2, 10_000, 1))
    rows[:, :, 3] = rng.random((2, 10_000)) < 0.5
    car = rng.integers(0, 3, (2, 10_000))
    rows[:, :, 4], rows[:, :, 5] = car == 1, car == 2
    ruled = rng.integers(0, 4, 10_000)
    for number, (name, sign) in enumerate(RULES.items()):
        lower, upper = rows[:, ruled == number].copy()
        column, sign = NAMES.index(name), {"increasing": 1}.get(sign, sign)
        moving = np.sort([lower[:, column], upper[:, column]], axis=0)
        if column > 2:
            moving = np.array([[0.0], [1.0]])
        upper = lower.copy()
        lower[:, column], upper[:, column] = moving
        if column > 3:  # from the level that has no feature to this one
            lower[:, 4:], upper[:, 4:] = 0.0, 0.0
            upper[:, column] = 1.0
        before, after = model.decision_function(with_names(lower)), model.decision_function(with_names(upper))
        assert np.all(sign * (after - before) >= -1e-9 * np.maximum(1.0, np.abs(before)))


@pytest.mark.parametrize(("loss", "k"), [("least_squares", 4), ("least_squares", 12), ("logistic", 8), ("hinge", 6)])
def test_rules_hold_for_every_row_and_are_proved(loss, k):
    for seed in range(3):
        X, y = applicants(seed)
        model = SparseQuadraticSVC(k=k, loss=loss, monotonic_cst=RULES, feature_groups=GROUPS).fit(with_names(X), y)
        (certificate,) = model.certificates_
        assert [proof.words() for proof in certificate.monotone] == [
            f"proved: never {'falls' if name in ('debt', 'car=new') else 'rises'} with {name}, for any row"
            for name in ("income", "debt", "owner", "car=new")
        ]
        assert certificate.decrease <= 1e-8
        assert certificate.stationarity <= 1e-8
        assert certificate.swap_optimal is not False
        assert_obeys(model, seed)
        free = SparseQuadraticSVC(k=k, loss=loss, feature_groups=GROUPS).fit(with_names(X), y).certificates_[0].objective
        assert certificate.objective >= free * (1.0 - 1e-12)
        (again,) = certify(model, with_names(X), y)
        assert_allclose(again.objective, certificate.objective, rtol=1e-12)
        assert again.swap_optimal == certificate.swap_optimal
        assert again.lower_bound <= again.objective
        assert [proof.words() for proof in again.monotone] == [proof.words() for proof in certificate.monotone]


def test_smallest_slopes_are_in_the_units_of_the_user():
    X, y = applicants(1)
    model = SparseQuadraticSVC(k=12, monotonic_cst={0: "decreasing", 2: 1}).fit(X, y)
    for proof in model.certificates_[0].monotone:
        at, step = X.mean(axis=0), 1.0
        for name, value in proof.row.items():
            at[int(name[1:])] = value
        c = int(proof.feature[1:])
        low, high = proof.box[proof.feature]
        at[c] = np.clip(at[c], low + step, high - step)
        around = at + np.array([[-step], [step]]) * (np.arange(6) == c)
        # of a quadratic, central differences are exact; the row stands at the end of a squared column
        slope = proof.sign * np.diff(model.decision_function(around))[0] / (2.0 * step)
        if proof.feature not in proof.row:
            assert_allclose(slope, proof.slope, atol=1e-10)
        assert low == model.clip_low_[c]
        assert high == model.clip_high_[c]


def test_limits_on_coefficients():
    X, y = applicants(2)
    model = SparseQuadraticSVC(k=12, coef_bounds={"x0*x1": (None, 0.05), "x3*x2": (0, None), "x0": (-0.2, 0.3)}).fit(X, y)
    free = SparseQuadraticSVC(k=12).fit(X, y)
    names, (z,), (other,) = model.term_names(), model.coef_, free.coef_
    assert other[names.index("x0*x1")] > 0.05
    assert other[names.index("x0")] < -0.2
    assert z[names.index("x0*x1")] <= 0.05
    assert z[names.index("x2*x3")] >= 0.0
    assert -0.2 <= z[names.index("x0")] <= 0.3
    assert model.certificates_[0].decrease <= 1e-8
    assert model.certificates_[0].swap_optimal


def test_a_rule_of_the_other_class_is_turned_round():
    X, y = applicants(3)
    labels = np.where(y == 1, "risk", "fine")
    one = SparseQuadraticSVC(k=6, monotonic_cst={"risk": {"x0": -1}}, coef_bounds={"risk": {"x1": (0, 1)}}).fit(X, labels)
    two = SparseQuadraticSVC(k=6, monotonic_cst={"fine": {"x0": 1}}, coef_bounds={"fine": {"x1": (-1, 0)}}).fit(X, labels)
    assert_allclose(one.coef_, two.coef_)
    assert one.certificates_[0].monotone[0].sign == -1


def test_more_classes_have_rules_of_their_own():
    X, y = applicants(4)
    labels = np.where(X[:, 1] > 45.0, "old", np.where(y == 1, "bad", "good"))
    model = SparseQuadraticSVC(k=6, monotonic_cst={"bad": {"x0": -1}, "old": {"x2": 1}}).fit(X, labels)
    assert [[proof.feature for proof in each.monotone] for each in model.certificates_] == [["x0"], [], ["x2"]]
    assert all(proof.proved for each in model.certificates_ for proof in each.monotone)


def test_without_caps_a_proof_is_about_the_range_of_the_rows():
    X, y = applicants(5)
    model = SparseQuadraticSVC(k=6, clip=None, monotonic_cst={"x0": -1}).fit(X, y)
    (proof,) = model.certificates_[0].monotone
    assert proof.words() == "proved: never rises with x0, for rows in the range of the training rows"
    assert_allclose(proof.box["x0"], [X[:, 0].min(), X[:, 0].max()], rtol=1e-12)


REFUSED = {
    "no feature 'Income' (did you mean 'income'?)": {"monotonic_cst": {"Income": -1}},
    "must be -1 (decreasing), 0 or 1 (increasing), got 'down'": {"monotonic_cst": {"income": "down"}},
    "must be -1 (decreasing), 0 or 1 (increasing), got 2": {"monotonic_cst": {"income": 2}},
    "one sign for each of 6 features": {"monotonic_cst": [1, 0]},
    "two rules on 'income' contradict each other": {"monotonic_cst": {"income": -1, 0: 1}},
    "leave out every term of it": {"monotonic_cst": {"age": 1}, "exclude": ["age*", "age", "age^2"]},
    "no term 'age*dept' (did you mean 'age*debt'?)": {"coef_bounds": {"age*dept": (0, 1)}},
    "the lower limit 1 is above the upper one, 0": {"coef_bounds": {"age": (1, 0)}},
    "must be a pair (low, high)": {"coef_bounds": {"age": 1}},
    "must be numbers or None": {"coef_bounds": {"age": ("low", "high")}},
    "must allow 0, unless include names it": {"coef_bounds": {"age": (0.5, None)}},
    "monotonic_cst and coef_bounds contradict each other on 'age'": {
        "monotonic_cst": {"age": 1},
        "coef_bounds": {"age": (None, 0)},
    },
    "include and coef_bounds contradict each other on 'age'": {"include": ["age"], "coef_bounds": {"age": (0, 0)}},
    "the rules on terms leave it out": {"exclude": ["age"], "coef_bounds": {"age": (0, 1)}},
    "no term is left": {"terms": "linear", "coef_bounds": dict.fromkeys(NAMES, (0, 0))},
    "y has no class 'Bad'": {"monotonic_cst": {"Bad": {"income": 1}}},
    "with two classes there is one score": {"monotonic_cst": {"0": {"income": 1}, "1": {"income": 1}}},
}


@pytest.mark.parametrize("words", REFUSED)
def test_refused(words):
    X, y = applicants(0, m=60)
    with pytest.raises(ValueError) as caught:
        SparseQuadraticSVC(k=3, **REFUSED[words]).fit(with_names(X), y)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_level_needs_one_that_is_left_out():
    X, y = applicants(0)
    X = np.column_stack([X, (X[:, 4] + X[:, 5] == 0.0)])
    with pytest.raises(ValueError, match="'x4' is one of the levels in feature_groups of which every row has one"):
        SparseQuadraticSVC(k=3, monotonic_cst={4: 1}, feature_groups=[[4, 5, 6]]).fit(X, y)


def sums_of(X, y, **limits):
    pyarrow = pytest.importorskip("pyarrow")
    columns = dict(zip(NAMES, X.T, strict=True))
    return moments(pyarrow.table(columns | {"risk": np.where(y == 1, "z", "a")}), target="risk", **limits)


def test_sums_over_rows_are_enough():
    """The same model, box and proof as from the rows; two-valued features and levels are told by the sums."""
    X, y = applicants(6)
    model = SparseQuadraticSVC(k=8, monotonic_cst=RULES, feature_groups=GROUPS)
    rows = model.fit(with_names(X), np.where(y == 1, "z", "a"))
    caps = {"clip_low": rows.clip_low_.tolist(), "clip_high": rows.clip_high_.tolist()}
    sums = SparseQuadraticSVC(**model.get_params()).fit_moments(sums_of(X, y, **caps))
    assert_allclose(sums.coef_, rows.coef_, atol=1e-9)
    assert [proof.words() for proof in sums.certificates_[0].monotone] == [
        proof.words() for proof in rows.certificates_[0].monotone
    ]
    assert sums.certificates_[0].decrease <= 1e-8
    assert sums.certificates_[0].stationarity <= 1e-8
    assert sums.certificates_[0].swap_optimal
    with pytest.raises(ValueError, match="monotonic_cst needs the limits of every feature where sums stand for rows"):
        SparseQuadraticSVC(**model.get_params()).fit_moments(sums_of(X, y))


@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
def test_cross_validation_keeps_the_rules_in_every_fold_and_on_all_rows(loss):
    X, y = applicants(7)
    grid = {"ks": [3, 6], "Cs": [1.0, 64.0], "loss": loss, "terms": "quadratic"}
    search = SparseQuadraticSVCCV(**grid, monotonic_cst=RULES, feature_groups=GROUPS, cv=3).fit(with_names(X), y)
    assert all(proof.proved for proof in search.certificates_[0].monotone)
    assert [proof.feature for proof in search.best_estimator_.certificates_[0].monotone] == list(RULES)
    assert_obeys(search, 7)
    (path,) = search.paths_
    units = (np.clip(X, search.clip_low_, search.clip_high_) - search.center_) / search.scale_
    box = Box.of_rows(units, [np.array([4, 5])])
    for z in path.coef.reshape(-1, path.n_terms):
        for slope in (SlopeRule(0, -1), SlopeRule(2, 1), SlopeRule(3, -1), SlopeRule(4, 1)):
            positions, _ = slope_form(slope.feature, units[0])
            assert lowest_slope(slope, box, z[positions[:-1]], float(z[positions[-1]])).is_proved


@pytest.mark.parametrize("method", ["best", "pd"])
def test_paths_keep_the_rules_for_every_k_and_C(method):
    X, y = applicants(8, m=120)
    units = (X - X.mean(axis=0)) / X.std(axis=0)
    rules = {"monotonic_cst": [-1, 0, 1, 0, 0, 0], "coef_bounds": {"x1*x0": (0, 0.1)}}
    path = sparse_quadratic_path(units, y, ks=[2, 5, 9], Cs=[1.0, 64.0], method=method, **rules, certify=True)
    box, name = Box.of_rows(units), term_index(0, 1, 6)
    for z in path.coef.reshape(-1, path.n_terms):
        assert 0.0 <= z[name] <= 0.1
        for slope in (SlopeRule(0, -1), SlopeRule(2, 1)):
            positions, _ = slope_form(slope.feature, units[0])
            assert lowest_slope(slope, box, z[positions[:-1]], float(z[positions[-1]])).is_proved
    free = sparse_quadratic_path(units, y, ks=[2, 5, 9], Cs=[1.0, 64.0], method=method)
    assert np.all(path.objective >= free.objective * (1.0 - 1e-12))
    assert np.all(path.lower_bound <= path.objective)
    if method == "best":
        assert np.all(np.diff(path.objective, axis=1) <= 0.0)


def test_any_model_can_be_tested_for_slopes():
    """Without rules a slope is proved, or fails in a row that is shown: two rows around it tell."""
    X, y = applicants(9)
    model = SparseQuadraticSVC(k=10, feature_groups=GROUPS).fit(with_names(X), y)
    (plain,), (certificate,) = certify(model, with_names(X), y), certify(model, with_names(X), y, monotonic_cst=RULES)
    assert certificate.objective == plain.objective
    assert certificate.swap_optimal
    assert plain.monotone == ()
    verdicts = {proof.feature: proof for proof in certificate.monotone}
    assert not verdicts["income"].proved
    assert verdicts["income"].words().startswith("rises with income where ")
    at = dict(zip(NAMES, X.mean(axis=0), strict=True)) | verdicts["income"].row
    rows = np.repeat([[at[name] for name in NAMES]], 2, axis=0)
    low, high = verdicts["income"].box["income"]
    rows[:, 0] = [low, high]
    fitted = SparseQuadraticSVC(k=10, feature_groups=GROUPS, monotonic_cst=RULES).fit(with_names(X), y)
    assert np.diff(model.decision_function(with_names(rows)))[0] > 0.0
    assert np.diff(fitted.decision_function(with_names(rows)))[0] <= 0.0
    (surface,) = model.surfaces_
    units = (np.clip(X, model.clip_low_, model.clip_high_) - model.center_) / model.scale_
    (bare,) = certify(surface, units, y, loss="least_squares", C=64.0, k=10, monotonic_cst={0: -1})
    assert_allclose(bare.monotone[0].slope, verdicts["income"].slope * model.scale_[0], rtol=1e-9)


def test_few_rows_do_not_make_a_column_two_valued():
    """Rows that are all beyond the caps of a column hide its values between, where the score falls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] ** 2 + 0.2 * X[:, 0] + 0.3 * X[:, 1] + 0.3 * rng.normal(size=400) > 0.8).astype(int)
    few, labels = np.array([[-9.0, 0.0], [9.0, 0.1], [9.0, -0.5], [-9.0, 0.7], [9.0, 1.0]]), [0, 1, 0, 1, 1]
    model = SparseQuadraticSVC(k=3, clip=0.05).fit(X, y)
    assert np.diff(model.decision_function([[-1.0, 0.0], [0.0, 0.0]]))[0] < 0.0
    (certificate,) = certify(model, few, labels, time_limit=0.0, monotonic_cst={0: 1})
    assert certificate.monotone[0].words().startswith("falls with x0 where x0 = ")
    free = SparseQuadraticSVC(k=3, clip=None).fit(X, y)
    (certificate,) = certify(free, np.abs(few) + np.arange(5)[:, None], labels, time_limit=0.0, monotonic_cst={0: 1})
    assert certificate.monotone[0].words() == "proved: never falls with x0, for rows in the range of these rows"


def test_a_step_with_a_square_is_proved_for_its_two_values():
    """Between them the square may turn the score around."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.choice([3.0, 10.0], 200), rng.normal(size=200)])
    y = (X[:, 1] * (X[:, 0] - 5.0) + rng.normal(size=200) > 0.0).astype(int)
    rules = {"include": ["x0", "x0^2"], "coef_bounds": {"x0^2": (-2.0, -0.5)}, "monotonic_cst": {"x0": 1}}
    model = SparseQuadraticSVC(k=3, C=4.0, **rules).fit(X, y)
    low, between, high = model.decision_function([[3.0, 0.0], [9.0, 0.0], [10.0, 0.0]])
    assert low <= high < between
    assert model.certificates_[0].monotone[0].words() == "proved: never falls with x0, for any row where x0 is 3 or 10"


def test_certify_knows_terms_that_a_limit_made_zero():
    """A square whose linear term came out as zero stands on a support with that term, and with no other one."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    y = (X[:, 1] ** 2 - 0.3 * X[:, 1] + 0.3 * X[:, 0] ** 2 + 0.2 * rng.normal(size=200) > 1.0).astype(int)
    model = SparseQuadraticSVC(k=2, hierarchy="strong", coef_bounds={"x1": (0.0, None)}).fit(X, y)
    assert np.flatnonzero(model.coef_[0]).tolist() == [2]
    (certificate,) = certify(model, X, y, time_limit=0.0)
    assert certificate.swap_optimal
    assert model.certificates_[0].swap_optimal


def test_a_feature_of_one_row_is_no_flag_of_gaps():
    """A number beside it in a group can have any value in other rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 2] = 0.0
    X[np.argsort(X[:, 1])[150], 2] = 1.0
    y = (X[:, 0] + 1.5 * X[:, 0] * X[:, 1] + 5.0 * X[:, 0] * X[:, 2] + 0.2 * rng.normal(size=300) > 0.0).astype(int)
    rules = {"monotonic_cst": {0: 1}, "feature_groups": [[1, 2]], "include": ["x0*x2", "x0*x1"]}
    model = SparseQuadraticSVC(k=6, **rules).fit(X, y)
    rows = np.array([[x0, x1, x2] for x2 in (0.0, 1.0) for x1 in (-9.0, 9.0) for x0 in (-9.0, 9.0)])
    assert np.diff(model.decision_function(rows))[::2].min() >= -1e-9


def test_refits_by_position_have_the_same_rules():
    X, y = applicants(10)
    labels = np.where(y == 1, "bad", "good")
    model = SparseQuadraticSVC(k=6, monotonic_cst={"good": {"income": 1}}, coef_bounds={"good": {"debt": (0, None)}})
    model = model.fit(with_names(X), labels)
    again = fitted_model(model).procedure().fit(X, np.where(labels == "good", 1, 0))
    assert_allclose(again.coef_, model.coef_, atol=1e-12)
    assert again.certificates_[0].monotone[0].proved


def test_near_ties_keep_the_rules():
    X, y = applicants(11)
    model = SparseQuadraticSVC(k=5, monotonic_cst=RULES, feature_groups=GROUPS).fit(with_names(X), y)
    ties = alternatives(model, with_names(X), y, within=0.01)
    assert ties.supports
    for other, listed in zip(ties.models_, ties.supports, strict=True):
        assert_allclose(other.certificates_[0].objective, listed.objective, rtol=1e-9)
        assert all(proof.proved for proof in other.certificates_[0].monotone)
        assert len(other.certificates_[0].monotone) == len(RULES)
        assert other.certificates_[0].decrease <= 1e-8
    assert_obeys(other, 11)


def with_gaps(seed, m=400):
    """income, age imputed by its mean, the flag of its gaps, and labels that go by products of all three."""
    rng = np.random.default_rng(seed)
    income, age = rng.normal(size=m), 40.0 + 10.0 * rng.normal(size=m)
    gap = rng.random(m) < 0.2
    age[gap] = age[~gap].mean()
    X = np.column_stack([income, age, gap])
    score = 0.4 * income + 0.8 * income * (age - 40.0) / 10.0 - 1.5 * income * gap + 0.5 * (age - 40.0) / 10.0
    return X, (score + 0.5 * rng.normal(size=m) > 0.0).astype(int), float(age[gap][0])


def test_flags_of_gaps_go_with_what_is_imputed():
    groups = [[1, 2]]
    for seed in range(3):
        X, y, imputed = with_gaps(seed)
        how = {"k": 6, "feature_groups": groups, "monotonic_cst": {0: 1, 1: 1}}
        model = SparseQuadraticSVC(**how).fit(X, y)
        loose = SparseQuadraticSVC(**(how | {"feature_groups": None})).fit(X, y)
        box = Box.of_rows(X, [np.array(group) for group in groups])
        assert (box.flags, box.fills) == ({2: 1}, {1: imputed})
        assert [proof.words() for proof in model.certificates_[0].monotone] == [
            "proved: never falls with x0, for any row",
            "proved: never falls with x1, for any row (a step between missing and present is not covered)",
        ]
        assert model.certificates_[0].objective <= loose.certificates_[0].objective * (1.0 + 1e-9)
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(2, 10_000, 3)) * [10.0, 100.0, 0.0]
        rows[:, :, 2] = rng.random(10_000) < 0.5
        rows[:, rows[0, :, 2] == 1.0, 1] = imputed
        for column in (0, 1):
            pairs = rows[:, rows[0, :, 2] == 0.0] if column else rows
            lower, upper = pairs[0].copy(), pairs[0].copy()
            lower[:, column], upper[:, column] = np.sort(pairs[:, :, column], axis=0)
            before, after = model.decision_function(lower), model.decision_function(upper)
            assert np.all(after - before >= -1e-9 * np.maximum(1.0, np.abs(before)))


def test_a_required_product_brings_the_linear_term_that_its_rule_needs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=200) > 0).astype(int)
    rules = {"include": ["x0^2"], "coef_bounds": {"x0^2": (-2.0, -0.5)}, "monotonic_cst": {0: 1}}
    model = SparseQuadraticSVC(k=3, **rules).fit(X, y)
    assert model.certificates_[0].monotone[0].proved
    assert {"x0", "x0^2"} <= {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value}
