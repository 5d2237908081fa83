"""Statements that fail in a task, or are cancelled: the table is as before, and nothing is left over."""

from __future__ import annotations

import threading
import time

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from tests.support.faults.write_faults import check_tidy, rows_of
from tests.support.running.long import long_case, with_long_cases

pytestmark = pytest.mark.jvm

STATEMENTS = (
    "INSERT INTO t SELECT id + 100, {value}, 1L, dt FROM t",
    "INSERT OVERWRITE t SELECT id, {value}, ts, dt FROM t",
    "UPDATE t SET name = {value}",
    "DELETE FROM t WHERE {value} = 'x'",
    "MERGE INTO t USING t s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = {value_of_s}",
)


@pytest.fixture
def session(new_session, tmp_path):
    """A session whose current database is a new one."""
    made = new_session()
    made.sql(f"CREATE DATABASE interrupted LOCATION '{tmp_path}/interrupted'")
    made.sql("USE interrupted")
    yield made
    made.sql("DROP TABLE IF EXISTS t")
    made.sql("DROP DATABASE interrupted CASCADE")


def make(session, path, kind):
    definition = {"record_keys": ["id"], "partition_fields": ["dt"], "ordering_fields": ["ts"], "table_type": kind}
    rows = {"id": pa.array(range(20), pa.int32()), "name": ["a"] * 20, "ts": [1] * 20, "dt": ["x", "y"] * 10}
    HudiTable.create(path, name="t", hive_style_partitioning=True, **definition).insert(pa.table(rows))
    session.sql(f"CREATE TABLE t USING hudi LOCATION '{path}'")


def check_unchanged(path, before, key):
    """Rows as before, and nothing is left once the next write is made."""
    assert rows_of(path) == before
    row = HudiTable.open(path).scan().to_arrow().select(["id", "name", "ts", "dt"]).slice(0, 1)
    HudiTable.open(path).upsert(row)
    assert rows_of(path) == before, key
    check_tidy(path)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", long_case("MERGE_ON_READ")])
def test_a_task_that_fails_at_its_last_row_leaves_nothing(session, tmp_path, kind, thorough):
    path = tmp_path / "interrupted" / "t"
    make(session, path, kind)
    before = rows_of(path)
    for text in STATEMENTS if thorough else STATEMENTS[1::3]:  # an overwrite, and a MERGE
        values = {
            "value": "IF(id = 19, raise_error('the last row'), 'x')",
            "value_of_s": "IF(s.id = 19, raise_error('the last row'), 'x')",
        }
        with pytest.raises(Exception, match="the last row"):
            session.sql(text.format(**values))
        check_unchanged(path, before, text)
    with pytest.raises(Exception, match="the last row"):
        session.sql(f"CREATE TABLE made USING hudi AS {'SELECT id, {value} AS v FROM t'.format(**values)}")
    assert not (tmp_path / "interrupted" / "made").exists()
    assert [row.tableName for row in session.sql("SHOW TABLES LIKE 'made'").collect()] == []


@pytest.mark.parametrize("text", with_long_cases(STATEMENTS[-1:], STATEMENTS[::2]))
def test_a_statement_that_is_cancelled_leaves_nothing(session, tmp_path, text):
    path, started = tmp_path / "interrupted" / "t", str(tmp_path / "started")
    make(session, path, "COPY_ON_WRITE")
    before = rows_of(path)

    def waits(value: int) -> str:
        with open(started, "w"):
            pass
        while value >= 0:  # until the task is cancelled
            time.sleep(0.05)
        return "x"

    session.udf.register("waits", waits)

    def cancel() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        session.sparkContext.cancelAllJobs()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(Exception, match=r"(?i)cancel"):
        session.sql(text.format(value="waits(id)", value_of_s="waits(s.id)"))
    thread.join()
    check_unchanged(path, before, text)
