"""``hudi-hive sql``: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hudi_hive import HudiTable
from hudi_hive.cli import cli
from hudi_hive.errors import InvalidOptionError, SchemaError, SqlError
from hudi_hive.metastore import HiveMetastore
from hudi_hive.sql import SqlEngine
from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture
from tests.support.metastore.registered import register

VISITS = "v8_cow_part_mdt"
COUNT = "SELECT city, count(*) AS n FROM visits GROUP BY ALL ORDER BY ALL"
EXPECTED = [{"city": "kyiv", "n": 1}, {"city": "lima", "n": 8}, {"city": "oslo", "n": 6}]


@pytest.fixture
def table() -> str:
    return f"visits={unzip_fixture(VISITS)}"


def run(*words: str, text: str | None = None) -> str:
    result = CliRunner().invoke(cli, ["sql", *words], input=text, catch_exceptions=False, standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def test_results_are_printed_in_each_format(table):
    assert json.loads(run(COUNT, "--table", table, "--format", "json")) == EXPECTED
    found = list(csv.DictReader(io.StringIO(run(COUNT, "--table", table, "--format", "csv"))))
    assert found == [{name: str(value) for name, value in row.items()} for row in EXPECTED]
    printed = run(COUNT, "--table", table, "--threads", "1", "--memory-limit", "256MB")
    assert [line.split()[1] for line in printed.splitlines() if "│" in line] == ["kyiv", "lima", "oslo"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_statement(table, tmp_path, number):
    # Rows of the first range come out at once; the rest would take hours.
    endless = "SELECT a.range FROM visits, range(100000000) a, range(100000) b WHERE hash(a.range, b.range) % 3 < 2"
    code = "from hudi_hive.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "sql", endless, "--table", table, "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout.readline() == "range\n"
        process.stdout.readline()
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []


INTERRUPTED_AT_WORK = """
import os, signal, sys, threading, time
from hudi_hive.cli.main import main

def interrupt():
    while not os.listdir(os.environ["TMPDIR"]):  # the statement's folder
        time.sleep(0.01)
    begun = time.process_time()
    while time.process_time() < begun + 1:  # it computes by then
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
main()
"""


def test_a_signal_ends_a_statement_without_rows(table, tmp_path):
    endless = "SELECT count(*) FROM visits, range(100000000) a, range(100000) b WHERE hash(a.range, b.range) % 3 < 2"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_WORK, "sql", endless, "--table", table],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    assert list(tmp_path.iterdir()) == []


INTERRUPTED_SLOW_TO_END = """
import os, signal, threading
from hudi_hive.cli.interruptible import run_interruptible

calls = threading.Semaphore(0)
ended = []

def work():
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(3):
        calls.acquire()
    ended.append(True)

try:
    run_interruptible(work, calls.release)
except KeyboardInterrupt:
    print(ended)
"""


def test_a_signal_waits_for_the_end_of_the_work():
    command = [sys.executable, "-c", INTERRUPTED_SLOW_TO_END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("[True]\n", "")


def test_statements_that_have_just_ended_are_interrupted(table):
    engine = SqlEngine(tables={"visits": table.split("=", 1)[1]})
    with engine.query("FROM visits"):
        (run,) = engine._runs
        run.close()
        engine.interrupt()
    assert engine.query("SELECT 1 AS n").read_all().to_pylist() == [{"n": 1}]


def test_statements_from_standard_input(table):
    assert json.loads(run("-", "--table", table, "--format", "json", text=COUNT + ";\n")) == EXPECTED


def test_rows_go_to_a_file(table, tmp_path):
    out = tmp_path / "out.parquet"
    printed = json.loads(run("FROM visits", "--table", table, "-o", str(out), "--format", "json"))
    rows = HudiTable.open(unzip_fixture(VISITS)).scan().to_arrow()
    assert printed == {"file": str(out), "rows": rows.num_rows}
    assert pq.read_table(out).to_pylist() == rows.to_pylist()
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_tables_of_a_metastore(tmp_path):
    with FakeMetastore(tmp_path / "metastore") as server:
        with HiveMetastore(server.uri) as client:
            client.create_database("lake")
            register(client, unzip_fixture(VISITS), "visits", database="lake", keys=[("city", "string")])
        uris = ("--metastore-uris", server.uri, "--format", "json")
        assert json.loads(run(COUNT.replace("visits", "lake.visits"), *uris)) == EXPECTED
        assert json.loads(run(COUNT, "--database", "lake", *uris)) == EXPECTED
        assert json.loads(run("SHOW TABLES FROM lake", *uris)) == [{"name": "visits"}]
        site = tmp_path / "hive-site.xml"
        site.write_text(f"""<configuration><property><name>hive.metastore.uris</name>
            <value>{server.uri}</value></property></configuration>""")
        words = ("SHOW TABLES FROM lake", "--hive-site", str(site), "--format", "json")
        assert json.loads(run(*words)) == [{"name": "visits"}]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["SELECT 1"], InvalidOptionError),
        (["SELECT 1", "--table", "visits"], InvalidOptionError),
        (["SELECT 1", "--table", "visits=/tmp", "--memory-limit", "much"], InvalidOptionError),
        (["DROP TABLE visits", "--table", "visits=/tmp"], SqlError),
    ],
)
def test_what_is_refused(words, error, monkeypatch):
    monkeypatch.delenv("HUDI_HIVE_METASTORE_URIS", raising=False)
    result = CliRunner().invoke(cli, ["sql", *words], standalone_mode=False)
    assert isinstance(result.exception, error)


def test_joined_columns_of_one_name_are_all_printed(table):
    found = json.loads(
        run(
            "SELECT 1 AS a, v.city, w.city FROM visits v JOIN visits w USING (visit_id)",
            "--table",
            table,
            "--format",
            "json",
        )
    )
    assert len(found) == 15 and all(list(row) == ["a", "city", "city_1"] for row in found)


def test_what_parquet_has_no_type_for_is_refused(table, tmp_path):
    words = ["sql", "SELECT INTERVAL 1 DAY AS i FROM visits", "--table", table, "-o", str(tmp_path / "out.parquet")]
    result = CliRunner().invoke(cli, words, standalone_mode=False)
    assert isinstance(result.exception, SchemaError) and "interval" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_statement_leaves_no_file(table, tmp_path):
    out = tmp_path / "out.parquet"
    result = CliRunner().invoke(
        cli, ["sql", "SELECT error('no') FROM visits", "--table", table, "-o", str(out)], standalone_mode=False
    )
    assert isinstance(result.exception, SqlError) and list(tmp_path.iterdir()) == []
