"""Learn from sensitive data with differential privacy.

>>> import sordino
>>> step = sordino.accounting.Gaussian(noise_multiplier=1.1).poisson_sampled(256 / 60_000)
>>> cost = sordino.accounting.epsilon(step.repeated(14_062), delta=1e-5, neighbours="zero_out")
>>> 2.3815 < cost.lower <= cost.upper < 2.3818
True

Submodules are imported when they are first used, and numpy with the first array.
"""

from __future__ import annotations

import importlib

# Type checkers take it for true. `typing` itself would take longer to import than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import accounting as accounting
    from . import audit as audit
    from . import danger as danger
    from . import exceptions as exceptions
    from . import linear_model as linear_model
    from . import mechanisms as mechanisms
    from . import neural_network as neural_network
    from . import preprocessing as preprocessing
    from . import statistics as statistics
    from ._budget import Budget as Budget
    from ._config import config_context as config_context
    from ._explain import Explanation as Explanation
    from ._explain import explain as explain
    from ._guarantee import Guarantee as Guarantee
    from ._guarantee import Interval as Interval
    from ._guarantee import Statement as Statement
    from ._ledger import Account as Account
    from ._ledger import Ledger as Ledger
    from ._pipeline import guarantee as guarantee
    from ._pipeline import load as load
    from ._pipeline import make_pipeline as make_pipeline
    from ._plan import Plan as Plan
    from ._release import Release as Release
    from ._schema import Schema as Schema
    from ._sordino import __version__ as __version__
    from .exceptions import BoundsError as BoundsError
    from .exceptions import BudgetError as BudgetError
    from .exceptions import ClassesError as ClassesError
    from .exceptions import DeclarationError as DeclarationError
    from .exceptions import InternalError as InternalError
    from .exceptions import NotFittedError as NotFittedError
    from .exceptions import NotPrivateError as NotPrivateError
    from .exceptions import NotPrivateWarning as NotPrivateWarning
    from .exceptions import SordinoError as SordinoError

_SUBMODULES = (
    "accounting",
    "audit",
    "danger",
    "exceptions",
    "linear_model",
    "mechanisms",
    "neural_network",
    "preprocessing",
    "statistics",
)

# Where each public name lives.
_NAMES = {
    "Account": "_ledger",
    "BoundsError": "exceptions",
    "Budget": "_budget",
    "BudgetError": "exceptions",
    "ClassesError": "exceptions",
    "DeclarationError": "exceptions",
    "Explanation": "_explain",
    "Guarantee": "_guarantee",
    "InternalError": "exceptions",
    "Interval": "_guarantee",
    "Ledger": "_ledger",
    "NotFittedError": "exceptions",
    "NotPrivateError": "exceptions",
    "NotPrivateWarning": "exceptions",
    "Plan": "_plan",
    "Release": "_release",
    "Schema": "_schema",
    "SordinoError": "exceptions",
    "Statement": "_guarantee",
    "__version__": "_sordino",
    "config_context": "_config",
    "explain": "_explain",
    "guarantee": "_pipeline",
    "load": "_pipeline",
    "make_pipeline": "_pipeline",
}

__all__ = [
    "Account",
    "BoundsError",
    "Budget",
    "BudgetError",
    "ClassesError",
    "DeclarationError",
    "Explanation",
    "Guarantee",
    "InternalError",
    "Interval",
    "Ledger",
    "NotFittedError",
    "NotPrivateError",
    "NotPrivateWarning",
    "Plan",
    "Release",
    "Schema",
    "SordinoError",
    "Statement",
    "__version__",
    "accounting",
    "audit",
    "config_context",
    "danger",
    "exceptions",
    "explain",
    "guarantee",
    "linear_model",
    "load",
    "make_pipeline",
    "mechanisms",
    "neural_network",
    "preprocessing",
    "statistics",
]


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value: object = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module `sordino` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
