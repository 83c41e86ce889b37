"""Inputs of estimators, with the messages that people know from scikit-learn. No value is shown."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from .exceptions import DeclarationError

if TYPE_CHECKING:
    from ._estimator import Estimator
    from ._inputs import Inputs

__all__ = ["as_floats", "check_features", "check_length", "check_numbers", "check_target"]

# Rows that are looked at together, so that a check needs no memory of the size of the table.
ROWS = 4096


def check_numbers(X: Any, name: str) -> Any:
    """Dimensions and numbers. Frames keep their columns."""
    import numpy as np

    if X is None:
        raise DeclarationError("Expected array-like (array or non-string sequence), got None")
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if X.dtype.kind == "c":
            raise DeclarationError("Complex data not supported: expected real numbers")
        if X.data.dtype.kind == "f" and not bool(np.all(np.isfinite(X.data))):
            _refuse_missing(name)
        _check_shape(X.shape, name)
        return X
    if hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__"):
        if hasattr(X, "shape"):
            _check_shape(tuple(X.shape), name)
        if hasattr(X, "iloc"):
            for place in range(X.shape[1]):
                kind = X.dtypes.iloc[place]
                if getattr(kind, "kind", "") == "f":
                    _check_finite(np.asarray(X.iloc[:, place], dtype=float), name)
        return X
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise DeclarationError("Complex data not supported: expected real numbers")
    if array.ndim == 0:
        raise DeclarationError("Expected 2D array, got scalar array instead. Reshape your data.")
    if array.ndim == 1:
        raise DeclarationError(
            "Expected 2D array, got 1D array instead. Reshape your data either using array.reshape(-1, 1) if "
            "your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise DeclarationError(f"Found array with dim {array.ndim}. {name} expected <= 2.")
    _check_shape(array.shape, name)
    if array.dtype.kind == "O" and not any(isinstance(value, str) for value in array.flat):
        array = as_floats(array, name)
    if array.dtype.kind == "f":
        _check_finite(array, name)
    return array


def as_floats(values: Any, name: str) -> Any:
    """The values as an array of floats. The error shows none of them, as numpy's would."""
    import numpy as np

    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError:
        # In scikit-learn's words.
        raise TypeError(f"{name} needs numbers: argument must be a string or a real number") from None
    except ValueError:
        raise DeclarationError(
            f"{name} needs numbers, and a column holds text: leave it out, or encode it"
        ) from None


def check_target(y: Any, name: str) -> Any:
    """One column."""
    import numpy as np

    if y is None:
        raise DeclarationError(f"{name} requires y to be passed, but the target y is None.")
    if hasattr(y, "columns") or hasattr(y, "__arrow_c_stream__") or hasattr(y, "cat"):
        return y
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise DeclarationError("Complex data not supported: expected real numbers")
    if array.ndim == 2 and array.shape[1] == 1:
        theirs = sys.modules.get("sklearn.exceptions")
        category = UserWarning if theirs is None else theirs.DataConversionWarning
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            category,
            stacklevel=3,
        )
        array = array.ravel()
        return array
    if array.ndim != 1:
        raise DeclarationError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return y if hasattr(y, "iloc") else array


def check_length(X: Any, y: Any) -> None:
    """As many targets as records."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    targets = y.shape[0] if hasattr(y, "shape") else len(y)
    if rows != targets:
        raise DeclarationError(
            f"Found input variables with inconsistent numbers of samples: [{rows}, {targets}]"
        )


def check_features(estimator: Estimator, inputs: Inputs, *, stated: bool) -> None:
    """The columns of the fit, in their order."""
    name, known = type(estimator).__name__, getattr(estimator, "feature_names_in_", None)
    if known is not None and inputs.has_names and stated:
        fitted = [str(column) for column in known]
        if inputs.features != fitted:
            raise DeclarationError(_other_names(inputs.features, fitted))
    elif known is not None and not stated:
        warnings.warn(
            f"X does not have valid feature names, but {name} was fitted with feature names",
            UserWarning,
            stacklevel=4,
        )
    elif known is None and inputs.has_names:
        warnings.warn(
            f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=4
        )
    if len(inputs.features) != estimator.n_features_in_:
        raise DeclarationError(
            f"X has {len(inputs.features)} features, but {name} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def _other_names(got: list[str], fitted: list[str]) -> str:
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(got) - set(fitted)), sorted(set(fitted) - set(got))
    if unseen:
        message += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _listed(names: list[str], most: int = 5) -> str:
    listed = "".join(f"- {name}\n" for name in names[:most])
    return listed + ("- ...\n" if len(names) > most else "")


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if shape[0] == 0:
        raise DeclarationError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required by {name}."
        )
    if len(shape) > 1 and shape[1] == 0:
        raise DeclarationError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required by {name}."
        )


def _check_finite(array: Any, name: str) -> None:
    import numpy as np

    for first in range(0, array.shape[0], ROWS):
        if not bool(np.all(np.isfinite(array[first : first + ROWS]))):
            _refuse_missing(name)


def _refuse_missing(name: str) -> None:
    raise DeclarationError(
        f"Input X contains NaN or infinity, and {name} does not accept missing values. Fill them in by "
        "a public rule first, or declare `missing` in a schema and pass a file. Nothing was charged"
    )
