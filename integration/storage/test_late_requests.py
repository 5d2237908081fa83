"""Requests that an object store carries out late, when their sender has given up or was taken for dead."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import CommitOutcomeUnknownError, LockLostError, StoreUnreachableError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import FOLDER, StoreLock
from hudi_hive.write.files import WRITE_STATUS_SCHEMA
from hudi_hive.write.writers import LocalWriter
from integration.storage.shared.upserts import NO_METADATA, behind, merged, path, rows, values
from integration.support.stores.proxy import Decide, Fault, Request, StoreProxy, nth_fault
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case, with_long_cases

__all__ = ["path"]

IMPATIENT = {"request_timeout": "1"}
LATE = Fault.ANSWER_LATE


def is_of_table(request: Request) -> bool:
    return "/metadata/" not in request.path


def is_completion(request: Request) -> bool:
    return request.kind == "COPY" and is_of_table(request)


def is_preparation(request: Request) -> bool:
    """The replacement of the inflight file by what the commit is to hold."""
    return request.path.endswith(".inflight") and request.sent > 0 and is_of_table(request)


STEPS: Mapping[str, Callable[[Request], bool]] = {
    "heartbeat": lambda request: request.kind == "CREATE" and "/.heartbeat/" in request.path,
    "requested": lambda request: request.path.endswith("commit.requested") and is_of_table(request),
    "inflight": lambda request: request.path.endswith(".inflight") and not request.sent and is_of_table(request),
    "data file": lambda request: request.kind == "PUT" and request.path.endswith(".parquet"),
    "lock": lambda request: request.kind == "CREATE" and request.path.endswith("/write.lock"),
    "metadata table": lambda request: request.kind == "CREATE" and "/metadata/.hoodie/" in request.path,
    "preparation": is_preparation,
    "completion": is_completion,
}


def drop_heartbeats(s3: S3Server, path: str) -> None:
    """As if the writers had been silent for long."""
    storage = Storage(path, s3.options())
    for beat in storage.list(FOLDER)["path"].to_pylist():
        storage.delete(beat)


def check_clean(s3: S3Server, path: str, expected: Mapping[str, int]) -> None:
    """The rows are there, nothing is pending, and no file is that of an instant that is not complete."""
    table = HudiTable.open(path, s3.options())
    assert values(path, s3.options()) == expected
    assert not table.client.timeline.pending()
    completed = {instant.requested for instant in table.client.timeline.write_instants()}
    data = [name for name in s3.files(path) if name.endswith(".parquet")]
    assert {name.rpartition("_")[2].partition(".")[0] for name in data} <= completed


def unanswered(s3: S3Server, s3_proxy: StoreProxy, path: str, decide: Decide) -> str:
    """Upsert through a proxy that holds a request back and answers none behind it; gives the instant."""
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})
    with s3_proxy.breaking(decide), pytest.raises(CommitOutcomeUnknownError) as raised:
        table.upsert(rows(5), NO_METADATA)
    assert raised.value.instant
    return raised.value.instant


@pytest.mark.parametrize("step", with_long_cases(("data file", "lock", "completion"), STEPS))
def test_an_answer_that_comes_too_late(s3: S3Server, s3_proxy: StoreProxy, path: str, step: str) -> None:
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), **IMPATIENT})
    with s3_proxy.breaking(nth_fault(1, LATE, STEPS[step])) as recording:
        report = table.upsert(rows(1), {} if step == "metadata table" else NO_METADATA)
    assert [request.fault for request in recording.requests if request.fault] == [LATE]
    assert not report.failed
    check_clean(s3, path, merged(0, 1))


def test_a_completion_behind_its_rollback(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    instant = unanswered(s3, s3_proxy, path, behind(is_completion, Fault.HELD, Fault.RESET))
    drop_heartbeats(s3, path)
    HudiTable.open(path, s3.options()).upsert(rows(1), NO_METADATA)
    check_clean(s3, path, merged(0, 1))
    (late,) = s3_proxy.let_go()
    assert (late.status, instant in late.path) == (404, True)
    check_clean(s3, path, merged(0, 1))


@pytest.mark.long
def test_a_completion_behind_a_restore(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    savepoint = HudiTable.open(path, s3.options()).savepoint(options=NO_METADATA).result.instant.requested
    unanswered(s3, s3_proxy, path, behind(is_completion, Fault.HELD, Fault.RESET))
    Storage(path, s3.options()).delete(".hoodie/.aux/write.lock")
    HudiTable.open(path, s3.options()).restore(savepoint, options=NO_METADATA)
    (late,) = s3_proxy.let_go()
    assert late.status == 404
    check_clean(s3, path, merged(0))


@pytest.mark.long
def test_a_preparation_behind_its_rollback(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})
    with s3_proxy.breaking(behind(is_preparation, Fault.HELD, Fault.RESET)), pytest.raises(StoreUnreachableError):
        table.upsert(rows(5), NO_METADATA)
    drop_heartbeats(s3, path)
    Storage(path, s3.options()).delete(".hoodie/.aux/write.lock")
    HudiTable.open(path, s3.options()).upsert(rows(1), NO_METADATA)
    (late,) = s3_proxy.let_go()
    assert late.status in (404, 412)
    check_clean(s3, path, merged(0, 1))


def test_a_completion_behind_the_loss_of_the_lock(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    """The one who holds the lock now completes although the other one still sends heartbeats."""
    unanswered(s3, s3_proxy, path, behind(is_completion, Fault.HELD, Fault.RESET))
    Storage(path, s3.options()).delete(".hoodie/.aux/write.lock")
    HudiTable.open(path, s3.options()).upsert(rows(1), NO_METADATA)
    (late,) = s3_proxy.let_go()
    assert late.status == 404
    assert values(path, s3.options()) == merged(0, 1)
    drop_heartbeats(s3, path)
    HudiTable.open(path, s3.options()).upsert(rows(2), NO_METADATA)
    check_clean(s3, path, merged(0, 1, 2))


@pytest.mark.long
def test_a_completion_ahead_of_its_rollback(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    """What was done before anybody undid it stands, though nobody got an answer."""
    unanswered(s3, s3_proxy, path, behind(is_completion, Fault.ANSWER_LOST, Fault.RESET))
    drop_heartbeats(s3, path)
    HudiTable.open(path, s3.options()).upsert(rows(1), NO_METADATA)
    check_clean(s3, path, merged(0, 5, 1))


@pytest.mark.long
def test_a_repeated_completion_behind_a_rollback(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    """The first of two requests for one commit comes when that has been undone."""
    table = HudiTable.open(path, s3.options(s3_proxy.port))
    with s3_proxy.breaking(nth_fault(1, Fault.HELD, is_completion)):
        report = table.upsert(rows(5), NO_METADATA)
    assert values(path, s3.options()) == merged(0, 5)
    HudiTable.open(path, s3.options()).rollback(report.instant.requested, options=NO_METADATA)
    (late,) = s3_proxy.let_go()
    assert late.status == 404
    check_clean(s3, path, merged(0))


def test_a_completion_that_is_not_answered_is_made_void(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    """Its writer takes the request back, and knows that the commit is not complete."""
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})
    with (
        s3_proxy.breaking(lambda request: Fault.HELD if is_completion(request) else None),
        pytest.raises(StoreUnreachableError),
    ):
        table.upsert(rows(5), NO_METADATA)
    check_clean(s3, path, merged(0))
    assert {request.status for request in s3_proxy.let_go()} == {404}
    check_clean(s3, path, merged(0))


def test_a_writer_that_was_excluded_says_so(s3: S3Server, path: str) -> None:
    """Another one has taken the lock while this one stood still between its preparation and its completion."""
    writer = LocalWriter(HudiTable.open(path, s3.options()).client, NO_METADATA)
    schema = json.dumps(writer.client.avro_schema())
    with pytest.raises(Exception, match="rolled back by another writer"), writer.transaction() as transaction:
        original = transaction._writer.complete

        def paused(*arguments: Any, **options: Any) -> Any:
            Storage(path, s3.options()).delete(".hoodie/.aux/write.lock")
            other = path.replace("s3://", "s3a://")  # as if of another process, where another one has the lock
            HudiTable.open(other, s3.options()).upsert(rows(1), NO_METADATA)
            return original(*arguments, **options)

        transaction._writer.complete = paused  # type: ignore[method-assign]
        transaction.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=schema)
    check_clean(s3, path, merged(0, 1))


def test_a_single_writer_does_not_complete_over_the_lock_of_another(s3: S3Server, path: str) -> None:
    """A deletion that came late took its lock file away, and another one has the lock now; no mode was configured."""
    # It takes its write back under the lock, too, and should not wait for long.
    brief = {"hoodie.write.lock.wait_time_ms": "10", "hoodie.write.lock.client.num_retries": "0"}
    writer = LocalWriter(HudiTable.open(path, s3.options()).client, NO_METADATA | brief)
    schema = json.dumps(writer.client.avro_schema())
    other = StoreLock(Storage(path.replace("s3://", "s3a://"), s3.options()))
    with pytest.raises(LockLostError), writer.transaction() as transaction:
        original = transaction._writer.prepare

        def overtaken(*arguments: Any, **options: Any) -> None:
            original(*arguments, **options)
            other.storage.delete(other.path)
            assert other.try_acquire()

        transaction._writer.prepare = overtaken  # type: ignore[method-assign]
        transaction.commit(WRITE_STATUS_SCHEMA.empty_table(), schema=schema)
    other.verify()
    other.release()
    assert values(path, s3.options()) == merged(0)
    HudiTable.open(path, s3.options()).upsert(rows(1), NO_METADATA)
    check_clean(s3, path, merged(0, 1))


def locks(s3: S3Server, s3_proxy: StoreProxy) -> tuple[StoreLock, StoreLock, StoreLock]:
    """Three locks of one table; the requests of the first can be broken."""
    path = s3.folder()
    options = [{**s3.options(s3_proxy.port), "retry_timeout": "0.3"}, s3.options(), s3.options()]
    first, second, third = (StoreLock(Storage(path, one)) for one in options)
    return first, second, third


def test_a_renewal_behind_the_loss_of_the_lock(s3: S3Server, s3_proxy: StoreProxy) -> None:
    first, second, third = locks(s3, s3_proxy)
    assert first.try_acquire()
    with s3_proxy.breaking(lambda request: Fault.HELD if request.kind == "CREATE" else None):
        assert first.renew(first.token, 1), "the next renewal may be answered"
    first.storage.delete(first.path)
    assert second.try_acquire()
    assert {request.status for request in s3_proxy.let_go()} == {412}
    second.verify()
    with pytest.raises(LockLostError):
        first.verify()
    first.release()
    assert not third.try_acquire()
    second.release()


def test_a_release_that_is_sent_again(s3: S3Server, s3_proxy: StoreProxy) -> None:
    """When its answer was lost another one may have the lock already."""
    first, second, third = locks(s3, s3_proxy)
    assert first.try_acquire()
    taken = []

    def decide(request: Request) -> Fault | None:
        if request.kind == "GET" and not taken:
            taken.append(second.try_acquire())
        return Fault.ANSWER_LOST if request.kind.startswith("DELETE") and not taken else None

    with s3_proxy.breaking(decide):
        first.release()
    assert taken == [True]
    assert not third.try_acquire()
    second.verify()
    second.release()


def test_a_release_behind_the_next_lock(s3: S3Server, s3_proxy: StoreProxy) -> None:
    """It takes the next holder's file away, who sees that before the step that the lock protects."""
    first, second, third = locks(s3, s3_proxy)
    assert first.try_acquire()
    with s3_proxy.breaking(nth_fault(1, Fault.HELD, lambda request: request.kind.startswith("DELETE"))):
        first.release()  # sent again, as the file was there still
    assert second.try_acquire()
    s3_proxy.let_go()
    assert third.try_acquire()
    with pytest.raises(LockLostError):
        second.verify()
    third.verify()
    third.release()


