"""Shapley values by their definition, and a small coder of categories."""

from itertools import combinations
from math import factorial

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder


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


def level_coder(categorical, n=4):
    """Numbers pass; each other column becomes one 0/1 feature for every level but the first."""
    numbers = [j for j in range(n) if j not in categorical]
    levels = OneHotEncoder(drop="first", sparse_output=False)
    return ColumnTransformer([("numbers", "passthrough", numbers), ("levels", levels, list(categorical))])


def mixed_rows(seed, m=80):
    """Two numbers in raw units and two categories, with labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 10, m).round(), rng.normal(3000, 800, m)
    home, job = rng.choice(["own", "rent", "other"], m), rng.choice(["no", "yes"], m)
    score = (age - 40) / 10 + (income - 3000) / 800 * (home == "own") - 1.5 * (home == "rent") * (job == "no")
    rows = np.column_stack([age.astype(object), income.astype(object), home.astype(object), job.astype(object)])
    return rows, np.where(score + 0.3 * rng.normal(size=m) > 0, "good", "bad")
