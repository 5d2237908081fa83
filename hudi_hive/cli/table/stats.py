"""``stats``: what a table is made of – files, bytes, slices, rows – and what its commits wrote."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.cli.common import existing_partitions, open_client, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.table import MetaClient
from hudi_hive.table.view import FileKind, log_bytes, parse_file_names

_FOOTER_THREADS = 8
_SERVICES = ("COMPACT", "LOG_COMPACT", "CLUSTER")
_COMMIT_COLUMNS = ["path", "file_size", "num_writes", "num_updates", "num_inserts", "num_deletes"]


@click.command()
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Only this partition path (repeatable).")
@click.option("--commits", default=20, show_default=True, type=click.IntRange(min=0), help="Newest commits to show.")
@storage_options
@with_output
def stats(
    path: str, partitions: tuple[str, ...], commits: int, storage_option: tuple[str, ...], output: Output
) -> None:
    """Files, bytes, slices and rows of a table, of its partitions and of its newest commits.

    Rows are those of the latest base files, before log files are merged into them: from the commits' own statistics
    where the active timeline still holds them, else from file footers.
    """
    client = open_client(path, storage_option)
    selected = existing_partitions(client, partitions)
    timeline = client.timeline  # before the listing: a file of a later commit then counts as nobody's yet
    files = client.list_files(selected)
    slices = client.file_system_view(files=files).latest_merged_file_slices()
    written = _written_files(client)
    rows, from_footers = _base_rows(client, slices, written)
    output.pairs("table", _table_pairs(client, files, slices, rows, from_footers))
    output.arrow("partitions", _by_partition(slices, rows))
    if commits and timeline.write_instants():
        shown = timeline.write_instants()[-commits:]
        operations = [timeline.commit_metadata(instant).operation for instant in shown]
        output.arrow("commits", _by_commit(written, [instant.requested for instant in shown], operations))
    output.note(f"{client.counters['lists']} listings, {client.counters['opens']} files opened")


def _written_files(client: MetaClient) -> pa.Table:
    """A row per file written by a commit of the active timeline: instant, then what its statistics say."""
    timeline = client.timeline
    tables = []
    for instant in timeline.write_instants():
        stats = timeline.commit_metadata(instant).write_stats.select(_COMMIT_COLUMNS)
        tables.append(stats.add_column(0, "instant", pa.repeat(instant.requested, stats.num_rows)))
    empty = pa.schema(
        [("instant", pa.string()), ("path", pa.string())] + [(n, pa.int64()) for n in _COMMIT_COLUMNS[1:]]
    )
    return pa.concat_tables([empty.empty_table(), *tables])


def _base_rows(client: MetaClient, slices: pa.Table, written: pa.Table) -> tuple[pa.Array, int]:
    """Rows of each slice's base file (0 without one), and how many of them were read from footers."""
    names = slices["base_file"].combine_chunks()
    folders = pc.if_else(
        pc.equal(slices["partition"], ""), "", pc.binary_join_element_wise(slices["partition"], "", "/")
    )
    paths = pc.binary_join_element_wise(folders, names, "")
    counts = written["num_writes"].take(pc.index_in(paths, value_set=written["path"].combine_chunks()))
    missing = np.flatnonzero(pc.and_(pc.is_null(counts), pc.is_valid(paths)).to_numpy(zero_copy_only=False))
    rows = pc.fill_null(counts, 0).to_numpy().astype(np.int64)
    if len(missing):
        with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
            unread = paths.take(pa.array(missing)).to_pylist()
            rows[missing] = list(pool.map(lambda name: _footer_rows(client, name), unread))
    return pa.array(rows), len(missing)


def _footer_rows(client: MetaClient, path: str) -> int:
    from hudi_hive.formats.base import open_base_file

    with open_base_file(client.storage, path) as file:
        return file.num_rows


