"""Syncs by SQL leave the same in the metastore as syncs by its own calls: with a real HiveServer2, and with Spark."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hudi_hive.errors import AlreadyExistsError, MetastoreServerError, SchemaSyncError, TableChangedError
from hudi_hive.metastore import FieldSchema, HiveMetastore, Order, Partition, Table
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.sync.apply import CatalogWriter, MetastoreWriter
from hudi_hive.sync.apply.sql import HiveQlWriter, SqlServer, parse_jdbc_url
from integration.support.hive_server import HiveServer2, hudi_jars
from integration.support.spark_options import SERVER_SETTINGS, START_SECONDS
from integration.support.spark_server import PlainThriftServer
from tests.support.metastore import sync_golden as golden
from tests.support.metastore import sync_replay as replay
from tests.support.metastore.sync_behaviour import DATABASE
from tests.support.running.long import long_case
from tests.sync.shared.evolution_tests import check_each_commit

pytestmark = pytest.mark.jvm

STORIES = [
    # Spark makes all but the statements for tables through the same calls.
    long_case("hive", "story"),
    long_case("hive", "edges"),
    long_case("hive", "more"),
    ("hive", "misc"),
    long_case("spark", "misc"),
]
"""Servers, and which of the golden stories they play; the rest are tables of these again."""
# Hive notes who changed a partition by a statement, and when.
NOTED_BY_HIVE = ("last_modified_by", "last_modified_time")
VOLATILE = ("transient_lastDdlTime", *NOTED_BY_HIVE)
# Written by hand, so that one that breaks out of its quotes is seen as such.
UGLY = [
    "it's",
    'say "hi"',
    "back\\slash\\",
    "semi;colon -- no comment",
    "per%cent_under",
    "Zürich 東京 😀",
    "${system:user.name} ${x}",
    "new\nline\ttab",
    "`tick` = 'a', (b)",
    "\\'",
    "\\u0041",
    "a/b=c",
]


@pytest.fixture(scope="module")
def metastore(metastore) -> Iterator[HiveMetastore]:
    """A client of the metastore of all tests; databases made here are dropped."""
    before = set(metastore.databases())
    yield metastore
    for name in sorted(set(metastore.databases()) - before):
        metastore.drop_database(name, cascade=True)


@pytest.fixture(scope="module")
def hive_server(metastore_uri, tmp_path_factory) -> Iterator[HiveServer2]:
    """A HiveServer2."""
    with HiveServer2(metastore_uri, tmp_path_factory.mktemp("hive")) as running:
        yield running


@pytest.fixture(scope="module")
def spark_server(metastore_uri, tmp_path_factory) -> Iterator[PlainThriftServer]:
    """A Thrift server of Spark, set up as by somebody who writes patterns into queries."""
    settings = {"spark.sql.parser.escapedStringLiterals": "true", **SERVER_SETTINGS}
    launch = {"jars": hudi_jars(), "timeout": START_SECONDS}
    folder = tmp_path_factory.mktemp("spark")
    with PlainThriftServer(metastore_uri, directory=folder, settings=settings, **launch) as running:
        yield running


@pytest.fixture(params=["hive", long_case("spark")])
def server(request) -> HiveServer2 | PlainThriftServer:
    """Each of both, started when it is first used; Spark in every run for a story alone."""
    running: HiveServer2 | PlainThriftServer = request.getfixturevalue(f"{request.param}_server")
    return running


@pytest.fixture
def statements(monkeypatch) -> list[str]:
    """Statements that were carried out."""
    found: list[str] = []
    execute = SqlServer.execute

    def spy(self: SqlServer, statement: str, about: str) -> None:
        execute(self, statement, about)
        found.append(statement)

    monkeypatch.setattr(SqlServer, "execute", spy)
    return found


def is_spark(server: object) -> bool:
    return isinstance(server, PlainThriftServer)


def kinds(statements: list[str]) -> set[str]:
    """What the statements do, without names and values."""
    words = ("CREATE DATABASE", "CREATE EXTERNAL TABLE", "CREATE TABLE", "REPLACE COLUMNS", "ADD IF", "SET LOCATION")
    return {word for word in (*words, "TOUCH") for text in statements if re.match(rf"(ALTER TABLE .*)?{word}", text)}


# -- the same end state ----------------------------------------------------------------------------------------------


class SqlWorld(replay.World):
    """The golden tables, synced by SQL."""

    jdbc_url = ""

    def options(self, config: dict[str, str]) -> dict[str, str]:
        return {**super().options(config), f"{golden.K}mode": "hiveql", f"{golden.K}jdbcurl": self.jdbc_url}


@pytest.mark.parametrize(("server", "story"), STORIES, indirect=["server"])
def test_syncs_by_sql_leave_the_golden_dumps_too(server, story, metastore, tmp_path, statements):
    """Every table of real hive-sync's hms mode, field by field."""
    for database in metastore.databases("golden*|v11"):
        metastore.drop_database(database, cascade=True)
    world = SqlWorld(metastore, tmp_path)
    world.jdbc_url = server.jdbc_url
    found = replay.STORIES[story](world)
    assert {case: kept for case, lines in found.items() if (kept := _but_notes(lines))} == {}
    assert {"CREATE DATABASE", "CREATE EXTERNAL TABLE"} <= kinds(statements)
    if not is_spark(server):
        assert "ADD IF" in kinds(statements)


