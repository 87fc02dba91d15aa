"""Moments merge, travel and fit as the rows themselves do."""

from itertools import pairwise

import numpy as np
import pytest

import quadric
from quadric import SparseQuadraticSVC
from quadric.samples.moments import Moments


def table(seed=0, m=600, n=4, classes=("no", "yes"), offset=0.0):
    rng = np.random.default_rng(seed)
    X = offset + rng.normal(size=(m, n)) * np.arange(1, n + 1)
    score = (X[:, 0] - offset) * (X[:, 1] - offset) - X[:, 2] + offset + rng.normal(size=m)
    codes = np.digitize(score, np.quantile(score, np.arange(1, len(classes)) / len(classes)))
    columns = {f"x{j}": X[:, j] for j in range(n)}
    return {**columns, "weight": rng.integers(1, 4, m).astype(float), "y": np.array(classes, dtype=object)[codes]}


def part(whole, rows):
    return {name: values[rows] for name, values in whole.items()}


def parts(whole, sizes=(100, 250, 1, 249)):
    ends = np.cumsum((0, *sizes))
    return [part(whole, slice(a, b)) for a, b in pairwise(ends)]


def features(whole):
    return np.column_stack([values for name, values in whole.items() if name.startswith("x")])


def relative(one, two):
    return np.abs(one - two).max() / np.abs(two).max()


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_merged_moments_fit_as_all_rows_do(standardize, classes, class_weight):
    whole = table(classes=classes)
    sums = [
        quadric.moments(each, target="y", sample_weight="weight", by_class=class_weight is not None) for each in parts(whole)
    ]
    merged = Moments.from_bytes((sums[0] + sums[1] + (sums[2] + sums[3])).to_bytes())
    how = {"k": 4, "C": 4.0, "loss": "least_squares", "standardize": standardize, "class_weight": class_weight}
    streamed = SparseQuadraticSVC(**how).fit_moments(merged)
    rows = SparseQuadraticSVC(**how, clip=None).fit(features(whole), whole["y"], whole["weight"])
    assert streamed.classes_.tolist() == list(classes)
    assert relative(streamed.coef_, rows.coef_) < 1e-10
    assert np.abs(streamed.intercept_ - rows.intercept_).max() < 1e-10
    for one, two in zip(streamed.certificates_, rows.certificates_, strict=True):
        assert one.objective == pytest.approx(two.objective, rel=1e-10)
        assert (one.local_minimum, one.basic_feasible, one.swap_optimal) == (True, True, True)
        assert one.stationarity < 1e-10
    assert streamed.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("offset", [1.0, 1e3])
def test_digits_survive_features_far_from_zero(offset):
    whole = table(offset=offset)
    sums = [quadric.moments(each, target="y", columns=["x0", "x1", "x2", "x3"]) for each in parts(whole)]
    streamed = SparseQuadraticSVC(4, loss="least_squares").fit_moments(sum(sums[1:], sums[0]))
    rows = SparseQuadraticSVC(4, loss="least_squares", clip=None).fit(features(whole), whole["y"])
    assert relative(streamed.coef_, rows.coef_) < 1e-10


def test_limits_are_part_of_the_moments():
    whole = table()
    rows = SparseQuadraticSVC(3, loss="least_squares", clip=0.05).fit(features(whole), whole["y"])
    limits = {"clip_low": rows.clip_low_, "clip_high": rows.clip_high_}
    sums = [quadric.moments(each, target="y", columns=["x0", "x1", "x2", "x3"], **limits) for each in parts(whole)]
    streamed = SparseQuadraticSVC(3, loss="least_squares").fit_moments(sums[0] + sums[1] + sums[2] + sums[3])
    assert relative(streamed.coef_, rows.coef_) < 1e-10
    assert streamed.clip_low_.tolist() == rows.clip_low_.tolist()
    other = quadric.moments(parts(whole)[0], target="y", columns=["x0", "x1", "x2", "x3"])
    with pytest.raises(ValueError, match="other limits cannot be added"):
        sums[0] + other


