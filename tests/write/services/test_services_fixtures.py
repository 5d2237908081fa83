"""Every table service on tables that real Hudi wrote: rows stay what they were, or become those of the savepoint.

A few tables are taken, and in a long run all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_hive.errors import HudiHiveError, WriteError
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.write.rollback import restore_action as restore
from hudi_hive.write.rollback import rollback_action as rollback
from hudi_hive.write.rollback import savepoint_action as savepoint
from hudi_hive.write.service_base.context import ServiceContext
from hudi_hive.write.services import archival, clustering, compaction
from hudi_hive.write.services import cleaning as clean
from tests.support.fixture_tables import canonical, encode_rows, fixture_names, unzip_fixture
from tests.support.running.long import with_long_cases

OPTIONS = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clustering.plan.strategy.small.file.limit": str(1 << 30),
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "1",
}
SOME = ("v6_mor_part_rli", "v9_mor_rollback", "v6_cow_types", "v9_cow_cdc", "v8_cow_orc")
NAMES = with_long_cases(SOME, fixture_names())
REFUSED = {
    "with a bucket index": "mor_bucket",
    "no completed write": "mor_empty",
    "custom key generator": "cow_custom_keygen",
    "hoodie.keygen.timebased": "ts",
    "timebased": "cow_custom_keygen",
}
"""What may be refused: text of the error -> of which tables."""


def rows(path: Path, *, listed: bool = False) -> list[str]:
    """Rows with their meta columns but the file's name, by the metadata table if there is one and not ``listed``."""
    table = HudiTable(MetaClient.load(path)) if listed else HudiTable.open(path)
    found = table.scan().to_arrow()
    names = [name for name in found.column_names if name != "_hoodie_file_name"]
    return sorted(canonical(row) for row in encode_rows(found, names))


class Table:
    """A fixture of one's own, and the rows that it is to have."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.path = unzip_fixture(name, folder)
        self.want = rows(self.path)

    def context(self) -> ServiceContext:
        return ServiceContext(MetaClient.load(self.path), OPTIONS)

    def run(self, service: Callable[[], object]) -> bool:
        """Run something that does not change rows; false if it was refused, as it may be."""
        try:
            service()
        except HudiHiveError as error:
            allowed = [cases for text, cases in REFUSED.items() if text in error.message]
            assert any(case in self.name for case in allowed), error
            self.check()
            return False
        return True

    def check(self) -> None:
        assert rows(self.path, listed=True) == self.want
        client = MetaClient.load(self.path)
        if client.config.metadata_partitions:
            assert rows(self.path) == self.want
            assert validate(client).errors == 0

    def service(self, run: Callable[[ServiceContext], object]) -> None:
        self.run(lambda: run(self.context()))
        self.check()


@pytest.mark.parametrize("name", NAMES)
def test_services_leave_all_rows(name: str, tmp_path: Path) -> None:
    table = Table(name, tmp_path)
    table.service(rollback.rollback_failed_writes)
    if MetaClient.load(table.path).config.is_merge_on_read:
        table.service(compaction.compact)
    table.service(clean.clean)
    table.service(clustering.cluster)
    if table.run(lambda: savepoint.create_savepoint(table.context())):
        saved = savepoint.savepoints(MetaClient.load(table.path))[-1].instant.requested
        written = half_deleted_and_back(table)
        table.service(lambda context: restore.restore(context, saved))
        if written:
            with pytest.raises(HudiHiveError):
                MetaClient.load(table.path).timeline.get(written)
        savepoint.delete_savepoint(table.context(), saved)
    for _ in range(2):
        table.service(archival.archive_instants)
    assert not MetaClient.load(table.path).timeline.pending()


def half_deleted_and_back(table: Table) -> str | None:
    """Delete half of the rows and write them again; the last write's time, None if the table is not written to."""
    found = HudiTable.open(table.path).scan().to_arrow()
    data = found.drop_columns([name for name in found.column_names if name.startswith("_hoodie_")])
    half = data.slice(0, max(1, data.num_rows // 2))
    if not table.run(lambda: HudiTable.open(table.path).delete(half, OPTIONS)):
        return None
    assert len(rows(table.path)) == data.num_rows - half.num_rows
    HudiTable.open(table.path).upsert(half, OPTIONS)
    assert len(rows(table.path)) == data.num_rows
    return str(max(i.requested for i in MetaClient.load(table.path).timeline.write_instants()))


@pytest.mark.parametrize("name", NAMES)
def test_the_last_write_is_undone(name: str, tmp_path: Path) -> None:
    table = Table(name, tmp_path)
    writes = sorted(i.requested for i in MetaClient.load(table.path).timeline.write_instants())
    if len(writes) < 2:
        return
    try:
        then = HudiTable.open(table.path).scan(as_of=writes[-2]).to_arrow()
    except HudiHiveError:
        then = None  # cleaned, or a pending write stands before it
    try:
        rollback.rollback(table.context(), writes[-1])
    except WriteError as error:
        assert "cleaned" in error.message or "versions of its schema" in error.message
        table.check()
        return
    now = HudiTable.open(table.path).scan().to_arrow()
    if then is not None and then.column_names == now.column_names:
        names = [column for column in then.column_names if column != "_hoodie_file_name"]
        assert sorted(map(canonical, encode_rows(now, names))) == sorted(map(canonical, encode_rows(then, names)))
    client = MetaClient.load(table.path)
    assert not client.config.metadata_partitions or validate(client).errors == 0
