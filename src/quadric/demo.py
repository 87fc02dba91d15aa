"""A sparse quadric on data that ship with scikit-learn: ``python -m quadric.demo``."""

from __future__ import annotations

import sys
import textwrap
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from quadric import SparseQuadraticSVC, certify

K, C, LOSS = 12, 256.0, "least_squares"


def main() -> int:
    """Fit, print the equation and its certificate, cross-validate."""
    data = load_breast_cancer()
    n_samples, n_features = data.data.shape
    n_terms = n_features * (n_features + 3) // 2
    names = [str(name).replace(" ", "_") for name in data.feature_names]
    print(f"Breast cancer data: {n_samples} samples, {n_features} standardised features, {n_terms} terms")

    model = make_pipeline(StandardScaler(), SparseQuadraticSVC(k=K, C=C, loss=LOSS))
    start = time.perf_counter()
    model.fit(data.data, data.target)
    fit_seconds = time.perf_counter() - start

    svc = model[-1]
    (surface,), (certificate,) = svc.surfaces_, svc.certificates_
    print(f"\nBenign where f > 0 (k = {K}, C = {C:g}, {LOSS} loss; fitted in {fit_seconds:.2f} s):")
    print(textwrap.fill(surface.equation(names), 78, initial_indent="  ", subsequent_indent="      ", break_long_words=False))
    print("\nCertificate, recomputed from the data:")
    print(f"  objective         {certificate.objective:,.0f}")
    print(f"  terms             {certificate.n_terms} of at most {certificate.k}")
    print(f"  stationarity      {certificate.stationarity:.1e} (largest scaled residual)")
    print(f"  local minimum     {'yes' if certificate.local_minimum else 'not shown'}")
    print(f"  exchanges         {'no exchange of one term helps' if certificate.swap_optimal else 'not shown'}")
    (bounded,) = certify(model, data.data, data.target)
    print(f"  first bound       no {K} terms have an objective below {bounded.lower_bound:,.0f}")

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(model, data.data, data.target, cv=folds)
    print(f"\nFive-fold cross-validated accuracy: {scores.mean():.3f} (standard deviation {np.std(scores, ddof=1):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
