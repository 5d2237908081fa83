"""Rows through coordinators next to plain ORC files of the same rows, and a merge next to rewriting the partitions.

    python benchmarks/mutation.py [--rows 1000000] [--partitions 4] [--buckets 2] [--share 0.02] [--narrow]

All is on local disk. Plain ORC is one file of the table's columns for each partition and bucket, by ``pyarrow.orc``
with the same compression. An updated row is two events in two files: the deletion of the old row, and the new one. The
merge has a ``--share`` of the rows, spread over all partitions; who rewrites reads all rows, applies the changes and
writes all again, as tables without deltas must. Runs of one kind are taken in turn, and the shortest of each counts.
Two workers are two processes, each with half of the groups; by CPU the busier one counts. ``--narrow`` is a table of
two numbers: the least that a row can be next to the five columns of its event. Ratios by CPU hold on a busy machine.
"""

from __future__ import annotations

import argparse
import cProfile
import multiprocessing
import pstats
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from hudi_hive.formats.hash import bucket_numbers
from hudi_hive.formats.orc import CODECS, DELETE, INSERT, UPDATE
from hudi_hive.metastore.transactions import ValidWriteIds
from hudi_hive.mutation.acid_table import ROW_ID, STAGING, AcidColumn, AcidReader, AcidTable
from hudi_hive.mutation.acid_write import MutationManifest, MutatorCoordinator, Publisher, check_manifests, merge

KEY, BUCKET = "region", "ride_id"
COLUMNS = {
    "ride_id": "bigint",
    "driver": "string",
    "fare": "double",
    "stops": "int",
    "paid": "timestamp",
    "day": "date",
    "note": "string",
}
NARROW = ("ride_id", "stops")
RUNS = 3


@dataclass(frozen=True)
class Bench:
    """A table, its rows in the order of its groups, and where all is done."""

    table: AcidTable
    rows: pa.Table
    groups: np.ndarray
    folder: Path

    @classmethod
    def make(cls, arguments: argparse.Namespace, folder: Path) -> Bench:
        count, partitions, buckets = arguments.rows, arguments.partitions, arguments.buckets
        names = NARROW if arguments.narrow else tuple(COLUMNS)
        columns = tuple(AcidColumn(name, COLUMNS[name]) for name in names)
        location = str(folder / "table")
        table = AcidTable("db", "rides", location, columns, (AcidColumn(KEY, "string"),), (BUCKET,), buckets)
        table = replace(table, codec=arguments.codec)
        rng = np.random.default_rng(1)
        numbers = rng.permutation(count).astype(np.int64)
        places = rng.integers(0, partitions, count)
        rows = pa.table(
            values(numbers, rng, names) | {KEY: pa.array([f"r{place}" for place in range(partitions)]).take(places)}
        )
        of_bucket = bucket_numbers([rows[BUCKET].combine_chunks()], ["bigint"], buckets, 2)
        order = np.lexsort((of_bucket, places))
        groups = np.flatnonzero(np.diff(places[order] * buckets + of_bucket[order], prepend=-1))
        return cls(table, rows.take(order).combine_chunks(), groups, folder)

    @property
    def second(self) -> AcidTable:
        """The table in the transaction that is measured."""
        return self.table.in_transaction(2, 2)

    @property
    def others(self) -> Path:
        """Where plain files are written."""
        return self.folder / "plain"

    @property
    def before(self) -> Path:
        """Plain files of all rows."""
        return self.folder / "before"

    def updates(self) -> pa.Table:
        """Commit all rows, and give them new values in all columns but the key."""
        self.before.mkdir()
        first = self.table.in_transaction(1, 1)
        files = check_manifests([mutate(first, self.rows, INSERT)], first.qualified_name, 1)
        Publisher(first).place(files, {})
        found = AcidReader(first, ValidWriteIds(1)).read()
        assert found.num_rows == self.rows.num_rows
        new = values(found[BUCKET].to_numpy(), np.random.default_rng(2), self.table.row_schema.names)
        return pa.table(new | {KEY: found[KEY], ROW_ID: found[ROW_ID]}).combine_chunks()

    def clean(self) -> None:
        """Remove what a run has written."""
        shutil.rmtree(self.folder / "table" / STAGING, ignore_errors=True)
        shutil.rmtree(self.others, ignore_errors=True)
        self.others.mkdir()


