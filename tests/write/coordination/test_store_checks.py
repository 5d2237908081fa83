"""Stores that cannot create files atomically are written to only under a lock that was set by name."""

import pyarrow as pa
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import LockError, TableExistsError
from hudi_hive.storage import Storage

LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
ROWS = pa.table({"id": ["a", "b"], "v": [1, 2]})


@pytest.fixture
def base(tmp_path):
    """A folder of a store in memory, by fsspec."""
    return f"memory://{tmp_path.name}/table"


def files(base):
    listing = Storage(base).list("", recursive=True, missing_ok=True)
    return sorted(listing["path"].to_pylist())


def test_a_table_is_not_created_without_a_lock(base):
    with pytest.raises(LockError, match=r"only if it is absent.*hoodie\.write\.lock\.provider"):
        HudiTable.create(base, name="t", record_keys=["id"])
    assert files(base) == []


def test_writes_and_services_are_refused_before_anything_is_written(base):
    table = HudiTable.create(base, options=LOCK, name="t", record_keys=["id"])
    table.upsert(ROWS, options=LOCK)
    before = files(base)
    calls = (
        lambda: table.upsert(ROWS),
        lambda: table.delete(ROWS),
        lambda: table.compact(),
        lambda: table.clean(),
        lambda: table.rollback(table.client.timeline.instants[0].requested),
        lambda: table.savepoint(table.client.timeline.instants[0].requested),
        lambda: table.mutator().connect(),
    )
    for call in calls:
        with pytest.raises(LockError, match=r"hoodie\.write\.lock\.provider"):
            call()
    assert files(base) == before


def test_a_lock_provider_lets_them_through(base):
    table = HudiTable.create(base, options=LOCK, name="t", record_keys=["id"])
    with pytest.raises(TableExistsError):
        HudiTable.create(base, options=LOCK, name="t", record_keys=["id"])
    table.upsert(ROWS, options=LOCK)
    table.clean(options=LOCK)
    assert table.refresh().scan().to_arrow().num_rows == 2


def test_the_command_line_takes_the_lock(base):
    arguments = ["table", "create", base, "--name", "t", "--record-key", "id"]
    assert isinstance(CliRunner().invoke(cli, arguments).exception, LockError)
    lock = ["--conf", "hoodie.write.lock.provider=InProcessLockProvider"]
    assert CliRunner().invoke(cli, [*arguments, *lock]).exit_code == 0
    assert ".hoodie/hoodie.properties" in files(base)
