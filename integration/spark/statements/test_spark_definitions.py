"""Statements that define tables: partitions, names, properties, indexes, DROP; the table and the metastore follow."""

from __future__ import annotations

from datetime import datetime

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, SchemaError, SparkError
from hudi_hive.metadata import MetadataTable
from hudi_hive.metadata.reader import is_partitioned_index
from hudi_hive.table import MetaClient
from tests.support.running.long import with_long_cases

pytestmark = pytest.mark.jvm


@pytest.fixture
def session(new_session, metastore):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql("CREATE DATABASE IF NOT EXISTS definitions")
    made.sql("USE definitions")
    yield made
    made.sql("DROP DATABASE definitions CASCADE")


def partitions(metastore, name):
    return [tuple(part.values) for part in metastore.partitions("definitions", name)]


def shown(session, name):
    return [row.partition for row in session.sql(f"SHOW PARTITIONS {name}").collect()]


def operations(path):
    timeline = MetaClient.load(path).timeline
    return [timeline.commit_metadata(instant).operation for instant in timeline.write_instants()]


def test_partitions_columns_and_names(session, metastore, tmp_path):
    path = str(tmp_path / "calls")
    session.sql(
        f"CREATE TABLE calls (id INT, name STRING, day STRING, hour INT) USING hudi PARTITIONED BY (day, hour) "
        f"LOCATION '{path}' TBLPROPERTIES (primaryKey = 'id')"
    )
    session.sql("ALTER TABLE calls ADD PARTITION (day = 'd0', hour = 1)")
    with pytest.raises(SparkError, match="IF NOT EXISTS"):
        session.sql("ALTER TABLE calls ADD PARTITION (day = 'd0', hour = 1)")
    assert shown(session, "calls") == ["day=d0/hour=1"] and partitions(metastore, "calls") == [("d0", "1")]
    session.sql("INSERT INTO calls VALUES (1, 'a', 'd1', 1), (2, 'b', 'd1', 2), (3, 'c', 'd2', 1)")
    for clause in ("day = 'd1'", "day = 'd1', minute = 1", "day = 'd1', hour = 1, name = 'a'"):
        for statement in ("ALTER TABLE calls DROP PARTITION ({})", "TRUNCATE TABLE calls PARTITION ({})"):
            with pytest.raises(SparkError, match="hour"):
                session.sql(statement.format(clause))
    session.sql("ALTER TABLE calls DROP PARTITION (day = 'd1', hour = 1), PARTITION (day = 'd2', hour = 1)")
    session.sql(f"TRUNCATE TABLE hudi.`{path}` PARTITION (day = 'd9', hour = 1)")
    assert operations(path)[1:] == ["DELETE_PARTITION", "DELETE_PARTITION"]
    assert [row.id for row in session.sql("SELECT id FROM calls").collect()] == [2]
    assert shown(session, "calls") == ["day=d1/hour=2"]
    session.sql("ALTER TABLE calls ADD PARTITION (day = 'd7', hour = 7)")  # in which no file ever is
    session.sql("ALTER TABLE calls DROP PARTITION (day = 'd7', hour = 7)")
    assert shown(session, "calls") == ["day=d1/hour=2"]
    session.sql("MSCK REPAIR TABLE calls SYNC PARTITIONS")
    assert partitions(metastore, "calls") == [("d1", "2")]

    with pytest.raises(SchemaError, match="schema evolution"):
        session.sql("ALTER TABLE calls RENAME COLUMN name TO label")
    session.sql("ALTER TABLE calls ADD COLUMNS (price DOUBLE COMMENT 'in euro')")
    session.sql("SET hoodie.schema.on.read.enable=true")
    session.sql(
        "BEGIN ALTER TABLE calls RENAME COLUMN name TO label; "
        "IF (SELECT count(*) FROM calls) = 1 THEN ALTER TABLE calls ALTER COLUMN price COMMENT 'in yen'; END IF; END"
    )
    before = operations(path)
    session.sql("EXPLAIN ALTER TABLE calls DROP COLUMN label")
    assert operations(path) == before
    described = {row.col_name: (row.data_type, row.comment) for row in session.sql("DESCRIBE calls").collect()}
    assert described["label"][0] == "string" and described["price"] == ("double", "in yen")

    session.sql("ALTER TABLE calls RENAME TO talks")
    assert MetaClient.load(path).config.name == "talks"
    session.sql("INSERT INTO talks VALUES (4, 'd', 2.5, 'd1', 2)")
    session.sql("TRUNCATE TABLE talks")
    assert session.table("talks").count() == 0 and operations(path)[-1] == "INSERT_OVERWRITE_TABLE"
    session.sql("DROP TABLE talks")
    assert HudiTable.open(path).scan().to_arrow().num_rows == 0


