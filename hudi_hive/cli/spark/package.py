"""``hudi-hive spark package``: this package as a file that Spark brings to its executors."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("-o", "--output", default="hudi-hive.zip", show_default=True, help="The file to write; it ends in .zip.")
@click.option(
    "--extra", "extras", multiple=True, metavar="NAME", help="Optional packages, too: hdfs, aws …; repeatable."
)
def package(output: str, extras: tuple[str, ...]) -> None:
    """Write an archive of this package for executors that have no more than PySpark and PyArrow."""
    from hudi_hive.spark.packaging import write_package

    names = write_package(output, extras)
    size = Path(output).stat().st_size / 1e6
    click.echo(f"{output}: {size:.1f} MB with {', '.join(names)}")
    click.echo(f"give it to Spark as --py-files {output} or --archives {output}")
