"""What is promised about a release, and what files say about releases."""

from __future__ import annotations

import html
import json
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _sordino
from .exceptions import DeclarationError

if TYPE_CHECKING:
    from ._events import Event
    from ._explain import Explanation

__all__ = ["Guarantee", "Interval", "Statement"]


class Interval(NamedTuple):
    """A number between two certified ends. Promise people the upper end."""

    lower: float
    upper: float


class Statement:
    """What a file says about a release: the fields of a guarantee, and its JSON.

    It is about the past, and it may be wrong: anybody can write a file. It can be read, shown,
    compared and added up. It pays for nothing.

    Examples
    --------
    >>> import sordino
    >>> text = '''{"neighbours": "zero_out", "unit": "record", "epsilon": {"lower": 0.5, "upper": 0.5},
    ...   "delta": 0.0, "accountant": "pure", "event": {"type": "pure", "epsilon": 0.5},
    ...   "arithmetic": 0.0, "seeded": false, "metered": true}'''
    >>> said = sordino.Statement.from_json(text)
    >>> print(said)
    ε <= 0.5, δ = 0 for one record under zero_out
    >>> round(said.together_with(said).epsilon.upper, 9)
    1.0
    """

    __slots__ = ("_fields", "_json")

    _json: str
    _fields: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError(
            f"a {type(self).__name__} is not made by hand: a release has one as `privacy_`, and "
            "`sordino.Statement.from_json` reads what a file says"
        )

    @classmethod
    def _of(cls, text: str) -> Statement:
        """From the normal form of the native half."""
        made = object.__new__(cls)
        object.__setattr__(made, "_json", text)
        object.__setattr__(made, "_fields", json.loads(text))
        return made

    @staticmethod
    def from_json(text: str) -> Statement:
        """Read what `to_json`, a report or the command wrote.

        Parameters
        ----------
        text : str
            The JSON of a guarantee.

        Returns
        -------
        Statement
            Never a `Guarantee`: a file is not evidence.
        """
        return Statement._of(_sordino.statement(text))

    def to_json(self) -> str:
        """The guarantee in JSON, as the command writes it."""
        return self._json

    @property
    def epsilon(self) -> Interval:
        """ε at `delta`: certified from below and above."""
        ends = self._fields["epsilon"]
        return Interval(_end(ends["lower"]), _end(ends["upper"]))

    @property
    def delta(self) -> float:
        """δ."""
        return float(self._fields["delta"])

    @property
    def neighbours(self) -> str:
        """The neighbouring relation: `add_remove`, `zero_out`, `replace`, ..."""
        said = self._fields["neighbours"]
        return said if isinstance(said, str) else json.dumps(said)

    @property
    def unit(self) -> str:
        """Whose data moves between neighbours: `record`, `client`, or the name of a column."""
        said = self._fields["unit"]
        return said if isinstance(said, str) else str(said["column"])

    @property
    def event(self) -> Event:
        """What was done, in the accountant's terms."""
        from ._events import Event

        return Event.from_json(json.dumps(self._fields["event"]))

    @property
    def accountant(self) -> str:
        """Which accountant certified it."""
        return str(self._fields["accountant"])

    @property
    def arithmetic(self) -> float:
        """The relative inflation of sensitivity that was paid for floating point."""
        return float(self._fields["arithmetic"])

    @property
    def seeded(self) -> bool:
        """The noise came from a fixed seed: the promise is void."""
        return bool(self._fields["seeded"])

    @property
    def metered(self) -> bool:
        """A budget or a ledger was charged."""
        return bool(self._fields["metered"])

    def holds(self) -> bool:
        """Is anything promised at all? Not for a seeded run, nor where ε is unbounded."""
        return not self.seeded and self.epsilon.upper < float("inf")

    def explain(self, *, people: int | None = None, group: int | None = None) -> Explanation:
        """What it means for one person, in words, numbers and a picture.

        Parameters
        ----------
        people : int, optional
            The number of people in the data, if it is public.
        group : int, optional
            Also say what a group of this many people loses.
        """
        from ._explain import explain_statement

        return explain_statement(self, people=people, group=group)

    def together_with(self, other: Statement, *, planned: bool = False) -> Statement:
        """What two releases promise together, at the sum of their deltas.

        Parameters
        ----------
        other : Statement
            Another one, for the same data, relation and unit.
        planned : bool, default False
            The parameters of neither release were chosen by the result of the other. Then the
            tightest accountant prices both; otherwise the upper ends are added up.

        Returns
        -------
        Statement
            A calculation, not evidence: budgets do the adding up that protects people.
        """
        if not isinstance(other, Statement):
            raise DeclarationError(
                f"together_with takes another guarantee or statement, got {type(other).__name__}"
            )
        return Statement._of(_sordino.together(self._json, other._json, planned))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statement):
            return NotImplemented
        return type(self) is type(other) and self._json == other._json

    def __hash__(self) -> int:
        return hash((type(self), self._json))

    def __str__(self) -> str:
        words = _sordino.statement_words(self._json)
        return re.sub("^ε <= [0-9.e-]+", f"ε <= {_outward(self.epsilon.upper, ROUND_CEILING)}", words)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def _repr_html_(self) -> str:
        epsilon, rows = self.epsilon, []
        rows.append(("epsilon", _ends(epsilon)))
        rows.append(("delta", f"{self.delta:g}"))
        rows.append(("neighbours", self.neighbours))
        rows.append(("unit", self.unit))
        rows.append(("accountant", self.accountant))
        rows.append(("charged", "yes" if self.metered else "no: no budget was charged"))
        if self.seeded:
            rows.append(("void", "the noise came from a fixed seed: nobody is protected"))
        cells = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
            for name, value in rows
        )
        return f"<table>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        # What a pickle says is what a file says.
        return (Statement.from_json, (self._json,))

    def __copy__(self) -> Statement:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Statement:
        return self


class Guarantee(Statement):
    """The promise that travels with a release: for one unit of data, under one relation, at one δ.

    ε is at most `epsilon.upper`. It covers this release alone; a budget says what several releases
    cost together. Only a release makes one: `model.privacy_`, `release.privacy_`. Written to a file
    and read again, it is a `Statement`.
    """

    __slots__ = ()

    @classmethod
    def _of(cls, text: str) -> Guarantee:
        made = super()._of(text)
        assert isinstance(made, Guarantee)
        return made


def _end(value: float | None) -> float:
    """An end of an interval; unbounded is null in JSON."""
    return float("inf") if value is None else float(value)


def _ends(epsilon: Interval) -> str:
    upper, lower = _outward(epsilon.upper, ROUND_CEILING), _outward(epsilon.lower, ROUND_FLOOR)
    return f"at most {upper}, at least {lower}"


def _outward(number: float, rounding: str) -> str:
    """Six digits, rounded to the safe side."""
    return f"{float(Context(prec=6, rounding=rounding).create_decimal_from_float(number)):g}"
