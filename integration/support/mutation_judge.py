"""What Hive's readers say of tables that we mutate on real metastores, and what we say: it must be the same."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hudi_hive.metastore import TransactionClient
from hudi_hive.mutation.acid_write import RowId, Transaction
from integration.support.hive_acid import MODES, HiveAcid, Row, Rows, Snapshot
from integration.support.metastores import ReleasedMetastore, dying
from tests.support.mutation.acid_definitions import acid_table

TIMEOUT_SECONDS = 15
PROPERTIES = dying(TIMEOUT_SECONDS)
"""Of a metastore that soon ends the transactions of clients that are silent. Tests of it share one."""

_numbers = itertools.count(int(time.time() * 1000))


class Judge:
    """Makes tables and has them read by Hive and by us.

    Args:
        server: the metastore.
        client: its transactions.
        hive: Hive's readers.
    """

    def __init__(self, server: ReleasedMetastore, client: TransactionClient, hive: HiveAcid) -> None:
        self.server = server
        self.client = client
        self.hive = hive
        self.answers = 0

    def make(
        self,
        columns: Sequence[tuple[str, str]] = (("id", "int"), ("msg", "string")),
        keys: Sequence[tuple[str, str]] = (),
        **how: Any,
    ) -> str:
        """An empty table of the database ``default``; arguments as of ``acid_table``.

        Returns:
            its name.
        """
        name = f"o{next(_numbers)}"
        self.client.create_table(acid_table(f"file:{self.server.warehouse}/{name}", columns, keys, name=name, **how))
        return name

    def see(self, name: str, within: Transaction | None = None) -> Rows:
        """The rows of a table, of which both of Hive's readers and ours have the same.

        Args:
            name: name of the table.
            within: the transaction to see it from; None for a new reader.

        Raises:
            AssertionError: they have not.
            HiveError: Hive cannot read the table.
        """
        if within is None:
            snapshot = Snapshot.take(self.client, "default", name)
        else:
            snapshot = Snapshot.within(self.client, within, "default", name)
        return self.judge(snapshot)

    def judge(self, snapshot: Snapshot) -> Rows:
        """As ``see``, of a snapshot."""
        rows = snapshot.ours()
        for mode in MODES:
            found = self.hive.read(snapshot, mode=mode)
            assert found == rows, f"Hive {self.hive.version}, {mode}: {_difference(found, rows)}"
            self.answers += 1
        return rows

    def values(self, name: str) -> list[Row]:
        """Rows of a table in order, each with its partition values at the end."""
        return sorted((row + partition for (partition, _), row in self.see(name).items()), key=repr)

    def find(self, name: str, within: Transaction, number: int) -> tuple[tuple[str | None, ...], RowId]:
        """Partition and identifier of the row whose first column is a number, as a transaction sees it."""
        ((key, _),) = [(key, row) for key, row in self.see(name, within).items() if row[0] == number]
        return key


def _difference(theirs: Rows, ours: Rows) -> str:
    parts = [
        f"{kind} {len(keys)}: {[(*key, theirs.get(key), ours.get(key)) for key in sorted(keys, key=repr)[:3]]}"
        for kind, keys in (
            ("only Hive has", theirs.keys() - ours.keys()),
            ("only we have", ours.keys() - theirs.keys()),
            ("others are", {key for key in theirs.keys() & ours.keys() if theirs[key] != ours[key]}),
        )
        if keys
    ]
    return "; ".join(parts)


@contextmanager
def before_commit(transaction: Transaction, look: Callable[[], object]) -> Iterator[None]:
    """Look when all is in place and told to the metastore, and only the commit itself is not yet done."""
    heartbeat = transaction._heartbeat  # it beats until then, so that a long look does no harm
    assert heartbeat is not None
    real = heartbeat.stop
    looked = []

    def stop() -> None:
        looked.append(look())
        real()

    heartbeat.stop = stop  # type: ignore[method-assign]
    try:
        yield
    finally:
        heartbeat.stop = real  # type: ignore[method-assign]
    assert looked, "there was no commit"