def values(numbers: np.ndarray, rng: np.random.Generator, names: Sequence[str]) -> dict[str, pa.Array]:
    """The columns of rides without the partition key."""
    count = len(numbers)

    def text(prefix: str, kinds: int) -> pa.Array:
        return pc.binary_join_element_wise(prefix, pa.array(rng.integers(0, kinds, count)).cast(pa.string()), " ")

    found = {
        "ride_id": pa.array(numbers),
        "driver": text("driver", 50_000),
        "fare": pa.array(rng.random(count) * 100),
        "stops": pa.array(rng.integers(0, 9, count), pa.int32()),
        "paid": pa.array(rng.integers(0, 10**15, count), pa.timestamp("us")),
        "day": pa.array(rng.integers(19_000, 20_000, count).astype(np.int32), pa.date32()),
        "note": text("note", 10**6),
    }
    return {name: found[name] for name in names}


# -- what is measured -------------------------------------------------------------------------------------------------


def plain(bench: Bench, rows: pa.Table, folder: Path) -> None:
    """One ORC file for each group."""
    data = rows.select(bench.table.row_schema.names)
    for number, (start, end) in enumerate(zip(bench.groups, [*bench.groups[1:], rows.num_rows], strict=True)):
        orc.write_table(data.slice(start, end - start), folder / f"{number}.orc", compression=bench.table.codec)


def mutate(table: AcidTable, rows: pa.Table, operation: int) -> MutationManifest:
    """All rows through one coordinator, in batches as a task gets them."""
    with MutatorCoordinator(table) as coordinator:
        for batch in rows.to_batches(max_chunksize=1 << 17):
            coordinator.mutate_batch(batch, operation)
    return coordinator.close()


def mutate_half(text: str, path: str, operation: int) -> float:
    """A worker with the rows of a file; its CPU seconds."""
    begin = time.process_time()
    with pa.memory_map(path) as source:
        mutate(AcidTable.decode(text), pa.ipc.open_file(source).read_all(), operation)
    return time.process_time() - begin


def merged(table: AcidTable, changes: pa.Table) -> None:
    """A merge with all that is read for it."""
    records = merge(AcidReader(table, ValidWriteIds(1)), changes, [BUCKET])
    with MutatorCoordinator(table) as coordinator:
        records.feed(coordinator)
    assert coordinator.close().rows == changes.num_rows


def rewritten(bench: Bench, changes: pa.Table) -> None:
    """Every file read, the changed rows put in their places, and written again."""
    for path in sorted(bench.before.iterdir()):
        found = orc.read_table(path)
        places = pc.index_in(found[BUCKET], changes[BUCKET].combine_chunks()).combine_chunks()
        mask, chosen = places.is_valid(), places.drop_null()
        columns = {}
        for name in found.column_names:
            old = found[name].combine_chunks()
            columns[name] = pc.replace_with_mask(old, mask, changes[name].take(chosen).combine_chunks().cast(old.type))
        orc.write_table(pa.table(columns), bench.others / path.name, compression=bench.table.codec)


# -- how ---------------------------------------------------------------------------------------------------------------


def shortest(runs: Mapping[str, Callable[[], object]], clean: Callable[[], None]) -> dict[str, tuple[float, float]]:
    """Seconds of each, in turn: by the clock, and by this process's CPUs if it does not say how many itself."""
    best = dict.fromkeys(runs, (float("inf"), float("inf")))
    for _ in range(RUNS):
        for name, run in runs.items():
            clean()
            clock, cpu = time.perf_counter(), time.process_time()
            said = run()
            spent = said if isinstance(said, float) else time.process_time() - cpu
            taken = time.perf_counter() - clock, spent
            best[name] = min(best[name][0], taken[0]), min(best[name][1], taken[1])
    return best


