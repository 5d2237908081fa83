"""Hive-sync's options: each one is honoured or refused by name; what is open comes from the table's properties."""

from __future__ import annotations

import re

import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.options import options_of
from hudi_hive.options import sync as options
from hudi_hive.sync import HiveSyncConfig
from hudi_hive.sync.config.buckets import BucketSpec, parse_bucket_spec
from hudi_hive.sync.table.table_spec import View, hive_classes, views
from hudi_hive.table.core import MetaClient
from tests.support.fixture_tables import DATA, unzip_fixture

K = "hoodie.datasource.hive_sync."
BASE = {"hoodie.datasource.meta.sync.base.path": "/lake/t"}

# One value for each option of the reference, and what the configuration must show, or the error text.
EXPECTED: dict[str, tuple[str, object]] = {
    K + "enable": ("true", None),
    K + "mode": ("HMS", {"mode": "hms"}),
    K + "use_jdbc": ("false", {"mode": "hiveql"}),
    K + "username": ("u", "warning"),
    K + "password": ("p", "warning"),
    K + "jdbcurl": ("jdbc:hive2://h:1", "warning"),
    K + "metastore.uris": ("thrift://a:1, thrift://b:2", {"metastore_uris": ("thrift://a:1", "thrift://b:2")}),
    K + "database": ("d", {"database": "d"}),
    K + "table": ("t", {"table": "t"}),
    K + "base_file_format": ("orc", {"base_file_format": "ORC"}),
    K + "partition_fields": ("a:simple,b", {"partition_fields": ("a", "b")}),
    K + "partition_extractor_class": (
        "org.apache.hudi.hive.MultiPartKeysValueExtractor",
        {"partition_extractor": "org.apache.hudi.hive.MultiPartKeysValueExtractor"},
    ),
    K + "use_pre_apache_input_format": ("true", {"use_pre_apache_input_format": True}),
    K + "auto_create_database": ("false", {"auto_create_database": False}),
    K + "ignore_exceptions": ("true", "a sync that did not do what it says fails"),
    K + "skip_ro_suffix": ("true", {"skip_ro_suffix": True}),
    K + "support_timestamp": ("true", {"support_timestamp": True}),
    K + "table_properties": ("a=b\n c = d \n\ne", {"table_properties": (("a", "b"), ("c", "d"), ("e", ""))}),
    K + "serde_properties": ("a=b", {"serde_properties": (("a", "b"),)}),
    K + "sync_as_datasource": ("false", {"sync_as_datasource": False}),
    K + "schema_string_length_thresh": ("10", {"schema_string_length": 10}),
    K + "create_managed_table": ("true", {"create_managed_table": True}),
    K + "omit_metadata_fields": ("true", {"omit_metadata_fields": True}),
    K + "batch_num": ("7", {"batch_size": 7}),
    "hudi_hive.sync.connections": ("2", {"connections": 2}),
    K + "bucket_sync": ("false", {"bucket_sync": False}),
    K + "bucket_sync_spec": (
        "CLUSTERED BY (id) INTO 4 BUCKETS",
        {"bucket_spec": "CLUSTERED BY (id) INTO 4 BUCKETS", "bucket_sync": False},
    ),
    K + "sync_comment": ("true", {"sync_comment": True}),
    K + "table.strategy": ("ro", {"strategy": "RO"}),
    K + "filter_pushdown_enabled": ("true", {"filter_pushdown": True}),
    K + "filter_pushdown_max_size": ("5", {"filter_pushdown_max_size": 5}),
    K + "recreate_table_on_error": ("true", {"recreate_on_error": True}),
    "hoodie.datasource.meta.sync.base.path": ("/x", {"base_path": "/x"}),
    "hoodie.datasource.meta.sync.enable": ("true", None),
    "hoodie.meta.sync.client.tool.class": ("org.apache.hudi.hive.HiveSyncTool", None),
    "hoodie.meta.sync.decode_partition": ("true", {"decode_partition": True}),
    "hoodie.meta.sync.metadata_file_listing": ("false", {"metadata_file_listing": False}),
    "hoodie.datasource.meta_sync.condition.sync": ("true", {"conditional": True}),
    "hoodie.meta_sync.spark.version": ("3.5.1", {"spark_version": "3.5.1"}),
    "hoodie.meta.sync.sync_snapshot_with_table_name": ("false", {"snapshot_with_table_name": False}),
    "hoodie.meta.sync.incremental": ("false", {"incremental": False}),
    "hoodie.meta.sync.no_partition_metadata": ("true", {"no_partition_metadata": True}),
    "hoodie.meta_sync.global.replicate.timestamp": ("20240101", "two clusters"),
    "hivesyncglobal.local_base_path": ("/x", "two clusters"),
    "hoodie.meta.sync.touch.partitions.enabled": ("true", {"touch_partitions": True}),
    K + "batching.enabled": ("true", None),
    "hoodie.meta.sync.force.recreate.table": ("true", {"force_recreate": True}),
    K + "use_spark_catalog": ("true", "not supported"),
    K + "assume_date_partitioning": ("true", "Hudi removed it"),
}


