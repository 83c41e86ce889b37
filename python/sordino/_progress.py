"""How far a fit is: steps and ε so far, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._config import Progress

__all__ = ["shown"]

Told = Callable[[int, int, float | None], None]


@contextmanager
def shown(progress: Progress) -> Iterator[Told | None]:
    """The function that a fit tells its progress, or none."""
    if callable(progress):
        yield progress  # type: ignore[misc]
        return
    bar = None if progress == "off" or not _is_seen() else _bar()
    if bar is None:
        yield None
        return

    def tell(step: int, steps: int, epsilon: float | None) -> None:
        bar.total = steps
        bar.n = step
        if epsilon is not None:
            bar.set_postfix_str(f"ε {epsilon:.3g}", refresh=False)
        bar.refresh()

    try:
        yield tell
    finally:
        bar.close()


def _is_seen() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return sys.stderr is not None and sys.stderr.isatty()


def _bar() -> Any | None:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    return tqdm(total=0, unit="step", leave=False)
