"""
Why was this one declined? A waterfall of reasons
=================================================

The waterfall leads from the average applicant to a declined one, column by column. The steps are exact
Shapley values: they add up to the difference between the two decision values.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from quadric import SparseQuadraticSVC
from quadric.explain import reason_codes
from quadric.export import equation
from quadric.tables import TableEncoder, as_table

# %%
# Invented applicants. Large loans are riskier for applicants with a small income.

rng = np.random.default_rng(0)
names = ["age", "income", "amount", "late payments"]
X = rng.normal([43, 3200, 6000, 0], [12, 900, 2500, 1], size=(800, 4)).clip([18, 500, 500, 0], None)
X[:, 3] = rng.poisson(0.8, 800)
age, income, amount, late = (X.round() - X.mean(axis=0)).T / X.std(axis=0)[:, None]
risk = 0.9 * late + 0.7 * amount - 0.8 * income - 0.6 * income * amount + 0.4 * age**2 - 1.0
y = np.where(risk + rng.logistic(scale=0.5, size=800) > 0, "default", "ok")

applicants = as_table(X.round(), names)
svc = SparseQuadraticSVC(k=5, C=4.0, loss="least_squares")
model = make_pipeline(TableEncoder(), svc).fit(applicants, y)
print(equation(model))

# %%
# The first applicant whom the model clearly declines, and the reasons in words. ``favourable`` is the
# decision that the applicant hoped for.

case = np.flatnonzero(model.decision_function(applicants) < -0.5)[0]
reasons = reason_codes(
    model,
    applicants[[case]],
    n=2,
    reference="mean",
    background=applicants,
    favourable="ok",
)
print("\n".join(reasons.texts[0]))

# %%
# The waterfall, worst step first.

values = reasons.contributions[0]
order = np.argsort(values)
ends = reasons.reference_decision[0] + np.cumsum(values[order])
starts = np.append(reasons.reference_decision[0], ends[:-1])
steps = [f"{names[j]} = {applicants[names[j]][case]:g}" for j in order]

fig, ax = plt.subplots(layout="constrained", figsize=(7.2, 3.6))
ax.barh("average applicant", reasons.reference_decision[0], color="grey")
for step, start, end in zip(steps, starts, ends, strict=True):
    bar = ax.barh(step, end - start, left=start, color="tab:red" if end < start else "tab:green")
    ax.bar_label(bar, [f"{end - start:+.2f}"], label_type="center", color="white")
ax.barh("this applicant", reasons.decision[0], color="black")
ax.axvline(0.0, color="black", linewidth=1)
ax.invert_yaxis()
ax.set(xlabel="decision value (above zero: accepted)", title="What cost this applicant the loan")
plt.show()
