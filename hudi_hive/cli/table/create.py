"""``table create``: a new table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hudi_hive.cli.common import pairs, storage_options, with_output
from hudi_hive.cli.option_groups import option_group
from hudi_hive.cli.output import Output
from hudi_hive.errors import InvalidOptionError

if TYPE_CHECKING:
    from hudi_hive.table import TableDefinition

_TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _definition(  # noqa: PLR0913 - the options of ``option_group``
    *,
    name: str,
    kind: str,
    table_version: str | None,
    record_key: str,
    partition: str,
    ordering: str,
    key_generator: str | None,
    hive_style: bool,
    url_encode: bool,
    cdc: str | None,
    no_meta_fields: bool,
    merge_mode: str | None,
    payload_class: str | None,
    database: str | None,
    timezone: str,
    schema_file: str | None,
    properties: tuple[str, ...],
) -> TableDefinition:
    from hudi_hive.table import DEFAULT_TABLE_VERSION, TableDefinition

    return TableDefinition(
        name=name,
        table_type=_TYPES[kind],
        version=int(table_version or DEFAULT_TABLE_VERSION),
        record_keys=_names(record_key),
        partition_fields=_names(partition),
        ordering_fields=_names(ordering),
        key_generator=key_generator,
        hive_style_partitioning=hive_style,
        url_encode_partitioning=url_encode,
        cdc=cdc or False,
        populate_meta_fields=not no_meta_fields,
        merge_mode=merge_mode,
        payload_class=payload_class,
        timezone=timezone,
        create_schema=_schema(schema_file),
        database=database,
        properties=pairs(properties, "--property"),
    )


def _schema(path: str | None) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8") if path is not None else None
    except (OSError, ValueError) as error:
        raise InvalidOptionError(f"the schema cannot be read: {error}", path=path) from error


@click.command()
@click.argument("path")
@option_group(
    "definition",
    _definition,
    click.option("--name", required=True, help="Table name."),
    click.option(
        "--type", "kind", type=click.Choice(sorted(_TYPES)), default="cow", show_default=True, help="Table type."
    ),
    click.option(
        "--table-version", type=click.Choice(["6", "8", "9"]), help="Version of the table format.  [default: 8]"
    ),
    click.option("--record-key", default="", metavar="A,B", help="Key columns; without them keys are made up."),
    click.option("--partition", default="", metavar="A,B", help="Partition columns."),
    click.option("--ordering", default="", metavar="A", help="Columns that tell which of two records is newer."),
    click.option(
        "--key-generator", metavar="TYPE", help="simple, complex, timestamp, custom …; by the columns without."
    ),
    click.option("--hive-style", is_flag=True, help="Partition folders are column=value."),
    click.option("--url-encode", is_flag=True, help="Escape values in partition folders."),
    click.option("--cdc", metavar="MODE", help="Log changes: op_key_only, data_before, data_before_after."),
    click.option("--no-meta-fields", is_flag=True, help="Leave the meta columns out of data files."),
    click.option("--merge-mode", metavar="MODE", help="COMMIT_TIME_ORDERING or EVENT_TIME_ORDERING."),
    click.option("--payload-class", metavar="CLASS", help="Hudi's payload class, in place of a merge mode."),
    click.option("--database", help="Database name, for sync."),
    click.option("--timezone", type=click.Choice(["LOCAL", "UTC"]), default="LOCAL", show_default=True),
    click.option(
        "--schema", "schema_file", type=click.Path(exists=True, dir_okay=False), help="File of an Avro schema."
    ),
    click.option(
        "--property", "properties", multiple=True, metavar="K=V", help="A further table property (repeatable)."
    ),
)
@click.option("--conf", multiple=True, metavar="K=V", help="One of Hudi's write options: the lock's (repeatable).")
@storage_options
@with_output
def create(
    path: str, definition: TableDefinition, conf: tuple[str, ...], storage_option: tuple[str, ...], output: Output
) -> None:
    """Make an empty table at PATH. Versions: 6 for Hudi 0.x, 8 for 1.0 and later, 9 for 1.1 alone."""
    from hudi_hive.table_api import HudiTable

    storage = pairs(storage_option, "--storage-option")
    options = pairs(conf, "--conf")
    table = HudiTable.create(path, definition, storage_options=storage, options=options)
    config = table.client.config
    output.pairs("table", {"path": table.path, "type": config.table_type, "version": config.version})
