"""Every operation on every kind of table, written by us and by real Hudi, read and written to by the other one next.

    python -m integration.long.write_matrix [--version 6] [--type MERGE_ON_READ] [--operation upsert] [--first ours]
    python -m integration.long.write_matrix --kind buckets --kind days
    python -m integration.long.write_matrix --store s3 [--version 9] [--operation upsert]  # or hdfs

A cell: one side makes a table and does the operation; the other reads it, with the metadata table on and off, and
upserts into it; the first reads that and upserts again; the other reads that. Cells of the further kinds of tables do
several operations by turns, and the other side reads after each. All along a model says what the rows are.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metadata import MetadataListing
from hudi_hive.storage import Storage
from hudi_hive.table import MetaClient
from hudi_hive.table.core import TableDefinition, create_table
from hudi_hive.write.writers import LocalWriter
from integration.long.store_faults import IMPATIENT, breaking_store
from integration.long.write_matrix_kinds import KINDS, LETTERS, TYPES, Kind
from integration.support.hudi_peer import HudiPeer
from integration.support.stores.hdfs import HdfsServer

OPERATIONS = (
    "bulk_insert",
    "insert",
    "upsert",
    "delete",
    "insert_overwrite",
    "insert_overwrite_table",
    "delete_partition",
)
VERSIONS = (6, 8, 9)
FIRSTS = ("ours", "hudi")
TURNS = "turns"
"""Operation of the cells of the further kinds of tables."""

# More than 18 digits: smaller decimals, which Spark writes as INT64, real Hudi 1.0.2 multiplies by their scale when it
# rewrites a file of its bulk_insert.
_DDL = "id string, part string, ts long, name string, price decimal(20,2), at timestamp, tags array<string>, n int"
_AS_TEXT = {"price": "cast(price as string) price", "at": "cast(at as string) at"}
_FOLDER = "_hoodie_partition_path"
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
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "1",
    # What only takes time: a cell has too few commits to be cleaned or archived.
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
    "hoodie.metadata.record.index.min.filegroup.count": "2",
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
    kind: str = "plain"

    def __str__(self) -> str:
        what = self.operation if self.kind == "plain" else self.kind
        return f"{what}-{self.table_type}-{self.version}-{self.first}{'' if self.metadata else '-without'}"

    @property
    def table(self) -> Kind:
        """What its table is like."""
        return KINDS[self.kind]


def cells() -> list[Cell]:
    """All of them, those of one version together."""
    found = [Cell(o, t, v, f) for v in VERSIONS for t in TYPES for f in FIRSTS for o in OPERATIONS]
    further = [kind.name for kind in KINDS.values() if kind.turns]
    pairs = [(TYPES[at], FIRSTS[1 - at]) for at in range(2)] + [(TYPES[at], FIRSTS[at]) for at in range(2)]
    found += [Cell(TURNS, t, v, f, kind=kind) for v in VERSIONS for t, f in pairs for kind in further]
    return [cell for cell in found if (cell.version, cell.table_type) not in cell.table.unreadable]


@dataclass
class Model:
    """The rows that the table must have, what became of them at each step, and what comes next."""

    kind: Kind = KINDS["plain"]
    rows: dict[str, Row] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)
    changes: list[tuple[str, str, int | None, int | None]] = field(default_factory=list)
    step: int = 0

    def row(self, key: str, letter: str) -> Row:
        number = self.step * 1000 + int(key[1:])
        return {
            "id": key,
            "part": letter,
            "ts": self.step,
            "name": f"{key} of step {self.step}" if number % 5 else None,
            "price": f"{number}.{number % 100:02d}",
            "at": str((_START + timedelta(seconds=number)).replace(tzinfo=None)),
            "tags": [f"t{number % 3}", "é"] if number % 4 else [],
            "n": -number if number % 7 else None,
            **self.kind.places[letter],
        }

    def fresh(self, count: int, letters: Sequence[str] = LETTERS) -> list[Row]:
        """New rows."""
        begin = self.step * 100
        placed = {f"k{begin + number}": letters[number % len(letters)] for number in range(count)}
        self.letters |= placed
        return [self.row(key, letter) for key, letter in placed.items()]

    def changed(self, count: int) -> list[Row]:
        """New versions of rows that are there, of all partitions."""
        keys = sorted(self.rows)[:: max(1, len(self.rows) // count)][:count]
        return [self.row(key, self.letters[key]) for key in keys]

    def do(self, operation: str) -> list[Row]:
        """The next operation's rows, taken into the model."""
        self.step += 1
        before = dict(self.rows)
        given = self._do(operation)
        replaced = operation.startswith("insert_overwrite")
        for key in before.keys() | self.rows.keys():
            old, new = before.get(key), self.rows.get(key)
            if old is not new:
                op = "i" if old is None else "d" if new is None else "u"
                assert not (replaced and op == "u")  # would be told as two changes
                self.changes.append((op, key, old and old["ts"], new and new["ts"]))
        return given

    def _do(self, operation: str) -> list[Row]:
        if operation == "delete":
            given = self.changed(5)
            self._drop({row["id"] for row in given})
            return given
        if operation == "delete_partition":
            self._drop(self._at("y"))
            return [self.row("k1", "y")]  # real Hudi wants some frame, and does not look at it
        if operation == "upsert":
            given = self.changed(6) + self.fresh(3)
        elif operation == "insert_overwrite":
            self._drop(self._at("x"))
            given = self.fresh(3, ["x"])
        elif operation == "insert_overwrite_table":
            self._drop(set(self.rows))
            given = self.fresh(5, ["x", "z"])
        else:
            given = self.fresh(24 if not self.rows else 6)
        self.rows |= {row["id"]: row for row in given}
        return given

    def _at(self, letter: str) -> set[str]:
        """Keys in the folder of a letter."""
        paths = self.kind.paths
        return {key for key in self.rows if paths[self.letters[key]] == paths[letter]}

    def _drop(self, keys: set[str]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if key not in keys}

    def expected(self) -> list[Row]:
        """The rows by key; the folder in place of columns that readers show differently."""
        hidden = self.kind.hidden
        return [
            {name: value for name, value in self.rows[key].items() if name not in hidden}
            | ({_FOLDER: self.kind.paths[self.letters[key]]} if hidden else {})
            for key in sorted(self.rows)
        ]


