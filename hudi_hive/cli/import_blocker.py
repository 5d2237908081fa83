"""Keeps commands from paying for imports: pandas, which most do not use, and modules looked through as garbage."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from types import ModuleType

# Objects that may be made before garbage is looked for: with Python's own 700 what the imports make, which stays, is
# looked through again and again, for a tenth of what a small command costs. It makes some 100,000 in all.
_THRESHOLD = 200_000


def run_one_command() -> None:
    """Have this process look for garbage seldom, and not through modules when it ends: it runs one command."""
    gc.set_threshold(_THRESHOLD, *gc.get_threshold()[1:])
    atexit.register(_freeze)


def _freeze() -> None:
    """Leave all objects out of the collections by which Python ends, a seventh of a small command.

    Not where DuckDB is loaded: its binding reports what is not collected by then as leaked.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()


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
