"""From bounds, classes and types to a schema. Nothing here reads a value of the data, but for what
the caller states to be public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from ._check import Real, number
from ._inputs import TARGET, UNIT, Inputs, read, spelled
from ._schema import SchemaLike, _toml, schema_of
from .exceptions import BoundsError, ClassesError, DeclarationError

if TYPE_CHECKING:
    from ._sordino import Table

__all__ = ["BoundsLike", "declared_schema", "identity_schema", "limits"]

BoundsLike = Union[
    tuple[Any, Any],
    Mapping[str, tuple[Real, Real]],
]

NO_BOUNDS = (
    "bounds are missing: state bounds=(lower, upper), one pair for all columns, two arrays, or "
    "{column: (lower, upper)}. They are public knowledge, such as (0, 120) for an age, and are never read "
    "off the data"
)

# Wide enough for every column whose owner declares nothing.
WIDEST = (-8e307, 8e307)


def limits(bounds: object, features: Sequence[str]) -> dict[str, tuple[float, float]]:
    """The bounds of each column that has any."""
    if bounds is None:
        return {}
    if isinstance(bounds, Mapping):
        unknown = [name for name in bounds if name not in features]
        if unknown:
            raise BoundsError(f"bounds are stated for `{unknown[0]}`, and there is no such column")
        return {str(name): _pair(pair, str(name)) for name, pair in bounds.items()}
    if isinstance(bounds, list) and all(isinstance(pair, (list, tuple)) for pair in bounds):
        raise BoundsError(
            "a list of pairs can be read in two ways: state {column: (lower, upper)}, or two arrays, the "
            "lower bounds and the upper ones"
        )
    try:
        lower, upper = _two(bounds)
    except (TypeError, ValueError):
        raise BoundsError(
            f"bounds must be (lower, upper) or a mapping, got {type(bounds).__name__}"
        ) from None
    lowers, uppers = _spread(lower, len(features)), _spread(upper, len(features))
    return {name: _pair(pair, name) for name, *pair in zip(features, lowers, uppers, strict=True)}


def declared_schema(
    inputs: Inputs,
    *,
    schema: SchemaLike | None,
    bounds: object,
    target: Mapping[str, Any] | None,
    target_name: str = TARGET,
    max_records: int | None = None,
    has_unit: bool = False,
) -> str:
    """The schema of a table, as TOML."""
    if schema is not None:
        if bounds is not None:
            raise DeclarationError("schema and bounds both declare columns: state one of them")
        return schema_of(schema).to_toml()
    stated = limits(bounds, inputs.features)
    kinds = dict(inputs.table.columns)
    columns: dict[str, Any] = {}
    for name in inputs.features:
        if name in stated:
            columns[name] = {"kind": "number", "bounds": list(stated[name])}
        elif name in inputs.categories:
            values = [spelled(value) for value in inputs.categories[name]]
            columns[name] = {"kind": "category", "values": values}
        elif kinds.get(name) == "boolean":
            columns[name] = {"kind": "boolean"}
        elif kinds.get(name) == "text":
            raise DeclarationError(
                f"column `{name}` holds text: state its values in schema=, or give it a categorical type"
            )
        elif bounds is None:
            raise BoundsError(NO_BOUNDS)
        else:
            raise BoundsError(f"column `{name}` has no bounds: add it to bounds=, with public limits")
    if target is not None:
        columns[target_name] = dict(target)
    fields: dict[str, Any] = {"columns": columns}
    if has_unit:
        if max_records is None:
            raise DeclarationError(
                "unit= names whose each row is; state max_records=, the most rows of one of them that count"
            )
        fields["unit"] = {"column": UNIT, "max_records": max_records}
        # Columns of ids are not learned from.
        columns[UNIT] = {"kind": "ignore"}
    return _toml(fields)


def class_column(classes: Sequence[object]) -> dict[str, Any]:
    """A target of these classes."""
    values = [spelled(value) for value in classes]
    if len(set(values)) != len(values) or None in values:
        raise ClassesError("classes must differ from each other, also as text, and none may be missing")
    return {"kind": "category", "values": values}


def number_column(target_bounds: object) -> dict[str, Any]:
    """A target between these bounds."""
    if target_bounds is None:
        raise BoundsError(
            "target_bounds are missing: state target_bounds=(lower, upper), the public limits of the number "
            "to predict. They are never read off the data"
        )
    try:
        lower, upper = _two(target_bounds)
    except (TypeError, ValueError):
        raise BoundsError("target_bounds must be a pair (lower, upper)") from None
    return {"kind": "number", "bounds": list(_pair((lower, upper), "the target"))}


def identity_schema(
    data: object,
    y: object,
    schema: SchemaLike | None,
    bounds: object,
    classes: Sequence[object] | None,
    target_bounds: object,
) -> tuple[Table, str]:
    """A table and the schema under which a ledger knows it. A column of numbers that nobody declares
    is known by its values alone."""
    inputs = read(data, y)
    target = None
    if isinstance(classes, str):
        raise ClassesError("a ledger knows a table by its declared classes: state classes=[...], a sequence")
    if classes is not None:
        target = class_column(classes)
    elif target_bounds is not None:
        target = number_column(target_bounds)
    elif y is not None and TARGET in inputs.categories:
        target = class_column(inputs.categories[TARGET])
    elif y is not None:
        target = {"kind": "number", "bounds": list(WIDEST)}
    stated = bounds
    if schema is None and bounds is None:
        stated = {
            name: WIDEST
            for name, kind in inputs.table.columns
            if kind == "number" and name in inputs.features
        }
    return inputs.table, declared_schema(inputs, schema=schema, bounds=stated, target=target)


def _two(pair: Any) -> tuple[Any, Any]:
    lower, upper = pair
    return lower, upper


def _spread(value: Any, columns: int) -> list[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        if len(value) != columns:
            raise BoundsError(f"bounds have {len(value)} numbers for {columns} columns: state one for each")
        return list(value)
    return [value] * columns


def _pair(pair: Any, name: str) -> tuple[float, float]:
    try:
        lower, upper = pair
    except (TypeError, ValueError):
        raise BoundsError(f"bounds of `{name}` must be a pair (lower, upper)") from None
    try:
        lower, upper = number("lower", lower), number("upper", upper)
    except DeclarationError as error:
        raise BoundsError(f"bounds of `{name}`: {error}") from None
    if not lower < upper:
        raise BoundsError(
            f"bounds of `{name}` must have the lower one below the upper, got {lower:g} and {upper:g}"
        )
    return lower, upper
