"""The generated module, run by Python itself."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from helpers.random_models import allowed_error, fitted_classifier, pipeline_of, random_model, rows_of, scores_of
from quadric.credit import CalibratedModel
from quadric.estimators.curves import probabilities
from quadric.export import to_python
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import TableEncoder


def module_of(model):
    namespace = {"__name__": "generated"}
    exec(compile(to_python(model), "generated", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("seed", range(60))
def test_generated_function_agrees_with_the_model(seed):
    model, table = random_model(seed)
    module = module_of(model)
    results = [module["predict"](row) for row in rows_of(table)]
    found = np.array([result["scores"] for result in results])
    assert (np.abs(found - scores_of(model, table)) <= allowed_error(model, table)).all()
    assert [result["label"] for result in results] == model.predict(table).tolist()
    if isinstance(model, CalibratedModel):
        chances = [result["probabilities"] for result in results]
        decision = found[:, 0] if found.shape[1] == 1 else found
        np.testing.assert_allclose(chances, probabilities(decision, model.calibrators_), rtol=0, atol=1e-12)


def test_terms_add_up_to_the_scores():
    model, table = random_model(2)
    module = module_of(model)
    for row in rows_of(table)[:5]:
        assert [sum(parts) for parts in module["terms"](row)] == pytest.approx(module["predict"](row)["scores"])


def test_the_module_checks_itself_when_run(tmp_path):
    model, _ = random_model(1)
    path = tmp_path / "model.py"
    text = to_python(model)
    path.write_text(text, encoding="utf-8")
    assert subprocess.run([sys.executable, "-I", path], check=False).returncode == 0
    constant = repr(pipeline_of(model)[-1].surfaces_[0].c)
    path.write_text(text.replace(f"        {constant},", "        99.0,", 1), encoding="utf-8")
    broken = subprocess.run([sys.executable, "-I", path], check=False, capture_output=True, text=True)
    assert broken.returncode == 1
    assert "AssertionError" in broken.stderr


def test_the_module_imports_only_the_standard_library():
    for seed in range(10):
        lines = to_python(random_model(seed)[0]).splitlines()
        assert {line for line in lines if line.startswith(("import", "from"))} <= {"import math", "import bisect"}


def test_missing_values_and_unknown_categories_raise():
    encoder = TableEncoder().fit({"age": [20.0, 30.0], "home": ["own", "rent"]})
    surface = QuadraticSurface(np.zeros((2, 2)), [1.0, 1.0], 0.0)
    predict = module_of(Pipeline([("coding", encoder), ("classifier", fitted_classifier([surface], [0, 1]))]))["predict"]
    assert predict({"age": 3, "home": "rent"})["scores"] == [4.0]
    for row, words in [
        ({"age": None, "home": "own"}, "'age' is missing"),
        ({"age": float("nan"), "home": "own"}, "'age' is missing"),
        ({"age": float("inf"), "home": "own"}, "finite"),
        ({"age": 1.0, "home": "boat"}, "unknown: 'boat'"),
        ({"age": 1.0}, "no 'home'"),
    ]:
        with pytest.raises(ValueError, match=words):
            predict(row)


def test_a_model_without_terms_refuses_what_it_refused():
    namespace = module_of(fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [0.0], 2.5)], [0, 1]))
    assert namespace["predict"]({"x0": 1.0}) == {"scores": [2.5], "label": "1"}
    with pytest.raises(ValueError, match="'x0' is missing"):
        namespace["predict"]({"x0": None})
