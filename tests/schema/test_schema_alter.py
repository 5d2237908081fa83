"""ALTER: commits that change a table's id-based schema, their history files, and what happens when they die."""

from __future__ import annotations

import datetime
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import InvalidOptionError, SchemaError, WriteConflictError, WriteError
from hudi_hive.schema.avro import META_FIELDS
from hudi_hive.schema.evolution import SchemaUpdate
from hudi_hive.schema.internal import parse_history
from hudi_hive.table import MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.timeline import State
from hudi_hive.write.alter import VERSIONS_SCHEMA, alter, alter_schema
from hudi_hive.write.commit import WriteTransaction
from hudi_hive.write.files import WRITE_STATUS_SCHEMA
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.schema import read as read_history
from hudi_hive.write.service_base import ServiceContext
from hudi_hive.write.services import archive_instants, execute_clustering, schedule_clustering
from tests.support.faults.write_acts import SEVERAL_WRITERS
from tests.support.faults.write_faults import check_tidy, count_calls, kill_points, killed, rows_of
from tests.support.faults.write_sweep import evenly
from tests.support.fixture_tables import unzip_fixture
from tests.support.running.long import long_case

NO_METADATA = {"hoodie.metadata.enable": "false"}
ROWS = [
    {"id": "a", "n": 1, "name": "x", "info": {"a": 1}, "ts": 1, "part": "p"},
    {"id": "b", "n": 2, "name": "y", "info": {"a": 2}, "ts": 1, "part": "q"},
]
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int32()),
        ("name", pa.string()),
        ("info", pa.struct([("a", pa.int32())])),
        ("ts", pa.int64()),
        ("part", pa.string()),
    ]
)
KINDS = [(6, "COPY_ON_WRITE"), (8, "MERGE_ON_READ"), (9, "COPY_ON_WRITE")]


def make(path: Path, version: int = 8, kind: str = "COPY_ON_WRITE", options: dict[str, str] | None = None) -> HudiTable:
    create_table(
        path,
        TableDefinition(
            name="t",
            table_type=kind,
            version=version,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["ts"],
        ),
    )
    table = HudiTable.open(path)
    table.upsert(pa.Table.from_pylist(ROWS, SCHEMA), NO_METADATA if options is None else options)
    return table


def schema_files(path: Path) -> list[str]:
    return sorted(file.name for file in (path / ".hoodie/.schema").glob("*"))


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_one_commit_without_files(tmp_path, version, kind):
    """With a metadata table, which is brought in step."""
    path = tmp_path / "t"
    table = make(path, version, kind, {})
    first = table.client.timeline.last_completed_write()
    before = table.client.avro_schema()
    with table.update_schema() as update:
        update.add("extra", "string", doc="new", after="id").rename("name", "title").change_type("n", "bigint")
        update.add("info.b", "array<double>", first=True)
        assert update.schema.names[5:] == ["id", "extra", "n", "title", "info", "ts", "part"]
        assert len(update.changes) == 4
    report = update.report
    timeline = table.client.timeline
    assert timeline.last_completed_write() == report.instant
    assert report.instant.action == ("deltacommit" if kind == "MERGE_ON_READ" else "commit")
    metadata = timeline.commit_metadata(report.instant)
    assert (metadata.operation, metadata.write_stats.num_rows) == ("ALTER_SCHEMA", 0)
    assert json.loads(metadata.extra["latest_schema"])["version_id"] == int(report.instant.requested)
    avro = json.loads(metadata.extra["schema"])
    assert [field["name"] for field in avro["fields"]] == table.schema().names
    assert (avro["name"], avro["namespace"]) == (before["name"], before["namespace"])

    instant, completed = report.instant.requested, report.instant.completed
    own = f"{instant}.schemacommit" if version == 6 else f"{instant}_{completed}.schemacommit"
    assert schema_files(path) == sorted([own, f"{instant}.schemacommit.requested", f"{instant}.schemacommit.inflight"])
    newest, oldest = parse_history((path / ".hoodie/.schema" / own).read_bytes())[::-1]
    assert (newest, oldest) == (report.after, report.before)
    assert (oldest.version_id, oldest.max_column_id, newest.max_column_id) == (0, 11, 14)

    changed = [
        {"id": row["id"], "extra": None, "n": row["n"], "title": row["name"], "info": {"b": None, **row["info"]}}
        | {"ts": 1, "part": row["part"]}
        for row in ROWS
    ]
    assert rows_of(path) == rows_of(path, metadata=False) == changed
    assert [r["name"] for r in table.scan(as_of=first.requested).to_arrow().to_pylist()] == ["x", "y"]
    check_tidy(path)


