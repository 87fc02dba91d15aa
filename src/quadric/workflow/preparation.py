"""A table as what a classifier takes: coded columns, labels, and the terms that it may not or must use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from quadric.errors import ParameterError, listed, refuse_unknown, unknown_names, warn_user
from quadric.estimators import ScaleWarning
from quadric.estimators.constraints import LINEAR, support_limits
from quadric.estimators.feature_rules import BUDGETS, RULES, by_number
from quadric.estimators.validation import spread_trouble
from quadric.geometry.terms import term_count, term_index
from quadric.labels import typed_labels
from quadric.losses import LOSS_NAMES, loss_named
from quadric.samples.capped import Stream
from quadric.samples.random_rows import MOST_RANDOM, RandomRows
from quadric.samples.recoding import Coding
from quadric.samples.source import SampleBatch
from quadric.search.rules import SupportLimits
from quadric.tables import Table, TableEncoder
from quadric.tables.coded import LabelledColumns, coded_source, learn_table
from quadric.tables.encoder import coding_of, copied_features, redundant_pairs
from quadric.tables.parts import TableParts, as_parts
from quadric.tables.targets import class_position, ordered_classes, sorted_classes
from quadric.types import FloatArray, IntArray
from quadric.workflow.advice import read_moves
from quadric.workflow.checking import TableCheck, looked_at, settled
from quadric.workflow.findings import without_label
from quadric.workflow.limits import check_columns, check_features, check_names
from quadric.workflow.options import OptionError, TrainingOptions
from quadric.workflow.shapes import ShapeReader
from quadric.workflow.term_texts import expanded

# Characters of a class name up to which it is also the label of the classifier
WIDEST_LABEL = 64
# Rules that treat features differently which say the same
TELL_APART = frozenset({"feature_cost", "monotonic_cst", "coef_bounds"})


@dataclass(frozen=True)
class TermLimits:
    """Terms that must and must not be used.

    Attributes
    ----------
    include, exclude : list of int
        Positions in z.
    n_squares, n_products : int
        How many of the excluded terms are squares of two-valued features, and products within one column.
    n_copies : int
        How many others are terms of features that say the same as earlier ones.
    n_rare : int
        How many others are products of levels or flags that are not zero in fewer than ten rows.
    rules : mapping
        The other rules on supports as parameters of the classifier, by number of feature.
    forbidden : list of int
        Terms that the other rules leave out.
    """

    include: list[int]
    exclude: list[int]
    n_squares: int
    n_products: int
    n_copies: int = 0
    n_rare: int = 0
    rules: Mapping[str, Any] = field(default_factory=dict)
    forbidden: list[int] = field(default_factory=list)

    @property
    def left_out(self) -> list[int]:
        """All terms that no surface has, whatever the reason."""
        return sorted({*self.exclude, *self.forbidden})

    @property
    def counts(self) -> dict[str, int]:
        """How many terms are left out by themselves, by the reason."""
        return {"squares": self.n_squares, "products": self.n_products, "copies": self.n_copies, "rare": self.n_rare}


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Coded data with everything that was decided on the way.

    Attributes
    ----------
    encoder : fitted TableEncoder
    X : array of shape (m, n)
        What it made of the table; not standardised.
    codes : array of shape (m,)
        Positions of the rows' classes.
    labels : array of shape (n_classes,)
        Of the classes for the classifier, sorted: their names (numbers and truth values as such) where these are short
        and in sorted order, else their positions.
    class_names : tuple of str
        In the order of the labels; of two, the positive one is the last.
    limits : TermLimits
    missing : dict
        Number of missing values by column, where there are any.
    n_dropped : int
        Rows that were left out because of them.
    groups : array of shape (m,) or None
        Rows with equal values stay in the same fold.
    sample_weight : array of shape (m,) or None
        Repetitions of the rows; None: each counts once.
    sha256 : str or None
        Checksum of the file.
    class_counts : tuple of int
        Rows of each class.
    is_sampled : bool
        Whether the table was read in passes, and X and y are a random sample of its rows.
    coding : Coding or None
        What each fold learns of the columns; None where folds share it, by passes.
    check : TableCheck
        What a look at the table brought up.
    forms : mapping
        How dates and numbers are written in columns of texts, where not as we do.
    redundant : tuple of pairs of int
        Features whose products are redundant with linear terms.
    copies : mapping of int to int
        Features that say the same as earlier ones, in all rows at hand, each with the first of these.
    thin : frozenset of int
        Terms that are not zero in too few rows.
    """

    encoder: TableEncoder
    X: FloatArray
    codes: IntArray
    labels: np.ndarray
    class_names: tuple[str, ...]
    limits: TermLimits
    missing: dict[str, int]
    n_dropped: int
    groups: IntArray | None = None
    sample_weight: FloatArray | None = None
    sha256: str | None = None
    class_counts: tuple[int, ...] = ()
    is_sampled: bool = False
    coding: Coding | None = None
    check: TableCheck = field(default_factory=TableCheck)
    forms: Mapping[str, str] = field(default_factory=dict)
    redundant: tuple[tuple[int, int], ...] = ()
    copies: Mapping[int, int] = field(default_factory=dict)
    thin: frozenset[int] = frozenset()

    @cached_property
    def y(self) -> np.ndarray:
        """The label of each row, as the classifier takes it."""
        return self.labels[self.codes]

    @property
    def n_rows(self) -> int:
        """Number of all rows that are used."""
        return sum(self.class_counts)

    @property
    def feature_names(self) -> list[str]:
        """Of the columns of X."""
        return [feature.name for feature in self.encoder.features_]

    def weight(self, rows: IntArray) -> FloatArray:
        """Repetitions of some rows.

        Parameters
        ----------
        rows : integer array
            Their positions.

        Returns
        -------
        array
        """
        return np.ones(len(rows)) if self.sample_weight is None else self.sample_weight[rows]

    def under(self, options: TrainingOptions) -> PreparedData:
        """The same with the rules on terms and columns that other options have.

        Parameters
        ----------
        options : TrainingOptions

        Returns
        -------
        PreparedData
        """
        limits = _term_limits(self.encoder, self.redundant, options, self.class_names, self.labels)
        copied = self._terms_of_copies(limits).difference(limits.exclude)
        thin = self.thin.difference(limits.include, limits.exclude, copied)
        n_copies, n_rare = (len(terms.difference(limits.forbidden)) for terms in (copied, thin))
        exclude = sorted({*limits.exclude, *copied, *thin})
        return replace(self, limits=replace(limits, exclude=exclude, n_copies=n_copies, n_rare=n_rare))

    def _terms_of_copies(self, limits: TermLimits) -> set[int]:
        """Terms that say the same as others which are allowed.

        Of features that say the same, one stands for all: one that somebody asks for, otherwise the first. Where rules on
        single features or their prices tell them apart, none does.
        """
        if limits.rules.keys() & TELL_APART:
            return set()
        n = len(self.encoder.features_)
        asked = SupportLimits(np.array(limits.include, dtype=np.intp)).demanded_features(n).tolist()
        stands_for = {self.copies.get(j, j): j for j in reversed(asked)}  # of several, the first one asked for
        leader = [stands_for.get(self.copies.get(j, j), self.copies.get(j, j)) for j in range(n)]
        dropped = [j for j in range(n) if leader[j] != j and j not in asked]
        pairs = [(j, other) for j in dropped for other in (None, *range(n))]
        said = {term_index(j, other, n): (leader[j], None if other is None else leader[other]) for j, other in pairs}
        forbidden = set(limits.forbidden)
        return {term for term, pair in said.items() if term_index(*pair, n) not in forbidden}

    @property
    def n_candidates(self) -> int:
        """Number of terms that a surface may use."""
        return term_count(self.X.shape[1]) - len(self.limits.left_out)

    def n_candidates_of(self, terms: str) -> int:
        """Number of terms of a kind that a surface may use.

        Parameters
        ----------
        terms : {"linear", "quadratic", "auto"}

        Returns
        -------
        int
        """
        if terms != LINEAR:
            return self.n_candidates
        n_features = self.X.shape[1]
        first = term_count(n_features) - n_features  # linear terms come last
        return n_features - sum(term >= first for term in self.limits.left_out)

    def class_weight(self, wanted: object) -> object:
        """Weights by the names of the classes as weights by their labels.

        Parameters
        ----------
        wanted : mapping, "balanced" or None
            By the names of the classes.

        Returns
        -------
        mapping, "balanced" or None
            By their labels.
        """
        if not isinstance(wanted, Mapping):
            return wanted
        refuse_unknown(wanted, self.class_names, "the target", "class", error=partial(OptionError, class_weight=None))
        return {label: wanted.get(name, 1.0) for name, label in zip(self.class_names, self.labels.tolist(), strict=True)}


