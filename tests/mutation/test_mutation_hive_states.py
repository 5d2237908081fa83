"""Our reader and our mutations on tables that Hive 4.0.1 has written by turns with us, and compacted."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.errors import TimeTravelError
from hudi_hive.metastore import HiveMetastore, TransactionClient, ValidWriteIds
from hudi_hive.mutation.acid_table.reader import AcidReader
from hudi_hive.mutation.acid_write.client import MutatorClient
from hudi_hive.testing import FakeMetastore
from tests.support.mutation.hive_states import STATES, HiveState, mutate, read


def test_the_states_are_there() -> None:
    """Written by both, compacted by Hive to deltas and to a base, and changed by both after that."""
    kinds, happened = ("partitioned", "plain"), ("major", "minor", "mixed", "written")
    assert [f"{kind}_{what}" for kind in kinds for what in happened] == STATES


@pytest.mark.parametrize("name", STATES)
def test_rows_that_hive_wrote(name: str, tmp_path: Path) -> None:
    state = HiveState.unpack(name, tmp_path)
    rows, row_ids = read(state.reader())
    assert rows == state.rows
    assert row_ids == state.row_ids


@pytest.mark.parametrize("name", STATES)
def test_rows_that_hive_wrote_are_mutated(name: str, tmp_path: Path) -> None:
    """Twice, so that rows of our own are among them; what was not touched keeps its identifier."""
    state = HiveState.unpack(name, tmp_path)
    with FakeMetastore() as server, HiveMetastore(server.uri) as metastore:
        transactions = TransactionClient(metastore)
        table = state.restore(transactions)
        with MutatorClient(metastore, sinks=[f"default.{table}"], create_partitions=True) as client:
            once = mutate(client, table, state.rows)
            twice = mutate(client, table, once)
        rows, row_ids = read(AcidReader.open(transactions, "default", table))
    assert rows == twice
    same = {number for number in rows if rows[number] == state.rows.get(number)}
    assert same and {number: row_ids[number] for number in same} == {number: state.row_ids[number] for number in same}


@pytest.mark.parametrize("name", [name for name in STATES if name.endswith("major")])
def test_what_was_compacted_away_is_not_read_in_part(name: str, tmp_path: Path) -> None:
    state = HiveState.unpack(name, tmp_path)
    early = ValidWriteIds(2, table=state.write_ids.table)
    with pytest.raises(TimeTravelError):
        AcidReader(state.table, early, state.transactions, partitions=state.partitions).read()
