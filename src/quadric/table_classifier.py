"""``quadric fit`` as a scikit-learn classifier for tables with texts, dates and missing values."""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from quadric.errors import refuse_unknown
from quadric.estimators.base import Classifier
from quadric.estimators.views import surface_views
from quadric.export import equation, export, save_model
from quadric.export.equations import symbols_of
from quadric.files import write_atomically
from quadric.labels import refuse_masked
from quadric.notebook import Html, facts
from quadric.report import render
from quadric.report.summarising import summarise_table
from quadric.review.explaining import ExplainingOptions, Explanation, explain_rows
from quadric.tables import Table, as_table
from quadric.tables.encoder import checked_rows
from quadric.tables.table import Rows, label_texts
from quadric.types import FloatArray
from quadric.workflow.drawing import DEVELOPMENT, Drawing
from quadric.workflow.options import TrainingOptions
from quadric.workflow.scoring import RecordedFigures, Scores, TableModel
from quadric.workflow.training import Trained, train

AnyClass = TypeVar("AnyClass", bound=type)


def default_of(option: Field[Any]) -> Any:
    """The default of a parameter: that of the option, or None for one that is made anew each time."""
    return None if option.default is MISSING else option.default


def takes(options: type[TrainingOptions]) -> Callable[[AnyClass], AnyClass]:
    """Give a class a constructor with the fields of a dataclass, and their descriptions in place of "{options}".

    scikit-learn reads the parameters of an estimator from the signature of its constructor; so do ``help`` and editors.

    Parameters
    ----------
    options : dataclass
    """
    own = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default_of(each), annotation=each.type)
        for each in fields(options)
    ]
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own])

    def constructor(self: Any, **parameters: Any) -> None:
        bound = signature.bind(self, **parameters)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    constructor.__name__ = "__init__"
    vars(constructor)["__signature__"] = signature
    described = inspect.cleandoc(options.__doc__ or "").partition("----------\n")[2].strip()

    def completed(cls: AnyClass) -> AnyClass:
        constructor.__qualname__ = f"{cls.__qualname__}.__init__"
        setattr(cls, "__init__", constructor)  # noqa: B010  mypy takes no assignment to it
        if cls.__doc__:
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{options}", described)
        return cls

    return completed


def _gives_probabilities(model: TableClassifier) -> bool:
    """Whether there are probabilities; an answer to ``hasattr(model, "predict_proba")``."""
    if model.__sklearn_is_fitted__():
        has_them = bool(model._tabular.view.calibrators)
    else:
        options = model._options()
        has_them = options.calibrate is not None or options.gives_probabilities
    if not has_them:
        raise AttributeError("the scores are not calibrated: set calibrate='auto' for probabilities")
    return True


