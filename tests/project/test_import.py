"""Importing the package is cheap and imports no engine."""

from __future__ import annotations

import subprocess
import sys

from hudi_hive.testing import FakeMetastore
from tests.support.fixture_tables import unzip_fixture

ENGINES = ("pyspark", "duckdb", "pandas", "pyarrow", "fsspec", "thrift", "rich", "polars", "hudi", "obstore", "boto3")


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_no_engine():
    code = f"import sys, hudi_hive; print([m for m in {ENGINES!r} if m in sys.modules])"
    assert _run(code).strip() == "[]"


def test_table_api_loads_no_sql_engine():
    code = "import sys; from hudi_hive import HudiTable; print([m for m in ('pyspark','duckdb','pandas','thrift','obstore','hdfs_native','boto3') if m in sys.modules])"  # noqa: E501
    assert _run(code).strip() == "[]"


def test_sync_and_writers_load_no_pandas():
    """Where pandas is installed, pyarrow loads it at the first array that is made of Python values."""
    code = "import sys, hudi_hive.sync, hudi_hive.write.writers; print('pandas' in sys.modules)"
    assert _run(code).strip() == "False"


def test_import_of_the_package_loads_a_handful_of_its_modules():
    code = "import sys, hudi_hive; print(sum(name.startswith('hudi_hive') for name in sys.modules))"
    assert int(_run(code)) <= 10


def test_public_names_resolve():
    _run("import hudi_hive; [getattr(hudi_hive, n) for n in hudi_hive.__all__]")


def test_pandas_is_imported_only_when_it_is_used():
    code = """
import sys
from hudi_hive.cli.import_blocker import block_pandas
block_pandas()
import pyarrow as pa
from hudi_hive.sync import HiveSyncTool
table = pa.table({"a": pa.array([1, None])})
before = "pandas" in sys.modules
frame = table.to_pandas()
import pandas
print(before, len(frame), pa.array(pandas.Series([1.5, None])).null_count)
"""
    assert _run(code).split() == ["False", "2", "1"]


def test_sql_over_paths_loads_no_metastore_client_and_no_pandas():
    path = unzip_fixture("v8_cow_part_mdt")
    code = f"""
import sys
from hudi_hive.cli.main import cli
cli.main(["sql", "SELECT count(*) FROM t", "--table", "t={path}", "--format", "csv"], standalone_mode=False)
needless = ("pandas", "thrift", "hudi_hive.metastore", "hudi_hive.timeline.payloads.plans")
print([m for m in needless if m in sys.modules])
print(len(sys.modules), sum(name.split(".")[0] == "hudi_hive" for name in sys.modules))
"""
    absent, modules = _run(code).splitlines()[-2:]
    assert absent == "[]"
    every, ours = map(int, modules.split())
    assert every <= 695 and ours <= 282  # 678 and 278 when this was written


def test_a_statement_over_a_table_with_json_commits_loads_neither_fastavro_nor_orc():
    path = unzip_fixture("v6_cow_part_mdt")
    code = f"""
import sys
from hudi_hive.cli.main import cli
cli.main(["sql", "SELECT count(*) FROM t", "--table", "t={path}", "--format", "csv"], standalone_mode=False)
print([m for m in ("fastavro", "hudi_hive.formats.orc") if m in sys.modules])
"""
    assert _run(code).splitlines()[-1] == "[]"


def test_a_read_of_one_key_loads_few_modules():
    path = unzip_fixture("v8_cow_part_mdt")
    code = f"""
import sys
from hudi_hive.cli.main import cli
cli.main(["read", {str(path)!r}, "--where", "visit_id = 100", "--format", "csv"], standalone_mode=False)
print([m for m in ("pandas", "asyncio", "tornado", "duckdb", "thrift", "hudi_hive.write") if m in sys.modules])
print(len(sys.modules))
"""
    *rows, absent, modules = _run(code).splitlines()
    assert len(rows) == 2 and ",100,item/42," in rows[1]
    assert absent == "[]"
    assert int(modules) <= 635  # 617 when this was written; 1,074 with pandas