def _but_notes(differences: list[str]) -> list[str]:
    return [line for line in differences if not any(f".{name}: golden None" in line for name in NOTED_BY_HIVE)]


def dumped(client: HiveMetastore, database: str, table: str) -> dict[str, Any]:
    """A table and its partitions in full, but for times."""
    struct = client.table(database, table)
    partitions = list(client.partitions(database, table)) if struct.partitionKeys else []
    found = {"table": replay.plain(struct), "partitions": [replay.plain(item) for item in partitions]}
    for item in (found["table"], *found["partitions"]):
        del item["dbName"]
        item["createTime"] = None
        for name in VOLATILE:
            item["parameters"].pop(name, None)
    found["partitions"].sort(key=lambda item: item["values"])
    return found


def same(metastore: HiveMetastore, table: str) -> None:
    """Both databases hold the same table."""
    wanted, ours = (dumped(metastore, database, table) for database in ("calls", "by_sql"))
    assert list(replay.compare(wanted, ours, table)) == []


def both(
    metastore: HiveMetastore,
    server: HiveServer2 | PlainThriftServer,
    mode: str,
    path: Path,
    name: str,
    *,
    compare: bool = True,
    **settings: Any,
) -> None:
    """One sync by calls and one by SQL, and the same left by both."""
    reports = []
    for database, more in (("calls", {}), ("by_sql", {"mode": mode, "jdbc_url": server.jdbc_url})):
        config = HiveSyncConfig(base_path=str(path), database=database, table=name, **settings, **more)
        reports.append(HiveSyncTool(config, metastore=metastore).sync())
    calls, by_sql = (report.plan.tables for report in reports)
    assert [table.spec.name for table in calls] == [table.spec.name for table in by_sql]
    for table in calls if compare else ():
        same(metastore, table.spec.name)
        assert "last_commit_time_sync" in metastore.table("by_sql", table.spec.name).parameters


@pytest.mark.parametrize(
    ("server", "kind", "mode", "as_datasource"),
    [
        ("hive", "cow_part", "jdbc", False),
        long_case("hive", "mor_part", "hiveql", True),
        long_case("spark", "cow_part", "jdbc", False),
        long_case("spark", "mor_part", "hiveql", True),
    ],
    indirect=["server"],
)
def test_each_step_of_a_table_s_life_ends_alike(server, metastore, tmp_path, kind, as_datasource, mode, statements):
    for database in ("calls", "by_sql"):
        if database in metastore.databases():
            metastore.drop_database(database, cascade=True)
    path = tmp_path / kind
    settings = {"sync_as_datasource": as_datasource}
    # First sync, a new partition, new columns, a dropped partition, int to bigint.
    for stage in ("01", "03", "04", "05", "06"):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(golden.inputs("stages") / golden.stages()[_full(stage)][kind], path)
        both(metastore, server, mode, path, kind, **settings)
    # A partition registered at a wrong place, found and moved by a full comparison.
    for database in ("calls", "by_sql"):
        for name in metastore.tables(database):
            (german,) = metastore.partitions(database, name, ["country=DE"])
            german.sd.location = f"file:{tmp_path}/elsewhere"
            metastore.alter_partitions(database, name, [german])
    both(metastore, server, mode, path, kind, incremental=False, **settings)
    # The whole table moved.
    moved = tmp_path / "moved"
    path.rename(moved)
    both(metastore, server, mode, moved, kind, **settings)
    done = kinds(statements)
    if not is_spark(server):
        assert done == {"CREATE DATABASE", "CREATE EXTERNAL TABLE", "ADD IF", "REPLACE COLUMNS", "SET LOCATION"}
    elif as_datasource:
        assert done == {"CREATE DATABASE", "CREATE EXTERNAL TABLE"}
    else:
        assert done == {"CREATE DATABASE", "CREATE EXTERNAL TABLE", "ADD IF", "SET LOCATION"}


