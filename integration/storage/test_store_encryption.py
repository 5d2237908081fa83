"""Encryption by the store: each request that writes names it, and with a key of the user each that reads, too."""

from __future__ import annotations

import base64

import pytest

from hudi_hive.storage import Storage
from integration.support.stores.proxy import StoreProxy
from integration.support.stores.s3 import S3Server

SSE_C = base64.b64encode(b"0123456789" * 3 + b"01").decode()
HEADER = "x-amz-server-side-encryption"
WRITES = {"PUT", "CREATE", "BEGIN UPLOAD", "COPY"}


@pytest.mark.parametrize(
    ("options", "written", "read"),
    [
        ({"encryption": "SSE-S3"}, {HEADER: "AES256"}, {}),
        (
            {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "key-1"},
            {HEADER: "aws:kms", f"{HEADER}-aws-kms-key-id": "key-1"},
            {},
        ),
        (
            {"fs.s3a.bucket.lake.encryption.algorithm": "SSE-C", "fs.s3a.bucket.lake.encryption.key": SSE_C},
            {f"{HEADER}-customer-algorithm": "AES256", f"{HEADER}-customer-key": SSE_C},
            {f"{HEADER}-customer-algorithm": "AES256", f"{HEADER}-customer-key": SSE_C},
        ),
    ],
)
def test_requests_name_the_encryption(
    s3: S3Server, s3_proxy: StoreProxy, options: dict[str, str], written: dict[str, str], read: dict[str, str]
) -> None:
    uri, size = s3.folder("s3a"), (17 << 20) if read else 100
    storage = Storage(uri, {**s3.options(s3_proxy.port), **options})
    with s3_proxy.recording() as requests:
        storage.write_bytes("small", b"123456")
        storage.create_if_absent("once", b"1")
        with storage.open_output("large") as stream:
            stream.write(b"x" * size)
        assert storage.read_bytes("small") == b"123456"
        assert storage.read_bytes("large", 5, 3) == b"xxx"
        with storage.open_input("large") as stream:
            assert stream.size() == size
    kinds = requests.kinds
    assert kinds["PUT"] and kinds["CREATE"] and kinds["GET"] + kinds["RANGE"]
    assert not read or (kinds["BEGIN UPLOAD"] and kinds["PART"])
    for request in requests.requests:
        expected = written if request.kind in WRITES else read
        if request.kind in ("LIST", "END UPLOAD", "DELETE"):
            continue
        assert {name: request.headers.get(name) for name in expected} == expected, request
    assert SSE_C not in repr(storage) + repr(storage.storage_options)
