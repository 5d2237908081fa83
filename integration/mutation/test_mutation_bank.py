"""Money in a Hive ACID table, under real metastores and under a fake one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation.acid_table import AcidReader
from hudi_hive.mutation.acid_write import MutatorClient
from hudi_hive.testing import FakeMetastore
from integration.long.mutation_bank import (
    DATABASE,
    Outcome,
    Settings,
    create_bank,
    run,
    total_of,
)
from integration.support.metastore_pool import MetastorePool
from integration.support.metastores import TRANSACTIONS, ReleasedMetastore
from integration.support.mutation_judge import PROPERTIES
from tests.support.running.waiting import SECONDS


def has_seen_enough(outcome: Outcome) -> bool:
    """Whether somebody was killed at work, and readers have seen several states."""
    return bool(outcome.counts["killed workers"]) and outcome.snapshots >= 3


def check(outcome: Outcome, settings: Settings, warehouse: Path) -> None:
    """Nobody saw another total; there was enough to be seen; and nothing is left of those that were killed."""
    print(outcome)
    assert not outcome.wrong
    assert outcome.counts["killed clients"] and has_seen_enough(outcome)
    with HiveMetastore(settings.uri) as store:
        client = TransactionClient(store)
        assert total_of(AcidReader.open(client, DATABASE, settings.table)) == (settings.total, True)
    with MutatorClient(settings.uri, sinks=[f"{DATABASE}.{settings.table}"]) as last, last.new_transaction():
        pass
    assert not list((warehouse / settings.table / "_hudi_hive_mutation").iterdir())


@pytest.mark.long
def test_every_reader_sees_the_same_total(tmp_path: Path) -> None:
    with FakeMetastore() as fake:
        settings = Settings(fake.uri, "bank", str(tmp_path), worker_kills=0.3)
        create_bank(settings, tmp_path)
        outcome = run(settings, commits=8, kill_every=3, seconds=SECONDS, housekeeping=True, until=has_seen_enough)
        check(outcome, settings, tmp_path)


def play(server: ReleasedMetastore, folder: Path, *, housekeeping: bool) -> None:
    settings = Settings(server.uri, "bank", str(folder), worker_kills=0.3, pause_s=0.2)
    create_bank(settings, server.warehouse)
    outcome = run(settings, commits=6, kill_every=3, seconds=SECONDS, housekeeping=housekeeping, until=has_seen_enough)
    check(outcome, settings, server.warehouse)


@pytest.mark.jvm
def test_every_reader_sees_the_same_total_in_a_real_metastore(metastores: MetastorePool, tmp_path: Path) -> None:
    play(metastores.start("4.0.1", TRANSACTIONS, with_hive=True), tmp_path, housekeeping=True)


@pytest.mark.jvm
@pytest.mark.long
def test_a_metastore_ends_transactions_of_killed_clients_by_itself(metastores: MetastorePool, tmp_path: Path) -> None:
    play(metastores.start("3.1.3", PROPERTIES, with_hive=True), tmp_path, housekeeping=False)