@pytest.mark.parametrize(
    ("server", "name"), [("hive", "v6_cow_schema_evo"), long_case("hive", "v9_mor_schema_evo")], indirect=["server"]
)
def test_an_evolved_table_ends_alike_after_each_commit(server, metastore, tmp_path, statements, name):
    try:
        check_each_commit(metastore, tmp_path, name, mode="hiveql", jdbc_url=server.jdbc_url)
    finally:
        metastore.drop_database(DATABASE, cascade=True)
    replaced = [text for text in statements if re.match(r"ALTER TABLE \S+ REPLACE COLUMNS", text)]
    assert len(replaced) > 9 and all(text.endswith("CASCADE") for text in replaced)


def _full(stage: str) -> str:
    (name,) = [name for name in golden.stages() if name.startswith(stage)]
    return name


# -- the writer by itself -----------------------------------------------------------------------------------------


@pytest.fixture
def writers(server, metastore, tmp_path) -> Iterator[dict[str, CatalogWriter]]:
    """Database -> a writer, one by calls and one by SQL; both databases are there and empty."""
    for database in ("calls", "by_sql"):
        if database in metastore.databases():
            metastore.drop_database(database, cascade=True)
        metastore.create_database(database, location=f"file:{tmp_path}/{database}.db")
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        yield {"calls": MetastoreWriter(metastore), "by_sql": HiveQlWriter(metastore, session)}


def table_of(model: Table, database: str) -> Table:
    made = copy.deepcopy(model)
    made.dbName = database
    return made


def partition_of(model: Table, database: str, values: list[str], location: str) -> Partition:
    descriptor = copy.deepcopy(model.sd)
    descriptor.location = location
    return Partition(
        values=values,
        dbName=database,
        tableName=model.tableName,
        createTime=0,
        lastAccessTime=0,
        sd=descriptor,
        parameters={},
    )


@pytest.fixture
def model(tmp_path, metastore) -> Table:
    """A table with every awkward text where a text can be."""
    from hudi_hive.metastore import SerDeInfo, StorageDescriptor

    parquet = "org.apache.hadoop.hive.ql.io.parquet."
    texts = {f"key {number} {text}": text for number, text in enumerate(UGLY)}
    columns = [
        FieldSchema(name="id", type="bigint", comment=""),
        *(FieldSchema(name=f"c{number}", type="string", comment=text) for number, text in enumerate(UGLY)),
        FieldSchema(name="select", type="struct<from:int,b_c:array<map<string,decimal(10,2)>>>", comment="a"),
    ]
    return Table(
        tableName="ugly",
        dbName="",
        owner="somebody",
        createTime=0,
        lastAccessTime=0,
        retention=0,
        sd=StorageDescriptor(
            cols=columns,
            location=f"{tmp_path}/o'clock; 'x' = é/ugly",
            inputFormat=f"{parquet}MapredParquetInputFormat",
            outputFormat=f"{parquet}MapredParquetOutputFormat",
            compressed=False,
            numBuckets=4,
            bucketCols=["id"],
            sortCols=[Order(col="id", order=1)],
            parameters={},
            serdeInfo=SerDeInfo(
                serializationLib=f"{parquet}serde.ParquetHiveSerDe",
                parameters={**texts, "serialization.format": "1"},
            ),
        ),
        partitionKeys=[FieldSchema(name="order", type="string", comment="")],
        parameters={**texts, "EXTERNAL": "TRUE", "spark.sql.create.version": "1", "owner": "o'w"},
        tableType="EXTERNAL_TABLE",
    )