def test_changes_go_on_with_the_newest_version(tmp_path):
    table = make(tmp_path / "t")
    first = table.update_schema(NO_METADATA).drop("name").commit()
    second = table.update_schema(NO_METADATA).add("name", "int").commit()
    assert second.after.find("name").id == first.after.max_column_id + 1
    assert {row["name"] for row in rows_of(tmp_path / "t")} == {None}
    versions = table.schema_history()
    assert versions.schema == VERSIONS_SCHEMA
    assert versions.num_rows == 12 + 11 + 12
    own = [(r["instant"], r["id"], r["type"]) for r in versions.to_pylist() if r["column"] == "name"]
    assert own == [(second.instant.requested, 12, "int"), (None, 7, "string")]


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_keys_and_ordering_columns_widen(tmp_path, version, kind):
    """Rows of before are found by their keys and compared by their order, in log files and in base files."""

    def rows(whole: pa.DataType, *records: tuple[int, str, int]) -> pa.Table:
        kinds = (whole, pa.string(), whole)
        columns = zip(kinds, zip(*records, strict=True), strict=True)
        return pa.table([pa.array(column, kind) for kind, column in columns], ("id", "v", "ts"))

    table = HudiTable.create(
        tmp_path / "t", name="t", record_keys=["id"], ordering_fields=["ts"], table_type=kind, version=version
    )
    table.upsert(rows(pa.int32(), (1, "a", 10), (2, "b", 10), (3, "c", 10)))
    table.upsert(rows(pa.int32(), (2, "bb", 20)))
    with table.update_schema() as update:
        update.change_type("id", "bigint").change_type("ts", "bigint")
    table.upsert(rows(pa.int64(), (1, "new", 11), (2, "old", 15), (10**12, "big", 10**12)))
    expected = {1: "new", 2: "old" if version == 6 else "bb", 3: "c", 10**12: "big"}
    found = table.refresh().scan().to_arrow()
    assert dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True)) == expected
    assert found.schema.field("id").type == found.schema.field("ts").type == pa.int64()
    assert table.scan(f"ts > {10**9}").to_arrow()["v"].to_pylist() == ["big"]


def test_what_is_built_on_stays(tmp_path):
    table = make(tmp_path / "t")
    before = len(table.timeline.instants)
    update = table.update_schema(NO_METADATA)
    for column, role in (("id", "record key"), ("part", "partition column"), ("ts", "ordering column")):
        with pytest.raises(SchemaError, match=role) as caught:
            update.drop(column)
        assert caught.value.path == table.path
    with pytest.raises(SchemaError, match="leave the schema as it is"):
        update.commit()
    assert update.add("extra", "int").commit(dry_run=True).instant is None
    with pytest.raises(ZeroDivisionError), table.update_schema(NO_METADATA) as other:
        other.drop("n")
        raise ZeroDivisionError
    assert len(table.refresh().timeline.instants) == before
    with pytest.raises(InvalidOptionError, match="contradicts a change of the schema"):
        table.update_schema({"hoodie.schema.on.read.enable": "false"}).drop("n").commit()
    update.commit()
    with pytest.raises(WriteError, match="committed already"):
        update.commit()
    with pytest.raises(SchemaError, match="there is a column 'extra' already"):
        alter_schema(table.client, lambda u: u.add("extra", "int"), NO_METADATA)
    assert len(table.timeline.instants) == before + 1


