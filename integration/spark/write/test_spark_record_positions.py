"""Log blocks that Spark's tasks write say at which rows of base files their records are, as the local writer's do."""

from __future__ import annotations

import pyarrow as pa
import pytest

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from tests.support.running.long import long_case
from tests.support.tables.record_positions import BY_KEY, Block, blocks_of, effects

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("interpreted")]


def rows(numbers, word, gone=()):
    numbers = list(numbers)
    return pa.table(
        {
            "id": [f"k{number:03}" for number in numbers],
            "p": ["ab"[number % 2] for number in numbers],
            "ts": pa.array([number % 5 for number in numbers], pa.int64()),
            "v": [word] * len(numbers),
            "_hoodie_is_deleted": [number in gone for number in numbers],
        }
    )


STEPS = [
    ("upsert", rows(range(200), "first")),
    ("upsert", rows(range(150, 20, -3), "second", gone=range(100, 120))),
    ("delete", rows(range(5, 60, 7), "gone")),
    ("upsert", rows([199, 3, 8], "third")),
]


def blocks(table) -> list[Block]:
    """Blocks in an order that does not go by the names of files."""
    return sorted(blocks_of(table), key=lambda block: (block.deletes, sorted(block.keys)))


@pytest.mark.parametrize(
    ("index", "version"), [("SIMPLE", 9), ("GLOBAL_BLOOM", 8), long_case("BLOOM", 8), long_case("GLOBAL_SIMPLE", 9)]
)
def test_blocks_are_those_of_the_local_writer(spark, tmp_path, index, version):
    tables = [str(tmp_path / name) for name in ("local", "spark")]
    options = {"hoodie.index.type": index, "hoodie.metadata.enable": "false"}
    for path in tables:
        HudiTable.create(
            path,
            name="t",
            table_type="MERGE_ON_READ",
            record_keys=["id"],
            partition_fields=["p"],
            ordering_fields=["ts"],
            version=version,
        )
    for operation, step in STEPS:
        own = {**options, "hoodie.datasource.write.operation": operation}
        local = HudiTable.open(tables[0])
        (local.delete if operation == "delete" else local.upsert)(step, options=options)
        hudi_spark.write(spark.createDataFrame(step.to_pylist()).select(*step.column_names), tables[1], own)
    local, of_spark = (HudiTable.open(path) for path in tables)
    written = blocks(of_spark)
    assert len(written) >= 6 and all(block.rows is not None for block in written)
    assert [(block.deletes, sorted(block.keys)) for block in written] == [
        (block.deletes, sorted(block.keys)) for block in blocks(local)
    ]
    assert effects(of_spark) == effects(of_spark, BY_KEY)
    left = [sorted((row["id"], row["v"]) for row in table.scan().to_arrow().to_pylist()) for table in (local, of_spark)]
    assert left[0] == left[1]
    off = {**options, "hoodie.write.record.positions": "false", "hoodie.datasource.write.operation": "upsert"}
    hudi_spark.write(spark.createDataFrame(rows([4, 6], "fourth").to_pylist()), tables[1], off)
    assert [block.rows for block in blocks_of(HudiTable.open(tables[1])) if block.keys[0] in ("k004", "k006")][
        -1
    ] is None