def prepare(table: Table | TableParts, target: str, options: TrainingOptions) -> PreparedData:
    """Code a table, with all rows at hand.

    Parameters
    ----------
    table : Table or TableParts
    target : str
        Name of the column with the classes.
    options : TrainingOptions

    Returns
    -------
    PreparedData
    """
    stream, data = learn(table, target, options)
    check_features(data.encoder, data.class_names, data.n_rows)
    return with_rows(data, stream.source.total(RandomRows(MOST_RANDOM)).batch, options)


def learn(
    table: Table | TableParts, target: str, options: TrainingOptions, weights: str | None = None
) -> tuple[Stream, PreparedData]:
    """Look at a table once, wherever it is.

    Parameters
    ----------
    table : Table or TableParts
    target : str
        Name of the column with the classes.
    options : TrainingOptions
    weights : str, optional
        Column of positive weights, which is not a feature.

    Returns
    -------
    Stream and PreparedData
        The coded rows, in batches; and everything that was decided, without rows.
    """
    parts = as_parts(table)
    head = parts.head()
    check_roles(head, target, options)
    if weights is not None:
        options = replace(options, ignore=(*options.ignore, weights))
    check, options = looked_at(parts, target, options)
    options = settled(check, options, target, head.names)
    inputs = tuple(name for name in head.names if name not in {target, options.groups, *options.ignore})
    check_columns(inputs)
    columns = LabelledColumns.of(head.names, target, inputs, weights, options.groups)
    columns = replace(columns, needs_labels=options.missing == "refuse")
    parts, learned = learn_table(parts, columns, _new_encoder(options), drops=options.missing == "drop")
    names = _class_order(learned.class_counts, options, learned.n_unlabelled)
    if learned.n_unlabelled:
        warn_user(without_label(target, learned.n_unlabelled))
    counts = [learned.class_counts[name] for name in names]
    if learned.missing and options.missing == "refuse":
        found = listed([f"{name!r} ({count})" for name, count in learned.missing.items()])
        raise ParameterError(f"values are missing in {found}: fill them in, drop the rows, or impute them", missing="impute")
    if 0 in counts:
        lost = f"no row of class {names[counts.index(0)]!r} is left"
        raise ParameterError(f"without the rows that have missing values {lost}: keep these rows", missing="impute")
    encoder = _new_encoder(options).fit_facts(learned.facts)
    columns_and_facts = zip(encoder.inputs_, learned.facts, strict=True)
    if all(facts.is_constant(imputed=not column.indicator) for column, facts in columns_and_facts):
        keep = {"rare": "keep"} if learned.missing and options.missing == "indicator" else {}
        few = "; values are missing in too few rows for a flag" if keep else ""
        raise ParameterError(f"all columns are constant: there is nothing to learn from{few}", **keep)
    check_features(encoder, names, 1)
    # an array makes all texts as wide as the longest, so long names are not labels
    labels = typed_labels(names)
    if labels.tolist() != sorted(labels.tolist()) or max(map(len, names)) > WIDEST_LABEL:
        labels = np.arange(len(names))
    data = PreparedData(
        encoder=encoder,
        X=np.empty((0, len(encoder.features_))),
        codes=np.arange(len(names)),
        labels=labels,
        class_names=names,
        limits=TermLimits([], [], 0, 0),
        redundant=tuple(redundant_pairs(encoder, learned.two_valued(encoder))),
        missing=learned.missing,
        n_dropped=learned.n_dropped,
        sha256=parts.digest(),
        class_counts=tuple(counts),
        check=check,
        forms=options.forms,
    )
    data = data.under(options)
    data.class_weight(options.class_weight)  # refused now rather than after a cross-validation
    source = coded_source(parts, columns, encoder, names, learned.class_counts, drops=options.missing == "drop")
    return Stream(source, tuple(data.feature_names), target, labels, options.seed, options.groups is not None), data


