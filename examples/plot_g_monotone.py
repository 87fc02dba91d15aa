"""
Never rises with income: slopes before and after
================================================

A credit score should not rise with a column where the business says that it must not. ``monotonic_cst`` asks
for that, and the certificate proves it for every row: the slope of a quadratic score is linear, so its smallest
and largest values over all rows are known exactly.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from quadric import SparseQuadraticSVC, certify
from quadric.datasets import DatasetError, load
from quadric.tables import read_table

try:
    data = load("german")  # the paper's copy, where it has been downloaded
    X, y = pd.DataFrame(data.X, columns=list(data.feature_names)), data.y
except (DatasetError, OSError):
    table = read_table("../data/loans.csv")
    X = pd.DataFrame({name: table[name] for name in table.names if table[name].dtype.kind == "f"})
    y = (table["risk"] == "bad").astype(int)

# %%
# Rules for the four columns that correlate most with the class, each in its own direction, and fits with and
# without them.

correlation = X.corrwith(pd.Series(y))
rules = np.sign(correlation[correlation.abs().nlargest(4).index]).astype(int).to_dict()
models = {
    "without rules": SparseQuadraticSVC(k=12, C=64.0).fit(X, y),
    "under the rules": SparseQuadraticSVC(k=12, C=64.0, monotonic_cst=rules).fit(X, y),
}
free, ruled = (model.certificates_[0] for model in models.values())
print(f"price of the rules: objective {ruled.objective / free.objective - 1:+.2%}")
for proof in ruled.monotone:
    print(proof.words())

# %%
# ``certify`` tests the slopes of any model. The smallest slope upwards and the smallest one downwards are the
# two ends of all slopes that the score has along a column, whatever the row.

fig, ax = plt.subplots(layout="constrained", figsize=(8.0, 3.6))
for (label, model), shift, colour in zip(models.items(), (0.18, -0.18), ("tab:orange", "tab:blue"), strict=True):
    ends = []
    for sign in (1, -1):
        (certificate,) = certify(model, X, y, monotonic_cst=dict.fromkeys(rules, sign))
        slopes = {proof.feature: sign * proof.slope for proof in certificate.monotone}
        ends.append([slopes[name] * model.scale_[X.columns.get_loc(name)] for name in rules])
    low, high = np.array(ends)
    places = np.arange(len(rules))[::-1] + shift
    ax.barh(places, high - low, left=low, height=0.3, color=colour, label=label)
    ax.plot(low, places, "|", color=colour, markersize=9)  # a slope that never changes is a bar without width
ax.axvline(0.0, color="black", linewidth=0.8)
labels = [f"{name} ({'never falls' if sign > 0 else 'never rises'})" for name, sign in rules.items()]
ax.set_yticks(np.arange(len(rules))[::-1], labels)
ax.set(xlabel="slopes of the score over all rows, per standard deviation", title="Slopes before and after")
ax.legend()
plt.show()
