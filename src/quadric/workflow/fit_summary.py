"""What is known of a fitted model, in words and as plain values: what ``quadric fit`` prints, and a page can show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

from quadric.certificate import Certificate
from quadric.export import equation
from quadric.fitted import FittedModel
from quadric.geometry.terms import term_names
from quadric.samples.recoding import FEWEST_ROWS
from quadric.slope_proofs import SlopeProof
from quadric.workflow.cutoff_words import cutoff_facts
from quadric.workflow.cv_summary import Figure, grids_of
from quadric.workflow.options import AUTO
from quadric.workflow.rule_words import listed_rules, listed_shapes
from quadric.workflow.scorers import measure_named
from quadric.workflow.training import Trained

CONSTANT = "no term moves any score: f is the same for all rows"
NO_BOUND = "no bound yet: run quadric certify"
MOST_NAMES = 6


def percent(share: float) -> str:
    """A share as people say it."""
    return f"{100 * share:.1f} %"


def rounded_up(share: float) -> float:
    """A share that a bound speaks of, to a tenth of a per cent: to round it down would claim more than is proved."""
    return math.ceil(round(1000.0 * share, 6)) / 1000.0


def certificate_words(certificate: Certificate, is_constant: bool, no_bound: str, *, is_ruled: bool = False) -> str:
    """What a certificate says.

    Parameters
    ----------
    certificate : Certificate
    is_constant : bool
        Whether f is the same for all rows, but for rounding.
    no_bound : str
        What to say where there is none.
    is_ruled : bool
        Whether only some supports are admissible.

    Returns
    -------
    str
    """
    parts = [f"objective {certificate.objective:.6g}"]
    parts.append(CONSTANT if is_constant or certificate.n_terms == 0 else _nearby(certificate))
    if certificate.swap_optimal and certificate.status != "optimal":
        parts.append(f"no {'admissible ' * is_ruled}exchange of one term helps")
    slopes = [proof.words() for proof in certificate.monotone]
    return "; ".join([*parts, _proof_words(certificate, no_bound, is_ruled), *slopes])


def certificate_facts(certificate: Certificate) -> dict[str, Any]:
    """A certificate as plain values, for JSON.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    dict
    """
    return asdict(replace(certificate, monotone=())) | {"monotone": [slope_facts(proof) for proof in certificate.monotone]}


def slope_facts(proof: SlopeProof) -> dict[str, Any]:
    """What is known of a slope as plain values, for JSON and model files.

    Parameters
    ----------
    proof : SlopeProof

    Returns
    -------
    dict
    """
    return asdict(proof) | {"proved": proof.proved, "words": proof.words()}


def _proof_words(certificate: Certificate, no_bound: str, is_ruled: bool) -> str:
    if certificate.status == "optimal":
        return f"proved best with at most {certificate.k} terms{' under the rules' * is_ruled}"
    if certificate.gap is None:
        return no_bound
    return f"the best is at most {percent(rounded_up(certificate.gap))} lower (bound {certificate.lower_bound:.6g})"


def _nearby(certificate: Certificate) -> str:
    if certificate.decrease >= 1.0:
        return "not proved: how far the fit could be improved is not known"
    if not certificate.converged:
        return f"the fit could be improved by up to {max(100 * certificate.decrease, 0.1):.2g} %"
    if certificate.local_minimum:
        return "no better surface nearby"
    if certificate.basic_feasible:
        return "no free term would help nearby"
    return "right for these terms, but some of them are zero but for rounding, or others would help"


def subject(trained: Trained) -> str | None:
    """Which class f is the score of; None for more than two.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    str or None
    """
    names = trained.data.class_names
    if len(names) > 2:
        return None
    return f"f is the score of {trained.target} = {names[1]} ({percent(trained.base_rates[1])} of {trained.data.n_rows} rows)"


def facts_at_a_glance(trained: Trained, stopped: bool = False) -> dict[str, str | None]:
    """How good the model is and beside what, what was chosen and left out; None is no fact.

    Parameters
    ----------
    trained : Trained
    stopped : bool
        Whether somebody ended the proof.

    Returns
    -------
    dict
    """
    data, model, chosen = trained.data, trained.classifier, _chosen(trained, briefly=True)
    shared = ", the same for all classes" * trained.view.shares_terms
    counts = ", ".join(str(certificate.n_terms) for _, certificate, _ in _certificates(trained))
    terms = f"{counts} of {trained.n_candidates} {model.terms} terms{shared}, loss {model.loss}, C = {model.C:g}"
    n_missing, columns = sum(data.missing.values()), f"{len(data.missing)} column{'s' * (len(data.missing) > 1)}"
    treated = f"{data.n_dropped} rows dropped" if trained.options.missing == "drop" else "imputed"
    return {
        "certificate": CONSTANT if any(trained.is_constant) else None,
        **(_proofs(trained, stopped) if model.method == "exact" else {}),
        **slope_words(trained.view, data.class_names),
        "how good": _goodness(trained),
        "beside it": _beside(trained),
        **cutoff_facts(trained),
        "chosen": "; ".join(filter(None, (", ".join(filter(None, (terms, chosen))), _rule_words(trained)))),
        "missing values": f"{n_missing} in {columns}, {treated}" if data.missing else None,
        "read in passes": _passes(trained),
    }


# What a fit prints of its samples, and how many columns and terms that moved
SHOWN = ("samples", "event rate", "accuracy", "AUC", "log loss", "PSI")
MOST_DRIFTS = 3


def sample_table(trained: Trained) -> str | None:
    """The samples side by side; None where there is none but that of the fit.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    str or None
    """
    if trained.samples is None or len(trained.samples.table.samples) == 1:
        return None
    table = trained.samples.table
    return table.to_text([name for name, values in table.rows() if name in SHOWN and any(value == value for value in values)])


def sample_facts(trained: Trained) -> dict[str, str | None]:
    """What the table of samples shows, and which columns and terms moved most.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    dict
    """
    if trained.samples is None:
        return {}
    how = "out of fold" if trained.cross_validation else "on the rows that the model was fitted to"
    has_auc = any(name == "AUC" and any(value == value for value in values) for name, values in trained.samples.table.rows())
    delong = "; intervals of the AUC by DeLong" if has_auc else ""
    words: dict[str, str | None] = {"figures": f"development {how}, others by the model{delong}"}
    table = trained.samples.table
    for name in table.samples[1:]:
        kinds = {"columns": table.columns.get(name, ()), "terms": table.terms.get(name, ())}
        lists = []
        for kind, drifts in kinds.items():
            moved = sorted((each for each in drifts if each.psi > each.psi_by_chance), key=lambda each: -each.psi)[:MOST_DRIFTS]
            lists += [f"{kind} {', '.join(f'{each.name} {each.psi:.3f}' for each in moved)}"] * bool(moved)
        words[f"moved most in {name} (PSI)"] = "; ".join(lists) or "nothing more than by chance"
    return words


def all_facts(trained: Trained) -> dict[str, str | None]:
    """All that is known of the fit; None is no fact.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    dict
    """
    found, is_ruled = trained.cross_validation, trained.view.is_ruled
    proofs = {
        f"certificate{name and f', {name}'}": certificate_words(certificate, is_constant, NO_BOUND, is_ruled=is_ruled)
        for name, certificate, is_constant in _certificates(trained)
    }
    return {
        "classes": _classes(trained),
        "base rate": base_rates(trained),
        "accuracy": _accuracy(trained),
        "AUC": None if found is None or found.auc is None else f"{_figure(found.auc, 'roc_auc')} out of fold",
        "beside it": _beside(trained),
        **cutoff_facts(trained),
        "log-loss": None if found is None or found.log_loss is None else f"{_figure(found.log_loss, 'log_loss')} out of fold",
        "terms": _terms(trained),
        "chosen": _chosen(trained),
        "rules": _rule_words(trained),
        "runner-up": _runner_up(trained),
        **proofs,
        "left out": _excluded(trained),
        "missing values": _missing(trained),
        "read in passes": _passes(trained),
        "probabilities": trained.options.calibrate and f"{trained.model.method_}, fitted on out-of-fold scores",
    }


def _certificates(trained: Trained) -> list[tuple[str, Certificate, bool]]:
    """Each certificate with the name of its class, which two classes do not need, and whether the scores are constant.

    Where all classes share their terms there is one.
    """
    names, certificates = trained.data.class_names, trained.classifier.certificates_
    if trained.view.shares_terms:
        return [("all classes", certificates[0], all(trained.is_constant))]
    return list(zip(names if len(certificates) > 1 else [""], certificates, trained.is_constant, strict=True))


def _proofs(trained: Trained, stopped: bool) -> dict[str, str]:
    """What the certificates say of the best terms: once if they all say the same."""
    words = []
    for certificate in trained.classifier.certificates_:
        ended = "stopped by Ctrl-C; " if stopped and certificate.status != "optimal" else ""
        words.append(f"{ended}{_proof_words(certificate, NO_BOUND, trained.view.is_ruled)}")
    if len(set(words)) == 1:
        return {"proof": words[0]}
    return {f"proof, {name}": each for name, each in zip(trained.data.class_names, words, strict=True)}


def slope_words(view: FittedModel, class_names: Sequence[str]) -> dict[str, str]:
    """What is proved of slopes, by subject: once for two classes.

    Parameters
    ----------
    view : FittedModel
    class_names : sequence of str

    Returns
    -------
    dict
    """
    subjects = ["slopes"] if len(view.surfaces) == 1 else [f"slopes, {name}" for name in class_names]
    pairs = zip(subjects, view.slope_proofs(), strict=True)
    return {subject: "; ".join(proof.words() for proof in proofs) for subject, proofs in pairs if proofs}


def _goodness(trained: Trained) -> str:
    found = trained.cross_validation
    if found is None:
        return f"accuracy {percent(trained.accuracy)} on the training rows"
    names = {"auc": "roc_auc", "log_loss": "log_loss", "accuracy": "accuracy"}
    figures = {scoring: figure for name, scoring in names.items() if (figure := getattr(found, name)) is not None}
    measures = ", ".join(f"{measure_named(scoring).words} {_figure(figure, scoring)}" for scoring, figure in figures.items())
    folds = f"{found.folds} fold{'s' * (found.folds > 1)}"
    return f"{measures} out of fold ({folds}; chosen on these folds: expect less on new rows)"


def _beside(trained: Trained) -> str | None:
    found = trained.cross_validation
    if found is None:
        return None
    rates, names = trained.base_rates, trained.data.class_names
    guess = f"always {names[rates.index(max(rates))]}: accuracy {percent(max(rates))}"
    plain = found.plain
    if plain is None:
        return guess
    area = "" if plain.auc is None else f"AUC {plain.auc:.3f}, "
    figures = f"{area}log-loss {plain.log_loss:.3f}, accuracy {percent(plain.accuracy)}"
    return f"logistic regression, chosen on these folds, too: {figures}; {guess}"


def _classes(trained: Trained) -> str:
    names, target, rule = trained.data.class_names, trained.target, trained.options.cutoff
    if trained.cutoff is not None:
        rises = "" if trained.says_nothing else f"higher f means {target} = {names[1]} is likelier; "
        origin = f", chosen by {rule} on out-of-fold probabilities" if isinstance(rule, str) else ""
        where = f"its probability is above {trained.cutoff:.4g}"
        if trained.border is not None:
            where = f"f > {trained.border:.4g} (probability above {trained.cutoff:.4g})"
        return f"{rises}label {names[1]} where {where}{origin}"
    if trained.options.calibrate is not None:
        return "higher f means its class is likelier; label = most probable class"
    if len(names) == 2:
        return f"f > 0 means {target} = {names[1]}, otherwise {names[0]}"
    return f"{target} is whichever of {', '.join(names)} has the largest f"


def base_rates(trained: Trained) -> str:
    """The share of each class, the last one first.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    str
    """
    rates = zip(trained.data.class_names[::-1], trained.base_rates[::-1], strict=True)
    return ", ".join(f"{percent(rate)} {name}" for name, rate in rates)


def _accuracy(trained: Trained) -> str:
    fitted, found = f"{percent(trained.accuracy)} on the training rows", trained.cross_validation
    if found is None:
        return fitted
    folds = f"{found.folds} folds, mean ± standard error" if found.folds > 1 else "of one fold: the time ran out"
    by = "" if _labels_as_chosen(trained) else ", with labels by probability"
    return f"{_figure(found.accuracy, 'accuracy')} out of fold ({folds}), {fitted}{by}"


def _labels_as_chosen(trained: Trained) -> bool:
    """Whether the model's labels follow the surface alone, as those did by which it was chosen."""
    return trained.options.calibrate is None or trained.border == 0.0


