"""Pages of the Python API: one for each face of the package, with every public name of it."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, Final

FACES: Final = (
    "hudi_hive",
    "hudi_hive.table_api",
    "hudi_hive.spark",
    "hudi_hive.sync",
    "hudi_hive.sql",
    "hudi_hive.connector",
    "hudi_hive.input_format",
    "hudi_hive.mutation",
    "hudi_hive.mutation.hudi",
    "hudi_hive.metastore",
    "hudi_hive.glue",
    "hudi_hive.testing",
    "hudi_hive.plan",
    "hudi_hive.read",
    "hudi_hive.metadata",
    "hudi_hive.table",
    "hudi_hive.timeline",
    "hudi_hive.schema",
    "hudi_hive.formats",
    "hudi_hive.storage",
    "hudi_hive.predicate",
    "hudi_hive.options",
    "hudi_hive.metrics",
    "hudi_hive.ui",
    "hudi_hive.progress",
)
"""Packages whose public names have a page, the most used first."""


def page_name(face: str) -> str:
    """The page of a face, below the folder of the site's pages."""
    return f"api/{face.replace('.', '-')}.md"


def public_names(face: str) -> list[str]:
    """The public names of a face, sorted without regard to case."""
    return sorted((name for name in import_module(face).__all__ if not name.startswith("__")), key=str.lower)


def page(face: str) -> str:
    """The Markdown of the page of a face, which mkdocstrings fills with signatures and docstrings."""
    parts = [
        f"# {face}\n",
        f"::: {face}\n    options:\n      members: false\n"
        "      show_root_heading: false\n      show_root_toc_entry: false\n",
    ]
    if face == "hudi_hive":  # its names load from elsewhere, and stand there
        parts += [f"- {_link(name, getattr(import_module(face), name))}" for name in public_names(face)]
    else:
        parts += [_entry(face, name) for name in public_names(face)]
    return "\n".join(parts)


def _entry(face: str, name: str) -> str:
    value = getattr(import_module(face), name)
    module = getattr(value, "__module__", "")
    if inspect.ismodule(value):
        return f"## {name}\n\nThe module `{value.__name__}`: {_first_line(value)}\n"
    if not (inspect.isclass(value) or inspect.isfunction(value)) or not module.startswith("hudi_hive"):
        return f"## {name} {{ #{face}.{name} }}\n\n{_constant(value)}\n"
    if "._thrift" in module:
        return f"## {name} {{ #{face}.{name} }}\n\nThe struct `{name}` of the metastore's Thrift interface.\n"
    return f"::: {_where(value)}\n    options:\n      heading: {name}\n      toc_label: {name}\n"


def _link(name: str, value: Any) -> str:  # noqa: ANN401 - a class or function
    if issubclass(type(value), type) and issubclass(value, Exception):
        return f"[{name}](../errors.md#{name.lower()})"
    return f"[{name}][{_where(value)}]"


def _where(value: Any) -> str:  # noqa: ANN401 - a class or function
    return f"{value.__module__}.{value.__qualname__}"


def _first_line(value: object) -> str:
    return (inspect.getdoc(value) or "").split("\n")[0]


def _constant(value: object) -> str:
    text = repr(value)
    return f"A constant of the type `{type(value).__name__}`" + (f": `{text}`" if len(text) < 80 else ".")
