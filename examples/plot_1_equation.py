"""
Fit a surface and read its equation
===================================

Versicolor lies between the two other species of iris, so no straight line separates it from both. A
quadratic surface with two terms does. The model *is* the equation above the figure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from quadric import SparseQuadraticSVC

iris = load_iris()
X, y = iris.data[:, 2:], iris.target == 1  # petal length and width; True is versicolor

model = SparseQuadraticSVC(k=2, C=4096.0).fit(X, y)
surface = model.surfaces_[0]
equation = surface.equation(["length", "width"], precision=2)

# %%
# Length and width are standardised in the equation: zero is the mean, one is a standard deviation.
# Every fit carries a certificate that is recomputed from the data.

print(equation)
print("The set f = 0 is an", surface.kind())
print(model.certificates_[0])

# %%
# The figure is in centimetres. The black line is f = 0; the dashed lines are the margins f = -1 and
# f = 1.

length, width = np.meshgrid(np.linspace(0.5, 7.2, 300), np.linspace(-0.1, 2.7, 300))
points = np.column_stack([length.ravel(), width.ravel()])
f = model.decision_function(points).reshape(length.shape)

fig, ax = plt.subplots(layout="constrained")
ax.pcolormesh(length, width, np.clip(f, -2, 2), cmap="RdBu", vmin=-8, vmax=8, rasterized=True)
ax.contour(length, width, f, levels=[0.0], colors="black")
ax.contour(length, width, f, levels=[-1.0, 1.0], colors="grey", linestyles="--")
for species, colour in enumerate(("tab:orange", "tab:blue", "tab:red")):
    members = iris.target == species
    ax.scatter(*X[members].T, s=25, color=colour, edgecolor="white", label=iris.target_names[species])
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title=equation)
ax.legend(loc="upper left")
plt.show()
