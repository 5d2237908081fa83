"""What is done once in each of Spark's Python workers."""

from __future__ import annotations

import gc
import itertools

from pyspark import TaskContext

_task_numbers = itertools.count(1)


def freeze_imports() -> None:
    """Exempt what a Python worker has imported from garbage collection, which Spark runs after each task.

    Going through the modules takes longer than many a task. Called at the beginning of each task; it acts at that of
    the second one of a process, when the imports have been made and the garbage of the first one is collected.
    """
    if TaskContext.get() is not None and next(_task_numbers) == 2:
        gc.freeze()
