"""Bootstraps beside a Spark session, with its access to stores."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from hudi_hive.spark.bridge import store_options
from hudi_hive.write import bootstrap as bootstraps

Path = str | os.PathLike[str]


def bootstrap(
    spark: SparkSession,
    source: Path,
    path: Path,
    options: Mapping[str, Any],
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> bootstraps.BootstrapReport:
    """Make a table of a folder of Parquet files: in each partition a skeleton for each file, or whole files of rows.

    The driver reads the keys of the files (of partitions that become whole files all rows, which must fit into memory).

    Args:
        spark: a session of classic PySpark.
        source: base path of the files, which stay where they are and must not change afterwards.
        path: base path of the new table.
        options: Hudi's write options, which define the table; ``hoodie.bootstrap.mode.selector`` says which partitions
            become what: see :func:`hudi_hive.write.bootstrap.bootstrap`.
        storage_options: of this call, before those of :func:`~hudi_hive.spark.enable` and of Hadoop's configuration.

    Raises:
        HudiHiveError: as :func:`hudi_hive.write.bootstrap.bootstrap`.
    """
    stored = store_options(spark._jsparkSession, os.fspath(path), storage_options)
    return bootstraps.bootstrap(source, path, options, stored)
