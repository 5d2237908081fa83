"""Our transactions and real Hudi's writes by turns on one table, each reading what the other one left.

    python -m integration.long.mutation_hudi [--version 8] [--type MERGE_ON_READ]

A model says all along what the rows are. A cell is one table version and type.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hudi_hive.metadata.reader import validate
from hudi_hive.mutation.hudi import HudiMutatorClient, HudiMutatorCoordinator, HudiTransaction
from hudi_hive.table.properties import COPY_ON_WRITE, MERGE_ON_READ
from hudi_hive.table_api import HudiTable
from integration.support.hudi_peer import HudiPeer

VERSIONS = (6, 8, 9)
TYPES = (COPY_ON_WRITE, MERGE_ON_READ)

_DDL = "id string, p string, ts long, v string"
_QUIET = {"hoodie.metadata.enable": "true", "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}

Model = dict[tuple[str, str], tuple[int, str]]
"""Key and partition to ordering value and text."""


class Game:
    """One table, the model of its rows, and both sides.

    Args:
        peer: real Hudi of the table's release.
        path: where the table is to be.
        kind: its type.
    """

    def __init__(self, peer: HudiPeer, path: Path, kind: str) -> None:
        self.peer, self.path, self.kind = peer, path, kind
        self.model: Model = {}

    def hudi(self, operation: str, rows: Sequence[tuple[str, str, int, str]], **options: str) -> None:
        """Let Hudi write rows."""
        given = {
            "hoodie.table.name": "t",
            "hoodie.write.table.version": str(self.peer.version),
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.datasource.write.operation": operation,
            **_QUIET,
            **options,
        }
        records = [dict(zip(("id", "p", "ts", "v"), row, strict=True)) for row in rows]
        self.peer.write(self.path, records, _DDL, given)
        self.expect(operation, rows)

    def expect(self, operation: str, rows: Sequence[tuple[str, str, int, str]]) -> None:
        """Tell the model of a write."""
        for key, partition, ts, text in rows:
            if operation == "delete":
                del self.model[key, partition]
            else:
                self.model[key, partition] = (ts, text)

    def staged(self, txn: HudiTransaction, **changes: Sequence[tuple[str, str, int, str]]) -> None:
        """Give changes to two coordinators of a transaction that has begun."""
        for part in range(2):
            coordinator = HudiMutatorCoordinator(txn.table())
            for operation, rows in changes.items():
                for key, partition, ts, text in rows[part::2]:
                    getattr(coordinator, operation)([partition], {"id": key, "ts": ts, "v": text})
            txn.accept(coordinator.close())

    def ours(self, **changes: Sequence[tuple[str, str, int, str]]) -> str:
        """One transaction of ours; its instant."""
        with HudiMutatorClient(self.path, _QUIET) as client, client.new_transaction() as txn:
            self.staged(txn, **changes)
        for operation, rows in changes.items():
            self.expect(operation, rows)
        assert txn.report is not None and txn.report.services is not None and not txn.report.services.failed
        return txn.id

    def check(self, *metadata: str) -> None:
        """Both sides see the model's rows, Hudi with the metadata table (``true``) or without it (``false``)."""
        columns = ["id", "p", "ts", "v"]
        for used in metadata or ("true",):
            rows = self.peer.read(self.path, columns, {"hoodie.metadata.enable": used})
            assert _model(rows) == self.model, f"Hudi, metadata table {used}: {_model(rows)} is not {self.model}"
        mine = HudiTable.open(self.path)
        assert _model(mine.scan(selected_fields=columns).to_arrow().to_pylist()) == self.model
        assert validate(mine.client).is_valid, str(validate(mine.client))


def _model(rows: Sequence[dict[str, Any]]) -> Model:
    found = {(row["id"], row["p"]): (row["ts"], row["v"]) for row in rows}
    assert len(found) == len(rows), "a record is there more than once"
    return found


def play(peer: HudiPeer, path: Path, kind: str, *, short: bool = False) -> None:
    """One cell.

    Args:
        peer: real Hudi.
        path: where the table is to be.
        kind: the table's type.
        short: end behind the first round of Hudi on what a transaction wrote.
    """
    game = Game(peer, path, kind)
    game.hudi("insert", [(f"k{n}", "abc"[n % 3], 1, f"hudi {n}") for n in range(9)])
    before = HudiTable.open(path).timeline.completed()[-1]
    changed = [("k0", "a", 2, "ours"), ("k1", "b", 2, "ours")]
    added = [("n0", "a", 2, "ours"), ("n1", "new", 2, "ours")]
    instant = game.ours(insert=added, update=changed, delete=[("k2", "c", 0, ""), ("k3", "a", 0, "")])
    game.check()
    # Ranges go by completion times from version 8 on, and some releases take their begin in.
    begin = before.requested if before.completed is None else instant
    _check_range(game, begin, {row[0] for row in (*changed, *added)}, instant)
    # Hudi goes on with our rows, and we with its.
    game.hudi("upsert", [("k0", "a", 3, "hudi again"), ("n1", "new", 3, "hudi again"), ("h", "b", 3, "hudi")])
    if short:
        game.check()
        return
    game.hudi("delete", [("n0", "a", 4, "")])
    game.ours(update=[("k0", "a", 5, "ours again"), ("h", "b", 5, "ours")], delete=[("n1", "new", 0, "")])
    game.check()
    with HudiMutatorClient(path, _QUIET) as client:
        txn = client.new_transaction().begin()
        game.staged(txn, update=[("k4", "b", 6, "never")], delete=[("k5", "c", 0, "")])
        game.check()  # in flight
        txn.abort()
    _die(game)
    game.hudi("upsert", [("k4", "b", 7, "hudi after an abort and a death")])
    game.check()
    compacting = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    game.hudi("upsert", [("k6", "a", 8, "compacted")], **(compacting if kind == MERGE_ON_READ else {}))
    game.ours(update=[("k6", "a", 9, "after"), ("k7", "b", 9, "after")], delete=[("k8", "c", 0, "")])
    game.check("true", "false")


def _check_range(game: Game, begin: str, keys: set[str], instant: str) -> None:
    """An incremental query of Hudi gives what our instant inserted and updated."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": begin,
    }
    rows = game.peer.read(game.path, ["id", "_hoodie_commit_time at"], options)
    assert {row["id"] for row in rows} == keys and {row["at"] for row in rows} == {instant}, rows


def _die(game: Game) -> None:
    """A transaction whose client is gone: inflight, with staged records and markers; Hudi must be able to undo it."""
    client = HudiMutatorClient(game.path, _QUIET).connect()
    txn = client.new_transaction().begin()
    game.staged(txn, update=[("k4", "b", 6, "lost")], delete=[("k5", "c", 0, "")])
    folder = game.path / ".hoodie" / ".temp" / txn.id / "p=b"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"0000-0_0-0-0_{txn.id}.parquet.marker.CREATE").touch()


def main() -> int:
    """Play the cells that are asked for; the number of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    asked = parser.parse_args()
    passed = total = 0
    for version in asked.version or VERSIONS:
        with HudiPeer(version) as peer, tempfile.TemporaryDirectory() as folder:
            for kind in asked.type or TYPES:
                total += 1
                started = time.monotonic()
                try:
                    play(peer, Path(folder) / kind, kind)
                    passed += 1
                    print(f"version {version} {kind}: right, {time.monotonic() - started:.1f} s", flush=True)
                except Exception:
                    print(f"version {version} {kind}: WRONG\n{traceback.format_exc()}", flush=True)
    print(f"{passed} / {total}")
    return total - passed


if __name__ == "__main__":
    sys.exit(main())
