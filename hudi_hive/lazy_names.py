"""Names of a package that are loaded when they are asked for.

Source: PEP 562.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, which loads a module when one of its names is asked for.

    Args:
        package: its name.
        homes: the module of each name, below the package.

    Returns:
        What gives a name, and raises ``AttributeError`` for others.
    """

    def load(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
