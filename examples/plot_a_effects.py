"""
What does each column do?
=========================

The average effect of a column is the mean score of all rows if they all had one value. For a quadratic surface it
is exact, and the effects of all columns and of all products add up to the score of every row.
"""

import matplotlib.pyplot as plt
import numpy as np

from quadric import TableClassifier, plot
from quadric.explain import effects, stability

rng = np.random.default_rng(0)
m = 600
table = {
    "age": rng.integers(20, 70, m),
    "income": rng.gamma(4.0, 700.0, m).round(-1),
    "housing": rng.choice(["own", "rent", "free"], m, p=[0.5, 0.35, 0.15]),
}
score = 0.004 * (table["age"] - 40) ** 2 - (table["income"] - 2800) / 900 * (1 + 0.7 * (table["housing"] == "rent"))
risk = np.where(score + rng.logistic(size=m) > 0.5, "bad", "good")

model = TableClassifier(k=5, C=64.0, loss="logistic").fit(table, risk)
print(model.equation(precision=3))

# %%
# Curves with the band of bootstrap fits, and the distribution of the values underneath.

drawn = stability(model, table, risk, n_boot=30)
found = effects(model, table, stability=drawn)
plot.effects(found)
plt.show()

# %%
# What the products add. Dots show where the rows are.

plot.products(found)
plt.show()

# %%
# The same as numbers: importance is the mean absolute Shapley value, with the middle 80 % of the bootstrap fits.

for column in found.columns:
    importance = column.importance
    print(f"{column.name:8} {importance.value:.2f} ({importance.low:.2f} to {importance.high:.2f})")