class Ours:
    """Our side."""

    name = "us"

    def __init__(self, path: Path | str, cell: Cell, storage_options: Mapping[str, str] | None = None) -> None:
        self.path, self.cell, self.kind = path, cell, cell.table
        self.storage_options = storage_options
        self.schema = _schema(self.kind)

    def create(self) -> None:
        create_table(
            self.path,
            TableDefinition(
                name="matrix",
                table_type=self.cell.table_type,
                version=self.cell.version,
                record_keys=["id"],
                partition_fields=self.kind.partition_fields,
                ordering_fields=["ts"],
                **self.kind.created,
            ),
            storage_options=self.storage_options,
        )

    def write(self, operation: str, rows: list[Row]) -> None:
        client = MetaClient.load(self.path, self.storage_options)
        options = {**self.kind.options, "hoodie.datasource.write.operation": operation}
        if not self.cell.metadata:
            options["hoodie.metadata.enable"] = "false"
        writer = LocalWriter(client, options)
        if operation == "delete_partition":
            writer.delete_partitions([self.kind.paths["y"]])
        else:
            writer.write(arrow_rows(rows, self.schema))

    def read(self, metadata: bool) -> list[Row]:
        listing = MetadataListing() if metadata else None
        client = MetaClient.load(self.path, self.storage_options, listing=listing)
        found = HudiTable(client).scan().to_arrow().select(_shown(self.kind)).to_pylist()
        return sorted((_plain(row) for row in found), key=_key)

    def read_changes(self) -> list[tuple[str, str, int | None, int | None]]:
        table = HudiTable.open(self.path, self.storage_options)
        return _changes(table.scan(query_type="cdc", begin="earliest").to_arrow().to_pylist())


class Theirs:
    """Real Hudi's side."""

    name = "Hudi"

    def __init__(
        self, path: Path | str, cell: Cell, peer: HudiPeer, storage_options: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.peer, self.kind = path, peer, cell.table
        self.storage_options = storage_options
        self.leaves_out_changes = cell.table_type == "MERGE_ON_READ" or cell.version < 9
        self.options = {
            **_OPTIONS,
            "hoodie.datasource.write.table.type": cell.table_type,
            "hoodie.datasource.write.partitionpath.field": ",".join(self.kind.partition_fields),
            **self.kind.options,
            **self.kind.hudi,
        }
        if not cell.metadata:
            self.options["hoodie.metadata.enable"] = "false"
        self.ddl = ", ".join([_DDL, *(f"{name} {kind}" for name, (_, kind) in self.kind.columns.items())])

    def create(self) -> None:
        """The first write makes the table."""

    def write(self, operation: str, rows: list[Row]) -> None:
        options = {**self.options, "hoodie.datasource.write.operation": operation}
        if operation == "delete_partition":
            options["hoodie.datasource.write.partitions.to.delete"] = self.kind.paths["y"]
        exists = Storage(self.path, self.storage_options).exists(".hoodie")
        mode = "append" if exists else "overwrite"
        self.peer.write(self.path, rows, self.ddl, options, mode)

    def read(self, metadata: bool) -> list[Row]:
        names = _shown(self.kind)
        columns = [_AS_TEXT.get(name, f"`{name}`") for name in names]
        found = self.peer.read(self.path, columns, {"hoodie.metadata.enable": str(metadata).lower()})
        return sorted(({name: row.get(name) for name in names} for row in found), key=_key)

    def read_changes(self) -> list[tuple[str, str, int | None, int | None]]:
        options = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.query.incremental.format": "cdc",
            "hoodie.datasource.read.begin.instanttime": "000",
        }
        return _changes(self.peer.read(self.path, ["op", "before", "after"], options))


