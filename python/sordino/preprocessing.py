"""Preprocessing that takes what is declared, or pays.

scikit-learn's scalers, encoders and imputers read their parameters off the data, for free. These take
public bounds, categories and values, and cost nothing; `StandardScaler` can also buy means and
scales. Each has `privacy_`.

>>> import numpy
>>> from sordino.preprocessing import MinMaxScaler
>>> MinMaxScaler(bounds=(0, 120)).fit_transform(numpy.array([[30.0], [60.0], [150.0]])).ravel().tolist()
[0.25, 0.5, 1.0]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ._budget import Payer
from ._check import Real, number, whole
from ._declare import NO_BOUNDS, BoundsLike, limits
from ._estimator import Estimator
from ._guarantee import Statement
from ._inputs import spelled
from ._validate import as_floats, check_features, check_numbers
from .exceptions import BoundsError, DeclarationError

if TYPE_CHECKING:
    import numpy.typing as npt


__all__ = [
    "KBinsDiscretizer",
    "MinMaxScaler",
    "OneHotEncoder",
    "OrdinalEncoder",
    "SimpleImputer",
    "StandardScaler",
]

FREE = {
    "neighbours": "zero_out",
    "unit": "record",
    "epsilon": {"lower": 0.0, "upper": 0.0},
    "delta": 0.0,
    "accountant": "pure",
    "event": {"type": "composed", "events": []},
    "arithmetic": 0.0,
    "seeded": False,
    "metered": True,
}


def free() -> Statement:
    """What is said of a step that reads nothing off the data."""
    return Statement.from_json(json.dumps(FREE))


class _Transformer(Estimator):
    """What transformers share."""

    _kind = "transformer"
    _allows_missing = False
    _is_text = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = self._allows_missing
        tags.input_tags.string = tags.input_tags.categorical = self._is_text
        return tags

    def fit(self, X: object, y: object = None) -> Self:
        """Check the declarations against the columns. Values of X are used only by a step that pays."""
        columns, names = self._columns(X, fitting=True)
        self.n_features_in_ = columns.shape[1]
        if names is not None:
            import numpy as np

            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._declared(columns, names or [f"x{place}" for place in range(columns.shape[1])])
        if "privacy_" not in vars(self) or self.privacy_.to_json() == free().to_json():
            self.privacy_ = free()
        return self

    def fit_transform(self, X: object, y: object = None) -> npt.NDArray[Any]:
        """Fit, then transform."""
        return self.fit(X, y).transform(X)

    def transform(self, X: object) -> npt.NDArray[Any]:
        """The transformed columns."""
        self._check_fitted()
        columns, names = self._columns(X, fitting=False)
        named: Any = _Named(names, columns.shape[1])
        check_features(self, named, stated=names is not None)
        transformed: npt.NDArray[Any] = self._transformed(columns)
        return transformed

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[Any]:
        """The names of the columns that come out."""
        import numpy as np

        self._check_fitted()
        if input_features is None:
            known = getattr(self, "feature_names_in_", None)
            names = [f"x{place}" for place in range(self.n_features_in_)] if known is None else list(known)
        else:
            names = list(input_features)
        return np.asarray(self._names_out(names), dtype=object)

    def _names_out(self, names: list[str]) -> list[str]:
        return names

    def _columns(self, X: Any, *, fitting: bool) -> tuple[Any, list[str] | None]:
        """The columns as one array, and their names if they have any."""
        import numpy as np

        if hasattr(X, "tocsr"):
            raise DeclarationError(f"sparse data is not supported by {type(self).__name__}; use X.toarray()")
        names = None
        if hasattr(X, "columns") and all(isinstance(name, str) for name in X.columns):
            names = [str(name) for name in X.columns]
        if self._is_text:
            array = np.asarray(X, dtype=object)
            if array.ndim != 2:
                raise DeclarationError(
                    f"Expected 2D array, got {array.ndim}D array instead. Reshape your data."
                )
            return array, names
        if self._allows_missing:
            array = as_floats(X, type(self).__name__)
            if array.ndim != 2:
                raise DeclarationError(
                    f"Expected 2D array, got {array.ndim}D array instead. Reshape your data."
                )
            return array, names
        array = np.asarray(check_numbers(X, type(self).__name__))
        kept = array if array.dtype in (np.float32, np.float64) else as_floats(array, type(self).__name__)
        return kept, names

    def _declared(self, columns: Any, names: list[str]) -> None:
        raise NotImplementedError

    def _transformed(self, columns: Any) -> Any:
        raise NotImplementedError


class _Named:
    """The names of columns, as `check_features` takes them."""

    def __init__(self, names: list[str] | None, columns: int) -> None:
        self.features = names or [f"x{place}" for place in range(columns)]
        self.has_names = names is not None


class MinMaxScaler(_Transformer):
    """Move each column from its declared bounds to a range. Values outside are clamped.

    Parameters
    ----------
    bounds : tuple or mapping
        Public limits of the columns.
    feature_range : tuple of float, default (0, 1)
        Where they are moved to.

    Attributes
    ----------
    data_min_, data_max_ : array
        The declared bounds.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Statement
        Free: nothing was read off the data.
    """

    def __init__(
        self, *, bounds: BoundsLike | None = None, feature_range: tuple[Real, Real] = (0, 1)
    ) -> None:
        self.bounds = bounds
        self.feature_range = feature_range

    def _declared(self, columns: Any, names: list[str]) -> None:
        self.data_min_, self.data_max_ = _ends(self.bounds, names)

    def _transformed(self, columns: Any) -> Any:
        import numpy as np

        lower, upper = (number("feature_range", end) for end in self.feature_range)
        shares = (np.clip(columns, self.data_min_, self.data_max_) - self.data_min_) / (
            self.data_max_ - self.data_min_
        )
        return (shares * (upper - lower) + lower).astype(columns.dtype, copy=False)


class StandardScaler(_Transformer):
    """Subtract means and divide by scales: declared ones, or bought ones.

    Parameters
    ----------
    mean, scale : float or sequence, optional
        Public means and scales. Then nothing is paid.
    bounds : tuple or mapping, optional
        Public limits of the columns, for means and scales that are bought.
    epsilon : float, optional
        The price of all means and scales together.
    delta : float, optional
        δ: the budget's, or 1e-6.
    neighbours : str, default "zero_out"
        The relation; the number of records must be public under it.
    budget : Budget or Account, optional
        What pays.

    Attributes
    ----------
    mean_, scale_ : array
        What is subtracted, and what is divided by.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Guarantee or Statement
        What is promised; free if both were declared.
    """

    def __init__(
        self,
        *,
        mean: Any = None,
        scale: Any = None,
        bounds: BoundsLike | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        neighbours: str | None = None,
        budget: Payer | None = None,
    ) -> None:
        self.mean = mean
        self.scale = scale
        self.bounds = bounds
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.budget = budget

    def _declared(self, columns: Any, names: list[str]) -> None:
        import numpy as np

        if self.epsilon is None:
            if self.mean is None or self.scale is None:
                raise DeclarationError(
                    "state mean= and scale=, which are public, or epsilon= and bounds=, to buy them: they "
                    "are never read off the data for free"
                )
            self.mean_ = np.broadcast_to(np.asarray(self.mean, dtype=float), columns.shape[1]).copy()
            self.scale_ = np.broadcast_to(np.asarray(self.scale, dtype=float), columns.shape[1]).copy()
            if not bool(np.all(self.scale_ > 0)):
                raise DeclarationError("scale must be above 0")
            self.privacy_ = free()
            return
        if self.mean is not None or self.scale is not None:
            raise DeclarationError("mean and scale are declared or bought, not both: leave epsilon out")
        self._bought(columns, *_ends(self.bounds, names))

    def _bought(self, columns: Any, lower: Any, upper: Any) -> None:
        """One release of all sums of u and u², with u the values on a scale from -1 to 1."""
        import numpy as np

        from .mechanisms import gaussian

        epsilon, n, width = self.epsilon, len(columns), columns.shape[1]
        assert epsilon is not None
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        moved = (np.clip(columns, lower, upper) - middle) / half
        rows = np.hstack([moved, moved**2])
        relation = self.neighbours
        if relation is None and self.budget is None:
            relation = "zero_out"
        release = gaussian(
            rows,
            clip_norm=float(np.sqrt(2 * width)),
            epsilon=epsilon,
            delta=self.delta,
            neighbours=relation,
            budget=self.budget,
        )
        first, second = release.value[:width] / n, release.value[width:] / n
        self.mean_ = middle + half * np.clip(first, -1, 1)
        # A noisy variance may be negative; no column is taken to vary by less than a hundredth.
        spread = np.sqrt(np.clip(second - first**2, 1e-4, 1.0))
        self.scale_ = half * spread
        self.privacy_ = release.privacy_

    def _transformed(self, columns: Any) -> Any:
        return ((columns - self.mean_) / self.scale_).astype(columns.dtype, copy=False)


class OrdinalEncoder(_Transformer):
    """Replace declared categories by their places.

    Parameters
    ----------
    categories : sequence of sequences
        For each column, all values that can occur. A value that is not declared is refused.

    Attributes
    ----------
    categories_ : list of array
        The declared categories.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Statement
        Free: nothing was read off the data.
    """

    _is_text = True

    def __init__(self, *, categories: Sequence[Sequence[object]] | None = None) -> None:
        self.categories = categories

    def _declared(self, columns: Any, names: list[str]) -> None:
        import numpy as np

        if self.categories is None:
            raise DeclarationError(
                "categories are missing: state categories=[[...], ...], for each column all values that can "
                "occur; they are never read off the data"
            )
        if len(self.categories) != columns.shape[1]:
            raise DeclarationError(
                f"categories are stated for {len(self.categories)} columns, and there are {columns.shape[1]}"
            )
        self.categories_ = [np.asarray(list(values), dtype=object) for values in self.categories]
        self._places(columns)

    def _places(self, columns: Any) -> Any:
        import numpy as np

        places = np.empty(columns.shape, dtype=np.int64)
        for column, values in enumerate(self.categories_):
            known = {spelled(value): place for place, value in enumerate(values)}
            found = [known.get(spelled(value), -1) for value in columns[:, column]]
            if -1 in found:
                raise DeclarationError(
                    f"column {column} has a value that is not among its declared categories; declare all that "
                    "can occur"
                )
            places[:, column] = found
        return places

    def _transformed(self, columns: Any) -> Any:
        import numpy as np

        return self._places(columns).astype(np.float64)


class OneHotEncoder(OrdinalEncoder):
    """Replace each column by one column of 0 and 1 for each declared category.

    Parameters
    ----------
    categories : sequence of sequences
        For each column, all values that can occur. A value that is not declared is refused.

    Attributes
    ----------
    categories_ : list of array
        The declared categories.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Statement
        Free: nothing was read off the data.

    Examples
    --------
    >>> from sordino.preprocessing import OneHotEncoder
    >>> OneHotEncoder(categories=[["no", "yes"]]).fit_transform([["yes"], ["no"]]).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(self, *, categories: Sequence[Sequence[object]] | None = None) -> None:
        self.categories = categories

    def _names_out(self, names: list[str]) -> list[str]:
        return [
            f"{name}_{value}"
            for name, values in zip(names, self.categories_, strict=True)
            for value in values
        ]

    def _transformed(self, columns: Any) -> Any:
        import numpy as np

        places = self._places(columns)
        parts = [
            np.eye(len(values), dtype=np.float64)[places[:, column]]
            for column, values in enumerate(self.categories_)
        ]
        return np.hstack(parts)


