"""``hudi-hive spark jar``: the jar for ``spark-sql`` and ``spark-shell``."""

from __future__ import annotations

import click


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The file to write.")
@click.option("--python", default=None, help="The Python that plans statements; default: this one.")
def jar(output: str, python: str | None) -> None:
    """Write a jar by which spark-sql and spark-shell read and write Hudi tables."""
    from hudi_hive.spark.jar import EXTENSION, write_jar

    file = write_jar(output, python)
    click.echo(f"{file}: spark-sql --jars {file} --conf spark.sql.extensions={EXTENSION}")
