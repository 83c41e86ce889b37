"""Durable budgets: what may be spent on a data set, and everything that was."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _sordino
from ._budget import Filter, Payer, terms
from ._check import Real, number
from ._events import Event, event_json
from .exceptions import DeclarationError

if TYPE_CHECKING:
    from ._declare import BoundsLike
    from ._schema import SchemaLike

__all__ = ["Account", "Charge", "DataSet", "Ledger"]


@dataclass(frozen=True)
class DataSet:
    """A data set and its budget, as a ledger shows it."""

    name: str
    epsilon: float
    delta: float
    neighbours: str
    unit: str
    spent: float
    left: float
    charges: int


@dataclass(frozen=True)
class Charge:
    """One charge of a ledger. It is spent, whether its result was released or not."""

    number: int
    time: str
    data_set: str
    who: str
    what: str
    event: Event
    state: str


class Ledger:
    """A ledger: one file that keeps budgets across processes and crashes, append-only.

    Parameters
    ----------
    path : path
        An existing ledger. `Ledger.create` makes one.

    Examples
    --------
    >>> import os, tempfile, numpy, sordino
    >>> folder = tempfile.mkdtemp()
    >>> X = numpy.arange(40.0).reshape(10, 4)
    >>> ledger = sordino.Ledger.create(os.path.join(folder, "patients.ledger"))
    >>> ledger.create_budget(X, name="patients", epsilon=2.0, who="ann")
    'patients'
    >>> account = ledger.account(data=X, who="ann")
    >>> _ = sordino.mechanisms.discrete_laplace(10, epsilon=0.5, budget=account)
    >>> [charge.what for charge in ledger.history()], round(account.left, 6)
    (['query discrete_laplace'], 1.5)
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        # Fails if there is none, or if an entry is not as it was written.
        _sordino.ledger_export(self._path)

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Ledger:
        """A new ledger in a new file."""
        _sordino.ledger_create(os.fspath(path))
        return cls(path)

    @property
    def path(self) -> str:
        """Where it is."""
        return self._path

    def create_budget(
        self,
        data: object,
        y: object = None,
        *,
        epsilon: Real,
        delta: Real = 1e-6,
        name: str | None = None,
        neighbours: str = "zero_out",
        unit: str = "record",
        schema: SchemaLike | None = None,
        bounds: BoundsLike | None = None,
        classes: Sequence[object] | None = None,
        target_bounds: tuple[Real, Real] | None = None,
        who: str | None = None,
        planned: bool = False,
        filter: Filter = "renyi",
        set_aside: Real = 0.0,
    ) -> str:
        """Give a data set its budget, once and for all, as its owner.

        Parameters
        ----------
        data : path, array or frame
            The data set. A file is known by its content, a table by its values and what is declared.
        y : array, optional
            The target, if it is part of the data set.
        epsilon, delta : float
            The whole budget.
        name : str, optional
            What it is called; needed for an array or frame, otherwise the name of the file.
        neighbours, unit : str
            The relation and the unit of everything that is paid from it.
        schema, bounds, classes, target_bounds
            What is declared about a table, as an estimator takes it.
        who : str, optional
            The owner; the user's name unless stated.
        planned, filter, set_aside
            As for `Budget`.

        Returns
        -------
        str
            Its name.
        """
        if not isinstance(data, (str, os.PathLike)) and name is None:
            raise DeclarationError("an array or frame has no name of its own: state name=")
        file, table, declared = _data(data, y, schema, bounds, classes, target_bounds)
        agreed = terms(epsilon, delta, neighbours, unit, planned, filter, set_aside)
        return _sordino.ledger_create_budget(self._path, file, table, declared, name, who, *agreed)

    def account(
        self,
        data: object,
        y: object = None,
        *,
        who: str | None = None,
        name: str | None = None,
        schema: SchemaLike | None = None,
        bounds: BoundsLike | None = None,
        classes: Sequence[object] | None = None,
        target_bounds: tuple[Real, Real] | None = None,
    ) -> Account:
        """Open the budget of a data set, for `budget=`.

        It is checked here that `data` is the data set: a file by its content, an array or frame by
        its values under what was declared. A fit on some rows or columns of it is charged in full.

        Parameters
        ----------
        data : path, array or frame
            The data set.
        y : array, optional
            The target, if it is part of the data set.
        who : str, optional
            The analyst; the user's name unless stated.
        name : str, optional
            Its name, if several have the same content.
        schema, bounds, classes, target_bounds
            What the owner declared about a table.

        Returns
        -------
        Account
            It pickles as path and names, so that other processes charge the same ledger.
        """
        file, table, declared = _data(data, y, schema, bounds, classes, target_bounds)
        return Account._of(_sordino.NativePayer.account(self._path, file, table, declared, name, who))

    def grant(self, name: str, *, to: str, epsilon: Real, delta: Real | None = None) -> None:
        """Give an analyst a share. From the first one on, only those who have one may spend."""
        at = None if delta is None else number("delta", delta)
        _sordino.ledger_grant(self._path, name, to, number("epsilon", epsilon), at)

    def show(self) -> list[DataSet]:
        """All data sets with their budgets."""
        held, totals = self._held()
        used = {number: (spent, left) for number, spent, left in totals}
        shown = []
        for item in held["data_sets"]:
            spent, left = used[item["data_set"]]
            charges = sum(charge["data_set"] == item["data_set"] for charge in held["charges"])
            terms = item["terms"]
            unit = terms["unit"] if isinstance(terms["unit"], str) else terms["unit"]["column"]
            shown.append(
                DataSet(
                    name=item["names"][0],
                    epsilon=terms["epsilon"],
                    delta=terms["delta"],
                    neighbours=str(terms["neighbours"]),
                    unit=unit,
                    spent=spent,
                    left=left,
                    charges=charges,
                )
            )
        return shown

    def history(self) -> list[Charge]:
        """All charges, in the order in which they were granted."""
        held, _ = self._held()
        names = {item["data_set"]: item["names"][0] for item in held["data_sets"]}
        return [
            Charge(
                number=item["charge"],
                time=item["time"],
                data_set=names[item["data_set"]],
                who=item["who"],
                what=item["what"],
                event=Event.from_json(json.dumps(item["event"])),
                state=item["state"],
            )
            for item in held["charges"]
        ]

    def verify(self, known: str | None = None) -> str:
        """Read every entry again. Returns the head of the history; keep it, and pass it later."""
        return _sordino.ledger_verify(self._path, known)

    def _held(self) -> tuple[dict[str, Any], list[tuple[int, float, float]]]:
        text, totals = _sordino.ledger_export(self._path)
        return json.loads(text), totals

    def __repr__(self) -> str:
        return f"<Ledger: {self._path}>"


