"""New tables: their properties are those that the release of each version writes; changes of properties survive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    InvalidPropertiesError,
    PathNotFoundError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_hive.formats import parse_properties
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient, TableConfig, TableDefinition, create_table
from hudi_hive.table.properties.config import BACKUP_PATH, PROPERTIES_PATH
from hudi_hive.table.properties.writer import recover_properties, update_properties
from tests.support.fixture_tables import VERSIONS, unzip_fixture

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "t_record",
    "namespace": "hoodie.t",
    "fields": [{"name": name, "type": ["null", "string"], "default": None} for name in ("id", "ts", "p")],
}


def create(path: Path, **arguments: Any) -> MetaClient:
    return create_table(path, TableDefinition(**{"name": "t", "record_keys": ["id"], **arguments}))


def real_properties(fixture: str) -> dict[str, str]:
    properties = parse_properties((Path(unzip_fixture(fixture)) / PROPERTIES_PATH).read_bytes())
    # What the metadata table's writer adds, not the table's creation.
    added = ("hoodie.table.metadata.partitions", "hoodie.table.index.defs.path")
    return {key: value for key, value in properties.items() if not key.startswith(added)}


ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "cow_nonpart": {"record_keys": ["order_id"], "ordering_fields": ["updated_at"]},
    "cow_part_mdt": {"record_keys": ["visit_id"], "partition_fields": ["city"], "ordering_fields": ["seen_at"]},
    "cow_cdc": {
        "record_keys": ["acct"],
        "partition_fields": ["branch"],
        "ordering_fields": ["ts"],
        "cdc": True,
    },
    "cow_virtual_keys": {
        "record_keys": ["id"],
        "partition_fields": ["p"],
        "ordering_fields": ["ts"],
        "populate_meta_fields": False,
    },
    "cow_tskey_hive": {
        "record_keys": ["event_id"],
        "partition_fields": ["event_ms"],
        "ordering_fields": ["val"],
        "key_generator": "TIMESTAMP",
        "hive_style_partitioning": True,
        "properties": {
            "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
            "hoodie.keygen.timebased.timezone": "UTC",
        },
    },
    "cow_custom_keygen": {
        "record_keys": ["id"],
        "partition_fields": ["region:simple", "at:timestamp"],
        "ordering_fields": ["ts"],
        "hive_style_partitioning": True,
    },
    "mor_commit_time": {
        "record_keys": ["dev"],
        "ordering_fields": ["event_ts"],
        "table_type": "MERGE_ON_READ",
        "merge_mode": "COMMIT_TIME_ORDERING",
    },
    "mor_event_time": {
        "record_keys": ["dev"],
        "ordering_fields": ["event_ts"],
        "table_type": "MERGE_ON_READ",
        "merge_mode": "EVENT_TIME_ORDERING",
    },
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_properties_are_those_of_the_release(tmp_path: Path, case: str, version: int) -> None:
    name = f"v{version}_{case}"
    real = real_properties(name)
    create(tmp_path, name=name, version=version, **ARGUMENTS[case])
    written = parse_properties((tmp_path / PROPERTIES_PATH).read_bytes())
    if version == 6:
        # 0.15.0 leaves this one out of what it keeps, and then cannot tell how the paths were made.
        written.pop("hoodie.keygen.timebased.timestamp.type", None)
    assert written == real


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_table_is_read_as_empty(tmp_path: Path, version: int) -> None:
    client = create(tmp_path, version=version, partition_fields=["p"], create_schema=SCHEMA, database="shop")
    loaded = MetaClient.load(tmp_path)
    assert loaded.config == client.config
    assert loaded.config.database == "shop"
    assert loaded.timeline.instants == ()
    assert loaded.partition_paths() == []
    assert loaded.avro_schema() == SCHEMA


def test_a_table_is_not_made_twice(tmp_path: Path) -> None:
    create(tmp_path)
    before = (tmp_path / PROPERTIES_PATH).read_bytes()
    with pytest.raises(TableExistsError):
        create(tmp_path, name="other")
    assert (tmp_path / PROPERTIES_PATH).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": "a b"}, InvalidOptionError),
        ({"table_type": "MOR"}, InvalidOptionError),
        ({"version": 7}, InvalidOptionError),
        ({"key_generator": "GUESS"}, InvalidOptionError),
        ({"timezone": "CET"}, InvalidOptionError),
        ({"record_keys": [], "populate_meta_fields": False}, InvalidOptionError),
        ({"record_keys": ["id", "p"], "key_generator": "SIMPLE"}, InvalidOptionError),
        ({"cdc": "ALL"}, InvalidOptionError),
        ({"merge_mode": "LATEST"}, InvalidOptionError),
        ({"merge_mode": "CUSTOM"}, InvalidOptionError),
        ({"merge_mode": "EVENT_TIME_ORDERING"}, InvalidOptionError),
        ({"ordering_fields": ["ts", "p"]}, InvalidOptionError),
        ({"payload_class": "com.example.Mine"}, UnsupportedTableError),
        ({"payload_class": "com.example.Mine", "version": 9}, UnsupportedTableError),
        ({"create_schema": SCHEMA, "partition_fields": ["q"]}, UnknownColumnError),
        ({"create_schema": "no schema"}, InvalidOptionError),
        ({"properties": {"hoodie.table.name": "x"}}, InvalidOptionError),
        ({"properties": {"hoodie.made.up": "x"}}, InvalidOptionError),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: Mapping[str, Any], error: type[HudiHiveError]
) -> None:
    with pytest.raises(error):
        create(tmp_path, **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("payload", "mode"),
    [("AWSDmsAvroPayload", "COMMIT_TIME_ORDERING"), ("PartialUpdateAvroPayload", "EVENT_TIME_ORDERING")],
)
def test_version_9_converts_deprecated_payloads(tmp_path: Path, payload: str, mode: str) -> None:
    name = f"org.apache.hudi.common.model.{payload}"
    config = create(tmp_path, version=9, ordering_fields=["ts"], payload_class=name).config
    assert config.merge_mode == mode
    assert config.payload_class is None
    assert config.properties["hoodie.table.legacy.payload.class"] == name


# -- changes ---------------------------------------------------------------------------------------------------------


def test_properties_are_changed_and_removed(tmp_path: Path) -> None:
    before = create(tmp_path, create_schema=SCHEMA).config
    storage = Storage(tmp_path)
    changed = update_properties(storage, {"hoodie.table.metadata.partitions": "files", "hoodie.table.name": "t2"})
    assert TableConfig.load(storage) == changed
    assert changed.metadata_partitions == ("files",)
    assert changed.name == "t2"
    back = update_properties(storage, {"hoodie.table.metadata.partitions": None, "hoodie.table.name": "t"})
    assert back == before
    assert not storage.exists(BACKUP_PATH)


def test_a_change_that_would_break_the_table_is_refused(tmp_path: Path) -> None:
    create(tmp_path)
    storage = Storage(tmp_path)
    before = storage.read_bytes(PROPERTIES_PATH)
    with pytest.raises(InvalidPropertiesError):
        update_properties(storage, {"hoodie.table.type": "SOMETHING"})
    with pytest.raises(UnsupportedTableError):
        update_properties(storage, {"hoodie.table.version": "7"})
    with pytest.raises(InvalidPropertiesError, match="two folders of archived instants"):
        update_properties(storage, {"hoodie.archivelog.folder": "archive"})  # readers take it for damage
    assert storage.read_bytes(PROPERTIES_PATH) == before
    assert not storage.exists(BACKUP_PATH)


def test_no_table_no_change(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        update_properties(Storage(tmp_path), {"hoodie.table.name": "x"})


class Dying(Storage):
    """A storage whose n-th call that changes anything does not come back."""

    calls = 1 << 30

    def _count(self) -> None:
        type(self).calls -= 1
        if type(self).calls < 0:
            raise StorageError("died")

    def write_bytes(self, path: str, data: bytes) -> None:
        self._count()
        super().write_bytes(path, data)

    def create_if_absent(self, path: str, data: bytes) -> None:
        self._count()
        super().create_if_absent(path, data)

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        self._count()
        super().delete(path, missing_ok=missing_ok)


@pytest.mark.parametrize("survived", range(4))
def test_a_death_leaves_the_old_or_the_new_properties(tmp_path: Path, survived: int) -> None:
    old = create(tmp_path).config
    Dying.calls = survived
    with pytest.raises(StorageError, match="died"):
        update_properties(Dying(tmp_path), {"hoodie.table.metadata.partitions": "files"})
    storage = Storage(tmp_path)
    seen = TableConfig.load(storage)
    assert seen.metadata_partitions == (("files",) if survived == 3 else ())
    assert parse_properties(recover_properties(storage).data) == seen.properties
    assert not storage.exists(BACKUP_PATH)
    assert TableConfig.load(storage) == seen
    update_properties(storage, {"hoodie.table.metadata.partitions": None})
    assert TableConfig.load(storage) == old


def test_a_reader_may_meet_every_moment_of_a_change(tmp_path: Path) -> None:
    create(tmp_path)

    class Racing(Storage):
        """Finds the properties deleted once, and the backup gone just after."""

        missed = False

        def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
            if path == PROPERTIES_PATH and not self.missed:
                self.missed = True
                raise PathNotFoundError("no such file", path=path)
            return super().read_bytes(path, offset, length)

    assert TableConfig.load(Racing(tmp_path)) == TableConfig.load(Storage(tmp_path))


def test_a_torn_file_gives_way_to_the_backup(tmp_path: Path) -> None:
    old = create(tmp_path).config
    storage = Storage(tmp_path)
    whole = storage.read_bytes(PROPERTIES_PATH)
    storage.write_bytes(BACKUP_PATH, whole)
    storage.write_bytes(PROPERTIES_PATH, whole[: len(whole) // 2])
    assert recover_properties(storage).data == whole
    assert TableConfig.load(storage) == old
    storage.write_bytes(BACKUP_PATH, whole[: len(whole) // 2])
    storage.delete(PROPERTIES_PATH)
    with pytest.raises(InvalidPropertiesError, match="neither"):
        recover_properties(storage)
