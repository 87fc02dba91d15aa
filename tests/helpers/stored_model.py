"""Remake tests/export/model_schema_4.json, which shows that files of this schema stay readable.

    python tests/helpers/stored_model.py

All numbers are written down here, none is the result of a fit: the file is the same on every machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.random_models import fitted_classifier
from quadric.credit import CalibratedModel, SigmoidCalibration
from quadric.export import DataOrigin, save_model
from quadric.geometry.surface import QuadraticSurface
from quadric.samples.units import Units
from quadric.tables import InputColumn, TableEncoder

PATH = Path(__file__).parents[1] / "export" / "model_schema_4.json"


def stored_model():
    encoder = TableEncoder.from_inputs(
        [
            InputColumn("age", "number", fill=41.5, indicator=True),
            InputColumn("income", "number", fill=3215.25),
            InputColumn("home", "category", ("free", "own", "rent"), "own", "own"),
        ],
        missing="indicator",
    )
    scaler = StandardScaler()
    scaler.mean_ = np.array([41.5, 0.125, 3215.25, 0.25, 0.375])
    scaler.scale_ = np.array([11.0, 0.25, 1848.75, 0.5, 0.5])
    scaler.n_features_in_ = 5
    W, b = np.zeros((5, 5)), np.array([0.25, -0.5, 0.0, 0.75, 0.0])
    W[0, 0], W[0, 2], W[2, 0] = 0.5, -0.625, -0.625
    units = Units(np.full(5, -np.inf), np.full(5, np.inf), np.zeros(5), np.ones(5))
    units.low[0], units.high[0], units.center[2], units.scale[2] = -2.0, 2.5, 0.25, 0.75
    classifier = fitted_classifier([QuadraticSurface(W, b, -0.125)], [0, 1], units, k=5, C=4.0, loss="hinge", exclude=[(1, 1)])
    classifier.set_params(gap_limit=0.01)  # the default when the file was made
    pipeline = Pipeline([("coding", encoder), ("scaler", scaler), ("classifier", classifier)])
    return CalibratedModel.from_parts(pipeline, [SigmoidCalibration(-1.5, 0.25)], 0.375)


def write(path):
    save_model(
        stored_model(),
        path,
        class_names=["good", "bad"],
        target="risk",
        data=DataOrigin(120, "0" * 64),
        metadata={"n": [1, 2.5]},
    )


if __name__ == "__main__":
    write(PATH)
