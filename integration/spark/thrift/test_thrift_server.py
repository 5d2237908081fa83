"""The Thrift server: reachable from this machine only, gone when it should be, its settings nobody else's."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService.ttypes import TOperationState

from hudi_hive.errors import InvalidOptionError, MetastoreConnectError, MetastoreServerError, SparkError
from hudi_hive.metastore import HiveMetastore, Timeouts, find_java
from hudi_hive.metastore.embedded import find_jars
from hudi_hive.spark import ThriftServer
from hudi_hive.sync.apply.sql import SqlServer, parse_jdbc_url
from hudi_hive.table import MetaClient
from integration.support.spark_options import JAVA_OPTIONS, SERVER_SETTINGS, START_SECONDS
from tests.support.fixture_tables import named_gap, queries
from tests.support.running.long import long_case
from tests.support.running.waiting import wait_until

pytestmark = pytest.mark.jvm


SECRET = "s3cr3t = ü # ! :"


def _ends(process: int) -> bool:
    """Whether a process ends, by its descriptor."""
    watch = select.poll()  # select itself takes no descriptor beyond 1,023
    watch.register(process, select.POLLIN)
    return bool(watch.poll(300_000))


@pytest.fixture(scope="module")
def server(metastore_uri: str) -> Iterator[ThriftServer]:
    """A server that was given a secret, by a process that does not pin threads, which is no matter of the server's.

    The last test of this file ends it.
    """
    settings = {"spark.hadoop.some.text": SECRET, **SERVER_SETTINGS}
    stages: list[str] = []
    server = ThriftServer(metastore_uri, settings=settings, timeout=START_SECONDS, progress=stages.append)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PIN_THREAD", "false")
        server.start()
    with server as running:
        assert stages == ["starting Java", "starting Spark", "opening the port", "ready"]
        yield running


def alive(pid: int) -> bool:
    """Whether the process runs; one that nobody waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def family(pid: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in children for found in family(int(child)))]