def with_rows(data: PreparedData, rows: SampleBatch, options: TrainingOptions, *, by_passes: bool = False) -> PreparedData:
    """What was decided, with coded rows: all of them, or a random sample.

    Parameters
    ----------
    data : PreparedData
    rows : SampleBatch
    options : TrainingOptions
    by_passes : bool
        Whether the rows are a sample of a table that is read in passes.

    Returns
    -------
    PreparedData
    """
    groups = None
    if options.groups is not None:
        # numbered as they appear: folds do not depend on what groups are called
        assert rows.keys is not None
        _, first, places = np.unique(rows.keys, return_index=True, return_inverse=True)
        groups = np.argsort(np.argsort(first))[places]
    coding, n_features = coding_of(data.encoder, rows.X, data.missing), rows.X.shape[1]
    pairs = coding.thin_products(rows.X, len(rows.ids) / data.n_rows)
    data = replace(
        data,
        X=rows.X,
        codes=rows.target.codes,
        copies=copied_features(rows.X),
        thin=frozenset(term_index(i, j, n_features) for i, j in pairs),
        groups=groups,
        sample_weight=None if (rows.sample_weight == 1.0).all() else rows.sample_weight,
        is_sampled=by_passes,
        coding=None if by_passes else coding,
    ).under(options)
    trouble = None if options.standardize else spread_trouble(data.X, data.feature_names)
    if trouble is not None:  # what the classifier would say, with the names of the table and without advice on pipelines
        warning = ScaleWarning(f"{trouble}; standardise them")
        vars(warning)["remedies"] = {"standardize": None}
        warn_user(warning)
    return data


