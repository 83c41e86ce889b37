"""What a fit would cost and do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ._events import Event
from ._guarantee import Interval

__all__ = ["Plan"]


@dataclass(frozen=True)
class Plan:
    """A fit before it happens, from public numbers alone.

    Attributes
    ----------
    event : Event
        What would be charged.
    epsilon : Interval
        Its cost at `delta`.
    delta : float
        δ.
    neighbours : str
        The neighbouring relation.
    method : str
        How it would learn.
    steps : int or None
        The number of noisy steps.
    noise_multiplier : float or None
        The noise, in clip norms.
    notes : tuple of str
        Defaults to know of.
    fields : dict
        Everything, settings with their defaults included.
    """

    event: Event
    epsilon: Interval
    delta: float
    neighbours: str
    method: str
    steps: int | None
    noise_multiplier: float | None
    notes: tuple[str, ...]
    fields: dict[str, Any]

    @staticmethod
    def _of(text: str) -> Plan:
        fields = json.loads(text)
        ends = fields["epsilon"]
        infinite = float("inf")
        return Plan(
            event=Event.from_json(json.dumps(fields["event"])),
            epsilon=Interval(ends["lower"], infinite if ends["upper"] is None else ends["upper"]),
            delta=fields["delta"],
            neighbours=fields["neighbours"],
            method=fields["method"],
            steps=fields["steps"],
            noise_multiplier=fields["noise_multiplier"],
            notes=tuple(fields["notes"]),
            fields=fields,
        )

    def __str__(self) -> str:
        lines = [
            f"method      {self.method}",
            f"epsilon     at most {self.epsilon.upper:.6g}",
            f"delta       {self.delta:g}",
            f"neighbours  {self.neighbours}",
        ]
        if self.steps is not None:
            lines.append(f"steps       {self.steps}")
        if self.noise_multiplier is not None:
            lines.append(f"noise       {self.noise_multiplier:.6g} clip norms")
        return "\n".join(lines)
