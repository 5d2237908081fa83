"""The errors that newcomers meet first: each is one line that says what to do, and each is provoked for real.

``docs/how-to/install.md`` lists them; those about Spark and Java are provoked in processes of their own, since a
process imports PySpark once.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_hive import HudiHiveError, HudiTable
from hudi_hive.cli.main import main
from hudi_hive.connector import HudiConnector
from hudi_hive.metrics import serve_prometheus
from hudi_hive.testing import FakeMetastore

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
ROWS = pa.table({"id": ["a"], "fare": [1.0], "ts": [1]})


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    table = HudiTable.create(folder / "trips", name="trips", record_keys=["id"], ordering_fields=["ts"])
    table.upsert(ROWS)
    return folder


@pytest.fixture(scope="module")
def metastore(tmp_path_factory):
    with FakeMetastore(tmp_path_factory.mktemp("warehouse")) as running:
        yield running


@pytest.fixture
def taken_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def shell(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and printed.err.startswith("error: ")
    return ended.value.code, printed.err


def process(code, **variables):
    """The last line on standard error of Python code that ends with an error, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 1, ended.stderr
    return ended.stderr.rstrip("\n").split("\n")[-1]


def says(text, *parts):
    """The line says what is wrong and, behind a semicolon, what to do."""
    problem, remedy = parts
    assert "\n" not in text.rstrip("\n")
    what, _, do = text.partition("; ")
    assert problem in what, text
    assert remedy in do, text


WRONG_PATHS = [("nothing", "no such folder"), ("", "not a Hudi table")]


@pytest.mark.parametrize(("path", "problem"), WRONG_PATHS, ids=["no folder", "no table"])
def test_a_wrong_path(lake, capsys, path, problem):
    with pytest.raises(HudiHiveError) as caught:
        HudiTable.open(lake / path)
    says(str(caught.value), problem, "give the table's base path, the folder that holds .hoodie")
    code, line = shell(capsys, "read", lake / path)
    assert code == 1
    says(line, problem, "give the table's base path")


def test_a_table_that_is_not_there_or_not_synced(lake, metastore, capsys):
    with HudiConnector(metastore.uri) as connector, pytest.raises(HudiHiveError) as caught:
        connector.metadata.table("default", "trips")
    says(str(caught.value), "default.trips", "hudi-hive sync")
    code, line = shell(capsys, "sql", "SELECT * FROM default.trips", "--metastore-uris", metastore.uri)
    assert code == 1
    says(line, "no table default.trips", "hudi-hive sync")


def test_a_metastore_that_does_not_run(lake, taken_port, capsys):
    line = shell(
        capsys, "sync", "--base-path", lake / "trips", "--database", "d", "--metastore-uris", "thrift://127.0.0.1:1"
    )
    says(line[1], "cannot connect to the metastore", "check that the metastore runs")


def test_a_mistyped_option(lake, capsys):
    table = HudiTable.open(lake / "trips")
    with pytest.raises(HudiHiveError) as caught:
        table.scan(options={"hoodie.metadata.enabel": "true"}).to_arrow()
    says(str(caught.value), "unknown option 'hoodie.metadata.enabel'", "did you mean hoodie.metadata.enable?")
    with pytest.raises(HudiHiveError) as caught:
        table.upsert(ROWS, options={"hoodie.clean.automatik": "true"})
    says(str(caught.value), "unknown option", "did you mean hoodie.clean.automatic?")
    code, line = shell(capsys, "read", lake / "trips", "--colums", "id")
    assert code == 2 and "--columns" in line and "see hudi-hive read --help" in line
    code, line = shell(capsys, "reed", lake / "trips")
    assert code == 2
    says(line, "no such command: reed", "did you mean read?")


def test_a_mistyped_column(lake, capsys):
    table = HudiTable.open(lake / "trips")
    for arguments in ({"selected_fields": ["fares"]}, {"row_filter": "fares > 1"}):
        with pytest.raises(HudiHiveError) as caught:
            table.scan(**arguments).to_arrow()
        says(str(caught.value), "no column 'fares'", "did you mean fare?")
    for words in (("--columns", "fares"), ("--where", "fares > 1")):
        code, line = shell(capsys, "read", lake / "trips", *words)
        assert code == 1
        says(line, "no column 'fares'", "did you mean fare?")


