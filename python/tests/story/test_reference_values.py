"""The reference values of the Rust tests, asked from Python: never below the truth, and close above it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sordino.accounting import Event, Gaussian, calibrate, delta, epsilon

REFERENCE = Path(__file__).resolve().parents[3] / "crates/privacy/tests/reference"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((REFERENCE / name).read_text())["cases"]
    return found


def test_there_are_enough_of_them() -> None:
    assert len(cases("accounting.json")) > 50


@pytest.mark.parametrize("case", cases("accounting.json"), ids=lambda case: case["name"])
def test_costs_meet_the_reference(case: dict[str, Any]) -> None:
    event = Event.from_json(json.dumps(case["event"]))
    if case.get("delta") is None:
        cost, truth = delta(event, case["epsilon"], neighbours=case["neighbours"]), case["true_delta"]
    else:
        cost, truth = epsilon(event, case["delta"], neighbours=case["neighbours"]), case["true_epsilon"]
    allowed = truth["at_most"] * (1 + case["relative_tolerance"]) + case["absolute_tolerance"]
    assert cost.lower <= truth["at_most"]
    assert truth["at_least"] <= cost.upper <= allowed


@pytest.mark.parametrize("case", cases("calibration.json"), ids=lambda case: f"epsilon {case['epsilon']}")
def test_calibration_meets_the_reference(case: dict[str, Any]) -> None:
    found = calibrate(
        epsilon=case["epsilon"],
        delta=case["delta"],
        sampling_rate=case["sampling_rate"],
        steps=case["steps"],
    )
    least = case["least_noise_multiplier"]
    assert least - 1e-9 <= found.value <= 1.001 * least


# Connect-the-dots on a lattice of 1e-4, and the interval of PRV.
@pytest.mark.parametrize(
    ("rate", "noise", "steps", "at", "dots", "prv"),
    [
        (0.01, 1.0, 1000, 1e-5, 1.8282436456, (1.808116, 1.848380)),
        (0.05, 2.0, 500, 1e-5, 2.5320336133, (2.511885, 2.552196)),
        (0.001, 0.5, 1000, 1e-5, 3.2388806260, (3.218448, 3.259341)),
        (0.001, 0.5, 1000, 1e-6, 4.2350709651, (4.2146, 4.2551)),
        (256.0 / 60000.0, 1.1, 14062, 1e-5, 2.3816860022, (2.361463, 2.401752)),
        (0.64, 2.0, 32, 1e-5, 9.572030598319, (9.5515, 9.5925)),
    ],
)
def test_training_runs_agree_with_two_other_programs(
    rate: float, noise: float, steps: int, at: float, dots: float, prv: tuple[float, float]
) -> None:
    cost = epsilon(Gaussian(noise_multiplier=noise).poisson_sampled(rate).repeated(steps), at)
    assert cost.lower <= dots and cost.upper >= prv[0] and cost.lower <= prv[1]
    assert cost.upper - cost.lower < 1e-3 * cost.upper


def test_an_event_survives_json_and_its_own_expression() -> None:
    for case in cases("accounting.json"):
        event = Event.from_json(json.dumps(case["event"]))
        assert Event.from_json(event.to_json()) == event
        import sordino.accounting

        assert eval(repr(event), vars(sordino.accounting)) == event
