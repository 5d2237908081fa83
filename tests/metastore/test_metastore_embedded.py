"""What the embedded metastore does before any Java runs: lock, files, missing parts."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from hudi_hive.errors import (
    InvalidOptionError,
    JavaNotFoundError,
    MetastoreConnectError,
    MetastoreError,
    MissingDependencyError,
)
from hudi_hive.metastore import EmbeddedMetastore
from hudi_hive.metastore.embedded import embedded, embedded_files, embedded_lock
from hudi_hive.metastore.embedded.embedded_lock import WarehouseLock


def test_two_locks_on_one_folder(tmp_path):
    first, second = WarehouseLock(tmp_path), WarehouseLock(tmp_path)
    first.acquire()
    first.note(4711, "thrift://127.0.0.1:1")
    with pytest.raises(MetastoreError, match=r"another embedded metastore runs .*thrift://127\.0\.0\.1:1") as caught:
        second.acquire()
    assert caught.value.path == str(tmp_path)
    first.release()
    second.acquire()
    second.release()
    second.release()


def test_lock_of_a_dead_process_is_no_lock(tmp_path):
    code = (
        "import sys, os; from pathlib import Path; "
        "from hudi_hive.metastore.embedded.embedded_lock import WarehouseLock; "
        "lock = WarehouseLock(Path(sys.argv[1])); lock.acquire(); lock.note(1, 'thrift://127.0.0.1:1'); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == 9
    assert (tmp_path / "metastore.lock").read_text() != ""
    lock = WarehouseLock(tmp_path)
    lock.acquire()
    lock.release()


def test_a_server_on_its_way_out_is_waited_for(tmp_path, monkeypatch):
    lock = WarehouseLock(tmp_path)
    lock.acquire()
    # Somebody else inherits the lock for a moment, as the Java process does when its starter dies.
    heir = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=(lock.descriptor,))
    lock._write("999999999\n")
    descriptor, lock._descriptor = lock.descriptor, None
    embedded_lock.os.close(descriptor)
    pauses: list[float] = []

    def end_heir(seconds: float) -> None:
        pauses.append(seconds)
        heir.stdin.close()
        heir.wait()

    second = WarehouseLock(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(embedded_lock.time, "sleep", end_heir)
        second.acquire()
    assert len(pauses) == 1
    second.release()
    # And not for ever.
    lock = WarehouseLock(tmp_path)
    lock.acquire()
    lock._write("999999999\n")
    monkeypatch.setattr(embedded_lock, "_WAIT_SECONDS", 0.2)
    with pytest.raises(MetastoreError, match="another embedded metastore"):
        WarehouseLock(tmp_path).acquire()
    lock.release()


def test_configuration_is_escaped_xml(tmp_path):
    embedded_files.write(tmp_path / "a b&c", {"hive.x": "<1&2>", "hive.metastore.uris": ""})
    root = ElementTree.parse(tmp_path / "a b&c" / "conf" / "hive-site.xml").getroot()
    found = {item.findtext("name"): item.findtext("value") for item in root}
    assert found["hive.x"] == "<1&2>"
    assert (
        found["javax.jdo.option.ConnectionURL"] == f"jdbc:derby:;databaseName={tmp_path}/a b&c/metastore_db;create=true"
    )


def test_the_last_cause_in_the_logs_is_found(tmp_path):
    assert embedded_files.last_error(tmp_path) is None
    (tmp_path / "console.log").write_text("x\n")
    (tmp_path / "metastore.log").write_text("a\nCaused by: first\n\tat x\nCaused by: ERROR XJ040: the cause\n")
    assert embedded_files.last_error(tmp_path) == "ERROR XJ040: the cause"


def test_log_is_rolled(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded_files, "_LOG_LIMIT", 10)
    (tmp_path / "metastore.log").write_text("x" * 11)
    embedded_files.write(tmp_path, {})
    assert not (tmp_path / "metastore.log").exists() and (tmp_path / "metastore.log.1").stat().st_size == 11


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MetastoreError, match="folder") as caught:
        EmbeddedMetastore(tmp_path / "file" / "sub").start()
    assert caught.value.path == str(tmp_path / "file" / "sub")


def test_missing_java_leaves_the_folder_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaNotFoundError):
        EmbeddedMetastore(tmp_path / "new").start()
    assert not (tmp_path / "new").exists()


def test_missing_jars_of_pyspark_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with pytest.raises(MissingDependencyError, match=r"pyspark is not installed.*hudi_hive\[spark\]"):
        embedded.find_jars()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="lack hive-metastore"):
        embedded.find_jars()
    (tmp_path / "jars").mkdir()
    for name in ("hive-metastore-2.3.10", "derby-10", "janino-3"):
        (tmp_path / "jars" / f"{name}.jar").touch()
    assert embedded.find_jars() == tmp_path / "jars"


def test_a_metastore_that_does_not_run_has_no_address(tmp_path):
    metastore = EmbeddedMetastore(tmp_path / "m")
    with pytest.raises(MetastoreConnectError, match="not running"):
        _ = metastore.uri
    assert (metastore.port, metastore.pid, metastore.is_running) == (None, None, False)
    assert repr(metastore) == f"EmbeddedMetastore('{tmp_path}/m', stopped)"
    metastore.stop()
    assert not (tmp_path / "m").exists()
    with pytest.raises(InvalidOptionError):
        EmbeddedMetastore(tmp_path, port=70000)
