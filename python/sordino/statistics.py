"""Statistics of one column: count, sum, mean, variance, median, quantile, histogram, mode.

Each function charges once and returns one `Statistic`. Bounds and values are declared, never read
off the data. Without `neighbours` the budget's relation holds, and `add_remove` without a budget.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from . import _sordino
from ._budget import Payer, native_payer
from ._check import Real, number, relation
from ._declare import class_column, number_column
from ._guarantee import Guarantee
from ._inputs import TARGET, read, spelled
from ._schema import SchemaLike, _toml, schema_of
from ._validate import check_target
from .danger import current_seed
from .exceptions import BoundsError, DeclarationError

__all__ = ["Statistic", "count", "histogram", "mean", "median", "mode", "quantile", "sum", "variance"]

T = TypeVar("T")


class Statistic(Generic[T]):
    """A noisy statistic with its guarantee.

    Attributes
    ----------
    value
        What was released.
    privacy_ : Guarantee
        What is promised about it.
    """

    __slots__ = ("_error", "_privacy", "_value")

    def __init__(self, value: T, error: float, privacy: Guarantee) -> None:
        self._value, self._error, self._privacy = value, error, privacy

    @property
    def value(self) -> T:
        """What was released."""
        return self._value

    @property
    def privacy_(self) -> Guarantee:
        """What is promised about it."""
        return self._privacy

    def error(self, confidence: float = 0.95) -> float:
        """How far off it is at most, with 95 % confidence: in rows, for a quantile."""
        if confidence != 0.95:
            raise DeclarationError(f"the error of a statistic is known at confidence 0.95, got {confidence}")
        return self._error

    def __repr__(self) -> str:
        return f"<Statistic: {self.value!r} with {self.privacy_}>"


def count(
    x: object,
    *,
    epsilon: Real,
    equals: object = None,
    values: Sequence[object] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The number of records, or of those that equal one of the declared values.

    Parameters
    ----------
    x : array or path
        One value for each record; for a path also `schema` and `column`.
    epsilon : float
        The price.
    equals : object, optional
        Count these only; needs `values`.
    values : sequence, optional
        All values that can occur.
    schema, column
        For a file.
    neighbours : str, optional
        The relation: the budget's, or `add_remove`.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import statistics
    >>> smokers = statistics.count(["no", "yes", "yes"], values=["no", "yes"], equals="yes", epsilon=1.0)
    >>> smokers.privacy_.epsilon.upper <= 1.0 + 1e-9
    True
    """
    declared = {"kind": "number", "bounds": [-8e307, 8e307]} if values is None else class_column(list(values))
    chosen = None if equals is None else spelled(equals)
    return _asked("count", x, epsilon, declared, schema, column, neighbours, budget, equals=chosen)


