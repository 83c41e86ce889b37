"""Does the promise hold? Lower bounds on what code really leaks.

An accountant says what a mechanism costs at most, if it does what its event says. An audit runs the
code that is there, and says what it costs at least. A claim below this bound is false. A claim above
it is not thereby true.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from . import _sordino
from ._check import Real, Whole, number, whole

__all__ = ["Audit", "bound", "one_run", "test"]

I = TypeVar("I")


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    violation : bool
        The claim is false, at the stated confidence, twice on fresh samples. False is no proof.
    epsilon : float
        ε is at least this, at the claimed δ.
    delta : float
        δ is at least this, at the claimed ε.
    ceiling : float
        The largest ε that this audit could have found.
    words : str
        The same in one line.
    """

    violation: bool
    epsilon: float
    delta: float
    ceiling: float
    words: str

    def __str__(self) -> str:
        return self.words


def test(
    mechanism: Callable[[I], object],
    one: I,
    two: I,
    *,
    epsilon: Real,
    delta: Real = 0.0,
    samples: Whole = 20_000,
    confidence: Real = 0.95,
) -> Audit:
    """Test a claim of privacy against a mechanism's outputs on two neighbouring inputs.

    Parameters
    ----------
    mechanism : callable
        Takes an input and returns a number, a truth value, text, or a flat list of numbers. It
        draws its own noise, afresh in every call. An exception is an output, too.
    one, two : object
        Neighbours under the relation of the claim. The test cannot know.
    epsilon, delta : float
        The claim.
    samples : int, default 20000
        Outputs on either input to search with, and as many again to certify.
    confidence : float, default 0.95
        Of the bounds.

    Returns
    -------
    Audit
        A violation, or what could have been found.

    Examples
    --------
    >>> import random
    >>> from sordino import audit
    >>> def coin(smokes: bool) -> bool:      # tells the truth nine times in ten: ε = 2.2
    ...     return smokes if random.random() < 0.9 else not smokes
    >>> audit.test(coin, True, False, epsilon=1.0).violation
    True
    """
    claim = (number("epsilon", epsilon), number("delta", delta))
    asked = (whole("samples", samples), number("confidence", confidence))
    return Audit(*_sordino.audit_mechanism(*((mechanism,) + (one,) + (two,) + claim + asked)))


# Not a test of ours, whatever pytest thinks of its name.
test.__test__ = False  # type: ignore[attr-defined]


def bound(
    *,
    in_positives: Whole,
    in_trials: Whole,
    out_positives: Whole,
    out_trials: Whole,
    delta: Real = 0.0,
    confidence: Real = 0.95,
) -> float:
    """The lower bound on ε that the counts of any test of yours certify.

    Parameters
    ----------
    in_positives, in_trials : int
        How often the test said yes where the unit took part, of how many trials.
    out_positives, out_trials : int
        The same where it did not.
    delta : float, default 0
        At this δ.
    confidence : float, default 0.95
        Of the bound.

    Examples
    --------
    >>> from sordino import audit
    >>> found = audit.bound(in_positives=900, in_trials=1000, out_positives=10, out_trials=1000, delta=1e-5)
    >>> round(found, 2)
    3.87
    """
    counts = (
        whole("in_positives", in_positives),
        whole("in_trials", in_trials),
        whole("out_positives", out_positives),
        whole("out_trials", out_trials),
    )
    return _sordino.audit_counts(*counts, number("delta", delta), number("confidence", confidence))


def one_run(
    *, canaries: Whole, guesses: Whole, correct: Whole, delta: Real = 0.0, confidence: Real = 0.95
) -> float:
    """The lower bound on ε that one training run with canaries certifies.

    Parameters
    ----------
    canaries : int
        Records of which a coin each decided whether they took part.
    guesses, correct : int
        How many of them were guessed, and how many guesses were right.
    delta : float, default 0
        At this δ.
    confidence : float, default 0.95
        Of the bound.
    """
    counts = (whole("canaries", canaries), whole("guesses", guesses), whole("correct", correct))
    return _sordino.audit_one_run(*counts, number("delta", delta), number("confidence", confidence))