MISSING = {
    "duckdb": ("table.scan().to_duckdb('t')", "hudi_hive[duckdb]"),
    "pandas": ("table.scan().to_pandas()", "hudi_hive[pandas]"),
    "polars": ("table.scan().to_polars()", "hudi_hive[polars]"),
    "prometheus_client": ("require_prometheus()", "hudi_hive[metrics]"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_extra(lake, monkeypatch, name):
    from hudi_hive.metrics import require_prometheus

    monkeypatch.setitem(sys.modules, name, None)
    table = HudiTable.open(lake / "trips")
    with pytest.raises(HudiHiveError) as caught:
        eval(MISSING[name][0], {"table": table, "require_prometheus": require_prometheus})
    says(str(caught.value), "is not installed", f"pip install '{MISSING[name][1]}'")


NO_SPARK = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "pyspark" else found(name, package)
sys.meta_path.insert(0, Hidden())
"""


def test_no_spark_at_all_and_one_that_is_too_old(tmp_path):
    line = process(f"{NO_SPARK}\nimport hudi_hive.spark")
    says(line, "PySpark is not installed", "pip install 'hudi_hive[spark]'")
    command = f"main(['metastore', 'start', '--directory', {str(tmp_path / 'm')!r}])"
    line = process(f"{NO_SPARK}\nfrom hudi_hive.cli.main import main\n{command}", SPARK_HOME="")
    says(line, "pyspark is not installed", "pip install 'hudi_hive[spark]'")
    line = process("import pyspark; pyspark.__version__ = '2.4.8'; import hudi_hive.spark")
    says(line, "PySpark 2.4.8 is not supported", "use PySpark 3.5 to 4.3")


def test_no_java(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    code, line = shell(capsys, "metastore", "start", "--directory", tmp_path / "metastore")
    assert code == 1
    says(line, "holds no bin/java", "point it at a Java runtime")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    code, line = shell(capsys, "demo")
    says(line, "no Java found", "install a Java 17 runtime")
    line = process("import hudi_hive.spark as s; s.session_builder()", PATH=str(tmp_path))
    says(line, "no Java found", "install a Java 17 runtime")


def test_no_rights(lake):
    """Another user than the folder's owner reads and writes; what they import is there before they become that user."""
    code = f"""
import os, sys
import pyarrow as pa
from hudi_hive import HudiHiveError, HudiTable
rows = pa.table({{"id": ["a"], "fare": [1.0], "ts": [1]}})
os.umask(0o022)
path = {str(lake / "rights")!r}
HudiTable.create(path, name="rights", record_keys=["id"], ordering_fields=["ts"]).upsert(rows)
HudiTable.open(path).scan().to_arrow()
for parent in [path, *map(str, __import__("pathlib").Path(path).parents)]:
    if parent.startswith("/tmp/"): os.chmod(parent, 0o755)
if os.geteuid() == 0:
    os.seteuid(65534)
else:
    os.chmod(path + "/.hoodie", 0o500); [os.chmod(root, 0o500) for root, *_ in os.walk(path)]
try:
    HudiTable.open(path).upsert(rows)
except HudiHiveError as error:
    print(error)
os.seteuid(os.getuid())
os.chmod(path + "/.hoodie/hoodie.properties", 0)
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    HudiTable.open(path)
except HudiHiveError as error:
    print(error)
os.seteuid(os.getuid())
for root, *_ in os.walk(path): os.chmod(root, 0o755)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    lines = ended.stdout.splitlines()
    assert len(lines) == 2, ended.stderr
    for line in lines:
        says(line, "permission denied", "have the right granted")


def test_a_port_that_is_taken(taken_port, tmp_path):
    servers = (
        ("thriftserver", "start", "--metastore-uris", "thrift://127.0.0.1:1"),
        ("spark", "connect-server"),
        ("ui", tmp_path),
    )
    for words in servers:
        # A process of its own: that of the tests may have a Spark session, which would be the first error.
        call = [sys.executable, "-c", "from hudi_hive.cli.main import main; main()", *words, "--port", taken_port]
        ended = subprocess.run(list(map(str, call)), capture_output=True, text=True, timeout=600)
        assert ended.returncode == 1 and ended.stderr.count("\n") == 1 and str(taken_port) in ended.stderr
        assert "free one" in ended.stderr or "another --port" in ended.stderr
    with pytest.raises(HudiHiveError) as caught:
        serve_prometheus(taken_port, dict)
    says(str(caught.value), str(taken_port), "name a port that is free")


def test_the_page_lists_them():
    rows = re.findall(r"^\| (`?[^|]+) \| [^|]+ \| [^|]+ \|$", PAGE.split("## First errors")[1], re.MULTILINE)
    assert len(rows) >= 10
