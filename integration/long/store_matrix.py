"""Everything that is done to tables, done on local disk and on a store: what is seen must be the same after each step.

    python -m integration.long.store_matrix [--store hdfs] [--part services] [--version 6] [--type MERGE_ON_READ]
    python -m integration.long.store_matrix --uri hdfs://127.0.0.1:9000/matrix

Parts: write operations with incremental pulls and change data; table services; savepoints, restores and rollbacks;
mutations by key; changes of the schema; syncs to a metastore; mutations of Hive's ACID tables. Without a URI a
server is started.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from hudi_hive import HudiTable
from hudi_hive.metastore import HiveMetastore, TransactionClient
from hudi_hive.mutation import MutatorClient, merge
from hudi_hive.mutation.acid_table import AcidReader
from hudi_hive.mutation.hudi import HudiMutatorCoordinator
from hudi_hive.sync import HiveSyncConfig, HiveSyncTool
from hudi_hive.testing import FakeMetastore
from integration.support.matrix import TYPES, MatrixCase, Seen, all_cases, case_parser, compare_steps, run_cases
from integration.support.stores.running import add_store_arguments, chosen_store
from tests.support.mutation.acid_definitions import acid_table

_SMALL: Final = {"hoodie.metadata.record.index.min.filegroup.count": "1"}


@dataclass(frozen=True)
class Place:
    """Where a table is.

    Attributes:
        uri: its base path.
        options: storage options.
    """

    uri: str
    options: Mapping[str, str] | None = None

    def open(self) -> HudiTable:
        """The table as of now."""
        return HudiTable.open(self.uri, self.options)

    def rows(self, **query: Any) -> list[Any]:
        """Rows of a query by key, without Hudi's columns, which hold times."""
        table = self.open().scan(**query).to_arrow()
        shown = [name for name in table.column_names if not name.startswith("_hoodie")]
        return sorted(table.select(shown).to_pylist(), key=str)


@dataclass(frozen=True)
class Case(MatrixCase):
    """One kind of table in one part of the matrix."""

    def create(self, place: Place, **fields: Any) -> HudiTable:
        """Make the table."""
        given = {
            "name": "t",
            "version": self.version,
            "table_type": self.table_type,
            "record_keys": ["id"],
            "partition_fields": ["p"],
            "ordering_fields": ["ts"],
            **fields,
        }
        return HudiTable.create(place.uri, storage_options=place.options, **given)