def test_awkward_texts_arrive_as_they_are(server, metastore, writers, model, tmp_path, statements):
    """The same struct by calls and by SQL; the metastore itself folds nothing in these texts."""
    values = [text for text in UGLY if "/" not in text] + ["__HIVE_DEFAULT_PARTITION__", "x" * 100]
    places = [f"{tmp_path}/part {number} o'clock" for number in range(len(values))]
    for database, writer in writers.items():
        writer.create_table(table_of(model, database))
        added = [partition_of(model, database, [text], place) for text, place in zip(values, places, strict=True)]
        writer.add_partitions(database, "ugly", added, batch_size=5)
        moved = [
            partition_of(model, database, [text], f"file:{place}/moved")
            for text, place in zip(values, places, strict=True)
        ]
        moved[0].sd.location = f"file:{tmp_path}/plain"
        writer.alter_partitions(database, "ugly", moved, batch_size=5)
        writer.touch_partitions(database, "ugly", list(metastore.partitions(database, "ugly")), batch_size=5)
    same(metastore, "ugly")
    assert sorted(item.values[0] for item in metastore.partitions("by_sql", "ugly")) == sorted(values)
    done = {"CREATE EXTERNAL TABLE", "ADD IF", "SET LOCATION"}
    assert kinds(statements) == (done if is_spark(server) else done | {"TOUCH"})


def test_values_that_servers_would_rewrite_are_stored_as_they_are(metastore, writers, model, tmp_path):
    values = {"double": ["01", "1.50"], "int": ["7", "007"], "date": ["2024-02-29", "2024-01-02"], "bigint": ["-3"]}
    for kind, texts in values.items():
        folders = {text: tmp_path / f"by_{kind}" / text for text in texts}
        for folder in folders.values():
            folder.mkdir(parents=True)  # The metastore counts the files of folders that it did not make itself.
        for database, writer in writers.items():
            table = table_of(model, database)
            table.tableName, table.partitionKeys = f"by_{kind}", [FieldSchema(name="k", type=kind, comment="")]
            table.sd.location = f"{tmp_path}/by_{kind}"
            writer.create_table(table)
            items = [partition_of(table, database, [text], str(folder)) for text, folder in folders.items()]
            writer.add_partitions(database, f"by_{kind}", items, batch_size=100)
        same(metastore, f"by_{kind}")
        assert sorted(item.values[0] for item in metastore.partitions("by_sql", f"by_{kind}")) == sorted(texts)


def test_writers_may_be_repeated(metastore, writers, model, tmp_path):
    writer = writers["by_sql"]
    table = table_of(model, "by_sql")
    writer.create_database("by_sql", description="it's there")
    writer.create_table(table)
    with pytest.raises(AlreadyExistsError):
        writer.create_table(table)
    there = partition_of(model, "by_sql", ["a"], f"{tmp_path}/a")
    elsewhere = partition_of(model, "by_sql", ["a"], f"{tmp_path}/b")
    writer.add_partitions("by_sql", "ugly", [there], batch_size=10)
    writer.add_partitions("by_sql", "ugly", [elsewhere], batch_size=10)
    (found,) = metastore.partitions("by_sql", "ugly")
    assert found.sd.location == f"file:{tmp_path}/a"
    for _ in range(2):
        writer.drop_partitions("by_sql", "ugly", ["order=a"], batch_size=10)
        writer.drop_table("by_sql", "ugly")
        writer.create_table(table)
    assert metastore.partition_names("by_sql", "ugly") == []


def test_a_managed_table_s_data_outlives_every_drop(metastore, writers, model, tmp_path):
    table = table_of(model, "by_sql")
    table.tableType = "MANAGED_TABLE"
    del table.parameters["EXTERNAL"]
    table.sd.location = str(tmp_path / "managed")
    data = tmp_path / "managed" / "a" / "data"
    data.parent.mkdir(parents=True)
    data.write_text("kept")
    writer = writers["by_sql"]
    writer.create_table(table)
    made = metastore.table("by_sql", "ugly")
    assert (made.tableType, "EXTERNAL" in made.parameters) == ("MANAGED_TABLE", False)
    writer.add_partitions("by_sql", "ugly", [partition_of(table, "by_sql", ["a"], str(data.parent))], batch_size=10)
    writer.drop_partitions("by_sql", "ugly", ["order=a"], batch_size=10)
    writer.drop_table("by_sql", "ugly")
    assert data.read_text() == "kept"


