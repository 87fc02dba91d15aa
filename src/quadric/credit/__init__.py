"""Credit scoring: calibrated probabilities, points, measures of separation and stability, validation tables."""

from quadric.credit.backtesting import (
    Concentration,
    GradeTable,
    Migrations,
    SignificanceTest,
    auc_drop_test,
    binomial_test,
    concentration_test,
    hosmer_lemeshow_test,
    jeffreys_test,
)
from quadric.credit.cutoffs import CutoffTable, cutoff_table
from quadric.credit.intervals import Estimate, auc_interval, jeffreys_interval
from quadric.credit.metrics import (
    CutoffChoice,
    GainsTable,
    auc,
    cutoff_by_cost,
    gains_table,
    gini,
    ks_statistic,
)
from quadric.credit.scale import (
    RoundingLoss,
    TermPoints,
    rounding_loss,
    scaled_surface,
    score_points,
    term_points,
)
from quadric.credit.stability import (
    Distribution,
    Drift,
    StabilityTable,
    column_drifts,
    contribution_drifts,
    population_stability_index,
    stability_table,
)
from quadric.credit.validation import ValidationTable, validation_table
from quadric.estimators.calibration import CalibratedModel, IsotonicCalibration, SigmoidCalibration
from quadric.fitted.points import ScoreScale

__all__ = [
    "CalibratedModel",
    "Concentration",
    "CutoffChoice",
    "CutoffTable",
    "Distribution",
    "Drift",
    "Estimate",
    "GainsTable",
    "GradeTable",
    "IsotonicCalibration",
    "Migrations",
    "RoundingLoss",
    "ScoreScale",
    "SigmoidCalibration",
    "SignificanceTest",
    "StabilityTable",
    "TermPoints",
    "ValidationTable",
    "auc",
    "auc_drop_test",
    "auc_interval",
    "binomial_test",
    "column_drifts",
    "concentration_test",
    "contribution_drifts",
    "cutoff_by_cost",
    "cutoff_table",
    "gains_table",
    "gini",
    "hosmer_lemeshow_test",
    "jeffreys_interval",
    "jeffreys_test",
    "ks_statistic",
    "population_stability_index",
    "rounding_loss",
    "scaled_surface",
    "score_points",
    "stability_table",
    "term_points",
    "validation_table",
]
