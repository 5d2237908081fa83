"""Tables whose schema changed by ids, in a metastore: columns, comments, Spark's schema. Also run on real ones."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import SchemaError, SchemaSyncError
from hudi_hive.metastore import FieldSchema, HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool, SyncReport
from hudi_hive.sync.diff.column_steps import find_column_steps
from hudi_hive.table import MetaClient
from hudi_hive.testing import FakeMetastore
from tests.support.metastore.sync_behaviour import DATABASE
from tests.support.tables.evolved_tables import EVOLVED, History

HIVE = {"string": "string", "integer": "int", "long": "bigint", "float": "float", "double": "double"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("metastore")) as fake:
        yield fake


@pytest.fixture
def client(server):
    with HiveMetastore(server.uri) as client:
        yield client
        if DATABASE in client.databases():
            client.drop_database(DATABASE, cascade=True)


def sync(client: HiveMetastore, path, **settings) -> SyncReport:
    config = HiveSyncConfig(base_path=str(path), database=DATABASE, table="t", **settings)
    return HiveSyncTool(config, metastore=client).sync()


def names_of(client: HiveMetastore) -> list[str]:
    return sorted(client.tables(DATABASE))


def spark_schema(parameters) -> dict:
    count = int(parameters["spark.sql.sources.schema.numParts"])
    return json.loads("".join(parameters[f"spark.sql.sources.schema.part.{i}"] for i in range(count)))


def spark_type(kind) -> str:
    """Hive's text of a type of Spark's JSON."""
    if isinstance(kind, str):
        return HIVE[kind]
    if kind["type"] == "array":
        return f"array<{spark_type(kind['elementType'])}>"
    return "struct<" + ",".join(f"{f['name']}:{spark_type(f['type'])}" for f in kind["fields"]) + ">"


def check(client: HiveMetastore, path, *, in_order: bool) -> None:
    """All names show the table's columns now: in Hive's columns, in those of all partitions, in Spark's schema."""
    table = HudiTable.open(path)
    wanted = [name for name in table.schema().names if name != "part"]
    docs = {f["name"]: f.get("doc") or "" for f in MetaClient.load(path).avro_schema()["fields"]}
    assert names_of(client) == (["t", "t_ro", "t_rt"] if table.type == "MERGE_ON_READ" else ["t"])
    for name in names_of(client):
        found = client.table(DATABASE, name)
        schema = spark_schema(found.parameters)
        assert [field["name"] for field in schema["fields"]] == [*wanted, "part"]
        types = {field["name"]: spark_type(field["type"]) for field in schema["fields"]}
        columns = [(column.name, column.type.lower()) for column in found.sd.cols]
        assert dict(columns) == {name: types[name] for name in wanted}
        if in_order:
            assert [name for name, _ in columns] == wanted
        assert {c.name: c.comment for c in found.sd.cols} == {name: docs.get(name, "") for name in wanted}
        partitions = list(client.partitions(DATABASE, name))
        assert partitions
        for partition in partitions:
            assert [(column.name, column.type.lower()) for column in partition.sd.cols] == columns


@pytest.mark.parametrize("name", EVOLVED)
def test_a_sync_after_each_commit(client, tmp_path, name):
    check_each_commit(client, tmp_path, name)


def check_each_commit(client, tmp_path, name, **settings):
    """Additions between others, drops, renames and promotions reach the metastore, which changes nothing twice."""
    history = History(name, tmp_path)
    moved = False
    for _ in history:
        report = sync(client, history.path, sync_comment=True, **settings)
        moved = moved or any("keep their places" in line for line in report.warnings)
        check(client, history.path, in_order=not moved)
        again = sync(client, history.path, sync_comment=True, **settings)
        assert again.plan.is_noop
    assert moved


@pytest.mark.parametrize("name", ["v6_cow_schema_evo", "v9_mor_schema_evo"])
def test_a_sync_from_each_commit_to_the_last(client, tmp_path, name):
    """However many changes lie between two syncs."""
    check_jumps(client, tmp_path, name)


def check_jumps(client, tmp_path, name, **settings):
    history, kept = History(name, tmp_path), []
    for number, _ in enumerate(history):
        for table in client.tables(DATABASE) if DATABASE in client.databases() else ():
            client.drop_table(DATABASE, table)
        if number in (0, 3, 7, 12):
            sync(client, history.path, sync_comment=True, **settings)
            states = {t: client.table(DATABASE, t) for t in names_of(client)}
            partitions = {t: list(client.partitions(DATABASE, t)) for t in states}
            kept.append((states, partitions))
    for states, partitions in kept:
        for table in client.tables(DATABASE):
            client.drop_table(DATABASE, table)
        for name, state in states.items():
            client.create_table(state)
            client.add_partitions(DATABASE, name, partitions[name])
        sync(client, history.path, sync_comment=True, **settings)
        check(client, history.path, in_order=False)


def test_a_comment_of_the_metastore_follows_its_column(client, tmp_path):
    """A renamed column is another one to Hive; what users wrote on it stays."""
    history = History("v8_cow_schema_evo", tmp_path)
    for instant in history:
        if instant.requested == history.instants[7].requested:
            sync(client, history.path)
            table = client.table(DATABASE, "t")
            next(c for c in table.sd.cols if c.name == "name").comment = "who it is"
            client.alter_table(DATABASE, "t", table)
    report = sync(client, history.path)
    assert next(c for c in client.table(DATABASE, "t").sd.cols if c.name == "full_name").comment == "who it is"
    rows = {(row["step"], row["object"], row["detail"]) for row in report.plan.rows()}
    assert ("rename column", "full_name", "from name") in rows
    assert ("drop column", "gone", "string") in rows
    assert not any(name == "name" for _, name, _ in rows)


