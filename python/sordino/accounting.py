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

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _sordino
from ._check import Real, Whole, number, relation, whole
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


class Event:
    """One private computation: what it adds noise to, how much, how often, on which sample.

    Made by `Gaussian(...)`, `Pure(...)` and the other functions of this module, or read from JSON.

    Examples
    --------
    >>> from sordino.accounting import Event, Pure
    >>> query = Event.from_json('{"type": "pure", "epsilon": 0.5}')
    >>> query == Pure(epsilon=0.5)
    True
    >>> query.repeated(4).to_json()
    '{"type":"repeated","count":4,"event":{"type":"pure","epsilon":0.5}}'
    """

    __slots__ = ("_json",)

    _json: str

    def __init__(self) -> None:
        raise TypeError("an event is made by a function of sordino.accounting, or by Event.from_json")

    @staticmethod
    def _of(fields: dict[str, Any]) -> Event:
        return Event.from_json(json.dumps(fields))

    @staticmethod
    def from_json(text: str) -> Event:
        """Read an event, or the event of a claim, from JSON.

        Parameters
        ----------
        text : str
            What `to_json` or the command wrote.
        """
        if not isinstance(text, str):
            raise DeclarationError(f"an event is read from text, got {type(text).__name__}")
        made = object.__new__(Event)
        object.__setattr__(made, "_json", _sordino.event(text))
        return made

    @staticmethod
    def from_dp_accounting(event: object) -> Event:
        """Convert an event of Google's `dp_accounting`, which need not be installed.

        Its `noise_multiplier` is read as ours: noise over the norm of one contribution. Under
        `add_remove` and `zero_out` that is the same; under `replace` ours costs more.

        Parameters
        ----------
        event : dp_accounting.DpEvent
            What to convert. An event without a counterpart is refused by name.
        """
        from ._dp_accounting import converted

        return Event._of(converted(event))

    def to_json(self) -> str:
        """The event in JSON, its one stable form."""
        return self._json

    @property
    def type(self) -> str:
        """Its name in JSON, such as `poisson_sampled`."""
        return str(self._fields()["type"])

    def poisson_sampled(self, sampling_rate: Real) -> Event:
        """On a sample that each record joins independently, with this probability."""
        return self._in("poisson_sampled", sampling_rate=number("sampling_rate", sampling_rate))

    def sampled_without_replacement(self, sample_size: Whole, population: Whole) -> Event:
        """On a uniform sample of this many distinct records. Under `replace` only."""
        return self._in("sampled_without_replacement", **_sample(sample_size, population))

    def sampled_with_replacement(self, sample_size: Whole, population: Whole) -> Event:
        """On this many independent uniform draws. Under `replace` only."""
        return self._in("sampled_with_replacement", **_sample(sample_size, population))

    def repeated(self, count: Whole) -> Event:
        """Again and again, adaptively."""
        return self._in("repeated", count=whole("count", count))

    def then(self, other: Event) -> Event:
        """Followed by another one."""
        return Composed(self, other)

    def shuffled_epochs(self, epochs: Whole) -> Event:
        """On disjoint batches, each unit in one batch an epoch; no amplification."""
        return self._in("shuffled_epochs", epochs=whole("epochs", epochs))

    def balls_in_bins(self, bins: Whole, epochs: Whole = 1) -> Event:
        """On batches of which each unit joins one an epoch, chosen uniformly and independently."""
        return self._in("balls_in_bins", bins=whole("bins", bins), epochs=whole("epochs", epochs))

    def shuffled_reports(self, reports: Whole) -> Event:
        """As one of this many local reports that go through a shuffler."""
        return self._in("shuffled_reports", reports=whole("reports", reports))

    def last_iterate(
        self, *, steps: Whole, step_size: Real, strong_convexity: Real, smoothness: Real
    ) -> Event:
        """As a step of noisy gradient descent of which only the last iterate is released."""
        return self._in(
            "last_iterate",
            steps=whole("steps", steps),
            step_size=number("step_size", step_size),
            strong_convexity=number("strong_convexity", strong_convexity),
            smoothness=number("smoothness", smoothness),
        )

    def for_group(self, size: Whole) -> Event:
        """As it is for groups of units that change together."""
        return self._in("group", size=whole("size", size))

    def selected(
        self, *, mean: Real | None = None, shape: Real | None = None, gamma: Real | None = None
    ) -> Event:
        """The best of a secret random number of runs.

        Parameters
        ----------
        mean : float, optional
            The mean of a Poisson number of runs.
        shape, gamma : float, optional
            The parameters of a truncated negative binomial number of runs, instead of `mean`.
        """
        trials: dict[str, Any]
        if mean is not None and shape is None and gamma is None:
            trials = {"distribution": "poisson", "mean": number("mean", mean)}
        elif mean is None and shape is not None and gamma is not None:
            trials = {
                "distribution": "truncated_negative_binomial",
                "shape": number("shape", shape),
                "gamma": number("gamma", gamma),
            }
        else:
            raise DeclarationError("a selection takes `mean`, or `shape` and `gamma`")
        return self._in("selected", trials=trials)

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = json.loads(self._json)
        return fields

    def _in(self, kind: str, **fields: Any) -> Event:
        return Event._of({"type": kind, **fields, "event": self._fields()})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an event cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an event cannot be changed")

    def __eq__(self, other: object) -> bool:
        return self._json == other._json if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        return _written(self._fields())

    def __reduce__(self) -> tuple[Any, ...]:
        return (Event.from_json, (self._json,))


