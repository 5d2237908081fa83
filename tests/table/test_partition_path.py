"""Partition paths: values in, values out."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.errors import PartitionValueError
from hudi_hive.table.keys.partition_paths import (
    escape_value,
    partition_path,
    partition_value_columns,
    partition_values,
    unescape_value,
)
from tests.support import fixture_tables as support
from tests.support.running.long import examples


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("plain", "plain"),
        ("a b,+&}", "a b,+&}"),
        ("x:y", "x%3Ay"),
        ("p/q", "p%2Fq"),
        ("100%", "100%25"),
        ("k=v", "k%3Dv"),
        ("ünï-名", "ünï-名"),
        ("\x01\x1f\x7f", "%01%1F%7F"),
        ("\"#'*?\\{[]^", "%22%23%27%2A%3F%5C%7B%5B%5D%5E"),
    ],
)
def test_partition_values_are_escaped_as_hudi_does(value, escaped):
    assert escape_value(value) == escaped
    assert unescape_value(escaped) == value


def test_unescape_leaves_what_is_no_escape():
    assert unescape_value("5%") == "5%"
    assert unescape_value("%zz%4") == "%zz%4"
    assert unescape_value("%3a") == ":"
    assert unescape_value("%253A") == "%3A"


@pytest.mark.parametrize(
    ("path", "fields", "hive", "encoded", "values"),
    [
        ("", [], False, False, []),
        ("oslo", ["city"], False, False, ["oslo"]),
        ("k=v", ["city"], False, False, ["k=v"]),
        ("city=oslo", ["city"], True, False, ["oslo"]),
        ("city=a=b", ["city"], True, False, ["a=b"]),
        ("city=k%3Dv", ["city"], True, True, ["k=v"]),
        ("city=k%3Dv", ["city"], True, False, ["k%3Dv"]),
        ("__HIVE_DEFAULT_PARTITION__", ["city"], False, True, [None]),
        ("city=__HIVE_DEFAULT_PARTITION__", ["city"], True, False, [None]),
        ("2024/01/05", ["day"], False, False, ["2024/01/05"]),
        ("day=2024/01/05", ["day"], True, False, ["2024/01/05"]),
        ("2024/01/05", ["y", "m", "d"], False, False, ["2024", "01", "05"]),
        ("y=2024/m=01/d=05", ["y", "m", "d"], True, False, ["2024", "01", "05"]),
        ("region=eu/day=2024/01/05", ["region", "day"], True, False, ["eu", "2024/01/05"]),
        ("day=2024/01/05/region=eu", ["day", "region"], True, False, ["2024/01/05", "eu"]),
    ],
)
def test_a_path_gives_the_values_of_its_fields(path, fields, hive, encoded, values):
    assert partition_values(path, fields, hive_style=hive, url_encoded=encoded) == values
    table = partition_value_columns(pa.array([path, path]), fields, hive_style=hive, url_encoded=encoded)
    assert table.num_rows == 2
    assert [column.to_pylist() for column in table.columns] == [[value, value] for value in values]


@pytest.mark.parametrize(
    ("path", "fields", "hive"),
    [
        ("", ["city"], False),
        ("oslo", ["city"], True),
        ("town=oslo", ["city"], True),
        ("city=", ["city"], True),
        ("city=oslo", ["city"], False),
        ("eu/month=1", ["region", "month"], False),
        ("eu/2024/01", ["region", "month"], False),
        ("eu", ["region", "month"], False),
        ("eu/", ["region", "month"], False),
        ("month=1/region=eu", ["region", "month"], True),
        ("region=a/b/region=c/month=1", ["region", "month"], True),
        ("x/region=a/month=1", ["region", "month"], True),
        ("region=a/x/y", ["region", "month"], True),
    ],
)
def test_what_does_not_fit_is_refused(path, fields, hive):
    with pytest.raises(PartitionValueError, match="does not fit"):
        partition_values(path, fields, hive_style=hive, url_encoded=False)
    with pytest.raises(PartitionValueError, match="does not fit"):
        partition_value_columns(pa.array([path]), fields, hive_style=hive, url_encoded=False)


def test_columns_of_no_paths_and_no_fields():
    empty = partition_value_columns(pa.array([], pa.string()), ["a", "b"], hive_style=True, url_encoded=True)
    assert (empty.num_rows, empty.column_names) == (0, ["a", "b"])
    assert partition_value_columns(pa.array(["", ""]), [], hive_style=False, url_encoded=False).num_rows == 2


def test_mixed_paths_keep_their_order():
    paths = ["d=2024/01/02", "d=__HIVE_DEFAULT_PARTITION__", "d=2024/01/02", "d=x%3Ay"]
    for column in (pa.array(paths), pa.chunked_array([paths[:1], paths[1:]]), pa.array(paths).dictionary_encode()):
        table = partition_value_columns(column, ["d"], hive_style=True, url_encoded=True)
        assert table["d"].to_pylist() == ["2024/01/02", None, "2024/01/02", "x:y"]


def test_path_needs_a_value_per_field():
    with pytest.raises(PartitionValueError, match="1 partition values for 2"):
        partition_path(["a"], ["x", "y"], hive_style=True, url_encoded=False)


_FIELDS = st.lists(st.sampled_from(["a", "b", "c", "field_4"]), min_size=1, max_size=4, unique=True)
_VALUE = st.one_of(st.none(), st.text(max_size=12).filter(lambda text: text != "__HIVE_DEFAULT_PARTITION__"))


@settings(max_examples=examples(300), deadline=None)
@given(st.data(), _FIELDS, st.booleans())
def test_encoded_values_come_back(data, fields, hive):
    row = st.lists(_VALUE, min_size=len(fields), max_size=len(fields))
    rows = data.draw(st.lists(row, min_size=1, max_size=6))
    paths = [partition_path(values, fields, hive_style=hive, url_encoded=True) for values in rows]
    wanted = [[value or None for value in values] for values in rows]
    got = [partition_values(path, fields, hive_style=hive, url_encoded=True) for path in paths]
    assert got == wanted
    table = partition_value_columns(pa.array(paths), fields, hive_style=hive, url_encoded=True)
    assert [list(row.values()) for row in table.to_pylist()] == wanted


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text("ab=/%3A_", min_size=1, max_size=10), max_size=6), _FIELDS, st.booleans(), st.booleans())
def test_columns_agree_with_single_paths(paths, fields, hive, encoded):
    try:
        wanted = [partition_values(path, fields, hive_style=hive, url_encoded=encoded) for path in paths]
    except PartitionValueError:
        with pytest.raises(PartitionValueError):
            partition_value_columns(pa.array(paths, pa.string()), fields, hive_style=hive, url_encoded=encoded)
        return
    table = partition_value_columns(pa.array(paths, pa.string()), fields, hive_style=hive, url_encoded=encoded)
    assert [list(row.values()) for row in table.to_pylist()] == wanted


def _partitioned_fixtures():
    return [name for name in support.fixture_names() if support.expected(name)["partition_fields"]]


@pytest.mark.parametrize("name", _partitioned_fixtures())
def test_partitions_of_real_tables(name):
    expected = support.expected(name)
    config = expected["table_config"]
    fields = [field.partition(":")[0] for field in config["hoodie.table.partition.fields"].split(",")]
    hive = config.get("hoodie.datasource.write.hive_style_partitioning") == "true"
    encoded = config.get("hoodie.datasource.write.partitionpath.urlencode") == "true"
    for path in expected["partitions"]:
        values = partition_values(path, fields, hive_style=hive, url_encoded=encoded)
        assert len(values) == len(fields)
        assert partition_path(values, fields, hive_style=hive, url_encoded=encoded) == path
    if name.endswith("cow_types"):
        values = [partition_values(p, fields, hive_style=hive, url_encoded=encoded) for p in expected["partitions"]]
        assert sorted(values) == [["100%"], ["a b"], ["k=v"], ["p/q"], ["x:y"], ["ünï-名"]]
