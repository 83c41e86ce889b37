"""Events: what a computation does, in the accountant's terms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from . import _sordino
from ._check import Real, Whole, number, whole
from .exceptions import DeclarationError

__all__ = [
    "AboveThreshold",
    "Approximate",
    "Composed",
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
    "event_json",
]


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
    return Event._of(
        {"type": "discrete_gaussian", "sigma": number("sigma", sigma), "sensitivity": sensitivity}
    )


def DiscreteLaplace(*, scale: Real, sensitivity: Whole = 1) -> Event:
    """P(k) ~ exp(-\\|k\\| / scale) on one integer."""
    sensitivity = whole("sensitivity", sensitivity)
    return Event._of(
        {"type": "discrete_laplace", "scale": number("scale", scale), "sensitivity": sensitivity}
    )


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


def event_json(event: object) -> str:
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
