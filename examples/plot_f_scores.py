"""
How well do the scores tell the classes apart?
==============================================

ROC, KS and calibration on rows that the model has not seen. ROC and calibration are scikit-learn's displays.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from quadric import SparseQuadraticSVC, plot

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "mean smoothness", "mean symmetry", "mean concavity"]]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = SparseQuadraticSVC(k=4, C=16.0, loss="logistic").fit(X, y)

fig, (left, middle, right) = plt.subplots(1, 3, layout="constrained", figsize=(13.0, 4.4))
plot.roc(model, X_test, y_test, name="4 terms", ax=left)
plot.ks(model, X_test, y_test, ax=middle)
plot.calibration(model, X_test, y_test, name="4 terms", ax=right)
plt.show()
