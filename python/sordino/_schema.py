"""What the owner of the data declares."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Union

from . import _sordino
from .exceptions import DeclarationError

__all__ = ["ColumnFacts", "Schema", "schema_of"]

SchemaLike = Union["Schema", str, "os.PathLike[str]", Mapping[str, Any]]


class ColumnFacts(NamedTuple):
    """One column of a schema."""

    name: str
    kind: str
    bounds: tuple[float, float] | None
    values: tuple[str, ...] | None


class Schema:
    """Bounds, values and the unit of a table, because they must not be read off the data.

    Parameters
    ----------
    source : path, Schema or mapping
        A TOML file as the command reads it, or the same as a mapping.

    Examples
    --------
    >>> import sordino
    >>> schema = sordino.Schema({"columns": {
    ...     "age": {"kind": "number", "bounds": [0, 120]},
    ...     "smoker": {"kind": "category", "values": ["no", "yes"]},
    ... }})
    >>> schema.columns["age"].bounds
    (0.0, 120.0)
    """

    __slots__ = ("_digest", "_toml")

    _toml: str
    _digest: list[int] | bytes

    def __init__(self, source: SchemaLike) -> None:
        if isinstance(source, Schema):
            self._toml, self._digest = source._toml, source._digest
        elif isinstance(source, Mapping):
            self._toml, self._digest = _sordino.schema(_toml(source))
        elif isinstance(source, (str, os.PathLike)):
            try:
                with open(source, encoding="utf-8") as file:
                    text = file.read()
            except OSError as error:
                raise DeclarationError(
                    f"cannot read the schema {os.fspath(source)!r}: {error.strerror}"
                ) from None
            self._toml, self._digest = _sordino.schema(text)
        else:
            raise DeclarationError(
                f"schema must be a path, a mapping or a sordino.Schema, got {type(source).__name__}"
            )

    @staticmethod
    def from_toml(text: str) -> Schema:
        """Read a schema from its text."""
        made = object.__new__(Schema)
        made._toml, made._digest = _sordino.schema(text)
        return made

    @staticmethod
    def template(data: str | os.PathLike[str]) -> str:
        """A template from the header of a data file alone, to be filled in by its owner."""
        return _sordino.schema_template(os.fspath(data))

    def to_toml(self) -> str:
        """The schema as the command reads it."""
        return self._toml

    @property
    def columns(self) -> dict[str, ColumnFacts]:
        """The columns by name, in order."""
        columns, _ = _sordino.schema_facts(self._toml)
        return {
            name: ColumnFacts(name, kind, bounds, None if values is None else tuple(values))
            for name, kind, bounds, values in columns
        }

    @property
    def unit(self) -> str:
        """`record`, or the column whose value says whose a record is."""
        return _sordino.schema_facts(self._toml)[1] or "record"

    def __eq__(self, other: object) -> bool:
        return self._digest == other._digest if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(bytes(self._digest))

    def __repr__(self) -> str:
        return f"<Schema: {len(self.columns)} columns, unit {self.unit}>"

    def __str__(self) -> str:
        return self._toml

    def __reduce__(self) -> tuple[Any, ...]:
        return (Schema.from_toml, (self._toml,))


def schema_of(source: SchemaLike) -> Schema:
    """A schema from whatever states one."""
    return source if isinstance(source, Schema) else Schema(source)


def _toml(fields: Mapping[str, Any]) -> str:
    """A mapping as TOML. Every table is written inline, which the reader takes as well."""
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in fields.items())


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise DeclarationError(f"names in a schema must be text, got {type(name).__name__}")
    return _text(name)


def _text(value: str) -> str:
    # Strings of TOML escape as those of JSON do, but for the surrogates of characters beyond 2^16.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + " }"
    if isinstance(value, int):
        return str(value)
    if hasattr(value, "tolist"):
        return _value(value.tolist())
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    raise DeclarationError(f"a schema holds text, numbers and lists, got {type(value).__name__}")