def _figure(figure: Figure, scoring: str) -> str:
    if measure_named(scoring).is_share:
        return f"{100 * figure.mean:.1f}{_spread(figure, 100, 1)} %"
    return f"{figure.mean:.3f}{_spread(figure, 1, 3)}"


def _spread(figure: Figure, factor: int, digits: int) -> str:
    return "" if figure.error is None else f" ± {factor * figure.error:.{digits}f}"


def _terms(trained: Trained) -> str:
    data, model = trained.data, trained.classifier
    counts = [str(certificate.n_terms) for _, certificate, _ in _certificates(trained)]
    used = ", ".join(counts) + " (one surface per class)" * (len(counts) > 1) + " (for all classes)" * trained.view.shares_terms
    origin = f"{len(data.encoder.inputs_)} columns, {data.X.shape[1]} features, {data.n_rows} rows"
    return (
        f"{used} of {trained.n_candidates} ({origin}); k = {model.k}, C = {model.C:g}, loss {model.loss}, method {model.method}"
    )


def _rule_words(trained: Trained) -> str | None:
    """All rules but those on slopes, which are told with their proofs."""
    features = trained.data.feature_names
    bounds = SimpleNamespace(coef_bounds=trained.data.limits.rules.get("coef_bounds"))
    return ", ".join([*listed_rules(trained.options), *listed_shapes(bounds, features, term_names(features))]) or None


