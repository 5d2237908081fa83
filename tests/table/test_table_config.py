"""hoodie.properties as a typed value: what stands in it, what is refused, what happens while it is rewritten."""

from __future__ import annotations

import pytest

from hudi_hive.errors import HudiHiveError, InvalidPropertiesError, TableNotFoundError, UnsupportedTableError
from hudi_hive.storage import Storage
from hudi_hive.table import TableConfig
from tests.support.fixture_tables import expected, fixture_names, unzip_fixture

MINIMAL = {"hoodie.table.name": "trips", "hoodie.table.version": "8", "hoodie.timeline.layout.version": "2"}


def load(path) -> TableConfig:
    return TableConfig.load(Storage(path))


@pytest.mark.parametrize("name", fixture_names())
def test_properties_are_those_that_hudi_read(name):
    answer, config = expected(name), load(unzip_fixture(name))
    assert dict(config.properties) == answer["table_config"]
    assert config.name == answer["table_name"]
    assert config.table_type == answer["table_type"]
    assert config.version == answer["table_version"]
    assert config.layout == (1 if config.version == 6 else 2)
    fields = [part.partition(":")[0] for entry in answer["partition_fields"] for part in entry.split(",")]
    assert list(config.partition_fields) == fields
    keys = answer["record_key"]
    assert list(config.record_keys) == (keys if isinstance(keys, list) else keys.split(","))
    assert config.is_partitioned == bool(fields)


@pytest.mark.parametrize(
    ("case", "generator", "types"),
    [
        ("cow_nonpart", "NON_PARTITION", ()),
        ("cow_part_mdt", "SIMPLE", ("SIMPLE",)),
        ("cow_ymd_hive", "COMPLEX", ("SIMPLE",) * 3),
        ("cow_tskey_hive", "TIMESTAMP", ("TIMESTAMP",)),
    ],
)
def test_key_generators_have_one_name_in_all_versions(case, generator, types):
    for name in fixture_names(case):
        config = load(unzip_fixture(name))
        assert (config.key_generator, config.partition_field_types) == (generator, types)


def test_custom_key_generator_keeps_the_kind_of_each_field():
    assert load(unzip_fixture("v9_cow_custom_keygen")).partition_field_types == ("SIMPLE", "TIMESTAMP")
    # Version 6 does not store the kinds, so that no field's value may be taken from its path.
    assert load(unzip_fixture("v6_cow_custom_keygen")).partition_field_types == ("TIMESTAMP", "TIMESTAMP")


def test_the_least_properties_give_hudi_s_defaults():
    config = TableConfig.from_properties(MINIMAL)
    assert config.table_type == "COPY_ON_WRITE"
    assert (config.timeline_path, config.history_path, config.archive_folder) == ("timeline", "history", "archived")
    assert config.populate_meta_fields and not config.hive_style_partitioning and not config.drop_partition_columns
    assert config.base_file_format == "parquet"
    assert config.cdc_logging_mode == "DATA_BEFORE_AFTER"
    assert config.partition_fields == config.record_keys == config.ordering_fields == config.metadata_partitions == ()
    assert config.key_generator is config.database is config.create_schema is config.bootstrap_base_path is None


def test_new_and_old_names_of_ordering_fields():
    old = TableConfig.from_properties({**MINIMAL, "hoodie.table.precombine.field": "ts"})
    both = TableConfig.from_properties(
        {**MINIMAL, "hoodie.table.precombine.field": "ts", "hoodie.table.ordering.fields": "a, b"}
    )
    assert old.ordering_fields == ("ts",)
    assert both.ordering_fields == ("a", "b")


def test_foreign_key_generator_is_named_as_such():
    properties = {**MINIMAL, "hoodie.table.keygenerator.class": "com.example.MyKeys"}
    assert TableConfig.from_properties(properties).key_generator == "USER_PROVIDED"


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"hoodie.table.version": "7"}, UnsupportedTableError, "version 7"),
        ({"hoodie.table.version": "10"}, UnsupportedTableError, "version 10"),
        ({"hoodie.table.version": "eight"}, InvalidPropertiesError, "hoodie.table.version='eight'"),
        ({"hoodie.table.version": ""}, InvalidPropertiesError, "hoodie.table.version is missing"),
        ({"hoodie.table.name": ""}, InvalidPropertiesError, "hoodie.table.name"),
        ({"hoodie.timeline.layout.version": "1"}, InvalidPropertiesError, "layout 1"),
        ({"hoodie.table.type": "COPY"}, InvalidPropertiesError, "hoodie.table.type"),
        ({"hoodie.table.base.file.format": "VORTEX"}, UnsupportedTableError, "VORTEX"),
        ({"hoodie.populate.meta.fields": "yes"}, InvalidPropertiesError, "hoodie.populate.meta.fields"),
        ({"hoodie.timeline.path": "../other"}, InvalidPropertiesError, "hoodie.timeline.path"),
        ({"hoodie.table.partition.fields": "a:HASH"}, InvalidPropertiesError, "hoodie.table.partition.fields"),
        ({"hoodie.table.timeline.timezone": "MARS"}, InvalidPropertiesError, "timezone"),
        ({"hoodie.table.checksum": "1"}, InvalidPropertiesError, "checksum"),
    ],
)
def test_what_is_wrong_is_named(change, error, words):
    with pytest.raises(error, match=words) as caught:
        TableConfig.from_properties({**MINIMAL, **change}, path="file:/t/.hoodie/hoodie.properties")
    assert caught.value.path == "file:/t/.hoodie/hoodie.properties"


def test_checksum_covers_database_and_name():
    good = {**MINIMAL, "hoodie.table.name": "v8_trips_8i3u1d", "hoodie.database.name": "default"}
    assert TableConfig.from_properties({**good, "hoodie.table.checksum": "1197752875"}).database == "default"


def test_not_a_table(tmp_path):
    with pytest.raises(TableNotFoundError, match=r"\.hoodie") as caught:
        load(tmp_path)
    assert caught.value.path == f"file:{tmp_path}"


def test_backup_stands_in_while_the_file_is_rewritten(tmp_path):
    folder = unzip_fixture("v8_cow_nonpart", tmp_path) / ".hoodie"
    before = load(folder.parent)
    (folder / "hoodie.properties").rename(folder / "hoodie.properties.backup")
    assert load(folder.parent) == before
    # The writer is in the middle of the new file.
    (folder / "hoodie.properties").write_bytes(b"#Updated at now\nhoodie.table.na")
    assert load(folder.parent) == before
    (folder / "hoodie.properties.backup").unlink()
    with pytest.raises(InvalidPropertiesError):
        load(folder.parent)


def test_damaged_files_give_our_errors_only(tmp_path):
    folder = unzip_fixture("v9_cow_part_mdt", tmp_path) / ".hoodie"
    file = folder / "hoodie.properties"
    data = file.read_bytes()
    for cut in range(0, len(data), 97):
        for damaged in (data[:cut], data[:cut] + bytes([data[cut] ^ 0x55]) + data[cut + 1 :]):
            file.write_bytes(damaged)
            try:
                config = load(folder.parent)
            except HudiHiveError:
                continue
            assert config.version == 9
