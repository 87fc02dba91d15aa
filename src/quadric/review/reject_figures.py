"""What fits with several assumptions on the rejects say, beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from quadric.review.validating import ResultTable

FIGURES = ("auc", "auc_error", "approved", "bad_rate", "bad_among_rejects", "effective_rows")


@dataclass(frozen=True)
class RejectFit:
    """A fit with one assumption on the rejects.

    Attributes
    ----------
    name : str
        "accepted only", "bands", "acceptance", or "factor 2".
    factor : float or None
        Of fuzzy augmentation.
    terms : dict of str to float
        Coefficients with columns divided by their standard deviations among the accepted; positive towards the positive class.
    auc, auc_error : float or None
        On accepted applicants, out of fold, with DeLong's standard error.
    approved : float
        Share of all applicants whom the model approves.
    bad_rate : float or None
        Expected share of bad ones among these: outcomes of the accepted, and of rejects what the assumption says; without one
        the probability by this model. None where nobody is approved.
    bad_among_rejects : float
        Expected share of bad ones among the rejects, likewise.
    effective_rows : float or None
        Of reweighted applicants, (sum of weights)^2 / sum of squared weights: so many with equal weights say as much.
    """

    name: str
    factor: float | None
    terms: dict[str, float]
    auc: float | None
    auc_error: float | None
    approved: float
    bad_rate: float | None
    bad_among_rejects: float
    effective_rows: float | None


@dataclass(frozen=True)
class RejectInference:
    """Fits with several assumptions on the rejects.

    Attributes
    ----------
    method : str
        Of the model that is kept.
    factor : float or None
        Its factor, with fuzzy augmentation.
    good, bad : str
        Classes.
    n_accepted, n_rejected, n_left_out : int
        Applicants with an outcome, without one, and those who were approved (or not decided on) and have none.
    fits : tuple of RejectFit
        Accepted only, reweighted, and the factors in ascending order.
    remarks : tuple of str
    """

    method: str
    factor: float | None
    good: str
    bad: str
    n_accepted: int
    n_rejected: int
    n_left_out: int
    fits: tuple[RejectFit, ...]
    remarks: tuple[str, ...]

    @property
    def kept(self) -> RejectFit:
        """The fit that the model is from."""
        name = f"factor {self.factor:g}" if self.factor is not None else self.method
        return next(fit for fit in self.fits if fit.name == name)

    def table(self) -> ResultTable:
        """One row per fit.

        Returns
        -------
        ResultTable
        """
        base = self.fits[0].terms
        rows = [
            (
                fit.name,
                fit.factor,
                len(fit.terms),
                sum(term in base for term in fit.terms),
                *(getattr(fit, name) for name in FIGURES),
            )
            for fit in self.fits
        ]
        return ResultTable("rejects", ("fit", "factor", "terms", "kept", *FIGURES), tuple(rows))

    def coefficients(self) -> ResultTable:
        """One row per term, and one column per fit; None where a fit does not have the term.

        Returns
        -------
        ResultTable
        """
        names = dict.fromkeys(term for fit in self.fits for term in fit.terms)
        rows = tuple((name, *(fit.terms.get(name) for fit in self.fits)) for name in names)
        return ResultTable("coefficients", ("term", *(fit.name for fit in self.fits)), rows)

    def words(self) -> Iterator[str]:
        """What the factors change, one sentence each.

        Yields
        ------
        str
        """
        base, factors = self.fits[0], [fit for fit in self.fits if fit.factor is not None]
        n = len(base.terms)
        changed = next((fit for fit in factors if set(fit.terms) != set(base.terms)), None)
        its = f"its {n} term{'s' * (n != 1)}"
        if changed is None:
            yield f"the equation keeps {its} with every factor up to {factors[-1].factor:g}"
        else:
            before = [fit.factor for fit in factors if fit.factor is not None and fit.factor < (changed.factor or 0.0)]
            lost = [term for term in base.terms if term not in changed.terms]
            gained = [term for term in changed.terms if term not in base.terms]
            change = " and ".join(f"{verb} {', '.join(terms)}" for verb, terms in (("loses", lost), ("gains", gained)) if terms)
            start = f"the equation keeps {its} up to a factor of {before[-1]:g}; " if before else ""
            yield f"{start}with a factor of {changed.factor:g} it {change}"
        first, last = factors[0], factors[-1]
        if len(factors) > 1 and first.bad_rate is not None and last.bad_rate is not None:
            yield (
                f"from factor {first.factor:g} to {last.factor:g}, the model approves {100 * first.approved:.1f} to "
                f"{100 * last.approved:.1f} % of the applicants, of whom {100 * first.bad_rate:.1f} to "
                f"{100 * last.bad_rate:.1f} % are expected to be {self.bad}"
            )
        for fit in self.fits:
            if fit.effective_rows is not None:
                yield f"weights by {fit.name} leave {self.n_accepted:,} rows the information of {fit.effective_rows:,.0f}"
        yield "no data here tell which factor is right: only outcomes of applicants who were accepted against the rule can"
