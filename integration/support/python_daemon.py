"""Forks Spark's Python workers from a process that has imported what their tasks need, so that they need not.

Spark runs it as ``python -m``, named by ``spark.python.daemon.module``. Workers collect garbage after each task; that
leaves out what is frozen here.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

if __name__ == "__main__":
    for name in ("pyarrow.dataset", "pyarrow.parquet", "hudi_hive.spark"):
        import_module(name)
    gc.freeze()
    manager()