def _chosen(trained: Trained, *, briefly: bool = False) -> str | None:
    options, found = trained.options, trained.cross_validation
    if found is None:
        return None
    free = {
        f"{found.chosen.terms} terms": found.products is not None,
        "loss": options.loss == AUTO,
        "k": options.k is None,
        "C": options.C is None,
    }
    names = [name for name, is_free in free.items() if is_free]
    if not names:
        return None
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    slack = "one standard error" if found.rule == "1se" else f"{found.rule}"
    rule = f", the fewest terms within {slack} of the best" if free["k"] and found.rule != "best" else ""
    measure = measure_named(found.scoring)
    text = f"{'' if briefly else f'{listed} '}by cross-validated {measure.words}{rule}"
    if found.scoring != "log_loss":  # another one, of the probabilities of the model, is told above
        text += f"; scored {_figure(found.chosen.score, found.scoring)}"
    if measure.is_share and not _labels_as_chosen(trained):
        # the model's own labels, whose accuracy is told above, follow the calibration, which comes after the choice
        text += f", with labels by the {'sign of f' if len(trained.labelled) == 2 else 'largest f'}"
    if found.products is None:
        return text
    factor, digits, unit = (100, 1, " percentage points") if measure.is_share else (1, 4, "")
    change = f"{factor * found.products.mean:+.{digits}f}{_spread(found.products, factor, digits)}{unit}"
    helped = "helped" if found.chosen.terms != "linear" else "did not help"
    if found.products.error is None:
        change += " (1 fold)"
    elif not found.products.is_clear:
        helped = "make no difference beyond noise"
    return f"{text}; products {helped}: {'' if briefly else f'{measure.words} '}{change}"


