"""Partition pruning never leaves out a partition that holds a row passing the filter."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_hive.plan.model.partitions import prunable_fields, prune_partitions
from hudi_hive.predicate import parse_filter
from hudi_hive.table import MetaClient, TableConfig
from hudi_hive.table.keys import partition_path
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import examples

SCHEMA = pa.schema([("name", pa.string()), ("number", pa.int32()), ("day", pa.date32()), ("v", pa.int64())])
BASE = {"hoodie.table.name": "t", "hoodie.table.version": "8"}

names = st.one_of(st.none(), st.sampled_from(["", "a", "B b", "x:y", "100%", "k=v", "ünï", "2024", "a=1"]))
numbers = st.one_of(st.none(), st.integers(-3, 3))
days = st.one_of(st.none(), st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 3)))
rows = st.lists(st.tuples(names, numbers, days, st.integers(0, 3)), min_size=1, max_size=12)

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
comparisons = st.one_of(
    st.tuples(st.just("name"), st.sampled_from(OPERATORS), st.sampled_from(["''", "'a'", "'x:y'", "'k'", "'2024'"])),
    st.tuples(st.just("number"), st.sampled_from(OPERATORS), st.sampled_from(["-1", "0", "2", "1.5"])),
    st.tuples(st.just("day"), st.sampled_from(OPERATORS), st.just("DATE '2024-01-02'")),
    st.tuples(st.just("v"), st.sampled_from(OPERATORS), st.sampled_from(["0", "2"])),
).map(" ".join)
others = st.sampled_from(
    [
        "name IS NULL",
        "name IS NOT NULL",
        "number IN (1, 2)",
        "name LIKE 'a%'",
        "day BETWEEN '2024-01-01' AND '2024-01-02'",
    ]
)
filters = st.recursive(
    st.one_of(comparisons, others),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"NOT ({text})"),
    ),
    max_leaves=4,
)


def fake_client(hive_style: bool) -> SimpleNamespace:
    """A table that exists only as its properties and schema: pruning asks for nothing else."""
    properties = {
        **BASE,
        "hoodie.table.partition.fields": "name,number,day",
        "hoodie.datasource.write.hive_style_partitioning": str(hive_style).lower(),
        "hoodie.datasource.write.partitionpath.urlencode": "true",
    }
    fields = pa.schema([SCHEMA.field(name) for name in ("name", "number", "day")])
    return SimpleNamespace(config=TableConfig.from_properties(properties), partition_schema=lambda: fields)


@settings(max_examples=examples(300), deadline=None)
@given(rows, filters, st.booleans())
def test_no_matching_row_is_lost(values, text, hive_style):
    client = fake_client(hive_style)
    paths = [
        partition_path(
            [name, None if number is None else str(number), None if day is None else day.isoformat()],
            client.config.partition_fields,
            hive_style=hive_style,
            url_encoded=True,
        )
        for name, number, day, _ in values
    ]
    row_filter = parse_filter(text, SCHEMA)
    columns = [list(column) for column in zip(*values, strict=True)]
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    matching = {path for path, passes in zip(paths, row_filter.evaluate(table).to_pylist(), strict=True) if passes}
    unique = sorted(set(paths))
    kept = prune_partitions(client, unique, row_filter)
    assert matching <= set(kept)
    assert kept == [path for path in unique if path in set(kept)]


def test_formatted_values_are_not_taken_for_the_columns():
    assert prunable_fields(MetaClient.load(unzip_fixture("v8_cow_tskey_hive"))) == ()
    assert prunable_fields(MetaClient.load(unzip_fixture("v8_cow_custom_keygen"))) == ("region",)
    assert prunable_fields(MetaClient.load(unzip_fixture("v6_cow_custom_keygen"))) == ()
    assert prunable_fields(MetaClient.load(unzip_fixture("v8_cow_ymd_hive"))) == ("year", "month", "day")


def test_values_that_do_not_fit_prune_nothing():
    client = fake_client(hive_style=True)
    odd = ["name=a/number=many/day=2024-01-01", "somewhere"]
    row_filter = parse_filter("number = 1", SCHEMA)
    assert prune_partitions(client, odd, row_filter) == odd


def test_the_default_partition_holds_empty_strings_and_nulls():
    fields = pa.schema([("a", pa.string()), ("b", pa.string())])
    properties = {**BASE, "hoodie.table.partition.fields": "a,b"}
    client = SimpleNamespace(config=TableConfig.from_properties(properties), partition_schema=lambda: fields)
    default = "__HIVE_DEFAULT_PARTITION__"
    path = [f"{default}/{default}"]
    for text in ("a = '' AND b = ''", "a IS NULL AND b = ''", "a = '' AND b IS NULL", "a IS NULL AND b IS NULL"):
        assert prune_partitions(client, path, parse_filter(text, fields)) == path
    assert prune_partitions(client, path, parse_filter("a = '' AND b = 'x'", fields)) == []