def processes_of(folder: Path) -> list[int]:
    """Processes that have the folder on their command line, and those that end right now."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def proc_file(pid: int, name: str) -> bytes:
    """A file of /proc about a process; nothing when the process, such as a worker of Python's, has ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def listening(pid: int) -> set[tuple[str, int]]:
    """Addresses on which a process listens."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(os.readlink(link))
        except FileNotFoundError:
            continue
    found = set()
    for name, any_address in (("tcp", "0.0.0.0"), ("tcp6", "::")):
        for line in Path(f"/proc/self/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                address, port = fields[1].split(":")
                local = address in ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
                found.add(("127.0.0.1" if local else any_address, int(port, 16)))
    return found


def test_it_serves_the_metastore(server, metastore):
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        assert session.is_spark
        session.execute("CREATE DATABASE IF NOT EXISTS served", "database served")
        assert "served" in metastore.databases()
        metastore.drop_database("served")
        with pytest.raises(MetastoreServerError, match="TABLE_OR_VIEW_NOT_FOUND"):
            session.execute("SELECT * FROM no_such_table", "a question")
        assert dict(session.statements) == {"CREATE DATABASE": 1}


def test_it_listens_on_loopback_only(server):
    found = {address for pid in family(server.pid) for address in listening(pid)}
    assert ("127.0.0.1", server.port) in found
    assert {address for address, _ in found} == {"127.0.0.1"}


def test_the_wrong_kind_of_authentication_is_an_error(server):
    address = parse_jdbc_url(f"{server.jdbc_url};auth=noSasl")
    with pytest.raises(MetastoreConnectError, match="noSasl"):
        SqlServer(address, timeouts=Timeouts(connect=5.0))


def test_a_port_in_use_is_an_error_before_java_starts(tmp_path):
    stages: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        server = ThriftServer("thrift://127.0.0.1:9083", port=port, directory=tmp_path, progress=stages.append)
        with pytest.raises(SparkError, match=f"port {port} .* is in use"):
            server.start()
    assert (server.is_running, server.pid, stages) == (False, None, [])


def test_settings_reach_the_server_and_no_command_line_shows_them(server):
    # An expression that fails with what it was given tells what the server knows.
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session, pytest.raises(MetastoreServerError) as caught:
        session.execute("SELECT raise_error('${spark.hadoop.some.text}')", "a question")
    assert SECRET in str(caught.value)
    processes = family(server.pid)
    assert any(b"java" in proc_file(pid, "cmdline").split(b"\0")[0] for pid in processes)
    for name in ("cmdline", "environ"):
        assert not any(b"s3cr3t" in proc_file(pid, name) for pid in processes)
    assert not any(b"s3cr3t" in path.read_bytes() for path in server.log_path.parent.glob("*.properties"))


@pytest.mark.parametrize("number", [signal.SIGKILL, long_case(signal.SIGTERM)])
def test_the_command_s_server_ends_with_it(metastore_uri, tmp_path, number):
    """Killed while it starts the server, or asked to end when that runs: then its temporary folder goes too."""
    code = "from hudi_hive.cli.main import main; main()"
    settings = tmp_path.with_suffix(".properties")
    settings.write_text(f"spark.hadoop.some.text = from a file\nspark.driver.defaultJavaOptions = {JAVA_OPTIONS}\n")
    arguments = ["thriftserver", "start", "--auth", "nosasl", "--metastore-uris", metastore_uri]
    arguments += ["--settings", str(settings)]
    parent = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if number == signal.SIGTERM:
            (url,) = re.findall(r"jdbc:hive2://[^;]*;auth=noSasl", parent.stdout.readline())
            with SqlServer(parse_jdbc_url(url)) as session:
                assert session.product == "Spark SQL"
                with pytest.raises(MetastoreServerError, match="from a file"):
                    session.execute("SELECT raise_error('${spark.hadoop.some.text}')", "a question")
        its_children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        children = wait_until(lambda: its_children.read_text().split(), "it has started the server")
        child = os.pidfd_open(int(children[0]))
        parent.send_signal(number)
        assert _ends(child), "the server outlived its parent"
        os.close(child)
        wait_until(lambda: not processes_of(tmp_path), "Java has ended")
        if number == signal.SIGTERM:
            assert parent.wait(300) == 0
            assert list(tmp_path.iterdir()) == []
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


@pytest.mark.parametrize("wrong", [{"port": 70000}, {"authentication": "KERBEROS"}, {"settings": {"hive.x": "1"}}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidOptionError):
        ThriftServer("thrift://127.0.0.1:9083", **wrong)


@pytest.mark.parametrize("uri", ["", "http://127.0.0.1:9083", "thrift+tls://h:1", "thrift://h:1?user=me&sasl=PLAIN"])
def test_metastores_that_spark_would_not_find_are_refused(uri):
    """Without an address Spark would make a metastore of its own."""
    with pytest.raises(InvalidOptionError):
        ThriftServer(uri)


def test_an_unreachable_metastore_is_an_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MetastoreConnectError, match="nobody listens"):
        ThriftServer(f"thrift://127.0.0.1:{port}", directory=tmp_path).start()


def test_a_start_that_fails_is_an_error(metastore_uri, tmp_path):
    launch = {"directory": tmp_path, "timeout": START_SECONDS}
    with pytest.raises(SparkError, match="nonsense") as caught:
        ThriftServer(metastore_uri, settings={**SERVER_SETTINGS, "spark.master": "nonsense"}, **launch).start()
    assert "thriftserver.log" in str(caught.value)
    (tmp_path / "thriftserver.log").unlink()
    (tmp_path / "thriftserver.log").mkdir()
    with pytest.raises(SparkError, match="Is a directory"):
        ThriftServer(metastore_uri, directory=tmp_path).start()
    with pytest.raises(SparkError, match="folder"):
        ThriftServer(metastore_uri, directory=__file__).start()


@pytest.mark.long
def test_a_port_that_is_taken_while_the_server_starts_is_an_error(metastore_uri, tmp_path, monkeypatch):
    monkeypatch.setattr("hudi_hive.spark.thrift.server._is_taken", lambda port: False)
    launch = {"settings": SERVER_SETTINGS, "directory": tmp_path, "timeout": START_SECONDS}
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SparkError, match="is in use"):
        ThriftServer(metastore_uri, port=taken.getsockname()[1], **launch).start()


def test_clients_of_the_metastore_see_what_it_makes(server, metastore: HiveMetastore, tmp_path):
    with SqlServer(parse_jdbc_url(server.jdbc_url)) as session:
        session.execute("CREATE DATABASE IF NOT EXISTS made", "database made")
        session.execute(f"CREATE EXTERNAL TABLE made.t (a INT) STORED AS PARQUET LOCATION '{tmp_path}'", "table made.t")
    assert [field.name for field in metastore.table("made", "t").sd.cols] == ["a"]
    metastore.drop_database("made", cascade=True)


# -- Hudi tables -----------------------------------------------------------------------------------------------------

COMPARED = ("string", "int", "bigint", "double", "boolean")


@contextmanager
def connected(server: ThriftServer) -> Iterator[Any]:
    """A cursor of a connection of its own."""
    made = hive.connect("127.0.0.1", server.port, username="reader")
    with closing(made) as connection, closing(connection.cursor()) as cursor:
        yield cursor


def ask(cursor: Any, text: str) -> list[tuple[Any, ...]]:
    cursor.execute(text)
    return cursor.fetchall()


def count(cursor: Any, source: str) -> int:
    return ask(cursor, f"SELECT count(*) FROM {source}")[0][0]


@pytest.fixture(scope="module")
def questions(synced) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Statements of all kinds and what real Hudi answered."""
    return served_questions(synced)


