"""Rows that a Spark task writes to new file groups: which group gets which rows, and in how much memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive import HudiTable
from hudi_hive.spark.write.file_steps import WriteNewFileGroups
from hudi_hive.write.options import WriteConfig
from hudi_hive.write.records import prepare_records, write_context_of

PARTITIONS = 8


def step_and_rows(path, rows, **options):
    """The step of a task that writes to a new table, and rows as it takes them."""
    table = HudiTable.create(path, name="t", record_keys=["id"], partition_fields=["p"], version=8)
    operation = {"hoodie.datasource.write.operation": "bulk_insert"}
    config = WriteConfig.of({**operation, **options}, table.client.config)
    ready = prepare_records(table.client, config, rows)
    context = write_context_of(table.client, config, "20240101000000000", ready)
    return WriteNewFileGroups(context, ready.rows.schema, config, ready.spec, row_size=1000), ready.rows


def some_rows(count):
    ids = [f"key-{number:08}" for number in range(count)]
    return pa.table(
        {"id": ids, "note": [one * 8 for one in ids], "p": [f"p{n * 5 % PARTITIONS}" for n in range(count)]}
    )


def test_groups_get_the_rows_of_their_partitions_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[WriteNewFileGroups.__module__], "_SORTED_BYTES", 20_000)
    step, rows = step_and_rows(tmp_path / "t", some_rows(3000), **{"hoodie.parquet.max.file.size": "300000"})
    statuses = pa.Table.from_batches(step(iter(rows.to_batches(max_chunksize=70))))
    written: dict[str, list[list[str]]] = {}
    for partition, name in zip(statuses["partition"].to_pylist(), statuses["name"].to_pylist(), strict=True):
        ids = pq.ParquetFile(tmp_path / "t" / partition / name).read(["id"])["id"].to_pylist()
        written.setdefault(partition, []).append(ids)
    wanted: dict[str, list[str]] = {}
    for key, partition in zip(rows["id"].to_pylist(), rows["p"].to_pylist(), strict=True):
        wanted.setdefault(partition, []).append(key)
    assert {partition: list(chain(*files)) for partition, files in written.items()} == wanted
    assert list(written) == list(wanted)
    for partition, files in written.items():
        assert len(files) == -(-len(wanted[partition]) // 300)
        assert max(map(len, files)) - min(map(len, files)) <= 1


PEAK = """
import pickle, sys
from pathlib import Path
import pyarrow as pa

step = pickle.loads(Path(sys.argv[1]).read_bytes())
statuses = list(step(iter(pa.ipc.open_stream(sys.argv[2]))))
print(len(statuses), pa.default_memory_pool().max_memory())
"""


def test_rows_are_copied_once(tmp_path):
    step, rows = step_and_rows(tmp_path / "t", some_rows(200_000), **{"hoodie.metadata.enable": "false"})
    (tmp_path / "step").write_bytes(pickle.dumps(step))
    with pa.OSFile(str(tmp_path / "rows"), "wb") as file, pa.ipc.new_stream(file, rows.schema) as stream:
        stream.write_table(rows.combine_chunks(), max_chunksize=10_000)
    command = [sys.executable, "-c", PEAK, str(tmp_path / "step"), str(tmp_path / "rows")]
    files, peak = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert files == len(set(rows["p"].to_pylist()))
    # Beside all rows: those of one group with their meta columns, and its file.
    assert peak < 1.8 * rows.nbytes, (peak, rows.nbytes)