@pytest.mark.parametrize("key", EXPECTED)
def test_every_option_is_honoured_or_refused_by_name(key):
    value, outcome = EXPECTED[key]
    options = {**BASE, key: value}
    if isinstance(outcome, str) and outcome != "warning":
        with pytest.raises(InvalidOptionError, match=re.escape(key)) as caught:
            HiveSyncConfig.from_options(options)
        assert outcome in str(caught.value)
        return
    config = HiveSyncConfig.from_options(options)
    if outcome == "warning":
        assert [line for line in config.warnings if key in line]
        return
    assert config.warnings == ()
    for field, wanted in (outcome or {}).items():
        assert getattr(config, field) == wanted
    if outcome is None:
        assert config == HiveSyncConfig.from_options(BASE)


def test_hive_sync_has_no_other_option():
    lines = (DATA / "hive-sync-options.txt").read_text().splitlines()
    names = {line for line in lines if not line.startswith("#")}
    assert "batch_num" in names
    known = {key.removeprefix(K) for key in EXPECTED} | set(EXPECTED)
    assert {name for name in names if name not in known and "hivesyncglobal" not in name} == set()


@pytest.mark.parametrize("key", sorted(option.name for _, option in options_of(HiveSyncConfig)))
def test_every_option_has_a_case(key):
    assert key in EXPECTED or key == "hoodie.datasource.write.hive_style_partitioning"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (K + "modes", "hms"),
        (K + "mode", "bigquery"),
        (K + "use_jdbc", "maybe"),
        (K + "batch_num", "0"),
        ("hudi_hive.sync.connections", "0"),
        ("hudi_hive.sync.connections", "65"),
        (K + "bucket_sync", "true"),
        (K + "bucket_sync_spec", "PARTITIONED BY (id)"),
        (K + "batching.enabled", "perhaps"),
        (K + "batch_num", "many"),
        (K + "schema_string_length_thresh", "0"),
        (K + "support_timestamp", "yes"),
        (K + "base_file_format", "CSV"),
        (K + "table.strategy", "XX"),
        (K + "table_properties", "k1=a=b"),
        (K + "partition_extractor_class", "com.acme.Mine"),
        (K + "filter_pushdown_max_size", "-1"),
        ("hoodie.meta.sync.client.tool.class", "org.apache.hudi.sync.datahub.DataHubSyncTool"),
        ("hoodie.datasource.write.operation", "upsert"),
    ],
)
def test_bad_options_are_refused(key, value):
    with pytest.raises(InvalidOptionError):
        HiveSyncConfig.from_options({**BASE, key: value})


def test_what_is_not_supported_may_be_turned_off():
    off = {K + "use_spark_catalog": "false", K + "assume_date_partitioning": False, K + "ignore_exceptions": "false"}
    assert HiveSyncConfig.from_options({**BASE, **off}) == HiveSyncConfig.from_options(BASE)
    with pytest.raises(InvalidOptionError, match="two clusters"):
        HiveSyncConfig.from_options({**BASE, "hoodie.meta_sync.global.replicate.timestamp": "false"})


