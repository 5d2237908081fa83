"""Read-optimised queries of tables whose columns changed: the rows of real Hudi 1.0.2, by ids and by names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_hive import HudiTable
from integration.support.hudi_peer import NOT_THERE, HudiPeer, may_start
from tests.support.running.long import long_case

pytestmark = [pytest.mark.jvm, pytest.mark.skipif(not may_start(8), reason=NOT_THERE)]

OPTIONS = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.parquet.small.file.limit": "0",
}
BY_IDS = "hoodie.schema.on.read.enable"


def upsert(path: Path, keys: Sequence[str], ts: int, **columns: Any) -> None:
    fixed = {"id": keys, "ts": pa.array([ts] * len(keys), pa.int64()), "p": [f"p{int(key[1:]) % 2}" for key in keys]}
    HudiTable.open(path).upsert(pa.table({**fixed, **columns}), OPTIONS)


def same_as_hudi(peer: HudiPeer, path: Path) -> None:
    """Hudi goes by names unless it is told otherwise, ours by ids."""
    for by_ids in ("true", "false"):
        options = {"hoodie.datasource.query.type": "read_optimized", BY_IDS: by_ids}
        hudi = sorted(peer.read(path, ["*"], options), key=lambda row: row["id"])
        rows = HudiTable.open(path).scan(options=options).to_arrow().sort_by("id").to_pylist()
        assert [{name: value for name, value in row.items() if value is not None} for row in rows] == hudi, by_ids


@pytest.mark.parametrize("kind", ["MERGE_ON_READ", long_case("COPY_ON_WRITE")])
@pytest.mark.parametrize("altered", [long_case(True), long_case(False)])
def test_base_files_of_older_schemas(
    hudi_peer: Callable[[int], HudiPeer], tmp_path: Path, kind: str, altered: bool
) -> None:
    """Changed by ALTER TABLE, or by the rows of writes; read ahead of and behind a compaction, and with newer logs."""
    path, peer = tmp_path / "t", hudi_peer(8)
    HudiTable.create(
        path,
        name="t",
        version=8,
        table_type=kind,
        record_keys=["id"],
        partition_fields=["p"],
        ordering_fields=["ts"],
    )
    numbers = pa.array([1, 2, 3, 4], pa.int32())
    upsert(path, ["k1", "k2", "k3", "k4"], 1, a=numbers, b=["b1", "b2", "b3", "b4"], c=[1.5, 2.5, 3.5, 4.5])
    more = {"a": pa.array([22, 55], pa.int64()), "n": ["n2", "n5"]}
    if altered:
        with HudiTable.open(path).update_schema() as update:
            update.add("n", "string").rename("b", "bb").change_type("a", "bigint").drop("c")
        upsert(path, ["k2", "k5"], 2, **more, bb=["B2", "B5"])
    else:
        upsert(path, ["k2", "k5"], 2, **more, b=["B2", "B5"], c=[2.25, 5.25])
    same_as_hudi(peer, path)
    if kind == "MERGE_ON_READ":
        HudiTable.open(path).compact(OPTIONS)
        same_as_hudi(peer, path)
    if altered:
        HudiTable.open(path).update_schema().rename("bb", "bbb").change_type("a", "string").commit()
        upsert(path, ["k1"], 3, a=["111"], bbb=["BB1"], n=["nn"])
    else:
        upsert(path, ["k1"], 3, a=pa.array([111], pa.int64()), b=["BB1"], c=[9.5], n=["nn"])
    same_as_hudi(peer, path)
