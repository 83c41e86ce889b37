"""What is learned by one private fit: classifiers and regressors.

What makes a fit sound is in the native half; this file converts and stores.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from . import _sordino
from ._budget import Payer, native_payer
from ._check import number, whole
from ._config import current_config
from ._declare import class_column, declared_schema, number_column
from ._estimator import Estimator, refusing, width_of
from ._guarantee import Guarantee
from ._inputs import TARGET, Inputs, read, spelled
from ._plan import Plan
from ._progress import shown
from ._schema import Schema, schema_of
from ._validate import as_floats, check_length, check_numbers, check_target
from .danger import current_seed
from .exceptions import ClassesError, DeclarationError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Classifier", "Learner", "Regressor"]


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

    def _target(self, y: Any, categories: list[Any] | None) -> dict[str, Any]:
        """Declares the target. `categories` are those of a categorical type of y."""
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
                    f"{name} is stated twice: {stated} by {type(self).__name__} and {agreed} by the budget, "
                    "which pays for everything under its own; leave it out here"
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
            schema = declared_schema(
                table, schema=None, bounds=self.bounds, target=self._planned_target(n_classes)
            )
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

    @refusing
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
        elif self.max_records is not None:
            raise DeclarationError(
                "max_records= limits the rows of a unit: give fit unit=, one id for each row"
            )
        if self.schema is None:
            target_name = _own_name(X, y)
        else:
            target_name = _declared_target(schema_of(self.schema), X, y)
        inputs = read(X, y, unit=unit, target=target_name)
        if self.schema is not None:
            column = schema_of(self.schema).columns[target_name]
            self._file_target(column)
            self._check_values(y, column)
            target = None
        else:
            target = self._target(y, inputs.categories.get(target_name))
        most = None if self.max_records is None else whole("max_records", self.max_records)
        schema = declared_schema(
            inputs,
            schema=self.schema,
            bounds=self.bounds,
            target=target,
            target_name=target_name,
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

    def _target(self, y: Any, categories: list[Any] | None) -> dict[str, Any]:
        import numpy as np

        classes = self.classes
        if isinstance(classes, str) and classes == "public":
            values = _public_labels(y)
        elif isinstance(classes, str):
            raise ClassesError('classes must be a sequence of labels, or "public"')
        elif classes is not None:
            values = np.asarray(list(classes))
        elif categories is not None:
            values = np.asarray(categories)
        else:
            raise ClassesError(
                "classes are missing: state classes=[...], all labels that can occur, or give y a "
                'categorical type. classes="public" states that the labels present are public knowledge. They are never '
                "read off the data in silence"
            )
        if len(values) < 2:
            raise ClassesError(
                f"{type(self).__name__} needs at least two classes, got {len(values)} class; declare "
                "all that can occur"
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

    def _target(self, y: Any, categories: list[Any] | None) -> dict[str, Any]:
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

        truth = as_floats(y, type(self).__name__).ravel()
        residual = float(np.sum((truth - self.predict(X)) ** 2))
        total = float(np.sum((truth - truth.mean()) ** 2))
        return 1.0 - residual / total if total > 0.0 else float(residual == 0.0)


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
            f"y has a label that is not among classes=; {name} learns what was declared: declare all that can "
            "occur"
        )


def _check_finite_target(y: Any) -> None:
    import numpy as np

    labels = np.asarray(y)
    if labels.dtype.kind == "f" and not bool(np.all(np.isfinite(labels))):
        raise DeclarationError("Input y contains NaN or infinity: every record needs a number")


def _own_name(X: Any, y: Any) -> str:
    """The name that y has of its own, as a column of a frame has one, if no column of X has it."""
    named = getattr(y, "name", None)
    features = [str(name) for name in getattr(X, "columns", [])]
    return named if isinstance(named, str) and named and named not in features else TARGET


def _declared_target(schema: Schema, X: Any, y: Any) -> str:
    """The name of the target's column, by the schema. Columns of X are found by name, never by place."""
    declared = [name for name, column in schema.columns.items() if column.kind != "ignore"]
    if hasattr(X, "columns"):
        features = [str(name) for name in X.columns]
    else:
        features = [f"x{place}" for place in range(width_of(X) or 0)]
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


def _plain(value: Any) -> Any:
    """A value of a setting, as JSON takes it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return ",".join(f"{spelled(name)}={float(weight)!r}" for name, weight in value.items())
    if isinstance(value, tuple):
        return list(value)
    return value
