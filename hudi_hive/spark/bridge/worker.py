"""What keeps Spark's Python workers small and quick, which live as long as the session."""

from __future__ import annotations

import ctypes
import gc
import itertools
import sys
from collections.abc import Callable
from functools import cache

import pyarrow as pa
from pyspark import TaskContext

_task_numbers = itertools.count(1)


def freeze_imports() -> None:
    """Exempt what a Python worker has imported from garbage collection, which Spark runs after each task.

    Going through the modules takes longer than many a task. Called at the beginning of each task; it acts at that of
    the second one of a process, when the imports have been made and the garbage of the first one is collected.
    """
    if TaskContext.get() is not None and next(_task_numbers) == 2:
        gc.freeze()


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
