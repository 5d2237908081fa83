"""Tables of ORC files and of HFiles, written by us and by real Hudi by turns.

    python -m integration.long.base_file_formats [--format ORC] [--version 9] [--first hudi]

After each action Hudi's rows and ours are those of a model, columns of every kind among them. Release 0.15.0 looks no
keys up in ORC files, so that it inserts alone; 1.0.2 reads them without its reader of file groups alone. Hudi writes
timestamps of whole seconds alone. No release reads HFiles in Spark: there its compactions read ours, merge-on-read
tables under a bucket index, and our rows are looked at. Those of 1.0.2 and 1.1.1 take HFiles for Parquet, or do not
write them, so that HFiles are version 6 alone.
"""

from __future__ import annotations

import base64
import datetime as dt
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import validate
from hudi_hive.table import MetaClient
from integration.support.action_runs import (
    FEW_TASKS,
    chosen_tables,
    in_order,
    print_at_once,
    print_counts,
    refuse_nothing_done,
    run_actions,
    same,
)
from integration.support.hudi_peer import HudiPeer

FIRSTS = ("ours", "hudi")
VERSIONS = (6, 8, 9)
FORMATS = ("ORC", "HFILE")

_OURS = {"hoodie.clean.automatic": "false", "hoodie.clustering.plan.strategy.sort.columns": "ts"}
_THEIRS = {
    "hoodie.table.name": "formats",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "hoodie.clean.automatic": "false",
    **FEW_TASKS,
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.datasource.write.row.writer.enable": "false",  # it writes Parquet alone
}
_BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
_COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
_READERS = {8: {"hoodie.file.group.reader.enabled": "false"}}
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("ts", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(12, 2)),
        ("data", pa.binary()),
        ("ratio", pa.float32()),
        ("flag", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("place", pa.struct([("x", pa.int32()), ("name", pa.string())])),
    ]
)
_DDL = (
    "id string, part string, ts long, at timestamp, day date, price decimal(12, 2), data binary, ratio float, "
    "flag boolean, tags array<string>, counts map<string, bigint>, place struct<x: int, name: string>"
)
_SHOWN = {"at": "unix_micros(at) AS at", "day": "CAST(day AS string) AS day", "price": "CAST(price AS string) AS price"}
_NOON = dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)

Row = dict[str, Any]


def made(key: int, part: str, step: int) -> Row:
    """A row of a key, with nulls here and there."""
    return {
        "id": f"k{key:04d}",
        "part": part,
        "ts": step,
        "at": None if key % 5 == 0 else _NOON + dt.timedelta(days=key, seconds=step),
        "day": dt.date(1900, 1, 1) + dt.timedelta(days=key * 100),
        "price": Decimal(key * 100 + step) / 100,
        "data": bytes([key % 256, step]),
        "ratio": key / 4,
        "flag": None if key % 7 == 0 else key % 2 == 0,
        "tags": None if key % 3 == 0 else [f"t{step}", None],
        "counts": [("n", key)],
        "place": None if key % 4 == 0 else {"x": key, "name": f"p{step}"},
    }


def shown(row: Row) -> Row:
    """A row as Spark's JSON has it under the expressions of ``_SHOWN``, without nulls."""
    at = row["at"]
    texts = {
        "at": None if at is None else (at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1),
        "day": row["day"].isoformat(),
        "price": f"{row['price']:.2f}",
        "data": base64.b64encode(row["data"]).decode(),
        "counts": dict(row["counts"]),
    }
    return {name: value for name, value in {**row, **texts}.items() if value is not None}


