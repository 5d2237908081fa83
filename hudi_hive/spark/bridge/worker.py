"""What keeps Spark's Python workers small, which live as long as the session."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa
from pyspark import TaskContext


def release_memory() -> None:
    """Give memory that nothing uses back to the system: Arrow's, and what the C library keeps.

    Both keep what was freed for later. A worker waits for its next task for hours, beside as many others as there are
    cores, and holds what its greatest task took.
    """
    if TaskContext.get() is not None:
        pa.default_memory_pool().release_unused()
        _trim_heap()(0)


@cache
def _trim_heap() -> Callable[[int], object]:
    """``malloc_trim`` of the GNU C library; where it is missing, a function that does nothing."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    trim: Callable[[int], object] = getattr(library, "malloc_trim", int)
    return trim
