"""Two statements at once on one table, under a lock that settings name: conflicts are errors, nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import WriteConflictError
from hudi_hive.spark.statements.writes import target

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]

LIMIT_S = 300
SETTINGS = (
    "hoodie.write.concurrency.mode = optimistic_concurrency_control",
    "hoodie.write.lock.provider = org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
)


@pytest.fixture
def at_once(spark, tmp_path, monkeypatch):
    """Runs two statements in sessions of their own that both have read the table before either writes."""
    path = f"{tmp_path}/shared"
    spark.sql(
        "CREATE TABLE shared (id INT, n INT, ts BIGINT, p STRING) USING hudi PARTITIONED BY (p) "
        f"TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts') LOCATION '{path}'"
    )
    write = target.write

    def run(*statements):
        barrier = Barrier(len(statements))

        def meet(*args, **kwargs):
            barrier.wait(LIMIT_S)
            return write(*args, **kwargs)

        def one(statement):
            session = spark.newSession()
            for setting in SETTINGS:
                session.sql(f"SET {setting}")
            try:
                session.sql(statement)
            except WriteConflictError as error:
                return error
            return None

        monkeypatch.setattr(target, "write", meet)
        with ThreadPoolExecutor(len(statements)) as pool:
            failures = list(pool.map(one, statements))
        monkeypatch.setattr(target, "write", write)
        return failures, len(HudiTable.open(path).timeline.write_instants())

    yield run
    spark.sql("DROP TABLE shared")


def test_two_statements_at_once(spark, at_once):
    failures, commits = at_once("INSERT INTO shared VALUES (1, 0, 1, 'x')", "INSERT INTO shared VALUES (2, 0, 1, 'y')")
    assert failures == [None, None] and commits == 2
    add = "UPDATE shared SET n = n + 1 WHERE id = 1"
    failures, commits = at_once(add, add)
    assert sorted(one is None for one in failures) == [False, True] and commits == 3
    assert [isinstance(one, WriteConflictError) for one in failures].count(True) == 1
    spark.sql(add)
    assert sorted((row.id, row.n) for row in spark.table("shared").collect()) == [(1, 2), (2, 0)]
