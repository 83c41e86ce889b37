"""The Python half of the book: blocks of ours and notebooks run, and the reference is that of the docstrings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import sordino

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "docs/python/first-ten-minutes.md", ROOT / "docs/python/migration.md"]
NOTEBOOKS = sorted((ROOT / "docs/python/notebooks").glob("*.ipynb"))
# Blocks that open with ```python and nothing else; those of peers say so.
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder with the project's examples."""
    os.symlink(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_runs(page: Path, folder: Path) -> None:
    pytest.importorskip("pandas")
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) >= 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


def test_there_are_three_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["budget", "first-model", "images"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_runs(path: Path, folder: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    client.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()


def test_the_readme_shows_python() -> None:
    blocks = BLOCK.findall((ROOT / "README.md").read_text())
    assert blocks and "import sordino" in blocks[0]


def test_the_readme_block_runs(folder: Path) -> None:
    pytest.importorskip("pandas")
    names: dict[str, object] = {}
    for block in BLOCK.findall((ROOT / "README.md").read_text()):
        exec(compile(block, "README.md", "exec"), names)


def test_the_reference_is_that_of_the_docstrings() -> None:
    from reference import text

    page = ROOT / "docs/python/reference.md"
    if os.environ.get("SORDINO_WRITE_REFERENCE"):
        page.write_text(text())
    assert page.read_text() == text(), (
        "write it anew: SORDINO_WRITE_REFERENCE=1 pytest python/tests/story/test_book.py"
    )
    for name in sordino.__all__:
        assert (
            f"`{name}" in page.read_text()
            or f"## sordino.{name}" in page.read_text()
            or name == "__version__"
        )
