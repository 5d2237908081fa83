"""Spark SQL by name over partitions that a real metastore places elsewhere: rows of the table alone, or an error."""

from __future__ import annotations

import copy
import shutil

import pytest

from hudi_hive.errors import HudiHiveError

pytestmark = pytest.mark.jvm

NAME = "v9_cow_part_mdt"


def test_locations_of_registered_partitions_are_not_read(spark, synced, metastore, tmp_path):
    table = synced(NAME, tmp_path, "evil_locations")
    database, name = table.split(".")
    base = tmp_path / NAME
    other = tmp_path / "other"
    shutil.copytree(base, other)
    read = f"SELECT city, visit_id FROM {table} ORDER BY ALL"
    before = [tuple(row) for row in spark.sql(read).collect()]
    parts = list(metastore.partitions(database, name))
    places = [f"file:{other}/{parts[0].values[0]}", "file:///etc", f"file:{base}/.hoodie"]
    for part, place in zip(parts, places, strict=False):
        part.sd.location = place
    metastore.alter_partitions(database, name, parts)
    extra = copy.deepcopy(parts[0])
    extra.values, extra.sd.location = ["evil"], f"file:{other}/{parts[0].values[0]}"
    metastore.add_partitions(database, name, [extra])
    spark.sql(f"REFRESH TABLE {table}")
    assert [tuple(row) for row in spark.sql(read).collect()] == before
    assert spark.sql(f"SELECT * FROM {table} WHERE city = 'evil'").collect() == []
    some = parts[0].values[0]
    found = spark.sql(f"SELECT city, visit_id FROM {table} WHERE city = '{some}' ORDER BY ALL").collect()
    assert [tuple(row) for row in found] == [row for row in before if row[0] == some]


@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_partition_behind_a_link_is_refused_by_name(spark, synced, tmp_path, metadata):
    table = synced(NAME, tmp_path, f"linked_{metadata}")
    base = tmp_path / NAME
    shutil.move(base / "oslo", tmp_path / "elsewhere")
    (base / "oslo").symlink_to(tmp_path / "elsewhere")
    if metadata == "false":
        shutil.rmtree(base / ".hoodie" / "metadata")
    with pytest.raises(Exception, match="symbolic link") as caught:
        spark.sql(f"REFRESH TABLE {table}")
        spark.sql(f"SELECT count(visit_id) FROM {table}").collect()
    assert str(base / "oslo") in str(caught.value) or isinstance(caught.value, HudiHiveError)
