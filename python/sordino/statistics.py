"""Private statistics of one column: one value, one charge.

Each function takes a column as people have it, an array, a series or a list, or a file that the
command reads with the name of a `column`. It plans from what is declared, pays, reads and releases.
Values outside the bounds are clamped to them; a missing value is an error that names its row.

>>> import sordino
>>> from sordino import statistics
>>> budget = sordino.Budget(1.0)
>>> ages = [31, 64, 25, 47] * 250
>>> answer = statistics.mean(ages, bounds=(0, 120), epsilon=0.5, budget=budget)
>>> abs(answer.value - 41.75) < 20 and answer.privacy_.metered
True
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Union

from . import _inputs, _sordino
from ._budget import Payer, native_payer
from ._check import Real, Whole, number, relation, whole
from ._declare import number_column
from ._release import Release
from ._schema import SchemaLike, _toml, schema_of
from .danger import current_seed
from .exceptions import BoundsError, ClassesError, DeclarationError

__all__ = ["count", "histogram", "mean", "median", "mode", "quantile", "sum", "variance"]

#: The confidence for which errors are stated.
CONFIDENCE = 0.95
#: The column that a bare array becomes.
COLUMN = "x"
#: What values become that are not asked for.
OTHER = "(other)"

Data = Union[Sequence[Any], "os.PathLike[str]", str, Any]


class _Answer:
    """What :class:`Release` needs of a native release."""

    __slots__ = ("_error", "guarantee", "value")

    def __init__(self, value: Any, error: float, guarantee: str) -> None:
        self.value, self._error, self.guarantee = value, error, guarantee

    def error(self, confidence: float) -> float:
        if confidence != CONFIDENCE:
            raise DeclarationError(f"the error of a statistic is stated at {CONFIDENCE}, got {confidence:g}")
        return self._error


def count(
    x: Data,
    *,
    epsilon: Real,
    equals: Hashable | None = None,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """The number of records or, with `equals`, of those with this value.

    Parameters
    ----------
    x : array, series, list or path
        The column; or a file, with `column`.
    epsilon : float
        What the answer costs.
    equals : hashable, optional
        The value to count.
    column : str, optional
        The column of a file.
    schema : Schema, path or mapping, optional
        Declares the columns of a file.
    neighbours : str, optional
        The neighbouring relation; the budget's, or "add_remove" if nobody pays.
    unit : array, optional
        Whose each record is: one id for each row. Needs `max_records`.
    max_records : int, optional
        The most records of one unit that count.
    budget : Budget or account, optional
        What pays. Nobody does if it is left out, and the guarantee says so.

    Returns
    -------
    Release
    """
    value = None if equals is None else _inputs.spelled(equals)
    if value is None:
        declared: dict[str, Any] = {"kind": "category", "values": [OTHER], "missing": OTHER, "other": OTHER}
    else:
        other = OTHER if value != OTHER else f"({OTHER})"
        declared = {"kind": "category", "values": [value, other], "missing": other, "other": other}
    return _ask(
        "count", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget, equals=value
    )


def sum(
    x: Data,
    *,
    bounds: tuple[Real, Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """The sum of a column of numbers between public `bounds`; other parameters as for :func:`count`."""
    declared = _number(bounds, schema)
    return _ask("sum", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)


def mean(
    x: Data,
    *,
    bounds: tuple[Real, Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """The mean of a column of numbers between public `bounds`; other parameters as for :func:`count`."""
    declared = _number(bounds, schema)
    return _ask("mean", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)


def variance(
    x: Data,
    *,
    bounds: tuple[Real, Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """The variance of a column of numbers between public `bounds`; other parameters as for :func:`count`."""
    declared = _number(bounds, schema)
    return _ask("variance", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)


def median(
    x: Data,
    *,
    bounds: tuple[Real, Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """The median of a column of numbers between public `bounds`. Its error counts ranks.

    Other parameters as for :func:`count`.
    """
    declared = _number(bounds, schema)
    return _ask("median", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)


def quantile(
    x: Data,
    at: Real,
    *,
    bounds: tuple[Real, Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[float]:
    """A value with the share `at` of the records below it. Its error counts ranks.

    Other parameters as for :func:`mean`.
    """
    share, declared = number("at", at), _number(bounds, schema)
    return _ask(
        "quantile", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget, at=share
    )


def histogram(
    x: Data,
    *,
    values: Sequence[Hashable] | None = None,
    edges: Sequence[Real] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[dict[Any, int]]:
    """The number of records with each of the declared `values`, or between the declared `edges`.

    Counts may be negative: sums of them stay unbiased. Other parameters as for :func:`count`.
    """
    if edges is not None:
        if values is not None:
            raise DeclarationError("values and edges both declare cells: state one of them")
        ends = [number("edges", edge) for edge in edges]
        if len(ends) < 2:
            raise BoundsError("edges must be two numbers or more, ascending")
        declared: dict[str, Any] | None = number_column((ends[0], ends[-1]))
        release = _ask(
            "histogram",
            x,
            declared,
            epsilon,
            column,
            schema,
            neighbours,
            unit,
            max_records,
            budget,
            edges=ends,
        )
        return _with_value(release, dict(release.value))
    declared, names = _category(values, schema)
    release = _ask("histogram", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)
    return _with_value(release, {names.get(name, name): times for name, times in release.value})


def mode(
    x: Data,
    *,
    values: Sequence[Hashable] | None = None,
    epsilon: Real,
    column: str | None = None,
    schema: SchemaLike | None = None,
    neighbours: str | None = None,
    unit: object = None,
    max_records: Whole | None = None,
    budget: Payer | None = None,
) -> Release[Any]:
    """The most frequent of the declared `values`; other parameters as for :func:`count`."""
    declared, names = _category(values, schema)
    release = _ask("mode", x, declared, epsilon, column, schema, neighbours, unit, max_records, budget)
    return _with_value(release, names.get(release.value, release.value))


def _number(bounds: object, schema: object) -> dict[str, Any] | None:
    if schema is not None:
        if bounds is not None:
            raise DeclarationError("schema and bounds both declare the column: state one of them")
        return None
    if bounds is None:
        raise BoundsError(
            "bounds are missing: state bounds=(lower, upper), public limits such as (0, 120) for an age. "
            "They are never read off the data"
        )
    return number_column(bounds)


def _category(
    values: Sequence[Hashable] | None, schema: object
) -> tuple[dict[str, Any] | None, dict[str, Hashable]]:
    if schema is not None:
        if values is not None:
            raise DeclarationError("schema and values both declare the column: state one of them")
        return None, {}
    if values is None:
        raise ClassesError(
            "values are missing: state values=[...], the public list. It is never read off the data"
        )
    names = {_inputs.spelled(value): value for value in values}
    if None in names or len(names) != len(values):
        raise ClassesError("values must differ from each other, also as text, and none may be missing")
    return {"kind": "category", "values": list(names)}, {str(name): value for name, value in names.items()}


def _ask(
    statistic: str,
    x: Data,
    declared: Mapping[str, Any] | None,
    epsilon: object,
    column: str | None,
    schema: SchemaLike | None,
    neighbours: str | None,
    unit: object,
    max_records: object,
    budget: Payer | None,
    *,
    edges: list[float] | None = None,
    equals: str | None = None,
    at: float = 0.5,
) -> Release[Any]:
    is_file = isinstance(x, (str, os.PathLike))
    name = column or COLUMN
    if is_file and (column is None or schema is None):
        raise DeclarationError(
            "a file needs column= and schema=, which declares its columns and how it is read"
        )
    if not is_file and schema is not None:
        raise DeclarationError(
            "schema= declares the columns of a file; a column in memory needs bounds= or values="
        )
    if (unit is None) != (max_records is None):
        raise DeclarationError(
            "unit= and max_records= belong together: whose each row is, and how many of theirs count"
        )
    if is_file:
        if unit is not None:
            raise DeclarationError("the schema states the unit of a file; leave unit= and max_records= out")
        assert schema is not None
        table, data, toml = None, str(x), schema_of(schema).to_toml()
    else:
        fields: dict[str, Any] = {"columns": {name: dict(declared or {})}}
        if unit is not None:
            fields["unit"] = {"column": _inputs.UNIT, "max_records": whole("max_records", max_records)}
        table, data, toml = _inputs.column(name, x, unit=unit), None, _toml(fields)
    value, error, guarantee = _sordino.statistic(
        statistic,
        name,
        number("epsilon", epsilon),
        toml,
        table=table,
        data=data,
        edges=edges,
        equals=equals,
        at=at,
        neighbours=None if neighbours is None else relation(neighbours),
        payer=native_payer(budget),
        seed=current_seed(),
    )
    return Release(_Answer(json.loads(value), error, guarantee))  # type: ignore[arg-type]


def _with_value(release: Release[Any], value: Any) -> Release[Any]:
    native = release._native
    return Release(_Answer(value, native.error(CONFIDENCE) or 0.0, native.guarantee))  # type: ignore[arg-type]