def test_fields_that_a_definition_names_in_another_case_are_the_columns(session, tmp_path):
    session.sql(
        "CREATE TABLE cased (Id INT, Version INT, Day STRING) USING hudi PARTITIONED BY (day) "
        f"TBLPROPERTIES (primaryKey = 'ID', preCombineField = 'version') LOCATION '{tmp_path}/cased'"
    )
    session.sql("INSERT INTO cased VALUES (1, 2, 'd'), (1, 1, 'd')")
    config = MetaClient.load(str(tmp_path / "cased")).config
    assert (config.record_keys, config.ordering_fields) == (("Id",), ("Version",))
    assert config.partition_fields == ("Day",)
    session.sql("CREATE OR REPLACE TABLE cased USING hudi TBLPROPERTIES (primaryKey = 'iD') AS SELECT * FROM cased")
    session.sql("UPDATE cased SET version = 5 WHERE ID = 1")
    assert [tuple(row) for row in session.sql("SELECT id, Version, day FROM cased").collect()] == [(1, 5, "d")]


def test_definitions_that_contradict_the_table_and_entries_that_go_together(session, tmp_path):
    with pytest.raises(SchemaError, match="in another order"):
        session.sql("CREATE TABLE n (id INT, a INT, b INT) USING hudi PARTITIONED BY (b, a)")
    place = f"LOCATION '{tmp_path}/n'"
    session.sql(f"CREATE TABLE n (id INT, s STRUCT<a: INT>) USING hudi {place} TBLPROPERTIES (type = 'mor')")
    for columns in ("id INT, s MAP<STRING, INT>", "id INT, s STRUCT<a: INT, b: INT>", "id INT, v STRING"):
        with pytest.raises(SchemaError, match="the table has"):
            session.sql(f"CREATE TABLE other ({columns}) USING hudi {place}")
    session.sql(f"CREATE TABLE other (id BIGINT, s STRUCT<a: INT>) USING hudi {place}")
    assert session.table("other").schema["id"].dataType.simpleString() == "int"
    for suffix, text in (("ro", "true"), ("rt", "false")):
        session.sql(f"CREATE TABLE n_{suffix} USING hudi TBLPROPERTIES (hoodie.query.as.ro.table = '{text}') {place}")
    session.sql("DROP TABLE n_ro PURGE")
    assert [row.tableName for row in session.sql("SHOW TABLES").collect()] == ["other"]
    assert not (tmp_path / "n").exists()


@pytest.mark.long
def test_partitions_without_rows_in_a_table_without_metadata_table(session, tmp_path):
    session.sql("SET hoodie.metadata.enable=false")
    session.sql(
        f"CREATE TABLE bare (id INT, p STRING) USING hudi PARTITIONED BY (p) LOCATION '{tmp_path}/bare' "
        "TBLPROPERTIES (primaryKey = 'id', 'hoodie.datasource.write.hive_style_partitioning' = 'false')"
    )
    session.sql("INSERT INTO bare VALUES (1, 'x'), (2, 'y z')")
    assert shown(session, "bare") == ["x", "y z"]  # folders, as in Hudi
    session.sql("ALTER TABLE bare ADD PARTITION (p = 'w')")
    assert shown(session, "bare") == ["w", "x", "y z"]
    session.sql("ALTER TABLE bare DROP PARTITION (p = 'w')")
    assert shown(session, "bare") == ["x", "y z"]


