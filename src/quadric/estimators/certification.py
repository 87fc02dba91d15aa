"""Certificates of models that are already fitted, by us or by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from quadric.certificate import Certificate
from quadric.estimators._models import Examined, examine, support_within
from quadric.estimators._validation import check_values, number_from
from quadric.losses.base import Found
from quadric.progress import writer_for
from quadric.search.exact import prove
from quadric.search.methods import is_swap_optimal, promising_support


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
    certificate = case.judge.certificate(case.surface, case.question)
    support, step = support_within(case), problem.step()
    if support is not None:
        found = Found(support, step.refit(support).value)
        certificate = replace(certificate, swap_optimal=_swap_optimal(problem, found, certificate))
    else:  # terms that the problem does not allow, or too many: bound it all the same, from another start
        start = promising_support(problem, problem.explorer(step), np.random.default_rng(0))
        found = Found(start, step.refit(start).value)
    proof = prove(problem, found, time_limit=time_limit, report=writer_for(verbose))
    return certificate.bounded(min(proof.lower_bound, proof.best.value))


def _swap_optimal(problem: Any, found: Found, certificate: Certificate) -> bool | None:
    """Of the terms, and only where the coefficients are the best for them."""
    if certificate.objective > found.value * (1.0 + 1e-9):
        return False
    return is_swap_optimal(problem, found)
