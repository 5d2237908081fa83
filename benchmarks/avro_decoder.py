"""Bare Avro records to Arrow: ours next to fastavro on the same bytes, in the same process, best of several runs.

    python benchmarks/avro_decoder.py [--rows 100000] [--repeat 7] [--check]

The records have ten nullable fields. fastavro is given its best case: the records of the projection are read with a
reader's schema of the three fields when that is faster, and columns are built from lists by pyarrow. Prints CPU time
of both and their ratio; with ``--check`` the process fails when all columns are less than 4, or three of ten less than
10 times as fast.
"""

from __future__ import annotations

import argparse
import gc
import io
import sys
import time
from collections.abc import Callable
from functools import partial

import fastavro
import numpy as np
import pyarrow as pa

from hudi_hive.formats.avro import avro_to_arrow, decode_records

TYPES = {
    "_hoodie_commit_time": "string",
    "_hoodie_record_key": "string",
    "_hoodie_partition_path": "string",
    "id": "long",
    "city": "string",
    "fare": "double",
    "stops": "int",
    "paid": "boolean",
    "at": {"type": "long", "logicalType": "timestamp-micros"},
    "note": "string",
}
PROJECTIONS = {
    "all ten columns": list(TYPES),
    "three of ten (key, id, at)": ["_hoodie_record_key", "id", "at"],
    "three of ten (first ones)": list(TYPES)[:3],
    "three of ten (last ones)": list(TYPES)[-3:],
}


def schema_of(names: list[str]) -> dict[str, object]:
    fields = [{"name": name, "type": ["null", TYPES[name]], "default": None} for name in names]
    return {"type": "record", "name": "bench_record", "namespace": "hoodie.bench", "fields": fields}


def make_records(rows: int, nulls: float) -> tuple[bytes, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    columns = [
        ["20260101000000000"] * rows,
        [f"key-{i:08d}" for i in range(rows)],
        [f"day=2026-01-{1 + i % 28:02d}" for i in range(rows)],
        rng.integers(0, 1 << 40, rows).tolist(),
        [("oslo", "rome", "sf", "buenos aires")[i] for i in rng.integers(0, 4, rows)],
        (rng.random(rows) * 100).tolist(),
        rng.integers(-100, 100_000, rows).tolist(),
        (rng.random(rows) < 0.5).tolist(),
        (1_767_225_600_000_000 + rng.integers(0, 1 << 45, rows)).tolist(),
        ["n" * int(length) for length in rng.integers(0, 60, rows)],
    ]
    absent = rng.random((rows, len(TYPES))) < nulls
    plain = {name: kind if isinstance(kind, str) else "long" for name, kind in TYPES.items()}
    fields = [{"name": name, "type": ["null", kind]} for name, kind in plain.items()]
    schema = fastavro.parse_schema({"type": "record", "name": "bench_record", "fields": fields})
    stream, ends = io.BytesIO(), []
    for row, values in enumerate(zip(*columns, strict=True)):
        record = {name: None if absent[row, i] and i > 2 else values[i] for i, name in enumerate(TYPES)}
        fastavro.schemaless_writer(stream, schema, record)
        ends.append(stream.tell())
    return stream.getvalue(), np.array([0, *ends[:-1]]), np.array(ends)


def by_fastavro(data: bytes, rows: int, names: list[str], resolve: bool) -> pa.RecordBatch:
    # One container of one block: fastavro's own loop over records, quicker than a call for each. Moments as numbers:
    # making objects of them would only slow it down.
    kinds = {name: kind if isinstance(kind, str) else "long" for name, kind in TYPES.items()}

    def record_schema(columns: list[str]) -> dict[str, object]:
        fields = [{"name": name, "type": ["null", kinds[name]], "default": None} for name in columns]
        return {"type": "record", "name": "bench_record", "fields": fields}

    stream, sync = io.BytesIO(), b"0123456789abcdef"
    fastavro.writer(stream, record_schema(list(TYPES)), [], sync_marker=sync)
    fastavro.schemaless_writer(stream, "long", rows)
    fastavro.schemaless_writer(stream, "bytes", data)
    stream.write(sync)
    stream.seek(0)
    records = list(fastavro.reader(stream, record_schema(names) if resolve else None))
    schema = avro_to_arrow(schema_of(names))
    return pa.RecordBatch.from_arrays(
        [pa.array([record[field.name] for record in records], field.type) for field in schema], schema=schema
    )


def cpu_ms(run: Callable[[], pa.RecordBatch], repeat: int) -> float:
    best = float("inf")
    for _ in range(repeat):
        gc.collect()
        begin = time.process_time()
        run()
        best = min(best, (time.process_time() - begin) * 1000)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--check", action="store_true", help="fail below the targets")
    arguments = parser.parse_args()
    pa.set_cpu_count(1)
    passed = True
    for nulls in (0.0, 0.1):
        data, starts, ends = make_records(arguments.rows, nulls)
        print(f"{arguments.rows:,} records of {len(data) / arguments.rows:.0f} bytes, {nulls:.0%} nulls")
        for label, names in PROJECTIONS.items():
            everything = len(names) == len(TYPES)
            ours = partial(decode_records, data, starts, ends, schema_of(list(TYPES)), columns=names)
            ways = (False,) if everything else (False, True)
            theirs = [partial(by_fastavro, data, arguments.rows, names, way) for way in ways]
            assert all(ours().equals(one()) for one in theirs), label
            our_ms = cpu_ms(ours, arguments.repeat)
            their_ms = min(cpu_ms(one, 3) for one in theirs)
            ratio = their_ms / our_ms
            passed &= ratio >= (4 if everything else 10)
            print(f"  {label:28} CPU: ours {our_ms:6.1f} ms   fastavro {their_ms:6.1f} ms   {ratio:5.1f} times as fast")
    return 0 if passed or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
