"""What is good for tests and teaching, and **not private**. A search for `danger` finds every use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ._check import Whole, whole
from .exceptions import DeclarationError

__all__ = ["seeded"]

_SEED: ContextVar[int | None] = ContextVar("sordino_seed", default=None)


@contextmanager
def seeded(seed: Whole) -> Iterator[None]:
    """Make the noise of what runs inside repeatable, which voids every guarantee.

    The stream begins anew at every fit and every release, so that equal calls give equal results.
    Anyone who knows the seed can subtract the noise. A ledger refuses seeded runs. Other threads and
    processes are not seeded.

    Parameters
    ----------
    seed : int
        Any whole number from 0 to 2^32 - 1.

    Examples
    --------
    >>> from sordino import danger, mechanisms
    >>> with danger.seeded(7):
    ...     one = mechanisms.discrete_laplace(1204, epsilon=0.5)
    ...     two = mechanisms.discrete_laplace(1204, epsilon=0.5)
    >>> one.value == two.value, one.privacy_.seeded
    (True, True)
    """
    number = whole("seed", seed)
    if number >= 2**32:
        raise DeclarationError(f"seed must be below 2^32, got {number}")
    token = _SEED.set(number)
    try:
        yield
    finally:
        _SEED.reset(token)


def current_seed() -> int | None:
    """The seed of this context, if there is one."""
    return _SEED.get()