class KBinsDiscretizer(_Transformer):
    """Replace numbers by the bin that they fall into: equal bins between declared bounds.

    Parameters
    ----------
    n_bins : int, default 5
        The number of bins of each column.
    bounds : tuple or mapping
        Public limits of the columns. Values outside fall into the first or the last bin.

    Attributes
    ----------
    bin_edges_ : list of array
        The edges.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Statement
        Free: nothing was read off the data.
    """

    def __init__(self, *, n_bins: int = 5, bounds: BoundsLike | None = None) -> None:
        self.n_bins = n_bins
        self.bounds = bounds

    def _declared(self, columns: Any, names: list[str]) -> None:
        import numpy as np

        bins = whole("n_bins", self.n_bins)
        if bins < 2:
            raise DeclarationError(f"n_bins must be at least 2, got {bins}")
        lower, upper = _ends(self.bounds, names)
        self.bin_edges_ = [np.linspace(low, high, bins + 1) for low, high in zip(lower, upper, strict=True)]

    def _transformed(self, columns: Any) -> Any:
        import numpy as np

        bins = [
            np.clip(np.searchsorted(edges[1:-1], columns[:, place], side="right"), 0, len(edges) - 2)
            for place, edges in enumerate(self.bin_edges_)
        ]
        return np.stack(bins, axis=1).astype(columns.dtype)


