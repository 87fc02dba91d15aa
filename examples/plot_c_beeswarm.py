"""
What do the columns do in all rows?
===================================

One point per row and column: where it lies is the exact Shapley value, and its colour is the value of the column.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from quadric import SparseQuadraticSVC, plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = SparseQuadraticSVC(k=6, C=16.0, loss="logistic").fit(X, y)

plot.beeswarm(model, X)
plt.show()
