"""Money in a Hive ACID table: under a fake metastore, and under a real one with its own time-outs."""

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
from integration.support.metastores import ReleasedMetastore
from integration.support.mutation_judge import PROPERTIES
from tests.support.running.long import long_case
from tests.support.running.waiting import SECONDS


@pytest.fixture(scope="module", params=["4.0.1", long_case("3.1.3")])
def real(request: pytest.FixtureRequest, metastores: MetastorePool) -> ReleasedMetastore:
    """One release after the other."""
    return metastores.start(request.param, PROPERTIES, with_hive=True)


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


@pytest.mark.jvm
def test_every_reader_sees_the_same_total_in_a_real_metastore(real: ReleasedMetastore, tmp_path: Path) -> None:
    settings = Settings(real.uri, "bank", str(tmp_path), worker_kills=0.3, pause_s=0.5)
    create_bank(settings, real.warehouse)
    outcome = run(settings, commits=6, kill_every=4, seconds=SECONDS, until=has_seen_enough)
    check(outcome, settings, real.warehouse)
