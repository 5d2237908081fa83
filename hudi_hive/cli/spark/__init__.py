"""``hudi-hive spark``: what Spark's own programs need from this package."""

from __future__ import annotations

import click

from hudi_hive.cli.spark.connect_server import connect_server
from hudi_hive.cli.spark.jar import jar
from hudi_hive.cli.spark.package import package


@click.group()
def spark() -> None:
    """Prepare Spark's own programs for Hudi tables."""


spark.add_command(connect_server)
spark.add_command(jar)
spark.add_command(package)
