"""
How does one row come to its score?
===================================

A waterfall leads from the mean score to the score of one row, column by column, by exact Shapley values.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from quadric import SparseQuadraticSVC, plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = SparseQuadraticSVC(k=6, C=16.0, loss="logistic").fit(X, y)

plot.waterfall(model, X.iloc[[5]], background=X)
plt.show()
