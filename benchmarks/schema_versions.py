"""Reading files of ten versions of a schema by ids, next to the same files all of one version, turn by turn.

    python benchmarks/schema_versions.py [--files 1000] [--rows 2000] [--repeat 5]

Between the commits of the first table its columns are renamed, added, dropped, moved and given wider types; the second
has the last version from the start. Both hold the same rows. Prints milliseconds of planning and of reading, and the
ratios of wall-clock and of CPU time: of all columns, of three, and of a filter on a renamed column of a wider type.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive import HudiTable

VERSIONS = 10

OPTIONS = {
    "hoodie.metadata.enable": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}

CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda update: update.rename("driver", "chauffeur"),
    lambda update: update.change_type("stops", "bigint"),
    lambda update: update.add("tip", "double"),
    lambda update: update.rename("trip.km", "distance"),
    lambda update: update.move("note", after="ride_id"),
    lambda update: update.drop("old"),
    lambda update: update.rename("stops", "halts"),
    lambda update: update.change_type("trip.minutes", "bigint"),
    lambda update: update.add("old", "string"),
)
"""What happens to the first table between its commits."""


def make_rows(count: int, partitions: int, commit: int, schema: pa.Schema) -> pa.Table:
    """Rows of one commit with the columns that the table has by then."""
    rng = np.random.default_rng(commit)
    ids = np.arange(count) + commit * count
    texts = pa.array(rng.integers(0, 50_000, count)).cast(pa.string())
    trip = schema.field("trip").type
    inner = [pa.array(rng.integers(1, 90, count)).cast(field.type, safe=False) for field in trip]
    values = {
        "ride_id": pc.binary_join_element_wise("ride", pa.array(ids + 10**9).cast(pa.string()), "-"),
        "ts": pa.array(ids),
        "region": pa.array([f"region-{i:04d}" for i in range(partitions)]).take(pa.array(ids % partitions)),
        "note": pc.binary_join_element_wise("note", texts, " "),
        "trip": pa.StructArray.from_arrays(inner, fields=list(trip)),
    }
    columns = []
    for field in schema:
        made = values.get(field.name)
        if made is None:
            made = texts if pa.types.is_string(field.type) else pa.array(rng.integers(0, 90, count))
        columns.append(made.cast(field.type))
    return pa.table(columns, schema=schema)


def first_schema() -> pa.Schema:
    """The first version."""
    trip = pa.struct([("km", pa.float64()), ("minutes", pa.int32())])
    names = [("ride_id", pa.string()), ("ts", pa.int64()), ("driver", pa.string()), ("stops", pa.int32())]
    rest = [("trip", trip), ("old", pa.string()), ("note", pa.string()), ("fare", pa.float64())]
    return pa.schema([*names, *rest, ("region", pa.string())])


def make_tables(folder: Path, files: int, rows: int, versions: int = VERSIONS) -> tuple[HudiTable, HudiTable]:
    """The table of many versions and that of one, each of ``files`` files of ``rows`` rows."""
    partitions = files // versions
    table, other = _create(folder / "versions"), _create(folder / "one")
    for commit in range(versions):
        if commit:
            CHANGES[commit - 1](table.update_schema(OPTIONS)).commit()
        schema = first_schema() if not commit else without_meta_columns(table.schema())
        table.bulk_insert(make_rows(rows * partitions, partitions, commit, schema), OPTIONS)
    for instant in table.timeline.write_instants():
        own = table.scan(row_filter=f"_hoodie_commit_time = '{instant.requested}'").to_arrow()
        if own.num_rows:
            other.bulk_insert(own.select(without_meta_columns(own.schema).names), OPTIONS)
    return table, other


def without_meta_columns(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field for field in schema if not field.name.startswith("_hoodie_")])


def _create(path: Path) -> HudiTable:
    return HudiTable.create(
        path, name="rides", record_keys=["ride_id"], partition_fields=["region"], ordering_fields=["ts"]
    )


def timed(run: Callable[[], int]) -> tuple[float, float, int]:
    """Wall-clock and CPU milliseconds, and what ``run`` gave."""
    gc.collect()
    begin, cpu = time.perf_counter(), time.process_time()
    rows = run()
    return (time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000, rows


def read(table: HudiTable, **query: Any) -> int:
    """Plan and read anew, from the listing on."""
    return sum(batch.num_rows for batch in HudiTable.open(table.path).scan(**query).to_batches())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    repeat = options.repeat
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        many, one = make_tables(Path(folder), options.files, options.rows)
        files = many.scan().plan().files.num_rows
        versions = len({s.version_id for s in many.client.schema_history()})
        print(f"{files} files of {options.rows} rows, {versions} versions; made in {time.perf_counter() - begin:.0f} s")
        queries: dict[str, dict[str, Any]] = {
            "planning alone": {"row_filter": "ride_id = 'nobody' and region = 'nowhere'"},
            "all columns": {},
            "three columns": {"selected_fields": ["chauffeur", "halts", "trip"]},
            "a filter on a renamed, wider column": {"selected_fields": ["ride_id", "fare"], "row_filter": "halts = 17"},
        }
        for label, query in queries.items():
            runs = [(timed(partial(read, many, **query)), timed(partial(read, one, **query))) for _ in range(repeat)]
            ours, other = zip(*runs, strict=True)
            assert ours[0][2] == other[0][2], (label, ours[0][2], other[0][2])
            wall, cpu = ([min(run[i] for run in side) for side in (ours, other)] for i in (0, 1))
            print(
                f"{label:38} {ours[0][2]:>9,} rows   versions {wall[0]:8.1f} ms   one {wall[1]:8.1f} ms   "
                f"ratio {wall[0] / wall[1]:4.2f}   of CPU {cpu[0] / cpu[1]:4.2f}"
            )


if __name__ == "__main__":
    main()
