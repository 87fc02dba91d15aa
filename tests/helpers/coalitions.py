"""Shapley values by their definition, and a small coder of categories."""

from itertools import combinations
from math import factorial

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


def shapley_by_definition(f, x, background):
    """All coalitions of the columns of x; f takes rows. Returns the values and the worth of the empty coalition."""
    n = len(x)
    everyone = range(n)
    worth = {}
    for size in range(n + 1):
        for coalition in combinations(everyone, size):
            mixed = background.copy()
            mixed[:, list(coalition)] = x[list(coalition)]
            worth[coalition] = float(np.mean(f(mixed)))
    values = np.zeros(n)
    for player in everyone:
        for coalition in worth:
            if player not in coalition:
                share = factorial(len(coalition)) * factorial(n - len(coalition) - 1) / factorial(n)
                values[player] += share * (worth[tuple(sorted((*coalition, player)))] - worth[coalition])
    return values, worth[()]


class LevelCoder(TransformerMixin, BaseEstimator):
    """Numbers pass; each other column becomes one 0/1 feature for every level but the first."""

    def __init__(self, categorical=()):
        self.categorical = categorical

    def fit(self, X, y=None):
        rows = np.asarray(X, dtype=object)
        self.input_names_ = tuple(getattr(X, "columns", [f"x{j}" for j in range(rows.shape[1])]))
        self.features_ = []
        for j in range(rows.shape[1]):
            levels = sorted(set(rows[:, j]))[1:] if j in self.categorical else [None]
            self.features_ += [(j, level) for level in levels]
        self.blocks_ = np.array([j for j, _ in self.features_])
        self.numeric_ = np.array([level is None for _, level in self.features_])
        return self

    def transform(self, X):
        rows = np.asarray(X, dtype=object)
        columns = [rows[:, j] if level is None else rows[:, j] == level for j, level in self.features_]
        return np.column_stack(columns).astype(float)

    def get_feature_names_out(self, input_features=None):
        names = self.input_names_
        return np.array([names[j] if level is None else f"{names[j]}={level}" for j, level in self.features_], dtype=object)


def mixed_rows(seed, m=80):
    """Two numbers in raw units and two categories, with labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 10, m).round(), rng.normal(3000, 800, m)
    home, job = rng.choice(["own", "rent", "other"], m), rng.choice(["no", "yes"], m)
    score = (age - 40) / 10 + (income - 3000) / 800 * (home == "own") - 1.5 * (home == "rent") * (job == "no")
    rows = np.column_stack([age.astype(object), income.astype(object), home.astype(object), job.astype(object)])
    return rows, np.where(score + 0.3 * rng.normal(size=m) > 0, "good", "bad")
