"""Judges the mutation API at length: ``python -m integration.long.mutation_oracle``, which prints passed / total.

Random histories of tables of all shapes on real metastores 3.1.3 and 4.0.1, read by Hive's own readers of the same
release; then tables that Hive 4.0.1's SQL and we write by turns, with its compactions in between, and its values of all
types.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hudi_hive.metastore import HiveMetastore, TransactionClient
from integration.long.mutation_beside_hive import TABLES, BesideHive, Tally
from integration.long.mutation_histories import SHAPES, History
from integration.long.mutation_hive_types import types_of_hive
from integration.support import hive_sql
from integration.support.hive_acid import HiveAcid
from integration.support.metastores import HIVE_EXEC, RELEASES, ReleasedMetastore
from integration.support.mutation_judge import PROPERTIES, Judge

_PATIENT = {"metastore.txn.timeout": "300s"}
_BESIDE = _PATIENT | {
    "metastore.compactor.initiator.on": "false",  # compactions are those that we ask for
    "metastore.compactor.cleaner.on": "true",
    "hive.compactor.cleaner.run.interval": "1s",
    "metastore.compactor.cleaner.run.interval": "1s",
}
RECORDINGS = Path(__file__).parents[1] / "data" / "hive_acid"
"""Where states of tables are kept that Hive has written."""


@contextmanager
def judging(version: str, folder: Path, **properties: str) -> Iterator[Judge]:
    """A metastore of a release with Hive's readers beside it."""
    settings = {**PROPERTIES, **properties}
    with (
        HiveAcid(version) as hive,
        ReleasedMetastore(version, folder, properties=settings, jars=[HIVE_EXEC[version]]) as server,
        HiveMetastore(server.uri) as metastore,
    ):
        yield Judge(server, TransactionClient(metastore), hive)


def histories(version: str, turns: int, seeds: int, tally: Tally) -> int:
    """Random histories of all shapes.

    Returns:
        how often Hive's readers answered as ours did.
    """
    with tempfile.TemporaryDirectory() as folder, judging(version, Path(folder), **_PATIENT) as judge:
        for shape, definition in SHAPES.items():
            for seed in range(seeds):
                started = time.monotonic()
                try:
                    History(judge, definition, seed, rows=120).run(turns)
                    tally.note(shape, True)
                except AssertionError as error:
                    tally.note(f"{version}, {shape}, seed {seed}", False, error)
                print(f"{version}, {shape}, seed {seed}: {time.monotonic() - started:.1f} s", flush=True)
        return judge.answers


def beside_hive(tally: Tally, part: str, recordings: Path | None) -> int:
    """Hive's SQL and we, by turns.

    Args:
        tally: counts the looks.
        part: ``turns``, ``types`` or ``all``.
        recordings: folder for states of tables; None for none.

    Returns:
        how many statements Hive has run.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        judging(hive_sql.VERSION, Path(folder), **_BESIDE) as judge,
        hive_sql.HiveSql(judge.server) as sql,
    ):
        for kind in TABLES if part in ("all", "turns") else ():
            BesideHive(judge, sql, kind, tally, recordings).run()
        if part in ("all", "types"):
            types_of_hive(judge, sql, tally, recordings and recordings.with_name("hive_types"))
        return sql.statements


def main() -> int:
    """Run what was asked for.

    Returns:
        0 if all was right.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["histories", "turns", "types"], help="one part")
    parser.add_argument("--version", choices=sorted(RELEASES), action="append", help="of histories; default both")
    parser.add_argument("--turns", type=int, default=12, help="transactions of a history")
    parser.add_argument("--seeds", type=int, default=2, help="histories of a shape")
    parser.add_argument("--record", action="store_true", help="keep states of tables for the tests without Hive")
    arguments = parser.parse_args()
    total = Tally()
    if arguments.only in (None, "histories"):
        for version in arguments.version or sorted(RELEASES):
            tally = Tally()
            answers = histories(version, arguments.turns, arguments.seeds, tally)
            print(f"histories on {version}: {tally.passed} / {tally.total}, {answers} answers of Hive's readers")
            total = Tally(total.passed + tally.passed, total.total + tally.total)
    if arguments.only != "histories":
        tally = Tally()
        statements = beside_hive(tally, arguments.only or "all", RECORDINGS if arguments.record else None)
        print(f"beside Hive {hive_sql.VERSION}: {tally.passed} / {tally.total}, {statements} statements")
        total = Tally(total.passed + tally.passed, total.total + tally.total)
    print(f"passed {total.passed} / {total.total}")
    return 0 if total.passed == total.total else 1


if __name__ == "__main__":
    sys.exit(main())
