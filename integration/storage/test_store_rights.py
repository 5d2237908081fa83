"""Credentials that expire, and rights that are missing: one error by name, and a table that the next write mends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import StoreAccessDeniedError, StoreCredentialsError
from hudi_hive.storage import Storage
from hudi_hive.write.coordination import FOLDER
from integration.storage.shared.upserts import NO_METADATA, behind, merged, path, rows, values
from integration.support.stores.proxy import Fault, Request, StoreProxy
from integration.support.stores.s3 import S3Server
from tests.support.running.long import long_case

__all__ = ["path"]


def is_data(request: Request) -> bool:
    return request.kind == "PUT" and request.path.endswith(".parquet")


def is_marker(request: Request) -> bool:
    return "/.hoodie/.temp/" in request.path and request.kind == "PUT"


def is_completion(request: Request) -> bool:
    return request.kind == "COPY"


def check_mended(s3: S3Server, path: str) -> None:
    """The table is as it was, and the next write leaves nothing of the one that was refused."""
    assert values(path, s3.options()) == merged(0)
    storage = Storage(path, s3.options())
    for left in (*storage.list(FOLDER, missing_ok=True)["path"].to_pylist(), ".hoodie/.aux/write.lock"):
        storage.delete(left)  # others wait for their end, as the process lives
    table = HudiTable.open(path, s3.options())
    assert not table.upsert(rows(1), NO_METADATA).failed
    assert values(path, s3.options()) == merged(0, 1)
    completed = {instant.requested for instant in table.client.timeline.write_instants()}
    data = [name for name in s3.files(path) if name.endswith(".parquet")]
    assert {name.rpartition("_")[2].partition(".")[0] for name in data} <= completed
    assert not table.client.timeline.pending()


@pytest.mark.parametrize("matches", [is_completion, long_case(is_data), long_case(is_marker)])
def test_credentials_that_expire_during_a_write(
    s3: S3Server, s3_proxy: StoreProxy, path: str, matches: Callable[[Request], bool]
) -> None:
    table = HudiTable.open(path, s3.options(s3_proxy.port))
    with (
        s3_proxy.breaking(behind(matches, Fault.EXPIRED, Fault.EXPIRED)),
        pytest.raises(StoreCredentialsError, match="session token has expired: get a new one") as raised,
    ):
        table.upsert(rows(5), NO_METADATA)
    assert any("the next write undoes it" in note for note in raised.value.__notes__)
    check_mended(s3, path)


@pytest.mark.parametrize("kinds", [("PUT",), long_case(("COPY",)), long_case(("CREATE", "COPY"))])
def test_rights_that_are_missing_in_a_write(
    s3: S3Server, s3_proxy: StoreProxy, path: str, kinds: tuple[str, ...]
) -> None:
    """Who may delete what it has written rolls itself back."""
    table = HudiTable.open(path, s3.options(s3_proxy.port))
    with (
        s3_proxy.breaking(lambda request: Fault.FORBIDDEN if request.kind in kinds else None) as recording,
        pytest.raises(StoreAccessDeniedError, match="give these credentials the right"),
    ):
        table.upsert(rows(5), NO_METADATA)
    assert kinds == ("COPY",) or not [request for request in recording.requests if is_data(request)]
    check_mended(s3, path)


def test_a_commit_stands_without_the_right_to_delete(s3: S3Server, s3_proxy: StoreProxy, path: str) -> None:
    table = HudiTable.open(path, s3.options(s3_proxy.port))
    with s3_proxy.breaking(lambda request: Fault.FORBIDDEN if request.kind.startswith("DELETE") else None):
        report = table.upsert(rows(1), NO_METADATA)
    assert {type(error) for error in report.failed.values()} == {StoreAccessDeniedError}
    assert not HudiTable.open(path, s3.options()).upsert(rows(2), NO_METADATA).failed, "a lock that cannot be deleted"
    assert values(path, s3.options()) == merged(0, 1, 2)


@pytest.mark.parametrize(
    ("fault", "error"), [(Fault.EXPIRED, StoreCredentialsError), (Fault.FORBIDDEN, StoreAccessDeniedError)]
)
def test_readers_and_services_say_it_too(
    s3: S3Server, s3_proxy: StoreProxy, path: str, fault: Fault, error: type[Exception]
) -> None:
    options = s3.options(s3_proxy.port)
    table = HudiTable.open(path, options)
    with s3_proxy.breaking(lambda request: fault if request.path.endswith(".parquet") else None), pytest.raises(error):
        table.scan().to_arrow()
    with s3_proxy.breaking(lambda _: fault):
        for act in (
            lambda: HudiTable.open(path, options),
            lambda: table.cluster(NO_METADATA),
            lambda: table.clean(NO_METADATA),
            lambda: table.rollback(options=NO_METADATA),
        ):
            with pytest.raises(error):
                act()
        with pytest.raises(error):
            HudiTable.create(s3.folder(), name="t", record_keys=["id"], storage_options=options)
    assert values(path, s3.options()) == merged(0)
