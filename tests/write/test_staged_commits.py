"""What pre-commit validators are given of a write, and what becomes of it when they refuse it or nobody runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CommitValidationError, FileVanishedError, InvalidOptionError
from hudi_hive.plan import Query, plan_scan
from hudi_hive.read.scan import read_plan
from hudi_hive.write.commit import StagedCommit
from hudi_hive.write.writers import LocalWriter
from tests.support.options.validator_cases import VALIDATOR_CASES, validated
from tests.support.options.write_cases import LEAN, make, put, rows

EQUAL = {**VALIDATOR_CASES[0].beside, VALIDATOR_CASES[0].name: VALIDATOR_CASES[0].value}
INSERTS = {
    **LEAN,
    **EQUAL,
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


def test_validators_see_the_partitions_of_the_write_before_and_after_it(tmp_path: Path) -> None:
    looks = validated(tmp_path / "t", EQUAL)
    assert [look[1:] for look in looks] == [(("a",), None, 5), (("b",), 0, 5), (("a",), 5, 10)]
    assert [[query.sql for query in look[0]] for look in looks] == [["select count(*) from <TABLE_NAME>"]] * 3


@pytest.mark.parametrize(("kind", "version"), [("COPY_ON_WRITE", 8), ("MERGE_ON_READ", 6), ("MERGE_ON_READ", 9)])
def test_what_validators_refuse_leaves_the_table_as_it_was(kind: str, version: int, tmp_path: Path) -> None:
    make(tmp_path, table_type=kind, version=version)
    put(tmp_path, {}, rows(0, 5))
    before = _files(tmp_path)
    writer = LocalWriter(HudiTable.open(tmp_path).client, EQUAL)

    def refuse(staged: StagedCommit) -> None:
        assert _files(tmp_path) != before
        raise CommitValidationError("no", path=staged.after.base_path, instant=staged.instant)

    writer.validate = refuse
    with pytest.raises(CommitValidationError):
        writer.write(rows(0, 9))
    assert _files(tmp_path) == before
    assert not HudiTable.open(tmp_path).timeline.pending()
    assert HudiTable.open(tmp_path).scan().to_arrow().num_rows == 5


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_validators_read_beside_the_files_of_a_write_that_runs(kind: str, tmp_path: Path) -> None:
    """Files of no completed write have not vanished, though the write that is validated has no completed file yet."""
    make(tmp_path, table_type=kind)
    put(tmp_path, {}, rows(0, 5))
    counts: list[int] = []
    outer, inner = (LocalWriter(HudiTable.open(tmp_path).client, INSERTS) for _ in range(2))

    def count(staged: StagedCommit) -> None:
        plan = plan_scan(staged.after, Query.of(options=LEAN), partitions=staged.partitions)
        counts.append(sum(batch.num_rows for batch in read_plan(staged.after.storage, plan)))

    def write_another(staged: StagedCommit) -> None:
        """Here the files of both writes are there."""
        inner.write(rows(20, 3))

    outer.validate, inner.validate = write_another, count
    outer.write(rows(10, 4))
    assert counts == [5 + 3]
    assert HudiTable.open(tmp_path).scan().to_arrow().num_rows == 5 + 3 + 4


def test_a_write_is_validated_anew_where_files_vanish_below_the_validators(tmp_path: Path) -> None:
    make(tmp_path)
    put(tmp_path, {}, rows(0, 5))
    moments: list[int] = []

    def fail_once(staged: StagedCommit) -> None:
        assert staged.before is not None
        moments.append(len(staged.before.timeline.write_instants()))
        if len(moments) == 1:
            put(tmp_path, {"hoodie.datasource.write.operation": "bulk_insert"}, rows(20, 3))
            raise FileVanishedError("a clean has taken it", path=staged.after.base_path, instant=staged.instant)

    writer = LocalWriter(HudiTable.open(tmp_path).client, INSERTS)
    writer.validate = fail_once
    writer.write(rows(10, 4))
    assert moments == [1, 2]
    assert HudiTable.open(tmp_path).scan().to_arrow().num_rows == 5 + 3 + 4


def test_a_write_that_nobody_validates_is_refused_before_it_begins(tmp_path: Path) -> None:
    make(tmp_path)
    put(tmp_path, {}, rows(0, 5))
    before = _files(tmp_path)
    with pytest.raises(InvalidOptionError, match=r"hoodie\.precommit\.validators: .* Spark"):
        HudiTable.open(tmp_path).upsert(rows(0, 9), EQUAL)
    assert _files(tmp_path) == before


def _files(path: Path) -> list[str]:
    """Names of data files and of the instants of writes."""
    names = [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    return sorted(name for name in names if "rollback" not in name and "/metadata/" not in name)
