"""Statements on tables of ORC files and of HFiles leave the same rows as on tables of Parquet files."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable

pytestmark = pytest.mark.jvm

COLUMNS = "id INT, at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, v STRING, n BIGINT, p STRING"
STATEMENTS = (
    "INSERT INTO {t} SELECT CAST(id AS INT), timestamp_micros(1700000000000001 + id), "
    "TIMESTAMP_NTZ'1960-01-01 00:00:00.5', DATE'1890-01-01', concat('v', id), 1L, concat('p', id % 2) FROM range(20)",
    "UPDATE {t} SET v = 'u', n = 2 WHERE id < 5",
    "DELETE FROM {t} WHERE id = 19",
    "MERGE INTO {t} USING (SELECT 3 AS id, 'm' AS v, 5L AS n) AS s ON {t}.id = s.id "
    "WHEN MATCHED THEN UPDATE SET v = s.v, n = s.n",
)
INPUT_FORMATS = {
    ("ORC", "cow"): "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    ("ORC", "mor"): "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    ("HFILE", "cow"): "org.apache.hudi.hadoop.HoodieHFileInputFormat",
    ("HFILE", "mor"): "org.apache.hudi.hadoop.realtime.HoodieHFileRealtimeInputFormat",
}


@pytest.fixture(scope="module")
def session(new_session, metastore, tmp_path_factory):
    made = new_session()
    made.sql(f"CREATE DATABASE formats LOCATION '{tmp_path_factory.mktemp('formats')}'")
    made.sql("USE formats")
    yield made
    for name in metastore.tables("formats"):
        metastore.drop_table("formats", name)
    metastore.drop_database("formats")


def rows_after(session, name: str, kind: str, file_format: str) -> list:
    session.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = '{kind}', "
        f"primaryKey = 'id', preCombineField = 'n', 'hoodie.table.base.file.format' = '{file_format}')"
    )
    for text in STATEMENTS:
        session.sql(text.format(t=name))
    return session.sql(f"SELECT id, at, local, day, v, n, p FROM {name} ORDER BY id").collect()


@pytest.fixture(scope="module")
def expected(session):
    return {kind: rows_after(session, f"parquet_{kind}", kind, "PARQUET") for kind in ("cow", "mor")}


@pytest.mark.parametrize(("file_format", "kind"), INPUT_FORMATS)
def test_statements_leave_the_same_rows(session, metastore, expected, file_format, kind):
    name = f"{file_format}_{kind}".lower()
    assert rows_after(session, name, kind, file_format) == expected[kind]
    entry = metastore.table("formats", name)
    assert entry.sd.inputFormat == INPUT_FORMATS[file_format, kind]
    table = HudiTable.open(entry.sd.location)
    assert table.config.base_file_format == file_format.lower()
    assert table.scan().count() == len(expected[kind]) == 19
    later = session.sql(
        f"SELECT count(*) FROM {name} WHERE at > TIMESTAMP'2023-11-14 00:00:00' AND day < DATE'1900-01-01'"
    )
    assert later.collect() == [(19,)]


def test_orc_files_without_times_are_read_by_spark_itself(session, expected):
    del expected
    session.sql(
        "CREATE TABLE plain USING hudi TBLPROPERTIES (primaryKey = 'id', 'hoodie.table.base.file.format' = 'ORC') "
        "AS SELECT id, v, day FROM parquet_cow"
    )
    frame = session.table("plain")
    assert "FileScan orc" in frame._jdf.queryExecution().executedPlan().toString()
    assert frame.where("v = 'u'").count() == 4
