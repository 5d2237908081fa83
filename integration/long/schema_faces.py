"""The queries of the schema-evolution fixtures through every face, Spark's included: passed and total.

python -m integration.long.schema_faces [--without-spark]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from tests.support.fixture_tables import VERSIONS, expected, unzip_fixture
from tests.support.tables.schema_faces import FACES, Face, RecordedQuery, totals

KINDS = ("snapshot", "read_optimized", "time_travel", "incremental")


def spark_faces(stack: ExitStack) -> tuple[Face, ...]:
    """Spark by path and by name, on a metastore of its own that the fixtures are synced into."""
    import hudi_hive.spark as hudi_spark

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="schema_faces_")))
    uri = stack.enter_context(EmbeddedMetastore(folder / "metastore")).uri
    metastore = stack.enter_context(HiveMetastore(uri))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = hudi_spark.session_builder(uri).master("local[2]").config("spark.driver.memory", "1g")
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    stack.callback(spark.stop)
    hudi_spark.enable(spark)
    synced: set[str] = set()

    def by_path(name: str, query: RecordedQuery) -> pa.Table:
        return hudi_spark.load(spark, unzip_fixture(name), query["options"]).toArrow()

    def by_name(name: str, query: RecordedQuery) -> pa.Table:
        if name not in synced:
            config = HiveSyncConfig(base_path=str(unzip_fixture(name)), database="default", table=name)
            HiveSyncTool(config, metastore=metastore).sync()
            synced.add(name)
        return spark.sql(_statement(name, query)).toArrow()

    return (Face("Spark by path", by_path), Face("Spark SQL", by_name))


def _statement(name: str, query: RecordedQuery) -> str:
    if query["kind"] == "incremental":
        return f"SELECT * FROM hudi_table_changes('default.{name}', '{query['begin']}')"
    if query["kind"] == "time_travel":
        return f"SELECT * FROM default.{name} TIMESTAMP AS OF '{query['as_of']}'"
    optimised = query["kind"] == "read_optimized" and expected(name)["table_type"] == "MERGE_ON_READ"
    return f"SELECT * FROM default.{name}{'_ro' if optimised else ''}"


def main() -> int:
    """Print a line for each face and the totals; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-spark", action="store_true")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        faces = FACES if chosen.without_spark else (*FACES, *spark_faces(stack))
        counts, differences = totals(faces)
    for face in faces:
        cells = []
        for version in VERSIONS:
            found = {kind: counts.get((face.name, version, kind)) for kind in KINDS}
            told: list[Any] = [f"{kind} {got[0]}/{got[1]}" for kind, got in found.items() if got]
            cells.append(f"version {version}: {', '.join(told)}")
        print(f"{face.name}: {'; '.join(cells)}")
    passed, total = (sum(numbers[at] for numbers in counts.values()) for at in range(2))
    print("\n".join(differences))
    print(f"{passed} of {total} passed")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