def recoded(data: PreparedData, train: IntArray) -> tuple[PreparedData, FloatArray]:
    """All rows, with imputed values and levels as the training rows say, and without terms that are thin there.

    Parameters
    ----------
    data : PreparedData
    train : integer array
        Positions of the training rows.

    Returns
    -------
    PreparedData, and array of shape (m, n)
    """
    if data.coding is None or not data.coding.learns:
        return data, data.X
    include, rows = data.limits.include, data.coding.with_gaps(data.X)
    demanded = SupportLimits(np.array(include, dtype=np.intp)).demanded_features(data.X.shape[1])
    X = data.coding.learned(rows[train], data.weight(train), demanded)(rows)
    thin = {*data.limits.exclude, *data.coding.thin_terms(X[train]).tolist()}.difference(include)
    return replace(data, X=X, limits=replace(data.limits, exclude=sorted(thin))), X


def _new_encoder(options: TrainingOptions) -> TableEncoder:

    return TableEncoder(
        coding=options.coding,
        missing="refuse" if options.missing == "drop" else options.missing,
        unseen=options.unseen,
        rare=options.rare,
        max_levels=options.max_levels,
        dates=options.dates,
        texts=options.texts,
        missing_texts=options.missing_texts,
        forms=dict(options.forms) or None,
    )


def _class_order(counts: Mapping[str, int], options: TrainingOptions, n_unlabelled: int) -> tuple[str, ...]:
    """Names of the classes in the order of their codes; of two, the positive one is the last."""
    sorted_classes(counts, n_unlabelled)  # what is wrong with the target itself is no matter of the option
    try:
        names = ordered_classes(counts, options.positive)
    except ValueError as error:
        raise OptionError(str(error), positive=None) from None
    check_names("the target has a class", names)
    if options.favourable is not None and class_position(options.favourable, names) is None:
        raise OptionError(unknown_names([options.favourable], names, "the target", "class"), favourable=None)
    return names


def lighter_loss(loss: str) -> str | None:
    """A loss that does not keep all rows in memory, for one that does; else None.

    Parameters
    ----------
    loss : str

    Returns
    -------
    str or None
    """
    return next((name for name in LOSS_NAMES if not loss_named(name).keeps_rows), None) if loss_named(loss).keeps_rows else None


