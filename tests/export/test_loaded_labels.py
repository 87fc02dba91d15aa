"""What load_model returns predicts the labels of the table, whichever class is the positive one."""

from __future__ import annotations

import numpy as np
import pytest

from quadric import TableClassifier, certify, load_model, save_model
from quadric.explain import stability
from quadric.tables import TableStream
from quadric.workflow import TrainingOptions, train

pytest.importorskip("pyarrow")


def table(seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    return {f"x{j}": X[:, j] for j in range(3)}, X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=300) > 0.4


@pytest.mark.parametrize("names", [("good", "bad"), ("0", "1"), ("10", "9"), ("no", "yes")])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_a_loaded_model_predicts_the_labels_of_its_table(tmp_path, names, reverse, weights):
    columns, positive = table()
    y = np.where(positive, *names[:: 1 if reverse else -1])
    y = y.astype(int) if names[0].isdigit() else y
    wanted = dict(zip(names, (1.0, 3.0), strict=True)) if weights else None
    model = TableClassifier(positive=names[1], k=3, C=16.0, loss="least_squares", calibrate="sigmoid", class_weight=wanted)
    model.fit(columns, y).save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.classes_.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(loaded.predict(columns), model.predict(columns))
    assert loaded.score(columns, y) > 0.8
    save_model(loaded, tmp_path / "again.json")
    np.testing.assert_array_equal(load_model(tmp_path / "again.json").predict(columns), model.predict(columns))
    assert certify(loaded, columns, y)[0].objective == pytest.approx(model.certificates_[0].objective, rel=1e-9)
    drawn = stability(loaded, columns, y, n_boot=3)
    own = np.flatnonzero(loaded.estimator_[-1].coef_[0])
    signs = np.sign(loaded.estimator_[-1].coef_[0, own])
    np.testing.assert_array_equal(np.sign(drawn.mean[0, own]), signs)  # refits keep the positive class


@pytest.mark.parametrize("positive", ["True", "False"])
def test_truth_values_of_files_and_of_frames_are_the_same(tmp_path, positive):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.normal(size=200), "flag": rng.random(200) < 0.5})
    frame["y"] = frame["flag"] ^ (rng.random(200) < 0.1)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    trained = train(TableStream(path), "y", TrainingOptions(k=2, C=16.0, loss="least_squares", positive=positive))
    save_model(trained.saved(), tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.classes_.dtype == bool
    assert loaded.score(frame, frame["y"]) > 0.85
    np.testing.assert_array_equal(loaded.predict(frame), loaded.predict(frame.astype({"flag": str})))
