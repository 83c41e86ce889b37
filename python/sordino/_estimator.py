"""scikit-learn's contract, without a scikit-learn base class.

`__init__` stores, `fit` checks, learned things end in `_`. What makes a fit sound is in the native
half; this file converts and stores.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from . import _sordino
from ._budget import Payer, native_payer
from ._check import number, whole
from ._config import current_config
from ._declare import class_column, declared_schema, number_column
from ._guarantee import Guarantee, Statement
from ._inputs import TARGET, Inputs, read, spelled
from ._plan import Plan
from ._progress import shown
from ._schema import Schema, schema_of
from ._validate import check_features, check_length, check_numbers, check_target
from .danger import current_seed
from .exceptions import ClassesError, DeclarationError, not_fitted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Classifier", "Estimator", "Learner", "Regressor"]

# Parameters that other libraries have and this one refuses, with the reason.
REFUSED = {
    "random_state": "noise that somebody can repeat protects nobody; for tests there is "
    "sordino.danger.seeded(n)",
    "sample_weight": "a weight moves a record's influence, and the noise is made for an influence of one; "
    "class_weights= takes public weights",
    "warm_start": "each fit is charged in full; checkpoint= goes on from an interrupted fit",
}


class Estimator:
    """Parameters, copies, tags and pickles, as scikit-learn expects them."""

    _kind: ClassVar[str]
    n_features_in_: int
    privacy_: Statement

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            _refusing(cls)

    @classmethod
    def _parameters(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise DeclarationError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}."
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (  # type: ignore[import-untyped]
            ClassifierTags,
            InputTags,
            RegressorTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        kind = self._kind
        return Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=TargetTags(required=kind != "transformer"),
            transformer_tags=TransformerTags() if kind == "transformer" else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "privacy_" in vars(self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments "
                "before using this estimator."
            )

    def _note_features(self, inputs: Inputs) -> None:
        import numpy as np

        self.n_features_in_ = len(inputs.features)
        if inputs.has_names:
            self.feature_names_in_ = np.asarray(inputs.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _read(self, X: object) -> Inputs:
        """The features of records to predict, checked against those of the fit."""
        self._check_fitted()
        X = check_numbers(X, type(self).__name__)
        fitted = getattr(self, "feature_names_in_", None)
        names = None if fitted is None or _has_names(X) else [str(name) for name in fitted]
        if names is not None and _columns(X) != len(names):
            names = None
        inputs = read(X, names=names)
        check_features(self, inputs, stated=names is None)
        return inputs

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = []
        for name in self._parameters():
            value, default = getattr(self, name, None), defaults[name].default
            if value is not default and not _same(value, default):
                said.append(f"{name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(said)})"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "_model" in state:
            state["_model"] = {name: bytes(content) for name, content in state["_model"].files().items()}
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        if "_model" in state:
            self._model = _sordino.FittedModel.from_files(
                {name: list(content) for name, content in state["_model"].items()}
            )


class Learner(Estimator):
    """What is learned by one private fit."""

    _model: _sordino.FittedModel
    _settings: ClassVar[tuple[str, ...]] = ()

    epsilon: Any
    delta: Any
    bounds: Any
    schema: Any
    neighbours: Any
    max_records: Any
    budget: Payer | None
    threads: Any
    checkpoint: Any

    def _target(self, y: Any, inputs_categories: Mapping[str, list[Any]]) -> dict[str, Any]:
        raise NotImplementedError

    def _asked(self) -> dict[str, Any]:
        """The settings of the run, by their names everywhere."""
        asked: dict[str, Any] = {"epsilon": number("epsilon", self.epsilon)}
        native_payer(self.budget)
        for name in ("delta", "neighbours"):
            stated = getattr(self, name)
            if self.budget is None:
                asked[name] = stated
                continue
            agreed = getattr(self.budget, name)
            if stated is not None and stated != agreed:
                raise DeclarationError(
                    f"{name} is stated twice: {stated} by {type(self).__name__} and {agreed} by the budget, which "
                    "pays for everything under its own; leave it out here"
                )
            asked[name] = agreed
        if asked["delta"] is not None:
            asked["delta"] = number("delta", asked["delta"])
        config = current_config()
        threads = self.threads if self.threads is not None else config.threads
        asked["threads"] = None if threads is None else whole("threads", threads)
        asked["danger_seed"] = current_seed()
        for name in self._settings:
            asked[name] = _plain(getattr(self, name))
        if asked.get("method") == "auto":
            asked["method"] = None
        return asked

    def _network(self, features: int) -> str | None:
        return None

    def plan(self, *, n: int, n_features: int | None = None, n_classes: int | None = None) -> Plan:
        """What a fit would cost and do, without data and without a charge.

        Parameters
        ----------
        n : int
            The number of records, which is public.
        n_features : int, optional
            The number of columns, unless a schema or named bounds state them.
        n_classes : int, optional
            The number of classes, unless `classes` states them.

        Returns
        -------
        Plan
            Event, ε, δ, method, noise and steps.
        """
        asked = self._asked() | {"rows": whole("n", n), "target": TARGET}
        if self.schema is not None:
            schema = schema_of(self.schema).to_toml()
            columns = [name for name in schema_of(self.schema).columns]
            asked["target"] = self._target_name(columns)
            features = len(columns) - 1
        else:
            if isinstance(self.bounds, Mapping):
                names = [str(name) for name in self.bounds]
            elif n_features is None:
                raise DeclarationError("state n_features=, the number of columns, or a schema")
            else:
                names = [f"x{place}" for place in range(whole("n_features", n_features))]
            features = len(names)
            table = Inputs(_sordino.Table("X"), names, False)
            schema = declared_schema(table, schema=None, bounds=self.bounds, target=self._planned_target(n_classes))
        payer = native_payer(self.budget)
        return Plan._of(_sordino.plan(json.dumps(asked), schema, self._network(features), payer))

    def _planned_target(self, n_classes: int | None) -> dict[str, Any]:
        raise NotImplementedError

    def _target_name(self, columns: Sequence[str]) -> str:
        if TARGET in columns:
            return TARGET
        raise DeclarationError(
            f"the schema must name the target `{TARGET}`, or fit a file with y= the name of its column"
        )

    def fit(self, X: object, y: object = None, *, unit: object = None) -> Self:
        """Learn from private records. Each fit is charged again.

        Parameters
        ----------
        X : array, frame, sparse matrix or path
            The records. For a path, `schema` is needed, and `y` is the name of the target's column.
        y : array or str
            What is to be predicted.
        unit : array, optional
            One id for each row, where several rows belong to one person; needs `max_records`.

        Returns
        -------
        self
        """
        # A fit that fails leaves the estimator as it was: no new classes beside an old model.
        before = dict(vars(self))
        try:
            if isinstance(X, (str, os.PathLike)):
                self._fit_file(os.fspath(X), y, self._asked())
            else:
                self._fit_table(X, y, unit, self._asked())
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise
        return self

    def _fit_table(self, X: Any, y: Any, unit: Any, asked: dict[str, Any]) -> None:
        X = check_numbers(X, type(self).__name__)
        y = check_target(y, type(self).__name__)
        check_length(X, y)
        if unit is not None:
            unit = check_target(unit, type(self).__name__)
        target_name = TARGET if self.schema is None else _declared_target(schema_of(self.schema), X, y)
        inputs = read(X, y, unit=unit, target=target_name)
        if self.schema is not None:
            column = schema_of(self.schema).columns[target_name]
            self._file_target(column)
            self._check_values(y, column)
            target = None
        else:
            target = self._target(y, inputs.categories)
        most = None if self.max_records is None else whole("max_records", self.max_records)
        schema = declared_schema(
            inputs,
            schema=self.schema,
            bounds=self.bounds,
            target=target,
            max_records=most,
            has_unit=unit is not None,
        )
        asked["target"] = target_name
        self._note_features(inputs)
        self._learn(asked, inputs.table, schema, len(inputs.features))

    def _check_values(self, y: Any, column: Any) -> None:
        """Refuses targets that were not declared, before any charge."""

    def _fit_file(self, path: str, y: object, asked: dict[str, Any]) -> None:
        if self.schema is None or not isinstance(y, str):
            raise DeclarationError("a file needs schema=, and y= the name of the column to predict")
        schema = schema_of(self.schema)
        columns = schema.columns
        if y not in columns:
            raise DeclarationError(f"the schema has no column `{y}`; it has {', '.join(columns)}")
        self._file_target(columns[y])
        asked |= {"target": y, "data": path}
        self._learn(asked, None, schema.to_toml(), len(columns) - 1)
        features = self._model.features
        self.n_features_in_ = len(features)
        import numpy as np

        self.feature_names_in_ = np.asarray(features, dtype=object)

    def _file_target(self, column: Any) -> None:
        raise NotImplementedError

    def _learn(self, asked: dict[str, Any], table: _sordino.Table | None, schema: str, features: int) -> None:
        folder = None if self.checkpoint is None else os.fspath(self.checkpoint)
        with shown(current_config().progress) as progress:
            model = _sordino.fit(
                json.dumps(asked),
                table=table,
                schema=schema,
                network=self._network(features),
                payer=native_payer(self.budget),
                folder=folder,
                resume=folder is not None and os.path.isdir(f"{folder}.part"),
                progress=progress,
            )
        self._model = model
        self.n_iter_ = model.steps or 1
        self.privacy_ = Guarantee._of(model.guarantee)
        self._learned()

    def _learned(self) -> None:
        """Stores what people look at."""

    def report(self) -> str:
        """The report of the fit: one self-contained HTML page for people."""
        self._check_fitted()
        page = self._model.file("report.html")
        if page is None:
            raise DeclarationError("this model was saved without its report")
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model directory that `sordino predict` and `sordino.load` read."""
        self._check_fitted()
        self._model.save(os.fspath(path))


