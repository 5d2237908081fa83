"""Keeps pandas from being imported by commands that do not use it, since that costs a third of their time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _PandasBlocker:
    """An import finder that hides pandas from pyarrow."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)


def block_pandas() -> None:
    """Keep pyarrow from importing pandas until someone calls ``to_pandas``.

    Where pandas is installed, pyarrow imports it when it makes its first array, to know data frames when it sees them.
    It tries that once; conversions to and from pandas import it later all the same.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _PandasBlocker()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
