"""Settings that hold for everything inside a `with` block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, Union

from ._check import Whole, whole
from .exceptions import DeclarationError

__all__ = ["Config", "config_context", "current_config"]

Progress = Union[Literal["auto", "off"], Callable[[int, int, float], None]]


class Config(NamedTuple):
    """How many threads work, and how progress is shown."""

    threads: int | None = None
    progress: Progress = "auto"


_CONFIG: ContextVar[Config] = ContextVar("sordino_config", default=Config())


@contextmanager
def config_context(*, threads: Whole | None = None, progress: Progress | None = None) -> Iterator[None]:
    """Set threads and progress for what runs inside. What is left out stays as it was.

    Parameters
    ----------
    threads : int, optional
        How many threads a fit uses; all processors unless stated.
    progress : {"auto", "off"} or callable, optional
        "auto" shows a bar of tqdm, if it is installed, in terminals and notebooks. A callable gets
        the step, the number of steps and ε so far, and nothing else.

    Examples
    --------
    >>> import sordino
    >>> with sordino.config_context(threads=1, progress="off"):
    ...     pass
    """
    now = _CONFIG.get()
    if progress is not None and progress not in ("auto", "off") and not callable(progress):
        raise DeclarationError('progress must be "auto", "off" or a callable')
    many = now.threads if threads is None else whole("threads", threads)
    if many == 0:
        raise DeclarationError("threads must be a whole number from 1 on, got 0")
    token = _CONFIG.set(Config(many, now.progress if progress is None else progress))
    try:
        yield
    finally:
        _CONFIG.reset(token)


def current_config() -> Config:
    """The settings of this context."""
    return _CONFIG.get()
