"""
Are the probabilities right?
============================

Decision values are not probabilities. Calibration converts them, fitted on out-of-fold decision values.
Here the data are generated, so you can compare with the true probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, validation_table

rng = np.random.default_rng(0)
X, X_test = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))


def true_probability(X):
    """The true probability."""
    return expit(X[:, 0] - 1.2 * X[:, 1] * X[:, 2] + 0.6 * X[:, 1] ** 2 - 1.0)


y, y_test = (rng.random(len(part)) < true_probability(part) for part in (X, X_test))

svc = SparseQuadraticSVC(k=3, C=4.0, loss="least_squares")
models = {method: CalibratedModel(svc, method=method).fit(X, y) for method in ("sigmoid", "isotonic")}

# %%
# Measures of the sigmoid on both samples. A well-calibrated model has intercept 0 and slope 1.

samples = {"development": (X, y), "test": (X_test, y_test)}
print(validation_table(models["sigmoid"], samples).to_text())

# %%
# Left: predicted against observed shares, in ten bins of equal size. Right: predicted against true
# probabilities, row by row.

fig, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.0, 4.4))
for (method, model), colour in zip(models.items(), ("tab:blue", "tab:orange"), strict=True):
    predicted = model.predict_proba(X_test)[:, 1]
    bins = np.array_split(np.argsort(predicted), 10)
    means = np.array([(predicted[rows].mean(), y_test[rows].mean()) for rows in bins])
    left.plot(*means.T, "o-", color=colour, label=method)
    right.scatter(true_probability(X_test), predicted, s=4, alpha=0.4, color=colour, label=method)
for ax in (left, right):
    ax.plot([0, 1], [0, 1], color="grey", linestyle="--", zorder=0)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(loc="upper left", markerscale=1.5)
left.set(xlabel="mean probability in the bin", ylabel="share of events in the bin", title="Reliability")
right.set(xlabel="true probability", ylabel="calibrated probability", title="Against the truth")
plt.show()