def described(session, table):
    return {row.col_name: row.data_type for row in session.sql(f"DESCRIBE EXTENDED {table}").collect()}


def test_properties_indexes_and_data_of_a_dropped_table(session, tmp_path):
    path = str(tmp_path / "goods")
    session.sql(f"CREATE TABLE goods (id INT, v STRING) USING hudi LOCATION '{path}' TBLPROPERTIES (primaryKey = 'id')")
    session.sql("INSERT INTO goods VALUES (1, 'a'), (2, 'b')")
    session.sql("ALTER TABLE goods SET TBLPROPERTIES (k1 = 'v1', k2 = 'v2')")
    session.sql("ALTER TABLE goods UNSET TBLPROPERTIES (k1)")
    session.sql("COMMENT ON TABLE goods IS 'what is sold'")
    session.sql("INSERT INTO goods VALUES (99, 'later')")
    assert described(session, "goods")["Comment"] == "what is sold"
    session.sql("COMMENT ON TABLE goods IS NULL")
    assert not described(session, "goods").get("Comment")
    session.sql("DELETE FROM goods WHERE id = 99")
    session.sql("COMMENT ON COLUMN goods.v IS 'what it is'")
    documented = {row["column"]: row["doc"] for row in HudiTable.open(path).schema_history().to_pylist()[::-1]}
    assert documented["v"] == "what it is"
    properties = {row.key: row.value for row in session.sql("SHOW TBLPROPERTIES goods").collect()}
    assert "k1" not in properties and properties["k2"] == "v2"
    refused = [
        "ALTER TABLE goods SET TBLPROPERTIES (primaryKey = 'v')",
        "ALTER TABLE goods UNSET TBLPROPERTIES (k1)",
        "CREATE INDEX record_index ON goods (v)",
        "CREATE INDEX by_id ON goods (id)",
        "CREATE INDEX by_v ON goods (v) OPTIONS (expr = 'lower')",
        "CREATE INDEX c ON goods USING column_stats (v)",
        "CREATE INDEX l ON goods USING lucene (v)",
        "DROP INDEX record_index ON goods",
        f"ANALYZE TABLE hudi.`{path}` COMPUTE STATISTICS",
        f"DROP TABLE hudi.`{path}`",
        f"MSCK REPAIR TABLE hudi.`{path}`",
        f"ALTER TABLE hudi.`{path}` RENAME TO other",
    ]
    for statement in refused:
        with pytest.raises(HudiHiveError) as caught:
            session.sql(statement)
        assert caught.value.path, statement
    session.sql("CREATE INDEX record_index ON goods (id)")
    session.sql("CREATE INDEX IF NOT EXISTS record_index ON goods (id)")
    session.sql("REFRESH INDEX record_index ON goods")
    assert "record_index" in [row.index_name for row in session.sql("SHOW INDEXES FROM goods").collect()]
    session.sql("INSERT INTO goods VALUES (3, 'c')")
    assert "record_index" in MetaClient.load(path).config.metadata_partitions
    session.sql("DROP INDEX record_index ON goods")
    session.sql("DROP INDEX IF EXISTS record_index ON goods")
    assert "record_index" not in [row.index_name for row in session.sql(f"SHOW INDEXES FROM hudi.`{path}`").collect()]
    assert session.table("goods").count() == 3
    session.sql("DROP TABLE goods PURGE")
    assert not (tmp_path / "goods").exists()


