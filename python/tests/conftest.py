"""What the tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sordino

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No bar in the output of tests."""
    with sordino.config_context(progress="off"):
        yield


@pytest.fixture
def root() -> Path:
    """The root of the project."""
    return ROOT