def test_use_jdbc_does_not_matter_beside_a_mode():
    assert HiveSyncConfig.from_options({**BASE, K + "use_jdbc": "true", K + "mode": "hms"}).mode == "hms"
    assert HiveSyncConfig.from_options({**BASE, K + "use_jdbc": "true"}).mode == "jdbc"
    assert HiveSyncConfig.from_options(BASE).mode == "hms"


def test_the_sql_modes_have_an_address_a_user_and_a_password():
    options = {K + "jdbcurl": "jdbc:hive2://h:1/d", K + "username": "u", K + "password": " p "}
    for mode in ("hiveql", "jdbc"):
        config = HiveSyncConfig.from_options({**BASE, **options, K + "mode": mode})
        assert (config.mode, config.jdbc_url, config.username, config.password) == (
            mode,
            "jdbc:hive2://h:1/d",
            "u",
            " p ",
        )
        assert config.warnings == ()
        assert " p " not in repr(config)


def test_the_base_path_is_required():
    with pytest.raises(InvalidOptionError, match="base"):
        HiveSyncConfig.from_options({K + "table": "t"})
    with pytest.raises(InvalidOptionError, match="base"):
        HiveSyncConfig(base_path=" ")


def test_writer_options_stand_in_for_those_of_the_sync():
    options = {
        **BASE,
        "hoodie.database.name": "d",
        "hoodie.datasource.write.table.name": "w",
        "hoodie.datasource.write.partitionpath.field": "a:SIMPLE,b:TIMESTAMP",
        "hoodie.datasource.write.hive_style_partitioning": True,
        "hoodie.datasource.write.partitionpath.urlencode": "true",
        "hoodie.table.base.file.format": "ORC",
        "hoodie.metadata.enable": "false",
    }
    config = HiveSyncConfig.from_options(options)
    assert (config.database, config.table, config.partition_fields) == ("d", "w", ("a", "b"))
    assert (config.hive_style_partitioning, config.decode_partition, config.base_file_format) == (True, True, "ORC")
    assert config.metadata_file_listing is False
    own = HiveSyncConfig.from_options({**options, K + "database": "x", K + "partition_fields": ""})
    assert (own.database, own.partition_fields) == ("x", ())


def test_lines_of_properties_are_parsed():
    assert options.TABLE_PROPERTIES.parse("") == ()
    assert options.TABLE_PROPERTIES.parse("\n a \n b=1\nb=2") == (("a", ""), ("b", "2"))
    with pytest.raises(InvalidOptionError, match="table_properties: line"):
        options.TABLE_PROPERTIES.parse("=x")


@pytest.mark.parametrize(
    ("fixture", "fields", "extractor", "decode"),
    [
        ("v8_cow_nonpart", (), "NonPartitionedExtractor", False),
        ("v8_cow_ymd_hive", None, "MultiPartKeysValueExtractor", False),
        ("v8_cow_part_mdt", None, "SinglePartPartitionValueExtractor", False),
        ("v8_cow_tskey_hive", None, "HiveStylePartitionValueExtractor", False),
        ("v8_cow_types", None, None, True),
    ],
)
def test_the_table_fills_what_options_leave_open(fixture, fields, extractor, decode):
    client = MetaClient.load(unzip_fixture(fixture))
    target = HiveSyncConfig(base_path="/x").resolve(client.config)
    assert target.partition_fields == (client.config.partition_fields if fields is None else fields)
    assert target.table == client.config.name
    assert target.database == "default"
    assert target.decode_partition is decode
    assert target.base_file_format == "PARQUET"
    assert target.warnings == ()
    if extractor is not None:
        assert target.extractor == extractor


def test_options_that_contradict_the_table_are_honoured_with_a_warning():
    client = MetaClient.load(unzip_fixture("v8_cow_ymd_hive"))
    target = HiveSyncConfig(base_path="/x", partition_fields=("p",), base_file_format="orc").resolve(client.config)
    assert (target.partition_fields, target.base_file_format) == (("p",), "ORC")
    assert len(target.warnings) == 2
    alone = HiveSyncConfig(base_path="/x", partition_extractor="NonPartitionedExtractor").resolve(client.config)
    assert alone.partition_fields == ()