def test_what_a_rename_and_a_drop_cost(client, tmp_path):
    """One call and, where the metastore refuses types by position, a second one that keeps columns where they are.

    Or there are two, of which the first takes away what lies behind a dropped column or a changed struct.
    """
    history = History("v8_cow_schema_evo", tmp_path)
    costs = {}
    for number, _ in enumerate(history):
        costs[number] = sync(client, history.path).calls.get("alter_table_with_environment_context", 0)
    assert costs[2] == 1  # rows
    assert costs[1] == 2  # extra behind name
    assert costs[3] == 3  # info.c
    assert costs[8] == 1  # name is full_name: its place is that of another text
    assert costs[11] == 3  # gone between tags and ts


def test_the_whole_schema_of_spark_goes_when_its_pieces_come(client, tmp_path):
    """Spark keeps the schema of a table that it made itself in one piece, and would read that one for ever."""
    history = History("v8_cow_schema_evo", tmp_path)
    for number, _ in enumerate(history):
        if number == 0:
            sync(client, history.path)
            table = client.table(DATABASE, "t")
            table.parameters["spark.sql.sources.schema"] = json.dumps(spark_schema(table.parameters))
            client.alter_table(DATABASE, "t", table)
    report = sync(client, history.path)
    assert "spark.sql.sources.schema" not in client.table(DATABASE, "t").parameters
    assert ("remove parameter", "spark.sql.sources.schema") in {(r["step"], r["object"]) for r in report.plan.rows()}
    assert sync(client, history.path).plan.is_noop


def test_an_incompatible_type_is_refused_by_name(client, tmp_path):
    """The metastore's check is kept by name: a type that does not follow from the old one needs its administrator."""
    history = History("v8_cow_schema_evo", tmp_path)
    for number, _ in enumerate(history):
        if number == 10:
            sync(client, history.path)
            table = client.table(DATABASE, "t")
            client.drop_table(DATABASE, "t")
            next(c for c in table.sd.cols if c.name == "cnt").type = "string"
            client.create_table(table)
    before = client.table(DATABASE, "t")
    with pytest.raises(SchemaSyncError, match="cnt") as caught:
        sync(client, history.path)
    assert "disallow.incompatible.col.type.changes" in caught.value.remedy
    assert client.table(DATABASE, "t") == before
    sync(client, history.path, recreate_on_error=True)
    check_names(client, history.path)


def check_names(client, path):
    found = [column.name for column in client.table(DATABASE, "t").sd.cols]
    assert found == [name for name in HudiTable.open(path).schema().names if name != "part"]


@pytest.mark.parametrize("dies_at", [0, 1])
def test_a_sync_that_dies_between_two_steps_is_made_good(client, tmp_path, monkeypatch, dies_at):
    history = History("v9_cow_schema_evo", tmp_path)
    for number, _ in enumerate(history):
        if number == 10:
            sync(client, history.path, sync_comment=True)
    alter, count = client.alter_table, [0]

    def dying(*arguments, **settings):
        if count[0] > dies_at:
            raise KeyboardInterrupt
        count[0] += 1
        return alter(*arguments, **settings)

    monkeypatch.setattr(client, "alter_table", dying)
    with pytest.raises(KeyboardInterrupt):
        sync(client, history.path, sync_comment=True)
    monkeypatch.undo()
    sync(client, history.path, sync_comment=True)
    check(client, history.path, in_order=True)


def test_old_columns_are_no_way_to_have_none():
    """Where the first column goes nothing would be left in between."""
    old = [FieldSchema(name=name, type=kind) for name, kind in (("a", "int"), ("b", "string"), ("c", "int"))]
    assert find_column_steps(old, [old[1], old[2]]) is None
    found = find_column_steps(old, [old[0], old[2]])
    assert found is not None
    assert [[c.name for c in step] for step in found.steps] == [["a"], ["a", "c"]]


def test_a_change_of_the_schema_is_synced_as_writes_are(client, server, tmp_path):
    """With the options of hive-sync; comments too, and the report tells what Hive does not convert."""
    rows = pa.table({"id": ["1"], "num": pa.array([1], pa.int32()), "Fee": [1.5], "day": ["d1"]})
    table = HudiTable.create(tmp_path / "t", name="t", record_keys=["id"], partition_fields=["day"])
    options = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.metastore.uris": server.uri,
        "hoodie.datasource.hive_sync.database": DATABASE,
        "hoodie.datasource.hive_sync.sync_comment": "true",
    }
    table.insert(rows, options)
    with table.update_schema(options) as update:
        update.add("tip", "decimal(8,2)", doc="what was given", after="num").rename("Fee", "fare").comment(
            "num", "how many"
        )
    found = client.table(DATABASE, "t")
    data = {c.name: (c.type.lower(), c.comment) for c in found.sd.cols if not c.name.startswith("_hoodie")}
    assert data == {
        "id": ("string", ""),
        "num": ("int", "how many"),
        "fare": ("double", ""),
        "tip": ("decimal(8,2)", "what was given"),
    }
    (partition,) = client.partitions(DATABASE, "t")
    assert partition.sd.cols == [FieldSchema(c.name, c.type, c.comment) for c in found.sd.cols]
    stamp = found.parameters["last_commit_time_sync"]
    assert stamp == table.timeline.write_instants()[-1].requested
    with pytest.raises(SchemaError, match="fare") as caught:
        table.update_schema(options).change_type("fare", "decimal(20,4)").commit()
    assert "disallow.incompatible.col.type.changes" in str(caught.value.remedy)
    assert table.refresh().schema().field("fare").type == pa.float64()
    assert client.table(DATABASE, "t").parameters["last_commit_time_sync"] == stamp