@pytest.mark.parametrize("is_done", [long_case(True), False])
def test_a_service_without_any_answer_raises_an_unknown_outcome_and_is_run_again_later(
    s3: S3Server, s3_proxy: StoreProxy, is_done: bool
) -> None:
    path = s3.folder()
    HudiTable.create(path, name="t", table_type="MERGE_ON_READ", record_keys=["id"], storage_options=s3.options())
    for step in range(2):
        HudiTable.open(path, s3.options()).upsert(pa.table({"id": ["a", "b"], "v": [step, step]}), NO_METADATA)
    options = {**NO_METADATA, "hoodie.compact.inline.max.delta.commits": "1"}
    table = HudiTable.open(path, {**s3.options(s3_proxy.port), "retry_timeout": "0.3"})
    first = Fault.ANSWER_LOST if is_done else Fault.HELD
    with (
        s3_proxy.breaking(behind(is_completion, first, Fault.RESET)),
        pytest.raises(CommitOutcomeUnknownError) as raised,
    ):
        table.compact(options=options)
    beats = Storage(path, s3.options()).list(FOLDER)["path"].to_pylist()
    assert [beat.rpartition("/")[2] for beat in beats] == [raised.value.instant], "others would undo it at once"
    Storage(path, s3.options()).delete(".hoodie/.aux/write.lock")
    drop_heartbeats(s3, path)
    HudiTable.open(path, s3.options()).compact(options=options)
    assert [request.status for request in s3_proxy.let_go()] == ([] if is_done else [404])
    now = HudiTable.open(path, s3.options())
    assert values(path, s3.options()) == {"a": 1, "b": 1}
    assert not now.client.timeline.pending()
    assert [i.action for i in now.client.timeline.write_instants()].count("commit") == 1
