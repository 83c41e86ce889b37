"""What a promise means for the people in the data."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import _sordino
from .exceptions import DeclarationError

if TYPE_CHECKING:
    from ._events import Event
    from ._guarantee import Statement

__all__ = ["Explanation", "explain"]

VOID = (
    "The noise came from a fixed seed, so that nobody is protected. What follows would hold for fresh noise."
)


@dataclass(frozen=True)
class Explanation:
    """What a promise lets the best attacker do. All numbers are rounded against the promise.

    Attributes
    ----------
    words : tuple of str
        Paragraphs for everybody.
    numbers : dict
        The same facts, as `sordino explain --json` has them.
    svg : str
        The trade-off curve as a self-contained picture.
    """

    words: tuple[str, ...]
    numbers: dict[str, Any]
    svg: str

    def __str__(self) -> str:
        return "\n\n".join(self.words)

    def __repr__(self) -> str:
        return f"<Explanation: epsilon {self.numbers['epsilon']}, delta {self.numbers['delta']}>"

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in self.words)
        return f"<div style='max-width:40em'>{text}<div style='max-width:30em'>{self.svg}</div></div>"


def explain(
    promise: Event | Statement | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    neighbours: str | None = None,
    people: int | None = None,
    group: int | None = None,
) -> Explanation:
    """Say what a promise means, in words, numbers and a picture.

    Parameters
    ----------
    promise : Event or Statement, optional
        What was done, or what was promised. Without it: `epsilon`, a bare pair.
    epsilon : float, optional
        The promise, where only the pair is known.
    delta : float, optional
        Its δ: 0 with `epsilon`, 1e-6 with an event.
    neighbours : str, optional
        The neighbouring relation, `add_remove` unless stated.
    people : int, optional
        The number of people in the data, if it is public.
    group : int, optional
        Also say what a group of this many people loses.

    Examples
    --------
    >>> import sordino
    >>> meaning = sordino.explain(epsilon=1.0)
    >>> round(meaning.numbers["right_guesses"], 4)
    0.7311
    >>> print(meaning.words[0])
    The promise hides whether one person's data were used at all.
    """
    from ._events import Event
    from ._guarantee import Statement

    if isinstance(promise, Statement):
        if epsilon is not None or delta is not None or neighbours is not None:
            raise DeclarationError("a guarantee states epsilon, delta and neighbours itself: leave them out")
        return explain_statement(promise, people=people, group=group)
    relation = "add_remove" if neighbours is None else neighbours
    if isinstance(promise, Event):
        at = 1e-6 if delta is None else delta
        return _explained(promise.to_json(), epsilon, at, relation, None, people, group)
    if promise is not None:
        raise DeclarationError(f"explain takes an event or a guarantee, got {type(promise).__name__}")
    return _explained(None, epsilon, 0.0 if delta is None else delta, relation, None, people, group)


def explain_statement(said: Statement, *, people: int | None, group: int | None) -> Explanation:
    """The same for a guarantee, by the whole curve of its event where that is all it cost."""
    fields = json.loads(said.to_json())
    relation = said.neighbours
    unit, event = json.dumps(fields["unit"]), json.dumps(fields["event"])
    upper = said.epsilon.upper
    cost = _sordino.epsilon(event, said.delta, relation, "auto")[1]
    if upper <= cost or upper == float("inf"):
        made = _explained(event, None, said.delta, relation, unit, people, group)
    else:
        # The sum of prices of releases that were chosen one after the other: its event says less.
        made = _explained(None, upper, said.delta, relation, unit, people, group)
    return replace(made, words=(VOID, *made.words)) if said.seeded else made


def _explained(
    event: str | None,
    epsilon: float | None,
    delta: float,
    neighbours: str,
    unit: str | None,
    people: int | None,
    group: int | None,
) -> Explanation:
    numbers, words, svg = _sordino.explain(event, epsilon, delta, neighbours, unit, people, group)
    return Explanation(tuple(words), json.loads(numbers), svg)
