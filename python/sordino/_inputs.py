"""Tables as people have them: arrays, frames, lists and sparse matrices, without a copy.

Only columns of Python objects are copied, as texts. No message here shows a value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._sordino import Table
from .exceptions import DeclarationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The columns for the target and for the unit, unless they are named.
TARGET = "target"
UNIT = "unit"


@dataclass
class Inputs:
    """A table, the columns that are features, and what types declare publicly."""

    table: Table
    features: list[str]
    #: Whether the names of the features are the user's, and not numbers.
    has_names: bool
    #: The categories of columns of a categorical type. The type states them, not the data.
    categories: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.table.rows


def read(
    X: object,
    y: object = None,
    *,
    unit: object = None,
    names: Sequence[str] | None = None,
    target: str = TARGET,
    unit_name: str = UNIT,
) -> Inputs:
    """A table of the features ``X`` with, if they are given, the target ``y`` and one ``unit`` id per row."""
    inputs = Inputs(Table("X"), [], False)
    _features(inputs, X, names)
    for name, column in ((target, y), (unit_name, unit)):
        if column is None:
            continue
        if name in inputs.features:
            raise DeclarationError(f"a feature is named `{name}`, as the {name} is; rename the feature")
        before = inputs.table.rows
        _column(inputs, name, column)
        if inputs.features and _length(inputs, column) != before:
            raise DeclarationError(
                f"X has {before} rows and the {name} has {_length(inputs, column)}; give one for each row"
            )
    return inputs


def column(name: str, x: object, *, unit: object = None) -> Table:
    """A table of one column ``x`` with, if it is given, one ``unit`` id per row."""
    inputs = Inputs(Table(name), [], False)
    _column(inputs, name, x)
    if unit is not None:
        _column(inputs, UNIT, unit)
    return inputs.table


def spelled(value: object) -> str | None:
    """The text for a label in schemas: ``1`` for 1 and 1.0, ``true`` for True; None if it is missing."""
    if value is None:
        return None
    if isinstance(value, str):
        return str(value)
    item = getattr(value, "item", None)
    if item is not None and getattr(value, "ndim", 0) == 0:
        value = item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, str):
        return value
    # pandas.NA, NaT and their kin compare with nothing, not even with themselves.
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    raise DeclarationError(
        f"a column of objects has one of type {type(value).__name__}; expected texts, numbers or booleans"
    )


def _features(inputs: Inputs, X: object, names: Sequence[str] | None) -> None:
    if _is_pandas(X, "DataFrame"):
        _frame(inputs, X, names)
    elif hasattr(X, "tocsr"):
        _sparse(inputs, X, names)
    elif _is_arrow(X):
        if names is not None:
            raise DeclarationError("an Arrow table names its columns itself; leave the names out")
        inputs.table.arrow(X)
        inputs.features = [name for name, _ in inputs.table.columns]
        inputs.has_names = True
        inputs.categories.update(_arrow_categories(X))
    else:
        array = _array(X)
        if array.ndim != 2:
            raise DeclarationError(
                f"Expected 2D array, got {array.ndim}D array instead: one row for each record, one column "
                "for each feature. Reshape your data with array.reshape(-1, 1) or array.reshape(1, -1)"
            )
        inputs.features = _names(names, array.shape[1])
        inputs.has_names = names is not None
        _matrix(inputs, inputs.features, array)


def _frame(inputs: Inputs, frame: Any, names: Sequence[str] | None) -> None:
    stated = list(frame.columns)
    inputs.has_names = names is not None or all(isinstance(name, str) for name in stated)
    inputs.features = (
        _names(names, len(stated))
        if names is not None or not inputs.has_names
        else [str(name) for name in stated]
    )
    for place, name in enumerate(inputs.features):
        _series(inputs, name, frame.iloc[:, place])


def _series(inputs: Inputs, name: str, series: Any) -> None:
    """A column of pandas."""
    kind = series.dtype
    if type(kind).__name__ == "CategoricalDtype":
        categories = list(kind.categories)
        inputs.table.codes(
            name, _native(series.cat.codes.to_numpy()), [spelled(value) or "" for value in categories]
        )
        inputs.categories[name] = categories
    elif getattr(kind, "na_value", None) is not None and hasattr(kind, "numpy_dtype") and kind.kind in "iuf":
        # Nullable numbers keep what is missing in a mask of their own.
        inputs.table.array([name], _native(series.to_numpy(dtype="float64", na_value=float("nan"))))
    else:
        _matrix(inputs, [name], _array(series.to_numpy()).reshape(-1, 1))


def _sparse(inputs: Inputs, X: Any, names: Sequence[str] | None) -> None:
    rows = X.tocsr()
    if rows.dtype.kind not in "iuf":
        rows = rows.astype("float64")
    inputs.features = _names(names, rows.shape[1])
    inputs.has_names = names is not None
    inputs.table.sparse(inputs.features, rows.indptr, rows.indices, _native(rows.data))


def _column(inputs: Inputs, name: str, column: Any) -> None:
    """One column: a target, or the ids of units."""
    if _is_pandas(column, "DataFrame"):
        if column.shape[1] != 1:
            raise DeclarationError(f"the {name} must be one column; got {column.shape[1]}")
        column = column.iloc[:, 0]
    if _is_pandas(column, "Series"):
        _series(inputs, name, column)
    elif _is_pandas(column, "Categorical"):
        codes, categories = column.codes, list(column.categories)
        inputs.table.codes(name, _native(codes), [spelled(value) or "" for value in categories])
        inputs.categories[name] = categories
    elif hasattr(column, "to_frame") and hasattr(column, "to_arrow"):
        frame = column.to_frame(name)  # a series of polars
        inputs.table.arrow(frame)
        inputs.categories.update(_arrow_categories(frame))
    elif hasattr(column, "combine_chunks") or _is_arrow(column):
        import pyarrow as arrow  # type: ignore[import-untyped,unused-ignore]

        inputs.table.arrow(arrow.table({name: column}))
    else:
        array = _array(column)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise DeclarationError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
        _matrix(inputs, [name], array.reshape(-1, 1))


def _matrix(inputs: Inputs, names: list[str], array: NDArray[Any]) -> None:
    if array.dtype.kind in "iufbU":
        inputs.table.array(names, _native(array))
    elif array.dtype.kind in "OST":
        numbers = _numbers(array) if array.dtype.kind == "O" else None
        if numbers is not None:
            inputs.table.array(names, numbers)
            return
        for place, name in enumerate(names):
            inputs.table.texts(name, [spelled(value) for value in array[:, place]])
    elif array.dtype.kind == "c":
        raise DeclarationError("Complex data not supported: expected real numbers, texts or booleans")
    else:
        raise DeclarationError(
            f"an array of type {array.dtype} is not read; expected numbers, texts or booleans: convert it "
            "with astype"
        )


def _numbers(array: NDArray[Any]) -> NDArray[Any] | None:
    """An array of Python numbers as floats; None if it has texts or booleans."""
    kinds = {type(value) for value in array.flat}
    if not kinds or any(issubclass(kind, (str, bytes, bool)) for kind in kinds):
        return None
    if all(issubclass(kind, (int, float)) or kind.__module__ == "numpy" for kind in kinds):
        try:
            return array.astype("float64")
        except (TypeError, ValueError):
            return None
    return None


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, or a copy of one that is not read as it is: of another byte order or precision."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype("float32" if array.dtype.itemsize == 2 else "float64")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    size = array.dtype.itemsize
    if array.size and (not array.flags.aligned or any(stride % max(size, 1) for stride in array.strides)):
        array = array.copy()
    return array


def _array(X: object) -> NDArray[Any]:
    import numpy as np

    array = np.asarray(X)
    if array.dtype.kind == "O" and array.ndim == 0:
        raise DeclarationError("Expected 2D array, got scalar array instead: give one row for each record")
    return array


def _names(names: Sequence[str] | None, columns: int) -> list[str]:
    if names is None:
        return [f"x{number}" for number in range(columns)]
    if len(names) != columns:
        raise DeclarationError(f"{len(names)} names for {columns} columns")
    return [str(name) for name in names]


def _length(inputs: Inputs, column: Any) -> int:
    return len(column) if hasattr(column, "__len__") else inputs.table.rows


def _is_pandas(value: object, name: str) -> bool:
    kind = type(value)
    return kind.__name__ == name and kind.__module__.partition(".")[0] == "pandas"


def _is_arrow(value: object) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def _arrow_categories(table: Any) -> dict[str, list[Any]]:
    """The categories of polars' ``Enum`` columns, which the type states."""
    schema = getattr(table, "schema", None)
    if schema is None or type(table).__module__.partition(".")[0] != "polars":
        return {}
    enums = {name: kind for name, kind in dict(schema).items() if type(kind).__name__ == "Enum"}
    return {name: list(kind.categories) for name, kind in enums.items()}