def _schema(kind: Kind) -> pa.Schema:
    return pa.schema([*_SCHEMA, *(pa.field(name, column) for name, (column, _) in kind.columns.items())])


def _shown(kind: Kind) -> list[str]:
    """Columns that are compared."""
    return [name for name in _schema(kind).names if name not in kind.hidden] + ([_FOLDER] if kind.hidden else [])


def _changes(rows: Iterable[Row]) -> list[tuple[str, str, int | None, int | None]]:
    """What became of each key: by the ordering values, which are the steps of the model, before and after."""
    found = []
    for row in rows:
        before, after = (json.loads(row[side]) if row.get(side) else None for side in ("before", "after"))
        key = (after or before or {}).get("id", "?")
        found.append((row["op"], key, before and before["ts"], after and after["ts"]))
    return sorted(found, key=str)


def arrow_rows(rows: Iterable[Row], schema: pa.Schema = _SCHEMA) -> pa.Table:
    """Rows of the model as Arrow."""
    typed = [
        {
            **row,
            "price": Decimal(row["price"]),
            "at": datetime.fromisoformat(row["at"]).replace(tzinfo=UTC),
        }
        for row in rows
    ]
    return pa.Table.from_pylist(typed, schema=schema)


def _plain(row: Row) -> Row:
    return {**row, "price": str(row["price"]), "at": str(row["at"].replace(tzinfo=None))}


def _key(row: Row) -> str:
    return str(row["id"])


class DifferenceError(AssertionError):
    """Rows are not those of the model."""


def run(cell: Cell, peer: HudiPeer, path: Path | str, storage_options: Mapping[str, str] | None = None) -> None:
    """One cell; raises what went wrong, with the step in front.

    Args:
        cell: the cell.
        peer: real Hudi of the cell's version.
        path: base path of the table, not there yet.
        storage_options: of its store.
    """
    model = Model(cell.table)
    ours, theirs = Ours(path, cell, storage_options), Theirs(path, cell, peer, storage_options)
    first, second = (ours, theirs) if cell.first == "ours" else (theirs, ours)
    first.create()
    if cell.operation == TURNS:
        return _take_turns(cell, model, first, second)
    # 1.1.1 finds no schema for a delete from a merge-on-read table that had nothing but its own bulk_insert.
    seed = "insert" if cell.operation == "delete" else "bulk_insert"
    _step(cell, "seed", lambda: first.write(seed, model.do(seed)))
    _step(cell, cell.operation, lambda: first.write(cell.operation, model.do(cell.operation)))
    for writer, reader in ((None, second), (second, first), (first, second)):
        if writer is not None:
            _step(cell, f"upsert by {writer.name}", lambda w=writer: w.write("upsert", model.do("upsert")))
        _read(cell, model, reader)


def _take_turns(cell: Cell, model: Model, first: Ours | Theirs, second: Ours | Theirs) -> None:
    for turn, operation in cell.table.turns:
        writer = first if turn == "first" else second
        _step(cell, f"{operation} by {writer.name}", lambda w=writer, o=operation: w.write(o, model.do(o)))
        # The other one reads: with and without the metadata table by turns, and both ways at the end.
        reader = second if writer is first else first
        _read(cell, model, reader, (model.step % 2 == 0,))
    for reader in (first, second):
        _read(cell, model, reader)
    if cell.table.changes:
        told = sorted(model.changes, key=str)
        for reader in (first, second):
            _step(cell, f"changes by {reader.name}", lambda r=reader: _compare_changes(r, told))


def _read(cell: Cell, model: Model, reader: Ours | Theirs, ways: Sequence[bool] = (False, True)) -> None:
    for metadata in ways:
        what = f"read by {reader.name}, metadata {'on' if metadata else 'off'}, step {model.step}"
        _step(cell, what, lambda m=metadata: _compare(reader.read(m), model.expected()))


