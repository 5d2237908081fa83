"""A second opinion: the ``hudi`` package reads the same rows from the copy-on-write tables that it can read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from tests.support.fixture_tables import encode_rows, fixture_names, rows_sha256, unzip_fixture

hudi = pytest.importorskip("hudi")

# What the peer cannot read, and what it refuses with; ours are compared with real Hudi in test_fixture_queries.py.
REFUSED = {
    **{f"v{version}_cow_orc": "ORC" for version in (6, 8, 9)},
    **{f"v{version}_cow_custom_keygen": "region" for version in (8, 9)},
}
# The peer shows the partition path's text in a formatted partition column; ours is the value as written.
FORMATTED = {"v6_cow_custom_keygen": "at", **{f"v{version}_cow_tskey_hive": "event_ms" for version in (6, 8, 9)}}


def peer_rows(path, options) -> pa.Table:
    table = hudi.HudiTableBuilder.from_base_uri(str(path)).build()
    schema = table.get_schema_with_meta_fields()
    batches = table.read(options)
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def checksum(table: pa.Table, columns: list[str]) -> str:
    return rows_sha256(encode_rows(table, columns))


@pytest.mark.parametrize("name", [name for name in fixture_names("cow") if name not in REFUSED])
def test_snapshots_agree_with_the_rust_package(name):
    path = unzip_fixture(name)
    ours, theirs = HudiTable.open(path).scan().to_arrow(), peer_rows(path, hudi.HudiReadOptions())
    columns = [column for column in ours.column_names if column != FORMATTED.get(name)]
    assert ours.num_rows == theirs.num_rows
    assert checksum(ours, columns) == checksum(theirs, columns)


@pytest.mark.parametrize("name", fixture_names("cow_nonpart"))
def test_time_travel_agrees(name):
    path = unzip_fixture(name)
    table = HudiTable.open(path)
    for instant in table.timeline.write_instants():
        theirs = peer_rows(path, hudi.HudiReadOptions().with_as_of_timestamp(instant.requested))
        ours = table.scan(as_of=instant.requested).to_arrow()
        assert checksum(ours, ours.column_names) == checksum(theirs, ours.column_names)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_still_refused(name):
    with pytest.raises(Exception, match=REFUSED[name]):
        peer_rows(unzip_fixture(name), hudi.HudiReadOptions())
    assert HudiTable.open(unzip_fixture(name)).scan().count() > 0