def _table_pairs(
    client: MetaClient, files: pa.Table, slices: pa.Table, rows: pa.Array, from_footers: int
) -> dict[str, object]:
    kinds = parse_file_names(files["name"])["kind"]
    counts: dict[str, object] = {}
    for label, kind in (("base files", FileKind.BASE), ("log files", FileKind.LOG), ("CDC files", FileKind.CDC)):
        of_kind = files["size"].filter(pc.equal(kinds, int(kind)))
        counts[label], counts[f"bytes of {label}"] = len(of_kind), pc.sum(of_kind).as_py() or 0
    log_bytes = _total(pc.list_flatten(slices["log_sizes"]))
    base_bytes = _total(slices["base_size"])
    with_logs = _total(pc.greater(pc.list_value_length(slices["log_files"]), 0))
    return {
        "name": client.config.name,
        "type": client.config.table_type,
        "table version": client.config.version,
        "partitions": len(pc.unique(slices["partition"])),
        **counts,
        "file groups": slices.num_rows,
        "slices with log files": with_logs,
        "slices of log files alone": slices["base_file"].null_count,
        "latest base files, bytes": base_bytes,
        "latest log files, bytes": log_bytes,
        "log ratio": round(log_bytes / (base_bytes + log_bytes), 4) if base_bytes + log_bytes else None,
        "other files (older versions …), bytes": _total(files["size"]) - base_bytes - log_bytes,
        **_sizes(slices["base_size"]),
        "rows in latest base files": _total(rows),
        "row counts read from footers": from_footers,
    }


def _sizes(sizes: pa.ChunkedArray) -> dict[str, object]:
    """Minimum, median and maximum size of the latest base files in bytes."""
    if sizes.null_count == len(sizes):
        return {}
    least, middle, most = pc.quantile(sizes, q=[0, 0.5, 1], interpolation="nearest").to_pylist()
    return {"base file size, min": least, "base file size, median": middle, "base file size, max": most}


def _by_partition(slices: pa.Table, rows: pa.Array) -> pa.Table:
    table = pa.table(
        {
            "partition": slices["partition"],
            "slices": pa.repeat(1, slices.num_rows),
            "base_files": pc.is_valid(slices["base_file"]).cast(pa.int64()),
            "base_bytes": slices["base_size"],
            "log_files": pc.list_value_length(slices["log_files"]).cast(pa.int64()),
            "log_bytes": log_bytes(slices),
            "base_rows": rows,
        }
    )
    return _summed(table, "partition")


def _by_commit(written: pa.Table, instants: Sequence[str], operations: Sequence[str]) -> pa.Table:
    """Statistics of each commit; ``amplification`` is rows written per row inserted, updated or deleted.

    Compaction and clustering change no row, so that they have none; their counts are those of rows moved.
    """
    changed = [pc.fill_null(written[name], 0) for name in ("num_inserts", "num_updates", "num_deletes")]
    table = pa.table(
        {
            "instant": written["instant"],
            "files": pa.repeat(1, written.num_rows),
            "bytes": pc.fill_null(written["file_size"], 0),
            "rows_written": pc.fill_null(written["num_writes"], 0),
            "inserts": changed[0],
            "updates": changed[1],
            "deletes": changed[2],
        }
    )
    columns = {"instant": pa.array(instants, pa.string()), "operation": pa.array(operations, pa.string())}
    shown = pa.table(columns).join(_summed(table, "instant"), "instant").sort_by("instant")
    for number, name in enumerate(shown.column_names[2:], 2):  # a commit that wrote nothing
        shown = shown.set_column(number, name, pc.fill_null(shown[name], 0))
    total = pc.add(pc.add(shown["inserts"], shown["updates"]), shown["deletes"]).cast(pa.float64())
    moved = pc.is_in(shown["operation"], value_set=pa.array(_SERVICES))
    none = pc.or_(pc.equal(total, 0), moved)
    ratio = pc.round(pc.divide(shown["rows_written"].cast(pa.float64()), pc.if_else(none, None, total)), 2)
    return shown.append_column("amplification", ratio)


def _summed(table: pa.Table, key: str) -> pa.Table:
    values = [name for name in table.column_names if name != key]
    grouped = table.group_by(key).aggregate([(name, "sum") for name in values])
    named = grouped.select([key, *(f"{name}_sum" for name in values)]).rename_columns([key, *values])
    return named.sort_by(key)


def _total(values: Any) -> int:  # noqa: ANN401 - an Arrow array of numbers
    return int(pc.sum(values).as_py() or 0)
