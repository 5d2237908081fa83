"""Compares the metadata table with a listing of folders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.storage import PathKind
from hudi_hive.table import FILES_SCHEMA, MetaClient
from hudi_hive.table.core import refuse_earlier_table
from hudi_hive.table.view import FileKind, list_folders, parse_file_names, stored_names


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """Differences between a listing and the metadata table.

    Attributes:
        partitions: partitions compared.
        files: committed files on disk that were compared.
        missing_partitions: partitions with committed files that the metadata table does not name.
        extra_partitions: partitions that only the metadata table names.
        differences: files that only one side has or whose bytes differ: ``partition``, ``name``, ``listed`` and
            ``metadata`` (bytes, null where it is not there).
    """

    partitions: int
    files: int
    missing_partitions: tuple[str, ...]
    extra_partitions: tuple[str, ...]
    differences: pa.Table = field(repr=False)

    @property
    def errors(self) -> int:
        """Number of differences."""
        return len(self.missing_partitions) + len(self.extra_partitions) + int(self.differences.num_rows)

    @property
    def is_valid(self) -> bool:
        """Whether there is no difference."""
        return self.errors == 0

    def __str__(self) -> str:
        if self.is_valid:
            return f"{self.partitions} partitions and {self.files} files agree"
        parts = [f"partition {name!r} is not in the metadata table" for name in self.missing_partitions[:3]]
        parts += [f"partition {name!r} is only in the metadata table" for name in self.extra_partitions[:3]]
        for row in self.differences.slice(0, 3).to_pylist():
            parts.append(f"{row['partition']}/{row['name']}: {row['listed']} bytes, {row['metadata']} in metadata")
        return f"{self.errors} differences: " + "; ".join(parts)


def compare_listings(
    client: MetaClient,
    partitions: Iterable[str],
    files: pa.Table | None,
    metadata_partitions: Iterable[str],
    metadata_files: pa.Table | None,
) -> ValidationReport:
    """Compare two listings of partitions and files.

    Only committed files count: what a writer left behind need not be in the metadata table. In table version 6 a log
    file may hold blocks of several commits, of which some are not committed: there, log files that only the listing
    has, and sizes of log files, are no differences.

    Args:
        client: the table.
        partitions: partitions by listing.
        files: their files (``FILES_SCHEMA``), null to compare partitions alone.
        metadata_partitions: partitions by the metadata table.
        metadata_files: its files.
    """
    here, in_metadata = set(partitions), set(metadata_partitions)
    if files is None or metadata_files is None:
        listed = set(_committed(client, _listed_files(client, here - in_metadata)).column("partition").to_pylist())
        empty = _differences(client, FILES_SCHEMA.empty_table(), FILES_SCHEMA.empty_table())
        return ValidationReport(len(here), 0, tuple(sorted(listed)), (), empty)
    files, metadata_files = _committed(client, files), _committed(client, metadata_files)
    with_files = set(files.column("partition").unique().to_pylist())
    missing = with_files - in_metadata
    extra = set(metadata_files.column("partition").unique().to_pylist()) - here
    return ValidationReport(
        len(here),
        files.num_rows,
        tuple(sorted(missing)),
        tuple(sorted(extra)),
        _differences(client, files, metadata_files),
    )


def compare_external_files(client: MetaClient, metadata_files: pa.Table) -> ValidationReport:
    """Compare the metadata table with the files that it names, of a table that another project wrote.

    What else lies in the folders is that project's own matter.

    Args:
        client: the table.
        metadata_files: the files by the metadata table (``FILES_SCHEMA``).
    """
    files = _committed(client, metadata_files).select(FILES_SCHEMA.names)
    paths = pc.binary_join_element_wise(files.column("partition"), stored_names(files.column("name")), "/")
    there = client.storage.statuses([path.lstrip("/") for path in paths.to_pylist()])
    sizes = [status.size if status.kind is PathKind.FILE else None for status in there]
    listed = files.set_column(2, "size", pa.array(sizes, pa.int64()))
    partitions = len(pc.unique(files.column("partition")))
    return ValidationReport(partitions, files.num_rows, (), (), _differences(client, listed, files))


def _listed_files(client: MetaClient, partitions: Iterable[str]) -> pa.Table:
    """Files of partitions by listing, columns of ``FILES_SCHEMA``."""
    return list_folders(client.storage, sorted(partitions)).select(FILES_SCHEMA.names)


def committed_files(client: MetaClient, files: pa.Table) -> pa.Table:
    """Select the files of a listing (``FILES_SCHEMA``) whose instant is completed, change files included.

    Raises:
        TimelineError: there are files of an earlier table among them.
    """
    instants = parse_file_names(files.column("name")).column("instant").combine_chunks().cast(pa.string())
    refuse_earlier_table(client.timeline, instants.unique().drop_null(), client.base_path)
    return _committed(client, files).select(FILES_SCHEMA.names)


def _committed(client: MetaClient, files: pa.Table) -> pa.Table:
    parts = parse_file_names(files.column("name"))
    is_data_file = pc.not_equal(parts.column("kind"), FileKind.OTHER.value)
    mask = client.timeline.committed_mask(parts.column("instant"))
    is_base = pc.equal(parts.column("kind"), FileKind.BASE.value)
    return files.append_column("is_base", is_base).filter(pc.and_(is_data_file, mask))


def _differences(client: MetaClient, files: pa.Table, metadata_files: pa.Table) -> pa.Table:
    lists = files.select(FILES_SCHEMA.names).rename_columns(["partition", "name", "listed"])
    metadata = metadata_files.select(FILES_SCHEMA.names).rename_columns(["partition", "name", "metadata"])
    joined = lists.join(metadata, ["partition", "name"], join_type="full outer")
    same = pc.fill_null(pc.equal(joined.column("listed"), joined.column("metadata")), False)
    if client.timeline.layout == 1:
        grown = pc.and_(pc.starts_with(joined.column("name"), "."), pc.is_valid(joined.column("listed")))
        same = pc.or_(same, grown)
    return joined.filter(pc.invert(same)).sort_by([("partition", "ascending"), ("name", "ascending")])
