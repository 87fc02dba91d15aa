"""
Points, and the KS curve
========================

A calibrated surface as a scorecard: 20 points double the odds of good to bad, and 600 points stand for
50 to 1. The largest distance between the two curves below is the Kolmogorov-Smirnov statistic.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from quadric import SparseQuadraticSVC
from quadric.credit import CalibratedModel, ScoreScale, gini, ks_statistic, score_points, term_points

X, y = make_classification(3000, 6, n_informative=4, n_redundant=0, weights=[0.8], random_state=4)
X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)  # 1 is bad, 0 is good

svc = SparseQuadraticSVC(k=6, C=4.0, loss="least_squares")
model = CalibratedModel(svc).fit(X, y)
scale = ScoreScale(pdo=20, base_score=600, base_odds=50)

# %%
# The scorecard: points per unit of each term, rounded to integers.

for term, points in term_points(model, scale, integer=True).rows():
    print(f"{points:5.0f}  {term}")

# %%
# Points of the test rows.

points = score_points(model, X_test, scale)
good, bad = np.sort(points[y_test == 0]), np.sort(points[y_test == 1])
where = np.sort(points)
share_good = np.searchsorted(good, where, side="right") / len(good)
share_bad = np.searchsorted(bad, where, side="right") / len(bad)
at = np.argmax(share_bad - share_good)
ks = f"KS = {ks_statistic(y_test, -points):.3f}"

fig, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.0, 4.0))
bins = np.linspace(where[0], where[-1], 31)
left.hist(good, bins=bins, density=True, alpha=0.6, color="tab:blue", label="good")
left.hist(bad, bins=bins, density=True, alpha=0.6, color="tab:red", label="bad")
left.set(xlabel="points", ylabel="density", title="Points of both classes")
left.legend()
right.plot(where, share_bad, color="tab:red", label="bad")
right.plot(where, share_good, color="tab:blue", label="good")
right.vlines(where[at], share_good[at], share_bad[at], color="black", label=ks)
right.set(xlabel="points", ylabel="share of rows with at most this many points")
right.set_title(f"Gini = {gini(y_test, -points):.3f}")
right.legend()
plt.show()
