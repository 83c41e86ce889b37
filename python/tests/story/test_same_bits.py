"""One seed, one table: the same bits from every kind of memory and file, and from the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino
from sordino.linear_model import LogisticRegression

pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(2)
# Two decimals, so that a CSV file has the same numbers.
DATA = np.round(RNG.normal(size=(400, 3)), 2)
LABELS = np.where(DATA[:, 0] > 0, "yes", "no")
FRAME = pandas.DataFrame(DATA, columns=["a", "b", "c"])
SCHEMA = {
    "columns": {
        **{name: {"kind": "number", "bounds": [-5, 5]} for name in "abc"},
        "target": {"kind": "category", "values": ["no", "yes"]},
    }
}


def weights(X: Any, y: Any, **declared: Any) -> Any:
    with sordino.danger.seeded(9):
        return LogisticRegression(1.0, **declared).fit(X, y).coef_


EXPECTED = weights(FRAME, LABELS, schema=SCHEMA)


def test_arrays_of_every_layout() -> None:
    declared = {"bounds": (-5, 5), "classes": ["no", "yes"]}
    wide = np.zeros((800, 6))
    wide[::2, ::2] = DATA
    frozen = DATA.copy()
    frozen.flags.writeable = False
    layouts = [DATA, np.asfortranarray(DATA), wide[::2, ::2], frozen, DATA.tolist()]
    for layout in layouts:
        assert np.array_equal(weights(layout, LABELS, **declared), EXPECTED)


def test_frames_of_other_libraries() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    frames = [polars.from_pandas(FRAME), pyarrow.Table.from_pandas(FRAME)]
    for frame in frames:
        assert np.array_equal(weights(frame, LABELS, schema=SCHEMA), EXPECTED)


def test_files(tmp_path: Path) -> None:
    table = FRAME.assign(target=LABELS)
    table.to_csv(tmp_path / "t.csv", index=False)
    paths = [tmp_path / "t.csv"]
    if pytest.importorskip("pyarrow"):
        table.to_parquet(tmp_path / "t.parquet", index=False)
        paths.append(tmp_path / "t.parquet")
    for path in paths:
        assert np.array_equal(weights(path, "target", schema=SCHEMA), EXPECTED)


def test_another_seed_gives_other_bits() -> None:
    with sordino.danger.seeded(10):
        other = LogisticRegression(1.0, schema=SCHEMA).fit(FRAME, LABELS).coef_
    assert not np.array_equal(other, EXPECTED)
