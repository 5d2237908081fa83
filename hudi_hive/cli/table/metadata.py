"""``metadata create | init | delete | set | stats | list-partitions | list-files | validate`` (RFC-15)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
import pyarrow.compute as pc

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.cli.table.service_target import ServiceTarget, service_target
from hudi_hive.errors import InvalidOptionError, MetadataTableError, PathNotFoundError
from hudi_hive.redaction import printable

if TYPE_CHECKING:
    from hudi_hive.metadata import SubListing
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
    table = target.open("metadata table")
    _show_created(lambda: table.metadata.create(partitions or None), output)


@metadata.command()
@service_target
@_partitions("The partition to make (repeatable).")
@click.option(
    "--index",
    "index",
    metavar="NAME=KIND(COLUMN)[:expr=FUNCTION[,OPTION=VALUE…]]",
    help="An index of a column to make: by_rider=secondary_index(rider), by_year=column_stats(at):expr=year.",
)
@with_output
def init(target: ServiceTarget, partitions: tuple[str, ...], index: str | None, output: Output) -> None:
    """Make the partitions that are missing in the metadata table, or an index, under the table's lock.

    With --conf hoodie.metadata.index.async=true they are built while writers go on.
    """
    if index is None:
        table = target.open("metadata table")
        _show_created(lambda: table.metadata.init(partitions or None), output)
        return
    match = _INDEX.fullmatch(index)
    if match is None or partitions:
        raise click.UsageError("--index takes NAME=KIND(COLUMN)[:expr=FUNCTION,…], and goes without --partition")
    pairs = [part.partition("=") for part in _BETWEEN_OPTIONS.split(match["options"] or "") if part]
    named = {key: value for key, _, value in pairs}
    table = target.open("metadata table")
    _show_created(lambda: table.metadata.create_index(match["name"], match["kind"], [match["column"]], named), output)


_INDEX: Final = re.compile(r"(?P<name>\w+)=(?P<kind>\w+)\((?P<column>[^()]+)\)(?::(?P<options>.+))?")
_BETWEEN_OPTIONS: Final = re.compile(r",(?=\w+=)")
"""A comma that is in no value, as in that of a pattern."""


def _show_created(create: Callable[[], MetadataTableChange], output: Output) -> None:
    begin = time.perf_counter()
    change = create()
    millis = round((time.perf_counter() - begin) * 1000)
    created, partitions = ", ".join(change.created) or None, ", ".join(change.partitions)
    output.pairs("metadata table", {"made": created, "partitions": partitions, "durationInMs": millis})


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
@click.option("--metadata-dir", help="Refused but for PATH/.hoodie/metadata: readers look for it nowhere else.")
@with_output
def set_(target: ServiceTarget, on: bool, metadata_dir: str | None, output: Output) -> None:
    """Switch the metadata table on (made where it is missing) or off (deleted, lest it gets outdated)."""
    if metadata_dir is not None:
        _refuse_other_folder(target.path, metadata_dir)
    services = target.open("metadata table").metadata
    if on:
        _show_created(lambda: services.set(True), output)
    else:
        services.set(False)
        output.pairs("metadata table", {"partitions": None})


def _refuse_other_folder(path: str, metadata_dir: str) -> None:
    """Refuse a folder of the metadata table that is not the one in which readers of all engines look for it."""
    own = f"{path.rstrip('/')}/.hoodie/metadata"
    if metadata_dir.rstrip("/") != own:
        raise InvalidOptionError(
            f"--metadata-dir={metadata_dir} is not supported: the metadata table of a table is in .hoodie/metadata",
            path=path,
            remedy=f"leave --metadata-dir out, or give {own}",
        )


@metadata.command()
@click.argument("path")
@storage_options
@with_output
def stats(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """Files and bytes of the metadata table by partition, its last compaction, and whether it is in sync.

    The counts are those of the newest file slices; partitionCount is of the data table's partitions, as in Hudi.
    """
    status = _open(path, storage_option).metadata.status()
    if status.error is not None and status.path is None:
        raise status.error
    by_partition = status.by_partition

    def total(column: str) -> int:
        return int(pc.sum(by_partition[column]).as_py() or 0)

    output.pairs(
        "metadata table",
        {
            "path": status.path,
            "isInSync": status.in_sync,
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
    if status.error is not None:
        click.echo(printable(f"not in sync, readers list folders: {status.error}"), err=True)


_below = click.option(
    "--below", multiple=True, metavar="PATH", help="Only partitions at or below this path (repeatable)."
)


@metadata.command("list-partitions")
@click.argument("path")
@_below
@storage_options
@with_output
def list_partitions(path: str, below: tuple[str, ...], storage_option: tuple[str, ...], output: Output) -> None:
    """The table's partitions by the metadata table; by its folders, with a note, where there is none to be used."""
    from hudi_hive.metadata import list_partitions

    listing = list_partitions(_open(path, storage_option).client, below)
    _note_fallback(listing)
    output.section("partitions", [{"partition": partition} for partition in listing.partitions], ["partition"])
    output.note(f"{len(listing.partitions)} partitions")


@metadata.command("list-files")
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Only this partition path (repeatable).")
@_below
@storage_options
@with_output
def list_files(
    path: str, partitions: tuple[str, ...], below: tuple[str, ...], storage_option: tuple[str, ...], output: Output
) -> None:
    """The files of partitions by the metadata table; by the folders, with a note, where there is none to be used."""
    from hudi_hive.metadata import list_committed, list_partitions

    table = _open(path, storage_option)
    listing = list_partitions(table.client, below)
    _note_fallback(listing)
    chosen = list(dict.fromkeys(path.strip("/") for path in partitions))
    if unknown := sorted(set(chosen) - set(listing.partitions)):
        raise PathNotFoundError(
            f"the {'table' if listing.is_fallback else 'metadata table'} knows no such partition: {unknown[0]!r}",
            path=table.path,
            remedy="`hudi-hive metadata list-partitions` lists those that it knows",
        )
    files = list_committed(table.client, chosen or listing.partitions)
    files = files.sort_by([("partition", "ascending"), ("name", "ascending")])
    output.arrow("files", files)
    output.note(f"{files.num_rows} files, {int(pc.sum(files['size']).as_py() or 0):,} bytes")


def _note_fallback(listing: SubListing) -> None:
    """Say on standard error that folders were listed, and why."""
    if listing.is_fallback:
        click.echo(printable(f"by {listing.source}"), err=True)


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
