"""Numbers and names from callers, before they reach the native half."""

from __future__ import annotations

import math
from operator import index
from typing import SupportsFloat, SupportsIndex, Union

from .exceptions import DeclarationError

__all__ = ["Real", "Whole", "number", "relation", "unit_json", "whole"]

Real = Union[SupportsFloat, SupportsIndex]
Whole = SupportsIndex


def number(name: str, value: object) -> float:
    """A finite number. Text is refused, even if it reads like one."""
    if isinstance(value, (str, bytes)):
        raise DeclarationError(f"{name} must be a number, got text: write {name}=1.0 without quotes")
    if isinstance(value, bool) or value is None:
        raise DeclarationError(f"{name} must be a number, got {value}")
    try:
        got = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DeclarationError(f"{name} must be a number, got {type(value).__name__}") from None
    if not math.isfinite(got):
        raise DeclarationError(f"{name} must be a finite number, got {got}")
    return got


def whole(name: str, value: object) -> int:
    """A whole number that is not negative."""
    if isinstance(value, bool):
        raise DeclarationError(f"{name} must be a whole number, got {value}")
    try:
        got = index(value)  # type: ignore[arg-type]
    except TypeError:
        if isinstance(value, float) and value.is_integer():
            got = int(value)
        else:
            raise DeclarationError(f"{name} must be a whole number, got {_shown(value)}") from None
    if not 0 <= got < 2**63:
        raise DeclarationError(f"{name} must be a whole number from 0 to 2^63 - 1, got {got}")
    return got


def relation(value: object) -> str:
    """The name of a neighbouring relation; the native half knows which there are."""
    if not isinstance(value, str):
        raise DeclarationError(
            f"neighbours must be `add_remove`, `zero_out` or `replace`, got {type(value).__name__}"
        )
    return value


def unit_json(value: object) -> str:
    """A unit in JSON: `record`, `client`, or the name of a column."""
    import json

    if not isinstance(value, str):
        raise DeclarationError(
            f"unit must be `record`, `client` or the name of a column, got {type(value).__name__}"
        )
    return json.dumps(value if value in ("record", "client") else {"column": value})


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, float) else type(value).__name__