class Account(Payer):
    """One analyst's view of one data set's budget in a ledger. Goes into `budget=`."""

    @classmethod
    def _of(cls, native: _sordino.NativePayer) -> Account:
        made = object.__new__(cls)
        made._native = native
        made._terms = json.loads(native.terms())
        return made

    def __init__(self) -> None:
        raise TypeError("an account is opened by sordino.Ledger(path).account(data=...)")

    @property
    def name(self) -> str:
        """The data set."""
        return self._places()[1]

    @property
    def who(self) -> str:
        """The analyst."""
        return self._places()[2]

    def charge(self, event: Event, *, what: str = "elsewhere") -> None:
        """Pay for a release that is made elsewhere. Refused if it does not fit."""
        self._native.charge(event_json(event), what)

    def _places(self) -> tuple[str, str, str]:
        places = self._native.places()
        assert places is not None
        return os.fspath(places[0]), places[1], places[2]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopened, self._places())

    def __repr__(self) -> str:
        return f"<Account of {self.who}: {self.left:.6g} left of epsilon {self.epsilon:g} for {self.name}>"


def _reopened(path: str, name: str, who: str) -> Account:
    return Account._of(_sordino.NativePayer.named(path, name, who))


def _data(
    data: object,
    y: object,
    schema: SchemaLike | None,
    bounds: BoundsLike | None,
    classes: Sequence[object] | None,
    target_bounds: tuple[Real, Real] | None,
) -> tuple[str | None, _sordino.Table | None, str | None]:
    """A file or a table, and its schema."""
    from ._declare import identity_schema
    from ._schema import schema_of

    if isinstance(data, (str, os.PathLike)):
        stated = None if schema is None else schema_of(schema).to_toml()
        return os.fspath(data), None, stated
    table, declared = identity_schema(data, y, schema, bounds, classes, target_bounds)
    return None, table, declared
