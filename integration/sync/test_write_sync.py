"""Writes that sync in the same call, on a real metastore; and the same from Spark as from Python."""

from __future__ import annotations

import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive.errors import InvalidOptionError
from tests.support.metastore.sync_behaviour import state
from tests.write.shared import write_sync_tests as plain
from tests.write.shared.write_sync_tests import (
    client,
    test_every_operation_syncs_and_as_a_sync_of_its_own_does,
    test_rows_stand_where_the_sync_fails,
)

__all__ = ["client", "test_every_operation_syncs_and_as_a_sync_of_its_own_does", "test_rows_stand_where_the_sync_fails"]

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def server(metastore_server):
    return metastore_server


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_spark_leaves_the_same_in_the_metastore(spark, client, server, tmp_path, kind):
    table = plain.table_at(tmp_path / "one", kind)
    own = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.table.type": kind,
    }
    frame = spark.createDataFrame(plain.ROWS)
    names = ["t"] if kind == "COPY_ON_WRITE" else ["t_ro", "t_rt", "t"]

    def of(name):
        found = state(client, name)
        text = repr({key: value for key, value in found.items() if key != "parameters"})
        stamps = {key: value for key, value in found["parameters"].items() if "last_commit" not in key}
        return text.replace("/two", "/one"), stamps

    def same():
        return [of(name) == of(f"s{name}") for name in names]

    table.insert(plain.ROWS, plain.options(server, "t"))
    hudi_spark.write(frame, tmp_path / "two", own | plain.options(server, "st"))
    assert same() == [True] * len(names)
    gone = {"hoodie.datasource.write.operation": "delete_partition"}
    table.delete_partitions(["city=ber"], plain.options(server, "t"))
    named = {"hoodie.datasource.write.partitions.to.delete": "city=ber"}
    hudi_spark.write(frame, tmp_path / "two", own | gone | named | plain.options(server, "st"))
    assert same() == [True] * len(names)
    assert set(state(client, "t")["partitions"]) == {("ams",)}


def test_wrong_options_leave_no_table(spark, server, tmp_path):
    frame = spark.createDataFrame(plain.ROWS)
    wrong = plain.options(server) | {"hoodie.datasource.hive_sync.tabel": "x", "hoodie.table.name": "trips"}
    with pytest.raises(InvalidOptionError, match="unknown option"):
        hudi_spark.write(frame, tmp_path / "none", wrong)
    assert not (tmp_path / "none").exists()
