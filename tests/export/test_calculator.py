"""The calculator of a workbook, recalculated by LibreOffice."""

import numpy as np
import pytest

from helpers.scorecards import SCALE, loans_with_gaps, points_model
from helpers.workbooks import recalculated
from quadric.export import scoring_model, to_excel

ROWS = [0, 3, 17, 104, 300]


def test_the_calculator_and_the_rows_of_a_workbook_agree_with_the_model(tmp_path_factory):
    pytest.importorskip("xlsxwriter")
    model, loans = points_model(), loans_with_gaps()
    points = model.scores(loans).points
    folder = tmp_path_factory.mktemp("books")
    for place in ROWS[:3]:
        rows = loans[np.array([place, *ROWS])]
        to_excel(
            scoring_model(model.saved, samples=model.inputs(rows), points=SCALE), folder / f"row{place}.xlsx", spare_rows=1
        )
    sheets, calculators = recalculated(folder), recalculated(folder, "Calculator")
    for place in ROWS[:3]:
        head, *rows = sheets[f"row{place}"]
        of_points = head.index("points")
        for row, expected in zip(rows, points[[place, *ROWS, place]], strict=False):  # the last is the calculator's
            assert float(row[of_points]) == pytest.approx(expected, abs=1e-9)
        cells = {line[0]: line[1] for line in calculators[f"row{place}"] if len(line) > 1}
        scores = model.scores(loans[np.array([place])])
        assert float(cells["points"]) == pytest.approx(points[place], abs=1e-9)
        assert float(cells["probability"]) == pytest.approx(scores.probabilities[0, 1], abs=1e-9)
        assert cells["label"] == model.class_names[scores.codes[0]]
        names = [line[0] for line in calculators[f"row{place}"]]
        own = [
            float(line[1])
            for line in calculators[f"row{place}"][names.index("constant") : names.index("probability")]
            if line[1]
        ]
        assert sum(own) == pytest.approx(points[place], abs=1e-9)
