"""Rows of all types that Hive 4.0.1's SQL has written, read and changed by us, and compacted by Hive."""

from __future__ import annotations

from pathlib import Path

from hudi_hive.errors import HudiHiveError
from hudi_hive.mutation.acid_write import MutatorClient, MutatorCoordinator
from integration.long.mutation_beside_hive import Tally, pack
from integration.support.hive_acid import Snapshot
from integration.support.hive_process import HiveError
from integration.support.hive_sql import HiveSql
from integration.support.mutation_judge import Judge
from integration.support.mutation_values import columns, rows

_NAME = "types_of_hive"
_LITERALS: tuple[tuple[str, ...], ...] = (
    ("true", "false"),
    ("cast('-128' as tinyint)", "127Y"),
    ("cast('-32768' as smallint)", "32767S"),
    ("cast('-2147483648' as int)", "2147483647"),
    ("cast('-9223372036854775808' as bigint)", "9223372036854775807L"),
    ("cast(0.1 as float)", "cast('NaN' as float)"),
    ("cast(0.1 as double)", "cast('Infinity' as double)"),
    ("'ünï'", "''"),
    ("cast('äöüß' as varchar(4))", "cast('ab ' as varchar(4))"),
    ("cast('a' as char(4))", "cast('öö' as char(4))"),
    ("unhex('00ff')", "cast('' as binary)"),
    ("date '2024-02-29'", "date '1500-01-01'", "date '0001-01-01'", "date '1582-10-15'"),
    (
        "timestamp '2024-03-10 02:30:00.12'",
        "timestamp '1965-05-05 05:05:05.123'",
        "timestamp '1969-12-31 23:59:59'",
        "timestamp '1700-01-01 00:00:00'",
    ),
    ("cast(1.5 as decimal(10,2))", "cast(-99999999.99 as decimal(10,2))"),
    ("cast('9999999999999999999999999999.9999999999' as decimal(38,10))", "cast(0 as decimal(38,10))"),
    ("array(1, cast(null as int), -3)", "array(7)"),
    ("map('a', 1L, 'ü', cast(null as bigint))", "map('b', 2L)"),
    (
        "named_struct('x', date '2020-01-02', 'y', cast(-1.25 as decimal(6,3)), 'z', cast('ab' as char(3)))",
        "named_struct('x', cast(null as date), 'y', cast(null as decimal(6,3)), 'z', cast(null as char(3)))",
    ),
    (
        "array(named_struct('n', 5Y, 'm', map(1, array('', 'z'))))",
        "array(named_struct('n', cast(null as tinyint), 'm', map(2, array(cast(null as string)))))",
    ),
)
"""Values of each column in Hive's SQL."""


def types_of_hive(judge: Judge, sql: HiveSql, tally: Tally, recordings: Path | None = None) -> None:
    """Hive inserts rows of all types; then we insert and delete, and Hive compacts.

    Args:
        judge: of a metastore 4.0.1.
        sql: Hive's SQL engine on it.
        tally: counts the looks.
        recordings: folder for what Hive left, and what its reader said; None records nothing.
    """
    definition = ", ".join(f"{name} {kind}" for name, kind in columns())
    sql.run(f"CREATE TABLE {_NAME} ({definition}) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    selects = []
    for number in range(max(map(len, _LITERALS))):
        values = ", ".join(literals[number % len(literals)] for literals in _LITERALS)
        selects.append(f"SELECT {number}, {values}")
    sql.run(f"INSERT INTO {_NAME} {' UNION ALL '.join(selects)}")
    sql.run(f"INSERT INTO {_NAME} (id) VALUES (4)")
    _look(judge, tally, "Hive wrote them")
    _record(judge, recordings, "written")
    with MutatorClient(judge.server.uri, sinks=[f"default.{_NAME}"]) as client, client.new_transaction() as transaction:
        with MutatorCoordinator(transaction.table("default", _NAME)) as coordinator:
            _, row_id = judge.find(_NAME, transaction, 0)
            coordinator.delete([], {"ROW__ID": row_id})
            coordinator.insert_batch(rows(12).slice(5))
        transaction.accept(coordinator.close())
    _look(judge, tally, "we inserted and deleted")
    state = sql.compact("MAJOR", "default", _NAME)
    tally.note("all types: compaction", state in ("ready for cleaning", "succeeded"), state)
    _look(judge, tally, "Hive compacted them")
    _record(judge, recordings, "compacted")


def _record(judge: Judge, recordings: Path | None, state: str) -> None:
    if recordings is None:
        return
    snapshot = Snapshot.take(judge.client, "default", _NAME)
    rows = [[list(row_id), list(row)] for (_, row_id), row in judge.hive.read(snapshot).items()]
    root = judge.server.warehouse / _NAME
    about = {
        "table": snapshot.table.encode().replace(f"file:{root}", "LOCATION"),
        "write_ids": snapshot.write_ids.format(),
        "transactions": snapshot.transactions.format(),
        "rows": rows,
    }
    pack(recordings / f"{state}.zip", root, about)


def _look(judge: Judge, tally: Tally, what: str) -> None:
    print(f"all types: {what}", flush=True)
    try:
        judge.see(_NAME)
        tally.note(f"all types: {what}", True)
    except (AssertionError, HiveError, HudiHiveError) as error:
        tally.note(f"all types: {what}", False, error)
