"""
Hinge or least squares?
=======================

Both losses find the ring that separates an inner class from an outer class. Then a distant group joins
the outer class, on the correct side of the boundary and far from it. The hinge loss is zero beyond the
margin, so the ring hardly moves. The squared loss pulls f towards 1 there too, and bends the ring.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from quadric import SparseQuadraticSVC

X, y = make_circles(300, noise=0.12, factor=0.5, random_state=0)
y = 1 - y  # the outer ring is positive
far = np.random.default_rng(1).normal([3.0, 2.0], 0.25, size=(40, 2))
cases = {
    "the ring alone": (X, y),
    "with a distant group": (np.vstack([X, far]), np.append(y, np.ones(40, dtype=int))),
}

# %%
# At most four of the five terms.

grid = np.meshgrid(np.linspace(-1.8, 4.0, 250), np.linspace(-1.8, 3.0, 250))
points = np.column_stack([axis.ravel() for axis in grid])
fig, axes = plt.subplots(2, 2, layout="constrained", figsize=(8.4, 7.0), sharex=True, sharey=True)
for row, loss in zip(axes, ("hinge", "least_squares"), strict=True):
    for ax, (name, (samples, labels)) in zip(row, cases.items(), strict=True):
        model = SparseQuadraticSVC(k=4, C=1000.0, loss=loss).fit(samples, labels)
        wrong = np.sum(model.predict(samples) != labels)
        print(f"{loss}, {name}: {model.equation(precision=2).splitlines()[0]}")
        f = model.decision_function(points).reshape(grid[0].shape)
        ax.contour(*grid, f, levels=[0.0], colors="black")
        ax.contour(*grid, f, levels=[-1.0, 1.0], colors="grey", linestyles="--")
        ax.scatter(*samples.T, c=labels, cmap="coolwarm", s=12)
        ax.set(title=f"{loss}, {name}: {wrong} wrong", aspect="equal")
plt.show()

# %%
# Solid: f = 0. Dashed: f = -1 and f = 1. The regulariser, the sum of ||Wx + b||^2 over the rows,
# grows with distant rows under either loss. C is large here, so the losses dominate. If some rows are
# far out, use the hinge loss or transform the columns first. Least squares reads the rows only once,
# however many there are.
