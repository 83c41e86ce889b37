"""Writes the API reference of the book, `docs/python/reference.md`, from the docstrings.

    python python/tools/reference.py

A test compares the page with what this makes.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs/python/reference.md"

MODULES = (
    "sordino",
    "sordino.linear_model",
    "sordino.neural_network",
    "sordino.preprocessing",
    "sordino.statistics",
    "sordino.mechanisms",
    "sordino.accounting",
    "sordino.audit",
    "sordino.exceptions",
    "sordino.danger",
)

HEAD = """\
# API reference

<!-- Made by python/tools/reference.py from the docstrings. Edit those, and make it again. -->

Every public name of the package, from its docstrings. The examples run as tests.
"""

# Methods that scikit-learn calls, and people do not.
HIDDEN = ("get_metadata_routing",)


def page() -> str:
    """The whole page."""
    parts = [HEAD, _contents()]
    parts += [_module(name) for name in MODULES]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def _contents() -> str:
    links = [f"- [`{name}`](#{name.replace('.', '')})" for name in MODULES]
    return "\n".join(links) + "\n"


def _module(name: str) -> str:
    module = importlib.import_module(name)
    parts = [f"## {name}\n", _docstring(module, level=3)]
    for public in sorted(module.__all__, key=lambda word: (word.islower(), word.lower())):
        value = getattr(module, public)
        if inspect.ismodule(value) or public.startswith("__"):
            continue
        if name == "sordino" and getattr(value, "__module__", "") == "sordino.exceptions":
            continue
        parts.append(_entry(public, value))
    return "\n".join(part for part in parts if part)


def _entry(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return f"### `{name}{_signature(value)}`\n\n{_docstring(value)}"
    parts = [f"### class `{name}{_made(value)}`\n", _docstring(value)]
    for member, found in _members(value):
        if isinstance(found, property):
            parts.append(f"- **`{member}`**: {_first(found)}")
        else:
            call = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
            signature = _signature(call, is_method=not isinstance(found, staticmethod))
            parts.append(f"- **`{member}{signature}`**: {_first(call)}")
    return "\n".join(parts) + "\n"


def _members(kind: type) -> list[tuple[str, Any]]:
    """Public methods and properties, those of private bases included, in the order of definition."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.split(".")[0] != "sordino":
            continue
        for member, value in vars(base).items():
            is_method = inspect.isfunction(value) or isinstance(value, (property, staticmethod, classmethod))
            if member.startswith("_") or member in HIDDEN or not is_method:
                continue
            found.pop(member, None)
            found[member] = value
    shown = {}
    for member, value in found.items():
        call = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if inspect.getdoc(call):
            shown[member] = value
    return list(shown.items())


def _made(kind: type) -> str:
    """How an object is made; nothing, if it is not made by hand."""
    made: Any = kind.__init__
    if not inspect.isfunction(made) or dataclasses.is_dataclass(kind):
        return ""
    return _signature(made, is_method=True).replace("()", "")


def _signature(call: Any, *, is_method: bool = False) -> str:
    """Names and defaults, without types: those are in the sources, and editors show them."""
    signature = inspect.signature(call)
    given = list(signature.parameters.values())[1 if is_method else 0 :]
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in given]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def _first(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(value) or ""
    return " ".join(text.split("\n\n")[0].split())


def _docstring(value: Any, level: int = 4) -> str:
    """A docstring in numpy's form, as Markdown."""
    text = inspect.getdoc(value) or ""
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    shown = [_plain(parts[0])]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        shown.append(f"*{title}*\n")
        shown.append(_plain(body) if title in ("Notes", "Examples") else _fields(body))
    return "\n".join(part for part in shown if part.strip())


def _plain(text: str) -> str:
    """Paragraphs; what starts with `>>>` is an example."""
    shown = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            shown.append(f"```pycon\n{paragraph}\n```\n")
        elif paragraph:
            shown.append(f"{paragraph}\n")
    return "\n".join(shown)


def _fields(text: str) -> str:
    """`name : type` with an indented description, as one item of a list each."""
    items: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            items[-1] += f" {line.strip()}"
        elif line:
            name, _, kind = line.partition(" : ")
            items.append(f"- `{name}`" + (f" ({kind})" if kind else "") + ":")
    return "\n".join(item.rstrip(":") if item.endswith(":") else item for item in items) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"written: {PAGE}")
