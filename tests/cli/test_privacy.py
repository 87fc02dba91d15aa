"""What a model file and a report tell of the people in the data."""

import json

from helpers.small_tables import credit_columns, csv_text

FIT = ["--target", "risk", "--k", 3, "--loss", "least_squares", "--C", 1, "--no-calibrate"]


def test_ignored_columns_are_in_no_output(run, tmp_path):
    columns = credit_columns()
    columns["person"] = [f"secret{row:04d}" for row in range(len(columns["risk"]))]
    data, model, page = tmp_path / "data.csv", tmp_path / "model.json", tmp_path / "page.html"
    data.write_text(csv_text(columns))
    assert run("fit", data, *FIT, "--ignore", "person", "--output", model).code == 0
    assert run("report", model, data, "--bootstrap", 0, "--ks", "1:4", "--output", page).code == 0
    for output in (model, page):
        assert "secret" not in output.read_text()


def test_model_files_hold_no_row_of_the_data(run, tmp_path, made):
    model = tmp_path / "model.json"
    assert run("fit", made.data_csv, *FIT, "--output", model).code == 0
    stored = json.loads(model.read_text())
    columns = credit_columns()
    rows = {tuple(row) for row in zip(*(columns[name] for name in ("age", "income")), strict=True)}
    names = [column["name"] for column in stored["inputs"]]
    places = [names.index(name) for name in ("age", "income")]
    kept = [tuple(sample["values"][place] for place in places) for part in ("samples", "probes") for sample in stored[part]]
    assert len(kept) > 0
    assert not rows.intersection(kept)