@takes(TrainingOptions)
class TableClassifier(Classifier, BaseEstimator):
    """A sparse quadratic surface for a raw table: what ``quadric fit`` does, as a scikit-learn classifier.

    X is a table of pandas, polars or Arrow, a :class:`quadric.tables.Table` or a mapping of columns; its columns are numbers,
    texts and dates, and may have gaps. The options are those of ``quadric fit``, and so is the model: loss, number of terms
    and C are chosen by cross-validation unless they are given, and scores are calibrated. Rows have no weights.

    Parameters
    ----------
    {options}

    Attributes
    ----------
    classes_ : array
        Labels as y has them, in sorted order.
    model_ : SavedModel
        What ``quadric fit`` saves.
    trained_ : Trained
        How the model came about: its options, data, cross-validation and figures. ``trained_.model`` is the Pipeline of coding
        and classifier, calibrated where that was asked for, for ``quadric.explain``.
    certificates_ : list of Certificate
        Objective and optimality conditions of each surface.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Their names.

    Examples
    --------
    >>> import numpy as np
    >>> from quadric import TableClassifier
    >>> rng = np.random.default_rng(0)
    >>> table = {"age": rng.integers(20, 70, 80), "home": rng.choice(["own", "rent"], 80)}
    >>> y = np.where((table["home"] == "rent") ^ (rng.random(80) < 0.2), "yes", "no")
    >>> model = TableClassifier(k=1, C=64.0, loss="least_squares").fit(table, y)
    >>> print(model.equation(precision=2))
    f = -0.61*([home = own] - 0.47)/0.5 + 0.13
    >>> model.predict({"age": [31], "home": ["rent"]})
    array(['yes'], dtype='<U3')
    """

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Code the columns, choose loss, k and C, fit, and calibrate.

        Parameters
        ----------
        X : frame, Table, Arrow table, mapping of columns, or array-like of shape (m, n)
            Raw rows; kept for ``explain`` and ``report``.
        y : array-like of shape (m,)
            Labels of two or more classes. A Series gives the target its name.

        Returns
        -------
        self
        """
        with self._or_forget():
            refuse_masked(X=X, y=y)
            self._fit(as_table(checked_rows(X)), y)
        return self

    def _fit(self, table: Table, y: Any) -> None:
        options, labels = self._options(), column_or_1d(y, warn=True)
        rows, target = labelled_table(table, y)
        trained = train(rows, target, options)
        drawing = Drawing.of(target, options)
        samples = {DEVELOPMENT: rows} if drawing is None else {n: rows[own] for n, own in drawing.split(rows).items()}
        by_name = dict(zip(label_texts(target, labels).tolist(), labels.tolist(), strict=True))
        self._rows, self._set_aside = samples.pop(DEVELOPMENT), samples
        self._model_labels = np.array([by_name[name] for name in trained.data.class_names], dtype=labels.dtype)
        self._order = np.argsort(self._model_labels, kind="stable")
        self.classes_ = self._model_labels[self._order]
        self._set_trained(trained)
        self.n_features_in_ = len(table.names)
        self.feature_names_in_ = np.array(table.names, dtype=object)

    def _set_trained(self, trained: Trained) -> None:
        self.trained_, self.model_ = trained, trained.saved()
        self._tabular = TableModel(self.model_)
        self.certificates_ = trained.classifier.certificates_

    def _with_model(self, model: Any) -> Self:
        """The same classifier with another model for the same table."""
        other = copy.copy(self)
        other._set_trained(self.trained_.with_model(model))
        return other

    def _options(self) -> TrainingOptions:
        """The parameters as ``train`` takes them: labels are texts there, and sequences tuples."""
        values = self.get_params(deep=False)
        for each in fields(TrainingOptions):
            value = values[each.name]
            if value is None and each.default is MISSING:
                del values[each.name]
            elif isinstance(each.default, tuple) and isinstance(value, str):
                values[each.name] = (value,)
            elif isinstance(value, list | range | np.ndarray):
                values[each.name] = tuple(value)
        if values["positive"] is not None:
            (values["positive"],) = label_texts("positive", [values["positive"]])
        if isinstance(values["class_weight"], Mapping):
            names = label_texts("class_weight", list(values["class_weight"]))
            values["class_weight"] = dict(zip(names, values["class_weight"].values(), strict=True))
        for name in ("monotonic_cst", "coef_bounds"):
            if (rules := values[name]) and all(isinstance(own, Mapping) for own in rules.values()):
                values[name] = dict(zip(label_texts(name, list(rules)), rules.values(), strict=True))
        return TrainingOptions(**values)

    def predict(self, X: Rows) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : rows as in ``fit``
            Columns are found by name, in any order; those that the model does not need may be absent.

        Returns
        -------
        array of shape (m,)
        """
        codes = self._scores(X).codes  # refuses an unfitted model
        return np.asarray(self._model_labels[codes])

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Rows) -> FloatArray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : rows as in ``predict``

        Returns
        -------
        array of shape (m, n_classes)
            Columns follow ``classes_``.
        """
        probabilities = self._scores(X).probabilities
        assert probabilities is not None
        return probabilities[:, self._order]

    def decision_function(self, X: Rows) -> FloatArray:
        """The scores of the rows, as scikit-learn orders them.

        Parameters
        ----------
        X : rows as in ``predict``

        Returns
        -------
        array of shape (m,) for two classes, (m, n_classes) otherwise
            Of two classes, higher values speak for ``classes_[1]``: f of the equation, or -f where ``classes_[0]`` is the
            positive class of the model.
        """
        decision = self._scores(X).decision
        if decision.ndim == 1:
            return decision if self._order[1] == 1 else -decision
        return decision[:, self._order]

    def equation(self, *, form: Literal["centred", "expanded"] = "centred", precision: int | None = None) -> str:
        """The model as an equation in the units of the table.

        Parameters
        ----------
        form : {"centred", "expanded"}
            As in :func:`quadric.export.equation`.
        precision : int, optional
            Significant digits.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        return equation(self.model_, form=form, precision=precision)

    def explain(self, X: Rows, *, background: Rows | None = None, **options: Any) -> list[Explanation]:
        """Why rows get their labels, and the smallest change that would give them another: what ``quadric explain`` prints.

        Parameters
        ----------
        X : rows as in ``predict``
            Those to explain.
        background : rows, optional
            The population that they are compared with; by default the rows of ``fit``.
        **options : Any
            Fields of :class:`quadric.review.explaining.ExplainingOptions`: ``reasons``, ``reference``, ``target``,
            ``frozen``, ``actionable``, ``ways``.

        Returns
        -------
        list of Explanation
            One per row; ``print`` shows it in words.
        """
        check_is_fitted(self)
        known = [each.name for each in fields(ExplainingOptions)]
        refuse_unknown(options, known, "explain", "option", error=TypeError)
        if options.get("target") is not None:
            (options["target"],) = label_texts("target", [options["target"]])
        table = self._table(X)
        population = self._rows if background is None else self._table(background)
        return explain_rows(self._tabular, table, range(len(table)), population, ExplainingOptions(**options))

    def report(self, path: str | os.PathLike[str], *, name: str = "", **options: Any) -> None:
        """Write a report on the model and the rows of ``fit``: one HTML file, as ``quadric report`` does.

        Parameters
        ----------
        path : path
            A file of that name is replaced.
        name : str
            Title; by default the name of the target.
        **options : Any
            ``rows``, ``frozen``, ``actionable``, ``ks``, ``n_boot``, ``bounds``, ``prices`` and ``n_jobs`` of
            :func:`quadric.report.summarise`.
        """
        check_is_fitted(self)
        rows, y = self._tabular.labelled(self._rows)
        own = self.trained_.options
        summary = summarise_table(
            self._tabular,
            rows,
            y,
            name=name or self.trained_.target,
            folds=own.folds,
            seed=own.seed,
            figures=RecordedFigures.of(self.model_.metadata["training"]),  # of these rows, whatever file they are from
            findings=self._tabular.findings,
            samples={name: self._tabular.labelled(rows) for name, rows in self._set_aside.items()},
            **options,
        )
        write_atomically(path, render(summary))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file that ``quadric fit`` writes, for all commands and ``load_model``.

        Parameters
        ----------
        path : path
            A file of that name is replaced, as ``joblib.dump`` does.
        """
        check_is_fitted(self)
        save_model(self.model_, path)

    def export(
        self,
        format: Literal["json", "sql", "python", "latex", "excel", "onnx"] | None,  # noqa: A002
        path: str | os.PathLike[str],
        **options: Any,
    ) -> None:
        """Write the model to a file that another program uses.

        Parameters
        ----------
        format : {"json", "sql", "python", "latex", "excel", "onnx"} or None
            None: by the ending of the path.
        path : path
            A file of that name is replaced.
        **options : Any
            As in :func:`quadric.export.export`.
        """
        check_is_fitted(self)
        export(self.model_, format, path, **options)

    def _table(self, X: Rows) -> Table:
        check_is_fitted(self)
        refuse_masked(X=X)
        return as_table(checked_rows(X, self), self.feature_names_in_.tolist())

    def _as_judged(self, X: Rows, y: Any) -> tuple[Any, Table, np.ndarray]:
        """The model, the rows that it would have used, and their labels, as ``certify`` and ``alternatives`` take them."""
        rows = _labelled(self._table(X), self.trained_.target, column_or_1d(y, warn=True))
        rows, codes = self._tabular.labelled(rows)
        return self.trained_.model, self._tabular.inputs(rows), codes

    def _scores(self, X: Rows) -> Scores:
        table = self._table(X)  # refuses an unfitted model
        return self._tabular.scores(table)

    def _views(self) -> list[Html]:
        view, figures = self._tabular.view, RecordedFigures.of(self.model_.metadata["training"])
        parts = surface_views(view.classifier, symbols_of(view), view.names, self._tabular.class_names)
        if figures is None:
            return parts
        measured = {"accuracy": f"{figures.accuracy:.1%}", "AUC": figures.auc, "log-loss": figures.log_loss}
        return [*parts, facts(f"Out of fold ({figures.folds} folds)", measured)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trained_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = self.get_params()["missing"] != "refuse"
        return tags


def labelled_table(table: Table, y: Any) -> tuple[Table, str]:
    """A table with its labels as a column, and the name of that: the one of y, where that is free.

    Parameters
    ----------
    table : Table
    y : array-like of shape (m,)

    Returns
    -------
    Table, str
    """
    target = _target_name(y, table)
    return _labelled(table, target, column_or_1d(y, warn=True)), target


def _labelled(table: Table, target: str, labels: np.ndarray) -> Table:
    if len(labels) != len(table):
        raise ValueError(f"X has {len(table)} rows, but y has {len(labels)} labels: they must be as many")
    return Table((*table.names, target), (*table.columns, labels), table.sha256)


def _target_name(y: Any, table: Table) -> str:
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name.strip() else "target"
    while name in table.names:
        name += "_"
    return name
