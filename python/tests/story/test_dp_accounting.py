"""Events of dp_accounting are converted by the names of their classes; it need not be installed."""

from __future__ import annotations

import math
from typing import Any

import pytest

import sordino
from sordino.accounting import DiscreteLaplace, Event, Gaussian, Pure, RandomizedResponse


def peer(name: str, **fields: Any) -> Any:
    return type(name, (), fields)()


def test_training_is_converted() -> None:
    gaussian = peer("GaussianDpEvent", noise_multiplier=1.1)
    sampled = peer("PoissonSampledDpEvent", sampling_probability=0.01, event=gaussian)
    training = peer("SelfComposedDpEvent", count=1000, event=sampled)
    expected = Gaussian(noise_multiplier=1.1).poisson_sampled(0.01).repeated(1000)
    assert Event.from_dp_accounting(training) == expected


def test_parameters_that_are_spelled_otherwise_are_rounded_towards_the_cost() -> None:
    laplace = Event.from_dp_accounting(peer("DiscreteLaplaceDpEvent", noise_parameter=0.3, sensitivity=2))
    assert laplace == DiscreteLaplace(scale=math.nextafter(1 / 0.3, 0), sensitivity=2)
    response = peer("RandomizedResponseDpEvent", noise_parameter=0.5, num_buckets=2)
    truth = math.nextafter(0.75, 1)
    assert Event.from_dp_accounting(response) == RandomizedResponse(categories=2, truth_probability=truth)
    assert Event.from_dp_accounting(peer("EpsilonDeltaDpEvent", epsilon=1.0, delta=0.0)) == Pure(epsilon=1.0)


def test_what_has_no_counterpart_is_named() -> None:
    with pytest.raises(sordino.DeclarationError, match="MixtureOfGaussiansDpEvent"):
        Event.from_dp_accounting(peer("MixtureOfGaussiansDpEvent"))