def _runner_up(trained: Trained) -> str | None:
    found = trained.cross_validation
    if found is None or (cell := found.runner_up) is None:
        return None
    scores = [_figure(each.score, found.scoring) for each in (cell, found.chosen)]
    return f"loss {cell.loss}, k = {cell.k}, C = {cell.C:g}; scored {scores[0]}, the chosen one {scores[1]}"


def _excluded(trained: Trained) -> str:
    limits = trained.data.limits
    counts = {"square{} of two-valued features": limits.n_squares, "product{} within one column": limits.n_products}
    redundant = [f"{count} {what.format('s' * (count > 1))}" for what, count in counts.items() if count]
    parts = [f"{' and '.join(redundant)}: redundant with linear terms"] if redundant else []
    if limits.n_copies:
        parts.append(f"{limits.n_copies} term{'s' * (limits.n_copies > 1)} of features that say the same as others")
    if limits.n_rare:
        parts.append(f"{limits.n_rare} product{'s' * (limits.n_rare > 1)} of rare levels: fewer than {FEWEST_ROWS} rows")
    requested = len(limits.left_out) - sum(limits.counts.values())
    return "; ".join([*(parts or ["no term"]), *[f"{requested} more as requested"] * (requested > 0)])


def _passes(trained: Trained) -> str | None:
    if not trained.data.is_sampled or trained.search is None:
        return None
    shared = "levels and imputed values" if trained.options.clip is None else "caps, levels and imputed values"
    scores = "; the choice goes by scores of all rows" if trained.search.all_rows_scored_ else ""
    folds = "folds go by the " + ("number of the row; " if trained.options.groups is None else "group; ")
    figures = f"accuracy and AUC out of fold are of {len(trained.data.y)} random rows{scores}"
    return f"{shared} are those of all rows, the same in all folds; {folds}{figures}"


