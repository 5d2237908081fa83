"""Money in a Hive ACID table: under a fake metastore, and under a real one with its own time-outs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation.acid_table import AcidReader
from hudi_hive.mutation.acid_write import MutatorClient
from hudi_hive.testing import FakeMetastore
from integration.long.mutation_bank import (
    DATABASE,
    SERVER_PROPERTIES,
    Outcome,
    Settings,
    create_bank,
    run,
    total_of,
)
from integration.support.metastores import HIVE_EXEC, ReleasedMetastore

VERSION = "3.1.3"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReleasedMetastore]:
    folder = tmp_path_factory.mktemp("metastore")
    with ReleasedMetastore(VERSION, folder, properties=SERVER_PROPERTIES, jars=[HIVE_EXEC[VERSION]]) as running:
        yield running


def check(outcome: Outcome, settings: Settings, warehouse: Path) -> None:
    """Nobody saw another total; there was enough to be seen; and nothing is left of those that were killed."""
    print(outcome)
    assert not outcome.wrong
    assert outcome.counts["commits"] >= 6 and outcome.snapshots >= 3
    assert outcome.counts["killed clients"] and outcome.counts["killed workers"]
    with HiveMetastore(settings.uri) as store:
        client = TransactionClient(store)
        assert total_of(AcidReader.open(client, DATABASE, settings.table)) == (settings.total, True)
    with MutatorClient(settings.uri, sinks=[f"{DATABASE}.{settings.table}"]) as last, last.new_transaction():
        pass
    assert not list((warehouse / settings.table / "_hudi_hive_mutation").iterdir())


def test_every_reader_sees_the_same_total(tmp_path: Path) -> None:
    with FakeMetastore() as fake:
        settings = Settings(fake.uri, "bank", str(tmp_path), worker_kills=0.3)
        create_bank(settings, tmp_path)
        outcome = run(settings, commits=8, kill_every=3, housekeeping=True)
        check(outcome, settings, tmp_path)


@pytest.mark.jvm
def test_every_reader_sees_the_same_total_in_a_real_metastore(real: ReleasedMetastore, tmp_path: Path) -> None:
    settings = Settings(real.uri, "bank", str(tmp_path), worker_kills=0.3)
    create_bank(settings, real.warehouse)
    check(run(settings, commits=8, kill_every=3), settings, real.warehouse)