def Gaussian(
    *, noise_multiplier: Real | None = None, sigma: Real | None = None, sensitivity: Real | None = None
) -> Event:
    """Gaussian noise on a vector: `noise_multiplier`, or `sigma` with `sensitivity` (L2)."""
    return _noise("gaussian", noise_multiplier, "sigma", sigma, sensitivity)


def Laplace(
    *, noise_multiplier: Real | None = None, scale: Real | None = None, sensitivity: Real | None = None
) -> Event:
    """Laplace noise on every coordinate: `noise_multiplier`, or `scale` with `sensitivity` (L1)."""
    return _noise("laplace", noise_multiplier, "scale", scale, sensitivity)


def DiscreteGaussian(*, sigma: Real, sensitivity: Whole = 1) -> Event:
    """P(k) ~ exp(-k² / (2 sigma²)) on one integer."""
    sensitivity = whole("sensitivity", sensitivity)
    return Event._of({"type": "discrete_gaussian", "sigma": number("sigma", sigma), "sensitivity": sensitivity})


def DiscreteLaplace(*, scale: Real, sensitivity: Whole = 1) -> Event:
    """P(k) ~ exp(-\\|k\\| / scale) on one integer."""
    sensitivity = whole("sensitivity", sensitivity)
    return Event._of({"type": "discrete_laplace", "scale": number("scale", scale), "sensitivity": sensitivity})


def RandomizedResponse(*, categories: Whole, truth_probability: Real) -> Event:
    """A category that is reported as it is with this probability. Under `replace` only."""
    fields = {"categories": whole("categories", categories)}
    truth = number("truth_probability", truth_probability)
    return Event._of({"type": "randomized_response", **fields, "truth_probability": truth})


def Exponential(*, epsilon: Real) -> Event:
    """The exponential mechanism: its loss has range `epsilon`."""
    return Event._of({"type": "exponential", "epsilon": number("epsilon", epsilon)})


def Pure(*, epsilon: Real) -> Event:
    """Any mechanism with pure privacy."""
    return Event._of({"type": "pure", "epsilon": number("epsilon", epsilon)})


def Approximate(*, epsilon: Real, delta: Real) -> Event:
    """Any mechanism with (ε, δ)-privacy."""
    fields = {"epsilon": number("epsilon", epsilon), "delta": number("delta", delta)}
    return Event._of({"type": "approximate", **fields})


def Zcdp(*, rho: Real) -> Event:
    """Any mechanism with zero-concentrated privacy."""
    return Event._of({"type": "zcdp", "rho": number("rho", rho)})


def Gdp(*, mu: Real) -> Event:
    """Any mechanism with Gaussian privacy."""
    return Event._of({"type": "gdp", "mu": number("mu", mu)})


def Renyi(*, orders: Sequence[Real], epsilons: Sequence[Real]) -> Event:
    """Any mechanism with these Rényi divergences."""
    numbers = {
        "orders": [number("orders", order) for order in orders],
        "epsilons": [number("epsilons", value) for value in epsilons],
    }
    return Event._of({"type": "renyi", **numbers})


def Composed(*events: Event) -> Event:
    """One after the other, adaptively. Of nothing: free."""
    for event in events:
        if not isinstance(event, Event):
            raise DeclarationError(f"Composed takes events, got {type(event).__name__}")
    return Event._of({"type": "composed", "events": [event._fields() for event in events]})


def AboveThreshold(*, epsilon: Real) -> Event:
    """The sparse-vector technique up to its first answer above the threshold."""
    return Event._of({"type": "above_threshold", "epsilon": number("epsilon", epsilon)})


