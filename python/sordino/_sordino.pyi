"""
The native module. Private: import `sordino` instead.
"""

from _typeshed import SupportsGetItem
from typing import Any, Final, SupportsFloat, SupportsIndex

__all__ = ["__version__", "calibrate_noise", "calibrate_rate", "calibrate_split", "calibrate_steps", "delta", "epsilon", "event", "explain", "noise_of", "statement", "statement_words", "together"]

__version__: Final[str]
"""
The version of the package.
"""

def calibrate_noise(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, sampling_rate: SupportsFloat | SupportsIndex, steps: SupportsIndex) -> tuple[float, float, float, str, str | None]:
    """
    The least noise multiplier for Gaussian noise on Poisson samples.
    """

def calibrate_rate(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, noise_multiplier: SupportsFloat | SupportsIndex, steps: SupportsIndex) -> tuple[float, float, float, str, str | None]:
    """
    The largest sampling rate.
    """

def calibrate_split(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, shares: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> tuple[list[float], float, float, str, str | None]:
    """
    Parts of a budget in proportion to shares.
    """

def calibrate_steps(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, noise_multiplier: SupportsFloat | SupportsIndex, sampling_rate: SupportsFloat | SupportsIndex) -> tuple[int, float, float, str, str | None]:
    """
    The most steps.
    """

def delta(event: str, epsilon: SupportsFloat | SupportsIndex, neighbours: str, accountant: str) -> tuple[float, float, str, float | None, str | None]:
    """
    The least delta at which an event costs an epsilon.
    """

def epsilon(event: str, delta: SupportsFloat | SupportsIndex, neighbours: str, accountant: str) -> tuple[float, float, str, float | None, str | None]:
    """
    What an event costs at a delta.
    """

def event(json: str) -> str:
    """
    Reads an event, or a claim, and writes its event in the one normal form.
    """

def explain(event: str | None, epsilon: SupportsFloat | SupportsIndex | None, delta: SupportsFloat | SupportsIndex, neighbours: str, unit: str | None, people: SupportsIndex | None, group: SupportsIndex | None) -> tuple[str, list[str], str]:
    """
    What a promise means: numbers as JSON, paragraphs, and the trade-off curve as an SVG.

    The promise is an event at a delta, or, without an event, a pair of epsilon and delta.
    """

def noise_of(epsilon: SupportsFloat | SupportsIndex, delta: SupportsFloat | SupportsIndex, neighbours: str, event: Any) -> tuple[float, float, float, str, str | None]:
    """
    The least noise multiplier z with which the event that `event(z)` names costs at most epsilon.
    `event` is asked with the interpreter's lock; the accountant works without it.
    """

def statement(json: str) -> str:
    """
    Reads a statement and writes it in the one normal form.
    """

def statement_words(json: str) -> str:
    """
    A statement in one line.
    """

def together(first: str, second: str, planned: bool) -> str:
    """
    What two statements say together, at the sum of their deltas.

    If `planned`, the parameters of neither release were chosen by the result of the other, and the
    tightest accountant prices both. Otherwise the upper end is at least the sum of both prices: see
    `Release::after` in `sordino-privacy`.
    """
