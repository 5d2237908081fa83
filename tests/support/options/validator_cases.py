"""Cases of the options of pre-commit validators, which an engine runs: what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hudi_hive import HudiTable
from hudi_hive.options import Face, locks
from hudi_hive.plan import Query, plan_scan
from hudi_hive.read.scan import read_plan
from hudi_hive.table import MetaClient
from hudi_hive.write.commit import StagedCommit
from hudi_hive.write.writers import LocalWriter
from tests.support.options.cases import Case
from tests.support.options.write_cases import LEAN, make, rows

_EQUAL, _UNEQUAL, _SINGLE = (
    f"org.apache.hudi.client.validator.SqlQuery{kind}PreCommitValidator"
    for kind in ("Equality", "Inequality", "SingleResult")
)
_COUNT = "select count(*) from <TABLE_NAME>"


def validated(path: Path, options: Mapping[str, str]) -> Any:
    """For two writes, of which one adds to a partition: the queries, and the rows that they see before and after."""
    make(path)
    looks: list[Any] = []
    for first, partition in ((0, "a"), (5, "b"), (10, "a")):
        writer = LocalWriter(HudiTable.open(path).client, {**LEAN, **options})

        def look(staged: StagedCommit, writer: LocalWriter = writer) -> None:
            counts = [_count(client, staged.partitions) for client in (staged.before, staged.after)]
            looks.append((writer.config.validators.queries(), staged.partitions, *counts))

        writer.validate = look
        writer.write(rows(first, 5, p=[partition] * 5))
    return looks


def _count(client: MetaClient | None, partitions: tuple[str, ...]) -> int | None:
    if client is None:
        return None
    plan = plan_scan(client, Query.of(options=LEAN), partitions=partitions)
    return sum(batch.num_rows for batch in read_plan(client.storage, plan))


VALIDATOR_CASES = (
    Case(locks.VALIDATORS, Face.WRITE, validated, _EQUAL, {locks.EQUALITY_QUERIES.name: _COUNT}),
    Case(locks.EQUALITY_QUERIES, Face.WRITE, validated, f"{_COUNT};", {locks.VALIDATORS.name: _EQUAL}),
    Case(locks.INEQUALITY_QUERIES, Face.WRITE, validated, _COUNT, {locks.VALIDATORS.name: _UNEQUAL}),
    Case(locks.SINGLE_VALUE_QUERIES, Face.WRITE, validated, f"{_COUNT}#5", {locks.VALIDATORS.name: _SINGLE}),
)
