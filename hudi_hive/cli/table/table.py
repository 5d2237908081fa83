"""``table``: commands that make and change a table."""

from __future__ import annotations

import click

from hudi_hive.cli.table.create import create
from hudi_hive.cli.table.service import service
from hudi_hive.cli.table.services import SERVICES


@click.group()
def table() -> None:
    """Make or change a table: create, compact, cluster, clean, roll back, savepoint, restore, archive."""


for _command in (create, *SERVICES, service):
    table.add_command(_command)