def served_questions(synced: Callable[[str], str]) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Statements about fixtures, which ``synced`` syncs, and what real Hudi answered."""
    found = []
    for name in ("v8_cow_part_mdt", "v6_mor_event_time", "v9_mor_part_rli"):
        table = synced(name)
        merged = (table,) if "cow" in name else (table, f"{table}_rt")
        for kind in ("snapshot", "read_optimized", "time_travel", "incremental"):
            known = [query for query in queries(name, kind) if "rows" in query and not named_gap(name, query)]
            if not known:
                continue
            query = known[-2] if kind == "incremental" else known[-1]  # The last one is empty.
            if kind == "snapshot":
                sources = merged
            elif kind == "read_optimized":
                sources = (f"{table}_ro",)
            elif kind == "time_travel":
                instant = query["as_of"]
                sources = (f"{merged[-1]} VERSION AS OF '{instant}'", f"{merged[0]} TIMESTAMP AS OF '{instant}'")
            else:
                end = f", '{query['end']}'" if query["end"] else ""
                sources = (f"hudi_table_changes('{merged[-1]}', '{query['begin']}'{end})",)
            kept = [at for at, column in enumerate(query["columns"]) if column["type"] in COMPARED]
            names = ", ".join(query["columns"][at]["name"] for at in kept)
            rows = sorted(tuple(row[at] for at in kept) for row in query["rows"])
            found += [(f"SELECT {names} FROM {source}", rows) for source in sources]
    assert len(found) == 14
    return found


def wrong(cursor: Any, questions: list[tuple[str, list[tuple[Any, ...]]]]) -> list[str]:
    """Statements with other answers than real Hudi's."""
    return [text for text, rows in questions if sorted(ask(cursor, text)) != rows]


def test_the_answers_are_hudi_s(server, questions):
    with connected(server) as cursor:
        assert wrong(cursor, questions) == []


def test_many_clients_at_once(server, questions):
    """Each with a connection of its own, and each asking in another order."""
    clients = 4
    start = threading.Barrier(clients)

    def client(number: int) -> list[str]:
        with connected(server) as cursor:
            start.wait(300)
            return wrong(cursor, (questions[number * 3 :] + questions[: number * 3])[:3])

    with ThreadPoolExecutor(clients) as pool:
        assert list(pool.map(client, range(clients))) == [[]] * clients


@pytest.mark.parametrize(("name", "suffix"), [("v8_cow_nonpart", ""), ("v9_mor_event_time", "_rt")])
def test_a_commit_made_meanwhile_is_seen(server, synced, tmp_path, name, suffix):
    table = synced(name, tmp_path, f"served_{name}") + suffix
    base = tmp_path / name
    last = MetaClient.load(base).timeline.write_instants()[-1]
    hidden = tmp_path / "hidden"
    with connected(server) as one, connected(server) as other:
        after = count(one, table)
        (base / last.path).rename(hidden)
        before = count(one, table)
        assert (count(other, table), before != after) == (before, True)
        hidden.rename(base / last.path)
        assert (count(one, table), count(other, table)) == (after, after)


