"""Tables on S3: queries of fixtures, and all that is done to tables, seen as on local disk; more of it in long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudi_hive.storage import Storage
from integration.long import store_fixtures, store_matrix
from integration.long.store_matrix import Case, Place
from integration.support.stores.s3 import BUCKET, S3Server
from tests.support.fixture_tables import fixture_names
from tests.support.running.long import with_long_cases

CASES = with_long_cases(
    [
        Case("mutations", 6, "MERGE_ON_READ"),
        Case("rollbacks", 9, "MERGE_ON_READ"),
        Case("syncs", 8, "COPY_ON_WRITE"),
        Case("acid", 9, "COPY_ON_WRITE"),
    ],
    store_matrix.cases(),
)
FIXTURES = with_long_cases(["v8_cow_archived", "v9_mor_types"], fixture_names())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_done_to_a_table_is_seen_as_on_local_disk(case: Case, s3: S3Server, tmp_path: Path) -> None:
    assert store_matrix.run(case, Place(str(tmp_path / "t")), Place(s3.folder("s3a"), s3.options())) > 1


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_have_the_recorded_rows(name: str, s3: S3Server) -> None:
    differences = store_fixtures.run(name, s3.folder(), s3.options())
    assert differences and not {query: text for query, text in differences.items() if text is not None}


def test_empty_objects_that_mark_folders_are_no_files(s3: S3Server) -> None:
    uri = s3.folder()
    folder = uri.rpartition("/")[2]
    client = s3.client()
    for key in ("", "x/", "x/y/"):
        client.put_object(Bucket=BUCKET, Key=f"{folder}/{key}", Body=b"")
    storage = Storage(uri, s3.options())
    storage.write_bytes("x/empty", b"")
    storage.write_bytes("x/y/file", b"1")
    assert storage.list("")["path"].to_pylist() == ["x"]
    assert sorted(storage.list("x")["path"].to_pylist()) == ["x/empty", "x/y"]
    for path in ("", "x"):
        assert sorted(storage.list(path, recursive=True)["path"].to_pylist()) == ["x/empty", "x/y/file"]
    storage.delete_tree("x")
    assert "x/empty" not in s3.files(uri)