def _missing(trained: Trained) -> str:
    missing = trained.data.missing
    if not missing:
        return "none"
    flagged = [column.name for column in trained.data.encoder.inputs_ if column.indicator]
    flags = f", with missing-value flags for {_first_of(flagged)}" if flagged else "; too few for missing-value flags"
    treatment = {
        "drop": f"{trained.data.n_dropped} rows dropped",
        "impute": "imputed by the mean or the most frequent level",
        "indicator": f"numbers imputed by the mean, texts as a level of their own{flags}",
    }
    return f"{_first_of([f'{count} in {name}' for name, count in missing.items()])}; {treatment[trained.options.missing]}"


def _first_of(texts: list[str]) -> str:
    return ", ".join([*texts[:MOST_NAMES], *["..."] * (len(texts) > MOST_NAMES)])


def plain_facts(trained: Trained) -> dict[str, Any]:
    """All that is known of the model as plain values, for JSON.

    Parameters
    ----------
    trained : Trained

    Returns
    -------
    dict
    """
    data, model, names = trained.data, trained.classifier, trained.data.class_names
    found = trained.cross_validation and trained.cross_validation.recorded() | {"grids": _grids(trained.search)}
    return {
        "target": trained.target,
        "classes": list(names),
        "positive": names[1] if len(names) == 2 else None,
        "rows": data.n_rows,
        "rows_dropped": data.n_dropped,
        "read_in_passes": data.is_sampled,
        "features": data.feature_names,
        "base_rates": dict(zip(names, trained.base_rates, strict=True)),
        "loss": model.loss,
        "k": model.k,
        "C": model.C,
        "n_terms": [certificate.n_terms for certificate in model.certificates_],
        "n_candidates": trained.n_candidates,
        "equation": equation(trained.saved()).splitlines(),
        "surfaces": [{"terms": surface.terms(data.feature_names), "constant": surface.c} for surface in model.surfaces_],
        "accuracy": trained.accuracy,
        "labelled": dict(zip(names, trained.labelled, strict=True)),
        "labelled_by_surface": dict(zip(names, trained.by_surface, strict=True)),
        "cutoff": trained.cutoff,
        "cross_validation": found,
        "samples": trained.samples and trained.samples.recorded(),
        "certificates": [certificate_facts(certificate) for certificate in model.certificates_],
        "excluded": data.limits.counts | {"terms": len(data.limits.left_out)},
        "missing": data.missing,
        "check": data.check.recorded(),
        "options": trained.options.recorded(),
    }


def _grids(search: Any) -> dict[str, Any]:
    """Mean scores by loss, as the scorer gives them; null where a cell was skipped."""
    out = {}
    for grid in grids_of(search):
        means = [[None if mean != mean else mean for mean in row] for row in grid.scores.mean(axis=0).tolist()]
        out[grid.loss] = {"ks": grid.ks.tolist(), "Cs": grid.Cs.tolist(), "mean": means}
    return out