def sum(
    x: object,
    *,
    epsilon: Real,
    bounds: tuple[Real, Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The sum of a column, whose values are moved into `bounds`. Parameters are those of `mean`."""
    return _asked("sum", x, epsilon, _bounded(bounds, schema), schema, column, neighbours, budget)


def mean(
    x: object,
    *,
    epsilon: Real,
    bounds: tuple[Real, Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The mean of a column, whose values are moved into `bounds`.

    Parameters
    ----------
    x : array or path
        One number for each record; for a path also `schema` and `column`.
    epsilon : float
        The price.
    bounds : tuple of float
        Public limits of the values.
    schema, column
        For a file.
    neighbours : str, optional
        The relation: the budget's, or `add_remove`.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import statistics
    >>> age = statistics.mean([31.0, 62.0, 45.0] * 500, bounds=(0, 120), epsilon=1.0)
    >>> abs(age.value - 46) < 3
    True
    """
    return _asked("mean", x, epsilon, _bounded(bounds, schema), schema, column, neighbours, budget)


def variance(
    x: object,
    *,
    epsilon: Real,
    bounds: tuple[Real, Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The variance of a column, whose values are moved into `bounds`. Parameters are those of `mean`."""
    return _asked("variance", x, epsilon, _bounded(bounds, schema), schema, column, neighbours, budget)


def median(
    x: object,
    *,
    epsilon: Real,
    bounds: tuple[Real, Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The median of a column. Its error is in rows. Parameters are those of `mean`."""
    return _asked("median", x, epsilon, _bounded(bounds, schema), schema, column, neighbours, budget)


def quantile(
    x: object,
    at: Real,
    *,
    epsilon: Real,
    bounds: tuple[Real, Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[float]:
    """The value below which a share `at` of the records lies. Parameters are those of `mean`."""
    share = number("at", at)
    declared = _bounded(bounds, schema)
    return _asked("quantile", x, epsilon, declared, schema, column, neighbours, budget, at=share)


def histogram(
    x: object,
    *,
    epsilon: Real,
    values: Sequence[object] | None = None,
    edges: Sequence[Real] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[dict[str, int]]:
    """The number of records with each declared value, or between declared edges.

    Parameters
    ----------
    x : array or path
        One value for each record; for a path also `schema` and `column`.
    epsilon : float
        The price of all cells together.
    values : sequence, optional
        All values that can occur.
    edges : sequence of float, optional
        For numbers: the edges of the cells.
    schema, column
        For a file.
    neighbours : str, optional
        The relation: the budget's, or `add_remove`.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import statistics
    >>> cells = statistics.histogram(["a", "b", "a"] * 100, values=["a", "b", "c"], epsilon=1.0)
    >>> list(cells.value)
    ['a', 'b', 'c']
    """
    cuts = None if edges is None else [number("edges", edge) for edge in edges]
    if schema is not None:
        declared = None
    elif values is not None:
        declared = class_column(list(values))
    elif cuts is not None:
        declared = {"kind": "number", "bounds": [cuts[0], cuts[-1]]}
    else:
        raise DeclarationError("a histogram needs values=, all that can occur, or edges= for numbers")
    found = _asked("histogram", x, epsilon, declared, schema, column, neighbours, budget, edges=cuts)
    return Statistic(dict(found.value), found.error(), found.privacy_)


def mode(
    x: object,
    *,
    epsilon: Real,
    values: Sequence[object] | None = None,
    schema: SchemaLike | None = None,
    column: str | None = None,
    neighbours: str | None = None,
    budget: Payer | None = None,
) -> Statistic[str]:
    """The most frequent of the declared values. Parameters are those of `histogram`."""
    if values is None and schema is None:
        raise DeclarationError("a mode needs values=, all that can occur")
    declared = None if values is None else class_column(list(values))
    return _asked("mode", x, epsilon, declared, schema, column, neighbours, budget)


def _bounded(bounds: object, schema: object) -> dict[str, Any] | None:
    if schema is not None:
        return None
    if bounds is None:
        raise BoundsError("bounds are missing: state bounds=(lower, upper), the public limits of the values")
    return number_column(bounds)


def _asked(
    name: str,
    x: object,
    epsilon: Real,
    declared: dict[str, Any] | None,
    schema: SchemaLike | None,
    column: str | None,
    neighbours: str | None,
    budget: Payer | None,
    *,
    edges: list[float] | None = None,
    equals: str | None = None,
    at: float = 0.5,
) -> Statistic[Any]:
    payer = native_payer(budget)
    table, file = None, None
    if isinstance(x, (str, os.PathLike)):
        if schema is None or column is None:
            raise DeclarationError("a file needs schema= and column=")
        file, text = os.fspath(x), schema_of(schema).to_toml()
    else:
        if column is None:
            column = TARGET
        values = check_target(x, "a statistic")
        table = read(_none(values), values).table
        if schema is not None:
            text = schema_of(schema).to_toml()
        else:
            text = _toml({"columns": {column: declared}})
    value, error, guarantee = _sordino.statistic(
        name,
        column,
        number("epsilon", epsilon),
        text,
        table,
        file,
        edges,
        equals,
        at,
        None if neighbours is None else relation(neighbours),
        payer,
        current_seed(),
    )
    return Statistic(json.loads(value), error, Guarantee._of(guarantee))


def _none(values: Any) -> Any:
    """A table of no columns beside the one that is asked about."""
    import numpy as np

    return np.empty((len(values), 0))