class SimpleImputer(_Transformer):
    """Replace what is missing by declared values.

    Parameters
    ----------
    fill_value : float or sequence
        Public values, one for all columns or one for each. Means of the data are not free.

    Attributes
    ----------
    statistics_ : array
        The declared values.
    n_features_in_, feature_names_in_
        The columns.
    privacy_ : Statement
        Free: nothing was read off the data.
    """

    _allows_missing = True

    def __init__(self, *, fill_value: Any = None) -> None:
        self.fill_value = fill_value

    def _declared(self, columns: Any, names: list[str]) -> None:
        import numpy as np

        if self.fill_value is None:
            raise DeclarationError(
                "fill_value is missing: state public values; those of the data are not free"
            )
        self.statistics_ = np.broadcast_to(np.asarray(self.fill_value, dtype=float), columns.shape[1]).copy()

    def _transformed(self, columns: Any) -> Any:
        import numpy as np

        return np.where(np.isnan(columns), self.statistics_, columns)


def _ends(bounds: object, names: list[str]) -> tuple[Any, Any]:
    import numpy as np

    if bounds is None:
        raise BoundsError(NO_BOUNDS)
    stated = limits(bounds, names)
    missing = [name for name in names if name not in stated]
    if missing:
        raise BoundsError(f"column `{missing[0]}` has no bounds: add it to bounds=, with public limits")
    pairs = np.asarray([stated[name] for name in names], dtype=float)
    return pairs[:, 0], pairs[:, 1]
