"""Writes into tables of real Hudi: rows are as a model of plain rows says, or the write is refused and leaves nothing.

One table version of each fixture case is written to, and in a long run all of them.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive.errors import InvalidOptionError
from hudi_hive.schema import META_FIELDS
from hudi_hive.table_api import HudiTable
from tests.support.fixture_tables import VERSIONS, canonical, encode_value, fixture_names, unzip_fixture
from tests.support.running.long import with_long_cases

_TIMES = "hoodie.keygen.timebased."
_OPTIONS = {
    "cow_tskey_hive": {f"{_TIMES}timestamp.type": "EPOCHMILLISECONDS"},
    "cow_custom_keygen": {
        "hoodie.datasource.write.partitionpath.field": "region:simple,at:timestamp",
        f"{_TIMES}timestamp.type": "DATE_STRING",
        f"{_TIMES}input.dateformat": "yyyy-MM-dd HH:mm:ss",
        f"{_TIMES}output.dateformat": "yyyyMM",
        f"{_TIMES}timezone": "UTC",
    },
}
"""Options of key generators that the tables' properties do not hold in every version."""


def _case(name: str) -> str:
    return name.partition("_")[2]


def _names() -> list[str]:
    """One fixture of each case, versions by turns; 250 partitions take their time."""
    cases = sorted({_case(name) for name in fixture_names()} - {"cow_wide_250"})
    return [f"v{VERSIONS[at % 3]}_{case}" for at, case in enumerate(cases)]


@pytest.mark.parametrize("name", with_long_cases(_names(), fixture_names()))
def test_rows_are_as_a_model_says(name: str, tmp_path: Path) -> None:
    path = unzip_fixture(name, tmp_path)
    table = HudiTable.open(path)
    model = table.scan().to_arrow()
    schema = pa.schema([field for field in model.schema if field.name not in META_FIELDS])
    rows = model.select(schema.names).to_pylist()
    options = _OPTIONS.get(_case(name), {})
    updates = [_changed(row, schema, table) for row in rows[::2]]
    added = _added(updates[0] if updates else dict.fromkeys(schema.names), schema, table)
    report = table.upsert(pa.Table.from_pylist([*updates, added], schema), options)
    assert (report.inserted, report.updated, report.services.failed) == (1, len(updates), {})
    kept = [*rows[1::2], *updates, added]
    assert _seen(path, schema) == _texts(kept, schema)
    # the first commit of ours is the past of the second one
    doomed = [kept[0], added] if rows else [added]
    report = HudiTable.open(path).delete(pa.Table.from_pylist(doomed, schema), options)
    assert (report.deleted, report.services.failed) == (len(doomed), {})
    assert _seen(path, schema) == _texts([row for row in kept if all(row is not gone for gone in doomed)], schema)


@pytest.mark.parametrize("name", [*fixture_names("cow_custom_keygen"), "v6_cow_tskey_hive"])
def test_writes_without_the_key_generator_of_a_table_are_refused(name: str, tmp_path: Path) -> None:
    path = unzip_fixture(name, tmp_path)
    before, table = _files(path), HudiTable.open(path)
    with pytest.raises(InvalidOptionError, match=r"custom key generator|timestamp\.type is missing"):
        table.upsert(table.scan().to_arrow())
    assert _files(path) == before


def _changed(row: dict[str, Any], schema: pa.Schema, table: HudiTable) -> dict[str, Any]:
    """The row with another value in every column that says neither which record it is nor how new."""
    config = table.config
    fixed = {name.partition(".")[0] for name in (*config.record_keys, *config.partition_fields)}
    fixed |= {*config.ordering_fields, "_hoodie_is_deleted"}
    return {f.name: row[f.name] if f.name in fixed else _other(row[f.name], f.type) for f in schema}


def _other(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return (value or "") + "!é"
    if pa.types.is_integer(kind):
        return (value or 0) + 1
    if pa.types.is_floating(kind):
        return (value or 0.0) + 1.5
    if pa.types.is_boolean(kind):
        return not value
    if pa.types.is_decimal(kind):
        return (value or Decimal(0)) + Decimal(1).scaleb(-kind.scale)
    return value


def _added(row: dict[str, Any], schema: pa.Schema, table: HudiTable) -> dict[str, Any]:
    """A record that the table does not have."""
    key = table.config.record_keys[0]
    return {**row, key: 1_000_000 if pa.types.is_integer(schema.field(key).type) else "a new key"}


def _texts(rows: list[dict[str, Any]], schema: pa.Schema) -> list[str]:
    return sorted(canonical([encode_value(row[field.name], field.type) for field in schema]) for row in rows)


def _seen(path: Path, schema: pa.Schema) -> list[str]:
    """Rows by a fresh reader, by the metadata table and by listing."""
    table = HudiTable.open(path)
    listed = HudiTable(table.client.with_listing(None).reload())
    found = [_texts(one.scan().to_arrow().select(schema.names).to_pylist(), schema) for one in (table, listed)]
    assert found[0] == found[1]
    return found[0]


def _files(path: Path) -> set[Path]:
    return {found for found in path.rglob("*") if found.is_file()}
