"""Tables of Lance files by the names that a sync leaves, in Spark SQL: the rows that real Hudi has."""

from __future__ import annotations

import pytest

from hudi_hive.errors import SchemaError
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tests.support.fixture_tables import assert_same_rows, queries, unzip_fixture

pytestmark = pytest.mark.jvm


@pytest.fixture
def synced(metastore):
    """Syncs a fixture; its names end with the test."""
    yield lambda name: HiveSyncTool(
        HiveSyncConfig(base_path=str(unzip_fixture(name)), database="default", table=f"by_{name}"), metastore=metastore
    ).sync()
    for name in metastore.tables("default"):
        if "_lance" in name:
            metastore.drop_table("default", name)


@pytest.mark.parametrize("name", ["v9_cow_lance", "v9_mor_lance"])
def test_rows_by_name(new_session, synced, name):
    synced(name)
    (query,) = [query for query in queries(name, "snapshot") if query["label"] == "snapshot"]
    assert_same_rows(new_session().table(f"default.by_{name}").toArrow(), name, query)


def test_vectors_are_bytes_to_a_metastore(new_session, synced):
    name = "v9_cow_lance_vectors"
    synced(name)
    frame = new_session().table(f"default.by_{name}")
    assert dict(frame.dtypes)["emb"] == "binary"  # as Hudi's own sync declares them
    assert sorted(row.id for row in frame.select("id", "pic").collect()) == [1, 2, 3]
    with pytest.raises(SchemaError, match="column 'emb' is list"):
        frame.toArrow()
