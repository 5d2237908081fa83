"""``table``: commands that change a table."""

from __future__ import annotations

import click

from hudi_hive.cli.table_services import SERVICES


@click.group()
def table() -> None:
    """Change a table: compact, cluster, clean, roll back, savepoint, restore."""


for _command in SERVICES:
    table.add_command(_command)
