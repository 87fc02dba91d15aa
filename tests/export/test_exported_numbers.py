"""Numbers in texts, in the form that the training data had: exports read what the model reads, and refuse what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from export.test_python import module_of
from export.test_sql import column, database, in_postgres  # noqa: F401
from helpers.databases import table_sql
from helpers.random_models import fitted_classifier
from helpers.workbooks import recalculated
from quadric.export import SavedModel, equation, load_model, save_model, scoring_model, to_excel, to_sql
from quadric.geometry.surface import QuadraticSurface
from quadric.tables import Table, TableEncoder

WRITTEN = {
    "1,234.5": ["1,234.5", "-6,495", "0.25", " 7 ", "1,234,567.125", "12"],
    "1.234,5": ["1.234,5", "-6.495", "0,25", "12"],
    "1 234,5 €": ["1 234,5 €", "6 495 €", "-7,25 €", "12"],
    "$1,234.5": ["$1,234.5", "-$6,495", "0.25", "$ 7"],
    "1'234.5": ["1'234.5", "-6'495", "12"],
    "1234.5%": ["4%", "12.5 %", "-3"],
}
VALUES = {
    "1,234.5": [1234.5, -6495.0, 0.25, 7.0, 1234567.125, 12.0],
    "1.234,5": [1234.5, -6495.0, 0.25, 12.0],
    "1 234,5 €": [1234.5, 6495.0, -7.25, 12.0],
    "$1,234.5": [1234.5, -6495.0, 0.25, 7.0],
    "1'234.5": [1234.5, -6495.0, 12.0],
    "1234.5%": [4.0, 12.5, -3.0],
}


def model_of(form):
    """A model whose score is the number, 100 where it is missing."""
    encoder = TableEncoder(forms={"s": form}, missing="impute", missing_texts=["n/a"]).fit({"s": WRITTEN[form]})
    encoder = TableEncoder.from_inputs([replace(encoder.inputs_[0], fill=100.0)], **encoder.get_params())
    model = fitted_classifier([QuadraticSurface(np.zeros((1, 1)), [1.0], 0.0)], ["no", "yes"])
    return SavedModel(Pipeline([("coding", encoder), ("classifier", model)]))


def written_rows(form):
    texts, values = [*WRITTEN[form], "n/a", None], [*VALUES[form], 100.0, 100.0]
    return Table(("s",), (np.array(texts, dtype=object),)), values


@pytest.mark.parametrize("form", WRITTEN)
def test_the_model_reads_its_form_again(form, tmp_path):
    table, values = written_rows(form)
    save_model(model_of(form), tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.decision_function(table).tolist() == values
    assert loaded.decision_function({"s": [3.5]}).tolist() == [3.5]  # a column of numbers
    with pytest.raises(ValueError, match="must hold numbers; row 1 has 'much'"):
        loaded.decision_function({"s": ["much"]})


@pytest.mark.parametrize("form", WRITTEN)
def test_databases(form, database):  # noqa: F811
    table, values = written_rows(form)
    assert column(database(table_sql(table), to_sql(model_of(form))), "quadric_score") == values
    assert f"s: texts such as {form}" in to_sql(model_of(form))


@pytest.mark.parametrize("form", WRITTEN)
def test_the_module(form):
    module = module_of(model_of(form))
    table, values = written_rows(form)
    assert [module["predict"]({"s": text})["scores"][0] for text in table["s"]] == values
    assert module["predict"]({"s": 3.5})["scores"][0] == 3.5
    with pytest.raises(ValueError, match="must hold numbers"):
        module["predict"]({"s": "1,2345.6 much"})
    module["check"]()


def test_workbooks(tmp_path):
    for number, form in enumerate(WRITTEN):
        scoring, (table, _) = scoring_model(model_of(form)), written_rows(form)
        samples = [replace(scoring.samples[0], values=(value,)) for value in [*table["s"].tolist()[:-1], 3.5, "much"]]
        to_excel(replace(scoring, samples=tuple(samples)), tmp_path / f"{number}.xlsx", spare_rows=0)
    sheets = recalculated(tmp_path)
    for number, form in enumerate(WRITTEN):
        head, *rows = sheets[str(number)]
        *found, last = (row[head.index("score")] for row in rows)
        assert [float(score) for score in found] == [*VALUES[form], 100.0, 3.5], form
        assert last == "#N/A"


def test_equations_say_how_numbers_are_written():
    assert "s: texts such as 1.234,5" in equation(model_of("1.234,5"))
