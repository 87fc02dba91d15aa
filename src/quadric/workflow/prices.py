"""What every rule costs: the same fit without it, on the same rows and folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from quadric.estimators import SparseQuadraticSVC, SparseQuadraticSVCCV
from quadric.estimators.constraints import AUTO
from quadric.estimators.shape_rules import SHAPES
from quadric.estimators.validation import SHARED
from quadric.fitted import Model, as_judged
from quadric.labels import positions_in
from quadric.progress import advance, part
from quadric.tables import TableEncoder
from quadric.tables.table import Rows
from quadric.types import FloatArray
from quadric.workflow.cv_summary import Figure
from quadric.workflow.rule_words import TERMS, listed_rules, listed_shapes
from quadric.workflow.scorers import measure_named, scorer_for

ALL_RULES = "all rules"


@dataclass(frozen=True)
class RulePrice:
    """A fit without one rule, beside the one with all of them.

    Attributes
    ----------
    rule : str
        What the rule says.
    objective : float
        F without the rule, summed over the surfaces.
    score : Figure
        Out-of-fold score without the rule: mean and standard error over the folds.
    cost : float
        What the rule adds to the objective, as a share of that without it.
    change : Figure
        What the rule changes the score by, paired over the folds.
    gained, lost : tuples of str
        Terms that the model has because of the rule, and terms that it would have without.
    """

    rule: str
    objective: float
    score: Figure
    cost: float
    change: Figure
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True)
class RulePrices(Sequence[RulePrice]):
    """Prices of the rules of a model: a sequence with an entry for each, and one for all of them where there are several.

    Attributes
    ----------
    objective : float
        F with all rules, summed over the surfaces.
    score : Figure
        Out-of-fold score with all rules.
    scoring : str
        What the score is.
    folds : int
    prices : tuple of RulePrice
    """

    objective: float
    score: Figure
    scoring: str
    folds: int
    prices: tuple[RulePrice, ...]

    def __len__(self) -> int:
        return len(self.prices)

    def __getitem__(self, index: Any) -> Any:
        return self.prices[index]

    def table(self) -> list[tuple[str, ...]]:
        """What people read, cell by cell; the first line is the head.

        Returns
        -------
        list of tuples of str
        """
        measure = measure_named(self.scoring)
        factor, digits, unit = (100, 1, " percentage points") if measure.is_share else (1, 4, "")
        rows: list[tuple[str, ...]] = [("rule", "objective", measure.words, "terms gained (+) and lost (-) by the rule")]
        for each in self.prices:
            error = "" if each.change.error is None else f" ± {factor * each.change.error:.{digits}f}"
            terms = [*(f"+{term}" for term in each.gained), *(f"-{term}" for term in each.lost)]
            change = f"{factor * (round(each.change.mean, 9) + 0.0):+.{digits}f}{error}{unit}"
            rows.append((each.rule, f"{100 * each.cost:+.2f} %", change, ", ".join(terms) or "none"))
        return rows

    @staticmethod
    def of(record: Any) -> RulePrices | None:
        """From what ``recorded`` gave; None where it makes no sense, as anybody can write a file.

        Parameters
        ----------
        record : Any

        Returns
        -------
        RulePrices or None
        """
        try:
            prices = tuple(_read_price(each) for each in record["prices"])
            score, scoring = _read_figure(record["score"]), str(record["scoring"])
            return RulePrices(float(record["objective"]), score, scoring, int(record["folds"]), prices)
        except (KeyError, TypeError, ValueError):
            return None

    def recorded(self) -> dict[str, Any]:
        """As plain values.

        Returns
        -------
        dict
        """
        return asdict(self)


def _read_price(record: Any) -> RulePrice:
    score, change = (_read_figure(record[name]) for name in ("score", "change"))
    terms = (tuple(map(str, record[name])) for name in ("gained", "lost"))
    return RulePrice(str(record["rule"]), float(record["objective"]), score, float(record["cost"]), change, *terms)


def _read_figure(record: Any) -> Figure:
    error = record["error"]
    return Figure(float(record["mean"]), None if error is None else float(error))


def rule_prices(
    model: Model,
    X: Rows,
    y: ArrayLike,
    *,
    scoring: str = "log_loss",
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> RulePrices:
    """Fit a model again without each of its rules, and compare objective, out-of-fold score and terms.

    Loss, k and C stay; where cross-validation chose between linear terms and all terms, it chooses again. Levels and imputed
    values of the columns stay as fitted; caps, means and scales are learned inside each fold. Where a search finds nothing
    better without a rule, the rule costs nothing.

    Parameters
    ----------
    model : fitted model
        Estimator, CalibratedModel, Pipeline that ends in one, or TableClassifier, with ``hierarchy``, ``max_features``,
        ``max_cost``, ``interaction_cst``, ``monotonic_cst``, ``coef_bounds``, and, where no table was coded, ``include`` or
        ``exclude``. The features of ``monotonic_cst`` and the terms of ``coef_bounds`` are priced one by one.
    X : array-like of shape (m, n), or table
        The rows that it was fitted to.
    y : array-like of shape (m,)
        Their labels.
    scoring : str
        log_loss, accuracy, roc_auc, balanced_accuracy, brier, ks, average_precision, or the name of a scikit-learn scorer.
    cv : int, splitter or iterable
        Folds, the same for all fits.
    sample_weight : array-like of shape (m,), optional
        Repetitions, as in ``fit``.
    n_jobs : int or None
        Folds fitted at the same time.

    Returns
    -------
    RulePrices
    """
    view, X, y = as_judged(model, X, y)
    rows, codes, own = view.coded(X), positions_in(view.classes, np.asarray(y)), _in_one_cell(view.procedure())
    if len(view.surfaces) == 1:  # rules are about the one score, whatever its class is called
        own.set_params(**{name: next(iter(rules.values())) for name in SHAPES if (rules := getattr(own, name))})
    search = own.set_params(cv=cv, n_jobs=n_jobs, scoring=scorer_for(scoring, codes))
    excludes_more = any(isinstance(step, TableEncoder) for _, step in view.steps)  # what its columns make redundant, too
    is_open = AUTO in (getattr(model, "terms", None), getattr(view.classifier, "terms", None))
    kind = {"terms": AUTO} if is_open else {}
    rules = listed_rules(search, () if excludes_more else TERMS) | listed_shapes(
        search, view.names, view.term_names, view.class_texts
    )
    changes = {words: change | kind for words, change in rules.items()}
    labels = view.class_texts if len(view.surfaces) > 1 else ()

    def fit(change: Mapping[str, Any]) -> SparseQuadraticSVCCV:
        return clone(search).set_params(**change).fit(rows, codes, sample_weight)

    return priced(fit, changes, view.term_names, labels, scoring)


def priced(
    fit: Callable[[Mapping[str, Any]], SparseQuadraticSVCCV],
    changes: Mapping[str, Mapping[str, Any]],
    terms: Sequence[str],
    labels: Sequence[str],
    scoring: str,
) -> RulePrices:
    """The prices of rules of a cross-validation of one k and one C.

    Parameters
    ----------
    fit : callable
        From parameters that differ to what is fitted with them.
    changes : mapping
        By what a rule says, the parameters without it.
    terms : sequence of str
        Names of all terms.
    labels : sequence of str
        Of the surfaces, where there are several.
    scoring : str

    Returns
    -------
    RulePrices
    """
    if not changes:
        raise ValueError("the model has no rules whose price could be told")
    everything = {name: None if name in SHAPES else value for change in changes.values() for name, value in change.items()}
    wanted = {"": {}, **changes, **({ALL_RULES: everything} if len(changes) > 1 else {})}
    fits = []
    for number, (words, change) in enumerate(wanted.items()):
        with part(number / len(wanted), (number + 1) / len(wanted)):
            advance(0.0, f"without: {words}" if words else "with all rules")
            fits.append(_Cell.of(fit(change), terms, labels, measure_named(scoring).sign))
    ruled, *others = fits
    prices = tuple(ruled.beside(words, other) for words, other in zip([*wanted][1:], others, strict=True))
    return RulePrices(ruled.objective, Figure.of(ruled.scores), scoring, len(ruled.scores), prices)


def _in_one_cell(model: SparseQuadraticSVC) -> SparseQuadraticSVCCV:
    """A cross-validation of the k and C of a model; a proof of each fit would take too long."""
    own, known = model.get_params(), SparseQuadraticSVCCV().get_params()
    own |= {"ks": (model.k,), "Cs": (model.C,), "method": "best" if model.method == "exact" else model.method}
    return SparseQuadraticSVCCV(**{name: value for name, value in own.items() if name in known})


@dataclass(frozen=True, eq=False)
class _Cell:
    objective: float
    scores: FloatArray
    terms: tuple[str, ...]

    @staticmethod
    def of(search: SparseQuadraticSVCCV, terms: Sequence[str], labels: Sequence[str], sign: int) -> _Cell:
        own = list(_live_terms(search, terms, labels))
        certificates = search.certificates_[:1] if search.multiclass == SHARED else search.certificates_  # of all classes
        objective = sum(certificate.objective for certificate in certificates)
        return _Cell(float(objective), sign * np.asarray(search.cv_scores_)[:, 0, 0], tuple(own))

    def beside(self, rule: str, other: _Cell) -> RulePrice:
        """The price of a rule, from a fit without it; what keeps the rule is a fit without it, too."""
        other = self if other.objective > self.objective else other
        return RulePrice(
            rule,
            other.objective,
            Figure.of(other.scores),
            self.objective / other.objective - 1.0 if other.objective > 0.0 else 0.0,
            Figure.of(self.scores - other.scores),
            tuple(term for term in self.terms if term not in other.terms),
            tuple(term for term in other.terms if term not in self.terms),
        )


def _live_terms(search: SparseQuadraticSVCCV, terms: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    for subject, coef in zip(labels or ("",), search.coef_, strict=True):
        yield from (f"{subject}: {terms[t]}" if subject else terms[t] for t in np.flatnonzero(coef).tolist())