def test_statements_that_write(server, metastore, tmp_path, thorough):
    with connected(server) as cursor, connected(server) as other:
        cursor.execute(f"CREATE DATABASE served LOCATION '{tmp_path}/served.db'")
        cursor.execute("USE served")
        cursor.execute(
            "CREATE TABLE t (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) "
            "TBLPROPERTIES (primaryKey = 'id', type = 'mor')"
        )
        cursor.execute("INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y')")
        cursor.execute("UPDATE t SET v = 'bb' WHERE id = 2")
        if thorough:
            cursor.execute("DELETE FROM t WHERE id = 3")
        cursor.execute(
            "MERGE INTO t USING (SELECT 1 AS id, 'aa' AS v, 'x' AS p UNION ALL SELECT 4, 'd', 'z') s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
            "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE"
        )
        expected = [(1, "aa", "x"), (2, "bb", "x"), (4, "d", "z")]
        assert sorted(ask(other, "SELECT id, v, p FROM served.t")) == expected
        cursor.execute("CREATE TABLE c USING hudi AS SELECT id, v FROM t WHERE id > 1")
        assert count(other, "served.c") == 2
        assert len(ask(other, "CALL show_commits(table => 'served.t')")) == (4 if thorough else 3)
        validate = (
            f"CALL sync_validate('t', 'c', '{{}}', 'jdbc:hive2://127.0.0.1:{server.port}', '', 'served', 'served')"
        )
        difference = "Count difference now is count(c) - count(t) == -1. Catach up count is 2"
        assert ask(cursor, validate.format("complete")) == [(difference,)]
        with pytest.raises(OperationalError, match="complete or latestPartitions"):
            ask(cursor, validate.format("some"))
        with pytest.raises(OperationalError, match=r"\bid\b"):
            cursor.execute("UPDATE t SET id = 7 WHERE id = 1")
        if thorough:
            cursor.execute("ALTER TABLE t ADD COLUMNS (w BIGINT COMMENT 'more')")
            cursor.execute("INSERT INTO t (id, v, w, p) VALUES (5, 'e', 50, 'z')")
            assert ask(other, "SELECT id, w FROM served.t WHERE id > 3 ORDER BY id") == [(4, None), (5, 50)]
            cursor.execute("SET hoodie.schema.on.read.enable=true")
            cursor.execute("ALTER TABLE t REPLACE COLUMNS (w BIGINT, id INT, more STRING, p STRING)")
            assert ask(other, "SELECT w, id, more, p FROM served.t WHERE id > 3 ORDER BY id")[1] == (50, 5, None, "z")
            cursor.execute("SET hoodie.schema.on.read.enable=false")
        cursor.execute("TRUNCATE TABLE t")
        assert count(other, "served.t") == 0
        assert sorted(metastore.tables("served")) == ["c", "t", "t_ro", "t_rt"]
        cursor.execute("DROP TABLE t")
        cursor.execute("DROP TABLE c")
        assert not list(metastore.tables("served"))
        assert not list(tmp_path.glob("served.db/*/.hoodie"))
    metastore.drop_database("served", cascade=True)


def test_sessions_are_apart(server, synced):
    table = synced("v8_cow_part_mdt")
    database, name = table.split(".")
    with connected(server) as one, connected(server) as other:
        one.execute(f"USE {database}")
        one.execute(f"CREATE TEMPORARY VIEW mine AS SELECT city, count(*) AS n FROM {name} GROUP BY city")
        assert ask(one, f"SELECT sum(n) FROM mine JOIN (SELECT DISTINCT city FROM {table}) USING (city)") == [(15,)]
        for hidden in ("mine", name):
            with pytest.raises(OperationalError, match="TABLE_OR_VIEW_NOT_FOUND"):
                ask(other, f"SELECT * FROM {hidden}")