def test_a_class_may_be_missing_from_a_part():
    whole = table(m=300)
    positive = whole["y"] == "yes"
    sums = quadric.moments(part(whole, positive), target="y", by_class=True)
    sums = sums + quadric.moments(part(whole, ~positive), target="y", by_class=True)
    assert sums.classes == ("no", "yes")
    everything = quadric.moments(whole, target="y", by_class=True)
    np.testing.assert_allclose(sums.class_weights, everything.class_weights)
    one, two = (SparseQuadraticSVC(3, loss="least_squares").fit_moments(each) for each in (sums, everything))
    assert relative(one.coef_, two.coef_) < 1e-10
    with pytest.raises(ValueError, match="at least two classes, but have one class only: 'yes'"):
        SparseQuadraticSVC(loss="least_squares").fit_moments(quadric.moments(part(whole, positive), target="y"))
    with pytest.raises(ValueError, match="no rows of class 'maybe'"):
        SparseQuadraticSVC(loss="least_squares").fit_moments(quadric.moments(whole, target="y", classes=["no", "yes", "maybe"]))
    with pytest.raises(ValueError, match="has the class 'yes', which is not one of maybe, no"):
        quadric.moments(whole, target="y", classes=["no", "maybe"])


def test_what_does_not_belong_together_is_not_added():
    whole = table()
    sums = quadric.moments(whole, target="y")
    with pytest.raises(ValueError, match="other columns cannot be added: only one of them has 'x3'"):
        sums + quadric.moments(whole, target="y", columns=["x0", "x1", "x2", "weight"])
    with pytest.raises(ValueError, match="another target"):
        sums + quadric.moments({**whole, "z": whole["y"]}, target="z", columns=[*sums.columns])
    with pytest.raises(ValueError, match="give by_class everywhere"):
        sums + quadric.moments(whole, target="y", by_class=True)
    with pytest.raises(ValueError, match="by_class=True"):
        SparseQuadraticSVC(loss="least_squares", class_weight={"no": 2.0}).fit_moments(sums)
    with pytest.raises(ValueError, match="the loss hinge needs all rows: moments serve least_squares"):
        SparseQuadraticSVC(loss="hinge").fit_moments(sums)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": ["a"] * 600}, "column 'x0' holds texts: moments are of numbers"),
        ({"x0": np.r_[np.nan, np.ones(599)]}, "column 'x0' is missing in row 1"),
        ({"x1": np.r_[np.ones(599), np.inf]}, "column 'x1' is infinite in row 600"),
        ({"weight": np.full(600, -1.0)}, "weights 'weight' must be finite numbers of at least 0"),
        ({"weight": np.zeros(600)}, "no rows of positive weight"),
        (
            {"y": np.array([*["no"] * 99, None] * 6, dtype=object)},
            r"^the target is missing in 6 row\(s\), the first is row 100: drop them or fill them in",
        ),
    ],
)
def test_bad_rows_are_refused_with_their_number(change, message):
    with pytest.raises(ValueError, match=message):
        quadric.moments({**table(), **change}, target="y", sample_weight="weight")


def test_damaged_bytes_are_refused():
    data = quadric.moments(table(), target="y").to_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(data), 200).tolist():
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(8))
        with pytest.raises(ValueError, match="these"):
            Moments.from_bytes(bytes(changed))
    for length in (0, 5, 30, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="these"):
            Moments.from_bytes(data[:length])


def test_iterators_files_and_tables_give_the_same(tmp_path):
    pa = pytest.importorskip("pyarrow")
    whole = table()
    frame = pa.table({name: pa.array(values.tolist()) for name, values in whole.items()})
    expected = quadric.moments(whole, target="y")
    pytest.importorskip("pyarrow.parquet").write_table(frame, tmp_path / "t.parquet", row_group_size=100)
    pytest.importorskip("pyarrow.csv").write_csv(frame, tmp_path / "t.csv")
    sources = [frame, frame.to_batches(50), iter(frame.to_batches(70)), lambda: iter(frame.to_batches(90))]
    for source in [*sources, tmp_path / "t.parquet", tmp_path / "t.csv"]:
        found = quadric.moments(source, target="y")
        assert (found.n_rows, found.columns) == (600, expected.columns)
        one, two = found.standardized(True).parts[0], expected.standardized(True).parts[0]
        np.testing.assert_allclose(one.scatter, two.scatter, rtol=1e-12, atol=1e-10)
