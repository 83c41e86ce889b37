"""Every Python block of the book runs, and prints what its page shows.

The blocks of a page run in order, in one namespace and a fresh folder that has the project's
`examples`. How a block opens says what is expected:

- `python`: it runs. If a block `output` follows, that is what it prints.
- `python random`: words are compared; numbers must be there, and may differ.
- `python raises`: its last statement raises, and `output` is the last line of the traceback.
- `python peer`: another library's program, for comparison. It is not run here.

A block `shell` has commands of `sordino`, which run if `SORDINO_COMMAND` names the command, or if it
is installed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "python/README.md",
    *sorted(page for page in (ROOT / "docs/python").glob("*.md") if page.name != "reference.md"),
]
KINDS = ("python", "python random", "python raises", "python peer")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    kind: str
    line: int
    code: str
    output: str | None


def blocks(text: str) -> list[Block]:
    """The blocks of a page, each with the output that stands below it."""
    found: list[Block] = []
    for match in re.finditer(r"^( *)```([^\n`]*)\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        kind, body = match.group(2).strip(), textwrap.dedent(match.group(3))
        line = text[: match.start()].count("\n") + 1
        if kind == "output":
            last = found.pop()
            found.append(Block(last.kind, last.line, last.code, body))
        elif kind.startswith("python") or kind == "shell":
            assert kind == "shell" or kind in KINDS, f"line {line}: no such kind of block: {kind}"
            found.append(Block(kind, line, body, None))
    return found


def agree(shown: str, came: str, is_random: bool) -> bool:
    """Words are the same; numbers are, to a part in a million, or they are random."""
    one, two = shown.strip(), came.strip()
    if NUMBER.sub("#", one).split() != NUMBER.sub("#", two).split():
        return False
    if is_random:
        return True
    pairs = zip(NUMBER.findall(one), NUMBER.findall(two), strict=True)
    return all(abs(float(a) - float(b)) <= 1e-6 * abs(float(a)) for a, b in pairs)


def run(block: Block, names: dict[str, object], page: str) -> str:
    """What a block prints, or the last line of what it raises."""
    # Newlines first, so that a traceback has the line of the page.
    code = compile("\n" * block.line + block.code, page, "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if block.kind != "python raises":
            exec(code, names)
            return printed.getvalue()
        try:
            exec(code, names)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    pytest.fail(f"{page}:{block.line}: nothing was raised")


def shell(block: Block) -> str | None:
    """What commands print, or nothing if there is no command to run."""
    program = os.environ.get("SORDINO_COMMAND") or shutil.which("sordino")
    if program is None:
        return None
    printed = ""
    for command in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(command)
        assert words[:2] == ["$", "sordino"], f"line {block.line}: not a command of sordino: {command}"
        printed += subprocess.run([program, *words[2:]], check=True, capture_output=True, text=True).stdout
    return printed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    yield tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, folder: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page.read_text()):
        if block.kind == "python peer":
            continue
        came = shell(block) if block.kind == "shell" else run(block, names, page.name)
        if came is None:
            continue
        ran += 1
        where = f"{page.name}:{block.line}"
        if block.output is None:
            assert not came.strip(), f"{where}: the page does not show what the block prints:\n{came}"
            continue
        is_random = block.kind == "python random"
        assert agree(block.output, came, is_random), f"{where}: the page shows\n{block.output}\nbut it is\n{came}"
    assert ran > 0, f"{page.name}: no block was run"


def test_pages_are_compared() -> None:
    assert agree("left 0.5 of 1", "left 0.5000000001  of 1", False)
    assert not agree("left 0.5 of 1", "left 0.6 of 1", False)
    assert agree("left 0.5 of 1", "left 0.6 of 1", True)
    assert not agree("left 0.5 of 1", "gone 0.5 of 1", True)
    assert not agree("left 0.5", "left", True)


def test_blocks_have_their_output() -> None:
    text = "a\n```python\nprint(1)\n```\n\nwords\n\n```output\n1\n```\n```python peer\nx\n```\n"
    one, two = blocks(text)
    assert (one.line, one.code, one.output) == (2, "print(1)\n", "1\n")
    assert (two.kind, two.output) == ("python peer", None)
    assert run(one, {}, "page") == "1\n"
    with pytest.raises(AssertionError, match="no such kind"):
        blocks("```python fast\nx\n```\n")


def test_programs_here_are_not_longer_than_those_of_others() -> None:
    sections = (ROOT / "docs/python/migration.md").read_text().split("\n## ")[1:]
    assert len(sections) == 4
    for section in sections:
        theirs, ours = (lines for lines in map(_lines, blocks(section)[:2]))
        assert ours <= theirs, f"{section.splitlines()[0]}: {ours} lines against {theirs}"


def _lines(block: Block) -> int:
    return sum(bool(line.strip()) for line in block.code.splitlines())
