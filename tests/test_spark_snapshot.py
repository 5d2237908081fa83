"""What a statement sees of a table, as far as it needs no JVM."""

from __future__ import annotations

from hudi_hive.plan import Query
from hudi_hive.spark.snapshot import TableSnapshot, location_of
from tests.support import unzip_fixture


def test_the_table_knows_the_order_of_its_partition_fields():
    location = location_of(unzip_fixture("v8_cow_ymd_hive"))
    own = TableSnapshot(location, Query.of("snapshot"))
    assert len(own.partition_fields) > 1
    catalog = tuple(name.upper() for name in reversed(own.partition_fields))
    other = TableSnapshot(location, Query.of("snapshot"), None, catalog)
    paths = own.partition_paths()
    assert other.partition_texts(paths).equals(own.partition_texts(paths))
    renamed = TableSnapshot(location, Query.of("snapshot"), None, ["y", *own.partition_fields[1:]])
    assert renamed.partition_fields[0] == "y"