def test_a_sync_with_nothing_to_do_loads_no_engine_and_few_modules(tmp_path):
    path = unzip_fixture("v8_cow_part_mdt", tmp_path)
    code = """
import sys
from hudi_hive.cli.main import cli
cli.main(["sync", "--base-path", sys.argv[1], "--metastore-uris", sys.argv[2]], standalone_mode=False)
needless = ("pandas", "asyncio", "tenacity", "duckdb", "hudi_hive.spark", "hudi_hive.write")
print([m for m in needless if m in sys.modules])
print(len(sys.modules))
"""
    with FakeMetastore() as metastore:
        for _ in range(2):
            command = [sys.executable, "-c", code, str(path), metastore.uri]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
    absent, modules = run.stdout.splitlines()[-2:]
    assert absent == "[]"
    assert int(modules) <= 630  # 611 when this was written


def test_commands_look_for_garbage_seldom_and_leave_duckdb_its_last_collection():
    code = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count() > 0))  # runs after what is registered later
if len(sys.argv) > 1:
    import duckdb
from hudi_hive.cli.main import main
try:
    main(["completion", "bash"])
finally:
    print()
    print(gc.get_threshold()[0] >= 10_000)
"""
    for arguments, frozen in (([], "True"), (["duckdb"], "False")):
        command = [sys.executable, "-c", code, *arguments]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        assert run.stdout.splitlines()[-2:] == ["True", frozen]
        assert run.stderr == ""


def test_the_spark_package_loads_no_engine_but_spark():
    engines = ("pandas", "grpc", "duckdb", "polars", "boto3", "fsspec", "datafusion", "click", "rich")
    code = f"import sys, hudi_hive.spark; print([m for m in {engines!r} if m in sys.modules])"
    assert _run(code).strip() == "[]"


def test_import_of_the_spark_package_starts_no_session_and_brings_few_modules():
    code = """
import os, subprocess, sys, threading
import pyspark.sql
before = set(sys.modules)
import hudi_hive.spark
from pyspark import SparkContext
brought = set(sys.modules) - before
ours = [name for name in brought if name.split(".")[0] == "hudi_hive"]
large = ("pyspark.pandas", "pyspark.ml", "pyspark.sql.connect", "pyspark.streaming")
print(SparkContext._gateway, SparkContext._active_spark_context, threading.active_count())
print(sorted(name for name in brought if name.startswith(large)))
print(len(ours), len(brought) - len(ours))
"""
    session, large, counts = _run(code).splitlines()
    assert (session, large) == ("None None 1", "[]")
    ours, others = map(int, counts.split())
    assert ours <= 740 and others <= 300  # 724 and 258 when this was written


def test_a_task_of_a_write_on_spark_loads_neither_sessions_nor_statements_nor_metastores():
    code = """
import sys
import pyspark.sql
from pyspark import TaskContext
TaskContext._getOrCreate()  # as Spark's Python workers do before they load a step
import hudi_hive.spark.write.file_steps, hudi_hive.spark.write.located_rows
needless = ("session", "statements", "catalog", "connect", "thrift", "scan")
print([one for one in needless if f"hudi_hive.spark.{one}" in sys.modules])
print([one for one in ("metastore", "mutation", "sync") if f"hudi_hive.{one}" in sys.modules])
print(sum(name.split(".")[0] == "hudi_hive" for name in sys.modules))
from hudi_hive.spark.write import step, write
print(step.__module__, write.__module__)
"""
    sessions, others, count, loaded = _run(code).splitlines()
    assert (sessions, others) == ("[]", "[]")
    assert int(count) <= 400  # 358 when this was written, 665 of them all
    assert loaded == "hudi_hive.spark.write.tasks hudi_hive.spark.write.write_frame"
