"""Chooses the family of the PySpark that is installed."""

from __future__ import annotations

from typing import Final

import pyspark

from hudi_hive.errors import SparkError
from hudi_hive.spark.versions.family import SparkFamily

SUPPORTED: Final = "PySpark 3.5 to 4.3"
"""What remedies name."""


def family_of(version: str) -> SparkFamily:
    """The family of a release of PySpark.

    Args:
        version: such as ``4.1.4``.

    Raises:
        SparkError: it is not supported.
    """
    major, minor = version.split(".")[:2]
    if (major, minor) == ("3", "5"):
        from hudi_hive.spark.versions.spark3 import Spark3

        return Spark3()
    if major == "4":
        from hudi_hive.spark.versions.spark4 import Spark4

        return Spark4(int(minor))
    raise SparkError(f"PySpark {version} is not supported", remedy=f"use {SUPPORTED}")


SPARK: Final = family_of(pyspark.__version__)
"""The family of the PySpark that is installed."""
