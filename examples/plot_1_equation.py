"""
Fit a surface and read its equation
===================================

Versicolor lies between the two other species of iris, so no straight line separates it from both. A
quadratic surface with two terms does. The model *is* the equation above the figure.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from quadric import SparseQuadraticSVC

iris = load_iris(as_frame=True)
X = iris.data.iloc[:, 2:].set_axis(["length", "width"], axis=1)  # of the petals
y = iris.target == 1  # True is versicolor

model = SparseQuadraticSVC(k=2, C=4096.0, loss="hinge").fit(X, y)

# %%
# The equation is in centimetres. Each variable is centred and scaled, because that is how terms are
# counted; the last line says at which values the columns are capped. Every fit carries a certificate
# that is recomputed from the data.

print(model.equation(precision=3))
print("The set f = 0 is an", model.surfaces_[0].kind())
print(model.certificates_[0])

# %%
# The black line is f = 0; the dashed lines are the margins f = -1 and
# f = 1.

length, width = np.meshgrid(np.linspace(0.5, 7.2, 300), np.linspace(-0.1, 2.7, 300))
points = pd.DataFrame({"length": length.ravel(), "width": width.ravel()})
f = model.decision_function(points).reshape(length.shape)

fig, ax = plt.subplots(layout="constrained")
ax.pcolormesh(length, width, np.clip(f, -2, 2), cmap="RdBu", vmin=-8, vmax=8, rasterized=True)
ax.contour(length, width, f, levels=[0.0], colors="black")
ax.contour(length, width, f, levels=[-1.0, 1.0], colors="grey", linestyles="--")
for species, colour in enumerate(("tab:orange", "tab:blue", "tab:red")):
    members, label = X[iris.target == species], iris.target_names[species]
    ax.scatter(members["length"], members["width"], s=25, color=colour, edgecolor="white", label=label)
ax.set(xlabel="petal length (cm)", ylabel="petal width (cm)", title=model.equation(precision=2).splitlines()[0])
ax.legend(loc="upper left")
plt.show()