def test_tables_whose_schema_cannot_change(tmp_path):
    create_table(tmp_path / "empty", TableDefinition(name="t", record_keys=["id"]))
    with pytest.raises(SchemaError, match="no schema that could change"):
        HudiTable.open(tmp_path / "empty").update_schema()
    table = make(tmp_path / "t")
    when = pa.Table.from_pylist([{**ROWS[0], "when": None}], SCHEMA.append(pa.field("when", pa.timestamp("us"))))
    table.upsert(when, NO_METADATA)
    for change in (lambda update: update.rename("n", "m"), lambda update: update.drop("when")):
        with pytest.raises(SchemaError, match="'when' is of type local-timestamp-micros, which Hudi cannot read"):
            change(table.update_schema(NO_METADATA)).commit()


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_columns_are_added_by_name_where_types_have_no_ids(tmp_path, version, kind):
    """Times without a zone are of types that Hudi cannot read from a schema with ids."""
    table = make(tmp_path / "t", version, kind)
    when = SCHEMA.append(pa.field("when", pa.timestamp("us")))
    table.upsert(pa.Table.from_pylist([{**ROWS[0], "when": datetime.datetime(2024, 5, 6)}], when))
    before = table.refresh().client.avro_schema()["fields"]
    with table.refresh().update_schema() as update:
        update.add("extra", "timestamp_ntz", doc="more", after="n").add("info.b", "int").comment("when", "local")
    client = (table := table.refresh()).client
    assert client.evolved_schema() is None and schema_files(tmp_path / "t") == []
    after = {entry["name"]: entry for entry in client.avro_schema()["fields"]}
    assert list(after) == ["id", "n", "extra", "name", "info", "ts", "part", "when"]
    assert after["extra"]["doc"] == "more" and after["when"]["doc"] == "local"
    same = [entry for entry in before if entry["name"] not in ("info", "when")]
    assert [after[entry["name"]] for entry in same] == same
    rows = {row["id"]: row for row in table.scan().to_arrow().to_pylist()}
    assert rows["a"]["when"] == datetime.datetime(2024, 5, 6) and rows["a"]["info"] == {"a": 1, "b": None}
    assert {row["extra"] for row in rows.values()} == {None}
    row = {**ROWS[1], "ts": 2, "extra": datetime.datetime(2024, 7, 8), "info": {"a": 5, "b": 6}, "when": None}
    columns = pa.schema([field for field in table.scan().to_arrow().schema if field.name not in META_FIELDS])
    table.upsert(pa.Table.from_pylist([row], columns))
    found = table.refresh().scan(row_filter="extra > TIMESTAMP '2024-01-01 00:00:00'").to_arrow().to_pylist()
    assert [(one["id"], one["info"]) for one in found] == [("b", {"a": 5, "b": 6})]


def test_columns_of_orc_tables_go_by_ids(tmp_path):
    """ORC files keep the names that they were written with, and are read under those of now."""
    table = HudiTable.open(unzip_fixture("v8_cow_orc", tmp_path / "orc"))
    rows = table.scan().to_arrow().sort_by("_hoodie_record_key")
    keys = {
        *table.client.config.record_keys,
        *table.client.config.partition_fields,
        *table.client.config.ordering_fields,
    }
    name, other = [n for n in rows.column_names if n not in keys and not n.startswith("_hoodie")][:2]
    with table.update_schema(NO_METADATA) as update:
        update.rename(name, "renamed").drop(other).add("fresh", "int")
    table.update_schema(NO_METADATA).add(other, "string").commit()
    read = HudiTable.open(table.path).scan().to_arrow().sort_by("_hoodie_record_key")
    assert read.column("renamed").to_pylist() == rows.column(name).to_pylist()
    for new in ("fresh", other):
        assert read.column(new).null_count == read.num_rows
    value = next(v for v in rows.column(name).to_pylist() if v is not None)
    kept = [field for field in read.schema if field.name in keys]
    listed = pa.schema([*kept, pa.field("renamed", read.schema.field("renamed").type), pa.field("last", pa.int32())])
    HudiTable.open(table.path).update_schema(NO_METADATA).replace_columns(listed).commit()
    after = HudiTable.open(table.path).scan().to_arrow().sort_by("_hoodie_record_key")
    assert after.column_names[5:] == listed.names and after.column("last").null_count == after.num_rows
    assert after.select(listed.names[:-1]) == read.select(listed.names[:-1])
    text = f"renamed = '{value}'" if isinstance(value, str) else f"renamed = {value}"
    passing = HudiTable.open(table.path).scan(row_filter=text).to_arrow()
    assert passing.num_rows == rows.column(name).to_pylist().count(value)


