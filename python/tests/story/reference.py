"""The reference page of the book, from the docstrings of the package."""

from __future__ import annotations

import importlib
import inspect
import re

import sordino

MODULES = [
    "linear_model",
    "neural_network",
    "preprocessing",
    "statistics",
    "mechanisms",
    "accounting",
    "audit",
    "danger",
    "exceptions",
]
HEAD = """# Reference

Made from the docstrings; `help(name)` shows the same with parameters and examples. A test compares
this page with them.
"""


def text() -> str:
    """The page."""
    parts = [HEAD, "\n## sordino\n\n", *(entry(sordino, name) for name in sorted(names()))]
    for module_name in MODULES:
        module = importlib.import_module(f"sordino.{module_name}")
        summary = (module.__doc__ or "").strip().split("\n\n")[0]
        parts.append(f"\n## sordino.{module_name}\n\n{plain(summary)}\n\n")
        parts += [entry(module, name) for name in sorted(module.__all__)]
    return "".join(parts)


def names() -> list[str]:
    """What the package itself offers, besides modules and exceptions."""
    exceptions = set(importlib.import_module("sordino.exceptions").__all__)
    skipped = exceptions | set(sordino._SUBMODULES) | {"__version__"}
    return [name for name in sordino.__all__ if name not in skipped]


def entry(module: object, name: str) -> str:
    """One name: its signature and its first paragraph."""
    value = getattr(module, name)
    summary = plain((inspect.getdoc(value) or "").split("\n\n")[0])
    shown = f"- `{name}{signature(value)}`: {summary}\n"
    if inspect.isclass(value) and not issubclass(value, Exception):
        shown += methods(value)
    return shown


def methods(kind: type) -> str:
    """Public methods that the class has beyond those of `object` and `tuple`."""
    shown = ""
    for name, value in inspect.getmembers(kind):
        inherited = any(name in vars(base) for base in (object, tuple, Exception))
        if name.startswith("_") or inherited or not callable(value):
            continue
        doc = plain((inspect.getdoc(value) or "").split("\n\n")[0])
        if doc:
            shown += f"  - `{name}{signature(value)}`: {doc}\n"
    return shown


def signature(value: object) -> str:
    """Parameters by name, without types and defaults."""
    if inspect.isclass(value) and issubclass(value, (Warning, Exception)):
        return ""
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    shown, is_keyword = [], False
    for name, parameter in found.parameters.items():
        if name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            name, is_keyword = f"*{name}", True
        elif parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            name = f"**{name}"
        shown.append(name if parameter.default is parameter.empty else f"{name}=...")
    return f"({', '.join(shown)})"


def plain(summary: str) -> str:
    """One line."""
    return re.sub(r"\s+", " ", summary).strip()
