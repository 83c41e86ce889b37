"""Private linear models with scikit-learn's face.

Each `fit` spends ε again. `privacy_` has the guarantee of the last one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ._budget import Payer
from ._check import Real, Whole
from ._declare import BoundsLike
from ._learner import Classifier, Learner, Regressor
from .exceptions import ClassesError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._schema import SchemaLike

__all__ = ["HuberRegressor", "LinearRegression", "LinearSVC", "LogisticRegression", "Ridge"]

_SETTINGS = ("method", "steps", "l2", "learning_rate", "clip_norm", "row_norm", "batch_size", "epochs")


class _Linear(Learner):
    """What linear models share."""

    coef_: npt.NDArray[np.float64]
    intercept_: Any
    _settings: ClassVar[tuple[str, ...]] = _SETTINGS
    _loss: ClassVar[str | None] = None

    def _asked(self) -> dict[str, Any]:
        return super()._asked() | {"loss": self._loss}

    def _learned(self) -> None:
        import numpy as np

        found = self._model.coefficients()
        assert found is not None
        _, weights, intercepts = found
        self.coef_ = np.asarray(weights, dtype=float)
        self.intercept_ = np.asarray(intercepts, dtype=float)
        if self._kind == "regressor":
            self.coef_, self.intercept_ = self.coef_[0], float(self.intercept_[0])


class LogisticRegression(_Linear, Classifier):
    """Private logistic regression: the classes' odds are linear in the features.

    Parameters
    ----------
    epsilon : float, default 1.0
        The price of one fit.
    delta : float, optional
        δ of the guarantee: the budget's, or 1e-6.
    bounds : tuple or mapping
        Public limits of the columns: `(lower, upper)`, two arrays, or `{column: (lower, upper)}`.
        Values outside are moved to the nearest limit.
    classes : sequence or "public", optional
        All labels that can occur. None takes them from a categorical type; "public" states that the
        labels present are public knowledge.
    schema : path, mapping or Schema, optional
        Instead of `bounds`.
    method : str, default "auto"
        How to learn: gradient-descent, sgd, coordinate-descent, output-perturbation or
        objective-perturbation.
    steps, batch_size, epochs : int, optional
        The length of the search, where the method has one.
    l2, learning_rate, clip_norm, row_norm : float, optional
        Penalty on large weights, learning rate, clip norm of gradients, largest norm of a record.
    class_weights : mapping, optional
        How much a record of each class counts, from public knowledge.
    neighbours : str, optional
        The relation: the budget's, or `zero_out`.
    max_records : int, optional
        With `fit(unit=...)`: the most rows of one unit that count.
    budget : Budget or Account, optional
        What pays. Without it the guarantee says that nobody did.
    checkpoint : path, optional
        A folder from which an interrupted fit goes on.
    threads : int, optional
        All processors unless stated.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The weights, in the units of the columns.
    intercept_ : array
        The intercepts.
    classes_ : array
        The classes.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : array
        Their names, if they have any.
    n_iter_ : int
        The number of steps.
    privacy_ : Guarantee
        What is promised about the fit.

    Notes
    -----
    The guarantee covers the released model and everything computed from it. `score` on private
    records is exact and not covered.

    Examples
    --------
    >>> import numpy, sordino
    >>> rng = numpy.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (X @ [2.0, -1.0] > 0).astype(int)
    >>> model = sordino.linear_model.LogisticRegression(epsilon=1.0, bounds=(-4, 4), classes=[0, 1])
    >>> model.fit(X, y).score(X, y) > 0.8
    True
    >>> model.privacy_.epsilon.upper <= 1.0
    True
    """

    _settings = (*_SETTINGS, "class_weights")

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        delta: Real | None = None,
        bounds: BoundsLike | None = None,
        classes: Sequence[object] | str | None = None,
        schema: SchemaLike | None = None,
        method: str = "auto",
        steps: Whole | None = None,
        batch_size: Whole | None = None,
        epochs: Whole | None = None,
        l2: Real | None = None,
        learning_rate: Real | None = None,
        clip_norm: Real | None = None,
        row_norm: Real | None = None,
        class_weights: Mapping[Any, Real] | None = None,
        neighbours: str | None = None,
        max_records: Whole | None = None,
        budget: Payer | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: Whole | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.schema = schema
        self.method = method
        self.steps = steps
        self.batch_size = batch_size
        self.epochs = epochs
        self.l2 = l2
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.row_norm = row_norm
        self.class_weights = class_weights
        self.neighbours = neighbours
        self.max_records = max_records
        self.budget = budget
        self.checkpoint = checkpoint
        self.threads = threads

    def predict_log_proba(self, X: object) -> npt.NDArray[np.float64]:
        """The logarithm of the probability of each class."""
        import numpy as np

        logarithms: npt.NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms


class LinearSVC(_Linear, Classifier):
    """Private linear classification with a margin, for two classes.

    Parameters and attributes are those of `LogisticRegression`; it states no probabilities.
    `feature_names_in_` and `n_features_in_` are set by `fit`.
    """

    _loss = "smooth-hinge"
    _settings = (*_SETTINGS, "class_weights")

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        delta: Real | None = None,
        bounds: BoundsLike | None = None,
        classes: Sequence[object] | str | None = None,
        schema: SchemaLike | None = None,
        method: str = "auto",
        steps: Whole | None = None,
        batch_size: Whole | None = None,
        epochs: Whole | None = None,
        l2: Real | None = None,
        learning_rate: Real | None = None,
        clip_norm: Real | None = None,
        row_norm: Real | None = None,
        class_weights: Mapping[Any, Real] | None = None,
        neighbours: str | None = None,
        max_records: Whole | None = None,
        budget: Payer | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: Whole | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.schema = schema
        self.method = method
        self.steps = steps
        self.batch_size = batch_size
        self.epochs = epochs
        self.l2 = l2
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.row_norm = row_norm
        self.class_weights = class_weights
        self.neighbours = neighbours
        self.max_records = max_records
        self.budget = budget
        self.checkpoint = checkpoint
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _target(self, y: Any, categories: list[Any] | None) -> dict[str, Any]:
        target = super()._target(y, categories)
        if len(self.classes_) > 2:
            raise ClassesError(
                "Only binary classification is supported. The type of the target is multiclass: use "
                "LogisticRegression for more than two classes."
            )
        return target

    def __getattribute__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError("LinearSVC states no probabilities; LogisticRegression does")
        return super().__getattribute__(name)


class _LinearRegressor(_Linear, Regressor):
    """What regressors share."""

    def __init__(
        self,
        epsilon: Real = 1.0,
        *,
        delta: Real | None = None,
        bounds: BoundsLike | None = None,
        target_bounds: tuple[Real, Real] | None = None,
        schema: SchemaLike | None = None,
        method: str = "auto",
        steps: Whole | None = None,
        batch_size: Whole | None = None,
        epochs: Whole | None = None,
        l2: Real | None = None,
        learning_rate: Real | None = None,
        clip_norm: Real | None = None,
        row_norm: Real | None = None,
        neighbours: str | None = None,
        max_records: Whole | None = None,
        budget: Payer | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        threads: Whole | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.schema = schema
        self.method = method
        self.steps = steps
        self.batch_size = batch_size
        self.epochs = epochs
        self.l2 = l2
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.row_norm = row_norm
        self.neighbours = neighbours
        self.max_records = max_records
        self.budget = budget
        self.checkpoint = checkpoint
        self.threads = threads


class LinearRegression(_LinearRegressor):
    """Private least squares.

    Parameters
    ----------
    epsilon : float, default 1.0
        The price of one fit.
    bounds : tuple or mapping
        Public limits of the columns, as for `LogisticRegression`.
    target_bounds : tuple of float
        Public limits of the number to predict.
    method : str, default "auto"
        How to learn; `sufficient-statistics` is one more for regression.
    **others
        As for `LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_ : array and float
        The weights, in the units of the columns.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Guarantee
        What is promised about the fit.

    Examples
    --------
    >>> import numpy, sordino
    >>> rng = numpy.random.default_rng(0)
    >>> X = rng.uniform(0, 1, size=(5000, 2))
    >>> y = X @ [2.0, -1.0] + 0.5
    >>> model = sordino.linear_model.LinearRegression(epsilon=1.0, bounds=(0, 1), target_bounds=(-1, 3))
    >>> model.fit(X, y).score(X, y) > 0.8
    True
    """

    _loss = "squared"


class Ridge(_LinearRegressor):
    """Private least squares with a penalty `l2` on large weights.

    Parameters and attributes are those of `LinearRegression`; `feature_names_in_` and
    `n_features_in_` are set by `fit`.
    """

    _loss = "squared"


class HuberRegressor(_LinearRegressor):
    """Private regression in which large residuals count linearly.

    Parameters and attributes are those of `LinearRegression`; `feature_names_in_` and
    `n_features_in_` are set by `fit`.
    """

    _loss = "huber"
