"""What private computations cost, and how much noise is enough.

An event says what is done, in the accountant's terms; it depends on public parameters only. It is
built from a constructor and methods, cannot be changed, and has one form in JSON, which the command
reads and writes too.

>>> from sordino.accounting import Gaussian, epsilon
>>> training = Gaussian(noise_multiplier=1.1).poisson_sampled(0.01).repeated(1000)
>>> training
Gaussian(noise_multiplier=1.1).poisson_sampled(0.01).repeated(1000)
>>> cost = epsilon(training, delta=1e-5)
>>> cost.lower <= cost.upper < 1.5 * cost.lower
True

Two spellings keep everybody from being off by a factor of two. `noise_multiplier` is the noise
divided by the largest norm of one unit's contribution (the clip norm); what that means for a
relation is the accountant's business. `sigma` or `scale` with `sensitivity` states the ratio for the
relation as given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from . import _sordino
from ._check import Real, Whole, number, relation, whole
from ._events import (
    AboveThreshold,
    Approximate,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Gdp,
    Laplace,
    NonPrivate,
    Pure,
    RandomizedResponse,
    Renyi,
    Toeplitz,
    TreeAggregation,
    Zcdp,
    event_json,
)
from ._guarantee import Interval
from .exceptions import DeclarationError

__all__ = [
    "AboveThreshold",
    "Approximate",
    "Calibrated",
    "Composed",
    "Cost",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Exponential",
    "Gaussian",
    "Gdp",
    "Laplace",
    "NonPrivate",
    "Pure",
    "RandomizedResponse",
    "Renyi",
    "Toeplitz",
    "TreeAggregation",
    "Zcdp",
    "calibrate",
    "delta",
    "epsilon",
    "split",
]

Accountant = Literal["auto", "basic", "advanced", "rdp", "pld"]


@dataclass(frozen=True)
class Cost:
    """ε or δ of an event, between two certified ends.

    Attributes
    ----------
    lower, upper : float
        The truth lies between them. Promise people the upper end.
    accountant : str
        Which accountant gave the upper end.
    order : float or None
        The order that a Rényi answer was found at.
    note : str or None
        Why the interval is wide, where it is.
    """

    lower: float
    upper: float
    accountant: str
    order: float | None = None
    note: str | None = None


def epsilon(
    event: Event,
    delta: Real,
    *,
    neighbours: str = "add_remove",
    accountant: Accountant = "auto",
) -> Cost:
    """What an event costs at a δ.

    Parameters
    ----------
    event : Event
        What is done.
    delta : float
        At this δ.
    neighbours : str, default "add_remove"
        The neighbouring relation.
    accountant : {"auto", "basic", "advanced", "rdp", "pld"}
        Who answers; "auto" is the tightest that applies.

    Returns
    -------
    Cost
        ε, certified from both sides.

    Examples
    --------
    >>> from sordino.accounting import Gaussian, epsilon
    >>> cost = epsilon(Gaussian(noise_multiplier=1.0), delta=1e-5)
    >>> round(cost.upper, 6), cost.accountant
    (4.377178, 'gdp')
    """
    json = event_json(event)
    return Cost(*_sordino.epsilon(json, number("delta", delta), relation(neighbours), accountant))


def delta(
    event: Event,
    epsilon: Real,
    *,
    neighbours: str = "add_remove",
    accountant: Accountant = "auto",
) -> Cost:
    """The least δ at which an event costs ε.

    Parameters
    ----------
    event : Event
        What is done.
    epsilon : float
        At this ε.
    neighbours : str, default "add_remove"
        The neighbouring relation.
    accountant : {"auto", "basic", "advanced", "rdp", "pld"}
        Who answers; "auto" is the tightest that applies.

    Returns
    -------
    Cost
        δ, certified from both sides.

    Examples
    --------
    >>> from sordino.accounting import Laplace, delta
    >>> delta(Laplace(noise_multiplier=1.0), epsilon=1.0).upper
    0.0
    """
    json = event_json(event)
    return Cost(*_sordino.delta(json, number("epsilon", epsilon), relation(neighbours), accountant))


@dataclass(frozen=True)
class Calibrated:
    """A value that meets its target, and what it really costs.

    Attributes
    ----------
    value : float or int
        What was looked for.
    epsilon : Interval
        The cost at that value; the upper end is at most the target.
    accountant : str
        Which accountant said so.
    note : str or None
        Why the interval is wide, where it is.
    """

    value: float
    epsilon: Interval
    accountant: str
    note: str | None = None


def calibrate(
    *,
    epsilon: Real,
    delta: Real,
    noise_multiplier: Real | None = None,
    sampling_rate: Real | None = None,
    steps: Whole | None = None,
    event: Callable[[float], Event] | None = None,
    neighbours: str = "add_remove",
) -> Calibrated:
    """Find the noise, the number of steps or the sampling rate that meets a target ε.

    Parameters
    ----------
    epsilon, delta : float
        The target.
    noise_multiplier : float, optional
        The noise. Without it, it is what is looked for.
    sampling_rate : float, optional
        Of Poisson samples. Without it: 1, or what is looked for if noise and steps are given.
    steps : int, optional
        The number of steps. Without it: 1, or what is looked for if the noise is given.
    event : callable, optional
        For any other computation whose noise is one number: the event at a noise multiplier.
    neighbours : str, default "add_remove"
        The neighbouring relation.

    Returns
    -------
    Calibrated
        What was found; its cost was itself computed and is at most the target.

    Examples
    --------
    >>> from sordino.accounting import Gaussian, calibrate
    >>> found = calibrate(epsilon=1.0, delta=1e-5, sampling_rate=0.01, steps=1000)
    >>> found.epsilon.upper <= 1.0, round(found.value, 2)
    (True, 1.41)
    >>> twice = calibrate(epsilon=1.0, delta=1e-5, event=lambda z: Gaussian(noise_multiplier=z).repeated(2))
    >>> round(twice.value, 2)
    5.28
    """
    target = (number("epsilon", epsilon), number("delta", delta), relation(neighbours))
    if event is not None:
        if noise_multiplier is not None or sampling_rate is not None or steps is not None:
            raise DeclarationError("an event says all that is done: state nothing beside it")
        build = event
        return _calibrated(_sordino.noise_of(*target, lambda noise: event_json(build(noise))))
    rate = 1.0 if sampling_rate is None else number("sampling_rate", sampling_rate)
    if noise_multiplier is None:
        times = 1 if steps is None else whole("steps", steps)
        return _calibrated(_sordino.calibrate_noise(*target, rate, times))
    noise = number("noise_multiplier", noise_multiplier)
    if steps is None:
        return _calibrated(_sordino.calibrate_steps(*target, noise, rate))
    if sampling_rate is None:
        return _calibrated(_sordino.calibrate_rate(*target, noise, whole("steps", steps)))
    raise DeclarationError(
        "noise_multiplier, sampling_rate and steps are all given: leave one out to find it"
    )


def split(
    shares: Iterable[Real], *, epsilon: Real, delta: Real = 0.0, neighbours: str = "add_remove"
) -> tuple[float, ...]:
    """The largest ε of pure releases, in proportion to `shares`, that together cost at most (ε, δ).

    Examples
    --------
    >>> from sordino.accounting import split
    >>> [round(part, 3) for part in split([1, 3], epsilon=1.0)]
    [0.25, 0.75]
    """
    target = (number("epsilon", epsilon), number("delta", delta), relation(neighbours))
    parts = _sordino.calibrate_split(*target, [number("shares", share) for share in shares])
    return tuple(parts[0])


def _calibrated(found: tuple[float, float, float, str, str | None]) -> Calibrated:
    value, lower, upper, accountant, note = found
    return Calibrated(value, Interval(lower, upper), accountant, note)
