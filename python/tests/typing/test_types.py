"""The package and its examples are typed, and the stub is that of the native half."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sordino

PACKAGE = Path(sordino.__file__).parent
TESTS = Path(__file__).resolve().parents[1]


def run(*words: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_is_strictly_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    run("mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "sordino", cwd=tmp_path)


def test_the_examples_are_strictly_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    examples = sorted((TESTS / "typing").glob("example_*.py"))
    assert examples
    run("mypy", "--strict", "--cache-dir", str(tmp_path), *map(str, examples), cwd=tmp_path)


def test_the_stub_is_that_of_the_native_half(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    run("mypy.stubtest", "sordino._sordino", cwd=tmp_path)
