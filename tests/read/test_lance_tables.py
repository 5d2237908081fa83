"""Tables with Lance base files: the rows that real Hudi has, by every face, and nothing is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import (
    HudiHiveError,
    InvalidOptionError,
    MissingDependencyError,
    UnsupportedTableError,
)
from hudi_hive.sql import SqlEngine
from hudi_hive.storage import Storage
from tests.support.fixture_tables import (
    assert_same_rows,
    encode_rows,
    expected,
    lance_names,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)

VECTORS = "v9_cow_lance_vectors"
CASES = [(name, query) for name in lance_names() for query in queries(name)]
COW, MOR = "v9_cow_lance", "v9_mor_lance_part"
PLACE = ("external_path", "offset", "length", "managed")


def opened(name: str) -> HudiTable:
    return HudiTable.open(unzip_fixture(name))


def same(rows: pa.Table, others: pa.Table) -> bool:
    columns = rows.column_names == others.column_names
    return columns and rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(others))


@pytest.mark.parametrize(("name", "query"), CASES, ids=[f"{name}-{query_id(query)}" for name, query in CASES])
def test_rows_are_those_that_hudi_reads(name: str, query: dict) -> None:
    rows = opened(name).scan(options=query["options"]).to_arrow()
    rows.validate(full=True)
    assert_same_rows(rows, name, query)


def test_all_tables_and_kinds_of_queries_are_here() -> None:
    assert len(lance_names()) == 13
    assert len(CASES) == 95
    assert {query["kind"] for _, query in CASES} == {"snapshot", "read_optimized", "time_travel", "incremental", "cdc"}
    assert all("error" not in query for _, query in CASES)
    formats = {expected(name)["table_config"]["hoodie.table.base.file.format"] for name in lance_names()}
    assert formats == {"LANCE"}


@pytest.mark.parametrize("name", [COW, MOR, "v9_mor_lance_types", "v9_cow_lance_virtual_keys"])
def test_filters_and_columns(name: str) -> None:
    table = opened(name)
    rows = table.scan().to_arrow()
    key = expected(name)["record_key"][0]
    some = rows[key][rows.num_rows // 2].as_py()
    literal = f"'{some}'" if isinstance(some, str) else str(some)
    assert same(table.scan(f"{key} = {literal}").to_arrow(), rows.filter(pc.equal(rows[key], some)))
    assert same(table.scan(f"{key} > {literal}").to_arrow(), rows.filter(pc.greater(rows[key], some)))
    some_columns = [rows.column_names[-1], key]
    scan = table.scan(f"{key} <= {literal}", selected_fields=some_columns)
    assert same(scan.to_arrow(), rows.filter(pc.less_equal(rows[key], some)).select(some_columns))
    assert table.scan(selected_fields=[]).to_arrow().num_rows == rows.num_rows
    assert same(pa.Table.from_batches(table.scan().to_batches()), rows)


def test_partitions_are_pruned() -> None:
    table = opened(COW)
    scan = table.scan("region = 'north'")
    assert {path.partition("/")[0] for path in scan.plan().slices.column("path").to_pylist()} == {"north"}
    assert set(scan.to_arrow()["region"].to_pylist()) == {"north"}


@pytest.mark.parametrize("name", [COW, MOR, "v9_cow_lance_types"])
def test_duckdb_and_polars_have_the_rows(name: str) -> None:
    table = opened(name)
    rows = table.scan().to_arrow()
    engine = SqlEngine(tables={"t": str(unzip_fixture(name))}, threads=1)
    answer = engine.query("SELECT * FROM t").read_all()
    assert sorted(map(str, answer.to_pylist())) == sorted(map(str, rows.to_pylist()))
    (count,) = table.scan().to_duckdb("t").sql("SELECT count(*) FROM t").fetchall()
    assert count == (rows.num_rows,)
    key = expected(name)["record_key"][0]
    assert sorted(table.scan().to_polars()[key].to_list()) == sorted(rows[key].to_pylist())
    assert table.scan().to_polars_lazy().collect().height == rows.num_rows


def test_commands_read() -> None:
    path = str(unzip_fixture(MOR))
    rows = opened(MOR).scan("seats > 1").to_arrow()
    ran = CliRunner().invoke(cli, ["read", path, "--where", "seats > 1", "--columns", "ride_id", "--format", "csv"])
    assert ran.exit_code == 0, ran.output
    assert sorted(ran.output.split()[1:]) == sorted(rows["ride_id"].to_pylist())
    assert "LANCE" in CliRunner().invoke(cli, ["show", path]).output.upper()


def test_blobs_are_shown_with_their_bytes() -> None:
    (query,) = [query for query in queries(VECTORS) if query["label"] == "snapshot, blobs by content"]
    names = [column["name"] for column in query["columns"]]
    rows = opened(VECTORS).scan(selected_fields=["id", "pic"]).to_arrow()
    due = [[row[names.index("id")], row[names.index("pic")]] for row in query["rows"]]
    assert rows_sha256(encode_rows(rows)) == rows_sha256(due)
    assert encode_rows(rows)[0] == [1, {"type": "INLINE", "data": "aGVsbG8=", "reference": dict.fromkeys(PLACE)}]


@pytest.mark.parametrize("name", [VECTORS, "v9_mor_lance_vectors"])
def test_vectors_are_lists_of_numbers(name: str) -> None:
    table = opened(name)
    assert table.schema().field("emb").type == pa.list_(pa.field("element", pa.float32()))
    assert table.schema().field("dbl").type == pa.list_(pa.field("element", pa.float64()))
    assert table.schema().field("emb2").type == table.schema().field("emb").type
    rows = table.scan("id = 2", selected_fields=["emb", "dbl"]).to_arrow()
    due = {VECTORS: ([3.0, 4.0, 5.0], [0.1, 0.2])}.get(name, ([30.0, 30.5, -2.0], [10.5, -7.0]))  # by a log file
    assert list(rows.to_pylist()[0].values()) == list(due)


def test_references_in_place_of_blobs_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="blobs are shown with their bytes"):
        opened(VECTORS).scan(options={"hoodie.read.blob.inline.mode": "DESCRIPTOR"})


def test_tables_of_stores_have_the_same_rows() -> None:
    for name in (COW, "v9_mor_lance"):
        base = unzip_fixture(name)
        remote = Storage(f"memory://lance/{name}")
        for path in base.rglob("*"):
            if path.is_file():
                remote.write_bytes(str(path.relative_to(base)), path.read_bytes())
        table = HudiTable.open(f"memory://lance/{name}")
        assert same(table.scan().to_arrow(), opened(name).scan().to_arrow())
        some = ["ts" if name == COW else "note"]
        assert same(table.scan(selected_fields=some).to_arrow(), opened(name).scan(selected_fields=some).to_arrow())


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lance.file", None)
    table = opened(COW)
    assert table.scan().plan().slices.num_rows == 2
    with pytest.raises(MissingDependencyError, match="pylance") as raised:
        table.scan().to_arrow()
    assert raised.value.path is not None and raised.value.path.endswith(".lance")
    assert "hudi_hive[lance]" in str(raised.value)


def changes(table: HudiTable) -> list[Callable[[], object]]:
    """Every way to change a table."""
    some = table.scan().to_arrow().slice(0, 1)
    first = table.timeline.write_instants()[0].requested
    return [
        lambda: table.upsert(some),
        lambda: table.insert(some),
        lambda: table.bulk_insert(some),
        lambda: table.delete(some),
        lambda: table.insert_overwrite(some),
        lambda: table.insert_overwrite_table(some),
        lambda: table.delete_partitions(["north"]),
        lambda: table.mutator().new_transaction(),
        table.compact,
        table.log_compact,
        table.cluster,
        table.clean,
        table.archive,
        table.savepoint,
        lambda: table.rollback(first),
        lambda: table.restore(first),
        lambda: table.delete_savepoint(first),
        lambda: table.upgrade(9),
        lambda: table.downgrade(8),
        lambda: table.metadata.create(),
        lambda: table.metadata.init(),
        lambda: table.metadata.delete(),
        lambda: table.metadata.set(False),
        lambda: table.metadata.create_index("by_ts", "ts"),
        lambda: table.update_schema().add_column("more", "int").commit(),
    ]


@pytest.mark.parametrize("name", [COW, MOR, "v9_cow_lance_virtual_keys"])
def test_nothing_is_written(name: str, tmp_path: Path) -> None:
    table = HudiTable.open(unzip_fixture(name, tmp_path))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for number, change in enumerate(changes(table)):
        with pytest.raises(HudiHiveError) as raised:
            change()
        assert isinstance(raised.value, UnsupportedTableError), f"change {number}: {raised.value!r}"
        assert "has base files of the format LANCE: such tables are read, and not written" in raised.value.message
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_tables_of_the_format_are_not_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="'LANCE' are not written"):
        HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], base_file_format="LANCE")
    assert not (tmp_path / "t").exists()
