"""``metadata create | init | delete | set | stats | list-partitions | list-files | validate`` (RFC-15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
import pyarrow.compute as pc

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.cli.table.service_target import ServiceTarget, service_target
from hudi_hive.errors import MetadataTableError, PathNotFoundError

if TYPE_CHECKING:
    from hudi_hive.table_api import HudiTable
    from hudi_hive.write.services import MetadataTableChange

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def metadata() -> None:
    """Make, delete and look into the metadata table: its size, what it names, whether that is right."""


def _open(path: str, storage_option: tuple[str, ...]) -> HudiTable:
    from hudi_hive.table_api import HudiTable

    return HudiTable.open(path, pairs(storage_option, "--storage-option"))


def _partitions(text: str) -> Callable[[F], F]:
    return click.option("--partition", "partitions", multiple=True, help=text)


@metadata.command()
@service_target
@_partitions("Make this partition too (repeatable).")
@with_output
def create(target: ServiceTarget, partitions: tuple[str, ...], output: Output) -> None:
    """Make the metadata table of a table that has none, from one listing, under the table's lock.

    Without --partition it gets what a write would give it. The lock is that of --conf hoodie.write.lock.*
    """
    _show_created(target.open("metadata table").metadata.create(partitions or None), output)


@metadata.command()
@service_target
@_partitions("The partition to make (repeatable).")
@with_output
def init(target: ServiceTarget, partitions: tuple[str, ...], output: Output) -> None:
    """Make the partitions that are missing in the metadata table, under the table's lock."""
    _show_created(target.open("metadata table").metadata.init(partitions or None), output)


def _show_created(change: MetadataTableChange, output: Output) -> None:
    created, partitions = ", ".join(change.created) or None, ", ".join(change.partitions)
    output.pairs("metadata table", {"made": created, "partitions": partitions})


@metadata.command()
@service_target
@_partitions("Delete only this partition (repeatable).")
@with_output
def delete(target: ServiceTarget, partitions: tuple[str, ...], output: Output) -> None:
    """Delete the metadata table, or partitions of it, under the table's lock; the table's rows stay."""
    change = target.open("metadata table").metadata.delete(partitions or None)
    deleted, left = ", ".join(change.deleted) or None, ", ".join(change.partitions) or None
    output.pairs("metadata table", {"deleted": deleted, "partitions": left})


@metadata.command("set")
@service_target
@click.option("--on/--off", "on", required=True, help="Whether readers shall use the metadata table.")
@with_output
def set_(target: ServiceTarget, on: bool, output: Output) -> None:
    """Switch the metadata table on (made where it is missing) or off (deleted, lest it gets outdated)."""
    change = target.open("metadata table").metadata.set(on)
    if on:
        _show_created(change, output)
    else:
        output.pairs("metadata table", {"partitions": None})


@metadata.command()
@click.argument("path")
@storage_options
@with_output
def stats(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """Files and bytes of the metadata table by partition, and its last compaction.

    The counts are those of the newest file slices; partitionCount is of the data table's partitions, as in Hudi.
    """
    status = _open(path, storage_option).metadata.status()
    if status.error is not None:
        raise status.error
    by_partition = status.by_partition

    def total(column: str) -> int:
        return int(pc.sum(by_partition[column]).as_py() or 0)

    output.pairs(
        "metadata table",
        {
            "path": status.path,
            "baseFileCount": total("base_files"),
            "logFileCount": total("log_files"),
            "partitionCount": status.table_partitions,
            "totalBaseFileSizeInBytes": total("base_bytes"),
            "totalLogFileSizeInBytes": total("log_bytes"),
            "metadataPartitionCount": by_partition.num_rows,
            "fileGroupCount": total("file_groups"),
            "lastCompactionTimestamp": status.last_compaction,
            "lastInstant": status.last_instant,
        },
    )
    output.arrow("partitions of the metadata table", by_partition)


@metadata.command("list-partitions")
@click.argument("path")
@storage_options
@with_output
def list_partitions(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """The table's partitions as the metadata table names them."""
    partitions = _open(path, storage_option).metadata.partitions()
    output.section("partitions", [{"partition": partition} for partition in partitions], ["partition"])
    output.note(f"{len(partitions)} partitions")


@metadata.command("list-files")
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Only this partition path (repeatable).")
@storage_options
@with_output
def list_files(path: str, partitions: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """The files of all or some partitions as the metadata table lists them."""
    table = _open(path, storage_option)
    chosen = list(dict.fromkeys(path.strip("/") for path in partitions))
    if unknown := sorted(set(chosen) - set(table.metadata.partitions())):
        raise PathNotFoundError(
            f"the metadata table knows no such partition: {unknown[0]!r}",
            path=table.path,
            remedy="`hudi-hive metadata list-partitions` lists those that it knows",
        )
    files = table.metadata.files(chosen or None).sort_by([("partition", "ascending"), ("name", "ascending")])
    output.arrow("files", files)
    output.note(f"{files.num_rows} files, {int(pc.sum(files['size']).as_py() or 0):,} bytes")


@metadata.command()
@click.argument("path")
@storage_options
@with_output
def validate(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """List the table both ways and compare; an error (exit 1) when they differ."""
    table = _open(path, storage_option)
    report = table.metadata.validate()
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
            path=table.path,
            remedy="rebuild it, or read with hoodie.metadata.enable=false",
        )


def _only_in(row: dict[str, object]) -> str | None:
    if row["metadata"] is None:
        return "listing"
    return "metadata table" if row["listed"] is None else None
