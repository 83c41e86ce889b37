"""From the events of Google's `dp_accounting` to ours, by the names of their classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .exceptions import DeclarationError

__all__ = ["converted"]


def converted(event: Any) -> dict[str, Any]:
    """The JSON object of an event of `dp_accounting`."""
    for base in type(event).__mro__:
        if convert := _CONVERSIONS.get(base.__name__):
            return convert(event)
    raise DeclarationError(
        f"{type(event).__name__} of dp_accounting has no counterpart; state what it does as an event of "
        "sordino.accounting, such as Renyi(orders=..., epsilons=...)"
    )


def _discrete_laplace(event: Any) -> dict[str, Any]:
    # P(k) ~ exp(-parameter |k|). Rounded towards less noise, which costs more.
    scale = math.nextafter(1.0 / event.noise_parameter, 0.0)
    return {"type": "discrete_laplace", "scale": scale, "sensitivity": int(event.sensitivity)}


def _randomized_response(event: Any) -> dict[str, Any]:
    # A uniform report with probability p, the truth otherwise. Rounded towards more truth.
    p, categories = float(event.noise_parameter), int(event.num_buckets)
    truth = min(math.nextafter(1.0 - p + p / categories, 1.0), 1.0)
    return {"type": "randomized_response", "categories": categories, "truth_probability": truth}


def _zcdp(event: Any) -> dict[str, Any]:
    if getattr(event, "xi", 0.0):
        raise DeclarationError("ZCDpEvent with xi above 0 has no counterpart; state it as Renyi(...)")
    return {"type": "zcdp", "rho": event.rho}


def _tree(event: Any) -> dict[str, Any]:
    if not isinstance(event.step_counts, int):
        raise DeclarationError("one tree is converted, got several; state each as TreeAggregation(...)")
    return {
        "type": "tree_aggregation",
        "steps": event.step_counts,
        "participations": 1,
        "separation": None,
        "nodes": "all",
        "noise_multiplier": event.noise_multiplier,
    }


def _epsilon_delta(event: Any) -> dict[str, Any]:
    if event.delta == 0:
        return {"type": "pure", "epsilon": event.epsilon}
    return {"type": "approximate", "epsilon": event.epsilon, "delta": event.delta}


def _selected(event: Any) -> dict[str, Any]:
    if event.shape != math.inf:
        raise DeclarationError(
            "RepeatAndSelectDpEvent is converted for shape = inf (Poisson); otherwise write "
            ".selected(shape=..., gamma=...)"
        )
    trials = {"distribution": "poisson", "mean": event.mean}
    return {"type": "selected", "trials": trials, "event": converted(event.event)}


def _fixed(kind: str) -> Callable[[Any], dict[str, Any]]:
    return lambda event: {
        "type": kind,
        "sample_size": int(event.sample_size),
        "population": int(event.source_dataset_size),
        "event": converted(event.event),
    }


_CONVERSIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "NoOpDpEvent": lambda event: {"type": "composed", "events": []},
    "NonPrivateDpEvent": lambda event: {"type": "non_private"},
    "GaussianDpEvent": lambda event: {"type": "gaussian", "noise_multiplier": event.noise_multiplier},
    "LaplaceDpEvent": lambda event: {"type": "laplace", "noise_multiplier": event.noise_multiplier},
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "ExponentialMechanismDpEvent": lambda event: {"type": "exponential", "epsilon": event.epsilon},
    "RandomizedResponseDpEvent": _randomized_response,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "ZCDpEvent": _zcdp,
    "ComposedDpEvent": lambda event: {
        "type": "composed",
        "events": [converted(part) for part in event.events],
    },
    "SelfComposedDpEvent": lambda event: {
        "type": "repeated",
        "count": int(event.count),
        "event": converted(event.event),
    },
    "PoissonSampledDpEvent": lambda event: {
        "type": "poisson_sampled",
        "sampling_rate": event.sampling_probability,
        "event": converted(event.event),
    },
    "SampledWithReplacementDpEvent": _fixed("sampled_with_replacement"),
    "SampledWithoutReplacementDpEvent": _fixed("sampled_without_replacement"),
    "SingleEpochTreeAggregationDpEvent": _tree,
    "RepeatAndSelectDpEvent": _selected,
}
