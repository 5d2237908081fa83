"""Files that an object store makes late, behind the rollback of their write and up to its archival."""

from __future__ import annotations

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import StoreUnreachableError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import FOLDER
from integration.storage.shared.upserts import NO_METADATA, merged, path, rows, values
from integration.support.stores.proxy import Fault, Request, StoreProxy
from integration.support.stores.s3 import S3Server

__all__ = ["path"]

KEEPING = {**NO_METADATA, "hoodie.clean.automatic": "false", "hoodie.cleaner.commits.retained": "1"}
ARCHIVING = {**KEEPING, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
ONE_PARTITION = rows(0, 1)


def is_data(request: Request) -> bool:
    return request.kind == "PUT" and request.path.endswith(".parquet")


def test_a_data_file_behind_the_rollback_of_its_write(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    """It never counts: ahead of the archival of its instant it is deleted."""
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})
    with (
        s3_proxy.breaking(lambda request: Fault.HELD if is_data(request) else None),
        pytest.raises(StoreUnreachableError),
    ):
        table.upsert(rows(5), KEEPING)
    storage = Storage(path, s3.options())
    for left in (*storage.list(FOLDER, missing_ok=True)["path"].to_pylist(), ".hoodie/.aux/write.lock"):
        storage.delete(left)
    HudiTable.open(path, s3.options()).upsert(ONE_PARTITION, KEEPING)
    before = set(s3.files(path))
    late = s3_proxy.let_go()
    came = sorted(name for name in set(s3.files(path)) - before if name.endswith(".parquet"))
    assert late and {request.status for request in late} == {200}
    assert {name.partition("/")[0] for name in came} == {"p0", "p1", "p2"}
    instant = came[0].rpartition("_")[2].partition(".")[0]
    first = ""
    while first < instant:
        table = HudiTable.open(path, s3.options())
        assert not table.upsert(ONE_PARTITION, ARCHIVING).failed
        assert values(path, s3.options()) == merged(0)
        first = table.refresh().client.timeline.first_active() or ""
    assert not set(came) & set(s3.files(path))
