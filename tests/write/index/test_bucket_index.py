"""Buckets of record keys are those of real Hudi: ``bucket_numbers.json`` holds what each release's own class said."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError, UnsupportedTableError
from hudi_hive.table import MetaClient
from hudi_hive.write.index import KEYS_SCHEMA, Index, open_index
from hudi_hive.write.index.bucket import BucketIndex, bucket_numbers
from hudi_hive.write.options.config import WriteConfig
from tests.support.fixture_tables import DATA, expected, unzip_fixture
from tests.support.running.long import VERSION_CASES

OPTIONS = {
    "hoodie.index.type": "BUCKET",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.hash.field": "k1",
}


def index_of(name: str, **options: str) -> Index:
    client = MetaClient.load(unzip_fixture(name))
    return open_index(WriteConfig.of(OPTIONS | options, client.config), client)


def recorded() -> dict[tuple[str, int], list[list[Any]]]:
    groups: dict[tuple[str, int], list[list[Any]]] = {}
    for row in json.loads((DATA / "bucket_numbers.json").read_text(encoding="utf-8"))["rows"]:
        groups.setdefault((row[1], row[2]), []).append(row)
    return groups


@pytest.mark.parametrize(("version", "column"), [(6, 3), (8, 4), (9, 5)])
def test_buckets_are_those_of_each_release(version: int, column: int) -> None:
    for (fields, buckets), rows in recorded().items():
        rows = [row for row in rows if row[column] is not None]
        keys = pa.array([row[0] for row in rows], pa.string())
        found = bucket_numbers(keys, fields.split(","), buckets, version=version).tolist()
        assert dict(zip(keys.to_pylist(), found, strict=True)) == {row[0]: row[column] for row in rows}, fields
        # Alone a key is of its own form; with others it may be of another.
        for row in rows:
            assert bucket_numbers(pa.array([row[0]]), fields.split(","), buckets, version=version)[0] == row[column]


@pytest.mark.parametrize("version", VERSION_CASES)
def test_rows_of_a_table_go_where_real_hudi_put_them(version: int) -> None:
    name = f"v{version}_mor_bucket"
    query = next(q for q in expected(name)["queries"] if q["kind"] == "snapshot")
    names = [column["name"] for column in query["columns"]]
    at = [names.index(f"_hoodie_{n}") for n in ("record_key", "partition_path", "file_name")]
    rows = [[row[i] for i in at] for row in query["rows"]]
    keys = pa.table([[r[0] for r in rows], [r[1] for r in rows], range(len(rows))], schema=KEYS_SCHEMA)
    tags = index_of(name).tag(keys)
    assert tags.column("row").to_pylist() == list(range(len(rows)))
    places = [row[2].partition("_")[0] for row in rows]
    for column in ("file_id", "current_file_id", "new_file_id"):
        assert tags.column(column).to_pylist() == places
    assert tags.column("partition").to_pylist() == tags.column("current_partition").to_pylist()
    assert tags.column("partition").to_pylist() == [row[1] for row in rows]


def test_rows_of_buckets_without_file_group_share_a_new_one() -> None:
    index = index_of("v8_mor_bucket")
    keys = pa.table([[f"k1:{k},k2:{n}" for k in "abab" for n in (1, 2)], ["new"] * 8, range(8)], schema=KEYS_SCHEMA)
    tags = index.tag(keys)
    assert tags.column("file_id").null_count == tags.column("current_partition").null_count == 8
    made = tags.column("new_file_id").to_pylist()
    assert len(set(made)) == 2
    for file_id in made:
        assert re.fullmatch(r"0000000[0-3]-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}-0", file_id)
    assert index.tag(keys).column("new_file_id").to_pylist() == made
    assert index_of("v8_mor_bucket").tag(keys).column("new_file_id").to_pylist() != made
    assert index.assigns_inserts
    assert index.tag(keys.slice(0, 0)).num_rows == 0


def test_tables_of_other_buckets_are_refused() -> None:
    keys = pa.table([["k1:a,k2:1"], ["p0"], [0]], schema=KEYS_SCHEMA)
    with pytest.raises(UnsupportedTableError, match="none of 2 buckets"):
        index_of("v8_mor_bucket", **{"hoodie.bucket.index.num.buckets": "2"}).tag(keys)
    keys = pa.table([["1"], [""], [0]], schema=KEYS_SCHEMA)
    field = expected("v8_cow_nonpart")["record_key"][0]
    with pytest.raises(UnsupportedTableError, match="is of none"):
        index_of("v8_cow_nonpart", **{"hoodie.bucket.index.hash.field": field}).tag(keys)


def test_what_the_index_cannot_do_is_refused() -> None:
    for name, value in (
        ("hoodie.index.bucket.engine", "OTHER"),
        ("hoodie.bucket.index.num.buckets", "100000000"),
        ("hoodie.bucket.index.hash.field", "ts"),
    ):
        with pytest.raises(InvalidOptionError, match=re.escape(name)):
            index_of("v8_mor_bucket", **{name: value})
    assert isinstance(index_of("v8_mor_bucket"), BucketIndex)
