"""``demo``: the main job, end to end, on three tables that real Hudi wrote and a real embedded Hive metastore.

Each step prints what it did and what it cost. Everything lives in one folder, a temporary one unless ``--directory`` is
given, and every process that was started is stopped at the end, on Ctrl-C too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_hive.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from hudi_hive.metastore import HiveMetastore

DATABASE = "demo"

_LOGGING = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


@dataclass(frozen=True)
class DemoTable:
    """One shipped table and the query that the demo runs on it.

    ``since`` is the ``begin`` of its incremental pull: everything completed after it is new.
    """

    name: str
    hudi: str
    about: str
    columns: str
    partition_filter: str
    since: str


TABLES = (
    DemoTable(
        "v6_cow_ymd_hive",
        "0.15.0",
        "readings by year, month, day",
        "id, reading, day",
        "year = 2023 AND month = '01'",
        "first",
    ),
    DemoTable("v8_cow_part_mdt", "1.0.2", "visits by city", "visit_id, page, city", "city = 'lima'", "second last"),
    DemoTable("v9_cow_wide_250", "1.1.1", "250 partitions", "id, v, p", "p = 'p249'", "first"),
)


@click.command()
@click.option(
    "--directory",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep tables, metastore and logs in this empty folder; by default a temporary one, removed at the end.",
)
def demo(directory: Path | None) -> None:
    """The main job, end to end: tables of real Hudi, a real metastore, SQL in plain PySpark."""
    _check_spark()
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    started = time.monotonic()
    with _folder(directory) as folder, ExitStack() as stack:
        Demo(console, folder, stack).run()
    console.print(f"\n[bold green]done[/] in {time.monotonic() - started:.0f} s")


def _check_spark() -> None:
    from importlib.util import find_spec

    from hudi_hive.metastore import find_java

    if find_spec("pyspark") is None:
        raise MissingDependencyError("the demo needs PySpark", remedy="pip install 'hudi_hive[spark]'")
    find_java()


@contextmanager
def _folder(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise click.UsageError(f"folder {directory} is not empty")
        yield directory.resolve()
        return
    path = Path(tempfile.mkdtemp(prefix="hudi-hive-demo-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Demo:
    """The steps of the main job; ``stack`` stops what they start."""

    def __init__(self, console: Console, folder: Path, stack: ExitStack) -> None:
        self.console = console
        self.folder = folder
        self.stack = stack
        self.uri = ""
        self.partitions: dict[str, int] = {}

    def run(self) -> None:
        """Do all steps, one after the other."""
        self.unpack()
        self.classify()
        client = self.start_metastore()
        self.sync(client)
        self.query(self.start_spark())

    # -- steps -----------------------------------------------------------------------------------------------------

    def unpack(self) -> None:
        """Lay out the shipped tables and a plain Parquet folder beside them."""
        self.step("Tables written by real Hudi")
        for table in TABLES:
            source = resources.files("hudi_hive.cli") / "demo_tables" / f"{table.name}.zip"
            with source.open("rb") as stream, zipfile.ZipFile(stream) as archive:
                archive.extractall(self.folder / "lake")
            self.say(f"{table.name}: Hudi {table.hudi}, {table.about}")
        plain = self.folder / "lake" / "plain"
        plain.mkdir()
        pq.write_table(pa.table({"n": [1, 2, 3]}), plain / "numbers.parquet")

    def classify(self) -> None:
        """One job over an incremental, a snapshot and a plain path: the three groups of RFC-04."""
        from hudi_hive.input_format import HoodieParquetInputFormat, JobConf, report
        from hudi_hive.options import jobs

        self.step("Path classification and list_status (RFC-04)")
        incremental, snapshot = TABLES[2], TABLES[0]
        paths = [self.path(incremental.name), self.path(snapshot.name), self.path("plain")]
        conf = JobConf(
            {
                "mapreduce.input.fileinputformat.inputdir": ",".join(paths),
                jobs.CONSUME_MODE.of_table(incremental.name): "INCREMENTAL",
                jobs.CONSUME_START.of_table(incremental.name): self.since(incremental),
                jobs.CONSUME_MAX_COMMITS.of_table(incremental.name): "-1",
            }
        )
        job_report = report(HoodieParquetInputFormat(conf))
        for row in job_report.groups:
            partitions = "" if row["partitions"] is None else f" in {row['partitions']} partitions"
            name = row["table"] or "plain folder"
            self.say(f"{row['group']:<11} {name}: {row['files']} files{partitions}, {row['note']}")
        inside = [path for path in job_report.listed if incremental.name in path and ".hoodie" not in path]
        self.say(f"the incremental table has 250 partitions; {len(inside)} of its partition folders were listed")

    def start_metastore(self) -> HiveMetastore:
        """An embedded Hive 2.3 metastore on loopback."""
        from hudi_hive.metastore import EmbeddedMetastore, HiveMetastore

        self.step("Embedded Hive metastore")
        with self.console.status("starting") as status:
            started = time.monotonic()
            metastore = EmbeddedMetastore(self.folder / "metastore", progress=status.update)
            self.uri = self.stack.enter_context(metastore).uri
        self.say(f"Hive 2.3 from PySpark's jars, ready at {self.uri} after {time.monotonic() - started:.1f} s")
        return self.stack.enter_context(HiveMetastore(self.uri))

    def sync(self, client: HiveMetastore) -> None:
        """Sync every table, then once more to show that nothing is left to do."""
        from hudi_hive.sync import HiveSyncConfig, HiveSyncTool

        self.step("Sync to the metastore")
        for table in TABLES:
            config = HiveSyncConfig(
                base_path=self.path(table.name), database=DATABASE, metastore_uris=self.uri, table=table.name
            )
            first = HiveSyncTool(config, metastore=client).sync()
            again = HiveSyncTool(config, metastore=client).sync()
            self.partitions[table.name] = first.plan.tables[0].partitions.add.num_rows
            added = self.partitions[table.name]
            self.say(
                f"{DATABASE}.{table.name}: {added} partitions added in {first.total_calls} metastore calls; "
                f"a second sync finds nothing to do in {again.total_calls}"
            )
        before = client.calls.total()
        sizes = [len(batch) for batch in client.partition_batches(DATABASE, TABLES[2].name)]
        self.say(f"250 partitions come back in batches of {sizes} ({client.calls.total() - before} calls)")

    def start_spark(self) -> SparkSession:
        """Plain PySpark on that metastore: no Hudi bundle on the class path."""
        self.step("Plain PySpark on that metastore")
        with self.console.status("starting Spark"):
            started = time.monotonic()
            import hudi_hive.spark as hudi_spark

            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = hudi_spark.session_builder(metastore_uris=self.uri).master("local[2]").appName("hudi-hive demo")
            for key, value in self.spark_conf().items():
                builder = builder.config(key, value)
            spark = builder.getOrCreate()
            self.stack.callback(spark.stop)
            hudi_spark.enable(spark)
        self.say(f"Spark {spark.version} ready after {time.monotonic() - started:.1f} s")
        return spark

    def spark_conf(self) -> dict[str, str]:
        """A small session that says nothing but errors and leaves nothing outside the demo's folder."""
        logging = self.folder / "log4j2.properties"
        logging.write_text(_LOGGING.format(file=self.folder / "spark.log"))
        return {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
        }

    def query(self, spark: SparkSession) -> None:
        """A snapshot with a partition filter and an incremental pull on each table."""
        import hudi_hive.spark as hudi_spark

        self.step("SQL on the synced tables")
        for table in TABLES:
            name = f"{DATABASE}.{table.name}"
            for statement in (
                f"SELECT {table.columns} FROM {name} WHERE {table.partition_filter} ORDER BY 1",
                f"SELECT {table.columns} FROM hudi_table_changes('{name}', '{self.since(table)}') ORDER BY 1",
            ):
                rows = self.collect(spark.sql(statement))
                scan = hudi_spark.planned_scans(spark)[-1]
                self.say(statement)
                self.say(
                    f"    {len(rows)} rows from {scan.files} files in {scan.partitions_planned} of "
                    f"{self.partitions[table.name]} partitions, the first: {rows[0].asDict() if rows else 'none'}"
                )

    # -- small helpers ---------------------------------------------------------------------------------------------

    def path(self, name: str) -> str:
        """The base path of one of the demo's tables."""
        return str(self.folder / "lake" / name)

    def since(self, table: DemoTable) -> str:
        """The ``begin`` of a table's incremental pull: by completion time from table version 8 on."""
        from hudi_hive.table import MetaClient

        commits = MetaClient.load(self.path(table.name)).timeline.write_instants()
        commit = commits[0] if table.since == "first" else commits[-2]
        return commit.completed or commit.requested

    def collect(self, frame: Any) -> list[Any]:  # noqa: ANN401 - a Spark DataFrame
        """The rows of a DataFrame, with a spinner while the query runs."""
        with self.console.status("running"):
            return list(frame.collect())

    def step(self, title: str) -> None:
        """Print the title of a step."""
        self.console.print(f"\n[bold]{title}[/]")

    def say(self, text: str) -> None:
        """Print a line of a step."""
        from rich.markup import escape

        self.console.print(f"  {escape(text)}")
