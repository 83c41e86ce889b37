"""Importing is cheap: what is loaded, not how long it took."""

from __future__ import annotations

import json
import subprocess
import sys

import sordino


def loaded_after(code: str) -> set[str]:
    script = f"import sys, json\nbefore = set(sys.modules)\n{code}\n"
    script += "print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_package_alone_loads_neither_numpy_nor_the_native_half() -> None:
    loaded = loaded_after("import sordino")
    assert "sordino" in loaded
    assert not {"numpy", "sklearn", "pandas", "sordino._sordino"} & loaded
    assert len(loaded) <= 40


def test_accounting_needs_no_numpy() -> None:
    code = "import sordino; sordino.accounting.epsilon(sordino.accounting.Pure(epsilon=1.0), 0.0)"
    loaded = loaded_after(code)
    assert "sordino._sordino" in loaded and "numpy" not in loaded


def test_budgets_and_explanations_need_no_numpy() -> None:
    code = "import sordino; sordino.Budget(1.0).left; str(sordino.explain(epsilon=1.0))"
    assert "numpy" not in loaded_after(code)


def test_every_public_name_is_there() -> None:
    for name in sordino.__all__:
        assert getattr(sordino, name) is not None
    assert set(sordino.__all__) <= set(dir(sordino))
