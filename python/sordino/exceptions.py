"""What can go wrong, under one base.

No message of these exceptions contains a value of the data.
"""

from __future__ import annotations

import sys

__all__ = [
    "BoundsError",
    "BudgetError",
    "ClassesError",
    "DeclarationError",
    "InternalError",
    "NotFittedError",
    "NotPrivateError",
    "NotPrivateWarning",
    "SordinoError",
]


class SordinoError(Exception):
    """The base of all exceptions of this package."""


class DeclarationError(SordinoError, ValueError):
    """A parameter, a schema, a claim or an input that does not fit what was declared."""


class BoundsError(DeclarationError):
    """Bounds that are missing or bound nothing. They are never read off the data."""


class ClassesError(DeclarationError):
    """Classes that are missing, or labels that are not among them."""


class BudgetError(SordinoError):
    """A budget or a ledger that does not grant. What was refused was not charged."""


class NotPrivateError(SordinoError):
    """Something that learns from the data and makes no promise about it."""


class NotPrivateWarning(UserWarning):
    """A step of a pipeline that learned from the data for free."""


class InternalError(SordinoError):
    """A bug in Sordino. What was charged stays charged."""


class NotFittedError(SordinoError, ValueError, AttributeError):
    """An estimator that was asked before it was fitted.

    Where scikit-learn is loaded, what is raised is scikit-learn's `NotFittedError` too.
    """


def not_fitted(message: str) -> NotFittedError:
    """The error to raise, which is scikit-learn's too if that is loaded."""
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError(message)
    both = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {"__module__": __name__})
    error: NotFittedError = both(message)
    return error
