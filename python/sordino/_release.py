"""A value that has left the private side."""

from __future__ import annotations

from typing import Generic, TypeVar

from . import _sordino
from ._guarantee import Guarantee
from .exceptions import DeclarationError

__all__ = ["Release"]

T = TypeVar("T")


class Release(Generic[T]):
    """A noisy value with its guarantee.

    Attributes
    ----------
    value
        What was released.
    privacy_ : Guarantee
        What is promised about it.
    """

    __slots__ = ("_native", "_privacy")

    def __init__(self, native: _sordino.Released) -> None:
        self._native = native
        self._privacy = Guarantee._of(native.guarantee)

    @property
    def value(self) -> T:
        """What was released."""
        value: T = self._native.value
        return value

    @property
    def privacy_(self) -> Guarantee:
        """What is promised about it."""
        return self._privacy

    def error(self, confidence: float = 0.95) -> float:
        """What the noise exceeds with probability at most 1 - `confidence`.

        For a choice: how far its score may lie below the best one.
        """
        found = self._native.error(confidence)
        if found is None:
            raise DeclarationError("a single report has no error; estimates from many reports have one")
        return found

    def __repr__(self) -> str:
        return f"<Release: {self.value!r} with {self.privacy_}>"
