"""
A budget of terms compared with an l1 penalty
=============================================

An l1 penalty removes terms as a side effect of shrinking them: you choose its strength and see how many
terms are left. With a budget you choose the number of terms. Each square below is an entry of the upper
triangle of W or of b; white is exactly zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from quadric import SparseQuadraticSVC
from quadric.baselines import L1QuadraticSVC

wine = load_wine()
X = StandardScaler().fit_transform(wine.data[:, :10])
y = wine.target == 1  # the second cultivar against the others

models = {
    "l1 penalty, C1 = 1": L1QuadraticSVC(C1=1.0, C2=16.0),
    "l1 penalty, C1 = 100": L1QuadraticSVC(C1=100.0, C2=16.0),
    "at most 12 terms": SparseQuadraticSVC(k=12, C=16.0, loss="hinge", standardize=False, clip=None),
    "at most 6 terms": SparseQuadraticSVC(k=6, C=16.0, loss="hinge", standardize=False, clip=None),
}

# %%
# Each surface is divided by its largest entry.

fig, axes = plt.subplots(2, 2, layout="constrained", figsize=(8.0, 7.4))
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    surface = model.fit(X, y).surfaces_[0]
    table = np.column_stack([np.triu(surface.W), surface.b])
    table /= np.abs(table).max()
    nonzero = np.ma.masked_equal(table, 0.0)
    image = ax.imshow(nonzero, cmap="coolwarm", vmin=-1, vmax=1)
    ax.axvline(surface.n_features - 0.5, color="black", linewidth=1)
    ax.set_xticks(range(11), [*map(str, range(10)), "b"])
    ax.set_yticks(range(10))
    ax.set_title(f"{name}: {surface.n_terms} of {len(surface.coordinates())}")
fig.colorbar(image, ax=axes, shrink=0.5, label="share of the largest entry")
plt.show()

# %%
# The l1 penalty of this model applies to W only, so all entries of b stay.
