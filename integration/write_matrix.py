"""Every operation on every kind of table, written by us and by real Hudi, read and written to by the other one next.

    python -m integration.write_matrix [--version 6] [--type MERGE_ON_READ] [--operation upsert] [--first ours]

A cell: one side makes a table and does the operation; the other reads it, with the metadata table on and off, and
upserts into it; the first reads that and upserts again; the other reads that. All along a model says what the rows are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing
from hudi_hive.table import MetaClient
from hudi_hive.table.creation import create_table
from hudi_hive.write.local import LocalWriter
from integration.hudi_peer import HudiPeer

OPERATIONS = (
    "bulk_insert",
    "insert",
    "upsert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
VERSIONS = (6, 8, 9)
FIRSTS = ("ours", "hudi")
PARTITIONS = ("x", "y", "z")

# More than 18 digits: smaller decimals, which Spark writes as INT64, real Hudi 1.0.2 multiplies by their scale when it
# rewrites a file of its bulk_insert.
_DDL = "id string, part string, ts long, name string, price decimal(20,2), at timestamp, tags array<string>, n int"
_COLUMNS = ("id", "part", "ts", "name", "cast(price as string) price", "cast(at as string) at", "tags", "n")
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("ts", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(20, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
        ("n", pa.int32()),
    ]
)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_OPTIONS = {
    "hoodie.table.name": "matrix",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    # Two-level lists, the default, cannot hold what Arrow and Avro can.
    "hoodie.parquet.writelegacyformat.enabled": "false",
    "spark.hadoop.parquet.avro.write-old-list-structure": "false",
    "hoodie.index.bloom.num_entries": "1000",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One case of the matrix."""

    operation: str
    table_type: str
    version: int
    first: str
    metadata: bool = True

    def __str__(self) -> str:
        return f"{self.operation}-{self.table_type}-{self.version}-{self.first}"


def cells() -> list[Cell]:
    """All of them, those of one version together."""
    return [Cell(o, t, v, f) for v in VERSIONS for t in TYPES for f in FIRSTS for o in OPERATIONS]


