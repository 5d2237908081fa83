"""Writes to a table on S3: requests, other writers, faults, and commits whose outcome is not known."""

from __future__ import annotations

import json

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import (
    BucketNotFoundError,
    CommitOutcomeUnknownError,
    LockLostError,
    StoreAccessDeniedError,
    StoreCredentialsError,
    StoreThrottledError,
    WriteConflictError,
)
from hudi_hive.metadata.reader import validate
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import FOLDER, StoreLock
from hudi_hive.write.files import WRITE_STATUS_SCHEMA
from hudi_hive.write.writers import LocalWriter
from integration.storage.shared.upserts import NO_METADATA, behind, merged, rows, values
from integration.support.stores.proxy import Fault, Recording, Request, StoreProxy, nth_fault, random_faults
from integration.support.stores.s3 import S3Server


@pytest.fixture
def path(s3: S3Server) -> str:
    """A table in three partitions, as it was created."""
    path = s3.folder()
    HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["p"], storage_options=s3.options())
    return path


def is_completion(request: Request) -> bool:
    return (
        request.kind == "COPY"
        and request.path.endswith((".commit", ".deltacommit"))
        and "/metadata/" not in (request.path)
    )


def test_requests_of_writes(s3: S3Server, s3_proxy: StoreProxy) -> None:
    path, options = s3.folder(), s3.options(s3_proxy.port)
    with s3_proxy.recording() as creating:
        HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["p"], storage_options=options)
    assert len(creating) <= 5 + 2, creating  # the first file shows whether the server minds conditions
    table = HudiTable.open(path, options)
    table.upsert(rows(0), NO_METADATA)
    with s3_proxy.recording() as plain:
        table.upsert(rows(1), NO_METADATA)
    assert len(plain) <= 25, plain
    with s3_proxy.recording() as made:  # the metadata table too, from what the table holds
        table.upsert(rows(2))
    assert len(made) <= 60, made
    with s3_proxy.recording() as updated:
        table.upsert(rows(3))
    assert len(updated) <= 52, updated  # 8 of them read what the statistics of the changed partitions are made of
    for recording in (plain, updated):
        _has_no_waste(recording)
    assert values(path, options) == merged(0, 1, 2, 3)
    assert validate(HudiTable.open(path, options).client).is_valid


def _has_no_waste(recording: Recording) -> None:
    assert not {"HEAD", "BEGIN UPLOAD", "PART"} & set(recording.kinds), recording
    assert not [request for request in recording.requests if request.method == "PUT" and request.path.endswith("/")]
    data = [request.path for request in recording.requests if request.path.endswith(".parquet")]
    assert len(data) == len(set(data)), "a base file was read or written twice"


def test_the_second_of_two_writers_fails(s3: S3Server, path: str) -> None:
    HudiTable.open(path, s3.options()).upsert(rows(0), NO_METADATA)
    first, second = (LocalWriter(HudiTable.open(path, s3.options()).client, NO_METADATA) for _ in range(2))
    schema = json.dumps(first.client.avro_schema())
    with pytest.raises(WriteConflictError, match="of another writer completed meanwhile"), first.transaction() as begun:
        second.write(rows(1))
        begun.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=schema)
    assert values(path, s3.options()) == merged(0, 1)
    assert not HudiTable.open(path, s3.options()).client.timeline.pending()


def test_one_lock_of_a_store_at_a_time(s3: S3Server) -> None:
    now = [1000.0]
    storages = [Storage(path, s3.options()) for path in [s3.folder()] * 3]
    first, second, third = (StoreLock(storage, lease_s=90, clock=lambda: now[0]) for storage in storages)
    assert first.try_acquire()
    assert not second.try_acquire()
    assert "process" in second.holder()
    now[0] += 60  # the first one stands still, and may not complete any more
    with pytest.raises(LockLostError, match="not renewed for too long"):
        first.verify()
    assert not second.try_acquire()
    assert not third.try_acquire()
    now[0] += 91
    assert second.try_acquire()
    assert not third.try_acquire()
    second.verify()
    first.release()
    assert not third.try_acquire()
    second.release()
    assert third.try_acquire()
    third.release()
    assert storages[0].list("", recursive=True, missing_ok=True).num_rows == 0


