"""The API reference of the book is made from the docstrings as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/reference.py"


def test_reference_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("reference", SCRIPT)
    assert spec is not None and spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    made = reference.page()
    assert "### class `LogisticRegression(epsilon=1.0, *, delta=None" in made
    assert made == reference.PAGE.read_text(), "docs/python/reference.md is old: run `python python/tools/reference.py`"
