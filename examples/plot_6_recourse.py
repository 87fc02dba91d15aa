"""
What would have to change? Recourse
===================================

The smallest change that reverses a decision, in two dimensions so that you can see it. If both columns
may change, the answer is the nearest point of the boundary, with a proof. If a column is frozen or may
only decrease, the answer respects that.
"""

import matplotlib.pyplot as plt
import numpy as np

from quadric import SparseQuadraticSVC
from quadric.explain import recourse

# %%
# Invented loans: income, amount, and whether the loan was paid back.

rng = np.random.default_rng(3)
X = rng.normal([3200, 6000], [900, 2300], size=(400, 2)).clip(500)
income, amount = (X - X.mean(axis=0)).T / X.std(axis=0)[:, None]
risk = amount - income - 0.6 * income * amount + rng.normal(scale=0.4, size=400)
y = np.where(risk > 0.6, "default", "paid")
model = SparseQuadraticSVC(k=3, C=4.0, loss="hinge").fit(X, y)

# %%
# Eight clearly declined applicants, and two answers for each. Distances are in standardised units.

declined = X[model.decision_function(X) < -0.3]
cases = declined[np.linspace(0, len(declined) - 1, 8).astype(int)]
free = recourse(model, cases, target="paid")
amount_only = recourse(model, cases, target="paid", frozen=[0], decrease_only=[1], lower={1: 500})
for answer in (free, amount_only):
    print(answer.distance.round(2), "all proved smallest:", answer.proved.all())

# %%
# Blue arrows may change both columns, orange arrows only the amount.

grid = np.meshgrid(np.linspace(500, 5000, 250), np.linspace(3500, 14500, 250))
points = np.column_stack([axis.ravel() for axis in grid])
f = model.decision_function(points).reshape(grid[0].shape)

fig, ax = plt.subplots(layout="constrained", figsize=(7.0, 5.2))
ax.contourf(*grid, f, levels=[-np.inf, 0.0, np.inf], colors=["#f6d9d5", "#dbe9f6"])
ax.contour(*grid, f, levels=[0.0], colors="black")
arrows = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.005}
ax.quiver(*cases.T, *free.change.T, color="tab:blue", label="income and amount", **arrows)
ax.quiver(*cases.T, *amount_only.change.T, color="tab:orange", label="amount only", **arrows)
ax.scatter(*cases.T, color="black", zorder=3, label="declined")
ax.set(xlabel="income", ylabel="amount", title="The smallest changes that lead to acceptance")
ax.legend(loc="lower right")
plt.show()
