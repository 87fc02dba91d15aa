"""
Are the probabilities right?
============================

Decision values are not probabilities. Calibration turns them into some, on samples left out in turn.
Here the data are generated, so that the true probabilities are known and can be compared with.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, validation_table

rng = np.random.default_rng(0)
X, X_test = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3))


def chance(X):
    """The true probability."""
    return expit(X[:, 0] - 1.2 * X[:, 1] * X[:, 2] + 0.6 * X[:, 1] ** 2 - 1.0)


y, y_test = (rng.random(len(part)) < chance(part) for part in (X, X_test))

svc = SparseQuadraticSVC(k=3, C=4.0, loss="least_squares")
models = {way: CalibratedModel(svc, method=way).fit(X, y) for way in ("sigmoid", "isotonic")}

# %%
# Measures of the sigmoid on both samples. A calibration intercept of 0 and a slope of 1 are right.

samples = {"development": (X, y), "test": (X_test, y_test)}
print(validation_table(models["sigmoid"], samples).to_text())

# %%
# Left: what was said against what happened, in ten bins of equal size. Right: what was said against
# the truth, sample by sample.

fig, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.0, 4.4))
for (method, model), colour in zip(models.items(), ("tab:blue", "tab:orange"), strict=True):
    said = model.predict_proba(X_test)[:, 1]
    bins = np.array_split(np.argsort(said), 10)
    means = np.array([(said[rows].mean(), y_test[rows].mean()) for rows in bins])
    left.plot(*means.T, "o-", color=colour, label=method)
    right.scatter(chance(X_test), said, s=4, alpha=0.4, color=colour, label=method)
for ax in (left, right):
    ax.plot([0, 1], [0, 1], color="grey", linestyle="--", zorder=0)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(loc="upper left", markerscale=1.5)
left.set(xlabel="mean probability in the bin", ylabel="share of events in the bin", title="Reliability")
right.set(xlabel="true probability", ylabel="calibrated probability", title="Against the truth")
plt.show()