def test_a_change_repeated_behind_its_commit_removes_the_heartbeat_that_the_dead_writer_left(tmp_path):
    make(tmp_path / "t")
    client = MetaClient.load(tmp_path / "t")
    done = alter_schema(client, lambda update: update.add("extra", "int"), NO_METADATA)
    beats = tmp_path / "t/.hoodie/.heartbeat"
    beats.mkdir(exist_ok=True)
    for instant in (done.requested, "29990101000000000"):
        (beats / instant).write_bytes(b"")
    os.utime(beats / done.requested, (0, 0))
    with pytest.raises(SchemaError, match="already"):
        alter(client, lambda update: update.add("extra", "int"), NO_METADATA, dry_run=True)
    assert (beats / done.requested).exists()  # a trial writes nothing
    with pytest.raises(SchemaError, match="already"):
        alter_schema(client, lambda update: update.add("extra", "int"), NO_METADATA)
    assert [one.name for one in beats.iterdir()] == ["29990101000000000"]  # whose writer lives


# -- several writers -------------------------------------------------------------------------------------------------

SEVERAL = {**SEVERAL_WRITERS, **NO_METADATA}


def at_second_call(do: Callable[[], object], name: str = "extra") -> Callable[[SchemaUpdate], SchemaUpdate]:
    """A change that lets something happen between the begin and the commit of its transaction, once."""
    calls = 0

    def change(update: SchemaUpdate) -> SchemaUpdate:
        nonlocal calls
        calls += 1
        if calls == 2:
            do()
        return update.add(name, "int")

    return change


def test_a_newer_write_of_the_old_schema_does_not_hide_the_new_one(tmp_path):
    table = make(tmp_path / "t", options=SEVERAL)
    row = pa.Table.from_pylist([{**ROWS[0], "n": 7}], SCHEMA)
    writer = HudiTable.open(table.path)
    written = []
    report = alter(table.client, at_second_call(lambda: written.append(writer.upsert(row, SEVERAL))), SEVERAL)
    assert report.instant.requested > written[0].instant.requested
    found = rows_of(tmp_path / "t")
    assert [(r["n"], r["extra"]) for r in found] == [(7, None), (2, None)]
    check_tidy(tmp_path / "t")


def test_a_newer_service_does_not_write_the_columns_of_before(tmp_path):
    """Files go by the versions of their instants: the change takes one behind that of a service that ran beside it."""
    table = make(tmp_path / "t", options=SEVERAL)
    sorted_by_id = {**SEVERAL, "hoodie.clustering.plan.strategy.sort.columns": "id"}
    services: list[str] = []

    def cluster() -> None:
        context = ServiceContext(HudiTable.open(table.path).client, sorted_by_id)
        plan = schedule_clustering(context)
        assert plan is not None
        services.append(execute_clustering(context, plan).requested)

    change = at_second_call(cluster)
    report = alter(table.client, lambda update: change(update).rename("n", "m"), SEVERAL)
    assert report.instant.requested > services[0]
    assert [r["m"] for r in rows_of(tmp_path / "t")] == [1, 2]
    check_tidy(tmp_path / "t")

    planned: list[Any] = []

    def plan_only() -> None:
        planned.append(schedule_clustering(ServiceContext(HudiTable.open(table.path).client, sorted_by_id)))

    change = at_second_call(plan_only, "more")
    report = alter(HudiTable.open(table.path).client, lambda update: change(update).rename("m", "k"), SEVERAL)
    assert report.instant.requested > planned[0].requested
    execute_clustering(ServiceContext(HudiTable.open(table.path).client, SEVERAL), planned[0])
    assert [r["k"] for r in rows_of(tmp_path / "t")] == [1, 2]


