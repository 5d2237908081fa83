"""Tables that a first write makes and does not get, and tables that take the place of others."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError, InvalidOptionError, UnknownColumnError, WriteConflictError, WriteError
from hudi_hive.table import MetaClient, TableDefinition, create_table
from hudi_hive.write.commit.new_table import discarded_on_failure, in_place_of
from hudi_hive.write.coordination.executor import LocalExecutor
from hudi_hive.write.coordination.locks import table_lock
from hudi_hive.write.files.write_tasks import run_write_task
from hudi_hive.write.writers.local import LocalWriter
from tests.support.running.long import VERSION_CASES

ROWS = pa.table({"id": ["a", "b"], "city": ["x", "y"], "v": [1, 2]})
OPTIONS = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SETTINGS = {"name": "t", "record_keys": ["id"], "partition_fields": ["city"]}


def first_write(path, rows=ROWS, after=lambda client: None, **settings):
    with discarded_on_failure(
        str(path), lambda: create_table(path, TableDefinition(**(SETTINGS | settings)))
    ) as client:
        report = LocalWriter(client, OPTIONS).write(rows)
        after(client)
        return report


def ids(path):
    return sorted(HudiTable.open(str(path)).scan().to_arrow()["id"].to_pylist())


FAILURES = {
    "no key column": ROWS.drop_columns(["id"]),
    "null key": ROWS.set_column(0, "id", pa.array(["a", None])),
    "partition outside": ROWS.set_column(1, "city", pa.array(["..", "x"])),
}


@pytest.mark.parametrize("version", VERSION_CASES)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_first_write_that_fails_leaves_nothing(tmp_path, version, failure):
    path = tmp_path / "t"
    with pytest.raises(HudiHiveError):
        first_write(path, FAILURES[failure], version=version)
    assert not path.exists()
    path.mkdir()
    (path / "notes.txt").write_text("kept")
    (path / "y").mkdir()
    (path / "y" / "more.txt").write_text("kept")
    with pytest.raises(HudiHiveError):
        first_write(path, FAILURES[failure], version=version)
    assert sorted(str(item.relative_to(path)) for item in path.rglob("*")) == ["notes.txt", "y", "y/more.txt"]
    first_write(path, version=version, record_keys=["v"])
    assert ids(path) == ["a", "b"]


class FailsHalfWay(LocalExecutor):
    """Writes the file of one file group, and fails at the next one."""

    def map(self, function, items):
        if function is run_write_task:
            function(items[0])
            raise WriteError("the disk is full")
        return super().map(function, items)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", VERSION_CASES)
def test_files_of_a_first_write_that_fails_do_not_stay(tmp_path, version, kind):
    path = tmp_path / "t"
    settings = SETTINGS | {"version": version, "table_type": kind}
    with (
        pytest.raises(WriteError, match="disk is full"),
        discarded_on_failure(str(path), lambda: create_table(path, TableDefinition(**settings))) as client,
    ):
        LocalWriter(client, OPTIONS, executor=FailsHalfWay()).write(ROWS)
    assert not path.exists()


def test_what_others_wrote_stays(tmp_path):
    """Another writer completed a write of the new table before the first one failed."""
    path = tmp_path / "t"

    def fail(client):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first_write(path, after=fail)
    assert ids(path) == ["a", "b"]


def replaced(path, rows, meanwhile=lambda: None, **settings):
    client = MetaClient.load(str(path))

    def write(place):
        report = first_write(place, rows, **settings)
        meanwhile()
        return report

    return in_place_of(client, table_lock({}, client.storage), write)


def test_another_table_takes_the_place_of_one(tmp_path):
    path = tmp_path / "t"
    first_write(path)
    report = replaced(path, ROWS.slice(1), version=6, partition_fields=["v"], table_type="MERGE_ON_READ")
    assert report.inserted == 1 and ids(path) == ["b"]
    config = HudiTable.open(str(path)).client.config
    assert (config.version, config.table_type, config.partition_fields) == (6, "MERGE_ON_READ", ("v",))
    assert [item.name for item in tmp_path.iterdir()] == ["t"]
    HudiTable.open(str(path)).upsert(ROWS, OPTIONS)
    assert ids(path) == ["a", "b"]


def test_the_old_table_stays_where_the_new_one_fails(tmp_path):
    path = tmp_path / "t"
    first_write(path)
    with pytest.raises(UnknownColumnError):
        replaced(path, ROWS, record_keys=["nowhere"])
    with pytest.raises(WriteConflictError, match="others write"):
        replaced(path, ROWS, lambda: HudiTable.open(str(path)).delete(ROWS.slice(1), OPTIONS), version=6)
    assert ids(path) == ["a"] and HudiTable.open(str(path)).client.config.version == 8
    assert [item.name for item in tmp_path.iterdir()] == ["t"]


def test_a_link_is_not_moved(tmp_path):
    first_write(tmp_path / "t")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with pytest.raises(InvalidOptionError, match="cannot be moved"):
        replaced(tmp_path / "link", ROWS, version=6)
    assert ids(tmp_path / "t") == ["a", "b"]
