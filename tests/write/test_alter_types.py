"""Changes of types, one after the other: what is committed can be read from every file, and followed by the catalog."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import SchemaError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.schema import may_become, parse_type
from hudi_hive.testing import FakeMetastore
from tests.support.running.long import long_case, with_long_cases

QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false", "hoodie.metadata.enable": "false"}
DAY = datetime.date(2024, 1, 2)
VALUES = {
    "int": (pa.int32(), 7),
    "bigint": (pa.int64(), 8),
    "float": (pa.float32(), 1.5),
    "double": (pa.float64(), 2.5),
    "decimal(10, 2)": (pa.decimal128(10, 2), Decimal("3.25")),
    "decimal(12, 4)": (pa.decimal128(12, 4), Decimal("5.2500")),
    "date": (pa.date32(), DAY),
    "binary": (pa.binary(), b"6.25"),
    "string": (pa.string(), "9.25"),
}
DECIMALS = ("decimal(10, 2)", "decimal(12, 4)")


def steps(source):
    return [kind for kind in VALUES if kind != source and may_become(parse_type(source), parse_type(kind))]


def chains():
    """Two changes, through text, by which types meet that have nothing in common; in a long run all, and three."""
    every = [[one, two, three] for one in VALUES for two in steps(one) for three in steps(two)]
    longer = [[*chain, four] for chain in every for four in steps(chain[2]) if "string" in chain]
    longer = [chain for chain in longer if not _asks_too_much(chain)]
    return with_long_cases([chain for chain in every if chain[1] == "string"], every + longer)


def _asks_too_much(chain):
    """Whether one text would have to be a number and a date."""
    return chain[0] == "string" and chain[1] in DECIMALS and "date" in chain


def value(kind, chain):
    """A value of a type that the types behind it can hold: text is a date where the column is one some time."""
    arrow, found = VALUES[kind]
    if "date" in chain and kind in ("string", "binary"):
        found = "2024-01-02" if kind == "string" else b"2024-01-02"
    return arrow, found


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", long_case("MERGE_ON_READ")])
@pytest.mark.parametrize("chain", chains(), ids="-".join)
def test_what_is_committed_is_read_from_every_file(tmp_path, chain, kind):
    path = str(tmp_path / "t")
    HudiTable.create(path, name="t", record_keys=["id"], table_type=kind)
    written = []
    for number, name in enumerate(chain):
        table = HudiTable.open(path)
        if number:
            before = table.scan().to_arrow()
            try:
                table.update_schema(QUIET).change_type("v", name).commit()
            except SchemaError:
                assert any(not may_become(parse_type(old), parse_type(name)) for old in chain[:number])
                assert HudiTable.open(path).scan().to_arrow().equals(before)
                return
            table = HudiTable.open(path)
        arrow, found = value(name, chain)
        rows = pa.table({"id": [f"r{number}", f"n{number}"], "v": pa.array([found, None], arrow)})
        table.insert(rows, {**QUIET, "hoodie.parquet.small.file.limit": "0"})
        written.append(f"r{number}")
        rows = HudiTable.open(path).scan().to_arrow()
        assert rows.schema.field("v").type == arrow
        by_id = dict(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))
        assert all(by_id[key] is not None for key in written) and len(by_id) == 2 * len(written)
    last = chain[-1]
    if last == "date":
        assert set(by_id.values()) == {None, DAY}


@pytest.mark.parametrize("types", [("date", "string", "date"), ("binary", "string"), ("double", "decimal(10, 2)")])
@pytest.mark.parametrize(("kind", "checks"), list(itertools.product(["COPY_ON_WRITE", "MERGE_ON_READ"], [True, False])))
def test_the_catalog_can_follow_what_is_committed(tmp_path, types, kind, checks):
    """Without the check an entry would keep a type under which no row can be read by name."""
    path = str(tmp_path / "t")
    table = HudiTable.create(path, name="t", record_keys=["id"], table_type=kind)
    with FakeMetastore(check_types=checks) as server, HiveMetastore(server.uri) as client:
        sync = {
            **QUIET,
            "hoodie.datasource.hive_sync.enable": "true",
            "hoodie.datasource.hive_sync.metastore.uris": server.uri,
            "hoodie.datasource.hive_sync.database": "d",
            "hoodie.datasource.hive_sync.mode": "hms",
        }
        name = "t" if kind == "COPY_ON_WRITE" else "t_rt"

        def seen():
            columns = {column.name: column.type for column in client.table("d", name).sd.cols}
            return columns["v"], HudiTable.open(path).scan().to_arrow().schema.field("v").type

        arrow, found = value(types[0], types)
        table.insert(pa.table({"id": ["a"], "v": pa.array([found], arrow)}), sync)
        for step in types[1:-1]:
            table.update_schema(sync).change_type("v", step).commit()
        before, instants = seen(), len(HudiTable.open(path).timeline.instants)
        change = HudiTable.open(path).update_schema(sync).change_type("v", types[-1])
        if checks:
            with pytest.raises(SchemaError, match="metastore's table"):
                change.commit()
            assert (seen(), len(HudiTable.open(path).timeline.instants)) == (before, instants)
        else:
            change.commit()
            assert seen() == (types[-1].replace(" ", ""), VALUES[types[-1]][0])


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_values_that_do_not_fit_are_found_before_the_commit(kind: str, tmp_path: Path) -> None:
    """Column, file and first value are named, of base files and of log files; nothing is written."""
    path = tmp_path / "t"
    plain = {"hoodie.metadata.enable": "false"}
    HudiTable.create(path, name="t", version=8, table_type=kind, record_keys=["id"])
    info = [{"a": "2024-01-05"}, {"a": "soon"}]
    rows = pa.table({"id": [1, 2], "s": ["1.5", "2"], "day": ["2024-01-02", None], "info": info, "n": [1, 12345]})
    HudiTable.open(path).upsert(rows, plain)
    assert HudiTable.open(path).update_schema(plain).change_type("s", "decimal(6,2)").commit(check_data=True).instant
    HudiTable.open(path).update_schema(plain).change_type("day", "date").commit(check_data=True)
    before = HudiTable.open(path).timeline.instants
    (base,) = HudiTable.open(path).scan().plan().slices.column("base_file").to_pylist()
    for name, kind_of, value in (("info.a", "date", "'soon'"), ("n", "decimal(4,0)", "12345")):
        update = HudiTable.open(path).update_schema(plain).change_type(name, kind_of)
        with pytest.raises(SchemaError, match=f"{name}.*{value} in {base}"):
            update.commit(check_data=True)
        with pytest.raises(SchemaError, match="does not fit"):
            update.commit(check_data=True, dry_run=True)
    assert HudiTable.open(path).timeline.instants == before
    HudiTable.open(path).upsert(pa.table({"id": [1], "n": [99999], "info": [{"a": "now"}]}), plain)
    (where,) = HudiTable.open(path).scan().plan().slices.to_pylist()
    file = where["log_files"][0] if where["log_files"] else where["base_file"]
    with pytest.raises(SchemaError, match=f"n.*99999 in .*{file}|n.*12345 in {base}"):
        HudiTable.open(path).update_schema(plain).change_type("n", "decimal(4,0)").commit(check_data=True)
    arguments = ["schema", "alter", str(path), "type", "n", "decimal(4,0)", "--check-data"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code and "does not fit" in str(result.output) + str(result.exception)