class Classifier(Learner):
    """What predicts a class."""

    _kind = "classifier"
    classes: Any
    classes_: npt.NDArray[Any]

    def _target(self, y: Any, categories: Mapping[str, list[Any]]) -> dict[str, Any]:
        import numpy as np

        classes = self.classes
        if isinstance(classes, str) and classes == "public":
            values = _public_labels(y)
        elif isinstance(classes, str):
            raise ClassesError('classes must be a sequence of labels, or "public"')
        elif classes is not None:
            values = np.asarray(list(classes))
        elif TARGET in categories:
            values = np.asarray(categories[TARGET])
        else:
            raise ClassesError(
                "classes are missing: state classes=[...], all labels that can occur, or give y a categorical "
                'type. classes="public" states that the labels present are public knowledge. They are never '
                "read off the data in silence"
            )
        if len(values) < 2:
            raise ClassesError(
                f"{type(self).__name__} needs at least two classes, got {len(values)} class; declare all that "
                "can occur"
            )
        _check_labels(y, values, type(self).__name__)
        self.classes_ = values
        return class_column(list(values))

    def _planned_target(self, n_classes: int | None) -> dict[str, Any]:
        if self.classes is None or isinstance(self.classes, str):
            if n_classes is None:
                raise ClassesError("state n_classes=, or classes=[...] of the estimator")
            return class_column(list(range(whole("n_classes", n_classes))))
        return class_column(list(self.classes))

    def _file_target(self, column: Any) -> None:
        import numpy as np

        if column.values is None and column.kind != "boolean":
            raise ClassesError(f"column `{column.name}` is a number; a classifier predicts a category")
        values = ["false", "true"] if column.values is None else list(column.values)
        if self.classes is not None and [spelled(value) for value in self.classes] != values:
            raise ClassesError("classes are stated twice: leave them out, the schema has them")
        self.classes_ = np.asarray(values)

    def _check_values(self, y: Any, column: Any) -> None:
        _check_labels(y, self.classes_, type(self).__name__)
        self.classes_ = _as_labels(y, self.classes_)

    def predict(self, X: object) -> npt.NDArray[Any]:
        """The class of each record."""
        inputs = self._read(X)
        places = self._model.predict(inputs.table).astype(int)
        labels: npt.NDArray[Any] = self.classes_[places]
        return labels

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """The probability of each class, for each record."""
        inputs = self._read(X)
        said = self._model.predict_proba(inputs.table)
        if said is None:
            raise AttributeError(f"{type(self).__name__} states no probabilities")
        probabilities: npt.NDArray[np.float64] = said
        return probabilities

    def decision_function(self, X: object) -> npt.NDArray[np.float64]:
        """The score of each class; of the second one, if there are two."""
        inputs = self._read(X)
        scores: Any = self._model.scores(inputs.table)
        if scores is None:
            probabilities = self.predict_proba(X)
            scores = probabilities if len(self.classes_) > 2 else probabilities[:, 1:] - 0.5
        found: npt.NDArray[np.float64] = scores.ravel() if scores.shape[1] == 1 else scores
        return found

    def score(self, X: object, y: object) -> float:
        """The share of right predictions. It is exact: of private records, it is an unpaid release."""
        import numpy as np

        return float(np.mean(self.predict(X) == np.asarray(y).ravel()))