@dataclass
class Life:
    """One table, action by action.

    Attributes:
        path: base path, not there yet.
        file_format: ``ORC`` or ``HFILE``.
        first: who makes it.
        peer: real Hudi of the table's version.
        rows: the model, by key.
    """

    path: Path
    file_format: str
    first: str
    peer: HudiPeer
    rows: dict[str, Row] = field(default_factory=dict)
    step: int = 0

    def actions(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Names of the actions and what does them, in their order."""
        second = "hudi" if self.first == "ours" else "ours"
        if self.file_format == "HFILE":
            yield from self.of_hfiles(second)
            return
        updates = self.peer.version > 6
        yield f"{self.first} make it", lambda: self.put(self.first, range(60), "bulk_insert")
        yield f"{second} insert", lambda: self.put(second, range(60, 80), "insert")
        yield "ours upsert", lambda: self.put("ours", range(50, 90), "upsert")
        if updates:
            yield "hudi upsert", lambda: self.put("hudi", range(70, 100), "upsert")
            yield "hudi delete", lambda: self.delete("hudi", range(5))
        yield "ours delete", lambda: self.delete("ours", range(10, 15))
        yield "ours cluster", lambda: refuse_nothing_done(self.table.cluster(_OURS).result)
        yield "hudi insert behind it", lambda: self.put("hudi", range(100, 120), "insert")
        if updates:
            yield "hudi upsert behind it", lambda: self.put("hudi", range(40, 60), "upsert")
        yield "ours upsert by bloom filters", self.by_bloom_filters
        yield "ours delete a partition", self.delete_partition

    def of_hfiles(self, second: str) -> Iterator[tuple[str, Callable[[], object]]]:
        yield f"{self.first} make it", lambda: self.put(self.first, range(60), "upsert")
        yield "ours upsert and compact first", lambda: self.put("ours", range(50, 70), "upsert", **_COMPACT)
        yield f"{second} upsert", lambda: self.put(second, range(40, 80), "upsert")
        yield "hudi upsert and compact", lambda: self.put("hudi", range(70, 90), "upsert", **_COMPACT)
        yield "ours upsert and compact", lambda: self.put("ours", range(0, 90, 4), "upsert", **_COMPACT)
        yield "hudi upsert and compact again", lambda: self.put("hudi", range(0, 90, 7), "upsert", **_COMPACT)
        yield "ours delete", lambda: self.delete("ours", range(10, 15))
        yield "hudi upsert and compact at last", lambda: self.put("hudi", range(100, 110), "upsert", **_COMPACT)

    # -- what is done ------------------------------------------------------------------------------------------------

    @property
    def table(self) -> HudiTable:
        if not self.path.exists():
            names = {"record_keys": ["id"], "partition_fields": ["part"], "ordering_fields": ["ts"]}
            kind = "MERGE_ON_READ" if self.file_format == "HFILE" else "COPY_ON_WRITE"
            made = partial(HudiTable.create, self.path, name="formats", version=self.peer.version, table_type=kind)
            return made(base_file_format=self.file_format, **names)
        return HudiTable.open(str(self.path))

    def put(self, who: str, keys: range, operation: str, **options: str) -> None:
        self.step += 1
        rows = [made(key, "xy"[key % 2], self.step) for key in keys]
        if who == "ours":
            write = getattr(self.table, operation)
            write(pa.Table.from_pylist(rows, _SCHEMA), {**_OURS, **self.index, **options})
        else:
            self.theirs(rows, operation, options)
        self.rows |= {row["id"]: row for row in rows}

    @property
    def index(self) -> dict[str, str]:
        return _BUCKETS if self.file_format == "HFILE" else {"hoodie.index.type": "SIMPLE"}

    def theirs(self, rows: list[Row], operation: str, more: dict[str, str]) -> None:
        lines = [
            {**shown(row), "at": row["at"] and row["at"].isoformat(), "price": float(row["price"])} for row in rows
        ]
        options = {
            **_THEIRS,
            **dict.fromkeys(("hoodie.table.base.file.format", "hoodie.base.file.format"), self.file_format),
            "hoodie.datasource.write.table.type": "MERGE_ON_READ" if self.file_format == "HFILE" else "COPY_ON_WRITE",
            "hoodie.datasource.write.operation": operation,
            **self.index,
            **more,
        }
        self.peer.write(self.path, lines, _DDL, options)

    def delete(self, who: str, keys: range) -> None:
        self.step += 1
        gone = [made(key, "xy"[key % 2], self.step) for key in keys]
        if who == "ours":
            self.table.delete(pa.Table.from_pylist(gone, _SCHEMA), {**_OURS, **self.index})
        else:
            self.theirs(gone, "delete", {})
        for row in gone:
            self.rows.pop(row["id"], None)

    def by_bloom_filters(self) -> None:
        self.put("ours", range(30, 70, 3), "upsert", **{"hoodie.index.type": "BLOOM"})

    def delete_partition(self) -> None:
        self.table.delete_partitions(["y"], _OURS)
        self.rows = {key: row for key, row in self.rows.items() if row["part"] != "y"}

    # -- what is seen ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Hudi's rows and ours are the model's, and all base files are of the format."""
        expected = in_order(shown(row) for row in self.rows.values())
        columns = [_SHOWN.get(name, name) for name in _SCHEMA.names]
        if self.file_format != "HFILE":
            rows = self.peer.read(self.path, columns, _READERS.get(self.peer.version))
            same("rows of Hudi", in_order(rows), expected)
        ours = HudiTable.open(str(self.path)).scan().to_arrow().select(_SCHEMA.names).cast(_SCHEMA)
        same("our rows", in_order(map(shown, ours.to_pylist())), expected)
        formats = {file.suffix for part in "xy" for file in self.path.glob(f"{part}/[!.]*.*")}
        same("other formats", formats - {f".{self.file_format.lower()}"}, set())
        report = validate(MetaClient.load(self.path))
        same("our validation", str(report) if report.errors else "", "")


def run(
    file_format: str, first: str, peer: HudiPeer, path: Path, tell: Callable[[str], object] = print_at_once
) -> tuple[int, int]:
    """One table's life.

    Args:
        file_format: ``ORC`` or ``HFILE``.
        first: who makes it.
        peer: real Hudi of the table's version.
        path: base path of the table, not there yet.
        tell: is told what became of each action.

    Returns:
        How many actions there were, and behind how many of them all was as it should be.
    """
    life = Life(path, file_format, first, peer)

    def look(name: str) -> str:
        del name
        life.check()
        return f", {len(life.rows)} rows"

    return run_actions(f"{file_format} version {peer.version} {first}", life.actions(), look, tell)


def main() -> int:
    """Run the chosen tables; print a line for each action and the numbers."""
    counts = []
    with chosen_tables(__doc__, format=FORMATS, version=VERSIONS, first=FIRSTS) as (chosen, folder):
        for version in chosen.version:
            with HudiPeer(version) as peer:
                for file_format, first in product(chosen.format, chosen.first):
                    if file_format == "HFILE" and version > 6:
                        continue
                    counts.append(run(file_format, first, peer, folder / f"{file_format}_v{version}_{first}"))
    return print_counts(counts)


if __name__ == "__main__":
    sys.exit(main())