@pytest.mark.parametrize("fault", [Fault.ANSWER_LOST, Fault.RESET, Fault.THROTTLED])
def test_a_completion_without_an_answer_is_tried_again(
    s3: S3Server, s3_proxy: StoreProxy, path: str, fault: Fault
) -> None:
    table = HudiTable.open(path, s3.options(s3_proxy.port))
    with s3_proxy.breaking(nth_fault(1, fault, is_completion)):
        report = table.upsert(rows(1))
    assert not report.failed
    assert values(path, s3.options()) == merged(1)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_any_answer_raises_an_unknown_outcome_and_leaves_its_heartbeat(
    s3: S3Server, s3_proxy: StoreProxy, path: str, is_done: bool
) -> None:
    HudiTable.open(path, s3.options()).upsert(rows(0))
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.5"})
    first = Fault.ANSWER_LOST if is_done else Fault.RESET
    with (
        s3_proxy.breaking(behind(is_completion, first, Fault.RESET)),
        pytest.raises(CommitOutcomeUnknownError, match="not known whether the commit is complete") as raised,
    ):
        table.upsert(rows(5))
    now = HudiTable.open(path, s3.options()).client.timeline
    assert [i.is_completed for i in now.instants if i.requested == raised.value.instant] == [is_done]
    beats = Storage(path, s3.options()).list(FOLDER, missing_ok=True)["path"].to_pylist()
    assert [beat.rpartition("/")[2] for beat in beats] == [raised.value.instant], "others would undo it at once"
    assert values(path, s3.options()) == (merged(0, 5) if is_done else merged(0))


def test_a_throttled_file_is_not_damaged(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    HudiTable.open(path, s3.options()).upsert(rows(0))
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})

    def decide(request: Request) -> Fault | None:
        return Fault.THROTTLED if request.path.endswith(".parquet") else None

    with s3_proxy.breaking(decide):
        with pytest.raises(StoreThrottledError, match="too many requests"):
            table.scan().to_arrow()
        with pytest.raises(StoreThrottledError, match="too many requests"):
            table.upsert(rows(1))
    assert values(path, s3.options()) == merged(0)


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault.EXPIRED, StoreCredentialsError), (Fault.FORBIDDEN, StoreAccessDeniedError)]
)
def test_missing_rights_are_one_error_before_data_files(
    s3: S3Server, s3_proxy: StoreProxy, path: str, fault: Fault, error: type[Exception]
) -> None:
    table = HudiTable.open(path, s3.options(s3_proxy.port))

    def decide(request: Request) -> Fault | None:
        return fault if fault is Fault.EXPIRED or request.kind in ("PUT", "CREATE") else None

    with s3_proxy.breaking(decide) as recording, pytest.raises(error):
        table.upsert(rows(1))
    assert not [request for request in recording.requests if request.path.endswith(".parquet")]
    assert list(s3.files(path)) == [".hoodie/hoodie.properties"]


def test_a_missing_bucket(s3: S3Server) -> None:
    with pytest.raises(BucketNotFoundError, match="no such bucket"):
        HudiTable.open("s3://no-such-bucket/t", s3.options())


def test_faults_of_one_request_in_twenty(s3: S3Server, s3_proxy: StoreProxy, path: str, thorough: bool) -> None:
    faults = (Fault.THROTTLED, Fault.SERVER_ERROR, Fault.RESET, Fault.CUT, Fault.ANSWER_LOST)
    steps = range(60 if thorough else 4)
    with s3_proxy.breaking(random_faults(0.05, faults, seed=17)) as recording:
        table = HudiTable.open(path, s3.options(s3_proxy.port))
        for step in steps:
            report = table.upsert(rows(step))
            assert not report.failed
    assert any(request.fault for request in recording.requests)
    assert values(path, s3.options()) == merged(*steps)
    assert not HudiTable.open(path, s3.options()).client.timeline.pending()
