"""
How many terms? The path over k
===============================

More terms always fit the training rows better. Cross-validation shows whether they help on new rows:
one path per fold gives the score for every number of terms. The rule "1se" chooses the fewest terms
whose score is within one standard error of the best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from quadric import SparseQuadraticSVCCV

data = load_breast_cancer()
X, y = data.data[:, :10], data.target  # the ten mean values: 65 terms to choose from

cv = SparseQuadraticSVCCV(
    ks=range(1, 16),
    Cs=[4.0, 64.0],
    loss="least_squares",
    rule="1se",
    scoring="roc_auc",
).fit(X, y)

# %%
# ``cv_scores_`` has one score per fold, C and k.

mean = cv.cv_scores_.mean(axis=0)
error = cv.cv_scores_.std(axis=0, ddof=1) / np.sqrt(len(cv.cv_scores_))
best = np.unravel_index(mean.argmax(), mean.shape)
print("best:", cv.ks_[best[1]], "terms; chosen:", cv.best_k_, "terms and C =", cv.best_C_)

fig, (top, bottom) = plt.subplots(2, 1, sharex=True, layout="constrained", figsize=(6.4, 6.0))
for row, colour in enumerate(("tab:orange", "tab:blue")):
    label, objective = f"C = {cv.Cs_[row]:g}", cv.paths_[0].objective[row]
    top.plot(cv.ks_, objective / objective[0], ".-", color=colour, label=label)
    bottom.errorbar(cv.ks_ + 0.1 * row, mean[row], yerr=error[row], fmt=".-", color=colour, label=label)
top.set(ylabel="objective relative to k = 1", title="Training rows")
top.legend()
bottom.axhline(mean[best] - error[best], color="grey", linestyle="--", label="best minus one standard error")
bottom.axvline(cv.best_k_, color="black", linewidth=1, label=f"chosen: k = {cv.best_k_}")
bottom.set(xlabel="number of terms k", ylabel="area under ROC", title="Rows left out")
bottom.legend(loc="lower right")
plt.show()

# %%
# The chosen surface, in standardised features:

names = [name.removeprefix("mean ").replace(" ", "_") for name in data.feature_names[:10]]
for term, weight in cv.surfaces_[0].terms(names):
    print(f"{weight:7.3f}  {term}")