def some_rows(first: int, count: int, ts: int) -> pa.Table:
    """Rows in three partitions, which the key says."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": [f"k{number:03d}" for number in numbers],
            "ts": pa.array([ts] * count, pa.int64()),
            "p": [f"p {number % 3}" for number in numbers],
            "v": [f"{number} at {ts}" if number % 4 else None for number in numbers],
        }
    )


def writes(case: Case, place: Place) -> Iterator[Seen]:
    """Write operations, and all queries after each."""
    table = case.create(place, cdc=not case.is_mor)
    steps: list[tuple[str, Callable[[], Any]]] = [
        ("bulk_insert", lambda: table.bulk_insert(some_rows(0, 12, 1), _SMALL)),
        ("insert", lambda: table.insert(some_rows(12, 6, 2), _SMALL)),
        ("upsert", lambda: table.upsert(some_rows(10, 6, 3), _SMALL)),
        ("delete", lambda: table.delete(some_rows(3, 3, 4), _SMALL)),
        ("insert_overwrite", lambda: table.insert_overwrite(some_rows(21, 1, 5), _SMALL)),
        ("upsert again", lambda: table.upsert(some_rows(1, 9, 6), _SMALL)),
        ("delete_partitions", lambda: table.delete_partitions(["p 1"], _SMALL)),
        ("insert_overwrite_table", lambda: table.insert_overwrite_table(some_rows(40, 5, 7), _SMALL)),
    ]
    instants = []
    for name, do in steps:
        report = do()
        instants.append(report.instant)
        yield name, (report.inserted, report.updated, report.deleted)
        yield f"{name}: snapshot", place.rows()
        if case.is_mor:
            yield f"{name}: read optimized", place.rows(query_type="read_optimized")
    begin = instants[1].completed if case.version > 6 else instants[1].requested
    yield "time travel", place.rows(as_of=instants[3].requested)
    yield "incremental", place.rows(query_type="incremental", begin=begin)
    if not case.is_mor:
        changes = place.open().scan(query_type="cdc", begin="earliest").to_arrow()
        yield "changes", sorted(changes["op"].to_pylist())


def services(case: Case, place: Place) -> Iterator[Seen]:
    """Table services, and reads after each."""
    table = case.create(place)
    for number in range(4):
        table.upsert(some_rows(number * 3, 9, number), _SMALL)
    if case.is_mor:
        yield "compactions", len(table.compact().result)
        yield "read optimized", place.rows(query_type="read_optimized")
    yield "clusterings", len(table.cluster(sort_columns=["v"]).result)
    yield "clustered", place.rows()
    for number in range(6):
        table.upsert(some_rows(number, 4, 20 + number), {**_SMALL, "hoodie.clean.automatic": "false"})
    cleaned = table.clean({"hoodie.clean.commits.retained": "1"}).result
    yield "cleaned", cleaned is not None
    yield "rows behind the cleaning", place.rows()
    few = {
        "hoodie.keep.max.commits": "4",
        "hoodie.keep.min.commits": "3",
        "hoodie.clean.commits.retained": "2",
    }
    table.archive(few)
    yield "rows behind the archiving", place.rows()
    yield "instants", len(place.open().client.timeline.instants) < 20
    table.metadata.delete()
    yield "rows without the metadata table", place.rows()
    table.metadata.create()
    yield "rows with a new metadata table", place.rows()
    table.upsert(some_rows(0, 9, 99), _SMALL)
    yield "an upsert at the end", place.rows()


def rollbacks(case: Case, place: Place) -> Iterator[Seen]:
    """Savepoints, restores and rollbacks, behind a compaction."""
    table = case.create(place)
    for number in range(2):
        table.upsert(some_rows(number * 3, 9, number), _SMALL)
    if case.is_mor:
        yield "compactions", len(table.compact().result)
    table.savepoint()
    point = place.open().savepoints()[-1].instant.requested
    table.upsert(some_rows(30, 6, 9), _SMALL)
    yield "before the restore", place.rows()
    table.restore(point)
    yield "restored", place.rows()
    table.delete_savepoint(point)
    report = table.upsert(some_rows(50, 6, 9), _SMALL)
    yield "rollbacks", len(table.rollback(report.instant.requested).result)
    yield "rolled back", place.rows()


def mutations(case: Case, place: Place) -> Iterator[Seen]:
    """Mutations by key, in transactions that commit and abort."""
    table = case.create(place)
    table.upsert(some_rows(0, 9, 1), _SMALL)
    with table.mutator(_SMALL) as client:
        with client.new_transaction() as transaction:
            coordinator = transaction.coordinator()
            assert isinstance(coordinator, HudiMutatorCoordinator)
            coordinator.insert(["p 1"], {"id": "n1", "ts": 5, "v": "new"})
            coordinator.update(["p 1"], {"id": "k001", "ts": 5, "v": "changed"})
            coordinator.delete(["p 2"], {"id": "k002", "ts": 5})
        yield "committed", place.rows()
        aborted = client.new_transaction().begin()
        aborted.coordinator().insert(["p 1"], {"id": "n2", "ts": 5, "v": "no"})
        aborted.abort()
    yield "aborted", place.rows()


def schemas(case: Case, place: Place) -> Iterator[Seen]:
    """Changes of the schema, and writes with more columns."""
    table = case.create(place)
    table.upsert(some_rows(0, 6, 1), _SMALL)
    table.update_schema().add("w", "long").rename("v", "text").commit()
    yield "altered", place.rows()
    rows = some_rows(3, 6, 2).rename_columns(["id", "ts", "p", "text"])
    table.upsert(rows.append_column("w", pa.array(range(6), pa.int64())), _SMALL)
    yield "written", place.rows()
    yield "versions", len(set(place.open().schema_history()["version"].to_pylist()))


def syncs(case: Case, place: Place) -> Iterator[Seen]:
    """Syncs to a metastore: locations below the base path, and what changes of them."""
    table = case.create(place)
    table.upsert(some_rows(0, 6, 1), _SMALL)
    with FakeMetastore() as server, HiveMetastore(server.uri) as metastore:
        config = HiveSyncConfig(
            base_path=place.uri, database="default", table="t", partition_fields=("p",), storage_options=place.options
        )
        for name in ("first", "nothing new", "a partition more", "one less"):
            if name == "a partition more":
                table.upsert(pa.table({"id": ["x"], "ts": [3], "p": ["q"], "v": ["x"]}), _SMALL)
            if name == "one less":
                table.delete_partitions(["p 1"], _SMALL)
            HiveSyncTool(config, metastore=metastore).sync()
            for registered in metastore.tables("default"):
                entry = metastore.find_table("default", registered)
                assert entry is not None
                assert entry.sd.location.endswith(place.uri.partition(":")[2].lstrip("/")), entry.sd.location
                assert "://" not in place.uri or entry.sd.location == place.uri, entry.sd.location
                partitions = metastore.partitions("default", registered)
                where = sorted(
                    (tuple(one.values), one.sd.location.removeprefix(entry.sd.location)) for one in partitions
                )
                yield f"{name}: {registered}", where


def acid(case: Case, place: Place) -> Iterator[Seen]:
    """Mutations of a Hive ACID table."""
    with FakeMetastore() as server, HiveMetastore(server.uri) as metastore:
        transactions = TransactionClient(metastore)
        location = place.uri if "://" in place.uri else f"file:{place.uri}"
        transactions.create_table(acid_table(location, keys=[("country", "string")], name="t"))

        def rows() -> list[Any]:
            reader = AcidReader.open(transactions, "default", "t", storage_options=place.options)
            return sorted(reader.read().to_pylist(), key=str)

        yield "empty", rows()
        with MutatorClient(
            server.uri, sinks=["default.t"], create_partitions=True, storage_options=place.options
        ) as client:
            for step, ids in enumerate([range(6), range(3, 9), range(2)]):
                changes = pa.table(
                    {
                        "id": pa.array(ids, pa.int32()),
                        "msg": [f"m{number} of {step}" for number in ids],
                        "country": [f"c {number % 2}" for number in ids],
                        "gone": [step == 2] * len(ids),
                    }
                )
                with client.new_transaction() as transaction:
                    merged = merge(
                        transaction.reader("default", "t"), changes, on=["id", "country"], delete_where="gone"
                    )
                    merged.feed(transaction.coordinator("default", "t"))
                yield f"merge {step}", rows()
            aborted = client.new_transaction().begin()
            aborted.coordinator("default", "t").insert(["c 1"], {"id": 77, "msg": "no"})
            aborted.abort()
        yield "aborted", rows()


PARTS: Final[Mapping[str, Callable[[Case, Place], Iterator[Seen]]]] = {
    "writes": writes,
    "services": services,
    "rollbacks": rollbacks,
    "mutations": mutations,
    "schemas": schemas,
    "syncs": syncs,
    "acid": acid,
}


def cases() -> list[Case]:
    """All of them; Hive's tables are of no version of Hudi's."""
    return [*all_cases(Case, [part for part in PARTS if part != "acid"]), Case("acid", 9, TYPES[0])]


def run(case: Case, local: Place, remote: Place) -> int:
    """Take the steps of a case at both places.

    Returns:
        how many things were compared.

    Raises:
        DifferenceError: something is not the same.
    """
    part = PARTS[case.part]
    return compare_steps(case, part(case, local), part(case, remote))


def main() -> int:
    """Run the cases that the arguments choose; print those that fail, and the numbers."""
    parser = case_parser(__doc__, PARTS)
    add_store_arguments(parser)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="store_matrix_"))
        store = stack.enter_context(chosen_store(chosen))
        uri = store.folder()
        return run_cases(
            cases(), chosen, lambda case: run(case, Place(f"{folder}/{case}"), Place(f"{uri}/{case}", store.options))
        )


if __name__ == "__main__":
    sys.exit(main())
