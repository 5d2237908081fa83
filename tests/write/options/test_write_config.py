"""Hudi's write options: defaults, names of all releases, what contradicts, what is refused and what is not known."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import ALL_OPTIONS, Face, fill, options_of
from hudi_hive.table import TableConfig
from hudi_hive.write.options.config import WriteConfig
from hudi_hive.write.options.settings import DuplicatePolicy, IndexType, Operation

NEW = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}


def config_of(options, table=None):
    return WriteConfig.of(options if table is not None else NEW | options, table)


def existing(version=8, **properties):
    found = {
        "hoodie.table.name": "t",
        "hoodie.table.version": str(version),
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.recordkey.fields": "id",
        "hoodie.table.partition.fields": "p",
        "hoodie.table.precombine.field": "ts",
    }
    return TableConfig.from_properties(found | properties)


def test_defaults_are_those_of_hudi():
    config = config_of({})
    assert config.operation is Operation.UPSERT
    assert config.combines
    assert config.duplicate_policy is DuplicatePolicy.NONE
    assert config.files.max_file_size == 120 << 20
    assert config.files.small_file_limit == 100 << 20
    assert (config.index.kind, config.index.bloom_entries, config.index.bloom_fpp) == (IndexType.SIMPLE, 60_000, 1e-9)
    assert config.clean.commits_retained == 10
    assert (config.archive.min_commits, config.archive.max_commits) == (20, 30)
    assert config.compaction.after_commits == 5
    assert not config.compaction.inline
    assert config.metadata.enable
    assert not config.concurrency.is_multi_writer
    assert not config.sync_enabled


@pytest.mark.parametrize("operation", Operation)
def test_operations_are_named_as_in_commits(operation):
    config = config_of({"hoodie.datasource.write.operation": operation.value.upper()})
    assert config.operation is operation
    assert operation.commit_name == operation.name
    assert config.with_operation("insert").operation is Operation.INSERT


@pytest.mark.parametrize(
    ("keys", "paths", "generator"),
    [
        ("id", "", "NON_PARTITION"),
        ("id", "p", "SIMPLE"),
        ("id,x", "p", "COMPLEX"),
        ("id", "p,q", "COMPLEX"),
        ("id", "p:SIMPLE,q:TIMESTAMP", "CUSTOM"),
    ],
)
def test_the_key_generator_of_a_new_table_follows_from_its_fields(keys, paths, generator):
    options = {"hoodie.datasource.write.recordkey.field": keys, "hoodie.datasource.write.partitionpath.field": paths}
    assert config_of(options).table.key_generator == generator


def test_values_may_be_texts_numbers_and_booleans():
    config = WriteConfig.of(
        NEW | {"hoodie.parquet.max.file.size": 1024, "hoodie.clean.automatic": False, "hoodie.index.bloom.fpp": "0.01 "}
    )
    assert (config.files.max_file_size, config.clean.automatic, config.index.bloom_fpp) == (1024, False, 0.01)


GROUPS = [getattr(WriteConfig.of(NEW), item.name) for item in dataclasses.fields(WriteConfig)]
SETTINGS = [type(group) for group in GROUPS if dataclasses.is_dataclass(group)]


@pytest.mark.parametrize("group", SETTINGS)
def test_every_name_of_every_option_sets_its_field(group):
    samples = {bool: ("true", "false"), int: ("6", "8"), float: ("0.5", "0.25"), str: ("x", "y"), tuple: ("a", "b")}
    for field, option in options_of(group):
        default = next(item.default for item in dataclasses.fields(group) if item.name == field)
        for name in option.names:
            text = next((value for value in samples.get(type(default), ("x",)) if parses(option, value)), None)
            if text is None:
                with pytest.raises(InvalidOptionError, match=name.replace(".", r"\.")):
                    fill(group, {name: "x y z"})
                continue
            assert getattr(fill(group, {name: text}), field) == option.parse(text)


def parses(option, value):
    try:
        option.parse(value)
    except InvalidOptionError:
        return False
    return True


def test_two_names_of_one_option_may_not_differ():
    options = {"hoodie.cleaner.commits.retained": "3", "hoodie.clean.commits.retained": "3"}
    assert config_of(options).clean.commits_retained == 3
    with pytest.raises(InvalidOptionError, match="mean the same"):
        config_of(options | {"hoodie.clean.commits.retained": "4"})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("hoodie.datasource.write.recordkey.fields", "hoodie.datasource.write.recordkey.field"),
        ("hoodie.datasource.write.opration", "hoodie.datasource.write.operation"),
        ("hoodie.upsert.shuffle.paralelism", "hoodie.upsert.shuffle.parallelism"),
    ],
)
def test_typos_get_a_hint(wrong, right):
    with pytest.raises(InvalidOptionError, match=f"did you mean {right}"):
        config_of({wrong: "x"})


def test_unknown_options_are_refused():
    for name in ("hoodie.quite.another", "path", "header"):
        with pytest.raises(InvalidOptionError, match=f"unknown option '{name}'"):
            config_of({name: "1"})


def test_a_name_that_is_no_option_of_any_release_gets_no_other_name():
    with pytest.raises(InvalidOptionError, match=r"clustering\.keygen\.class'; leave it out"):
        config_of({"hoodie.clustering.keygen.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator"})


REFUSED = {option.name: option.refused[Face.WRITE] for option in ALL_OPTIONS if Face.WRITE in option.refused}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_unless_it_asks_for_nothing(name):
    for value in REFUSED[name].but_for:
        config_of({name: value})
    with pytest.raises(InvalidOptionError, match="is not supported") as caught:
        config_of({name: "something"})
    assert caught.value.remedy == REFUSED[name].remedy


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.compaction.strategy": "org.apache.hudi.table.action.compact.strategy.DayBasedCompactionStrategy"},
        {"hoodie.compaction.strategy": "com.example.Own"},
        {"hoodie.clustering.plan.strategy.class": "FlinkConsistentBucketClusteringPlanStrategy"},
        {"hoodie.clustering.execution.strategy.class": "com.example.Own"},
        {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.NoopLockProvider"},
    ],
)
def test_classes_that_are_not_supported_are_refused_before_anything_is_written(options, tmp_path):
    table = HudiTable.create(tmp_path, name="t", record_keys=["id"])
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    ((name, value),) = options.items()
    with pytest.raises(InvalidOptionError, match=f"{name}={value} is not supported"):
        table.insert(pa.table({"id": [1]}), options)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.datasource.write.operation": "merge"},
        {"hoodie.parquet.max.file.size": "120MB"},
        {"hoodie.clean.automatic": "yes"},
        {"hoodie.index.bloom.fpp": "2"},
        {"hoodie.index.type": "HBASE"},
        {"hoodie.write.table.version": "7"},
        {"hoodie.upsert.shuffle.parallelism": "many"},
        {"hoodie.keep.min.commits": "30", "hoodie.keep.max.commits": "30"},
        {"hoodie.keep.min.commits": "5"},
        {
            "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
            "hoodie.write.lock.provider": "InProcessLockProvider",
            "hoodie.clean.failed.writes.policy": "EAGER",
        },
        {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"},
        {"hoodie.write.concurrency.mode": "non_blocking_concurrency_control"},
        {"hoodie.datasource.write.keygenerator.class": "com.example.Own"},
        {"hoodie.table.name": None},
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(options):
    with pytest.raises(InvalidOptionError) as caught:
        config_of(options)
    assert any(name in str(caught.value) for name in options)


def test_several_writers_leave_one_another_alone():
    mode = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}
    config = config_of(mode | {"hoodie.write.lock.provider": "InProcessLockProvider"})
    assert config.concurrency.is_multi_writer
    assert config.clean.failed_writes == "LAZY"
    assert config.options["hoodie.cleaner.policy.failed.writes"] == "LAZY"


def test_options_are_found_under_each_of_their_names():
    config = config_of({"hoodie.clean.commits.retained": "7"})
    assert config.options["hoodie.cleaner.commits.retained"] == "7"
    assert WriteConfig.of(config.options) == config


def test_archival_keeps_more_than_the_cleaner():
    config = config_of({"hoodie.clean.commits.retained": "40"})
    assert config.archive.min_commits > 40
    assert config.archive.max_commits > config.archive.min_commits


def test_without_record_key_rows_are_appended():
    bare = {"hoodie.table.name": "t"}
    assert WriteConfig.of(bare).operation is Operation.BULK_INSERT
    for wrong in (
        {"hoodie.populate.meta.fields": "false"},
        {"hoodie.datasource.write.operation": "insert", "hoodie.datasource.insert.dup.policy": "drop"},
    ):
        with pytest.raises(InvalidOptionError, match=r"record key fields"):
            WriteConfig.of(bare | wrong)
    # Rows may carry the keys of their records.
    assert WriteConfig.of(bare | {"hoodie.datasource.write.operation": "upsert"}).operation is Operation.UPSERT


def test_dropping_duplicates_makes_an_upsert_an_insert():
    config = config_of({"hoodie.datasource.write.insert.drop.duplicates": "true"})
    assert (config.operation, config.duplicate_policy) == (Operation.INSERT, DuplicatePolicy.DROP)


def test_the_configuration_of_an_existing_table_holds_for_its_writes():
    config = WriteConfig.of({}, existing())
    assert (config.table.record_keys, config.table.partition_fields) == (("id",), ("p",))
    assert (config.table.table_type, config.table.version, config.table.ordering_fields) == (
        "MERGE_ON_READ",
        8,
        ("ts",),
    )
    same = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
        "hoodie.datasource.write.table.type": "merge_on_read",
    }
    assert WriteConfig.of(same, existing()).table == config.table


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hoodie.table.name", "other"),
        ("hoodie.datasource.write.recordkey.field", "id,x"),
        ("hoodie.datasource.write.partitionpath.field", "q"),
        ("hoodie.datasource.write.precombine.field", "v"),
        ("hoodie.datasource.write.table.type", "COPY_ON_WRITE"),
        ("hoodie.write.table.version", "9"),
        ("hoodie.datasource.write.hive_style_partitioning", "true"),
        ("hoodie.datasource.write.partitionpath.urlencode", "true"),
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.table.cdc.enabled", "true"),
    ],
)
def test_options_that_contradict_the_table_are_refused(name, value):
    with pytest.raises(InvalidOptionError, match=f"{name}=.* contradicts the table"):
        WriteConfig.of({name: value}, existing())


def test_the_merge_mode_of_version_6_stands_in_its_payload():
    table = existing(
        6, **{"hoodie.compaction.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
    )
    assert WriteConfig.of({"hoodie.write.record.merge.mode": "event_time_ordering"}, table).table.merge_mode
    with pytest.raises(InvalidOptionError, match="contradicts"):
        WriteConfig.of({"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}, table)


def test_options_of_the_sync_are_handed_on():
    config = config_of({"hoodie.datasource.hive_sync.enable": "true", "hoodie.datasource.hive_sync.database": "d"})
    assert config.sync_enabled
    assert config.sync_options["hoodie.datasource.hive_sync.database"] == "d"
