"""Makes the records of bloom filters (type 4) in the metadata table.

Source: docs/format.md#metadata-records.

Files that a commit added and those that are gone come in, records go out. Filters are taken from the files' footers,
where every writer puts them, so that a commit costs one open for each new base file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.errors import MetadataTableError
from hudi_hive.formats.base import open_base_file
from hudi_hive.formats.hash import SIMPLE
from hudi_hive.metadata.reader import FileGroup, bloom_filters, file_key, newest_records, partition_key
from hudi_hive.metadata.writer import records
from hudi_hive.metadata.writer.records import Records
from hudi_hive.options import write
from hudi_hive.storage import Storage
from hudi_hive.table.view import FileKind, parse_file_names

_FILTER: Final = b"org.apache.hudi.bloomfilter"
_FILTER_TYPE: Final = b"hoodie_bloom_filter_type_code"
_MOST_BYTES: Final = (1 << 31) - (1 << 28)
"""Bytes of filters in one column, whose offsets have 32 bits; the rest of the records has room beside them."""


@dataclass(frozen=True, slots=True)
class FooterFilter:
    """A task, which can be pickled, that reads the bloom filter of a base file.

    Attributes:
        storage: rooted at the table's base path.
    """

    storage: Storage

    def __call__(self, path: str) -> tuple[str, bytes] | None:
        """Type and Base64 text of a file's filter; None if it has none."""
        with open_base_file(self.storage, path) as file:
            footer: Mapping[bytes, bytes] = file.schema.metadata or {}
        text = footer.get(_FILTER)
        if text is None:
            return None
        return footer.get(_FILTER_TYPE, SIMPLE.encode()).decode("utf-8", "replace"), text


def filter_records(
    storage: Storage,
    added: pa.Table,
    gone: pa.Table,
    instant: str,
    version: int,
    run: Callable[[FooterFilter, list[str]], list[tuple[str, bytes] | None]],
) -> Records:
    """Make records of the bloom filters of added base files, and tombstones for deleted ones.

    Args:
        storage: rooted at the table's base path.
        added: ``partition`` and ``name`` of added files, of any kind.
        gone: the same of deleted files.
        instant: what the records say of their time.
        version: table version.
        run: reads the footers of some paths.

    Raises:
        MetadataTableError: the filters are too many for one commit.
    """
    added, gone = _base_files(added), _base_files(gone)
    pairs = list(zip(added.column("partition").to_pylist(), added.column("name").to_pylist(), strict=True))
    found = run(FooterFilter(storage), [f"{partition}/{name}" if partition else name for partition, name in pairs])
    there = [(_key(*pair), *one) for pair, one in zip(pairs, found, strict=True) if one is not None]
    size = sum(len(text) for _, _, text in there)
    if size > _MOST_BYTES:
        raise MetadataTableError(
            f"the bloom filters of {len(there)} files are {size} bytes, too many for one commit",
            path=storage.uri(),
            remedy=f"{write.METADATA_BLOOM_FILTERS}=false and `hudi-hive metadata delete --partition bloom_filters`",
        )
    lost = [_key(*pair) for pair in zip(*(gone.column(n).to_pylist() for n in ("partition", "name")), strict=True)]
    filters = records.bloom_filters(
        pa.array([key for key, _, _ in there], pa.string()),
        pa.array([kind for _, kind, _ in there], pa.string()),
        pa.array([text for _, _, text in there], pa.binary()),
        False,
        instant,
        version,
    )
    empty = pa.array([""] * len(lost), pa.string())
    tombstones = records.bloom_filters(pa.array(lost, pa.string()), empty, empty, True, instant, version)
    return records.join_records([filters, tombstones])


def merged_filters(group: FileGroup, version: int) -> Records:
    """Merge bloom filters: the newest of each file, without those of deleted files."""
    table = newest_records([group.scan("BloomFilterMetadata")], bloom_filters)
    table = table.filter(pc.invert(pc.fill_null(table.column("is_deleted"), False))).combine_chunks()
    key, kind, time, text = (_one(table.column(name)) for name in ("key", "type", "timestamp", "filter"))
    return records.bloom_filters(key, kind, text, False, time, version)


def _base_files(files: pa.Table) -> pa.Table:
    kind = parse_file_names(files.column("name")).column("kind")
    return files.filter(pc.equal(kind, FileKind.BASE.value))


def _key(partition: str, name: str) -> str:
    return partition_key(partition) + file_key(name)


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