def _step(cell: Cell, what: str, do: Any) -> None:
    try:
        do()
    except Exception as error:
        error.add_note(f"{cell}: {what}")
        raise


def _compare(actual: list[Row], expected: list[Row]) -> None:
    if actual == expected:
        return
    ours, theirs = {_key(row): row for row in actual}, {_key(row): row for row in expected}
    missing, more = sorted(theirs.keys() - ours.keys()), sorted(ours.keys() - theirs.keys())
    other = [(ours[key], theirs[key]) for key in sorted(ours.keys() & theirs.keys()) if ours[key] != theirs[key]]
    raise DifferenceError(
        f"{len(actual)} rows for {len(expected)}; missing {missing[:5]}, too many {more[:5]}, "
        f"{len(other)} others, as {other[:1]}"
    )


def _compare_changes(reader: Ours | Theirs, expected: list[Any]) -> None:
    actual = reader.read_changes()
    missing, more = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    if isinstance(reader, Theirs) and reader.leaves_out_changes:
        # Of a merge-on-read table, its own too, real Hudi leaves out changes and tells some deletes of older rows;
        # 0.15 and 1.0 of any table: 41 and 40 of these 80 changes when they alone wrote a copy-on-write one.
        missing, more = Counter(), Counter({change: n for change, n in more.items() if change[0] != "d"})
    if missing or more or not actual:
        raise DifferenceError(
            f"{len(actual)} changes for {len(expected)}; {missing.total()} missing, as {list(missing)[:6]}, "
            f"{more.total()} too many, as {list(more)[:6]}"
        )


def main() -> int:
    """Run the cells that the arguments choose; print one line each and the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", type=int, action="append", choices=VERSIONS)
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--operation", action="append", choices=(*OPERATIONS, TURNS))
    parser.add_argument("--first", action="append", choices=FIRSTS)
    parser.add_argument("--kind", action="append", choices=tuple(KINDS))
    parser.add_argument("--store", choices=("s3", "hdfs"), help="tables are there, and not on local disk")
    parser.add_argument("--faults", type=float, default=0.0, help="part of our own requests to S3 that is broken")
    parser.add_argument("--keep", type=Path, help="leave the tables there")
    parser.add_argument("--without-metadata", action="store_true", help="nobody writes a metadata table")
    parser.add_argument("--trace", action="store_true", help="print tracebacks")
    chosen = parser.parse_args()
    passed, total = Counter[int](), Counter[int]()
    with ExitStack() as stack:
        folder: Path | str = chosen.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="write_matrix_"))
        options, hadoop = None, None
        if chosen.store == "s3":
            store = breaking_store(chosen.faults, "matrix", lambda: total.total() - passed.total())
            server, proxy = stack.enter_context(store)
            folder, hadoop = server.folder("s3a"), server.hadoop()
            options = {**server.options(proxy.port), **IMPATIENT} if chosen.faults else server.options()
        elif chosen.store == "hdfs":
            folder = stack.enter_context(HdfsServer()).folder()
        for version in chosen.version or VERSIONS:
            wanted = [replace(cell, metadata=not chosen.without_metadata) for cell in _chosen(chosen, version)]
            with HudiPeer(version, hadoop) as peer:
                for cell in wanted:
                    total[version] += 1
                    do = partial(run, cell, peer, f"{folder}/{cell}", options)
                    passed[version] += _report(cell, do, chosen.trace)
    print(*(f"version {version}: {passed[version]} of {total[version]} passed" for version in total), sep="\n")
    print(f"{passed.total()} of {total.total()} passed")
    return 0 if passed == total else 1


def _chosen(chosen: argparse.Namespace, version: int) -> list[Cell]:
    wanted = [(getattr(chosen, name), name) for name in ("operation", "first", "kind")] + [(chosen.type, "table_type")]
    return [
        cell
        for cell in cells()
        if cell.version == version
        and all(not values or getattr(cell, name) in values for values, name in wanted)
        and not (chosen.without_metadata and cell.kind == "record_index")
    ]


def _report(cell: Cell, do: Callable[[], None], trace: bool) -> bool:
    """One cell, and a line about it."""
    begin = time.perf_counter()
    outcome = "ok"
    try:
        do()
    except Exception as error:
        notes = " ".join(getattr(error, "__notes__", []))
        outcome = f"FAILED {notes}: {type(error).__name__}: {str(error)[:1500]}"
        if trace:
            traceback.print_exc()
    print(f"{cell} {time.perf_counter() - begin:.1f} s {outcome}", flush=True)
    return outcome == "ok"


if __name__ == "__main__":
    sys.exit(main())
