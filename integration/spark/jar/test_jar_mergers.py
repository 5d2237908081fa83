"""Mergers of users in sessions that have the jar alone, named by a setting that Spark is started with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import hudi_hive
from hudi_hive import HudiTable
from hudi_hive.options import read
from hudi_hive.spark.jar import write_jar
from hudi_hive.spark.packaging import write_package
from integration.support.spark_cluster import SparkCluster, clean_python
from integration.support.spark_options import START_SECONDS
from integration.support.spark_programs import SparkProgram
from tests.support import mergers
from tests.support.mergers import STRATEGY, SUM
from tests.support.running.long import long_case
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

BY_STRATEGY = "com.acme.SumOfStrategy"
MODULE = str(mergers.__file__)
REGISTRATIONS = f"{SUM}=mergers:total,{BY_STRATEGY}@{STRATEGY}=mergers:total"
PAYLOAD = f"'hoodie.datasource.write.payload.class' = '{SUM}'"
MERGER = f"'hoodie.write.record.merge.mode' = 'CUSTOM', 'hoodie.write.record.merge.strategy.id' = '{STRATEGY}'"
DUE = "hoodie.compact.inline.max.delta.commits=1"
STREAM = """
for (kind <- Seq("COPY_ON_WRITE", "MERGE_ON_READ")) {
  val options = Map("hoodie.table.name" -> "t", "hoodie.datasource.write.recordkey.field" -> "id",
    "hoodie.datasource.write.precombine.field" -> "ts", "hoodie.datasource.write.table.type" -> kind,
    "hoodie.datasource.write.payload.class" -> "com.acme.Sum", "checkpointLocation" -> s"FOLDER/checkpoint-$kind")
  val lines = spark.readStream.schema("id INT, ts INT, n BIGINT").option("maxFilesPerTrigger", 1).json("FOLDER/source")
  val query = lines.writeStream.format("hudi").options(options)
  query.trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow()).start(s"FOLDER/$kind").awaitTermination()
  val copy = spark.readStream.format("hudi").load(s"FOLDER/$kind").select("id", "ts", "n")
  val again = copy.writeStream.format("hudi").options(options).option("checkpointLocation", s"FOLDER/copied-$kind")
  again.trigger(org.apache.spark.sql.streaming.Trigger.AvailableNow()).start(s"FOLDER/copy-$kind").awaitTermination()
  for (name <- Seq(kind, s"copy-$kind")) {
    val rows = spark.read.format("hudi").load(s"FOLDER/$name").select("id", "n").orderBy("id").collect()
    println(s"$name: ${rows.mkString(" ")}")
  }
}
:quit
"""


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jar(tmp_path_factory.mktemp("jar") / "hudi-hive.jar")


@pytest.fixture
def start(jar: Path, tmp_path: Path) -> Iterator[Callable[..., SparkProgram]]:
    """Starts programs with mergers, which leave nothing behind."""
    started: list[SparkProgram] = []

    def run(name: str, *arguments: str, registered: str = REGISTRATIONS, **settings: str) -> SparkProgram:
        chosen = {read.SPARK_PYTHON.name: sys.executable, read.SPARK_MERGERS.name: registered}
        chosen |= {name.replace("_", "."): text for name, text in settings.items()}
        started.append(SparkProgram(name, "", jar, tmp_path, "--py-files", MODULE, *arguments, settings=chosen))
        return started[-1]

    yield run
    for program in started:
        program.end()


def ended(program: SparkProgram, typed: str = "") -> str:
    """What a program prints until it has ended with all that it started."""
    printed, _ = program.process.communicate(typed, timeout=START_SECONDS)
    wait_until(lambda: not program.running(), "the program's processes end")
    return printed


def statements(table: str, kind: str, version: int, properties: str) -> list[str]:
    """What is done to a table, and queries whose rows begin with its name."""
    compact = f"CALL run_compaction(op => 'scheduleandexecute', table => '{table}', options => '{DUE}')"
    return [
        f"CREATE TABLE {table} (id INT, ts INT, n BIGINT) USING hudi TBLPROPERTIES (type = '{kind}', "
        f"primaryKey = 'id', preCombineField = 'ts', 'hoodie.write.table.version' = '{version}', {properties})",
        f"INSERT INTO {table} VALUES (1, 1, 1), (2, 1, 5)",
        f"MERGE INTO {table} t USING (SELECT * FROM VALUES (1, 2, 10L), (3, 2, 7L) AS s(id, ts, n)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        f"UPDATE {table} SET n = 100, ts = 3 WHERE id = 2",
        f"SELECT '{table}', id, n FROM {table} ORDER BY id",
        *([compact] if kind == "mor" else []),
        f"SELECT '{table} in base files', id, n FROM hudi_query('{table}', 'read_optimized') ORDER BY id",
        f"INSERT INTO {table} VALUES (1, 9, 1000)",
        f"DELETE FROM {table} WHERE id = 3",
        f"SELECT '{table} at the end', id, n FROM {table} ORDER BY id",
    ]


def rows_of(table: str) -> list[str]:
    """What the queries print."""
    merged = {1: 11, 2: 105, 3: 7}
    lines = [f"{name}\t{key}\t{n}" for name in (table, f"{table} in base files") for key, n in merged.items()]
    return [*lines, f"{table} at the end\t1\t1011", f"{table} at the end\t2\t105"]


WAYS = [(6, "class", PAYLOAD), (8, "class", PAYLOAD), (9, "class", PAYLOAD), (9, "id", MERGER)]
ALL = [
    (f"{kind}_{version}_{way}", kind, version, properties)
    for kind in ("cow", "mor")
    for version, way, properties in (
        (6, "class", PAYLOAD),
        (8, "class", PAYLOAD),
        (9, "class", PAYLOAD),
        (9, "id", MERGER),
    )
]


@pytest.mark.parametrize(
    "tables", [[ALL[3], ALL[4]], long_case([ALL[0], ALL[1], ALL[2], ALL[5], ALL[6], ALL[7]], name="all")]
)
def test_statements_merge_by_it_and_name_what_is_missing(tables, start, tmp_path):
    foreign = "com.acme.Foreign"
    hudi_hive.register_merger(foreign, mergers.total)
    table = HudiTable.create(str(tmp_path / "foreign"), name="f", record_keys=["id"], payload_class=foreign)
    table.insert(pa.table({"id": [1]}))
    hudi_hive.unregister_merger(foreign)
    several = [text for table in tables for text in statements(*table)]
    several += [f"DELETE FROM hudi.`{tmp_path}/foreign` WHERE id = 1"]
    (tmp_path / "all.sql").write_text("".join(f"{text};\n" for text in several))
    printed = ended(start("spark-sql", "-S", "-f", "all.sql"))
    expected = [line for table in tables for line in rows_of(table[0])]
    names = tuple(table[0] for table in tables)
    assert [line for line in printed.splitlines() if line.startswith(names)] == expected, printed
    assert f"UnsupportedTableError: payload class {foreign}: how records of table f merge is not known" in printed
    assert f"the entry {foreign}=module:attribute in the setting {read.SPARK_MERGERS}" in printed


@pytest.mark.long
def test_streams_of_scala_merge_by_it(start, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for ts in range(3):
        lines = [f'{{"id": {key}, "ts": {ts}, "n": {n}}}' for key, n in ((1, 1), (1, 10), (2, 5))]
        (source / f"{ts}.json").write_text("\n".join(lines))
    printed = ended(start("spark-shell"), STREAM.replace("FOLDER", str(tmp_path)))
    for name in ("COPY_ON_WRITE", "MERGE_ON_READ"):
        assert f"{name}: [1,33] [2,15]" in printed, printed
        assert f"copy-{name}: [1,33] [2,15]" in printed, printed


@pytest.mark.long
def test_executors_of_their_own_get_it_with_their_files(start, tmp_path):
    archive, python = tmp_path / "hudi-hive.zip", clean_python(tmp_path / "python")
    write_package(archive)
    (tmp_path / "all.sql").write_text("".join(f"{text};\n" for text in statements(*ALL[5])))
    with SparkCluster(tmp_path / "spark", workers=1) as cluster:
        settings = {"spark_master": cluster.url, "spark_executor_memory": "512m", "spark_pyspark_python": str(python)}
        settings |= {"spark_python_daemon_module": "pyspark.daemon", "spark_executorEnv_PYTHONPATH": ""}
        files = ("--py-files", f"{MODULE},{archive}")
        printed = ended(start("spark-sql", *files, "-S", "-f", "all.sql", **settings))
    lines = [line for line in printed.splitlines() if line.startswith(ALL[5][0])]
    assert lines == rows_of(ALL[5][0]), printed


@pytest.mark.long
def test_a_setting_that_names_no_function_is_refused_when_the_session_is_made(start):
    program = start("spark-sql", "-e", "SELECT 1", registered=f"{SUM}=acme_nowhere:total")
    printed = ended(program)
    assert program.process.returncode != 0
    assert "hudi_hive: the merger acme_nowhere:total cannot be imported: No module named 'acme_nowhere'" in printed
