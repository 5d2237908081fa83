"""Of several processes that create one file, or one table, at the same time exactly one is told that it did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.support.stores.concurrent_creation import TABLE, Racers
from integration.support.stores.s3 import S3Server


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    with Racers(8) as running:
        yield running


@pytest.mark.parametrize("what", ["file", TABLE])
@pytest.mark.parametrize("store", ["disk", "s3"])
def test_one_of_eight_creates_it(
    racers: Racers, store: str, what: str, tmp_path: Path, request: pytest.FixtureRequest, thorough: bool
) -> None:
    uri, options = str(tmp_path), None
    if store == "s3":
        s3: S3Server = request.getfixturevalue("s3")
        uri, options = s3.folder(), s3.options()
    rounds = 1_000 if thorough else 12 if what == "file" else 3
    result = racers.race(uri, options, rounds, what=what)
    assert result.is_right, str(result)
