"""A table's life with all services on: many commits of every kind, against a model of plain dictionaries."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from hudi_hive.table_api import HudiTable
from hudi_hive.timeline.instants import CLEAN, REPLACE_COMMIT
from tests.support.fixture_tables import VERSIONS
from tests.support.running.long import with_long_cases

SERVICES = {
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.clustering.inline": "true",
    "hoodie.clustering.inline.max.commits": "3",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
    "hoodie.metadata.index.column.stats.enable": "true",
}
COMMITS = 9
EVERYWHERE = [(version, kind) for version in VERSIONS for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")]


def batch(values: dict[str, tuple[str, int]]) -> pa.Table:
    names = sorted(values)
    columns = [names, [values[n][0] for n in names], [values[n][1] for n in names]]
    return pa.table(
        [pa.array(c, k) for c, k in zip(columns, (pa.string(), pa.string(), pa.int64()), strict=True)],
        names=["id", "city", "n"],
    )


def seen(path: Path, listing: bool) -> dict[str, tuple[str, int]]:
    table = HudiTable.open(path)
    if listing:
        table = HudiTable(MetaClient.load(path))
    found = table.scan(selected_fields=["id", "city", "n"]).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: (row["city"], row["n"]) for row in found}


@pytest.mark.parametrize(("version", "kind"), with_long_cases([(6, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")], EVERYWHERE))
def test_rows_are_those_of_the_model(version: int, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "life"
    table = HudiTable.create(
        path,
        name="life",
        version=version,
        table_type=kind,
        record_keys=["id"],
        partition_fields=["city"],
        merge_mode="COMMIT_TIME_ORDERING",
    )
    chance = random.Random(version)
    model: dict[str, tuple[str, int]] = {}
    for number in range(COMMITS):
        keys = {f"k{chance.randrange(30):02d}" for _ in range(6)}
        if number % 5 == 4:
            gone = {key: model.pop(key) for key in sorted(keys & model.keys())}
            report = table.delete(batch(gone), SERVICES)
        else:
            new = {key: (f"c{int(key[1:]) % 3}", number) for key in keys}
            model |= new
            report = table.upsert(batch(new), SERVICES)
        assert report.services is not None and not report.services.failed
        assert seen(path, listing=False) == model
    assert seen(path, listing=True) == model
    client = MetaClient.load(path)
    assert validate(client).errors == 0
    assert client.timeline.completed({CLEAN})
    assert client.timeline.archived().instants
    clustered = [*client.timeline.completed({REPLACE_COMMIT}), *client.timeline.archived().instants]
    assert any(instant.action == REPLACE_COMMIT for instant in clustered)
    assert not client.timeline.pending()
    assert client.list_files().num_rows < 3 * 30
