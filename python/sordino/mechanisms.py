"""One number, one vector or one choice, released with exact noise.

Each function pays first, draws then, and returns a `Release` with `.value`, `.error(0.95)` and
`.privacy_`. Without `budget=` nobody adds up what several releases cost, and the guarantee says so.

| question | function |
|---|---|
| one integer (a count, a sum of clamped integers) | `discrete_laplace`, `discrete_gaussian` |
| many integers at once (the cells of a histogram) | `counts` |
| a sum of vectors, each clipped | `laplace`, `gaussian`, `k_norm` |
| which candidate has the best score | `exponential`, `permute_and_flip`, `report_noisy_max` |
| the same, with Gaussian noise | `gaussian_noisy_max` |
| which k candidates | `top_k` |
| one person's own category, before it leaves them | `randomized_response` |
| the first of a list of counts above a threshold | `above_threshold` |

`sensitivity` is how far one unit moves the answer under the neighbouring relation. It is yours to
derive: a value that is too small breaks the promise. The relation is the budget's unless it is
stated, and `add_remove` without either. The unit is `record` unless it is stated: a budget that
protects persons with several records refuses a sensitivity that was derived for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _sordino
from ._budget import Payer, native_payer
from ._check import Real, Whole, number, relation, unit_json, whole
from ._release import Release
from .danger import current_seed
from ._validate import as_floats
from .exceptions import DeclarationError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "above_threshold",
    "counts",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "gaussian",
    "gaussian_noisy_max",
    "k_norm",
    "laplace",
    "permute_and_flip",
    "randomized_response",
    "report_noisy_max",
    "top_k",
]

if TYPE_CHECKING:
    Integers = Union[Sequence[int], npt.NDArray[np.integer[Any]]]


def discrete_laplace(
    value: Whole,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """Add two-sided geometric noise to one integer: ε-private.

    Parameters
    ----------
    value : int
        The answer.
    epsilon : float
        The price.
    sensitivity : int, default 1
        How far one unit moves the answer.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> count = mechanisms.discrete_laplace(1204, epsilon=0.5)
    >>> abs(count.value - 1204) < 200, count.error(0.95)
    (True, 6.0)
    """
    sensitivity = whole("sensitivity", sensitivity)
    asked = (_integer("value", value), number("epsilon", epsilon), sensitivity)
    return Release(_sordino.discrete_laplace(*(asked + _terms(budget, neighbours, unit))))


def discrete_gaussian(
    value: Whole,
    *,
    rho: Real | None = None,
    epsilon: Real | None = None,
    delta: Real | None = None,
    sensitivity: Whole = 1,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """Add discrete Gaussian noise to one integer: ρ-zero-concentrated, or (ε, δ)-private.

    Parameters
    ----------
    value : int
        The answer.
    rho : float, optional
        The price, instead of `epsilon`.
    epsilon, delta : float, optional
        The price. δ is the budget's unless stated, and 1e-6 without either.
    sensitivity : int, default 1
        How far one unit moves the answer.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> mechanisms.discrete_gaussian(1204, rho=0.005).error(0.95)
    20.0
    """
    prices = (_optional("rho", rho), _optional("epsilon", epsilon), _delta(delta, budget))
    asked = (_integer("value", value), *prices, whole("sensitivity", sensitivity))
    return Release(_sordino.discrete_gaussian(*(asked + _terms(budget, neighbours, unit))))


def counts(
    values: Integers,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    one_moves: bool = False,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[npt.NDArray[np.int64]]:
    """Add two-sided geometric noise to each of several integers: ε-private together.

    Parameters
    ----------
    values : sequence of int
        The answers; how many there are is public.
    epsilon : float
        The price of all of them.
    sensitivity : int, default 1
        How far one unit moves them, added up.
    one_moves : bool, default False
        A unit moves one of them only.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> cells = mechanisms.counts([310, 95, 402], epsilon=1.0)
    >>> len(cells.value), cells.privacy_.epsilon.upper <= 1.0 + 1e-9
    (3, True)
    """
    asked = (_integers("values", values), number("epsilon", epsilon), whole("sensitivity", sensitivity))
    return Release(_sordino.counts(*(asked + (bool(one_moves),) + _terms(budget, neighbours, unit))))


def laplace(
    rows: object,
    *,
    clip_norm: Real,
    epsilon: Real,
    max_records: Whole | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[npt.NDArray[np.float64]]:
    """Sum rows that are clipped to an L1 norm, with Laplace noise: ε-private.

    Parameters
    ----------
    rows : array of shape (n,) or (n, d)
        One row for each unit. A row with a larger norm is clipped.
    clip_norm : float
        The largest L1 norm of a row.
    epsilon : float
        The price.
    max_records : int, optional
        A public bound on n. Needed where n is private (`add_remove`); otherwise it is n.
    neighbours, unit : str, optional
        The relation, and whose each row is.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> hours = mechanisms.laplace([7.5, 8.0, 31.0], clip_norm=10, epsilon=1.0, neighbours="zero_out")
    >>> hours.value.shape
    (1,)
    """
    return _sum("laplace", rows, clip_norm, epsilon, 0.0, max_records, neighbours, unit, budget)


def gaussian(
    rows: object,
    *,
    clip_norm: Real,
    epsilon: Real,
    delta: Real | None = None,
    max_records: Whole | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[npt.NDArray[np.float64]]:
    """Sum rows that are clipped to an L2 norm, with Gaussian noise: (ε, δ)-private.

    Parameters
    ----------
    rows : array of shape (n,) or (n, d)
        One row for each unit. A row with a larger norm is clipped.
    clip_norm : float
        The largest L2 norm of a row.
    epsilon, delta : float
        The price. δ is the budget's unless stated, and 1e-6 without either.
    max_records : int, optional
        A public bound on n. Needed where n is private (`add_remove`); otherwise it is n.
    neighbours, unit : str, optional
        The relation, and whose each row is.
    budget : Budget or Account, optional
        What pays.
    """
    at = _delta(delta, budget)
    return _sum("gaussian", rows, clip_norm, epsilon, at, max_records, neighbours, unit, budget)


def k_norm(
    rows: object,
    *,
    clip_norm: Real,
    epsilon: Real,
    max_records: Whole | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[npt.NDArray[np.float64]]:
    """Sum rows that are clipped to an L2 norm, with spherical noise: ε-private without δ.

    Its `error` bounds the length of the noise. The parameters are those of `laplace`, with an L2
    norm.
    """
    return _sum("k_norm", rows, clip_norm, epsilon, 0.0, max_records, neighbours, unit, budget)


def exponential(
    scores: Integers,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    monotone: bool = False,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """Choose the index of a candidate with a high score: ε-private, of bounded range.

    Parameters
    ----------
    scores : sequence of int
        One score for each candidate, on an integer grid.
    epsilon : float
        The price.
    sensitivity : int, default 1
        How far one unit moves a score.
    monotone : bool, default False
        One unit moves all scores in the same direction, as votes do. Halves the noise.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> winner = mechanisms.exponential([310, 95, 402, 17], epsilon=2.0, monotone=True)
    >>> winner.value
    2
    """
    return _choose("exponential", scores, epsilon, 0.0, sensitivity, monotone, neighbours, unit, budget)


def permute_and_flip(
    scores: Integers,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    monotone: bool = False,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """The same, never worse for a single choice. The parameters are those of `exponential`."""
    return _choose("permute_and_flip", scores, epsilon, 0.0, sensitivity, monotone, neighbours, unit, budget)


def report_noisy_max(
    scores: Integers,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    monotone: bool = False,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """The same, in time that tells nothing. The parameters are those of `exponential`."""
    return _choose("report_noisy_max", scores, epsilon, 0.0, sensitivity, monotone, neighbours, unit, budget)


def gaussian_noisy_max(
    scores: Integers,
    *,
    rho: Real,
    squared_sensitivity: Whole = 1,
    delta: Real | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """Choose the largest score after Gaussian noise: ρ-zero-concentrated, for votes of many.

    Parameters
    ----------
    scores : sequence of int
        One score for each candidate, on an integer grid.
    rho : float
        The price.
    squared_sensitivity : int, default 1
        The square of how far one unit moves all scores, in L2.
    delta : float, optional
        δ of the guarantee, if nobody pays; 1e-6 unless stated.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.
    """
    at = _delta(delta, budget)
    how = "gaussian_noisy_max"
    price, squared = number("rho", rho), whole("squared_sensitivity", squared_sensitivity)
    asked = (_integers("scores", scores), how, price, at, squared, False)
    return Release(_sordino.choose(*(asked + _terms(budget, neighbours, unit))))


def top_k(
    scores: Integers,
    k: Whole,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    monotone: bool = False,
    delta: Real | None = None,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[list[int]]:
    """Choose the indices of k candidates with high scores, ε for each choice.

    Parameters
    ----------
    scores : sequence of int
        One score for each candidate, on an integer grid.
    k : int
        How many are chosen.
    epsilon : float
        The price of each choice.
    sensitivity : int, default 1
        How far one unit moves a score.
    monotone : bool, default False
        One unit moves all scores in the same direction.
    delta : float, optional
        δ of the guarantee, if nobody pays; 0 unless stated.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> sorted(mechanisms.top_k([310, 95, 402, 17], 2, epsilon=2.0, monotone=True).value)
    [0, 2]
    """
    at = 0.0 if delta is None else number("delta", delta)
    asked = (_integers("scores", scores), whole("k", k), number("epsilon", epsilon), at)
    shift = (whole("sensitivity", sensitivity), bool(monotone))
    return Release(_sordino.top_k(*(asked + shift + _terms(budget, neighbours, unit))))


def randomized_response(
    category: Whole,
    *,
    categories: Whole,
    epsilon: Real,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int]:
    """Report one person's own category, or another one: ε-private under `replace`.

    Parameters
    ----------
    category : int
        The truth, from 0 to `categories` - 1.
    categories : int
        How many there are.
    epsilon : float
        The price.
    unit : str, optional
        Whose category it is.
    budget : Budget or Account, optional
        What pays.
    """
    category, categories = whole("category", category), whole("categories", categories)
    if category >= categories:
        raise DeclarationError("category must be below the number of categories")
    asked = (category, categories, number("epsilon", epsilon))
    return Release(_sordino.randomized_response(*(asked + _terms(budget, "replace", unit))))


def above_threshold(
    answers: Integers,
    threshold: Whole,
    *,
    epsilon: Real,
    sensitivity: Whole = 1,
    neighbours: str | None = None,
    unit: str | None = None,
    budget: Payer | None = None,
) -> Release[int | None]:
    """Find the place of the first answer above a public threshold: ε-private, however long the list.

    Parameters
    ----------
    answers : sequence of int
        In order; how many there are is public.
    threshold : int
        Public.
    epsilon : float
        The price of the whole list.
    sensitivity : int, default 1
        How far one unit moves each answer.
    neighbours, unit : str, optional
        The relation and the unit for which the sensitivity was derived.
    budget : Budget or Account, optional
        What pays.

    Examples
    --------
    >>> from sordino import mechanisms
    >>> mechanisms.above_threshold([120, 133, 960, 128], 500, epsilon=1.0).value
    2
    """
    asked = (_integers("answers", answers), _integer("threshold", threshold))
    price = (number("epsilon", epsilon), whole("sensitivity", sensitivity))
    return Release(_sordino.above_threshold(*(asked + price + _terms(budget, neighbours, unit))))


def _terms(
    budget: Payer | None, neighbours: str | None, unit: str | None
) -> tuple[_sordino.NativePayer | None, str | None, str, int | None]:
    payer = native_payer(budget)
    # Not the budget's: a sensitivity for records says nothing about persons with several of them.
    whose = "record" if unit is None else unit
    return payer, None if neighbours is None else relation(neighbours), unit_json(whose), current_seed()


def _delta(delta: Real | None, budget: Payer | None) -> float:
    if delta is not None:
        return number("delta", delta)
    native_payer(budget)
    return 1e-6 if budget is None else budget.delta


def _optional(name: str, value: object) -> float | None:
    return None if value is None else number(name, value)


def _integer(name: str, value: object) -> int:
    """A value of the data: an error must not show it."""
    from operator import index

    try:
        return index(value)  # type: ignore[arg-type]
    except TypeError:
        raise DeclarationError(f"{name} must be an integer, got {type(value).__name__}") from None


def _integers(name: str, values: Any) -> list[int]:
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_integer(name, value) for value in listed]


def _choose(
    how: str,
    scores: Integers,
    epsilon: Real,
    delta: float,
    sensitivity: Whole,
    monotone: bool,
    neighbours: str | None,
    unit: str | None,
    budget: Payer | None,
) -> Release[int]:
    asked = (_integers("scores", scores), how, number("epsilon", epsilon), delta)
    shift = (whole("sensitivity", sensitivity), bool(monotone))
    return Release(_sordino.choose(*(asked + shift + _terms(budget, neighbours, unit))))


def _sum(
    noise: str,
    rows: object,
    clip_norm: Real,
    epsilon: Real,
    delta: float,
    max_records: Whole | None,
    neighbours: str | None,
    unit: str | None,
    budget: Payer | None,
) -> Release[npt.NDArray[np.float64]]:
    terms = _terms(budget, neighbours, unit)
    table = as_floats(rows, "a sum")
    if table.ndim == 1:
        table = table.reshape(-1, 1)
    if table.ndim != 2:
        raise DeclarationError(f"rows must have one or two dimensions, got {table.ndim}")
    if max_records is None:
        said = terms[1] or ("add_remove" if budget is None else budget.neighbours)
        if said.startswith("add_remove"):
            raise DeclarationError(
                "the number of rows is private under add_remove: state max_records=, a public bound, or "
                'neighbours="zero_out"'
            )
        max_records = max(len(table), 1)
    most = whole("max_records", max_records)
    numbers = (number("clip_norm", clip_norm), most, number("epsilon", epsilon), delta)
    return Release(_sordino.noisy_sum(*((table,) + (noise,) + numbers + terms)))
