"""The fixture tables on a store: every query that real Hudi answered has the recorded rows there, too.

    python -m integration.long.store_fixtures [--store hdfs] [--fixture v8_mor_types]
    python -m integration.long.store_fixtures --uri s3://bucket/folder --option endpoint=…

Without a URI a server is started. Queries in which a rule of ours differs from the release's (``named_gap``) are
compared with our own answer on local disk.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.errors import HudiHiveError
from hudi_hive.storage import Storage
from integration.support.stores.running import add_store_arguments, chosen_store
from tests.support.fixture_tables import (
    assert_same_rows,
    encode_rows,
    fixture_names,
    named_gap,
    queries,
    query_id,
    rows_sha256,
    unzip_fixture,
)


def upload(source: Path, uri: str, options: Mapping[str, str]) -> None:
    """Copy the files of a local table to a URI."""
    storage = Storage(uri, options)

    def copy(path: Path) -> None:
        storage.write_bytes(path.relative_to(source).as_posix(), path.read_bytes())

    checksums = re.compile(r"\..*\.crc")
    paths = [path for path in source.rglob("*") if path.is_file() and not checksums.fullmatch(path.name)]
    with ThreadPoolExecutor(16) as threads:  # a file costs HDFS half a second of waiting
        list(
            threads.map(lambda path: storage.write_bytes(path.relative_to(source).as_posix(), path.read_bytes()), paths)
        )


def run(name: str, uri: str, options: Mapping[str, str]) -> dict[str, str | None]:
    """Ask all queries of a fixture of its copy at a URI.

    Args:
        name: of the fixture.
        uri: base path of the copy, which is made.
        options: storage options.

    Returns:
        What differs by query; None where nothing does.
    """
    source = unzip_fixture(name)
    upload(source, uri, options)
    table, local = HudiTable.open(uri, options), HudiTable.open(source)
    return {query_id(query): _difference(name, query, table, local) for query in queries(name)}


def _difference(name: str, query: dict[str, Any], table: HudiTable, local: HudiTable) -> str | None:
    answer = functools.partial(_answer, query)
    try:
        rows = answer(table)
    except HudiHiveError as error:
        return None if _refuses(answer, local, error) else f"{type(error).__name__}: {error}"
    try:
        if "error" in query or named_gap(name, query) is not None:
            theirs = answer(local)
            assert rows.column_names == theirs.column_names
            assert rows_sha256(encode_rows(rows)) == rows_sha256(encode_rows(theirs)), "not as on local disk"
        else:
            assert_same_rows(rows, name, query)
    except (AssertionError, HudiHiveError) as difference:
        return str(difference)
    return None


def _answer(query: dict[str, Any], table: HudiTable) -> pa.Table:
    return table.scan(options={} if query["kind"] == "base_files" else query["options"]).to_arrow()


def _refuses(answer: Callable[[HudiTable], pa.Table], local: HudiTable, error: HudiHiveError) -> bool:
    """Whether local disk has the same refusal."""
    try:
        answer(local)
    except HudiHiveError as other:
        return type(other) is type(error)
    return False


def main() -> int:
    """Run the fixtures that the arguments choose; print what differs, and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixture", action="append", choices=fixture_names())
    add_store_arguments(parser)
    chosen = parser.parse_args()
    counts: Counter[bool] = Counter()
    with chosen_store(chosen) as store:
        uri = store.folder()
        for name in chosen.fixture or fixture_names():
            for query, difference in run(name, f"{uri}/{name}", store.options).items():
                counts[difference is None] += 1
                if difference is not None:
                    print(f"{name} {query}: {difference}", flush=True)
    print(f"fixture queries: {counts[True]} of {counts.total()} passed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
