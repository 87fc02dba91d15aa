"""What the linear models share: the centred features that vary, and the conversion to a surface with W = 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from quadric.geometry.moments import CONSTANT_TOLERANCE
from quadric.geometry.terms import term_count
from quadric.losses.hinge.problem import HingeProblem
from quadric.losses.lifted_rows import LiftedRows
from quadric.samples.labelled import LabelledSamples
from quadric.search.rules import RequiredTerms
from quadric.types import FloatArray, IntArray


@dataclass(frozen=True)
class LinearData:
    """Centred samples; the intercept b of w'x + b becomes the level b + mean'w.

    Attributes
    ----------
    X : array of shape (m, number of features that vary)
        x - mean.
    mean : array
        Loss-weighted mean of those features.
    features : array
        Their positions among all features.
    weight : array of shape (m,)
        o, the loss weights.
    samples : LabelledSamples
        All features, and the classes.
    """

    X: FloatArray
    mean: FloatArray
    features: IntArray
    weight: FloatArray
    samples: LabelledSamples

    @staticmethod
    def of(samples: LabelledSamples) -> LinearData:
        weight = samples.loss_weight
        share = weight / weight.sum()
        mean = share @ samples.X
        centred = samples.X - mean
        variance = share @ centred**2
        features = np.flatnonzero(variance > CONSTANT_TOLERANCE**2 * (variance + mean**2))
        if len(features) == 0:
            raise ValueError("all columns of X are constant: there is nothing to learn from")
        return LinearData(np.ascontiguousarray(centred[:, features]), mean[features], features, weight, samples)

    @property
    def terms(self) -> IntArray:
        """Positions of the features in the full z."""
        n_features = self.samples.X.shape[1]
        return term_count(n_features) - n_features + self.features

    def hinge_problem(self, positive: int, C: float) -> HingeProblem:
        """1/2 w'w + C sum_i o_i max(0, 1 - y_i (w'x_i + b)), as a problem of the engine: G = I on the linear terms."""
        n_terms, middle = len(self.features), np.zeros(self.samples.X.shape[1])
        middle[self.features] = self.mean
        return HingeProblem(
            C=C,
            rule=RequiredTerms(n_terms),
            k=n_terms,
            n_features=self.samples.X.shape[1],
            terms=self.terms,
            G=np.eye(n_terms),
            scatter_trace=float(self.weight @ np.sum(self.X**2, axis=1)),
            rows=LiftedRows(self.samples.X, middle, self.terms, self.weight),
            y=self.samples.signs(positive),
        )

    def l1_fit(self, positive: int, C: float) -> FloatArray:
        """The w of a vertex of min ||w||_1 + C sum_i o_i max(0, 1 - y_i (w'x_i + b)); entries at zero are exactly zero.

        Solved through its dual, which has only n + 1 rows: maximise sum_i alpha_i over 0 <= alpha_i <= C o_i with y'alpha = 0
        and X'(y alpha) = s, -1 <= s <= 1. The prices of the last equations are w.
        """
        X, y = self.X, self.samples.signs(positive)
        n_samples, n_features = X.shape
        cost = np.append(-np.ones(n_samples), np.zeros(n_features))
        equations = np.block([[(X * y[:, None]).T, -np.eye(n_features)], [y, np.zeros(n_features)]])
        bounds = [*((0.0, upper) for upper in C * self.weight), *([(-1.0, 1.0)] * n_features)]
        result = linprog(
            cost,
            A_eq=equations,
            b_eq=np.zeros(n_features + 1),
            bounds=bounds,
            method="highs",
            options={"presolve": False},  # it removes nothing from a dense program with few rows, and takes half of the time
        )
        if result.status != 0:
            raise RuntimeError(f"HiGHS did not solve the linear program: {result.message} Standardise X or lower C.")
        return np.asarray(-result.eqlin.marginals[:-1])

    def mean_label(self, positive: int) -> float:
        """Loss-weighted mean of the labels: the level of every least-squares fit."""
        return float(self.weight @ self.samples.signs(positive) / self.weight.sum())

    def surface(self, w: FloatArray, level: float) -> tuple[FloatArray, float]:
        """The full z and the intercept of a surface with b = w and W = 0."""
        z = np.zeros(term_count(self.samples.X.shape[1]))
        z[self.terms] = w
        return z, level - float(self.mean @ w)