def test_two_changes_at_once(tmp_path):
    table = make(tmp_path / "t", options=SEVERAL)
    other = HudiTable.open(table.path).update_schema(SEVERAL).add("other", "int")
    with pytest.raises(WriteConflictError):
        alter(table.client, at_second_call(other.commit), SEVERAL)
    assert "other" in table.refresh().schema().names and "extra" not in table.refresh().schema().names
    check_tidy(tmp_path / "t")
    # A builder of before the other's commit goes on from what is there, as long as its changes have a rule.
    assert alter(table.client, lambda u: u.add("extra", "int"), SEVERAL).after.find("extra").id == 13


def test_a_write_that_began_before_is_refused(tmp_path):
    table = make(tmp_path / "t", options=SEVERAL)
    config = WriteConfig.of({**SEVERAL, "hoodie.datasource.write.operation": "upsert"}, table.config)
    schema = json.dumps(table.client.avro_schema())
    transaction = WriteTransaction(table.client, config, action="commit", operation="UPSERT")
    with pytest.raises(WriteConflictError, match="changed the table's schema"), transaction:
        report = alter(table.client, lambda u: u.drop("n"), SEVERAL)
        transaction.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=schema)
    table = table.refresh()
    assert "n" not in table.schema().names
    assert table.client.evolved_schema().query == report.after


# -- files of the history --------------------------------------------------------------------------------------------


def test_outdated_files_of_the_schema_history_are_removed(tmp_path):
    """Leftovers of dead writers go with the next commit, and those of archived commits but the newest."""
    path = tmp_path / "t"
    table = make(path)
    for number in range(5):
        table.update_schema(NO_METADATA).add(f"c{number}", "int").commit()
    times = [instant.requested for instant in table.timeline.write_instants()]
    conf = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
    archive_instants(ServiceContext(table.client, {**NO_METADATA, **conf}))
    archived = len(table.refresh().timeline.archived().instants)
    assert archived > 2
    (path / ".hoodie/.schema/20200101000000000_20200101000000009.schemacommit").write_bytes(b"{")
    (path / ".hoodie/.schema/29990101000000000.schemacommit.inflight").write_bytes(b"")
    (path / ".hoodie/.schema/.tmp-1-torn").write_bytes(b"{")
    table = table.refresh()
    last = table.update_schema(NO_METADATA).add("last", "int").commit()
    kept = sorted({name[:17] for name in schema_files(path)})
    assert kept == [*times[archived - 1 :], last.instant.requested]
    assert len(read_history(table.client)) == 7
    assert [row["name"] for row in rows_of(path)] == ["x", "y"]


def test_a_lost_history(tmp_path):
    table = make(tmp_path / "t")
    table.update_schema(NO_METADATA).drop("n").commit()
    shutil.rmtree(tmp_path / "t/.hoodie/.schema")
    with pytest.raises(SchemaError, match="is lost"):
        table.refresh().update_schema(NO_METADATA)


# -- deaths ----------------------------------------------------------------------------------------------------------


def change_once(path: Path) -> None:
    """What is killed; nothing is left to do once it has come through."""
    client = MetaClient.load(path)
    if "extra" not in client.schema().names:
        alter(client, [lambda u: u.add("extra", "int"), lambda u: u.rename("name", "title")], {})


@pytest.mark.parametrize(("version", "kind", "kills"), [(6, "MERGE_ON_READ", 3), long_case(8, "COPY_ON_WRITE", 4)])
def test_a_killed_change_of_the_schema_is_done_or_not(tmp_path, version, kind, kills):
    path = tmp_path / "t"
    make(path, version, kind, {})
    before = rows_of(path)
    after = [_renamed(row) for row in before]
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    points = kill_points(count_calls(change_once, copy))
    assert rows_of(copy) == after
    seen = set()
    for at, torn in evenly(points, kills):
        shutil.rmtree(copy)
        shutil.copytree(path, copy)
        assert killed(change_once, copy, at, torn=torn)
        found = rows_of(copy)
        assert found in (before, after), (at, torn)
        seen.add(found == after)
        rows = pa.Table.from_pylist([{**row, "ts": 2} for row in found], _schema_of(copy))
        HudiTable.open(copy).upsert(rows)  # repairs
        assert rows_of(copy) == [{**row, "ts": 2} for row in found]
        client = MetaClient.load(copy)
        completed = {i.requested for i in client.timeline.instants if i.state is State.COMPLETED}
        assert {name[:17] for name in schema_files(copy)} <= completed, (at, torn)
        check_tidy(copy)
        change_once(copy)
        assert rows_of(copy) == [{**row, "ts": 2} for row in after]
    assert seen == {True, False}


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {("title" if name == "name" else name): value for name, value in row.items()} | {"extra": None}