def test_a_sync_that_died_behind_a_create_can_be_run_again(server, metastore, tmp_path, monkeypatch):
    """What the statement made alone is neither what was asked for nor stamped; the next sync puts it right."""
    path = tmp_path / "cow_part"
    shutil.copytree(golden.inputs("stages") / golden.stages()[_full("03")]["cow_part"], path)
    for database in ("calls", "by_sql"):
        if database in metastore.databases():
            metastore.drop_database(database, cascade=True)
    config = HiveSyncConfig(
        base_path=str(path), database="by_sql", mode="hiveql", jdbc_url=server.jdbc_url, table="cow_part"
    )
    with monkeypatch.context() as patch:
        patch.setattr(HiveQlWriter, "_put_right", _die)
        with pytest.raises(KeyboardInterrupt):
            HiveSyncTool(config, metastore=metastore).sync()
    assert metastore.partition_names("by_sql", "cow_part") == []
    both(metastore, server, "hiveql", path, "cow_part", compare=False)
    wanted, ours = (dumped(metastore, database, "cow_part") for database in ("calls", "by_sql"))
    ours["table"]["parameters"].pop("spark.sql.create.version", None)
    for name in ("numPartCols", "partCol.0"):
        assert ours["table"]["parameters"][f"spark.sql.sources.schema.{name}"]
    # What a sync does not decide about a table that is there: its owner, and Hive's -1 for no buckets.
    for item in (wanted, ours):
        item["table"]["owner"], item["table"]["sd"]["numBuckets"] = "", 0
    assert list(replay.compare(wanted, ours, "cow_part")) == []


def _die(*arguments: object) -> None:
    raise KeyboardInterrupt


# -- failures ------------------------------------------------------------------------------------------------------


def test_a_refused_change_of_columns_ends_the_sync(server, metastore, tmp_path):
    """Real hive-sync reports success here and moves the stamp; ours does neither."""
    path = tmp_path / "cow_part"
    shutil.copytree(golden.inputs("stages") / golden.stages()[_full("01")]["cow_part"], path)
    settings: dict[str, Any] = {"mode": "hiveql", "jdbc_url": server.jdbc_url, "database": "refused"}
    sync: Callable[..., Any] = lambda **more: HiveSyncTool(  # noqa: E731
        HiveSyncConfig(base_path=str(path), **settings, **more), metastore=metastore
    ).sync()
    sync()
    table = metastore.table("refused", "cow_part")
    table.sd.cols[1].type = "map<string,string>"
    table.parameters["last_commit_time_sync"] = "20200101000000000"
    metastore.alter_table("refused", "cow_part", _incompatible(metastore, table))
    before = metastore.table("refused", "cow_part")
    with pytest.raises(SchemaSyncError, match="columns"):
        sync()
    assert metastore.table("refused", "cow_part") == before
    metastore.drop_database("refused", cascade=True)


def _incompatible(metastore: HiveMetastore, table: Table) -> Table:
    """Make the table anew with columns that the metastore would not change the present ones to."""
    metastore.drop_table(table.dbName, table.tableName)
    metastore.create_table(table)
    return table


def test_statements_that_fail_are_errors_with_the_server_s_words(server, writers, model):
    with pytest.raises(MetastoreServerError, match="nowhere") as caught:
        writers["by_sql"].create_table(table_of(model, "nowhere"))
    assert caught.value.path == re.match(r"jdbc:hive2://[^/]+", server.jdbc_url)[0]
    bad = table_of(model, "by_sql")
    bad.sd.inputFormat = "no.such.Format"
    with pytest.raises(MetastoreServerError, match=r"no\.such\.Format") as caught:
        writers["by_sql"].create_table(bad)
    assert "mode=hms" in str(caught.value)


def test_a_table_that_another_sync_changed_is_left_alone(metastore, writers, model):
    writer = writers["by_sql"]
    writer.create_table(table_of(model, "by_sql"))
    wanted = metastore.table("by_sql", "ugly")
    wanted.sd.cols = [*wanted.sd.cols, FieldSchema(name="later", type="int", comment="")]
    before = metastore.table("by_sql", "ugly")
    with pytest.raises((TableChangedError, MetastoreServerError)):
        writer.alter_table("by_sql", "ugly", wanted, cascade=True, expected=("last_commit_time_sync", "2024"))
    assert metastore.table("by_sql", "ugly") == before
