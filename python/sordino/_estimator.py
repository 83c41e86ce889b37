"""scikit-learn's contract, without a scikit-learn base class.

`__init__` stores, `fit` checks, learned things end in `_`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar, cast

from . import _sordino
from ._guarantee import Statement
from ._inputs import Inputs, read
from ._validate import check_features, check_numbers
from .exceptions import DeclarationError, not_fitted

__all__ = ["Estimator", "refusing", "width_of"]

Method = TypeVar("Method", bound=Callable[..., Any])

# Parameters that other libraries have and this one refuses, with the reason.
REFUSED = {
    "random_state": "noise that somebody can repeat protects nobody; for tests there is "
    "sordino.danger.seeded(n)",
    "sample_weight": "a weight moves a record's influence, and the noise is made for an influence of one; "
    "class_weights= takes public weights",
    "warm_start": "each fit is charged in full; checkpoint= goes on from an interrupted fit",
}


class Estimator:
    """Parameters, copies, tags and pickles, as scikit-learn expects them."""

    _kind: ClassVar[str]
    n_features_in_: int
    privacy_: Statement

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            _refusing(cls)

    @classmethod
    def _parameters(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                raise DeclarationError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}."
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import (  # type: ignore[import-untyped]
            ClassifierTags,
            InputTags,
            RegressorTags,
            Tags,
            TargetTags,
            TransformerTags,
        )

        kind = self._kind
        return Tags(
            estimator_type=None if kind == "transformer" else kind,
            target_tags=TargetTags(required=kind != "transformer"),
            transformer_tags=TransformerTags() if kind == "transformer" else None,
            classifier_tags=ClassifierTags() if kind == "classifier" else None,
            regressor_tags=RegressorTags() if kind == "regressor" else None,
            input_tags=InputTags(sparse=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "privacy_" in vars(self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                "arguments before using this estimator."
            )

    def _note_features(self, inputs: Inputs) -> None:
        import numpy as np

        self.n_features_in_ = len(inputs.features)
        if inputs.has_names:
            self.feature_names_in_ = np.asarray(inputs.features, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _read(self, X: object) -> Inputs:
        """The features of records to predict, checked against those of the fit."""
        self._check_fitted()
        X = check_numbers(X, type(self).__name__)
        fitted = getattr(self, "feature_names_in_", None)
        names = None if fitted is None or _has_names(X) else [str(name) for name in fitted]
        if names is not None and width_of(X) != len(names):
            names = None
        inputs = read(X, names=names)
        check_features(self, inputs, stated=names is None)
        return inputs

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        said = []
        for name in self._parameters():
            value, default = getattr(self, name, None), defaults[name].default
            if value is not default and not _same(value, default):
                said.append(f"{name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(said)})"

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if "_model" in state:
            state["_model"] = {name: bytes(content) for name, content in state["_model"].files().items()}
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        if "_model" in state:
            self._model = _sordino.FittedModel.from_files(
                {name: list(content) for name, content in state["_model"].items()}
            )


def _refusing(cls: type[Estimator]) -> None:
    """Wraps `__init__`, so that parameters of other libraries are refused with the reason."""
    made = cls.__init__

    def __init__(self: Estimator, *args: Any, **kwargs: Any) -> None:
        _refuse(cls.__name__, kwargs)
        made(self, *args, **kwargs)

    __init__.__signature__ = inspect.signature(made)  # type: ignore[attr-defined]
    __init__.__doc__ = made.__doc__
    setattr(cls, "__init__", __init__)  # noqa: B010


def refusing(made: Method) -> Method:
    """A method that says why it takes none of these parameters."""

    @functools.wraps(made)
    def called(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        _refuse(f"{type(self).__name__}.{made.__name__}", kwargs)
        return made(self, *args, **kwargs)

    return cast(Method, called)


def _refuse(what: str, given: Mapping[str, object]) -> None:
    for name, reason in REFUSED.items():
        if name in given:
            raise TypeError(f"{what} takes no {name}: {reason}")


def _has_names(X: Any) -> bool:
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return all(isinstance(name, str) for name in X.columns)
    return hasattr(X, "__arrow_c_stream__")


def width_of(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    return shape[1] if shape is not None and len(shape) == 2 else None


def _same(one: object, two: object) -> bool:
    try:
        return bool(one == two)
    except (TypeError, ValueError):
        return False


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