def _schema_of(path: Path) -> pa.Schema:
    schema = HudiTable.open(path).schema()
    return pa.schema([field for field in schema if not field.name.startswith("_hoodie")])


# -- the command line ------------------------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout)


def test_the_command_line_alters_a_schema(tmp_path):
    path = str(tmp_path / "t")
    make(tmp_path / "t")
    alter_it = ("schema", "alter", path)
    bare = ("--conf", "hoodie.metadata.enable=false")
    assert run("schema", "--history", path) == []
    trial = run(*alter_it, "add", "tip", "decimal(10,2)", "--after", "n", "--comment", "a tip", "--dry-run")
    assert trial == [{"column": "tip", "change": "add", "before": None, "after": "decimal(10, 2)"}]
    assert run("schema", "--history", path) == []
    for arguments in (
        ["add", "tip", "decimal(10,2)", "--after", "n", "--comment", "a tip"],
        ["rename", "info.a", "b"],
        ["type", "n", "bigint"],
        ["move", "name", "--after", "_hoodie_file_name"],
        ["comment", "name", "what it is called"],
        ["drop", "tip"],
    ):
        (found,) = run(*alter_it, *arguments, *bare)
        assert found["change"] == arguments[0]
    with pytest.raises(SchemaError, match="leave the schema as it is"):
        run(*alter_it, "nullable", "id", *bare)
    wanted = (
        "name string COMMENT 'what it is called', id string, n long, info struct<b:int>, part string, ts long, k int"
    )
    found = run(*alter_it, "replace", wanted, "--dry-run")
    assert [(row["column"], row["change"]) for row in found] == [("ts", "move"), ("k", "add")]
    with pytest.raises(SchemaError, match="'ts' is not among the columns"):
        run(*alter_it, "replace", "id string, part string", *bare)
    columns = [(row["column"], row["type"]) for row in run("schema", path)][5:]
    assert columns[:4] == [("name", "string"), ("id", "string"), ("n", "int64"), ("info", "struct<b: int32>")]
    versions = run("schema", "--history", path)
    assert len({row["version"] for row in versions}) == 7
    assert [row["doc"] for row in versions if row["column"] == "name"][:2] == ["what it is called"] * 2


@pytest.mark.parametrize("name", ["part", "PART"])
def test_names_of_what_files_lack_are_taken(tmp_path, name):
    """The partition column that no file holds is no other's name: its values would take the place of the column's."""
    path = tmp_path / "t"
    dropped = {"hoodie.datasource.write.drop.partition.columns": "true"}
    create_table(
        path,
        TableDefinition(
            name="t",
            record_keys=["id"],
            partition_fields=["part"],
            properties=dropped,
        ),
    )
    table = HudiTable.open(path)
    table.upsert(pa.Table.from_pylist(ROWS, SCHEMA), NO_METADATA)
    update = table.update_schema(NO_METADATA)
    for change in (lambda: update.add(name, "int"), lambda: update.rename("name", name)):
        with pytest.raises(SchemaError, match="partition column"):
            change()
    with pytest.raises(SchemaError, match="delete marker"):
        update.rename("name", "_hoodie_is_deleted")
    update.add("_hoodie_is_deleted", "boolean").rename("n", "m").commit()
    assert [(r["name"], r["m"], r["part"]) for r in rows_of(path)] == [("x", 1, "p"), ("y", 2, "q")]
