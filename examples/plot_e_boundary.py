"""
Where does the decision turn?
=============================

The decision boundary over two columns; all others are held at their median. Rows are drawn whatever their other
columns.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from quadric import SparseQuadraticSVC, plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean radius", "mean texture", "mean smoothness", "mean concavity"]]
model = SparseQuadraticSVC(k=4, C=16.0, loss="logistic").fit(X, y)

plot.boundary(model, X, y, columns=["mean radius", "mean texture"])
plt.show()