def test_a_record_index_of_each_partition(session, tmp_path):
    path = str(tmp_path / "wares")
    session.sql(
        f"CREATE TABLE wares (id INT, p STRING) USING hudi PARTITIONED BY (p) LOCATION '{path}' "
        "TBLPROPERTIES (primaryKey = 'id')"
    )
    session.sql("INSERT INTO wares VALUES (1, 'x'), (1, 'y')")
    create = "CREATE INDEX record_index ON wares (id) OPTIONS (isPartitioned = 'true')"
    with pytest.raises(HudiHiveError, match="before version 9"):
        session.sql(create)
    session.sql("CALL upgrade_table(table => 'definitions.wares', to_version => '9')")
    session.sql(create)
    session.sql("SET hoodie.index.type=RECORD_LEVEL_INDEX")
    session.sql(
        "MERGE INTO wares t USING (SELECT 1 AS id, 'z' AS p) s ON t.id = s.id AND t.p = s.p "
        "WHEN NOT MATCHED THEN INSERT *"
    )
    session.sql("DELETE FROM wares WHERE p = 'x'")
    session.sql("RESET hoodie.index.type")
    client = MetaClient.load(path)
    assert is_partitioned_index(client) and session.table("wares").count() == 2
    assert MetadataTable.open(client).record_locations()["partition"].to_pylist() == ["p=y", "p=z"]
    session.sql("DROP TABLE wares PURGE")


def test_statistics(session, metastore, tmp_path):
    def statistics_of():
        parameters = metastore.table("definitions", "small").parameters
        prefix = "spark.sql.statistics."
        return {key.removeprefix(prefix): text for key, text in parameters.items() if key.startswith(prefix)}

    def joins():
        plan = session.sql("EXPLAIN SELECT * FROM small a JOIN small b ON a.id = b.id").collect()[0][0]
        return "BroadcastHashJoin" in plan

    session.sql(
        "CREATE TABLE small (id INT, v STRING, a ARRAY<INT>, p STRING) USING hudi PARTITIONED BY (p) "
        f"LOCATION '{tmp_path}/small' TBLPROPERTIES (primaryKey = 'id')"
    )
    session.sql("INSERT INTO small VALUES (1, 'a', array(1), 'x'), (2, 'b', null, 'y'), (7, null, null, 'y')")
    session.sql("SET spark.sql.adaptive.enabled=false")
    session.sql("ANALYZE TABLE small COMPUTE STATISTICS NOSCAN")
    size = int(statistics_of()["totalSize"])
    assert set(statistics_of()) == {"totalSize"} and size > 0
    for threshold, broadcasts in ((size - 1, False), (size, True)):
        session.sql(f"SET spark.sql.autoBroadcastJoinThreshold={threshold}")
        assert joins() == broadcasts
    session.sql("ANALYZE TABLE small COMPUTE STATISTICS")
    assert statistics_of() == {"totalSize": str(size), "numRows": "3"}
    session.sql("ANALYZE TABLE small COMPUTE STATISTICS FOR COLUMNS id, v")
    statistics = statistics_of()
    assert [statistics[f"colStats.{key}"] for key in ("id.min", "id.max", "id.distinctCount", "v.nullCount")] == [
        "1",
        "7",
        "3",
        "1",
    ]
    session.sql("ANALYZE TABLE small COMPUTE STATISTICS")
    assert statistics_of() == statistics  # nothing is another than it was
    (described,) = [row.data_type for row in session.sql("DESCRIBE EXTENDED small").collect() if row[0] == "Statistics"]
    assert described == f"{size} bytes, 3 rows"
    refused = ("FOR COLUMNS a", "FOR COLUMNS z", "FOR ALL COLUMNS")
    for text in (
        *(f"ANALYZE TABLE small COMPUTE STATISTICS {one}" for one in refused),
        "ANALYZE TABLE small PARTITION (p = 'x') COMPUTE STATISTICS",
    ):
        with pytest.raises(HudiHiveError):
            session.sql(text)
    session.sql("INSERT INTO small VALUES (3, 'c', null, 'x')")
    assert statistics_of() == {}
    session.catalog.analyzeTable("small")
    session.sql("SET spark.sql.statistics.size.autoUpdate.enabled=true")
    session.sql("DELETE FROM small WHERE p = 'y'")
    assert set(statistics_of()) == {"totalSize"}


