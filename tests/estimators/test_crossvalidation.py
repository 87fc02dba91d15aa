"""SparseQuadraticSVCCV: the grid, the rules, the units, and bad folds."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UndefinedMetricWarning
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedGroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import LOSSES, PLAIN, random_samples
from quadric import SparseQuadraticSVC, SparseQuadraticSVCCV, certify
from quadric.progress import listening


@parametrize_with_checks(
    [
        SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0], cv=2, loss="least_squares"),
        SparseQuadraticSVCCV(ks=[1, 3], Cs=[1.0, 4.0], cv=2, rule="1se"),
    ]
)
def test_estimator_check(estimator, check):
    check(estimator)


BY_ACCURACY = {"scoring": "accuracy", "terms": "quadratic"}


@pytest.fixture(params=LOSSES)
def loss(request):
    return request.param


def samples(seed=0, m=90, n=3):
    X, y = random_samples(seed, m=m, n=n)
    return X, np.where(y > 0, "good", "bad")


def test_scores_are_those_of_the_path_fold_by_fold(loss):
    """Each cell of each fold is a surface fitted on the other folds and scored on this one."""
    X, y = samples()
    cv = KFold(3, shuffle=True, random_state=0)
    model = SparseQuadraticSVCCV(ks=[1, 3], Cs=[1.0, 16.0], cv=cv, loss=loss, method="pd", **BY_ACCURACY).fit(X, y)
    assert model.cv_scores_.shape == (3, 2, 2)
    for fold, (train, test) in enumerate(cv.split(X)):
        for i, C in enumerate([1.0, 16.0]):
            for j, k in enumerate([1, 3]):
                fit = SparseQuadraticSVC(k=k, C=C, loss=loss, method="pd").fit(X[train], y[train])
                assert model.cv_scores_[fold, i, j] == pytest.approx(fit.score(X[test], y[test]))


def test_choice_and_final_fit(loss):
    X, y = samples()
    model = SparseQuadraticSVCCV(ks=[1, 2, 4], Cs=[0.25, 16.0], cv=3, loss=loss, rule="best", terms="quadratic").fit(X, y)
    mean = model.cv_scores_.mean(axis=0)
    i, j = list(model.Cs_).index(model.best_C_), list(model.ks_).index(model.best_k_)
    assert mean[i, j] == mean.max()
    assert model.surfaces_[0].n_terms <= model.best_k_
    assert model.certificates_[0].stationarity < 1e-8
    direct = SparseQuadraticSVC(k=model.best_k_, C=model.best_C_, loss=loss).fit(X, y)
    assert model.certificates_[0].objective <= direct.certificates_[0].objective * (1 + 1e-9)
    assert model.paths_[0].objective.shape == (2, 3)
    assert_array_equal(model.paths_[0].scores, model.cv_scores_)
    cell = (i, j)
    assert model.certificates_[0].objective <= model.paths_[0].objective[cell] * (1 + 1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_the_final_fit_is_a_model_of_its_own(standardize):
    X, y = samples()
    X = pd.DataFrame(100.0 * X + 7.0 if standardize else X, columns=[f"f{i}" for i in range(X.shape[1])])
    search = SparseQuadraticSVCCV(ks=[2, 3], Cs=[4.0], cv=3, loss="least_squares", method="exact", standardize=standardize)
    search.fit(X, y)
    model = search.best_estimator_
    assert (model.k, model.C, model.loss, model.method) == (search.best_k_, search.best_C_, "least_squares", "exact")
    assert search.certificates_[0].status == "optimal"
    assert model.certificates_ == search.certificates_
    assert_array_equal(model.decision_function(X), search.decision_function(X))
    assert list(model.feature_names_in_) == list(X.columns)
    again = clone(model).fit(X, y)
    assert_allclose(again.decision_function(X), model.decision_function(X))


def test_standardize_is_a_pipeline_inside_each_fold(loss):
    X, y = samples(1)
    X = X * [1.0, 5.0, 0.2] + [3.0, -1.0, 0.5]
    cv = KFold(3)
    inside = SparseQuadraticSVCCV(ks=[2], Cs=[4.0], cv=cv, loss=loss, clip=None, method="pd", **BY_ACCURACY).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2, C=4.0, loss=loss, method="pd", **PLAIN))
    assert_allclose(inside.cv_scores_[:, 0, 0], cross_val_score(pipeline, X, y, cv=cv))
    scaler = StandardScaler().fit(X)
    assert_allclose(inside.center_, scaler.mean_)
    assert_allclose(inside.scale_, scaler.scale_)
    assert_allclose(inside.decision_function(X), inside.surfaces_[0](scaler.transform(X)), atol=1e-10)
    assert_allclose(inside.raw_surfaces_[0](X), inside.decision_function(X), atol=1e-9)
    assert inside.surfaces_[0].n_terms <= 2
    (certificate,) = certify(inside, X, y)
    assert certificate.objective == pytest.approx(inside.certificates_[0].objective, rel=1e-10)


def test_caps_come_from_the_training_rows_of_each_fold(loss):
    X, y = samples(1)
    X, cv = X**3, KFold(3)
    search = SparseQuadraticSVCCV(ks=[2], Cs=[4.0], cv=cv, loss=loss, clip=0.1, **BY_ACCURACY).fit(X, y)
    for scores, (train, test) in zip(search.cv_scores_, cv.split(X), strict=True):
        limits = np.quantile(X[train], [0.1, 0.9], axis=0, method="inverted_cdf")
        pipeline = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=2, C=4.0, loss=loss, **PLAIN))
        pipeline.fit(np.clip(X[train], *limits), y[train])
        assert scores[0, 0] == pipeline.score(np.clip(X[test], *limits), y[test])
    own = search.best_estimator_
    assert_array_equal(search.clip_low_, np.quantile(X, 0.1, axis=0, method="inverted_cdf"))
    assert_array_equal(own.clip_high_, np.quantile(X, 0.9, axis=0, method="inverted_cdf"))
    assert_array_equal(own.decision_function(9.0 * X), search.decision_function(9.0 * X))
    assert certify(own, X, y)[0].objective == pytest.approx(own.certificates_[0].objective, rel=1e-10)


def test_more_than_two_classes(loss):
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVCCV(ks=[1, 3], Cs=[1.0, 64.0], cv=3, loss=loss).fit(X, y)
    assert len(model.paths_) == len(model.surfaces_) == 3
    assert all(surface.n_terms <= model.best_k_ for surface in model.surfaces_)
    assert model.score(X, y) > 0.9


def test_n_jobs_does_not_matter(loss):
    X, y = samples(2)
    one, two = (SparseQuadraticSVCCV(ks=[1, 3], Cs=[1.0, 4.0], cv=3, loss=loss, n_jobs=n).fit(X, y) for n in (1, 2))
    assert one.cv_scores_.tobytes() == two.cv_scores_.tobytes()
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert one.paths_[0].coef.tobytes() == two.paths_[0].coef.tobytes()


@pytest.mark.parametrize(
    "scoring",
    [None, "roc_auc", make_scorer(balanced_accuracy_score), lambda model, X, y: (model.predict(X) == y).mean()],
    ids=["default", "decision", "metric", "callable"],
)
def test_any_scorer(scoring):
    X, y = samples(3)
    model = SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0], cv=3, scoring=scoring, loss="least_squares")
    assert model.fit(X, y).cv_scores_.shape == (3, 1, 2)


def test_probabilities_of_three_classes_can_be_scored():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVCCV(ks=[2, 4], Cs=[16.0], cv=3, scoring="neg_log_loss", loss="least_squares").fit(X, y)
    assert (model.cv_scores_ < 0).all()
    assert model.cv_scores_.mean() > -0.5


def test_sample_weight_reaches_fits_and_scores():
    X, y = samples(4, m=60)
    w = np.random.default_rng(0).integers(1, 4, size=60)
    cv = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
    model = SparseQuadraticSVCCV(ks=[2], Cs=[4.0], cv=cv, loss="least_squares", **BY_ACCURACY).fit(X, y, sample_weight=w)
    for fold, (train, test) in enumerate(cv):
        fit = SparseQuadraticSVC(k=2, C=4.0, loss="least_squares").fit(X[train], y[train], sample_weight=w[train])
        assert model.cv_scores_[fold, 0, 0] == pytest.approx(fit.score(X[test], y[test], sample_weight=w[test]))


def test_weights_are_repetitions():
    X, y = samples(4, m=60)
    w = np.random.default_rng(0).integers(1, 3, size=60)
    halves = [(np.arange(0, 30), np.arange(30, 60)), (np.arange(30, 60), np.arange(0, 30))]
    source = np.repeat(np.arange(60), w)
    copies = [tuple(np.flatnonzero(np.isin(source, part)) for part in split) for split in halves]
    model = SparseQuadraticSVCCV(ks=[1, 2, 3], Cs=[1.0, 16.0], loss=("least_squares", "hinge"), rule="best")
    weighted = clone(model).set_params(cv=halves).fit(X, y, sample_weight=w)
    repeated = clone(model).set_params(cv=copies).fit(X[source], y[source])
    for loss in model.loss:
        assert_allclose(weighted.cv_scores_[loss], repeated.cv_scores_[loss])
    assert (weighted.best_loss_, weighted.best_k_, weighted.best_C_) == (
        repeated.best_loss_,
        repeated.best_k_,
        repeated.best_C_,
    )
    assert_allclose(weighted.oof_decision_[source], repeated.oof_decision_, atol=1e-6)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_several_losses_are_scored_as_each_alone():
    X, y = samples(7)
    grid = {"ks": [1, 2, 4], "Cs": [1.0, 16.0], "cv": 3}
    together = SparseQuadraticSVCCV(**grid, loss=["hinge", "least_squares", "logistic"]).fit(X, y)
    assert set(together.cv_scores_) == set(together.Cs_) == {"hinge", "least_squares", "logistic"}
    alone = {loss: SparseQuadraticSVCCV(**grid, loss=loss).fit(X, y) for loss in together.cv_scores_}
    for loss, search in alone.items():
        assert_array_equal(together.cv_scores_[loss], search.cv_scores_)
        assert_array_equal(together.Cs_[loss], search.Cs_)
        assert search.best_loss_ == loss
    twin = alone[together.best_loss_]
    assert together.best_estimator_.loss == together.best_loss_
    assert_array_equal(together.paths_[0].objective, twin.paths_[0].objective)
    if (twin.best_k_, twin.best_C_) == (together.best_k_, together.best_C_):
        assert_array_equal(together.coef_, twin.coef_)


def test_probabilities_where_the_chosen_loss_has_them():
    X, y = samples(7)
    search = SparseQuadraticSVCCV([2], Cs=[4.0], cv=2, loss=("logistic",)).fit(X, y)
    assert_allclose(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert not hasattr(SparseQuadraticSVCCV([2], Cs=[4.0], cv=2, loss=("least_squares",)).fit(X, y), "predict_proba")


@pytest.mark.parametrize("method", ["pd", "best"])
def test_out_of_fold_decisions_are_those_of_the_folds(method):
    """Row by row, the decision values of a model fitted on the other folds; rows of weight zero and others never left out: NaN."""
    X, y = samples(8)
    w = np.ones(90)
    w[[3, 50]] = 0.0
    cv = [(np.arange(30, 90), np.arange(0, 30)), (np.r_[0:30, 60:90], np.arange(30, 60))]
    search = SparseQuadraticSVCCV([2], Cs=[4.0], cv=cv, loss="least_squares", method=method).fit(X, y, sample_weight=w)
    expected = np.full(90, np.nan)
    for train, test in cv:
        fit = SparseQuadraticSVC(2, 4.0, loss="least_squares", method=method).fit(X[train], y[train], sample_weight=w[train])
        expected[test] = fit.decision_function(X[test])
    expected[[3, 50]] = np.nan
    assert_allclose(search.oof_decision_, expected, atol=1e-9)


def test_out_of_fold_decisions_of_repeated_folds_are_averaged():
    X, y = load_iris(return_X_y=True)
    single = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 150, 2), np.arange(0, 150, 2))]
    model = SparseQuadraticSVCCV([2], Cs=[4.0], loss="least_squares")
    once, twice = (clone(model).set_params(cv=cv).fit(X, y).oof_decision_ for cv in (single, single + single))
    assert once.shape == (150, 3)
    assert_allclose(once, twice)


def test_skipped_cells_are_nan_and_the_choice_is_that_of_the_whole_grid(monkeypatch):
    X, y = samples(9, m=150)
    model = SparseQuadraticSVCCV(ks=[1, 2, 3, 5], Cs=8, cv=5, loss=("least_squares", "hinge"), rule=0.01, **BY_ACCURACY)
    adaptive = clone(model).fit(X, y)
    monkeypatch.setattr("quadric.estimators._choosing.ALWAYS_SCORED", 100)
    whole = clone(model).fit(X, y)
    skipped = np.concatenate([np.isnan(scores).ravel() for scores in adaptive.cv_scores_.values()])
    assert 0.0 < skipped.mean() < 0.5
    for loss, scores in whole.cv_scores_.items():
        some = adaptive.cv_scores_[loss]
        assert_array_equal(np.isnan(some), np.isnan(some[:1]).repeat(5, axis=0))  # a cell is skipped in all folds or in none
        assert_array_equal(some[~np.isnan(some)], scores[~np.isnan(some)])
        assert not np.isnan(scores).any()
    best = max(scores.mean(axis=0).max() for scores in whole.cv_scores_.values())
    cell = list(adaptive.Cs_[adaptive.best_loss_]).index(adaptive.best_C_), [1, 2, 3, 5].index(adaptive.best_k_)
    assert whole.cv_scores_[adaptive.best_loss_].mean(axis=0)[cell] >= best - 0.01 - 1e-9


def test_a_default_grid_grows_while_the_best_C_is_at_its_end(capsys, monkeypatch):
    X, y = samples(1)
    monkeypatch.setattr("quadric.estimators._choosing.NEGLIGIBLE", 0.0)

    def spread(model, X, y):
        return np.std(model.decision_function(X))  # grows with C

    model = SparseQuadraticSVCCV(ks=[2], cv=2, loss="least_squares", rule="best", scoring=spread, terms="quadratic", verbose=2)
    grown = clone(model).fit(X, y)
    assert grown.n_extensions_ == 3
    assert_allclose(grown.Cs_, 4.0 ** np.arange(9))
    assert grown.best_C_ == 4.0**8
    assert "trying C = 4096, too" in capsys.readouterr().err
    fixed = clone(model).set_params(Cs=8.0 ** np.arange(4)).fit(X, y)
    assert fixed.n_extensions_ == 0
    assert_allclose(fixed.Cs_, 8.0 ** np.arange(4))


@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_a_fit_that_runs_out_of_time_is_the_best_so_far(limit):
    X, y = random_samples(2, m=300, n=8)
    model = SparseQuadraticSVCCV(loss=("least_squares", "hinge"), fit_time_limit=limit)
    with pytest.warns(
        ConvergenceWarning, match=f"fit_time_limit={limit:g} ran out: the choice is the best of .* scores"
    ) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert model.status_ == ["time limit"]
    scores = model.cv_scores_[model.best_loss_]
    assert np.isfinite(scores).any()
    assert np.isnan(scores).any()
    assert model.surfaces_[0].n_terms <= model.best_k_
    assert model.score(X, y) > 0.5


def test_a_fit_with_enough_time_is_the_fit_without_a_limit():
    X, y = samples(2)
    model = SparseQuadraticSVCCV([1, 3], Cs=[1.0, 4.0], cv=3, loss="least_squares")
    limited, free = (clone(model).set_params(fit_time_limit=limit).fit(X, y) for limit in (1e6, None))
    assert_array_equal(limited.coef_, free.coef_)
    assert limited.status_ == free.status_


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_shares_of_the_work_are_told(n_jobs):
    X, y = samples(2)
    told = []
    with listening(lambda share, what: told.append((share, what))):
        SparseQuadraticSVCCV([1, 3], Cs=5, cv=3, loss=("least_squares", "hinge"), n_jobs=n_jobs).fit(X, y)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert shares[0] == 0.0
    assert shares[-1] == pytest.approx(1.0)
    assert {"cross-validation", "final fit"} <= {what for _, what in told}
    assert len(set(shares)) >= 6


def test_groups_stay_together():
    X, y = samples(5)
    groups = np.arange(90) % 6
    model = SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0], cv=3, loss="least_squares").fit(X, y, groups=groups)
    splits = list(StratifiedGroupKFold(3).split(X, y, groups))
    same = SparseQuadraticSVCCV(ks=[1, 2], Cs=[1.0], cv=splits, loss="least_squares").fit(X, y)
    assert_array_equal(model.cv_scores_, same.cv_scores_)
    assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)


def test_groups_and_splitters():
    X, y = samples(5)
    groups = np.arange(90) % 6
    model = SparseQuadraticSVCCV(ks=[1], Cs=[1.0], cv=GroupKFold(3), loss="least_squares")
    assert model.fit(X, y, groups=groups).cv_scores_.shape == (3, 1, 1)
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="cv asks for 5 folds, but groups has only 3 different values: use fewer folds"):
        clone(model).set_params(cv=5).fit(X, y, groups=groups % 3)
    assert clone(model).set_params(cv=ShuffleSplit(4, random_state=0)).fit(X, y).cv_scores_.shape == (4, 1, 1)
    assert clone(model).set_params(cv=StratifiedKFold(2)).fit(X, y).cv_scores_.shape == (2, 1, 1)


def test_folds_as_lists_and_masks_and_one_weight_for_all():
    X, y = samples(5)
    model = SparseQuadraticSVCCV(ks=[1], Cs=[1.0], loss="least_squares")
    mask = np.arange(90) < 60
    ways = [[(np.arange(60), np.arange(60, 90))], [(list(range(60)), list(range(60, 90)))], [(mask, ~mask)]]
    scores = [clone(model).set_params(cv=cv).fit(X, y, sample_weight=2.0).cv_scores_ for cv in ways]
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


def test_order_of_Cs_does_not_matter():
    X, y = samples(5)
    a, b = (SparseQuadraticSVCCV(ks=[1, 2], Cs=Cs, cv=3, loss="least_squares").fit(X, y) for Cs in ([4.0, 1.0], [1.0, 4.0]))
    assert_array_equal(a.Cs_, b.Cs_)
    assert a.best_C_ == b.best_C_


def test_names_and_constraints():
    X, y = samples(6)
    table = pd.DataFrame(X, columns=["age", "income", "sex"])
    model = SparseQuadraticSVCCV(
        ks=[2, 3], Cs=[1.0], cv=2, loss="least_squares", include=["age"], exclude=["sex*", "sex", "sex^2"]
    )
    model.fit(table, y)
    live = {name for name, value in zip(model.term_names(), model.coef_[0], strict=True) if value}
    assert "age" in live
    assert not any("sex" in name for name in live)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ks": []}, "ks is empty"),
        ({"ks": [2, 1]}, "strictly increasing"),
        ({"Cs": 0}, "Cs must be an integer from 1 to 100"),
        ({"rule": "2se"}, "rule must be None, 'best' or '1se'"),
        ({"rule": -0.01}, "rule must be None, 'best' or '1se' or a finite number of at least 0, got -0.01"),
        ({"terms": "cubic"}, "terms must be"),
        ({"loss": ()}, "loss must be one of"),
        ({"loss": ("least_squares", "least_squares")}, "loss must be one of .* or a sequence of different ones"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"loss": [["logistic"]]}, "loss must be one of"),
        ({"fit_time_limit": -1.0}, "fit_time_limit must be"),
        ({"standardize": "yes"}, "standardize must be True or False"),
        ({"method": "fast"}, "method must be"),
        ({"clip": 0.5}, "clip must be None or a finite number of at least 0 and below 0.5, got 0.5"),
        ({"clip": -0.01}, "clip must be None or a finite number of at least 0 and below 0.5, got -0.01"),
        ({"clip": "0.01"}, "clip must be None or a finite number of at least 0 and below 0.5, got '0.01'"),
        ({"clip": True}, "clip must be None or a finite number of at least 0 and below 0.5, got True"),
        ({"scoring": "no such score"}, "no such score"),
        ({"cv": [(np.arange(45), np.arange(45, 90))] * 2}, "fold 0 has no training sample of class 'good'"),
        ({"cv": 1}, "k-fold"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_bad_input(change, message):
    X, y = samples()
    order = np.argsort(y, kind="stable")
    model = SparseQuadraticSVCCV(ks=[1], Cs=[1.0], cv=2, loss="least_squares").set_params(**change)
    with pytest.raises(ValueError, match=message):
        model.fit(X[order], y[order])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_folds_that_tell_nothing_are_named():
    X, y = np.zeros((50, 1)), np.arange(50) % 2
    X[0] = 1.0
    model = SparseQuadraticSVCCV(ks=[1], Cs=[1.0], loss="least_squares")
    with pytest.raises(ValueError, match="all columns of X are constant in the training part of fold 0"):
        model.fit(X, y)
    X, y = np.random.default_rng(0).normal(size=(10, 1)), np.arange(10) % 2
    halves = [(np.arange(8), np.array([8])), (np.arange(2, 10), np.array([0, 1]))]
    model.set_params(cv=halves, scoring="roc_auc")
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match="nan in fold 0, whose samples left out have one"),
    ):
        model.fit(X, y)


def test_default_grids():
    X, y = samples(n=2)
    model = SparseQuadraticSVCCV(cv=2, loss="least_squares", terms="quadratic").fit(X, y)
    assert set(model.Cs_) >= {1.0, 4.0, 16.0, 64.0, 256.0, 1024.0}
    assert len(model.Cs_) == 6 + model.n_extensions_
    assert_allclose(model.Cs_[1:] / model.Cs_[:-1], 4.0)
    assert_array_equal(model.ks_, [1, 2, 3, 4, 5])
    assert_allclose(SparseQuadraticSVCCV(ks=[2], Cs=10, cv=2, loss="least_squares").fit(X, y).Cs_, 4.0 ** np.arange(-1, 9))
    forced = SparseQuadraticSVCCV(Cs=[1.0], cv=2, loss="least_squares", include=["x0", "x1"], exclude=["x0^2"]).fit(X, y)
    assert_array_equal(forced.ks_, [2, 3, 4])


@pytest.mark.parametrize("method", ["pd", "best", "exact"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("time_limit", [None, 0.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_shipped_is_never_worse_than_what_the_path_found(method, loss, time_limit):
    X, y = random_samples(2, m=60, n=4)
    search = SparseQuadraticSVCCV([2, 4], Cs=[1.0, 16.0], cv=2, loss=loss, method=method, time_limit=time_limit).fit(X, y)
    cell = list(search.Cs_).index(search.best_C_), list(search.ks_).index(search.best_k_)
    found = search.paths_[0].objective[cell]
    for model in (search, search.best_estimator_):
        (certificate,) = model.certificates_
        assert certificate.objective <= found * (1 + 1e-9)
        assert certificate.n_terms <= search.best_k_


@pytest.mark.parametrize(("how", "sign"), [({"greater_is_better": False}, -1.0), ({"normalize": False}, 1.0)])
def test_accuracy_with_settings_is_not_taken_for_accuracy(how, sign):
    X, y = load_iris(return_X_y=True)
    search = SparseQuadraticSVCCV(
        [2],
        [1.0, 8.0],
        loss="least_squares",
        terms="quadratic",
        cv=3,
        rule="best",
        scoring=make_scorer(accuracy_score, **how),
    )
    shares = clone(search).set_params(scoring="accuracy").fit(X, y).cv_scores_
    factor = 50.0 if "normalize" in how else 1.0
    assert_allclose(search.fit(X, y).cv_scores_, sign * factor * shares, rtol=1e-12)


def test_warnings_point_at_code_that_calls_scikit_learn():
    X, y = load_iris(return_X_y=True)
    model = SparseQuadraticSVC(2, method="pd", max_iter=1, loss="least_squares")
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as told:
        make_pipeline(StandardScaler(), model).fit(X, y)
    assert told[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        exec("model.fit(X, y)", {"model": model, "X": X, "y": y})  # has no name of a module
