"""Jobs of the input format over fixture tables: their keys and their rows."""

import functools
import os

import pyarrow as pa

from hudi_hive.input_format import HoodieParquetInputFormat, JobConf
from tests.support.fixture_tables import (
    expected,
)

VERSIONS = ("v6", "v8", "v9")


def keys(name, **consume):
    return {f"hoodie.{name}.consume.{key.replace('__', '.')}": value for key, value in consume.items()}


def incremental(name, start="0", **consume):
    return keys(name, mode="INCREMENTAL", start__timestamp=start, **consume)


def job(paths, conf=None):
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return HoodieParquetInputFormat(JobConf(conf or {}).with_input_paths([str(path) for path in paths]))


def rows_of(input_format, number=1):
    """All rows of the only table of a job, split by split."""
    (table,) = input_format.plan.tables.values()
    batches = [batch for split in input_format.get_splits(number) for batch in input_format.get_record_reader(split)]
    return pa.Table.from_batches(batches, schema=table.scan.schema)


def names_of(input_format):
    return sorted(path.rpartition("/")[2] for path in input_format.list_status_table().column("path").to_pylist())


def commits(name, *actions):
    found = [c for c in expected(name)["commits"] if c["state"] == "COMPLETED"]
    return [c for c in found if c["action"] in (actions or ("commit", "deltacommit", "replacecommit"))]


# -- plain files ---------------------------------------------------------------------------------------------------


@functools.cache
def numbers():
    return pa.table({"id": range(1000), "name": [f"n{i}" for i in range(1000)]})
