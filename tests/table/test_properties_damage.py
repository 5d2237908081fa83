"""Properties of real tables, damaged at every place: no key is lost without a word, and none gets its default.

One bit of each byte is flipped, and in a long run each bit of each byte.
"""

from __future__ import annotations

import random

import pytest

from hudi_hive.errors import InvalidPropertiesError, UnsupportedTableError
from hudi_hive.names import DEFINING_PROPERTIES
from hudi_hive.table.properties.config import TableConfig
from hudi_hive.table.properties.writer import properties_bytes
from tests.support.fixture_tables import unzip_fixture

NAMES = ("v6_mor_part_rli", "v8_cow_part_mdt", "v9_mor_event_time", "v9_cow_archived")


def real(name, folder="."):
    return (unzip_fixture(name) / folder / ".hoodie/hoodie.properties").read_bytes()


def outcome(data):
    try:
        return TableConfig.from_bytes(data, "x", metadata_table=b"HFILE" in data)
    except (InvalidPropertiesError, UnsupportedTableError) as error:
        assert error.path == "x"
        return None


def lost(config, right):
    """Keys that the right properties have and these do not."""
    return (DEFINING_PROPERTIES & right.properties.keys()) - config.properties.keys()


def ours(version):
    known = {8: "v8_cow_part_mdt", 9: "v9_mor_event_time"}.get(version, "v6_mor_part_rli")
    return properties_bytes(dict(TableConfig.from_bytes(real(known), "x").properties), "Updated at")


SAMPLES = {
    **{name: lambda name=name: real(name) for name in NAMES},
    "metadata table": lambda: real("v9_mor_part_rli", ".hoodie/metadata"),
    **{f"ours of version {version}": lambda version=version: ours(version) for version in (6, 8, 9)},
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_flipped_bit_takes_a_key_away(sample, thorough):
    data = SAMPLES[sample]()
    right = outcome(data)
    begin = data.index(b"\n", data.index(b"\n") + 1) + 1  # behind the remarks
    refused = 0
    for at in range(begin, len(data)):
        for bit in range(8) if thorough else [random.Random(f"{sample} {at}").randrange(8)]:
            config = outcome(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
            refused += config is None
            if config is not None:
                assert not lost(config, right), (at, bit)
                for name in ("table_type", "version", "layout", "populate_meta_fields", "timeline_path", "timezone"):
                    assert getattr(config, name) == getattr(right, name) or name == "version", (at, bit, name)
    assert refused > len(data) * (4 if thorough else 0.5)


@pytest.mark.parametrize("sample", SAMPLES)
def test_cuts_and_zeroed_blocks(sample, thorough):
    data = SAMPLES[sample]()
    right = outcome(data)
    for at in range(0, len(data), 1 if thorough else 3):
        for damaged in (data[:at], data[:at] + bytes(len(data[at : at + 64])) + data[at + 64 :]):
            config = outcome(damaged)
            assert config is None or lost(config, right) <= {
                "hoodie.populate.meta.fields",
                "hoodie.table.base.file.format",
                "hoodie.database.name",
            }, at
            if config is not None:
                assert config.table_type == right.table_type and config.ordering_fields == right.ordering_fields


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (b"hoodie.table.type=", b"hoodie.tabne.type=", "hoodie.table.type is missing"),
        (b"hoodie.table.type=", b"hoodie.table.type-", "hoodie.table.type is missing"),
        (b"\nhoodie.table.ordering.fields=", b"\n#", "ordering.fields"),
        (b"\nhoodie.timeline.path=timeline", b"", "hoodie.timeline.path"),
        (b"\nhoodie.timeline.path", b"*hoodie.timeline.path", "within the value"),
        (b"=timeline\n", b"=timelinu\n", "timelinu"),
        (b"archivelog.folder=history", b"archivelog.folder=histori", "histori"),
        (b"archivelog.folder=history", b"archivelog.folder=past", "two folders"),
        (b"hoodie.table.checksum", b"hoodie.table.checksul", "checksul"),
        (b"recordkey.fields=", b"recordkey.fields=\x00", "0x00"),
    ],
)
def test_what_is_named(old, new, what):
    data = real("v9_mor_event_time")
    assert old in data
    with pytest.raises(InvalidPropertiesError, match=what) as raised:
        TableConfig.from_bytes(data.replace(old, new), "x")
    assert raised.value.path == "x" and raised.value.remedy


def test_keys_and_folders_of_ones_own_are_let_through():
    data = real("v9_mor_event_time") + b"hoodie.my.own=1\nmine=hoodie.table.type\n"
    data = data.replace(b"path=timeline", b"path=instants").replace(b"=history", b"=past")
    config = TableConfig.from_bytes(data, "x")
    assert (config.timeline_path, config.history_path, config.properties["mine"]) == (
        "instants",
        "past",
        "hoodie.table.type",
    )
    plain = b"hoodie.table.name=t\nhoodie.table.version=6"  # written by hand
    assert TableConfig.from_bytes(plain, "x").table_type == "COPY_ON_WRITE"


def test_properties_that_other_writers_and_versions_leave():
    data = real("v9_mor_event_time")
    lines = [line for line in data.splitlines(keepends=True) if b".ordering.fields=" not in line]
    flink = b"hoodie.table.legacy.payload.class=org.apache.hudi.common.model.EventTimeAvroPayload\n"
    lines = [line for line in lines if not line.startswith(flink.partition(b"=")[0])]
    assert not TableConfig.from_bytes(b"".join([*lines, flink]), "x").ordering_fields
    gone = (b"hoodie.timeline.path=", b"hoodie.timeline.history.path=", b"hoodie.record.merge.mode=")
    lines = [line for line in data.splitlines(keepends=True) if not line.startswith(gone)]
    before = b"".join(lines).replace(b"hoodie.table.version=9", b"hoodie.table.version=6")
    before = before.replace(b"layout.version=2", b"layout.version=1").replace(b"=history", b"=past")
    assert TableConfig.from_bytes(before, "x").version == 6  # a downgraded table
