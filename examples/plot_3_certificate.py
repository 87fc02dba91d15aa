"""
How good are these terms? Bounds and proofs
===========================================

A certificate bounds how good *any* k terms could be. Branch and bound raises the bound until it meets
the objective, which is a proof, or until the time is up, which leaves a gap.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from quadric import QuadraticSurface, certify, sparse_quadratic_path

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data[:, :10]), data.target  # 65 terms to choose from

# %%
# For every k: the surface on the path, the first bound, and the bound after at most a fifth of a
# second.

ks = np.arange(1, 13)
path = sparse_quadratic_path(X, y, ks=ks, Cs=[4.0], loss="least_squares")


def certificate(k, seconds):
    """Judge the surface with k terms, with some time for a proof."""
    surface = QuadraticSurface.from_coordinates(path.coef[0, k - 1], path.intercept[0, k - 1])
    return certify(surface, X, y, loss="least_squares", C=4.0, k=k, time_limit=seconds)[0]


first = [certificate(k, 0.0).lower_bound for k in ks]
later = [certificate(k, 0.2) for k in ks]
proved = [c.status == "optimal" for c in later]
print("proved optimal: k =", ks[proved])

# %%
# One case with more and more time. How tight the bound becomes depends on the machine; that it holds
# does not.

seconds = [0.0, 0.05, 0.1, 0.2, 0.4, 0.8]
gaps = [100 * certificate(8, limit).gap for limit in seconds]

fig, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.0, 4.0))
objective = path.objective[0]
left.plot(ks, objective, "o-", color="black", label="objective found")
left.plot(ks, first, "v--", color="tab:orange", label="first bound")
left.plot(ks, [c.lower_bound for c in later], "^--", color="tab:blue", label="bound after 0.2 s")
left.scatter(ks[proved], objective[proved], s=120, fc="none", ec="tab:green", label="proved optimal")
left.set(xlabel="number of terms k", ylabel="objective", title="Objective and bounds")
left.legend()
right.plot(seconds, gaps, "o-", color="tab:blue")
right.set(xlabel="time limit (s)", ylabel="gap (% of the objective)", title="k = 8 against time")
right.set_ylim(bottom=0)
plt.show()