def TreeAggregation(
    *,
    steps: Whole,
    noise_multiplier: Real,
    participations: Whole = 1,
    separation: Whole | None = None,
    nodes: Literal["all", "read"] = "all",
) -> Event:
    """Prefix sums from noisy nodes of a binary tree."""
    fields: dict[str, Any] = {"steps": whole("steps", steps)}
    fields["participations"] = whole("participations", participations)
    fields["separation"] = None if separation is None else whole("separation", separation)
    fields |= {"nodes": nodes, "noise_multiplier": number("noise_multiplier", noise_multiplier)}
    return Event._of({"type": "tree_aggregation", **fields})


def Toeplitz(
    *,
    steps: Whole,
    noise_multiplier: Real,
    bands: Whole | None = None,
    participations: Whole = 1,
    separation: Whole | None = None,
) -> Event:
    """Prefix sums with noise that a banded Toeplitz matrix correlates."""
    fields: dict[str, Any] = {"steps": whole("steps", steps)}
    fields["bands"] = None if bands is None else whole("bands", bands)
    fields["participations"] = whole("participations", participations)
    fields["separation"] = None if separation is None else whole("separation", separation)
    fields["noise_multiplier"] = number("noise_multiplier", noise_multiplier)
    return Event._of({"type": "toeplitz", **fields})


def NonPrivate() -> Event:
    """What promises nothing."""
    return Event._of({"type": "non_private"})


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
    json = _event(event)
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
    json = _event(event)
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
        return _calibrated(_sordino.noise_of(*target, lambda noise: _event(build(noise))))
    rate = 1.0 if sampling_rate is None else number("sampling_rate", sampling_rate)
    if noise_multiplier is None:
        times = 1 if steps is None else whole("steps", steps)
        return _calibrated(_sordino.calibrate_noise(*target, rate, times))
    noise = number("noise_multiplier", noise_multiplier)
    if steps is None:
        return _calibrated(_sordino.calibrate_steps(*target, noise, rate))
    if sampling_rate is None:
        return _calibrated(_sordino.calibrate_rate(*target, noise, whole("steps", steps)))
    raise DeclarationError("noise_multiplier, sampling_rate and steps are all given: leave one out to find it")


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


def _event(event: object) -> str:
    if not isinstance(event, Event):
        raise DeclarationError(
            f"expected an event such as Gaussian(noise_multiplier=1.1), got {type(event).__name__}"
        )
    return event.to_json()


def _sample(sample_size: Whole, population: Whole) -> dict[str, int]:
    return {"sample_size": whole("sample_size", sample_size), "population": whole("population", population)}


def _noise(kind: str, multiplier: object, name: str, value: object, sensitivity: object) -> Event:
    if multiplier is not None and value is None and sensitivity is None:
        return Event._of({"type": kind, "noise_multiplier": number("noise_multiplier", multiplier)})
    if multiplier is None and value is not None and sensitivity is not None:
        fields = {name: number(name, value), "sensitivity": number("sensitivity", sensitivity)}
        return Event._of({"type": kind, **fields})
    raise DeclarationError(f"{kind} noise takes `noise_multiplier`, or `{name}` and `sensitivity`")


# Events around another one: the method that makes them, with its positional arguments.
_METHODS = {
    "poisson_sampled": ("poisson_sampled", ("sampling_rate",)),
    "sampled_without_replacement": ("sampled_without_replacement", ("sample_size", "population")),
    "sampled_with_replacement": ("sampled_with_replacement", ("sample_size", "population")),
    "repeated": ("repeated", ("count",)),
    "shuffled_epochs": ("shuffled_epochs", ("epochs",)),
    "balls_in_bins": ("balls_in_bins", ("bins", "epochs")),
    "shuffled_reports": ("shuffled_reports", ("reports",)),
    "group": ("for_group", ("size",)),
}


def _written(fields: dict[str, Any]) -> str:
    """The expression that makes an event."""
    kind = fields["type"]
    inner = fields.get("event")
    if kind == "composed":
        return f"Composed({', '.join(_written(event) for event in fields['events'])})"
    if inner is None:
        name = "".join(word.capitalize() for word in kind.split("_"))
        return f"{name}({_keywords(fields)})"
    if kind == "selected":
        trials = {name: value for name, value in fields["trials"].items() if name != "distribution"}
        return f"{_written(inner)}.selected({_keywords(trials)})"
    if kind in _METHODS:
        method, places = _METHODS[kind]
        return f"{_written(inner)}.{method}({', '.join(repr(fields[place]) for place in places)})"
    return f"{_written(inner)}.{kind}({_keywords(fields)})"


def _keywords(fields: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in fields.items() if name not in ("type", "event"))