@pytest.mark.parametrize("kind", with_long_cases(["mor"], ["cow", "mor"]))
def test_times_without_a_zone_stay_what_was_declared(session, kind):
    session.sql(
        "CREATE TABLE stays (id INT, at TIMESTAMP_NTZ, s STRUCT<t: TIMESTAMP_NTZ, n: BIGINT>, a ARRAY<TIMESTAMP_NTZ>) "
        f"USING hudi TBLPROPERTIES (primaryKey = 'id', type = '{kind}')"
    )
    declared = [described(session, "stays")[name] for name in ("at", "s", "a")]
    time = "TIMESTAMP_NTZ'2024-01-0{} 10:00:00'"
    first, second = time.format(1), time.format(2)
    session.sql(f"INSERT INTO stays VALUES (1, {first}, named_struct('t', {first}, 'n', 7L), array({first}))")
    assert [described(session, "stays")[name] for name in ("at", "s", "a")] == declared
    session.sql(f"INSERT INTO stays SELECT 2, at, s, a FROM stays WHERE at = {first} AND s.t < {second}")
    session.sql(f"UPDATE stays SET at = {second} WHERE id = 2 AND at < {second}")
    session.sql(
        "ALTER TABLE stays ADD COLUMNS (n STRING, l TIMESTAMP_NTZ COMMENT 'added', m MAP<STRING, TIMESTAMP_NTZ>)"
    )
    session.sql(f"UPDATE stays SET l = {second}, m = map('k', {first}) WHERE id = 2 AND l IS NULL")
    source = f"(SELECT 3 AS id, {first} AS at, named_struct('t', {first}, 'u', {second}) AS s, {second} AS w)"
    merge = f"MERGE WITH SCHEMA EVOLUTION INTO stays t USING {source} s ON t.id = s.id"
    session.sql(f"{merge} WHEN NOT MATCHED THEN INSERT *")
    condition = f"id < 2 OR l = {second} OR w = {second}"
    there = session.sql(
        f"SELECT at, s.t, s.n, a[0], l, m['k'], s.u, w FROM stays WHERE {condition} ORDER BY id"
    ).collect()
    old, new = datetime(2024, 1, 1, 10), datetime(2024, 1, 2, 10)
    assert [tuple(row) for row in there] == [
        (old, old, 7, old, None, None, None, None),
        (new, old, 7, old, new, old, None, None),
        (old, old, None, None, None, None, new, new),
    ]
    for name in ("stays", *(["stays_rt"] if kind == "mor" else [])):
        types = dict(session.sql(f"SELECT * FROM {name}").dtypes)
        assert [types[one] for one in ("at", "l", "w", "a", "m", "s")] == [
            *["timestamp_ntz"] * 3,
            "array<timestamp_ntz>",
            "map<string,timestamp_ntz>",
            "struct<t:timestamp_ntz,n:bigint,u:timestamp_ntz>",
        ]


def test_types_that_hudi_does_not_have_are_refused(session):
    for kind in ("VARIANT", "INTERVAL DAY TO SECOND", "STRUCT<n: ARRAY<STRING COLLATE UTF8_LCASE>>"):
        with pytest.raises(SchemaError, match=r"'x' is of type .+ Hudi tables do not hold"):
            session.sql(f"CREATE TABLE refused (id INT, x {kind}) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    with pytest.raises(SchemaError, match="'x' is of type variant"):
        session.sql("CREATE TABLE refused USING hudi AS SELECT 1 AS id, parse_json('1') AS x")
    session.sql("CREATE TABLE taken (id INT, x STRING) USING hudi TBLPROPERTIES (primaryKey = 'id')")
    with pytest.raises(SchemaError, match="'y' is of type variant"):
        source = "(SELECT 1 AS id, 'a' AS x, parse_json('1') AS y)"
        merge = f"MERGE WITH SCHEMA EVOLUTION INTO taken t USING {source} s ON t.id = s.id"
        session.sql(f"{merge} WHEN NOT MATCHED THEN INSERT *")
    assert [row.tableName for row in session.sql("SHOW TABLES").collect()] == ["taken"]