class Regressor(Learner):
    """What predicts a number."""

    _kind = "regressor"
    target_bounds: Any

    def _target(self, y: Any, categories: Mapping[str, list[Any]]) -> dict[str, Any]:
        column = number_column(self.target_bounds)
        _check_finite_target(y)
        return column

    def _check_values(self, y: Any, column: Any) -> None:
        _check_finite_target(y)

    def _planned_target(self, n_classes: int | None) -> dict[str, Any]:
        return number_column(self.target_bounds)

    def _file_target(self, column: Any) -> None:
        if column.bounds is None:
            raise DeclarationError(f"column `{column.name}` is a category; a regressor predicts a number")

    def predict(self, X: object) -> npt.NDArray[np.float64]:
        """The number for each record."""
        inputs = self._read(X)
        said: npt.NDArray[np.float64] = self._model.predict(inputs.table)
        return said

    def score(self, X: object, y: object) -> float:
        """R² of the predictions. It is exact: of private records, it is an unpaid release."""
        import numpy as np

        truth = np.asarray(y, dtype=float).ravel()
        residual = float(np.sum((truth - self.predict(X)) ** 2))
        total = float(np.sum((truth - truth.mean()) ** 2))
        return 1.0 - residual / total if total > 0.0 else float(residual == 0.0)


