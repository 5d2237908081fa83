"""Partition values, comparison, filters and locations."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_hive.errors import PartitionValueError
from hudi_hive.sync.config.extractors import hive_style, multi_part, single_part, slash_encoded_day
from hudi_hive.sync.diff.filters import order_is_certain, partition_filter
from hudi_hive.sync.diff.hive_objects import new_partitions
from hudi_hive.sync.diff.partition_diff import PARTITIONS, REGISTERED, diff_partitions, partition_table, same_places
from hudi_hive.sync.diff.schema_diff import ColumnChange, column_changes, key_mismatch, key_type_warnings
from hudi_hive.sync.table.locations import join, path_of, qualified_like, relative_to, same_location
from hudi_hive.sync.table.table_spec import Column, TableSpec, View, hive_classes
from tests.support.fixture_tables import GOLDEN

FILTERS = json.loads((GOLDEN / "20_pure_functions.json").read_text())["filters"]


@pytest.mark.parametrize("case", FILTERS, ids=lambda case: case["case"])
def test_filters_of_partitions_are_those_of_hudi(case):
    keys = list(zip(case["fields"][::2], case["fields"][1::2], strict=True))

    def ours():
        return partition_filter(keys, [multi_part(path) for path in case["written"]], max_size=case["max_size"])

    if isinstance(case["filter"], dict):
        with pytest.raises(PartitionValueError):
            ours()
    else:
        assert ours() == case["filter"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "2024-01-01 OR dt > 1970-01-01"),
        ("date", "__HIVE_DEFAULT_PARTITION__"),
        ("string", "a\\"),
        ("string", 'a"\\'),
        ("string", "a\\\\\\"),
    ],
)
@pytest.mark.parametrize("max_size", [0, 100])
def test_values_that_would_change_a_filter_are_refused(kind, value, max_size):
    with pytest.raises(PartitionValueError):
        partition_filter([("dt", kind)], [[value], ["2024-01-01"]], max_size=max_size)


def test_backslashes_inside_a_value_stand_in_a_filter():
    assert partition_filter([("k", "string")], [["a\\b"], ["c\\\\"]], max_size=9) == '(k = "a\\b" OR k = "c\\\\")'


@pytest.mark.parametrize(
    ("values", "max_size", "certain"),
    [
        (["a", "B"], 9, True),  # each is named
        (["a", "B"], 0, False),
        (["2024-01-05", "2023-12-31"], 0, True),
        (["2024-01-05", "2024-1-6"], 0, False),
        (["a1", "a2"], 0, True),
    ],
)
def test_ranges_of_texts_that_have_one_order_everywhere(values, max_size, certain):
    assert order_is_certain([("k", "string")], [[value] for value in values], max_size=max_size) is certain


def registered(**locations):
    rows = [{"name": name.replace("_", "="), "location": location} for name, location in locations.items()]
    return pa.Table.from_pylist(rows, schema=REGISTERED)


def names(table):
    return table["name"].to_pylist()


def test_a_full_comparison_adds_moves_and_drops():
    wanted = partition_table(["k=a", "k=b", "k=c"], ["k"], hive_style, decode=False)
    have = registered(
        k_a="file:/lake/t/k=a", k_b="hdfs://ns/elsewhere/k=b", k_z="/lake//t/k=z", k_y="file:/other/k=y", k_x="/lake/t2"
    )
    diff = diff_partitions(wanted, have, "/lake/t", drop_others=True)
    assert (names(diff.add), names(diff.move), names(diff.drop)) == (["k=c"], ["k=b"], ["k=z"])
    assert diff.unchanged == 1
    assert diff.foreign == ("k=x", "k=y")
    assert diff.add.schema.equals(PARTITIONS)
    assert not diff.is_empty


def test_partitions_of_another_bucket_are_foreign():
    none = partition_table([], ["k"], hive_style, decode=False)
    have = registered(k_a="s3://mine/t/k=a", k_b="s3://other/t/k=b", k_c="/t/k=c")
    diff = diff_partitions(none, have, "s3a://mine/t", drop_others=True)
    assert (names(diff.drop), diff.foreign) == (["k=a", "k=c"], ("k=b",))


def test_incremental_comparison_drops_only_what_is_named():
    wanted = partition_table(["k=a"], ["k"], hive_style, decode=False)
    have = registered(k_a="/lake/t/k=a", k_b="/lake/t/k=b", k_c="/lake/t/k=c")
    diff = diff_partitions(wanted, have, "file:///lake/t/", drop_others=False, drop=["k=b", "k=never"])
    assert (names(diff.add), names(diff.move), names(diff.drop)) == ([], [], ["k=b"])


def test_no_partitions_at_all():
    empty = partition_table([], ["k"], hive_style, decode=False)
    diff = diff_partitions(empty, REGISTERED.empty_table(), "/lake/t", drop_others=True)
    assert diff.is_empty


_SEGMENT = st.text(st.characters(exclude_characters="/=", exclude_categories=("Cs", "Cc")), min_size=1, max_size=5)


@given(st.sets(_SEGMENT, max_size=12), st.sets(_SEGMENT, max_size=12))
def test_full_comparison_makes_both_sides_the_same(table, metastore):
    wanted = partition_table(sorted(f"k={value}" for value in table), ["k"], hive_style, decode=False)
    others = partition_table(sorted(f"k={value}" for value in metastore), ["k"], hive_style, decode=False)
    paths = pa.array([f"s3://b/t/{path}" for path in others["path"].to_pylist()], pa.string())
    have = pa.table([others["name"], paths, pa.nulls(len(paths), pa.string())], schema=REGISTERED)
    diff = diff_partitions(wanted, have, "s3a://b/t", drop_others=True)
    after = (set(names(have)) - set(names(diff.drop))) | set(names(diff.add))
    assert after == set(names(wanted))
    assert diff.move.num_rows == 0
    assert diff.unchanged == len(table & metastore)


def test_values_are_decoded_once():
    found = partition_table(["k=a%2Fb", "k=%2525"], ["k"], hive_style, decode=True)
    assert found["values"].to_pylist() == [["a/b"], ["%25"]]
    assert names(found) == ["k=a%2Fb", "k=%2525"]
    plain = partition_table(["k=a%2Fb"], ["k"], hive_style, decode=False)
    assert names(plain) == ["k=a%252Fb"]


def test_values_must_fit_the_fields():
    with pytest.raises(PartitionValueError, match="2 values for the 1 partition fields") as caught:
        partition_table(["a/b"], ["k"], multi_part, decode=False)
    assert caught.value.path == "a/b"


def test_two_paths_with_the_same_values_are_refused():
    with pytest.raises(PartitionValueError, match=r"2024/01/02 and 2024/1/2"):
        partition_table(["2024/1/2", "2024/01/02", "2024/01/03"], ["d"], slash_encoded_day, decode=False)
    with pytest.raises(PartitionValueError, match="have the same values"):
        partition_table(["a/b", "a-b"], ["d"], single_part, decode=False)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("/lake/t", "file:/lake/t", True),
        ("file:///lake/t/", "file:/lake//t", True),
        ("hdfs://ns/lake/t", "/lake/t", True),
        ("hdfs://ns/lake/t", "hdfs:/lake/t", True),
        ("hdfs://ns/lake/t", "hdfs://other/lake/t", False),
        ("s3a://bucket/t", "s3://bucket/t", True),
        ("s3a://bucket/t", "s3a://bucket2/t", False),
        ("file:/lake/t", "hdfs://ns/lake/t", False),
        ("/lake/t", "/lake/t2", False),
        ("/lake/a?b#c", "file:/lake/a?b#c", True),
        ("/lake/a%20b", "/lake/a b", False),
    ],
)
def test_spellings_of_one_location_are_the_same(first, second, same):
    assert same_location(first, second) is same
    assert same_location(second, first) is same
    columns = [pa.chunked_array([[f"{text.rstrip('/')}/k=a"]]) for text in (first, second)]
    assert same_places(*columns).to_pylist() == [same]


def test_relative_and_qualified_locations():
    assert relative_to("/lake/t", "file:/lake/t/k=a/d=b") == "k=a/d=b"
    assert relative_to("s3a://b/t", "s3://b/t/x") == "x"
    assert relative_to("s3a://b/t", "s3://c/t/x") is None
    assert relative_to("/lake/t", "/lake/t2/x") is None
    assert relative_to("/lake/t", "/lake/t") is None
    assert join("/lake/t/", "k=a") == "/lake/t/k=a"
    assert path_of("hdfs://ns/lake//t/") == "/lake/t"
    assert qualified_like("/lake/t", "file:/old/t") == "file:/lake/t"
    assert qualified_like("/lake/t", "hdfs://ns/old/t") == "hdfs://ns/lake/t"
    assert qualified_like("/lake/t", "/old/t") == "/lake/t"
    assert qualified_like("s3://b/t", "file:/old") == "s3://b/t"


def test_changes_of_columns_are_found():
    have = [Column("a", "int"), Column("b", "struct<x:int>"), Column("c", "string")]
    want = [Column("b", "STRUCT< `x` : int>"), Column("a", "bigint"), Column("d", "date")]
    assert column_changes(have, want) == (
        ColumnChange("c", "string", None),
        ColumnChange("a", "int", "bigint"),
        ColumnChange("d", None, "date"),
    )
    assert [change.kind for change in column_changes(have, want)] == ["drop", "alter", "add"]
    assert column_changes(have, list(reversed(have))) == ()


def test_partition_keys_that_differ():
    assert key_mismatch([Column("A", "string")], [Column("a", "int")]) is None
    assert "(a)" in key_mismatch([Column("a", "string")], [])
    assert key_type_warnings([Column("a", "string")], [Column("a", "int")]) == (
        "partition key a stays string in the metastore, though the table has int",
    )


def test_new_partitions_share_the_structs_of_their_columns():
    columns = tuple(Column(f"c{number}", "string") for number in range(20))
    view = View.COPY_ON_WRITE
    classes = hive_classes("PARQUET", view)
    spec = TableSpec("db", "t", view, "/t", False, columns, (Column("p", "string"),), classes, {}, {}, {}, {})
    made = new_partitions(spec, [([f"v{number}"], f"p=v{number}") for number in range(50)], {"c3": "third"}, fresh=True)
    assert [partition.sd.location for partition in made] == [f"/t/p=v{number}" for number in range(50)]
    assert [field.comment for field in made[7].sd.cols[2:5]] == ["", "third", ""]
    assert len({id(field) for partition in made for field in partition.sd.cols}) == 20
    assert len({id(partition.sd) for partition in made}) == 50
