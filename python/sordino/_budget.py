"""What may be spent: budgets in memory."""

from __future__ import annotations

import json
import os
import pickle
from typing import Any, Literal, NoReturn

from . import _sordino
from ._check import Real, number, relation, unit_json
from ._events import Event, event_json
from .exceptions import BudgetError, DeclarationError

__all__ = ["Budget", "Payer", "native_payer"]

Filter = Literal["renyi", "gaussian"]


class Payer:
    """What budgets and accounts have in common: both go into `budget=`.

    Copies of a payer are the payer itself, so that `clone`, `cross_val_score` and grid searches
    cannot lose a charge.
    """

    _native: _sordino.NativePayer
    _terms: dict[str, Any]

    @property
    def epsilon(self) -> float:
        """The most that may be spent."""
        return float(self._terms["epsilon"])

    @property
    def delta(self) -> float:
        """δ of the whole."""
        return float(self._terms["delta"])

    @property
    def neighbours(self) -> str:
        """The relation of everything that it pays for."""
        said = self._terms["neighbours"]
        return said if isinstance(said, str) else json.dumps(said)

    @property
    def unit(self) -> str:
        """Whom it protects: `record`, `client`, or the name of a column."""
        said = self._terms["unit"]
        return said if isinstance(said, str) else str(said["column"])

    @property
    def spent(self) -> float:
        """What is used, in ε. It says where to stop, and is not a guarantee to quote."""
        return self._native.gauge()[0]

    @property
    def left(self) -> float:
        """What is left, in ε."""
        return self._native.gauge()[1]

    def quote(self, event: Event) -> float:
        """What an event would take of what is left. Charges nothing; refuses as a charge would."""
        return self._native.quote(event_json(event))

    def _check_process(self) -> None:
        """Refuses a process that must not charge it."""

    def __copy__(self) -> Payer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Payer:
        return self


class Budget(Payer):
    """A budget in memory, forgotten with the process.

    A charge is granted if the total with it is at most ε. What is refused leaves the budget as it
    was. Nothing is ever refunded.

    Parameters
    ----------
    epsilon : float
        The most that may be spent.
    delta : float, default 1e-6
        δ of the whole.
    neighbours : str, default "zero_out"
        The neighbouring relation of everything that it pays for.
    unit : str, default "record"
        Whom it protects: `record`, `client`, or the name of a column.
    planned : bool, default False
        Promise that charges will not depend on earlier results: they then cost less together.
    filter : {"renyi", "gaussian"}
        What is added up for charges that are not pure.
    set_aside : float, default 0
        The part of δ that is reserved for charges with a δ of their own.

    Examples
    --------
    >>> import sordino
    >>> budget = sordino.Budget(epsilon=1.0, neighbours="add_remove")
    >>> count = sordino.mechanisms.discrete_laplace(1204, epsilon=0.4, budget=budget)
    >>> count.privacy_.metered, round(budget.left, 6)
    (True, 0.6)
    """

    def __init__(
        self,
        epsilon: Real,
        delta: Real = 1e-6,
        *,
        neighbours: str = "zero_out",
        unit: str = "record",
        planned: bool = False,
        filter: Filter = "renyi",
        set_aside: Real = 0.0,
    ) -> None:
        self._native = _sordino.NativePayer.budget(
            *terms(epsilon, delta, neighbours, unit, planned, filter, set_aside)
        )
        self._terms = json.loads(self._native.terms())
        self._process = os.getpid()

    def _check_process(self) -> None:
        """A forked process has a copy of the budget, which would be spent a second time."""
        if os.getpid() != self._process:
            raise BudgetError(
                "this Budget belongs to the process that made it: a copy of it in a forked process would be "
                "spent a second time. Use sordino.Ledger(path).account(data=...), which every process charges"
            )

    def charge(self, event: Event) -> None:
        """Pay for a release that is made elsewhere. Refused if it does not fit."""
        self._check_process()
        self._native.charge(event_json(event), "elsewhere")

    def history(self) -> list[tuple[Event, int]]:
        """Every event that was charged, and how often."""
        return [(Event.from_json(event), times) for event, times in self._native.spent()]

    def __repr__(self) -> str:
        return (
            f"<Budget: {self.left:.6g} left of epsilon {self.epsilon:g}, delta {self.delta:g}, "
            f"{self.neighbours}, unit {self.unit}>"
        )

    def __reduce__(self) -> NoReturn:
        raise pickle.PicklingError(
            "a Budget lives in one process: a copy of it in another would be spent a second time. Use "
            "sordino.Ledger(path).account(data=...), which every process charges, or n_jobs=1"
        )


def terms(
    epsilon: object,
    delta: object,
    neighbours: object,
    unit: object,
    planned: bool,
    filter: str,
    set_aside: object,
) -> tuple[float, float, str, str, bool, bool, float]:
    """The terms of a new budget, as the native half takes them."""
    if filter not in ("renyi", "gaussian"):
        raise DeclarationError(f'filter must be "renyi" or "gaussian", got {filter!r}')
    return (
        number("epsilon", epsilon),
        number("delta", delta),
        relation(neighbours),
        unit_json(unit),
        bool(planned),
        filter == "gaussian",
        number("set_aside", set_aside),
    )


def native_payer(budget: object) -> _sordino.NativePayer | None:
    """What the native half charges; none if nobody pays."""
    if budget is None:
        return None
    if not isinstance(budget, Payer):
        raise DeclarationError(
            f"budget must be a sordino.Budget, or an account of a sordino.Ledger, got {type(budget).__name__}"
        )
    budget._check_process()
    return budget._native
