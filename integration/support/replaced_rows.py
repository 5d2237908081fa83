"""Statements over base files of which log files replace rows, against the same rows from Python.

``python -m integration.support.replaced_rows FOLDER [MASTER]`` runs them in the PySpark that is first on the path, with
executors of their own for a master such as ``local-cluster[1,1,1024]``, and prints differences as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import hudi_hive.spark as hudi_spark
from hudi_hive import HudiTable
from integration.support.spark_options import PYTHON_WORKERS, QUICK

Row: TypeAlias = dict[str, Any]

ROWS: Final = 4_000

STATEMENTS: Final[dict[str, tuple[str, Callable[[list[Row]], Any]]]] = {
    "all": ("SELECT count(v), sum(v), sum(n) FROM rows", lambda rows: _sums(rows)),
    "pages that filters rule out": (
        "SELECT count(v), sum(v), sum(n) FROM rows WHERE id BETWEEN 2000 AND 2499 OR id BETWEEN 3600 AND 3700",
        lambda rows: _sums([row for row in rows if 2000 <= row["id"] <= 2499 or 3600 <= row["id"] <= 3700]),
    ),
    "texts and structs": (
        "SELECT sum(length(text)), sum(s.a), max(s.b), sum(size(list)) FROM rows WHERE id % 7 = 3",
        lambda rows: _shapes([row for row in rows if row["id"] % 7 == 3]),
    ),
    "groups": (
        "SELECT count(*), sum(c), max(m), sum(a) FROM (SELECT n % 10 g, count(v) c, max(text) m, avg(ts) a FROM rows "
        "WHERE v > 10 GROUP BY n % 10)",
        lambda rows: _groups([row for row in rows if row["v"] > 10]),
    ),
    "distinct values": (
        "SELECT count(DISTINCT n), count(DISTINCT text), sum(v + 1), count(*) FILTER (WHERE ts = 2) FROM rows",
        lambda rows: _distinct(rows),
    ),
    "sorted, none twice": (
        "SELECT sort_array(collect_set(k)) FROM (SELECT DISTINCT concat(substr(text, 1, 1), '-') k FROM rows)",
        lambda rows: (sorted({row["text"][0] + "-" for row in rows}),),
    ),
    "numbers of rows": (
        "SELECT count(DISTINCT i), count(v) FROM (SELECT monotonically_increasing_id() i, v FROM rows)",
        lambda rows: (len(rows), len(rows)),
    ),
    "nulls": ("SELECT count(*) FROM rows WHERE n IS NULL", lambda rows: (sum(row["n"] is None for row in rows),)),
    "one row": (
        "SELECT v FROM rows WHERE id = 2346",
        lambda rows: (next(row["v"] for row in rows if row["id"] == 2346),),
    ),
}
"""Name -> statement of one row, and that row from all rows."""

SETTINGS: Final[dict[str, dict[str, str]]] = {
    "batches": {},
    "small batches": {"spark.sql.parquet.columnarReaderBatchSize": "100"},
    "rows of batches": {"spark.sql.codegen.maxFields": "1"},
    "without generated code": {"spark.sql.codegen.wholeStage": "false"},
    "rows": {"spark.sql.parquet.enableVectorizedReader": "false"},
    "without pushed filters": {"spark.sql.parquet.filterPushdown": "false"},
    "many tasks": {"spark.sql.files.maxPartitionBytes": "30000", "spark.sql.files.openCostInBytes": "0"},
    "off the heap": {"spark.sql.columnVector.offheap.enabled": "true"},
}


def _sums(rows: list[Row]) -> tuple[Any, ...]:
    return len(rows), sum(row["v"] for row in rows), sum(row["n"] or 0 for row in rows)


def _shapes(rows: list[Row]) -> tuple[Any, ...]:
    texts, structs = sum(len(row["text"]) for row in rows), [row["s"] for row in rows]
    return (
        texts,
        sum(one["a"] for one in structs),
        max(one["b"] for one in structs),
        sum(len(row["list"]) for row in rows),
    )


def _groups(rows: list[Row]) -> tuple[Any, ...]:
    groups: dict[int | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(None if row["n"] is None else row["n"] % 10, []).append(row)
    texts = max(row["text"] for row in rows)
    return len(groups), len(rows), texts, sum(sum(row["ts"] for row in one) / len(one) for one in groups.values())


def _distinct(rows: list[Row]) -> tuple[Any, ...]:
    numbers, texts = {row["n"] for row in rows} - {None}, {row["text"] for row in rows}
    return len(numbers), len(texts), sum(row["v"] + 1 for row in rows), sum(row["ts"] == 2 for row in rows)


def make_table(path: str) -> None:
    """A table of one base file, of which log files replace and delete rows all over.

    The file has row groups, and an index of its pages as files of other writers have, so that filters rule out both.
    """
    table = HudiTable.create(path, name="t", record_keys=["id"], ordering_fields=["ts"], table_type="MERGE_ON_READ")
    options = {"hoodie.metadata.enable": False}
    table.upsert(_rows(list(range(ROWS)), 1), options)
    (base_file,) = Path(path).glob("*.parquet")
    whole = pq.read_table(base_file)
    pq.write_table(whole, base_file, row_group_size=ROWS // 4, data_page_size=1024, write_page_index=True)
    table.upsert(_rows([*range(0, ROWS, 3), *range(2100, 2200)], 2), options)
    gone = range(5, ROWS, 11)
    table.delete(pa.table({"id": pa.array(gone, pa.int32()), "ts": [3] * len(gone)}), options)


def _rows(ids: list[int], ts: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "ts": [ts] * len(ids),
            "v": [number * ts for number in ids],
            "n": [None if number % 5 == 0 else number % 100 for number in ids],
            "text": [f"{number % 50}" * ts for number in ids],
            "s": [{"a": number, "b": f"{number:06d}"} for number in ids],
            "list": [[number] * (number % 4) for number in ids],
        }
    )


def differences(spark: SparkSession, path: str, settings: Mapping[str, str]) -> list[str]:
    """What statements give in a session with some settings, where it is not what the rows say.

    Spark has to number rows where it does not read batches, and must not where it does, as that is slow.

    Args:
        spark: an enabled session; the settings are undone.
        path: of :func:`make_table`.
        settings: of the session.
    """
    rows = HudiTable.open(path).scan().to_arrow().to_pylist()
    different = []
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for name, (statement, expected) in STATEMENTS.items():
            hudi_spark.load(spark, path).createOrReplaceTempView("rows")
            frame = spark.sql(statement)
            found, wanted = tuple(frame.collect()[0]), tuple(expected(rows))
            if found != wanted:
                different.append(f"{name}: {found} in place of {wanted}")
            numbered = "row_index" in frame._jdf.queryExecution().executedPlan().toString()
            if numbered != (settings.get("spark.sql.parquet.enableVectorizedReader") == "false"):
                different.append(f"{name}: rows are {'' if numbered else 'not '}numbered by Spark")
    finally:
        for name in settings:
            spark.conf.unset(name)
    return different


def main(folder: str, master: str = "local[2]") -> int:
    """Print the differences of each group of settings; 1 if there are any."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    path = str(Path(folder) / "t")
    make_table(path)
    builder = SparkSession.builder.master(master).config(map=PYTHON_WORKERS).config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.extraJavaOptions", QUICK).config("spark.sql.shuffle.partitions", "1")
    spark = builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse")).getOrCreate()
    hudi_spark.enable(spark)
    different = {name: differences(spark, path, settings) for name, settings in SETTINGS.items()}
    spark.stop()
    print(json.dumps(different))
    return int(any(different.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