REFUSED = [
    ("SELECT * FROM {table} VERSION AS OF '2001'", "as_of '2001' is not a time; give an instant"),
    ("SELECT * FROM hudi_table_changes('{table}')", "the arguments of hudi_table_changes do not fit; "),
    ("SELECT * FROM hudi_table_changes('no.such', '0')", "no.such is not a synced Hudi table; sync it"),
    ("LOAD DATA INPATH '/nowhere' INTO TABLE {table}", r"LOAD DATA on the Hudi table {table} \[path file:/.*\]; "),
    (
        "SELECT * FROM {table}s",
        r"no table or view {table}s in the catalog \(line 1, pos \d+\); did you mean \w+\? SHOW TABLES ",
    ),
]


@pytest.mark.parametrize(("statement", "message"), REFUSED)
def test_errors_reach_the_client_as_text(server, synced, statement, message):
    table = synced("v8_cow_part_mdt")
    with connected(server) as cursor:
        with pytest.raises(OperationalError) as caught:
            ask(cursor, statement.format(table=table))
        proc_file = caught.value.args[0].status.errorMessage
        assert re.search(message.format(table=table), proc_file)
        assert not re.search(r"py4j|Traceback|\n\s*at ", proc_file, re.IGNORECASE)
        assert count(cursor, table) == 15


@pytest.mark.parametrize("suffix", ["_rt", long_case("")])
def test_a_statement_can_be_cancelled(server, synced, suffix):
    """And gives back the server's two cores, which it would have for days."""
    table = synced("v9_mor_part_rli" if suffix else "v8_cow_part_mdt") + suffix
    endless = f"SELECT sum(hash(a._hoodie_record_key, b.id)) FROM {table} a CROSS JOIN range(0, 100000000000000) b"
    running = TOperationState.RUNNING_STATE
    with connected(server) as cursor, connected(server) as other:
        for runs in (True, False):
            cursor.execute(endless, async_=True)
            if runs:
                wait_until(lambda: cursor.poll().operationState == running, "the statement runs")
            cursor.cancel()
            wait_until(lambda: cursor.poll().operationState != running, "the statement has ended")
            assert cursor.poll().operationState == TOperationState.CANCELED_STATE
            assert count(other, table) == count(cursor, table) > 0


@pytest.mark.long
def test_a_jdbc_client(server, synced):
    """Beeline, which speaks through Hive's JDBC driver."""
    table = synced("v9_mor_part_rli")
    statements = [
        f"SELECT count(*), count(DISTINCT region) FROM {table}_rt",
        f"SELECT count(*) FROM {table}_ro",
        f"DELETE FROM {table}",
    ]
    command = [str(find_java().executable), "-cp", f"{find_jars()}/*", "org.apache.hive.beeline.BeeLine"]
    command += ["-u", server.jdbc_url, "-n", "reader", "--outputformat=tsv2", "--showHeader=false", "--silent=true"]
    for statement in statements:
        command += ["-e", statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    # It writes a prompt in front of each answer.
    assert re.findall(r"> (.*)", done.stdout)[:2] == ["26\t3", "30"]
    assert f"DELETE on the Hudi table {table} [path file:" in done.stderr
    assert "py4j" not in done.stderr


def test_a_server_that_ended_by_itself_leaves_nothing(server, monkeypatch):
    with server:
        pid, folder, threads = server.pid, server.log_path.parent, threading.active_count()
        java = os.pidfd_open(family(pid)[1])
        assert server.start() is server
        assert server.pid == pid
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert not server.is_running
        assert _ends(java), "Java outlived the server"
        os.close(java)
        child = os.fork()
        if child == 0:  # It has a copy of everything, and none of it is its own.
            server.stop()
            os._exit(0)
        os.waitpid(child, 0)
        assert folder.exists()
        # What is left goes before it is started again.
        monkeypatch.setattr("hudi_hive.spark.thrift.server.find_java", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            server.start()
        assert not folder.exists()
    server.stop()
    assert not alive(pid)
    assert (server.is_running, server.pid, server.port) == (False, None, None)
    assert threading.active_count() <= threads
    with pytest.raises(SparkError, match="not running"):
        _ = server.jdbc_url
