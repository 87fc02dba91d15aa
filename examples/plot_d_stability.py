"""
Would other data give the same terms?
=====================================

The model is fitted again to bootstrap samples. Terms that most of them choose, with the same sign, do not depend on
a few rows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from quadric import SparseQuadraticSVC, plot
from quadric.explain import stability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean radius", "mean texture", "mean smoothness", "mean concavity"]]
model = SparseQuadraticSVC(k=4, C=16.0, loss="least_squares").fit(X, y)

plot.stability(stability(model, X, y, n_boot=50))
plt.show()
