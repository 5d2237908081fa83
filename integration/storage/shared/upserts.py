"""Small upserts into a table of three partitions, and faults of their requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.stores.proxy import Decide, Fault, Request
from integration.support.stores.s3 import S3Server

NO_METADATA = {"hoodie.metadata.enable": "false"}


def rows(step: int, count: int = 30) -> pa.Table:
    """Rows of a step, whose keys are those of the steps beside it but for one."""
    keys = [f"k{number}" for number in range(step, step + count)]
    return pa.table({"id": keys, "p": [f"p{int(key[1:]) % 3}" for key in keys], "v": [step] * count})


def values(path: str, options: Mapping[str, Any]) -> dict[str, int]:
    """The step of each key of a table."""
    table = HudiTable.open(path, options).scan().to_arrow()
    return dict(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))


def merged(*steps: int) -> dict[str, int]:
    """The step of each key behind upserts of some steps."""
    return {key: step for step in steps for key in rows(step)["id"].to_pylist()}


@pytest.fixture
def path(s3: S3Server) -> str:
    """A table with a commit in three partitions."""
    path = s3.folder()
    HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["p"], storage_options=s3.options())
    HudiTable.open(path, s3.options()).upsert(rows(0), NO_METADATA)
    return path


def behind(matches: Callable[[Request], bool], first: Fault, then: Fault) -> Decide:
    """Break one request and all behind it."""
    broken = False

    def decide(request: Request) -> Fault | None:
        nonlocal broken
        if broken:
            return then
        broken = matches(request)
        return first if broken else None

    return decide