@dataclass
class Model:
    """The rows that the table must have, and what comes next."""

    rows: dict[str, Row] = field(default_factory=dict)
    step: int = 0

    def row(self, key: str, part: str) -> Row:
        number = self.step * 1000 + int(key[1:])
        return {
            "id": key,
            "part": part,
            "ts": self.step,
            "name": f"{key} of step {self.step}" if number % 5 else None,
            "price": f"{number}.{number % 100:02d}",
            "at": str((_START + timedelta(seconds=number)).replace(tzinfo=None)),
            "tags": [f"t{number % 3}", "é"] if number % 4 else [],
            "n": -number if number % 7 else None,
        }

    def fresh(self, count: int, parts: Sequence[str] = PARTITIONS) -> list[Row]:
        """New rows."""
        begin = self.step * 100
        return [self.row(f"k{begin + number}", parts[number % len(parts)]) for number in range(count)]

    def changed(self, count: int) -> list[Row]:
        """New versions of rows that are there, of all partitions."""
        keys = sorted(self.rows)[:: max(1, len(self.rows) // count)][:count]
        return [self.row(key, self.rows[key]["part"]) for key in keys]

    def do(self, operation: str) -> list[Row]:
        """The next operation's rows, taken into the model."""
        self.step += 1
        if operation == "delete":
            given = self.changed(5)
            for row in given:
                del self.rows[row["id"]]
            return given
        if operation == "delete_partition":
            self.rows = {key: row for key, row in self.rows.items() if row["part"] != "y"}
            return self.fresh(1, ["y"])  # real Hudi wants some frame, and does not look at it
        if operation == "upsert":
            given = self.changed(6) + self.fresh(3)
        elif operation == "insert_overwrite":
            given = self.fresh(3, ["x"])
            self.rows = {key: row for key, row in self.rows.items() if row["part"] != "x"}
        elif operation == "insert_overwrite_table":
            given = self.fresh(5, ["x", "z"])
            self.rows = {}
        else:
            given = self.fresh(24 if not self.rows else 6)
        self.rows |= {row["id"]: row for row in given}
        return given

    def expected(self) -> list[Row]:
        return [self.rows[key] for key in sorted(self.rows)]


class Ours:
    """Our side."""

    def __init__(self, path: Path, cell: Cell) -> None:
        self.path, self.cell = path, cell

    def create(self) -> None:
        create_table(
            self.path,
            name="matrix",
            table_type=self.cell.table_type,
            version=self.cell.version,
            record_keys=["id"],
            partition_fields=["part"],
            ordering_fields=["ts"],
        )

    def write(self, operation: str, rows: list[Row]) -> None:
        client = MetaClient.load(self.path)
        options = {"hoodie.datasource.write.operation": operation}
        if not self.cell.metadata:
            options["hoodie.metadata.enable"] = "false"
        writer = LocalWriter(client, options)
        if operation == "delete_partition":
            writer.delete_partitions(["y"])
        else:
            writer.write(arrow_rows(rows))

    def read(self, metadata: bool) -> list[Row]:
        client = MetaClient.load(self.path, listing=MetadataListing() if metadata else None)
        found = HudiTable(client).scan().to_arrow().select(_SCHEMA.names).to_pylist()
        return sorted((_plain(row) for row in found), key=_key)


class Theirs:
    """Real Hudi's side."""

    def __init__(self, path: Path, cell: Cell, peer: HudiPeer) -> None:
        self.path, self.peer = path, peer
        self.options = {**_OPTIONS, "hoodie.datasource.write.table.type": cell.table_type}
        if not cell.metadata:
            self.options["hoodie.metadata.enable"] = "false"

    def create(self) -> None:
        """The first write makes the table."""

    def write(self, operation: str, rows: list[Row]) -> None:
        options = {**self.options, "hoodie.datasource.write.operation": operation}
        if operation == "delete_partition":
            options["hoodie.datasource.write.partitions.to.delete"] = "y"
        mode = "append" if (self.path / ".hoodie").exists() else "overwrite"
        self.peer.write(self.path, rows, _DDL, options, mode)

    def read(self, metadata: bool) -> list[Row]:
        found = self.peer.read(self.path, _COLUMNS, {"hoodie.metadata.enable": str(metadata).lower()})
        return sorted(({name: row.get(name) for name in _SCHEMA.names} for row in found), key=_key)


def arrow_rows(rows: Iterable[Row]) -> pa.Table:
    """Rows of the model as Arrow."""
    typed = [
        {
            **row,
            "price": Decimal(row["price"]),
            "at": datetime.fromisoformat(row["at"]).replace(tzinfo=UTC),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(typed, schema=_SCHEMA)


def _plain(row: Row) -> Row:
    return {**row, "price": str(row["price"]), "at": str(row["at"].replace(tzinfo=None))}


def _key(row: Row) -> str:
    return str(row["id"])


class Difference(AssertionError):
    """Rows are not those of the model."""


def run(cell: Cell, peer: HudiPeer, path: Path) -> None:
    """One cell; raises what went wrong, with the step in front.

    Args:
        cell: the cell.
        peer: real Hudi of the cell's version.
        path: base path of the table, not there yet.
    """
    model = Model()
    ours, theirs = Ours(path, cell), Theirs(path, cell, peer)
    first, second = (ours, theirs) if cell.first == "ours" else (theirs, ours)
    first.create()
    _step(cell, "seed", lambda: first.write("bulk_insert", model.do("bulk_insert")))
    _step(cell, cell.operation, lambda: first.write(cell.operation, model.do(cell.operation)))
    for writer, reader in ((None, second), (second, first), (first, second)):
        if writer is not None:
            _step(cell, f"upsert by {_who(writer)}", lambda w=writer: w.write("upsert", model.do("upsert")))
        for metadata in (False, True):
            what = f"read by {_who(reader)}, metadata {'on' if metadata else 'off'}, step {model.step}"
            _step(cell, what, lambda r=reader, m=metadata: _compare(r.read(m), model.expected()))


def _who(side: Ours | Theirs) -> str:
    return "us" if isinstance(side, Ours) else "Hudi"


def _step(cell: Cell, what: str, do: Any) -> None:
    try:
        do()
    except Exception as error:
        error.add_note(f"{cell}: {what}")
        raise


def _compare(found: list[Row], expected: list[Row]) -> None:
    if found == expected:
        return
    ours, theirs = {_key(row): row for row in found}, {_key(row): row for row in expected}
    missing, more = sorted(theirs.keys() - ours.keys()), sorted(ours.keys() - theirs.keys())
    other = [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys()) if ours[key] != theirs[key]]
    raise Difference(
        f"{len(found)} rows for {len(expected)}; missing {missing[:5]}, too many {more[:5]}, "
        f"{len(other)} others, as {other[:1]}"
    )


def main() -> int:
    """Run the cells that the arguments choose; print one line each and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--operation", action="append", choices=OPERATIONS)
    parser.add_argument("--first", action="append", choices=FIRSTS)
    parser.add_argument("--keep", type=Path, help="leave the tables there")
    parser.add_argument("--without-metadata", action="store_true", help="nobody writes a metadata table")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    chosen = parser.parse_args()
    passed = total = 0
    with ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="write_matrix_")))
        for version in chosen.version or VERSIONS:
            with HudiPeer(version) as peer:
                for cell in cells():
                    wanted = (chosen.type, chosen.operation, chosen.first)
                    values = (cell.table_type, cell.operation, cell.first)
                    if cell.version != version or any(w and v not in w for w, v in zip(wanted, values, strict=True)):
                        continue
                    cell = replace(cell, metadata=not chosen.without_metadata)
                    total += 1
                    begin = time.perf_counter()
                    try:
                        run(cell, peer, folder / str(cell))
                        passed += 1
                        outcome = "ok"
                    except Exception as error:
                        notes = " ".join(getattr(error, "__notes__", []))
                        outcome = f"FAILED {notes}: {type(error).__name__}: {str(error)[:600]}"
                        if chosen.trace:
                            traceback.print_exc()
                    print(f"{cell} {time.perf_counter() - begin:.1f} s {outcome}", flush=True)
    print(f"{passed} of {total} passed")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
