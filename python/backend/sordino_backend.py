"""Builds the package with maturin, and says what to do where Rust is missing."""

from __future__ import annotations

import os
import shutil

# Maturin would download a toolchain by itself. People decide what is installed on their machine.
os.environ.setdefault("MATURIN_NO_INSTALL_RUST", "1")
# Not in `pyproject.toml`: the stub is written from symbols of the library.
os.environ.setdefault("MATURIN_PEP517_ARGS", "--strip")

import maturin
from maturin import *

WITHOUT_RUST = """
Sordino is built from source here, and Rust was not found: there is no `cargo` on the PATH.

  1. Install Rust 1.89 or newer from https://rustup.rs, and a C compiler (`cc`).
  2. Open a new terminal, so that `cargo` is on the PATH, and install Sordino again.

A wheel needs no Rust: `pip install sordino-<version>-cp311-abi3-<platform>.whl`.
"""


def _check() -> None:
    if shutil.which("cargo") is None:
        raise SystemExit(WITHOUT_RUST)


def get_requires_for_build_wheel(config_settings=None):
    _check()
    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    _check()
    return maturin.get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    _check()
    return maturin.get_requires_for_build_sdist(config_settings)
