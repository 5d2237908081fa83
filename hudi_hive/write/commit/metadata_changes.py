"""What a commit changes in the metadata table, from the statuses of the files that it wrote."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.metadata.reader import RANGES_SCHEMA, REPLACED_SCHEMA, MetadataChanges
from hudi_hive.table import FILES_SCHEMA
from hudi_hive.write.files import from_ipc, index_changes


def metadata_changes(statuses: pa.Table, replaced: Mapping[str, Sequence[str]]) -> MetadataChanges:
    """The changes that a commit makes to the metadata table."""
    added = statuses.select(["partition", "name", "size"]).cast(FILES_SCHEMA)
    changes = [(path, size) for cdc in statuses.column("cdc").to_pylist() for path, size in cdc or ()]
    if changes:
        columns = [
            [posixpath.dirname(path) for path, _ in changes],
            [posixpath.basename(path) for path, _ in changes],
            [size for _, size in changes],
        ]
        added = pa.concat_tables([added, pa.table(columns, schema=FILES_SCHEMA)])
    places, gone = index_changes(statuses)
    emptied = [path for path, ids in replaced.items() if ids]  # the metadata table has no folders without files
    only_deletes = pc.and_(pc.is_valid(statuses.column("log_version")), pc.equal(statuses.column("num_writes"), 0))
    return MetadataChanges(
        files_added=added,
        partitions_touched=tuple(sorted({*pc.unique(statuses.column("partition")).to_pylist(), *emptied})),
        ranges=_ranges(statuses),
        without_values=frozenset(statuses.filter(only_deletes).column("name").to_pylist()),
        index_added=places,
        index_removed=gone,
        groups_replaced=pa.Table.from_pylist(
            [{"partition": partition, "file_id": one} for partition, ids in replaced.items() for one in ids],
            REPLACED_SCHEMA,
        ),
    )


def _ranges(statuses: pa.Table) -> pa.Table:
    tables = []
    for row in statuses.select(["partition", "name", "ranges"]).to_pylist():
        if row["ranges"] is None:
            continue
        table = from_ipc(row["ranges"])
        for number, column in enumerate(("partition", "name")):
            values = pa.repeat(pa.scalar(row[column], pa.string()), table.num_rows)
            table = table.add_column(number, column, values)
        tables.append(table.select(RANGES_SCHEMA.names).cast(RANGES_SCHEMA))
    return pa.concat_tables(tables) if tables else RANGES_SCHEMA.empty_table()
