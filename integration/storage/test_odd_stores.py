"""Object stores that do less than Amazon's, or something else: conditions, ranges, pages, names and folders."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from hudi_hive.errors import LockError, PathNotFoundError, StorageError, StoreUnreachableError
from hudi_hive.storage import Storage
from hudi_hive.storage.stores.object_store import ObjectStore
from hudi_hive.table.properties import update_properties
from integration.support.stores.proxy import (
    Fault,
    Request,
    StoreProxy,
    nth_fault,
    pages_of,
    without_header,
)
from integration.support.stores.s3 import BUCKET, S3Server

IN_PROCESS = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
BY_FILE = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"}
ROWS = pa.table({"id": ["a", "b"], "v": [1, 2]})
LARGE = bytes(range(256)) * 24_000  # more than is read in one request


def new_table(path: str, options: Mapping[str, str]) -> HudiTable:
    return HudiTable.create(path, name="t", record_keys=["id"], storage_options=options)


def answered(status: int, text: str) -> tuple[bytes, bytes]:
    body = text.encode()
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body


# -- conditions --------------------------------------------------------------------------------------------------------


def test_a_server_that_ignores_conditions_is_written_to_only_with_a_lock(s3: S3Server, s3_proxy: StoreProxy) -> None:
    new_table(path := s3.folder(), s3.options()).upsert(ROWS)
    s3_proxy.rewrite = without_header("if-none-match")
    loose = s3.options(s3_proxy.port)
    for _ in range(2):
        with pytest.raises(LockError, match="only if it is absent"):
            HudiTable.open(path, loose).upsert(ROWS)
        with pytest.raises(LockError, match="only if it is absent"):
            new_table(s3.folder(), loose)
    assert not [name for name in s3.files(path) if "aux/write.lock" in name]
    report = HudiTable.open(path, loose).upsert(ROWS, IN_PROCESS)
    assert report.updated == 2 and not report.failed
    assert len(HudiTable.open(path, s3.options()).timeline.completed()) == 2


def test_the_first_table_on_such_a_server_is_refused_and_leaves_nothing(s3: S3Server, s3_proxy: StoreProxy) -> None:
    s3_proxy.rewrite = without_header("if-none-match")
    path, loose = s3.folder(), s3.options(s3_proxy.port)
    with pytest.raises(LockError, match="only if it is absent"):
        new_table(path, loose)
    assert not s3.files(path)
    HudiTable.create(path, name="t", record_keys=["id"], storage_options=loose, options=IN_PROCESS)


def test_a_server_that_replaces_what_has_changed_has_no_lock_file_of_hudi(s3: S3Server, s3_proxy: StoreProxy) -> None:
    new_table(path := s3.folder(), s3.options())
    s3_proxy.rewrite = without_header("if-match")
    with pytest.raises(StorageError, match="ignores or refuses conditions"):
        HudiTable.open(path, s3.options(s3_proxy.port)).upsert(ROWS, BY_FILE)


def without_versions(proxy: StoreProxy, *, refused: bool) -> None:
    """A server that ignores the condition that a file is of a version, or refuses requests with it."""
    proxy.rewrite = without_header("if-match")
    if not refused:
        return

    def not_passed_on(request: Request, data: bytes) -> bytes:
        return data.replace(b"PUT ", b"PATCH ", 1) if "if-match" in request.headers else data

    def answer(request: Request, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        refusal = answered(501, "<Error><Code>NotImplemented</Code></Error>")
        return refusal if "if-match" in request.headers else (head, body)

    proxy.rewrite, proxy.answer = not_passed_on, answer


@pytest.mark.parametrize("refused", [False, True])
def test_a_server_without_versions_is_written_to_by_creation(s3: S3Server, s3_proxy: StoreProxy, refused: bool) -> None:
    """Properties, commits and the lock do without the condition; nobody is told an error."""
    without_versions(s3_proxy, refused=refused)
    options = s3.options(s3_proxy.port)
    for lock in ({}, IN_PROCESS):
        table = new_table(path := s3.folder(), options)
        for _ in range(2):  # the first one changes properties: it makes the metadata table
            report = table.refresh().upsert(ROWS, lock)
            assert not report.failed
        table.refresh().update_schema().rename("v", "w").commit()
        now = HudiTable.open(path, s3.options())
        assert now.config.metadata_partitions
        assert now.scan(selected_fields=["id", "w"]).to_arrow().sort_by("id").to_pylist() == [
            {"id": "a", "w": 1},
            {"id": "b", "w": 2},
        ]
    with s3_proxy.recording() as recording, pytest.raises(LockError, match="conditional puts"):
        table.upsert(ROWS, BY_FILE)
    assert not {"PUT", "CREATE"} & set(recording.kinds)


@pytest.mark.parametrize("refused", [False, True])
def test_properties_are_what_shows_that_a_server_has_no_versions(
    s3: S3Server, s3_proxy: StoreProxy, refused: bool
) -> None:
    new_table(path := s3.folder(), s3.options())
    without_versions(s3_proxy, refused=refused)
    storage = Storage(path, {**s3.options(s3_proxy.port), "request_timeout": "29"})  # a client that nobody has used
    assert storage.replaces_atomically
    config = update_properties(storage, {"hoodie.x": "1"})
    assert not storage.replaces_atomically
    assert config.properties["hoodie.x"] == "1"
    assert HudiTable.open(path, s3.options()).config.properties["hoodie.x"] == "1"
    assert not [name for name in s3.files(path) if name.endswith(".backup")]


def test_a_creation_that_met_another_request_is_tried_again(s3: S3Server, s3_proxy: StoreProxy) -> None:
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    storage.create_if_absent("first", b"")
    conflicts = iter([True])

    def answer(request: Request, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        if request.kind == "CREATE" and next(conflicts, False):
            return answered(409, "<Error><Code>ConditionalRequestConflict</Code></Error>")
        return head, body

    s3_proxy.answer = answer
    storage.create_if_absent("x", b"1")
    assert storage.read_bytes("x") == b"1"


# -- ranges ------------------------------------------------------------------------------------------------------------


def test_a_server_without_ranges(s3: S3Server, s3_proxy: StoreProxy) -> None:
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    storage.write_bytes("small", b"0123456789")
    storage.write_bytes("large", LARGE)
    storage.write_bytes("empty", b"")
    s3_proxy.rewrite = without_header("range")
    assert storage.read_bytes("small", 4) == b"456789" and storage.read_bytes("small", 8, 9) == b"89"
    assert storage.size("small") == 10 and storage.size("empty") == 0 and storage.read_bytes("empty", 0, 5) == b""
    for size in (None, len(LARGE)):
        with storage.open_input("large", size) as stream:
            stream.seek(5_000_000)
            assert stream.size() == len(LARGE) and stream.read(7) == LARGE[5_000_000:5_000_007]


def test_ranges_at_the_end_and_behind_it(s3: S3Server) -> None:
    storage = Storage(s3.folder(), s3.options())
    storage.write_bytes("x", b"0123456789")
    assert [storage.read_bytes("x", 8, 9), storage.read_bytes("x", 10, 1), storage.read_bytes("x", 99)] == [
        b"89",
        b"",
        b"",
    ]
    with storage.open_input("x", 9_000_000) as stream:  # it is shorter than its commit says
        assert stream.size() == 10


def test_an_answer_of_too_few_bytes(s3: S3Server, s3_proxy: StoreProxy) -> None:
    storage = Storage(s3.folder(), {**s3.options(s3_proxy.port), "retry_timeout": "0.2"})
    storage.write_bytes("large", LARGE)

    def answer(request: Request, head: bytes, body: bytes) -> tuple[bytes, bytes]:
        if request.kind == "RANGE" and len(body) > 3:
            head = re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % (len(body) - 3), head)
            return head, body[:-3]
        return head, body

    s3_proxy.answer = answer
    with pytest.raises(StoreUnreachableError, match=r"for 7 bytes with 4"):
        storage.read_bytes("large", 2, 7)
    with pytest.raises(StoreUnreachableError):
        storage.open_input("large", len(LARGE)).read()


def test_a_file_that_is_overwritten_while_it_is_read(s3: S3Server) -> None:
    storage = Storage(s3.folder(), s3.options())
    storage.write_bytes("large", LARGE)
    for size in (None, len(LARGE)):
        with storage.open_input("large", size) as stream:
            storage.write_bytes("large", LARGE[::-1])
            stream.seek(4_500_000)
            with pytest.raises(StorageError, match="overwritten while it was read"):
                stream.read(10)
        storage.write_bytes("large", LARGE)


# -- listings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.CUT])
def test_a_listing_of_many_pages_goes_on_where_it_failed(
    s3: S3Server, s3_proxy: StoreProxy, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[ObjectStore.__module__], "_PAGE", 5)
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    names = [f"p{number % 3}/f{number:02d}" for number in range(24)]
    for name in names:
        storage.write_bytes(name, b"" if name == "p0/f03" else b"1")
    s3.client().put_object(Bucket=BUCKET, Key=f"{storage.root.partition('/')[2]}/p1/", Body=b"")
    s3_proxy.rewrite = pages_of(5)
    for number in range(1, 6):
        with s3_proxy.breaking(nth_fault(number, fault, lambda request: request.kind == "LIST")) as recording:
            assert sorted(storage.list(recursive=True)["path"].to_pylist()) == sorted(names)
        assert len(recording) <= 7, recording
        with s3_proxy.breaking(nth_fault(number, fault, lambda request: request.kind == "LIST")):
            assert sorted(storage.list("p1")["path"].to_pylist()) == [name for name in sorted(names) if "p1" in name]
            assert sorted(storage.list()["path"].to_pylist()) == ["p0", "p1", "p2"]


def test_folders_whose_names_begin_alike(s3: S3Server) -> None:
    lake = Storage(s3.folder(), s3.options())
    for name in ("t/x", "t2/x", "t-old/x", "t.x", "t"):
        lake.write_bytes(name, b"1")
    storage = lake.child("t")
    assert storage.list()["path"].to_pylist() == storage.list(recursive=True)["path"].to_pylist() == ["x"]
    lake.delete_tree("t")
    assert sorted(lake.list(recursive=True)["path"].to_pylist()) == ["t", "t-old/x", "t.x", "t2/x"]


NAMES = [
    "a b",
    "a%20b",
    "a%",
    "k=v",
    "a#b",
    "a?b",
    "a+b",
    "ä€𝄞",
    "a\\b",
    "a&b<c>'\"",
    "a*[b]",
    "~",
    ".x",
    "a:b",
    "a,b;c",
    "-",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_odd_characters(s3: S3Server, name: str) -> None:
    storage = Storage(f"{s3.folder()}/{name}", s3.options())
    path = f"{name}/f{name}"
    storage.create_if_absent(path, b"12")
    assert storage.read_bytes(path) == b"12" and storage.status(path).size == 2 and storage.is_dir(name)
    assert storage.list()["path"].to_pylist() == [name]
    assert storage.list(name)["path"].to_pylist() == storage.list(recursive=True)["path"].to_pylist() == [path]
    assert list(s3.files(storage.uri())) == [path]
    storage.move(path, storage, f"{name}/2")
    storage.delete_files([f"{name}/2"])
    assert not storage.exists(name)


@pytest.mark.parametrize("name", ["a\nb", "a//b", "./a", "a/./b"])
def test_names_that_no_object_may_have_are_refused_at_once(s3: S3Server, name: str) -> None:
    storage = Storage(s3.folder(), s3.options())
    for call in (storage.read_bytes, storage.list, storage.status, lambda path: storage.write_bytes(path, b"")):
        with pytest.raises(StorageError, match="name"):
            call(name)


def test_markers_of_folders_that_other_tools_made(s3: S3Server) -> None:
    table = new_table(path := s3.folder(), s3.options())
    folder = table.path.partition("//")[2].partition("/")[2]
    table.upsert(ROWS, {"hoodie.metadata.enable": "false"})
    markers = ("", "empty/", "empty_$folder$", ".hoodie/", ".hoodie_$folder$", ".hoodie/timeline/", "p=1/q=2/")
    for name in markers:
        s3.client().put_object(Bucket=BUCKET, Key=f"{folder}/{name}", Body=b"")
    table = HudiTable.open(path, s3.options())
    assert table.scan().to_arrow().num_rows == 2
    table.upsert(ROWS)
    assert table.scan().to_arrow().num_rows == 2
    storage = Storage(path, s3.options())
    storage.delete_tree("empty")
    storage.delete_files([])
    with pytest.raises(PathNotFoundError):
        storage.delete_tree("nowhere", missing_ok=False)


def test_a_bucket_is_a_table(s3: S3Server) -> None:
    bucket = s3.make_bucket("whole-bucket")
    new_table(f"s3://{bucket}", s3.options()).upsert(ROWS)
    for path in (f"s3a://{bucket}", f"s3://{bucket}/", f"s3n://{bucket}//"):
        assert HudiTable.open(path, s3.options()).scan().to_arrow().num_rows == 2


def test_one_table_under_three_schemes(s3: S3Server) -> None:
    new_table(path := s3.folder("s3"), s3.options()).upsert(ROWS)
    below = path.partition(":")[2]
    HudiTable.open(f"s3a:{below}/", s3.options()).upsert(ROWS)
    assert HudiTable.open(f"S3N:{below}", s3.options()).upsert(ROWS).updated == 2
    for scheme in ("s3", "s3a", "s3n"):
        assert len(HudiTable.open(f"{scheme}:{below}", s3.options()).timeline.completed()) == 3


# -- other answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (301, "<Error><Code>PermanentRedirect</Code></Error>", "another region"),
        (400, "<Error><Code>AuthorizationHeaderMalformed</Code></Error>", "another region"),
        (403, "<Error><Code>InvalidObjectState</Code></Error>", "archived"),
        (501, "<Error><Code>NotImplemented</Code></Error>", "NotImplemented"),
    ],
)
def test_requests_are_not_sent_again_after_an_answer_that_stays_the_same(
    s3: S3Server, s3_proxy: StoreProxy, status: int, text: str, said: str
) -> None:
    storage = Storage(s3.folder(), s3.options(s3_proxy.port))
    s3_proxy.answer = lambda *_: answered(status, text)
    for call in (storage.read_bytes, lambda path: storage.create_if_absent(path, b"1")):
        with s3_proxy.recording() as recording, pytest.raises(StorageError, match=said):
            call("x")
        assert len(recording) == 1
