"""``metadata create | init | delete | set | stats | list-partitions | list-files | validate`` (RFC-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pyarrow.compute as pc

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.errors import MetadataTableError, PathNotFoundError
from hudi_hive.table import MetaClient

if TYPE_CHECKING:
    from hudi_hive.metadata import MetadataTable


@click.group()
def metadata() -> None:
    """Make, delete and look into the metadata table: its size, what it names, whether that is right."""


def _open(path: str, storage_option: tuple[str, ...]) -> tuple[MetaClient, MetadataTable]:
    from hudi_hive.metadata import MetadataTable

    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    return client, MetadataTable.open(client)


@metadata.command()
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Make this partition too (repeatable).")
@storage_options
@with_output
def create(path: str, partitions: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """Make the metadata table of a table that has none, from one listing, under the table's lock.

    Without --partition it gets what a write would give it.
    """
    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    if client.config.metadata_partitions:
        raise MetadataTableError(
            "there is a metadata table already",
            path=client.base_path,
            remedy="`hudi-hive metadata init` adds partitions, `hudi-hive metadata delete` deletes it",
        )
    _make(client, partitions, output)


@metadata.command()
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="The partition to make (repeatable).")
@storage_options
@with_output
def init(path: str, partitions: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """Make the partitions that are missing in the metadata table, under the table's lock."""
    _make(MetaClient.load(path, pairs(storage_option, "--storage-option")), partitions, output)


def _make(client: MetaClient, partitions: tuple[str, ...], output: Output) -> None:
    from hudi_hive.metadata.writer import MetadataWriter
    from hudi_hive.write.coordination import table_lock

    with table_lock({}, client.storage):
        writer = MetadataWriter.open(client.reload(), {})
        assert writer is not None  # it is only None where options say so
        made = writer.initialise(partitions or None)
    output.pairs(
        "metadata table",
        {"made": ", ".join(made) or None, "partitions": ", ".join(client.reload().config.metadata_partitions)},
    )


@metadata.command()
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Delete only this partition (repeatable).")
@storage_options
@with_output
def delete(path: str, partitions: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """Delete the metadata table, or partitions of it; the table's rows stay."""
    from hudi_hive.metadata.writer import MetadataWriter
    from hudi_hive.write.coordination import table_lock

    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    there = client.config.metadata_partitions
    if unknown := sorted(set(partitions) - set(there)):
        raise MetadataTableError(f"the metadata table has no partition {unknown[0]!r}", path=client.base_path)
    with table_lock({}, client.storage):
        MetadataWriter.drop(client.reload(), partitions or None)
    left = client.reload().config.metadata_partitions
    gone = [name for name in there if name not in left]
    output.pairs("metadata table", {"deleted": ", ".join(gone) or None, "partitions": ", ".join(left) or None})


@metadata.command("set")
@click.argument("path")
@click.option("--on/--off", "on", required=True, help="Whether readers shall use the metadata table.")
@storage_options
@with_output
def set_(path: str, on: bool, storage_option: tuple[str, ...], output: Output) -> None:
    """Switch the metadata table on (made where it is missing) or off (deleted: nobody may read it stale)."""
    from hudi_hive.metadata.writer import MetadataWriter
    from hudi_hive.write.coordination import table_lock

    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    if on:
        _make(client, (), output)
        return
    with table_lock({}, client.storage):
        MetadataWriter.drop(client.reload())
    output.pairs("metadata table", {"partitions": None})


@metadata.command()
@click.argument("path")
@storage_options
@with_output
def stats(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """Files and bytes of the metadata table by partition, and its last compaction.

    The counts are those of the newest file slices; partitionCount is of the data table's partitions, as in Hudi.
    """
    _, table = _open(path, storage_option)
    by_partition = table.stats()
    timeline = table.client.timeline
    compactions = [item for item in timeline.write_instants() if item.action == "commit"]
    writes = timeline.write_instants()

    def total(column: str) -> int:
        return int(pc.sum(by_partition[column]).as_py() or 0)

    output.pairs(
        "metadata table",
        {
            "path": table.client.base_path,
            "baseFileCount": total("base_files"),
            "logFileCount": total("log_files"),
            "partitionCount": len(table.partitions()),
            "totalBaseFileSizeInBytes": total("base_bytes"),
            "totalLogFileSizeInBytes": total("log_bytes"),
            "metadataPartitionCount": by_partition.num_rows,
            "fileGroupCount": total("file_groups"),
            "lastCompactionTimestamp": compactions[-1].requested if compactions else None,
            "lastInstant": writes[-1].requested if writes else None,
        },
    )
    output.arrow("partitions of the metadata table", by_partition)


@metadata.command("list-partitions")
@click.argument("path")
@storage_options
@with_output
def list_partitions(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """The table's partitions as the metadata table names them."""
    _, table = _open(path, storage_option)
    found = table.partitions()
    output.section("partitions", [{"partition": partition} for partition in found], ["partition"])
    output.note(f"{len(found)} partitions")


@metadata.command("list-files")
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Only this partition path (repeatable).")
@storage_options
@with_output
def list_files(path: str, partitions: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """The files of all or some partitions as the metadata table lists them."""
    client, table = _open(path, storage_option)
    wanted = list(dict.fromkeys(path.strip("/") for path in partitions))
    if unknown := sorted(set(wanted) - set(table.partitions())):
        raise PathNotFoundError(
            f"the metadata table knows no such partition: {unknown[0]!r}",
            path=client.base_path,
            remedy="`hudi-hive metadata list-partitions` lists those that it knows",
        )
    files = table.files_table(wanted or None).sort_by([("partition", "ascending"), ("name", "ascending")])
    output.arrow("files", files)
    output.note(f"{files.num_rows} files, {int(pc.sum(files['size']).as_py() or 0):,} bytes")


@metadata.command()
@click.argument("path")
@storage_options
@with_output
def validate(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """List the table both ways and compare; an error (exit 1) when they differ."""
    from hudi_hive.metadata import validate as compare

    client = MetaClient.load(path, pairs(storage_option, "--storage-option"))
    report = compare(client)
    rows: list[dict[str, object]] = []
    for where, names in (("listing", report.missing_partitions), ("metadata table", report.extra_partitions)):
        rows += [{"partition": name, "only_in": where} for name in names]
    rows += [{**row, "only_in": _only_in(row)} for row in report.differences.to_pylist()]
    output.pairs(
        "validation",
        {"partitions": report.partitions, "files": report.files, "validate_errors": report.errors},
    )
    if rows:
        output.section("differences", rows, ["partition", "name", "listed", "metadata", "only_in"])
        output.close()
        raise MetadataTableError(
            f"the metadata table and the listing differ in {report.errors} places",
            path=client.base_path,
            remedy="rebuild it, or read with hoodie.metadata.enable=false",
        )


def _only_in(row: dict[str, object]) -> str | None:
    if row["metadata"] is None:
        return "listing"
    return "metadata table" if row["listed"] is None else None