def report(seconds: Mapping[str, tuple[float, float]], rows: int) -> None:
    """One line for each; ratios are to the first."""
    first, first_cpu = next(iter(seconds.values()))
    for name, (clock, cpu) in seconds.items():
        by_clock = f"{rows / clock:>11,.0f} rows/s {first / clock:6.2f} x"
        print(f"  {name:32}{by_clock}   CPU {rows / cpu:>11,.0f} rows/s {first_cpu / cpu:6.2f} x", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--buckets", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--codec", default="zlib", choices=CODECS)
    parser.add_argument("--profile", action="store_true", help="of updates")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench.make(arguments, Path(folder))
        print(f"{bench.rows.num_rows:,} rows of {len(bench.table.columns)} columns in {len(bench.groups)} groups")
        changed = bench.updates()
        speed(bench, changed, arguments.profile)
        scale(bench, changed)
        reads(bench)
        compare(bench, changed, arguments.share)


def speed(bench: Bench, changed: pa.Table, profile: bool) -> None:
    """All rows mutated, in one process."""
    table = bench.second
    runs: dict[str, Callable[[], object]] = {
        "plain ORC": partial(plain, bench, changed, bench.others),
        "coordinator, inserts": partial(mutate, table, bench.rows, INSERT),
        "coordinator, updates": partial(mutate, table, changed, UPDATE),
        "coordinator, deletes": partial(mutate, table, changed.select([ROW_ID, KEY]), DELETE),
    }
    if profile:
        bench.clean()
        profiler = cProfile.Profile(time.process_time)
        profiler.runcall(runs["coordinator, updates"])
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    report(shortest(runs, bench.clean), changed.num_rows)


def scale(bench: Bench, changed: pa.Table) -> None:
    """All rows updated by one worker, then by two."""
    paths = [str(bench.folder / f"half{part}") for part in range(2)]
    middle = int(bench.groups[len(bench.groups) // 2])
    for path, half in zip(paths, (changed.slice(0, middle), changed.slice(middle)), strict=True):
        with pa.ipc.new_file(path, half.schema) as sink:
            sink.write_table(half)
    task = partial(mutate_half, bench.second.encode(), operation=UPDATE)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        runs: dict[str, Callable[[], object]] = {
            "one worker": lambda: sum(pool.submit(task, path).result() for path in paths),
            "two workers": lambda: max(pool.map(task, paths)),
        }
        report(shortest(runs, bench.clean), changed.num_rows)


def reads(bench: Bench) -> None:
    """All rows read, and a few looked up."""
    plain(bench, bench.rows, bench.before)
    table, seen = bench.table, ValidWriteIds(1)
    numbers = [(BUCKET, "in", [1, 2, 3])]
    runs: dict[str, Callable[[], object]] = {
        "plain ORC read": lambda: [orc.read_table(path) for path in sorted(bench.before.iterdir())],
        "reader, one thread": lambda: AcidReader(table, seen, threads=1).read(),
        "reader": lambda: AcidReader(table, seen).read(),
        "reader, three rows looked up": lambda: AcidReader(table, seen).read(row_filter=numbers),
    }
    report(shortest(runs, bench.clean), bench.rows.num_rows)


def compare(bench: Bench, changed: pa.Table, share: float) -> None:
    """A merge of some of the rows, and what those do who have no deltas."""
    chosen = np.random.default_rng(3).choice(changed.num_rows, int(changed.num_rows * share), replace=False)
    some = changed.take(pa.array(np.sort(chosen))).combine_chunks()
    changes = some.drop_columns([ROW_ID])
    runs: dict[str, Callable[[], object]] = {
        "partitions rewritten": partial(rewritten, bench, changes),
        "merge, which reads identifiers": partial(merged, bench.second, changes),
        "coordinator with identifiers": partial(mutate, bench.second, some, UPDATE),
    }
    report(shortest(runs, bench.clean), changes.num_rows)


if __name__ == "__main__":
    main()
