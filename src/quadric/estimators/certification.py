"""Certificates of models that are already fitted, by us or by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from quadric.certificate import Certificate, judge
from quadric.estimators._base import with_bound
from quadric.estimators._models import Examined, examine, support_within
from quadric.estimators._validation import check_values, number_from
from quadric.progress import writer_for
from quadric.search.exact import prove
from quadric.search.local import Found
from quadric.search.methods import is_swap_optimal
from quadric.zstep import step_for


def certify(
    model: Any,
    X: Any,
    y: Any,
    *,
    loss: str | None = None,
    C: float | None = None,
    k: int | None = None,
    sample_weight: Any = None,
    class_weight: Any = None,
    time_limit: float = 0.0,
    verbose: int = 0,
) -> list[Certificate]:
    """Judge a model as an answer to: the best surface with at most k terms.

    Parameters
    ----------
    model : fitted estimator, Pipeline ending in one, or QuadraticSurface
        The transformers of a pipeline are applied to X first.
    X : array-like of shape (m, n)
        The samples that the model was fitted to; others can be judged too.
    y : array-like of shape (m,)
        Their labels. A bare surface is judged as positive for the second of two labels in sorted order.
    loss, C, k : optional
        The problem; by default that of the estimator's parameters. A bare surface needs all three.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``.
    class_weight : dict or "balanced", optional
        By default the estimator's.
    time_limit : float
        Seconds a surface for branch and bound; at 0.0 only its first bound is computed.
    verbose : int
        1 or 2 writes the progress of branch and bound to standard error.

    Returns
    -------
    list of Certificate
        One a surface.
    """
    check_values({"time_limit": time_limit}, {"time_limit": number_from(0.0)})
    question = {"loss": loss, "C": C, "k": k, "sample_weight": sample_weight, "class_weight": class_weight}
    return [_certificate(case, time_limit, verbose) for case in examine(model, X, y, question)]


def _certificate(case: Examined, time_limit: float, verbose: int) -> Certificate:
    problem = case.problem
    certificate = judge(case.surface, case.samples, loss=problem.loss, C=problem.C, k=case.k)
    support = support_within(case)
    if support is None:  # terms that the problem does not allow: there is nothing to compare with
        return certificate
    found = Found(support, step_for(problem).refit(support).value)
    proof = prove(problem, found, time_limit=time_limit, report=writer_for(verbose))
    certificate = replace(certificate, swap_optimal=_swap_optimal(problem, found, certificate))
    return with_bound(certificate, min(proof.lower_bound, proof.best.value))


def _swap_optimal(problem: Any, found: Found, certificate: Certificate) -> bool | None:
    """Of the terms, and only where the coefficients are the best for them."""
    if certificate.objective > found.value * (1.0 + 1e-9):
        return False
    return is_swap_optimal(problem, found)