def test_the_sync_says_which_of_two_contradicting_options_it_follows():
    mor = MetaClient.load(unzip_fixture("v8_mor_commit_time")).config
    cow = MetaClient.load(unzip_fixture("v8_cow_nonpart")).config
    skip = HiveSyncConfig(base_path="/x", skip_ro_suffix=True)
    assert "skip_ro_suffix" in skip.resolve(mor).warnings[-1]
    assert skip.resolve(cow).warnings == ()
    assert HiveSyncConfig(base_path="/x").resolve(mor).warnings == ()
    unused = HiveSyncConfig(base_path="/x", bucket_spec="CLUSTERED BY (a) INTO 2 BUCKETS").resolve(cow)
    assert "bucket_sync is not true" in unused.warnings[0]


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("CLUSTERED BY (id) INTO 4 BUCKETS", BucketSpec(("id",), (), 4)),
        ("clustered by(Id, `b c`) sorted by (Id desc, x) into 65 buckets", BucketSpec(
            ("id", "b c"), (("id", False), ("x", True)), 65)),
        ("CLUSTERED BY (id) SORTED BY (id ASC) INTO 1 BUCKETS", BucketSpec(("id",), (("id", True),), 1)),
        ("CLUSTERED BY (descr) SORTED BY (descr, ascii) INTO 2 BUCKETS", BucketSpec(
            ("descr",), (("descr", True), ("ascii", True)), 2)),
    ],
)  # fmt: skip
def test_bucket_specifications_are_parsed(text, spec):
    assert parse_bucket_spec(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "CLUSTERED BY () INTO 4 BUCKETS",
        "CLUSTERED BY (a) INTO 0 BUCKETS",
        "CLUSTERED BY (a) INTO 4 BUCKETS; DROP TABLE t",
        "CLUSTERED BY (a b) INTO 4 BUCKETS",
    ],
)
def test_other_bucket_texts_are_refused(text):
    with pytest.raises(InvalidOptionError, match="bucket_sync_spec"):
        parse_bucket_spec(text)


def test_views_of_a_merge_on_read_table():
    def names(**settings):
        return views(HiveSyncConfig(base_path="/x", **settings), "t", merge_on_read=True)

    ro, rt = View.READ_OPTIMIZED, View.REALTIME
    assert names() == (("t_ro", ro), ("t_rt", rt), ("t", rt))
    assert names(snapshot_with_table_name=False) == (("t_ro", ro), ("t_rt", rt))
    # One name cannot show two views: the option that has to be asked for decides.
    for snapshot in (False, True):
        assert names(skip_ro_suffix=True, snapshot_with_table_name=snapshot) == (("t", ro), ("t_rt", rt))
    assert names(strategy="ro") == (("t", ro),)
    assert names(strategy="RT") == (("t", rt),)
    assert views(HiveSyncConfig(base_path="/x"), "t", merge_on_read=False) == (("t", View.COPY_ON_WRITE),)


@pytest.mark.parametrize(
    ("file_format", "view", "old", "input_format"),
    [
        ("PARQUET", View.COPY_ON_WRITE, False, "org.apache.hudi.hadoop.HoodieParquetInputFormat"),
        ("PARQUET", View.REALTIME, False, "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"),
        ("PARQUET", View.READ_OPTIMIZED, True, "com.uber.hoodie.hadoop.HoodieInputFormat"),
        ("PARQUET", View.REALTIME, True, "com.uber.hoodie.hadoop.realtime.HoodieRealtimeInputFormat"),
        ("HFILE", View.READ_OPTIMIZED, False, "org.apache.hudi.hadoop.HoodieHFileInputFormat"),
        ("HFILE", View.REALTIME, False, "org.apache.hudi.hadoop.realtime.HoodieHFileRealtimeInputFormat"),
        ("LANCE", View.COPY_ON_WRITE, False, "org.apache.hudi.hadoop.HoodieLanceInputFormat"),
        ("LANCE", View.REALTIME, False, "org.apache.hudi.hadoop.realtime.HoodieLanceRealtimeInputFormat"),
        ("ORC", View.COPY_ON_WRITE, False, "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"),
    ],
)
def test_the_input_format_of_each_file_format_and_view(file_format, view, old, input_format):
    assert hive_classes(file_format, view, pre_apache=old).input_format == input_format