def _refusing(cls: type[Estimator]) -> None:
    """Wraps `__init__`, so that parameters of other libraries are refused with the reason."""
    made = cls.__init__

    def __init__(self: Estimator, *args: Any, **kwargs: Any) -> None:
        for name, reason in REFUSED.items():
            if name in kwargs:
                raise TypeError(f"{cls.__name__} takes no {name}: {reason}")
        made(self, *args, **kwargs)

    __init__.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    __init__.__doc__ = made.__doc__
    setattr(cls, "__init__", __init__)  # noqa: B010


def _public_labels(y: Any) -> Any:
    import numpy as np

    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not bool(np.all(np.isfinite(labels))):
        raise ClassesError("Input y contains NaN or infinity: labels must be present")
    if labels.dtype.kind == "f" and not bool(np.all(labels == np.floor(labels))):
        raise ClassesError("Unknown label type: continuous. A classifier needs classes, not measurements")
    return np.unique(labels)


def _check_labels(y: Any, classes: Any, name: str) -> None:
    """Before any charge: no label outside of the classes. It says that there is one, not which."""
    import numpy as np

    if hasattr(y, "dtype") and type(y.dtype).__name__ == "CategoricalDtype":
        known = {spelled(value) for value in classes}
        if any(spelled(value) not in known for value in y.dtype.categories):
            raise ClassesError("y has a category that is not among classes=; declare all that can occur")
        return
    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not bool(np.all(np.isfinite(labels))):
        raise ClassesError("Input y contains NaN or infinity: labels must be present")
    if labels.dtype.kind in "iufb" and np.asarray(classes).dtype.kind in "iufb":
        fits = bool(np.all(np.isin(labels, classes)))
    else:
        known = {spelled(value) for value in classes}
        fits = all(spelled(value) in known for value in {*labels.tolist()})
    if not fits:
        raise ClassesError(
            f"y has a label that is not among classes=; {name} learns what was declared: declare all that can occur"
        )


def _check_finite_target(y: Any) -> None:
    import numpy as np

    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not bool(np.all(np.isfinite(labels))):
        raise DeclarationError("Input y contains NaN or infinity: every record needs a number")


def _declared_target(schema: Schema, X: Any, y: Any) -> str:
    """The name of the target's column, by the schema. Columns of X are found by name, never by place."""
    declared = [name for name, column in schema.columns.items() if column.kind != "ignore"]
    if hasattr(X, "columns"):
        features = [str(name) for name in X.columns]
    else:
        features = [f"x{place}" for place in range(_columns(X) or 0)]
        if not set(features) <= set(declared):
            raise DeclarationError(
                "a schema names columns, and an array has no names: pass a frame, or state bounds= instead"
            )
    named = getattr(y, "name", None)
    if isinstance(named, str) and named in declared:
        return named
    rest = [name for name in declared if name not in features]
    if TARGET in declared:
        return TARGET
    if len(rest) != 1:
        raise DeclarationError(
            f"the schema does not say which column y is: give y the name of its column, or declare `{TARGET}`"
        )
    return rest[0]


def _as_labels(y: Any, spelled_classes: Any) -> Any:
    """The declared classes, in the type that labels have in y. The type is public, values are not."""
    import numpy as np

    kind = getattr(np.asarray(y).dtype, "kind", "O")
    if kind in "iu":
        return np.asarray([int(value) for value in spelled_classes])
    if kind == "b":
        return np.asarray([value == "true" for value in spelled_classes])
    if kind == "f":
        return np.asarray([float(value) for value in spelled_classes])
    return np.asarray(spelled_classes)


def _has_names(X: Any) -> bool:
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return all(isinstance(name, str) for name in X.columns)
    return hasattr(X, "__arrow_c_stream__")


def _columns(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    return shape[1] if shape is not None and len(shape) == 2 else None


def _plain(value: Any) -> Any:
    """A value of a setting, as JSON takes it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return ",".join(f"{spelled(name)}={float(weight)!r}" for name, weight in value.items())
    if isinstance(value, tuple):
        return list(value)
    return value


def _same(one: object, two: object) -> bool:
    try:
        return bool(one == two)
    except (TypeError, ValueError):
        return False


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