def check_roles(table: Table, target: str, options: TrainingOptions) -> None:
    """Refuse names of columns that the table does not have, and columns that would be two things.

    Parameters
    ----------
    table : Table
        All of it, or a part.
    target : str
    options : TrainingOptions
    """
    groups = () if options.groups is None else (options.groups,)
    lists = {option: getattr(options, option) for option in ("ignore", "keep", "dates", "texts", "forms", "frozen")}
    used = {"target": (target,), "groups": groups, **lists}
    wrong: dict[str, None] = {option: None for option, names in used.items() if not set(names).issubset(table.names)}
    refuse_unknown(chain(*used.values()), table.names, "the table", error=lambda text: OptionError(text, **wrong))
    read_moves(options.actionable, table.names)
    if target in options.ignore:
        raise OptionError(f"the column {target!r} is the target: it cannot be ignored", ignore=None)
    if options.groups == target:
        raise OptionError(f"the column {target!r} is the target: it cannot hold the groups", groups=None)
    unused = (target, *groups, *options.ignore)
    for option, others in {
        "keep": unused,
        "dates": unused,
        "texts": (*unused, *options.dates),
        "forms": (*unused, *options.texts),
    }.items():
        twice = [name for name in getattr(options, option) if name in others]
        if twice:
            raise OptionError(f"the column {twice[0]!r} is the target, ignored or named twice", **{option: None})
    if not set(table.names).difference(unused):
        raise OptionError(f"the table has no column besides the target {target!r} and the ignored ones")


def _term_limits(
    encoder: TableEncoder,
    redundant: Sequence[tuple[int, int]],
    options: TrainingOptions,
    class_names: tuple[str, ...],
    labels: np.ndarray,
) -> TermLimits:
    """What the options demand, and the redundant terms unless they are demanded."""
    names = [feature.name for feature in encoder.features_]
    n = len(names)
    wanted, unwanted = (expanded(encoder, terms) for terms in (options.include, options.exclude))
    k = term_count(n) if options.k is None else options.k
    try:
        rules = _rules(encoder, options)
        demanded = support_limits(wanted, unwanted, names, n, k, rules=rules)
        requested = support_limits(wanted, unwanted, names, n, k).exclude.tolist()
        if options.terms == LINEAR:  # refuses products now, by the names of the table
            support_limits(wanted, unwanted, names, n, k, terms=LINEAR)
        reader = ShapeReader(encoder, class_names, options, partial(expanded, encoder))
        rules |= reader.parameters(labels, demanded, _columns(encoder))
    except OptionError:
        raise
    except ValueError as error:
        raise OptionError(str(error)) from None
    include = demanded.include.tolist()
    pairs = [pair for pair in redundant if term_index(*pair, n) not in include]
    n_squares = sum(i == j for i, j in pairs)
    exclude = sorted({*requested, *(term_index(i, j, n) for i, j in pairs)})
    own = {"rules": rules, "forbidden": demanded.exclude.tolist()}
    return TermLimits(include, exclude, n_squares, len(pairs) - n_squares, **own)


def _rules(encoder: TableEncoder, options: TrainingOptions) -> dict[str, Any]:
    """The rules on terms and columns as rules on features, those of one column being a group."""
    rules = by_number({name: getattr(options, name, None) for name in RULES}, encoder.input_names_)
    features = _columns(encoder)
    if isinstance(sets := rules["interaction_cst"], list):
        rules["interaction_cst"] = [[number for column in members for number in features[column]] for members in sets]
    if (prices := rules["feature_cost"]) is not None:
        rules["feature_cost"] = {number: price for column, price in prices.items() for number in features[column]}
    if any(rules[name] is not None for name in BUDGETS):
        rules["feature_groups"] = [members for members in features if len(members) > 1]
    return {name: value for name, value in rules.items() if value is not None}


def _columns(encoder: TableEncoder) -> list[list[int]]:
    """The features of each column."""
    features: list[list[int]] = [[] for _ in encoder.input_names_]
    for number, feature in enumerate(encoder.features_):
        features[feature.input].append(number)
    return features
