"""``show``, ``timeline``, ``schema``, ``files``: look at a table without a metastore."""

from __future__ import annotations

import click
import pyarrow as pa
import pyarrow.compute as pc

from hudi_hive.cli.common import existing_partitions, open_client, storage_options, with_output
from hudi_hive.cli.output import Output
from hudi_hive.names import META_COLUMN_PREFIX
from hudi_hive.redaction import printable
from hudi_hive.table import MetaClient


@click.command()
@click.argument("path")
@storage_options
@with_output
def show(path: str, storage_option: tuple[str, ...], output: Output) -> None:
    """Show a table's version, type, keys, partitions and last commit."""
    client = open_client(path, storage_option)
    config, timeline = client.config, client.timeline
    last = timeline.last_completed_write()
    partitions = client.partition_paths()
    output.pairs(
        config.name,
        {
            "base path": client.base_path,
            "table version": config.version,
            "timeline layout": config.layout,
            "type": config.table_type,
            "base file format": config.base_file_format,
            "record key": ", ".join(config.record_keys),
            "partition fields": ", ".join(config.partition_fields),
            "ordering fields": ", ".join(config.ordering_fields),
            "key generator": config.key_generator,
            "hive-style partitions": config.hive_style_partitioning,
            "meta columns": config.populate_meta_fields,
            "metadata table": ", ".join(config.metadata_partitions) or "off",
            "partitions": len(partitions),
            "partitions learnt from": client.lister.source if config.partition_fields else None,
            "instants (active)": len(timeline.instants),
            "pending instants": len(timeline.pending()),
            "last commit": last.requested if last else None,
            "last operation": timeline.commit_metadata(last).operation if last else None,
        },
    )


@click.command()
@click.argument("path")
@click.option("--archived", is_flag=True, help="The archived instants too.")
@click.option("--html", "page", metavar="FILE.html", help="Draw instants and file groups as a page of its own.")
@click.option(
    "--max-groups",
    default=200,
    show_default=True,
    type=click.IntRange(min=0),
    help="File groups to draw, the newest.",
)
@storage_options
@with_output
def timeline(
    path: str, archived: bool, page: str | None, max_groups: int, storage_option: tuple[str, ...], output: Output
) -> None:
    """The instants of a table: requested and completion time, action, state."""
    client = open_client(path, storage_option)
    if page is not None:
        _write_page(client, page, archived, max_groups, output)
        return
    timeline_ = client.timeline
    for instant in timeline_.write_instants():
        timeline_.commit_metadata(instant)  # so that the operation is known
    output.arrow("timeline", timeline_.to_arrow(archived=archived))


def _write_page(client: MetaClient, page: str, archived: bool, max_groups: int, output: Output) -> None:
    from hudi_hive.errors import StorageError
    from hudi_hive.ui.timeline import collect, render

    picture = collect(client, archived=archived, max_groups=max_groups)
    try:
        with open(page, "w", encoding="utf-8") as stream:
            stream.write(printable(render(picture)))
    except OSError as error:
        raise StorageError(f"cannot write: {error}", path=page) from error
    shown = {"page": page, "instants": len(picture.instants), "file groups": picture.groups_total}
    output.pairs("timeline page", {**shown, "file groups drawn": len(picture.groups)})


@click.command()
@click.argument("path")
@click.option("--as-of", metavar="INSTANT", help="The schema that the table had then.")
@click.option("--history", is_flag=True, help="All versions of columns with ids, the newest first.")
@storage_options
@with_output
def schema(path: str, as_of: str | None, history: bool, storage_option: tuple[str, ...], output: Output) -> None:
    """The columns of a table with their Arrow types."""
    from hudi_hive.timeline import normalise_instant

    if history and as_of:
        raise click.UsageError("--history and --as-of do not go together")
    client = open_client(path, storage_option)
    if history:
        from hudi_hive.write.alter import versions_table

        versions = versions_table(client)
        output.arrow("schema history", versions.filter(~pc.starts_with(pc.field("column"), META_COLUMN_PREFIX)))
        if not versions.num_rows:
            output.note("the columns of the table have no ids: its schema never changed by them")
        return
    columns = client.schema(normalise_instant(as_of, client.config.timezone) if as_of else None)
    partition = set(client.config.partition_fields)
    output.section(
        "schema",
        [
            {
                "column": field.name,
                "type": str(field.type),
                "nullable": field.nullable,
                "partition": field.name in partition,
            }
            for field in columns
        ],
        ["column", "type", "nullable", "partition"],
    )


@click.command()
@click.argument("path")
@click.option("--partition", "partitions", multiple=True, help="Only this partition path (repeatable).")
@click.option("--as-of", metavar="INSTANT", help="The slices that were the latest then.")
@storage_options
@with_output
def files(
    path: str, partitions: tuple[str, ...], as_of: str | None, storage_option: tuple[str, ...], output: Output
) -> None:
    """The latest file slices of a table."""
    from hudi_hive.plan.core import check_time_travel
    from hudi_hive.timeline import normalise_instant

    client = open_client(path, storage_option)
    moment = normalise_instant(as_of, client.config.timezone) if as_of else None
    if moment is not None:
        check_time_travel(client, moment)
    view = client.file_system_view(existing_partitions(client, partitions))
    slices = view.latest_merged_file_slices(moment)
    output.arrow("file slices", slices.select(["partition", "file_id", "base_instant", "base_size", "log_files"]))
    total = pc.sum(pa.chunked_array(slices["base_size"])).as_py() or 0
    output.note(f"{slices.num_rows} slices, {total:,} bytes of base files, {client.counters['lists']} listings")
