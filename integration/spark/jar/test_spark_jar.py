"""``spark-sql`` and ``spark-shell`` with the jar that ``hudi-hive spark jar`` writes; no Python drives them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from hudi_hive.cli import cli
from hudi_hive.options import read
from integration.support.spark_options import START_SECONDS
from integration.support.spark_programs import SparkProgram
from integration.support.spark_releases import RELEASES
from tests.support.code_blocks import page_blocks
from tests.support.running.long import long_case
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm

NEWEST = ""
OLDEST = RELEASES[0]
PAGE = "docs/spark-jar.md"
NO_TYPE = "InvalidOptionError: hudi_query has no query type 'newest'"
AGAIN = """
spark.stop()
val again = org.apache.spark.sql.SparkSession.builder.config("spark.sql.extensions", "hudi_hive.SparkExtension").master("local[1]").getOrCreate()
again.sql("SELECT count(*) FROM hudi.`/lake/trips`").collect().mkString
"""  # noqa: E501
TABLES = """
spark.sql("CREATE TABLE names (id INT, name STRING, ts INT) USING hudi TBLPROPERTIES (primaryKey='id', preCombineField='ts')")
spark.sql("INSERT INTO names VALUES (1, 'a', 1)")
Seq((2, "b", 1)).toDF("id", "name", "ts").write.format("hudi").mode("overwrite").saveAsTable("names")
Seq((3, "c", 1)).toDF("id", "name", "ts").write.format("hudi").mode("append").saveAsTable("names")
Seq((4, "d", 1)).toDF("id", "name", "ts").writeTo("names").append()
spark.table("names").select("id").orderBy("id").collect().mkString(" ")
"""  # noqa: E501
DROPPED = "SparkError: saveAsTable with mode overwrite would drop default.names before it writes"
EXISTS = "SparkError: CREATE TABLE default.names: the table exists"
"""What releases of Spark that drop a table first, and those that do not, are refused with."""


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, written for a Python that is not there: each program names its own."""
    file = tmp_path_factory.mktemp("jar") / "hudi-hive.jar"
    done = CliRunner().invoke(cli, ["spark", "jar", "-o", str(file), "--python", "/nowhere/python"])
    assert done.exit_code == 0, done.output
    assert done.output == f"{file}: spark-sql --jars {file} --conf spark.sql.extensions=hudi_hive.SparkExtension\n"
    return file


@pytest.fixture
def start(jar: Path, tmp_path: Path) -> Iterator[Callable[..., SparkProgram]]:
    """Starts programs with this Python, which leave nothing behind."""
    started: list[SparkProgram] = []

    def run(name: str, release: str, *arguments: str, python: str = sys.executable, **more: str) -> SparkProgram:
        settings = {read.SPARK_PYTHON.name: python} if python else {}
        started.append(SparkProgram(name, release, jar, tmp_path, *arguments, settings=settings, variables=more))
        return started[-1]

    yield run
    for program in started:
        program.end()


def blocks(*languages: str) -> list[str]:
    """Texts of the page in some languages."""
    return [block.text for block in page_blocks(*languages) if block.where.startswith(PAGE)]


def ended(program: SparkProgram, typed: str = "") -> str:
    """What a program prints until it has ended with all that it started."""
    printed, _ = program.process.communicate(typed, timeout=START_SECONDS)
    wait_until(lambda: not program.running(), "the program's processes end")
    return printed


@pytest.mark.parametrize("release", [NEWEST, long_case(OLDEST)])
def test_spark_sql_prints_what_the_page_shows(release, start, tmp_path):
    (statements,), shown = blocks("sql"), blocks("text")[0]
    (tmp_path / "trips.sql").write_text(statements)
    program = start("spark-sql", release, "-S", "-f", "trips.sql")
    printed = ended(program)
    assert program.process.returncode == 1
    lines = shown.splitlines()
    assert [line for line in printed.splitlines() if line in lines] == lines, printed


@pytest.mark.parametrize("release", [long_case(NEWEST, name="newest"), long_case(OLDEST)])
def test_spark_sql_says_what_to_do_about_a_table_that_is_not_there(release, start):
    program = start("spark-sql", release, "-S", "-e", "SELECT * FROM nowhere.trips")
    printed = ended(program)
    assert "[TABLE_OR_VIEW_NOT_FOUND] no table or view nowhere.trips: there is no database nowhere (line 1" in printed
    assert "; SHOW DATABASES lists them; `hudi-hive sync --database nowhere` makes it" in printed


@pytest.mark.parametrize("release", [long_case(NEWEST)])
def test_spark_shell_prints_what_the_page_shows_and_ends(release, start, tmp_path):
    (scala,), shown = blocks("scala"), blocks("text")[1]
    typed = scala.replace(":quit\n", TABLES + AGAIN + ":quit\n").replace("/lake", str(tmp_path))
    program = start("spark-shell", release)
    printed = ended(program, typed)
    assert program.process.returncode == 0, printed
    for line in (*shown.splitlines(), EXISTS, "[1] [3] [4]", "[2]"):
        assert line in printed, printed


@pytest.mark.long
def test_spark_shell_of_3_5_takes_python_with_it_when_it_is_killed(start, tmp_path):
    (scala,), shown = blocks("scala"), blocks("text")[1]
    typed = scala.replace(":quit\n", TABLES + AGAIN + 'println("do" + "ne")\n').replace("/lake", str(tmp_path))
    program = start("spark-shell", OLDEST)
    assert program.process.stdin is not None and program.process.stdout is not None
    program.process.stdin.write(typed)
    program.process.stdin.flush()
    printed = ""
    for line in program.process.stdout:
        printed += line
        if line.startswith("done"):
            break
    for line in (*shown.splitlines(), DROPPED, "[1] [3] [4]", "[2]"):
        assert line in printed, printed
    running = program.running()
    assert any("python" in Path(name).name for name in running.values())
    (java,) = [pid for pid, name in running.items() if Path(name).name == "java"]
    os.kill(java, signal.SIGKILL)
    wait_until(lambda: not program.running(), "all processes end")


@pytest.mark.parametrize("release", [long_case(NEWEST, name="newest"), long_case(OLDEST)])
@pytest.mark.parametrize(
    ("python", "reason"),
    [
        ("", "there is no Python at /nowhere/python; set spark.hudi_hive.python to a Python that has hudi_hive"),
        ("/bin/false", "/bin/false ended before it was ready; see what it printed"),
        ("/bin/missing-python", "there is no Python at /bin/missing-python"),
    ],
)
def test_a_python_that_does_not_do_is_named_and_spark_ends(release, python, reason, start):
    program = start("spark-sql", release, "-e", "SELECT 1", python=python)
    printed = ended(program)
    assert f"hudi_hive: {reason}" in printed
    assert program.process.returncode != 0
