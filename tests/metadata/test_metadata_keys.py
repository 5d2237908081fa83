"""Keys of the metadata table, and the metrics of asking it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.metadata.reader.keys import (
    column_key,
    escape_secondary,
    file_key,
    group_indexes,
    partition_key,
    rows_of_groups,
    split_secondary,
)
from hudi_hive.metrics import METADATA_ACTIONS, MetadataMetrics
from tests.support.fixture_tables import DATA


def test_keys_of_a_real_table():
    # docs/format.md#metadata-partitions
    assert column_key("driver") == "AjpJ7N1gBZc="
    assert partition_key("city=san_francisco") == "8L2cgj6DtVM="
    name = "036ded81-9ed4-479f-bcea-7145dfa0079b-0_0-986-2792_20251220210108078.parquet"
    assert file_key(name) == "R0v7g76tSFUukD8HWc7Klw=="
    assert partition_key("") == partition_key(".")


def test_long_names_hash_in_stripes():
    # 32 bytes and more go through four lanes; all lengths around the stripes must differ and be stable.
    keys = [column_key("x" * length) for length in range(70)]
    assert len(set(keys)) == 70 and all(len(key) == 12 for key in keys)


def java_hash(text):
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (value * 31 + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@given(st.lists(st.text(max_size=30), max_size=20), st.integers(1, 100))
def test_groups_of_keys(keys, groups):
    def java_remainder(value):
        return abs(abs(value) % groups) if value != -(2**31) else (2**31) % groups

    assert group_indexes(keys, groups).tolist() == [java_remainder(java_hash(key)) for key in keys]


def test_group_of_the_least_hash():
    assert java_hash("polygenelubricants") == -(2**31)
    assert group_indexes(["polygenelubricants"], 10).tolist() == [8]


@given(st.text(), st.text())
def test_secondary_keys_are_split_as_they_were_escaped(secondary, record):
    assert split_secondary(f"{escape_secondary(secondary)}${escape_secondary(record)}") == (secondary, record)


def test_metrics_by_their_names():
    metrics = MetadataMetrics()
    metrics.add("lookup_files", 2, millis=1.5)
    with metrics.timed("scan"):
        pass
    values = metrics.snapshot()
    assert values["HoodieMetadata.lookup_files.count"] == 2
    assert values["HoodieMetadata.lookup_files.duration"] == 1.5
    assert values["HoodieMetadata.scan.count"] == 1 and values["HoodieMetadata.scan.duration"] > 0
    with pytest.raises(ValueError, match="unknown action"):
        metrics.add("nothing")


def test_prometheus_collects_the_metrics():
    prometheus = pytest.importorskip("prometheus_client")
    registry, metrics = prometheus.CollectorRegistry(), MetadataMetrics()
    metrics.register_prometheus(registry)
    metrics.add("validate_errors", 3, millis=250)
    labels = {"action": "validate_errors"}
    assert registry.get_sample_value("hudi_metadata_operations_total", labels) == 3
    assert registry.get_sample_value("hudi_metadata_operation_seconds_total", labels) == 0.25
    assert b"hudi_metadata_operations_total" in prometheus.generate_latest(registry)


HUDI = json.loads((DATA / "metadata" / "metric_names.json").read_text())
"""The constants of ``HoodieMetadataMetrics`` by release."""


@pytest.mark.parametrize("release", HUDI)
def test_names_are_those_of_hudi_where_it_has_the_metric(release):
    names, page = set(HUDI[release]), (Path(__file__).parents[2] / "docs" / "reading.md").read_text()
    assert names & set(METADATA_ACTIONS) == {"initialize", "scan", "lookup_partitions", "lookup_files"}
    for other in ("lookup_meta_index_column_ranges", "lookup_meta_index_bloom_filters", "lookup_record_index_time"):
        assert other in names and f"`{other}`" in page
    sizes = {"baseFileCount", "logFileCount", "totalBaseFileSizeInBytes", "totalLogFileSizeInBytes"}
    assert sizes <= names and all(f"`{size}`" in page for size in sizes - {"baseFileCount"})


@pytest.mark.parametrize(("keys", "groups"), [(0, 3), (1, 1), (200, 7), (5, 400)])
def test_rows_of_groups_are_those_of_their_hashes(keys, groups):
    texts = [f"key-{number}" for number in range(keys)]
    at = group_indexes(texts, groups).tolist()
    parts = {number: rows.tolist() for number, rows in rows_of_groups(texts, groups)}
    assert parts == {number: [row for row in range(keys) if at[row] == number] for number in sorted(set(at))}
    assert list(parts) == sorted(parts)
