"""The same table in every form that people have: the same bits, one identity, nothing of it shown."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from sordino import DeclarationError, _inputs
from sordino._sordino import FittedModel, fit, plan

ROWS = 400
SCHEMA = """
columns.a = { kind = "number", bounds = [-2, 2] }
columns.b = { kind = "number", bounds = [-2, 2] }
columns.target = { kind = "category", values = ["0", "1"] }
"""
SETTINGS = {"target": "target", "epsilon": 1.0, "danger_seed": 5, "steps": 10}


def numbers() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    X = random.normal(size=(ROWS, 2)).astype("float32").astype("float64")
    return X, (X[:, 0] > 0).astype(int)


def fitted(inputs: _inputs.Inputs, schema: str = SCHEMA, **more: object) -> FittedModel:
    return fit(json.dumps({**SETTINGS, **more}), inputs.table, schema)


def bits(model: FittedModel) -> list[list[float]]:
    coefficients = model.coefficients()
    assert coefficients is not None
    return [*coefficients[1], coefficients[2]]


def forms() -> dict[str, _inputs.Inputs]:
    X, y = numbers()
    names = ["a", "b"]
    wide = np.zeros((ROWS, 5))
    wide[:, 1], wide[:, 3] = X[:, 0], X[:, 1]
    frozen = X.copy()
    frozen.flags.writeable = False
    forms = {
        "C": _inputs.read(X, y, names=names),
        "F": _inputs.read(np.asfortranarray(X), y, names=names),
        "strided": _inputs.read(wide[:, 1:5:2], y, names=names),
        "backwards": _inputs.read(X[::-1][::-1], y[::-1][::-1], names=names),
        "negative strides": _inputs.read(np.ascontiguousarray(X[::-1])[::-1], y, names=names),
        "read-only": _inputs.read(frozen, y, names=names),
        "float32": _inputs.read(X.astype("float32"), y.astype("uint8"), names=names),
        "big endian": _inputs.read(X.astype(">f8"), y.astype(float), names=names),
        "lists": _inputs.read(X.tolist(), y.tolist(), names=names),
        "texts": _inputs.read(X, y.astype(str), names=names),
        "objects": _inputs.read(
            X.astype(object), np.array([str(label) for label in y], dtype=object), names=names
        ),
    }
    sparse = pytest.importorskip("scipy.sparse")
    forms["sparse"] = _inputs.read(sparse.csr_matrix(X), y, names=names)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=names)
    forms["pandas"] = _inputs.read(frame, pandas.Series(y))
    forms["pandas, categorical"] = _inputs.read(frame, pandas.Series(y, dtype="category"))
    forms["pandas, nullable"] = _inputs.read(frame.convert_dtypes(), pandas.Series(y, dtype="Int64"))
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": X[:, 0], "b": X[:, 1]})
    forms["pyarrow"] = _inputs.read(table, arrow.array(y))
    forms["pyarrow, chunks"] = _inputs.read(
        arrow.concat_tables([table[:7], table[7:]]), arrow.chunked_array([y[:100], y[100:]])
    )
    forms["pyarrow, a batch"] = _inputs.read(table.to_batches()[0], y)
    polars = pytest.importorskip("polars")
    forms["polars"] = _inputs.read(polars.DataFrame({"a": X[:, 0], "b": X[:, 1]}), polars.Series(y))
    forms["polars, enum"] = _inputs.read(
        polars.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
        polars.Series([str(label) for label in y], dtype=polars.Enum(["0", "1"])),
    )
    return forms


def test_every_form_gives_the_same_bits_and_has_one_identity() -> None:
    first = None
    for name, inputs in forms().items():
        assert inputs.features == ["a", "b"] and inputs.rows == ROWS, name
        got = (bits(fitted(inputs)), bytes(inputs.table.identity(SCHEMA)))
        first = first or got
        assert got == first, name


def test_a_file_of_the_same_table_gives_the_same_bits(tmp_path) -> None:
    X, y = numbers()
    lines = [
        "a,b,target",
        *(f"{float(a)!r},{float(b)!r},{label}" for (a, b), label in zip(X, y, strict=True)),
    ]
    data = tmp_path / "table.csv"
    data.write_text("\n".join(lines) + "\n")
    model = fit(json.dumps({**SETTINGS, "data": str(data)}), None, SCHEMA)
    assert bits(model) == bits(fitted(forms()["C"]))


def test_types_state_categories_and_data_does_not() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, _ = numbers()
    labels = pandas.Categorical(["low"] * ROWS, categories=["high", "low"])
    assert _inputs.read(X, labels).categories == {"target": ["high", "low"]}
    frame = polars.DataFrame({"c": polars.Series(["u"] * 3, dtype=polars.Enum(["u", "v"]))})
    assert _inputs.read(frame).categories == {"c": ["u", "v"]}
    assert _inputs.read(X, np.array(["low"] * ROWS)).categories == {}


def test_predictions_coefficients_and_files(tmp_path) -> None:
    X, y = numbers()
    model = fitted(_inputs.read(X, y, names=["a", "b"]))
    inputs = _inputs.read(X, names=["a", "b"])
    classes, scores, probabilities = (
        model.predict(inputs.table),
        model.scores(inputs.table),
        model.predict_proba(inputs.table),
    )
    names, weights, intercepts = model.coefficients()
    assert names == ["a", "b"] and model.classes == ["0", "1"] and model.features == ["a", "b"]
    clipped = np.clip(X, -2, 2)
    by_hand = clipped @ np.array(weights[0]) + intercepts[0]
    np.testing.assert_allclose(scores[:, 0], by_hand, atol=1e-5)
    assert probabilities.shape == (ROWS, 2)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-scores[:, 0])), rtol=1e-12)
    assert np.array_equal(classes, (scores[:, 0] > 0).astype(float))
    assert (classes == y).mean() > 0.6
    model.save(tmp_path / "m")
    loaded, unpickled = (
        FittedModel.load(tmp_path / "m"),
        FittedModel.from_files(pickle.loads(pickle.dumps(model.files()))),
    )
    for other in (loaded, unpickled):
        assert bits(other) == bits(model) and other.guarantee == model.guarantee
        assert np.array_equal(other.predict(inputs.table), classes)
    said = json.loads(model.guarantee)
    assert said["seeded"] is True and said["metered"] is False and said["epsilon"]["upper"] <= 1.0
    assert model.file("report.html").startswith("<!doctype html>")
    with pytest.raises(DeclarationError, match="exists"):
        model.save(tmp_path / "m")


def test_other_columns_at_prediction_are_refused() -> None:
    X, y = numbers()
    model = fitted(_inputs.read(X, y, names=["a", "b"]))
    for other in (
        _inputs.read(X[:, :1], names=["a"]),
        _inputs.read(np.ones((3, 3)), names=["a", "b", "c"]),
    ):
        with pytest.raises(DeclarationError, match="column `[bc]`"):
            model.predict(other.table)


def test_what_does_not_fit_is_named_by_its_place_and_not_shown() -> None:
    X, y = numbers()
    X = np.full_like(X, 0.123456789)
    X[17, 1] = np.nan
    with pytest.raises(DeclarationError, match="row 18, column `b`") as error:
        fitted(_inputs.read(X, y, names=["a", "b"]))
    assert "123456" not in str(error.value) + repr(error.value)
    labels = np.array(["0", "sentinel-4711"] * (ROWS // 2))
    with pytest.raises(DeclarationError, match="declared values") as error:
        fitted(_inputs.read(numbers()[0], labels, names=["a", "b"]))
    assert "sentinel" not in str(error.value) + repr(_inputs.read(X, labels).table)


def test_a_unit_has_at_most_its_records() -> None:
    X, y = numbers()
    unit = np.repeat(np.arange(ROWS // 4), 4)
    schema = f'unit = {{ column = "unit", max_records = 2 }}\n{SCHEMA}'
    model = fit(
        json.dumps({"target": "target", "epsilon": 4.0, "danger_seed": 1}),
        _inputs.read(X, y, unit=unit, names=["a", "b"]).table,
        schema,
    )
    said = json.loads(model.guarantee)
    assert said["unit"] == {"column": "unit"} and said["event"]["type"] == "group"
    with pytest.raises(DeclarationError, match="unit"):
        fit(json.dumps(SETTINGS), _inputs.read(X, y, names=["a", "b"]).table, schema)


def test_arrays_that_contradict_each_other_are_refused() -> None:
    X, y = numbers()
    with pytest.raises(DeclarationError, match="400 rows"):
        _inputs.read(X, y[:-1])
    with pytest.raises(DeclarationError, match="2D array"):
        _inputs.read(X[:, 0], y)
    with pytest.raises(DeclarationError, match="Complex"):
        _inputs.read(X.astype(complex), y)
    with pytest.raises(DeclarationError, match="datetime64"):
        _inputs.read(np.zeros((3, 1), dtype="datetime64[s]"))


def test_a_plan_needs_no_data() -> None:
    settings = {**SETTINGS, "rows": ROWS}
    said = json.loads(plan(json.dumps(settings), SCHEMA))
    model = fitted(forms()["C"])
    assert said["event"] == json.loads(model.guarantee)["event"]
    assert said["steps"] == 10 and said["rows"] == ROWS and said["method"] == "gradient-descent"
    with pytest.raises(DeclarationError, match="no setting `stps`; did you mean `steps`"):
        plan(json.dumps({"stps": 3}), SCHEMA)
